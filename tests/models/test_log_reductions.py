"""How logs are reduced over an epoch and over replicas, and the value of the batch beside it."""

import csv

import numpy as np
import pytest

import podium
from podium import ops
from podium.distribute import MirroredStrategy, reduce_per_replica
from podium.metrics import LogValue

X = np.random.RandomState(0).rand(30, 1).astype("float32")  # 4 batches: 8, 8, 8, 6
SIZES = np.array([8.0, 8.0, 8.0, 6.0])
PEAKS = [X[i : i + 8].max() for i in range(0, 30, 8)]
REDUCTIONS = {"loss": "sum", "peak": "max", "mae": "last", "low": "min", "gone": "last"}


class Logged(podium.Sequential):
    """Returns raw values beside the metrics."""

    def train_step(self, data):
        return super().train_step(data) | self.raw_logs(data[0])

    def test_step(self, data):
        return super().test_step(data) | self.raw_logs(data[0])

    def raw_logs(self, x):
        peak = ops.max(x)
        return {
            "raw": peak,
            "peak": peak,
            "low": peak,
            "gone": LogValue(peak, "sum"),  # `compile` takes precedence
            "row": LogValue(ops.mean(x, 0), "sum"),
            "kept": ops.mean(x, 0),
        }


class Record(podium.callbacks.Callback):
    """Records the logs of every step."""

    def __init__(self):
        super().__init__()
        self.steps = {"train": [], "test": []}

    def on_train_batch_end(self, batch, logs=None):
        self.add("train", logs)

    def on_test_batch_end(self, batch, logs=None):
        self.add("test", logs)

    def add(self, kind, logs):
        for step in logs.steps:
            both = {"batch": dict(step.batch), "running": dict(step.running), "shown": dict(step)}
            self.steps[kind].append(both)


def make(reductions=REDUCTIONS, model=Logged, **options):
    podium.utils.set_random_seed(0)
    model = model([podium.Input((1,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"], log_reductions=reductions, **options)
    return model


def fit(model, *callbacks, **options):
    options = {"batch_size": 8, "shuffle": False, "verbose": 0, **options}
    return model.fit(X, X, callbacks=list(callbacks), **options)


def plain(value):
    return {name: np.asarray(part).tolist() for name, part in value.items()}


def close(ours, expected):
    assert list(ours) == list(expected)
    for name, value in ours.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, err_msg=name)


def test_default_step_has_the_batch_value_and_the_epoch_mean():
    record = Record()
    history = fit(make(None, podium.Sequential), record).history
    losses = [step["batch"]["loss"] for step in record.steps["train"]]
    means = [step["running"]["loss"] for step in record.steps["train"]]
    for count in range(1, 5):
        expected = np.average(losses[:count], weights=SIZES[:count])
        assert means[count - 1] == pytest.approx(expected, rel=1e-5)
    assert [step["shown"]["loss"] for step in record.steps["train"]] == means  # as in Keras
    assert history["loss"] == [means[-1]] and len(set(losses)) == 4


def test_fused_and_eager_steps_reduce_like_single_steps():
    runs = []
    for options in ({}, {"steps_per_execution": 3}, {"run_eagerly": True}):
        record, model = Record(), make(**options)
        history = fit(model, record, epochs=2, validation_data=(X, X)).history
        runs.append((record.steps, plain(history)))
    for steps, history in runs[1:]:
        close(history, runs[0][1])
        for kind in ("train", "test"):
            for ours, expected in zip(steps[kind], runs[0][0][kind], strict=True):
                for part in ("batch", "running", "shown"):
                    close(plain(ours[part]), plain(expected[part]))


def test_every_reduction_of_the_epoch_is_of_the_batches():
    record, model = Record(), make()
    logs = {name: values[-1] for name, values in fit(model, record, epochs=2).history.items()}
    batches = [step["batch"] for step in record.steps["train"][4:]]
    assert logs["loss"] == pytest.approx(sum(batch["loss"] for batch in batches), rel=1e-6)
    assert logs["mae"] == batches[-1]["mae"]
    assert logs["raw"] == pytest.approx(np.average(PEAKS, weights=SIZES), rel=1e-6)
    assert (logs["peak"], logs["low"], logs["gone"]) == (max(PEAKS), min(PEAKS), PEAKS[-1])
    assert logs["row"] == pytest.approx(sum(X[i : i + 8].mean(0) for i in range(0, 30, 8)))
    assert logs["kept"] == pytest.approx(X[24:].mean(0))


def test_history_csv_progress_bar_and_evaluate_agree(tmp_path, capsys):
    class Ends(podium.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.logs = dict(logs)

    ends, path = Ends(), tmp_path / "log.csv"
    reductions = {name: REDUCTIONS[name] for name in ("loss", "mae")}
    model = make(reductions, podium.Sequential)
    history = fit(
        model, ends, podium.callbacks.CSVLogger(path), validation_data=(X, X), verbose=1
    ).history
    with path.open() as file:
        (row,) = csv.DictReader(file)
    assert {name: [value] for name, value in ends.logs.items()} == history
    assert {name: float(row[name]) for name in history} == ends.logs
    shown = capsys.readouterr().out
    assert all(f"{name}: {value[0]:.4f}" in shown for name, value in history.items())
    logs = model.evaluate(X, X, batch_size=8, verbose=0, return_dict=True)
    assert logs == {name: ends.logs[f"val_{name}"] for name in logs}
    assert list(logs.values()) == model.evaluate(X, X, batch_size=8, verbose=0)


def test_reductions_are_saved_with_the_model(tmp_path):
    model = make({"mae": {"over_epoch": "max", "over_replicas": "sum"}}, podium.Sequential)
    assert model.get_compile_config()["log_reductions"] == {
        "mae": {"over_epoch": "max", "over_replicas": "sum"}
    }
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_compile_config() == model.get_compile_config()
    assert fit(loaded).history == fit(model).history


def test_resumed_in_the_middle_of_an_epoch(tmp_path):
    class Fails(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.steps = getattr(self, "steps", 0) + 1
            if self.steps == 6:
                raise OSError("the machine is gone")

        def get_state(self):
            return None

    def backup():
        return podium.callbacks.BackupAndRestore(tmp_path, save_freq=1)

    uninterrupted = plain(fit(make(), epochs=2).history)
    with pytest.raises(OSError, match="the machine is gone"):
        fit(make(), backup(), Fails(), epochs=2)
    resumed = make()
    assert plain(fit(resumed, backup(), epochs=2).history) == uninterrupted


def test_evaluation_inside_of_an_epoch_keeps_its_reductions():
    class Evaluates(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.evaluate(10 * X, X, verbose=0)

    assert plain(fit(make(), Evaluates()).history) == plain(fit(make()).history)


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_replicas_are_reduced_as_chosen(replicas):
    seen = {}

    class Replicated(podium.Sequential):
        def make_train_function(self, force=False):
            def step(data):
                x, _ = data
                peak = ops.max(x)
                return {
                    "mean": peak,
                    "max": LogValue(peak, "max"),
                    "min": LogValue(peak, over_replicas="min", over_epoch="last"),
                    "sum": LogValue(ops.sum(x), "sum"),
                    "first": LogValue(peak, "first"),
                    "concat": LogValue(peak, "concat"),
                    "chosen": peak,
                }

            def train_function(iterator):
                logs = self.distribute_strategy.run(step, args=(next(iterator),))
                seen.update(reduce_per_replica(logs, self.distribute_strategy))
                self._train_counter.assign_add(1)
                return logs

            return train_function

    with MirroredStrategy(replicas).scope():
        model = make({"chosen": {"over_replicas": "max"}}, Replicated)
    logs = {
        name: values[0]
        for name, values in model.fit(
            X[:16], X[:16], batch_size=8, shuffle=False, verbose=0
        ).history.items()
    }
    peaks = X[8:16].reshape(replicas, -1).max(1)  # of the last batch
    assert (logs["mean"], logs["min"]) == (pytest.approx(peaks.mean()), peaks.min())
    assert (logs["max"], logs["sum"]) == (X[:16].max(), pytest.approx(X[:16].sum()))
    assert logs["first"] == peaks[0] and np.ravel(logs["concat"]).tolist() == peaks.tolist()
    assert logs["chosen"] == peaks.max()
    assert float(seen["max"].value) == peaks.max()


def test_custom_train_function_that_hides_steps_is_rejected():
    class Own(podium.Sequential):
        def make_train_function(self, force=False):
            return lambda iterator: [self.train_step(next(iterator)) for _ in range(2)][-1]

    model = make({"loss": "sum"}, Own, steps_per_execution=2)
    with pytest.raises(ValueError, match=r"'sum' over the epoch was chosen for 'loss'.*last of"):
        fit(model)
    model = make({"loss": "mean"}, Own, steps_per_execution=1)
    with pytest.raises(ValueError, match="'mean' over the epoch was chosen for 'loss'"):
        fit(model)


@pytest.mark.parametrize(
    ("reductions", "error", "message"),
    [
        ({"loss": "summ"}, ValueError, r"Unknown log_reductions\['loss'\] 'summ'. Did you mean 's"),
        ({"loss": 1}, TypeError, r"log_reductions\['loss'\]=1 was given; the name of a reduction"),
        (["loss"], TypeError, r"log_reductions=\['loss'\] was given; a dictionary from the names"),
        ({"loss": {"over_epochs": "sum"}}, ValueError, "Did you mean 'over_epoch'"),
        ({"loss": {"over_epoch": "concat"}}, ValueError, "Choices: 'last', 'max', 'mean', 'min'"),
        ({"loss": {"over_replicas": "last"}}, ValueError, "Choices: 'concat', 'first', 'max'"),
    ],
)
def test_unknown_reduction_raises_in_compile(reductions, error, message):
    with pytest.raises(error, match=message):
        make(reductions)


def test_log_value_with_an_unknown_reduction():
    with pytest.raises(ValueError, match=r"Unknown reduction 'avg'\. Choices: 'concat', 'first'"):
        LogValue(1.0, "avg")
    with pytest.raises(ValueError, match="Unknown over_epoch of LogValue 'first'"):
        LogValue(1.0, over_epoch="first")


def test_name_that_no_step_returns_warns_once():
    model = make({"grad_nrm": "max", "los": "sum", "val_mae": "last"})
    expected = r"log_reductions\['{}'\], and `train_step` returned 'loss', 'mae'.*Did you mean '{}'"
    with pytest.warns() as caught:
        fit(model, validation_data=(X, X), epochs=2)
    messages = [str(warning.message) for warning in caught if "log_red" in str(warning.message)]
    assert sum("`train_step`" in message for message in messages) == 3
    assert sum("`test_step`" in message for message in messages) == 2  # not of grad_nrm
    with pytest.warns(UserWarning, match=expected.format("val_mae", "mae")):
        fit(make({"val_mae": "last"}))


def test_value_that_changes_its_shape_cannot_be_reduced():
    class Rows(podium.Sequential):
        def train_step(self, data):
            return super().train_step(data) | {"rows": LogValue(data[0], "sum")}

    model = make(None, Rows, steps_per_execution=1)
    with pytest.raises(
        ValueError, match=r"shape \(6, 1\), and before with \(8, 1\); a value whose"
    ):
        fit(model)


def test_compiling_again_replaces_the_reductions():
    model = make({"loss": "sum"}, podium.Sequential)
    summed = fit(model).history["loss"][0]
    model.compile("sgd", "mse")
    assert fit(model).history["loss"][0] < summed / 2
    assert not [path for path in model._training_variables() if path.startswith("reductions")]
