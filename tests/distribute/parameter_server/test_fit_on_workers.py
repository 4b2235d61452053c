"""`fit` on the workers of a ParameterServerStrategy."""

import numpy as np
import pytest

import podium
from podium.callbacks import BackupAndRestore, LambdaCallback
from tests.distribute.parameter_server.local_cluster import LocalStrategy, batches, lose

X, Y = map(np.concatenate, zip(*batches(20), strict=True))


def make_model(strategy=None, optimizer="sgd", **compile_arguments):
    podium.utils.set_random_seed(1)
    with (strategy or podium.distribute.get_strategy()).scope():
        model = podium.Sequential(
            [podium.Input((8,)), podium.layers.Dense(4, activation="tanh"), podium.layers.Dense(1)]
        )
        model.compile(optimizer, "mse", metrics=["mae"], **compile_arguments)
    return model


def assert_equal_models(left, right, tolerance=1e-6):
    for a, b in zip(left.get_weights(), right.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


@pytest.mark.parametrize("k", [1, 3])
def test_one_worker_trains_like_this_process(k):
    arguments = {"batch_size": 10, "epochs": 3, "verbose": 0, "validation_data": (X[:40], Y[:40])}
    alone = make_model(optimizer="adam", steps_per_execution=k)
    expected = alone.fit(X[:195], Y[:195], **arguments).history
    strategy = LocalStrategy(num_workers=1, num_servers=2)
    model = make_model(strategy, "adam", steps_per_execution=k)
    history = model.fit(X[:195], Y[:195], **arguments).history
    assert list(history) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(history[name], values, rtol=1e-4, atol=1e-6)
    assert_equal_models(model, alone)
    assert int(model.optimizer.iterations) == 60
    np.testing.assert_allclose(model.predict(X, verbose=0), alone.predict(X, verbose=0), atol=1e-5)
    strategy.close()
    assert_equal_models(model, alone)


def test_logs_of_an_epoch_are_those_of_the_steps_of_all_workers():
    strategy = LocalStrategy(num_workers=3)
    model = make_model(strategy, podium.optimizers.SGD(0.0))
    history = model.fit(X, Y, batch_size=10, epochs=2, verbose=0).history
    expected = make_model(None, podium.optimizers.SGD(0.0)).evaluate(
        X, Y, verbose=0, return_dict=True
    )
    for name, value in expected.items():
        np.testing.assert_allclose(history[name], [value, value], rtol=1e-5)
    strategy.close()


def test_custom_steps_and_raw_logs(capsys):
    class Model(podium.Model):
        def train_step(self, data):
            x, y = data
            with podium.GradientTape() as tape:
                loss = podium.ops.mean((self(x, training=True) - y) ** 2)
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
            return {"loss": loss, "size": podium.ops.cast(podium.ops.shape(x)[0], "float32")}

    strategy = LocalStrategy(num_workers=2)
    with strategy.scope():
        inputs = podium.Input((8,))
        model = Model(inputs, podium.layers.Dense(1)(inputs))
        model.compile("sgd")
    history = model.fit(X[:45], Y[:45], batch_size=10, epochs=2)
    np.testing.assert_allclose(history.history["size"], [(4 * 100 + 25) / 45] * 2, rtol=1e-6)
    assert history.history["loss"][1] < history.history["loss"][0]
    assert "5/5 [==============================]" in capsys.readouterr().out
    strategy.close()


def test_workers_read_the_data_that_a_function_makes():
    strategy = LocalStrategy(num_workers=2)
    model = make_model(strategy)

    def make_dataset(context):
        data = podium.data.Dataset.from_tensor_slices((X, Y)).repeat()
        return data.shuffle(100, seed=context.input_pipeline_id).batch(10)

    with pytest.raises(ValueError, match="Set steps_per_epoch="):
        model.fit(make_dataset, verbose=0)
    history = model.fit(make_dataset, steps_per_epoch=30, epochs=3, verbose=0).history
    assert len(history["loss"]) == 3
    assert history["loss"][-1] < history["loss"][0]
    assert int(model.optimizer.iterations) == 90
    strategy.close()


def test_batch_hooks_read_the_logs_of_their_step():
    strategy = LocalStrategy(num_workers=2)
    model, alone = make_model(strategy), make_model()
    logs = {model: [], alone: []}
    for each, values in logs.items():
        hook = LambdaCallback(
            on_train_batch_end=lambda batch, logs, values=values: values.append(logs["loss"])
        )
        each.fit(X, Y, batch_size=20, shuffle=False, verbose=0, callbacks=[hook])
    np.testing.assert_allclose(logs[model], logs[alone], rtol=1e-5)
    strategy.close()


def test_lost_worker_does_not_change_synchronous_rounds():
    models = []
    for loses in (False, True):
        strategy = LocalStrategy(num_workers=2, staleness=0)
        model = make_model(strategy)
        if loses:
            strategy._cluster.remote.after_stage = lambda step, attempt: (
                lose(0) if step % 7 == 3 and attempt == 0 else None
            )
        model.fit(X, Y, batch_size=10, epochs=2, verbose=0)
        assert strategy._cluster.num_restarts == (6 if loses else 0)
        strategy.close()
        models.append(model)
    assert_equal_models(*models)


def test_run_resumes_from_a_checkpoint(tmp_path):
    def fit(model, folder, **arguments):
        backup = BackupAndRestore(folder, save_freq=3)
        return model.fit(X, Y, batch_size=10, epochs=4, verbose=0, callbacks=[backup], **arguments)

    strategy = LocalStrategy(num_workers=1)
    whole = make_model(strategy, "adam")
    fit(whole, tmp_path / "whole")
    strategy.close()

    def interrupt(batch, logs):
        if int(model._train_counter) >= 33:
            raise KeyboardInterrupt

    strategy = LocalStrategy(num_workers=1)
    model = make_model(strategy, "adam")
    with pytest.raises(KeyboardInterrupt):
        model.fit(
            X,
            Y,
            batch_size=10,
            epochs=4,
            verbose=0,
            callbacks=[
                BackupAndRestore(tmp_path / "part", save_freq=3),
                LambdaCallback(on_train_batch_end=interrupt),
            ],
        )
    strategy.close()
    strategy = LocalStrategy(num_workers=1)
    model = make_model(strategy, "adam")
    fit(model, tmp_path / "part")
    assert int(model.optimizer.iterations) == 80
    assert_equal_models(model, whole)
    strategy.close()
