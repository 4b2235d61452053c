"""The built-in callbacks: what the recordings do not cover, and their errors."""

import csv
import math
import warnings
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium.callbacks import (
    CallbackList,
    CSVLogger,
    EarlyStopping,
    LambdaCallback,
    LearningRateScheduler,
    Logs,
    ReduceLROnPlateau,
    SwapEMAWeights,
    TerminateOnNaN,
)

NAN = float("nan")


def drive(callbacks, model, name, values):
    """Run epochs until the callback stops training; return the number of epochs."""
    callbacks = CallbackList(callbacks, add_history=True, model=model)
    model.stop_training = False
    callbacks.on_train_begin()
    for epoch, value in enumerate(values):
        callbacks.on_epoch_begin(epoch)
        callbacks.on_epoch_end(epoch, {name: value})
        if model.stop_training:
            break
    callbacks.on_train_end()
    return epoch + 1


# --- EarlyStopping


def test_early_stopping_can_be_used_again(model):
    stopping = EarlyStopping("loss", patience=1)
    assert drive(stopping, model, "loss", [1.0, 2.0, 3.0]) == 2
    assert drive(stopping, model, "loss", [5.0, 4.0, 3.0]) == 3 and not model.stop_training


def test_early_stopping_warns_once_about_a_missing_value(model):
    with pytest.warns(
        UserWarning, match="monitors 'val_loss'.*Available: 'loss'.*validation_data"
    ) as caught:
        assert drive(EarlyStopping(), model, "loss", [1.0, 2.0]) == 2
    assert len(caught) == 1


def test_early_stopping_rejects_invalid_arguments():
    with pytest.raises(ValueError, match="Unknown mode 'sideways'"):
        EarlyStopping(mode="sideways")
    with pytest.raises(ValueError, match="patience=-1; a number of epochs was expected, 0 or more"):
        EarlyStopping(patience=-1)
    with pytest.raises(TypeError, match="start_from_epoch='a'"):
        EarlyStopping(start_from_epoch="a")


@pytest.mark.parametrize(
    ("name", "rises"),
    [
        ("loss", False),
        ("val_loss", False),
        ("g_loss", False),
        ("val_mean_squared_error", False),
        ("val_auc_1", True),
        ("top_k_categorical_accuracy", True),
        ("val_precision", True),
        ("f1_score", True),
        ("mean_io_u", True),
        ("acc_top5", True),
        ("cosine_similarity", True),
    ],
)
def test_direction_is_decided_by_the_name(name, rises, model):
    stopping = EarlyStopping(name, patience=1)
    drive(stopping, model, name, [1.0, 2.0])
    assert stopping.best == (2.0 if rises else 1.0)


def test_direction_is_decided_by_the_metric_or_decreasing_with_a_warning(model):
    model.metrics = [SimpleNamespace(name="puzzle", _direction="up")]
    stopping = EarlyStopping("val_puzzle")
    drive(stopping, model, "val_puzzle", [1.0, 2.0])
    assert stopping.best == 2.0
    stopping = EarlyStopping("riddle", patience=5)
    with pytest.warns(
        UserWarning, match="monitors 'riddle' with mode='auto'.*Write mode='min' or mode='max'"
    ) as caught:
        drive(stopping, model, "riddle", [1.0, 2.0, 0.5])
    assert stopping.best == 0.5 and len(caught) == 1


def test_weights_are_not_restored_after_an_error(model):
    callbacks = CallbackList(
        EarlyStopping("loss", restore_best_weights=True, verbose=1), model=model
    )
    with pytest.raises(KeyboardInterrupt), callbacks.ensure_end("train"):
        callbacks.on_train_begin()
        callbacks.on_epoch_end(0, {"loss": 1.0})
        raise KeyboardInterrupt
    assert model.restored is None


# --- learning rates


def test_schedule_takes_epoch_and_rate_or_epoch_alone(model):
    drive(LearningRateScheduler(lambda epoch, rate: rate / 2), model, "loss", [1.0] * 3)
    assert model.optimizer.learning_rate == 0.0125
    assert model.history.history["learning_rate"] == [0.05, 0.025, 0.0125]
    drive(LearningRateScheduler(lambda epoch: np.float32(epoch)), model, "loss", [1.0] * 3)
    assert model.optimizer.learning_rate == 2.0
    drive(LearningRateScheduler(lambda epoch, rate: podium.Tensor(0.25)), model, "loss", [1.0])
    assert model.optimizer.learning_rate == 0.25


def test_error_inside_a_schedule_is_not_mistaken_for_a_missing_argument(model):
    def schedule(epoch, rate):
        return len(epoch)

    with pytest.raises(TypeError, match="has no len"):
        drive(LearningRateScheduler(schedule), model, "loss", [1.0])


@pytest.mark.parametrize("wrong", [None, 1, "0.1", True, np.ones(2, np.float32), jnp.int32(1)])
def test_schedule_must_return_a_float(wrong, model):
    with pytest.raises(
        ValueError,
        match=r"`schedule` of LearningRateScheduler returned .* for epoch 0; a float, the "
        r"learning rate",
    ):
        drive(LearningRateScheduler(lambda epoch, rate: wrong), model, "loss", [1.0])


def test_fixed_learning_rates_are_rejected_before_training(model):
    class Decay:
        def __call__(self, step):
            return 0.1

    model.optimizer = SimpleNamespace(_learning_rate=Decay(), learning_rate=0.1)
    for callback in (LearningRateScheduler(lambda epoch: 0.1), ReduceLROnPlateau("loss")):
        with pytest.raises(
            ValueError,
            match=r"made with a schedule, learning_rate=Decay,.*Give the optimizer a number",
        ):
            CallbackList(callback, model=model).on_train_begin()
    model.optimizer = None
    with pytest.raises(ValueError, match=r"the model's optimizer is None\. Compile the model"):
        CallbackList(ReduceLROnPlateau("loss"), model=model).on_train_begin()
    with pytest.raises(TypeError, match=r"schedule=0\.1; a function"):
        LearningRateScheduler(0.1)


def test_reduce_lr_rejects_invalid_arguments_and_accepts_old_names(model):
    for factor in (1.0, 1.5, NAN):
        with pytest.raises(ValueError, match=f"factor={factor}; a number below 1"):
            ReduceLROnPlateau(factor=factor)
    with pytest.raises(ValueError, match="cooldown=-1"):
        ReduceLROnPlateau(cooldown=-1)
    assert ReduceLROnPlateau(epsilon=0.5).min_delta == 0.5
    with pytest.warns(UserWarning, match="ReduceLROnPlateau monitors 'val_loss'"):
        drive(ReduceLROnPlateau(), model, "loss", [1.0])
    assert model.history.history["learning_rate"] == [0.1]


def test_learning_rate_of_each_optimizer_is_set_and_logged(model, capsys):
    slow, fast = podium.optimizers.SGD(0.125, name="slow"), podium.optimizers.SGD(1.0, name="fast")
    model.optimizer = SimpleNamespace(optimizers=[slow, fast])
    drive(LearningRateScheduler(lambda epoch, rate: rate / 2, verbose=1), model, "loss", [1.0])
    assert model.history.history == {
        "loss": [1.0],
        "learning_rate_slow": [0.0625],
        "learning_rate_fast": [0.5],
    }
    drive(
        ReduceLROnPlateau("loss", factor=0.5, patience=1, min_lr=0.0625, verbose=1),
        model,
        "loss",
        [1.0, 1.0],
    )
    assert (float(slow.learning_rate), float(fast.learning_rate)) == (0.0625, 0.25)
    said = [line.split(": ")[1] for line in capsys.readouterr().out.splitlines() if line]
    assert said == [
        "LearningRateScheduler setting slow learning rate to 0.0625.",
        "LearningRateScheduler setting fast learning rate to 0.5.",
        "ReduceLROnPlateau reducing fast learning rate to 0.25.",
    ]


def test_rates_of_real_optimizers_are_set_and_schedules_rejected(model):
    model.optimizer = podium.optimizers.LossScaleOptimizer(podium.optimizers.Adam(0.5))
    drive(ReduceLROnPlateau("loss", factor=0.5, patience=1), model, "loss", [1.0, 1.0])
    assert float(model.optimizer.learning_rate) == 0.25
    decay = podium.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    for optimizer in (
        podium.optimizers.SGD(decay),
        podium.optimizers.LossScaleOptimizer(podium.optimizers.SGD(decay)),
    ):
        model.optimizer = optimizer
        with pytest.raises(
            ValueError, match="made with a schedule, learning_rate=ExponentialDecay"
        ):
            drive(LearningRateScheduler(lambda epoch, rate: 0.01), model, "loss", [1.0])


# --- SwapEMAWeights


def averaged_model():
    """Return a model whose weight is -1 and its average -0.5, and a function that returns
    the weight.
    """
    model = podium.Sequential(
        [podium.Input((1,)), podium.layers.Dense(1, use_bias=False, kernel_initializer="ones")]
    )
    model.optimizer = podium.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5)
    for _ in range(2):
        model.optimizer.apply([podium.ops.ones((1, 1))], model.trainable_variables)
    return model, lambda: float(model.get_weights()[0][0, 0])


def test_averages_are_used_for_evaluation_prediction_and_after_epochs():
    model, weight = averaged_model()
    callbacks, seen = CallbackList(SwapEMAWeights(swap_on_epoch=True), model=model), []
    for hook in (
        "train_begin",
        "epoch_begin",
        "test_begin",
        "test_end",
        "epoch_end",
        "epoch_begin",
        "predict_begin",
    ):
        getattr(callbacks, f"on_{hook}")(*((0,) if "epoch" in hook else ()))
        seen.append(weight())
    assert seen == [-1.0, -1.0, -0.5, -1.0, -0.5, -1.0, -0.5]
    callbacks.on_predict_end()
    callbacks.on_epoch_end(1)
    callbacks.on_train_end()
    model.optimizer.finalize_variable_values(model.trainable_variables)
    assert weight() == -0.5


def test_weights_are_restored_after_an_error_and_averages_are_required(model):
    model_with, weight = averaged_model()
    callbacks = CallbackList(SwapEMAWeights(swap_on_epoch=True), model=model_with)
    with pytest.raises(KeyboardInterrupt), callbacks.ensure_end("train"):
        callbacks.on_train_begin()
        callbacks.on_epoch_end(0)
        raise KeyboardInterrupt
    assert weight() == -1.0
    with pytest.raises(ValueError, match=r"has none\. Make it with `use_ema=True`"):
        CallbackList(SwapEMAWeights(), model=model).on_train_begin()


# --- TerminateOnNaN


def trained(poison, callback, batches=5):
    """Run a compiled step by hand; at `poison` it makes the weights NaN, and the loss from
    `loss_from` on.
    """
    model = podium.Sequential(
        [podium.layers.Input((2,)), podium.layers.Dense(1, kernel_initializer="ones")]
    )
    poisoned, loss_from = poison
    momentum = podium.Variable(0.0, name="momentum")
    model.optimizer = SimpleNamespace(variables=[momentum])

    @podium.function
    def step(amount):
        for weight in model.weights:
            weight.assign_add(podium.ops.zeros_like(weight) + amount)
        momentum.assign_add(amount)
        return amount

    callbacks, seen = CallbackList(callback, model=model), []
    model.stop_training = False
    with callbacks.ensure_end("train"):
        callbacks.on_train_begin()
        for batch in range(batches):
            callbacks.on_train_batch_begin(batch)
            step(podium.Tensor(NAN if batch == poisoned else 1.0))
            loss = NAN if batch >= loss_from else 1.0
            callbacks.on_train_batch_end(
                batch, Logs({"loss": 1.0}, running={"loss": jnp.float32(loss)})
            )
            seen.append(batch)
            if model.stop_training:
                break
        callbacks.on_train_end()
    return model, seen, float(momentum), step.trace_count


@pytest.mark.parametrize(("loss_from", "steps"), [(2, 2), (3, 2)])
def test_terminate_on_nan_restores_the_last_finite_weights(loss_from, steps, capsys):
    callback = TerminateOnNaN()
    model, seen, momentum, traces = trained((2, loss_from), callback)
    assert seen == list(range(loss_from + 1)) and momentum == steps and traces == 1
    np.testing.assert_array_equal(model.get_weights()[0], np.full((2, 1), 1.0 + steps))
    assert capsys.readouterr().out == f"Batch {loss_from}: Invalid loss, terminating training\n"
    assert callback._snapshots == []


def test_terminate_on_nan_can_raise_and_keep_the_weights():
    with pytest.raises(RuntimeError, match="The loss of batch 1 is nan"):
        trained((9, 1), TerminateOnNaN(raise_error=True))
    assert math.isnan(trained((2, 2), TerminateOnNaN(restore_weights=False))[2])
    assert trained((9, 9), TerminateOnNaN())[1] == [0, 1, 2, 3, 4]


def test_terminate_on_nan_accepts_plain_logs_and_infinities(model, capsys):
    callbacks = CallbackList(TerminateOnNaN(), model=model)
    callbacks.on_train_batch_end(0, {"mae": NAN})
    assert not model.stop_training
    callbacks.on_train_batch_end(7, {"loss": math.inf})
    assert model.stop_training and "Batch 7" in capsys.readouterr().out


# --- CSVLogger


def rows(path):
    return list(csv.reader(path.read_text().splitlines()))


def test_csv_appends_to_a_file_with_its_columns(tmp_path, model):
    path = tmp_path / "made" / "log.csv"
    drive(CSVLogger(path), model, "loss", [1.0])
    logger = CSVLogger(path, append=True)
    for _ in range(2):
        drive(logger, model, "loss", [0.5])
    assert rows(path) == [
        ["epoch", "loss", "val_loss"],
        ["0", "1.0", "NA"],
        ["0", "0.5", "NA"],
        ["0", "0.5", "NA"],
    ]
    with pytest.warns(UserWarning, match="no column for 'mae'") as caught:
        drive(CSVLogger(path, append=True), model, "mae", [7.0, 8.0])
    assert [warning.filename for warning in caught] == [__file__] and rows(path)[-1] == [
        "1",
        "NA",
        "NA",
    ]


def test_csv_is_flushed_each_epoch_and_closed_after_an_error(tmp_path):
    path, logger = tmp_path / "log.csv", CSVLogger(str(tmp_path / "log.csv"))
    callbacks = CallbackList(logger)
    with pytest.raises(KeyboardInterrupt), callbacks.ensure_end("train"):
        callbacks.on_train_begin()
        callbacks.on_epoch_end(0, {"loss": np.array([1.0, 2.0])})
        assert len(rows(path)) == 2
        raise KeyboardInterrupt
    assert logger.csv_file is None and rows(path)[1] == ["0", '"[1.0, 2.0]"', "NA"]


def test_csv_rejects_invalid_arguments_and_paths(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"):
        CSVLogger(tmp_path / "file" / "log.csv").on_train_begin()
    with pytest.raises(ValueError, match="separator=', '; one character"):
        CSVLogger("log.csv", separator=", ")


# --- LambdaCallback


def test_lambda_callback_accepts_the_hooks_of_keras_2_and_3():
    events = []
    callback = LambdaCallback(
        lambda epoch, logs: events.append("epoch"),
        on_batch_end=lambda batch, logs: events.append(batch),
        on_test_end=lambda logs: events.append("test"),
    )
    callbacks = CallbackList(callback)
    callbacks.on_epoch_begin(0)
    callbacks.on_train_batch_end(5)
    callbacks.on_test_end()
    assert events == ["epoch", 5, "test"]


def test_lambda_callback_rejects_unknown_hooks_and_non_functions():
    with pytest.raises(ValueError, match="Unknown hook 'on_epoch_finish'"):
        LambdaCallback(on_epoch_finish=print)
    with pytest.raises(TypeError, match="on_epoch_end=3; a function was expected"):
        LambdaCallback(on_epoch_end=3)


def test_no_warnings_without_a_problem(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drive([EarlyStopping("loss"), ReduceLROnPlateau("loss")], model, "loss", [1.0, 0.5])
