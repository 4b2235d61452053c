"""predict and predict_iter: outputs are copied once, to new arrays, to `out`, or not at all."""

import contextlib
import gc
import itertools
import os
import threading
import time
import warnings

import h5py
import numpy as np
import pytest

import podium
from podium import callbacks, layers
from podium.data import Dataset
from podium.execution import _steps_autotuner
from podium.models.predict import _output_collector, _output_rows
from podium.models.training import _run_batches

X = np.random.default_rng(0).normal(size=(41, 3)).astype("float32")
SIZES = [8, 8, 8, 8, 8, 1]


class Several(podium.Model):
    """Outputs in a structure, of several types, with a number for each batch."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(4)

    def call(self, x):
        y = self.dense(x)
        return {
            "rows": y,
            "more": [podium.ops.cast(y[:, 0] > 0, "bool"), podium.ops.cast(y * 9, "int32")],
        }

    def predict_step(self, data):
        outputs = self(podium.data.unpack_x_y_sample_weight(data)[0])
        return {
            **outputs,
            "mean": podium.ops.mean(outputs["rows"]),
            "half": podium.ops.cast(outputs["rows"], "bfloat16"),
        }


def several(k=1):
    podium.utils.set_random_seed(1)
    model = Several()
    model.compile(steps_per_execution=k)
    return model


def dense(k=1, units=2, **options):
    podium.utils.set_random_seed(1)
    model = podium.Sequential([podium.Input((3,)), layers.Dense(units)])
    model.compile(steps_per_execution=k, **options)
    return model


def batches(x=X, size=8):
    return (x[start : start + size] for start in range(0, len(x), size))


def generator():
    for batch in batches():
        yield (batch,)


class Numbered(podium.utils.PyDataset):
    """Batches by number: how many is known, how long they are is not."""

    def __len__(self):
        return len(SIZES)

    def __getitem__(self, index):
        return X[index * 8 : index * 8 + 8]


SOURCES = {
    "arrays": lambda: {"x": X, "batch_size": 8},
    "dataset": lambda: {"x": Dataset.from_tensor_slices(X).batch(8)},
    "by number": lambda: {"x": Numbered()},
    "generator": lambda: {"x": generator()},
}


@pytest.fixture
def eager_to_fuse(monkeypatch):
    for name in ("_QUICK_STEP", "_MAX_EXECUTION", "_SAVED_FRACTION"):
        monkeypatch.setattr(_steps_autotuner, name, 1e9)


@pytest.fixture
def chunks(monkeypatch):
    """Makes chunks and what is copied at a time small, so that there are several."""
    monkeypatch.setattr(_output_rows, "_CHUNK_BYTES", 100)
    monkeypatch.setattr(_output_rows, "_COPY_BYTES", 40)


def reading_threads():
    gc.collect()
    return [
        thread
        for thread in threading.enumerate()
        if thread.name.startswith(("podium-read-ahead", "podium-batches"))
    ]


def assert_same(found, expected):
    assert list(found) == list(expected)
    pairs = [(found[name], expected[name]) for name in found if name != "more"]
    for one, other in [*pairs, *zip(found["more"], expected["more"], strict=True)]:
        assert (
            one.dtype == other.dtype
            and type(one) is np.ndarray
            and one.flags.writeable
            and one.flags.owndata
        )
        np.testing.assert_array_equal(one, other)


def by_batches(model, count=None):
    """What calling the step batch by batch gives, put together by NumPy."""
    parts = [model.predict_on_batch(batch) for batch in itertools.islice(batches(), count)]
    concatenated = {
        name: np.concatenate([part[name] for part in parts]) for name in ("rows", "mean", "half")
    }
    more = [np.concatenate([part["more"][place] for part in parts]) for place in (0, 1)]
    return {
        "rows": concatenated["rows"],
        "more": more,
        "mean": concatenated["mean"],
        "half": concatenated["half"],
    }


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("k", [1, 3, "auto"])
def test_outputs_are_those_of_the_batches_bit_for_bit(source, k, eager_to_fuse, chunks):
    expected = by_batches(several())
    model = several(k)
    for _ in range(2 if k == "auto" else 1):
        assert_same(model.predict(**SOURCES[source](), verbose=0), expected)
    assert_same(model.predict(**SOURCES[source](), steps=4, verbose=0), by_batches(several(), 4))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("k", [1, 3, "auto"])
def test_predict_iter_yields_the_same_outputs_batch_by_batch(source, k, eager_to_fuse):
    reference, model = several(), several(k)
    expected = [reference.predict_on_batch(batch) for batch in batches()]
    for steps in (None, 4, 1):
        found = list(model.predict_iter(**SOURCES[source](), steps=steps))
        assert len(found) == (steps or len(SIZES))
        for one, other in zip(found, expected, strict=False):
            assert one["mean"].shape == ()
            assert_same({**one, "mean": np.array([one["mean"]])}, other)
    assert model.steps_per_execution == k


def test_eager_steps_and_custom_predict_functions():
    expected = dense().predict(X, 8, verbose=0)
    np.testing.assert_allclose(
        dense(run_eagerly=True).predict(X, 8, verbose=0), expected, rtol=1e-6
    )

    class Own(podium.Sequential):
        def make_predict_function(self, force=False):
            return lambda iterator: self(next(iterator))

    model = Own([podium.Input((3,)), layers.Dense(2)])
    model.set_weights(dense().get_weights())
    np.testing.assert_allclose(model.predict(X, 8, verbose=0), expected, rtol=1e-6)
    assert [part.shape for part in model.predict_iter(X, 8)] == [(size, 2) for size in SIZES]


def test_known_sizes_are_allocated_once_and_returned_without_a_copy(monkeypatch):
    made = []
    original = np.empty

    def noting(shape, *args, **kwargs):
        made.append(original(shape, *args, **kwargs))
        return made[-1]

    monkeypatch.setattr(_output_rows.np, "empty", noting)
    for k in (1, 3):
        found = dense(k).predict(X, 8, verbose=0)
        (outputs,) = [
            array for array in made if array.ndim == 2
        ]  # not rows of several batches on their way to the device
        assert outputs.shape == (41, 2) and found is outputs
        made.clear()


def test_an_estimate_that_was_too_large_is_truncated(chunks):
    found = dense().predict(Numbered(), verbose=0)
    assert found.shape == (41, 2) and found.flags.owndata
    with pytest.warns(UserWarning, match="ran out of data"):
        assert dense().predict(generator(), steps=9, verbose=0).shape == (41, 2)


def test_an_estimate_that_does_not_fit_in_memory_is_ignored():
    rows = _output_rows.NewRows((2,), "float32", 2**60)
    rows.add(np.ones((3, 2), "float32"))
    np.testing.assert_array_equal(rows.result(), np.ones((3, 2)))
    with pytest.raises(MemoryError, match="Unable to allocate"):
        _output_rows.NewRows((2,), "float32", 2**50, exact=True)


@pytest.mark.parametrize("row", [(), (3,), (2, 0)])
def test_rows_of_any_shape_are_stored_in_chunks(row, chunks):
    rows, parts = _output_rows.NewRows(row, "int32"), []
    for size in (1, 30, 0, 7, 50):
        parts.append(np.random.default_rng(size).integers(0, 99, (size, *row), "int32"))
        rows.add(parts[-1])
    np.testing.assert_array_equal(rows.result(), np.concatenate(parts))


def test_dtypes_that_differ_between_batches_are_promoted():
    rows = _output_rows.NewRows((), "int32", 3)
    rows.add(np.array([1, 2], "int32"))
    rows.add(np.array([0.5], "float32"))
    found = rows.result()
    assert found.dtype == "float64" and found.tolist() == [1, 2, 0.5]


def test_outputs_with_rows_of_different_shapes_raise():
    class Sums(podium.Model):
        def predict_step(self, data):
            return podium.ops.transpose(data)

    with pytest.raises(
        ValueError,
        match=r"rows of shape \(1,\) after rows of shape \(8,\).*must match exactly.*predict_iter",
    ):
        Sums().predict(X, 8, verbose=0)
    assert [part.shape for part in Sums().predict_iter(X, 8)] == [(3, size) for size in SIZES]


def test_outputs_of_different_structures_raise():
    class Changes(podium.Model):
        def predict_step(self, data):
            return [data] if data.shape[0] == 8 else {"x": data}

    with pytest.raises(ValueError, match="must return the same structure for every batch"):
        Changes().predict(X, 8, verbose=0)


def test_results_are_freed_without_the_garbage_collector():
    import jax

    model = dense(3)
    model.predict(X, 4, verbose=0)
    gc.collect()
    gc.disable()
    try:
        before = len(jax.live_arrays())
        for _ in range(20):
            model.predict(X, 4, verbose=0)
        assert len(jax.live_arrays()) <= before + 2
    finally:
        gc.enable()


# --- callbacks


class Events(callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.events = []

    def on_predict_begin(self, logs=None):
        self.events.append("begin")

    def on_predict_batch_begin(self, batch, logs=None):
        self.events.append(batch)

    def on_predict_batch_end(self, batch, logs=None):
        self.events.append((batch, list(logs), logs["outputs"].shape))

    def on_predict_end(self, logs=None):
        self.events.append("end")


def test_callbacks_are_called_for_the_same_events():
    single = [
        event for step, size in enumerate(SIZES) for event in (step, (step, ["outputs"], (size, 2)))
    ]
    fused = [0, (3, ["outputs"], (32, 2)), 4, (5, ["outputs"], (9, 2))]
    for k, expected in ((1, single), ("auto", single), (4, fused)):
        model = dense(k)
        recorded, recorded_by_iter = Events(), Events()
        model.predict(X, 8, verbose=0, callbacks=recorded)
        assert recorded.events == ["begin", *expected, "end"]
        for _ in model.predict_iter(X, 8, callbacks=recorded_by_iter):
            pass
        assert recorded_by_iter.events == recorded.events


def test_the_progress_bar_alone_does_not_copy_the_outputs(monkeypatch, capsys):
    monkeypatch.setattr(_run_batches, "concatenate_outputs", None)
    assert dense(4).predict(X, 8, verbose=1).shape == (41, 2)
    assert "6/6" in capsys.readouterr().out


# --- out=


def sink_for(kind, folder, shape, dtype="float32"):
    if kind == "array":
        return np.full(shape, 7, dtype)
    if kind == "memmap":
        return np.memmap(folder / "rows", dtype, "w+", shape=shape)
    return h5py.File(folder / "rows.h5", "w").create_dataset("rows", shape, dtype, chunks=True)


@pytest.mark.parametrize("kind", ["array", "memmap", "h5py"])
@pytest.mark.parametrize("k", [1, 3])
def test_out_is_filled_and_returned(kind, k, tmp_path):
    expected = dense().predict(X, 8, verbose=0)
    for source, dtype in (("arrays", "float32"), ("generator", "float64")):
        sink = sink_for(kind, tmp_path, (50, 2), dtype)
        assert dense(k).predict(**SOURCES[source](), verbose=0, out=sink) is sink
        np.testing.assert_array_equal(np.asarray(sink[:41]), expected)
        assert (np.asarray(sink[41:]) == (7 if kind == "array" else 0)).all()
        if kind == "h5py":
            sink.file.close()


def test_out_has_the_structure_of_the_outputs():
    expected = several().predict(X, 8, verbose=0)
    out = {
        "rows": np.zeros((41, 4), "float32"),
        "more": [np.zeros(41, "bool"), np.zeros((41, 4), "int64")],
        "mean": np.zeros(6, "float32"),
        "half": np.zeros((41, 4), "float32"),  # holds every bfloat16
    }
    assert several(3).predict(X, 8, verbose=0, out=out) is out
    for name in ("rows", "mean", "half"):
        np.testing.assert_array_equal(out[name], expected[name].astype("float32"))
    np.testing.assert_array_equal(out["more"][1], expected["more"][1])


@pytest.mark.parametrize(
    ("out", "kind", "message"),
    [
        (
            np.zeros((40, 2), "float32"),
            ValueError,
            r"`out` has the shape \(40, 2\).*at least 41 rows of that shape.*\(41, 2\)",
        ),
        (
            np.zeros((41, 3), "float32"),
            ValueError,
            r"shape \(41, 3\), and the output has rows of shape \(2,\)",
        ),
        (np.zeros((), "float32"), ValueError, r"`out` has the shape \(\)"),
        (
            np.zeros((41, 2), "float16"),
            ValueError,
            "`out` has the dtype float16, and the output float32, which it cannot hold",
        ),
        (np.zeros((41, 2), "int64"), ValueError, "dtype int64, and the output float32"),
        (np.broadcast_to(np.float32(0), (41, 2)), ValueError, "cannot be written to"),
        (
            [np.zeros((41, 2), "float32")],
            TypeError,
            "`out` is a list; an object to fill was expected",
        ),
        (podium.ops.zeros((41, 2)).value, TypeError, "`out` is a ArrayImpl"),
    ],
    ids=["short", "wide", "number", "narrow", "whole", "read only", "list", "jax"],
)
def test_an_out_that_does_not_match_raises_before_anything_is_computed(out, kind, message):
    model = dense()
    with pytest.raises(kind, match=message):
        model.predict(X, 8, verbose=0, out=out)
    assert int(model._predict_counter.numpy()) == 0
    assert model.predict(X, 8, verbose=0).shape == (41, 2)
    with pytest.raises(kind, match=message):  # the program is known now
        model.predict(X, 8, verbose=0, out=out)
    assert int(model._predict_counter.numpy()) == 0


def test_an_out_of_another_structure_raises():
    with pytest.raises(
        ValueError, match=r"`out` is .*, and the outputs are .*in the structure of the outputs"
    ):
        several().predict(X, 8, verbose=0, out={"rows": np.zeros((41, 4), "float32")})


def test_an_out_that_is_too_short_raises_when_it_is_full():
    out = np.zeros((20, 2), "float32")
    with pytest.raises(
        ValueError, match=r"`out` has 20 rows of shape \(2,\).*shape \(8, 2\) after 16 rows"
    ):
        dense().predict(generator(), verbose=0, out=out)
    np.testing.assert_array_equal(out[:16], dense().predict(X[:16], 8, verbose=0))


# --- the forecast


@pytest.mark.parametrize("source", ["arrays", "by number"])
def test_a_warning_precedes_outputs_that_do_not_fit_in_memory(source, monkeypatch):
    monkeypatch.setattr(_output_collector, "available_memory", lambda: 300)
    model, at = dense(), []
    show = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(
            warnings,
            "showwarning",
            lambda *args: at.append((int(model._predict_counter.numpy()), str(args[0]))),
        )
        model.predict(**SOURCES[source](), verbose=0)
    monkeypatch.setattr(warnings, "showwarning", show)
    (steps, message), size = *at, 41 if source == "arrays" else 48
    assert steps == 0
    assert f"will take {size * 8} bytes, and 300 bytes of memory are available" in message
    assert "model.predict_iter(x)" in message and "out=" in message


def test_no_warning_for_outputs_that_fit_or_are_written_to_out(monkeypatch):
    monkeypatch.setattr(_output_collector, "available_memory", lambda: 41 * 8)
    dense().predict(X, 8, verbose=0)
    monkeypatch.setattr(_output_collector, "available_memory", lambda: 0)
    dense().predict(X, 8, verbose=0, out=np.zeros((41, 2), "float32"))
    dense().predict(generator(), verbose=0)
    list(dense().predict_iter(X, 8))
    monkeypatch.setattr(_output_collector, "available_memory", lambda: None)
    dense().predict(X, 8, verbose=0)


def test_sizes_are_formatted_with_units():
    written = [
        _output_collector._format_bytes(size)
        for size in (0, 1000, 2048, 3 * 2**29, 5 * 2**40, 2**53)
    ]
    assert written == ["0 bytes", "1000 bytes", "2.0 KiB", "1.5 GiB", "5.0 TiB", "8192.0 TiB"]


def test_available_memory_with_and_without_proc(monkeypatch):
    assert _output_collector.available_memory() > 2**20

    def refuse(*_, **__):
        raise OSError

    monkeypatch.setattr("builtins.open", refuse)
    assert _output_collector.available_memory() > 2**20
    monkeypatch.setattr(os, "sysconf", refuse)
    assert _output_collector.available_memory() is None


# --- predict_iter


class Slow:
    """Slow enough to be read ahead on a thread; notes that it was closed."""

    def __init__(self, count=None):
        self.count = count
        self.closed = 0

    def __iter__(self):
        try:
            for _ in itertools.count() if self.count is None else range(self.count):
                time.sleep(0.001)
                yield X[:8]
        finally:
            self.closed += 1


@pytest.mark.parametrize(
    "how", ["close", "drop", "closing", "break", "exhaust", "error", "unbegun"]
)
def test_data_are_closed_with_the_generator(how):
    source, recorded = Slow(20 if how == "exhaust" else None), Events()
    model = dense()
    outputs = model.predict_iter(source, callbacks=recorded)
    if how == "unbegun":
        outputs.close()
    elif how == "exhaust":
        assert len(list(outputs)) == 20
    elif how == "error":
        with pytest.raises(KeyError), contextlib.closing(outputs):
            for _ in zip(range(10), outputs, strict=False):
                pass
            raise KeyError("mine")
    else:
        with contextlib.closing(outputs) if how == "closing" else contextlib.nullcontext():
            for _ in zip(range(10), outputs, strict=False):
                pass
            assert reading_threads()
            if how == "close":
                outputs.close()
    del outputs
    assert not reading_threads() and source.closed == 1
    assert recorded.events[-1:] == ([] if how == "unbegun" else ["end"])
    assert model.predict(X, 8, verbose=0).shape == (41, 2)


def endless():
    while True:
        yield (X[:8],)


class Without(podium.utils.PyDataset):
    """A PyDataset without an end."""

    @property
    def num_batches(self):
        return None

    def __getitem__(self, index):
        return X[:8]


@pytest.mark.parametrize(
    "make",
    [
        endless,
        lambda: itertools.repeat((X[:8],)),
        lambda: Dataset.from_tensor_slices(X).batch(8).repeat(),
        Without,
    ],
    ids=["generator", "repeat", "dataset", "by number"],
)
def test_endless_data_are_read_as_far_as_requested(make, monkeypatch):
    monkeypatch.setattr(
        podium.data._data_handler, "_MANY_STEPS", 5
    )  # would warn of other runs here
    with contextlib.closing(dense().predict_iter(make())) as outputs:
        assert [part.shape[1] for part in itertools.islice(outputs, 12)] == [2] * 12
    with pytest.raises(ValueError, match="steps was not given"):
        dense().predict(make(), verbose=0)


def test_a_generator_keeps_the_batches_that_were_not_requested(eager_to_fuse):
    source = iter([(X[:8],)] * 20)
    with contextlib.closing(dense("auto").predict_iter(source)) as outputs:
        next(outputs), next(outputs)
    assert len(list(source)) in (
        17,
        18,
    )  # one may have been looked at, to know whether there are more


def test_the_model_can_be_used_between_batches():
    model = dense(3, optimizer="sgd", loss="mse")
    one, other = model.predict_iter(X, 4), model.predict_iter(X, 20)
    first, second = next(one), next(other)
    assert model.steps_per_execution == 3
    np.testing.assert_array_equal(model.predict(X, 4, verbose=0)[:4], first)
    model.fit(X, X[:, :2], batch_size=4, verbose=0)
    assert model.steps_per_execution == 3
    rest = list(one)
    assert len(rest) == 10 and len(list(other)) == 2
    np.testing.assert_array_equal(rest[-1], model.predict(X[40:], 1, verbose=0))
    assert (first.shape, second.shape) == ((4, 2), (20, 2))
    assert podium.distribute.has_strategy() is False


def test_arguments_are_checked_when_it_is_called():
    model = dense()
    for arguments, kind, message in (
        ({"x": X[:, :2]}, ValueError, "shape"),
        ({"x": X, "steps": 0}, ValueError, "steps=0"),
        ({"x": X, "verbose": 7}, ValueError, "verbose=7"),
        ({"x": X, "bach_size": 7}, TypeError, "Did you mean `batch_size`"),
        ({"x": iter(())}, ValueError, "empty"),
    ):
        with pytest.raises(kind, match=message):
            model.predict_iter(**arguments)


def test_samples_are_known_where_sizes_are():
    def samples(x, **options):
        return podium.data.DataHandler(x, caller="predict", **options).samples

    assert (
        samples(X, batch_size=8) == 41
        and samples(X, batch_size=41) == 41
        and samples(X, batch_size=99) == 41
    )
    assert (
        samples(X, batch_size=8, steps_per_epoch=5) == 40
        and samples(X, batch_size=8, steps_per_epoch=6) == 41
    )
    assert samples(X, batch_size=8, steps_per_epoch=9) == 41
    assert samples(X, batch_size=8, steps_per_epoch=9, epochs=3) == 41 + 3 * 8
    assert samples(Numbered()) is None and samples(generator()) is None


@pytest.mark.parametrize(("k", "run_eagerly"), [(1, False), (3, False), (3, True)])
def test_a_predict_function_returns_the_outputs_of_its_steps(k, run_eagerly):
    class Structured(podium.Sequential):
        def predict_step(self, data):
            return {"rows": super().predict_step(data), "size": podium.ops.shape(data)[0]}

    model = Structured([podium.Input((2,)), podium.layers.Dense(3)])
    model.compile(steps_per_execution=k, run_eagerly=run_eagerly)
    x = np.random.default_rng(0).normal(size=(10, 2)).astype("float32")
    function = model.make_predict_function()
    iterator = iter(podium.data.Dataset.from_tensor_slices(x).batch(3))
    parts = [function(iterator) for _ in range(-(-4 // k))]
    assert all(isinstance(leaf, podium.Tensor) for part in parts for leaf in part.values())
    rows = np.concatenate([part["rows"].numpy() for part in parts])
    np.testing.assert_allclose(rows, model(x), rtol=1e-5, atol=1e-6)
    sizes = np.concatenate([np.atleast_1d(part["size"].numpy()) for part in parts])
    assert sizes.tolist() == [3, 3, 3, 1]
    with pytest.raises(podium.core.OutOfRange):
        function(iterator)
