"""Compilation: the persistent cache, reported recompilations, one program per shape."""

import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest

import podium
from podium.core.compile import _compilation_cache
from podium.execution import Execution, _steps_autotuner

SCRIPT = """
import sys
import jax
hits, misses = [], []
def count_event(event, **_):
    if event.endswith("cache_hits"):
        hits.append(1)
    elif event.endswith("cache_misses"):
        misses.append(1)
jax.monitoring.register_event_listener(count_event)
import numpy as np
import podium
lazy = {"podium.compat", "podium.datasets", "podium.utils", "optax", "h5py"}
early = {*lazy, "jax._src.pallas.core"} & sys.modules.keys()
assert not early, f"imported before they are needed: {early}"
podium.utils.set_random_seed(0)
model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(1)])
model.compile("sgd", "mse")
loss = model.fit(np.ones((40, 3)), np.ones((40, 1)), verbose=0).history["loss"][0]
print(podium.execution.compilation_cache(), len(hits), len(misses), loss, sep="|")
"""


def started(**settings):
    """Start a process without a cache of its own, but for what is set."""
    unset = ("JAX_COMPILATION_CACHE_DIR", "PODIUM_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    root = str(pathlib.Path(podium.__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-W", "default::UserWarning", "-c", SCRIPT],
        env={**environment, "PYTHONPATH": root, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    said, complained = process.communicate(timeout=300)
    assert process.returncode == 0, complained
    folder, hits, misses, loss = said.strip().split("|")
    return folder, int(hits), int(misses), float(loss), complained


def test_processes_share_the_compilation_cache(
    tmp_path,
):  # and imports nothing in vain
    both = [started(PODIUM_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    first, second = [ended(process) for process in both]
    assert (
        first[0] == second[0]
        and pathlib.Path(first[0]).parent == tmp_path
        and first[3] == second[3]
    )
    folder, hits, misses, loss, complained = ended(started(PODIUM_CACHE_DIR=str(tmp_path)))
    assert (folder, misses, loss) == (first[0], 0, first[3]) and hits > 3
    assert "Warning" not in complained


@pytest.fixture
def no_cache_yet(monkeypatch):
    """JAX without a cache; that of the tests is restored afterwards."""
    before = jax.config.jax_compilation_cache_dir
    monkeypatch.delenv("PODIUM_CACHE_DIR", raising=False)
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    _compilation_cache._pending_warnings.clear()
    jax.config.update("jax_compilation_cache_dir", before)


def test_the_default_cache_folder_belongs_to_the_user(no_cache_yet, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _compilation_cache.start_compilation_cache()
    folder = pathlib.Path(podium.execution.compilation_cache())
    assert folder.parent == tmp_path / "podium" / "xla" and folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    jax.config.update("jax_compilation_cache_dir", None)
    _compilation_cache.start_compilation_cache()
    assert (
        pathlib.Path(podium.execution.compilation_cache()).parent
        == tmp_path / "home" / ".cache" / "podium" / "xla"
    )


def test_the_environment_disables_the_cache(no_cache_yet, monkeypatch):
    monkeypatch.setenv("PODIUM_CACHE_DIR", "off")
    _compilation_cache.start_compilation_cache()
    assert podium.execution.compilation_cache() is None
    _compilation_cache.warn_if_cache_unavailable()  # nothing to say: warnings are errors


def test_an_unusable_cache_folder_is_reported_once_and_training_continues(
    no_cache_yet, monkeypatch, tmp_path
):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    _compilation_cache.start_compilation_cache()
    assert podium.execution.compilation_cache() is None
    step = Execution(lambda x: {"sum": podium.ops.sum(x)})
    with pytest.warns(UserWarning, match=r"cannot be stored in .*Set PODIUM_CACHE_DIR"):
        values = step(iter([np.ones(3, "float32")]))
    assert float(values.last["sum"]) == 3.0
    step(iter([np.ones(4, "float32")]))


def test_settings_of_jax_are_not_changed(monkeypatch, tmp_path):
    before = jax.config.jax_compilation_cache_dir
    monkeypatch.setenv("PODIUM_CACHE_DIR", str(tmp_path))
    _compilation_cache.start_compilation_cache()
    assert podium.execution.compilation_cache() == before and not list(tmp_path.iterdir())


def test_a_call_moves_and_disables_the_cache(tmp_path):
    before = jax.config.jax_compilation_cache_dir
    try:
        folder = podium.execution.compilation_cache(tmp_path)
        assert (
            pathlib.Path(folder).parent
            == tmp_path
            == pathlib.Path(podium.execution.compilation_cache()).parent
        )
        jax.block_until_ready(jax.jit(lambda x: x * 3 + 17)(np.float32(1)))
        kept = sorted(pathlib.Path(folder).glob("*-cache"))
        assert len(kept) == 1
        assert podium.execution.compilation_cache(None) is None
        jax.block_until_ready(jax.jit(lambda x: x * 3 + 18)(np.float32(1)))
        assert sorted(pathlib.Path(folder).glob("*-cache")) == kept
        (tmp_path / "file").write_text("no folder")
        with pytest.raises(OSError, match="file"):
            podium.execution.compilation_cache(tmp_path / "file")
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
        from jax.experimental.compilation_cache import compilation_cache as opened

        opened.reset_cache()


def test_a_full_cache_evicts_the_least_recently_used_and_truncated_files(tmp_path):
    for number in range(4):
        path = tmp_path / f"{number}-cache"
        path.write_bytes(b"x" * 10)
        os.utime(path, (number, number))
    (tmp_path / "empty-cache").touch()
    (tmp_path / "notes").write_bytes(b"x" * 100)
    _compilation_cache.delete_old_entries(tmp_path, 25)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2-cache", "3-cache", "notes"]


# --- programs made again


def rows(*sizes, features=2, dtype="float32"):
    return [
        (
            {"a": np.ones((size, features), dtype), "b": np.ones(size, dtype)},
            np.ones((size, 1), dtype),
        )
        for size in sizes
    ]


def execution():
    return Execution(lambda data: {"sum": podium.ops.sum(data[0]["a"]) + podium.ops.sum(data[1])})


def run(step, batches):
    step.begin_run()
    iterator = iter(batches)
    for _ in batches:
        step(iterator)


def test_a_recompilation_reports_what_changed_and_what_it_cost():
    step = execution()
    run(step, rows(4, 4, 3))
    run(step, rows(4, 3, 4))
    assert [(one.run, one.step) for one in step.recompilations] == [(1, 3)]
    assert step.recompilations[0].changes == (
        "x['a']: float32[4, 2] -> float32[3, 2]",
        "x['b']: float32[4] -> float32[3]",
        "y: float32[4, 1] -> float32[3, 1]",
    )
    run(step, rows(4) + [(rows(4)[0][0], np.ones((4, 5), "float32"))])
    assert step.recompilations[1].changes == ("y: float32[4, 1] -> float32[4, 5]",)
    assert (step.recompilations[1].run, step.recompilations[1].step) == (3, 2)
    run(step, [(rows(4)[0][0], np.ones((4, 5), "int32"))])
    assert step.recompilations[2].changes == ("y: float32[4, 5] -> int32[4, 5]",)
    run(step, [(*rows(4)[0], np.ones(4, "float32"))])
    assert "sample_weight: float32[4] is new" in step.recompilations[3].changes
    report = step.recompilations.report()
    assert report.startswith("Compiled again 4 times, in ") and "run 1, step 3: x['a']" in report
    assert step.recompilations[0].seconds > 0


@pytest.mark.parametrize(
    ("batch", "names"),
    [
        (np.ones(3, "float32"), ["x"]),
        ([np.ones(3, "float32"), np.ones(3, "float32")], ["x[0]", "x[1]"]),
        (
            (np.ones(3, "float32"), (np.ones(3, "float32"), np.ones(3, "float32"))),
            ["x", "y[0]", "y[1]"],
        ),
        (tuple(np.ones(3, "float32") for _ in range(4)), ["x[0]", "x[1]", "x[2]", "x[3]"]),
    ],
)
def test_parts_of_a_batch_are_named_like_the_arguments_of_fit(batch, names):
    step = Execution(lambda data: {})
    smaller = jax.tree.map(lambda array: array[:2], batch)
    run(step, [batch, smaller])
    assert [change.split(":")[0] for change in step.recompilations[0].changes] == names


def test_many_shapes_cause_one_warning_with_the_report():
    step = Execution(lambda x: {"sum": podium.ops.sum(x)})
    batches = [np.ones((2, length), "float32") for length in range(1, 8)]
    with pytest.warns(
        UserWarning,
        match=r"recompiled for 5 shapes(.|\n)*run 1, step 5: x: float32\[2, 4\] -> float32\[2, 5\]",
    ) as seen:
        run(step, batches)
    assert len(seen) == 1 and step.trace_count == 7


def test_smaller_last_batches_cause_no_warning():
    step = Execution(lambda x: {"sum": podium.ops.sum(x)})
    batches = [np.ones((size, length), "float32") for length in range(1, 5) for size in (3, 3, 2)]
    run(step, batches)  # four lengths, each with a smaller last batch; warnings are errors here
    assert len(step.recompilations) == 7


# --- one program per shape


def fitted(steps_per_execution, epochs=3):
    traced = []

    class Counting(podium.Sequential):
        def train_step(self, data):
            traced.append(data[0].shape)
            return super().train_step(data)

    model = Counting([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=steps_per_execution)
    for _ in range(2):
        model.fit(np.ones((23, 2)), np.ones((23, 1)), batch_size=4, epochs=epochs, verbose=0)
    return model, traced


@pytest.mark.parametrize("steps_per_execution", [1, 2, 3, 8, "auto"])
def test_the_smaller_last_batch_needs_one_more_program(steps_per_execution):
    model, traced = fitted(steps_per_execution)
    assert (
        model.train_function.trace_count == 2
    )  # "auto" stays with single steps in runs as short as these
    assert (
        sorted(set(traced)) == [(3, 2), (4, 2)] and len(traced) == 4
    )  # twice each: to find the Variables, and to trace
    assert [one.changes for one in model.train_function.recompilations] == [
        ("x: float32[4, 2] -> float32[3, 2]", "y: float32[4, 1] -> float32[3, 1]")
    ]


def test_automatic_fusing_adds_one_program(monkeypatch):
    monkeypatch.setattr(_steps_autotuner.StepsAutotuner, "_pays_off", lambda *_: True)
    monkeypatch.setattr(_steps_autotuner, "_QUICK_STEP", 10.0)
    model, _ = fitted("auto", epochs=4)
    assert model.train_function.trace_count == 3
    assert len(model.train_function.recompilations) == 1
