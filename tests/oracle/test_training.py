"""Podium trains like tf_keras: the same curves, logs, evaluations, predictions and callback calls.

Needs no TensorFlow: the results of tf_keras are in `fixtures/training.*` (README.md documents how
to record them again). Where Podium differs on purpose, `RUNS_THAT_DIFFER` and `EVENTS_THAT_DIFFER`
convert the record to the expected behavior of Podium, with the reason.
"""

import json
import sys
from fnmatch import fnmatch
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from training_cases import COMPILED
from training_custom import CUSTOM
from training_events import SCENARIOS
from training_library import Library

import podium

CASES = COMPILED | CUSTOM
FIXTURES = Path(__file__).parent / "fixtures"
TOLERANCE = 1e-4  # relative; a value that float32 cancels down to zero is compared with 1e-5

PODIUM = Library(
    keras=podium,
    GradientTape=podium.GradientTape,
    Dataset=podium.data.Dataset,
    mean=podium.ops.mean,
    sum=podium.ops.sum,
    exp=podium.ops.exp,
    square=podium.ops.square,
    concat=podium.ops.concatenate,
    ones=podium.ops.ones,
    zeros=podium.ops.zeros,
    shape=podium.ops.shape,
)


@cache
def load_record():
    """Return the recorded results: {"runs": {name: ...}, "events": {name/k: ...}}."""
    recorded = json.loads((FIXTURES / "training.json").read_text())
    with np.load(FIXTURES / "training.npz") as arrays:
        for key in arrays.files:
            recorded["runs"][key.split("/")[0]].setdefault("predict", []).append(arrays[key])
    return recorded


def differences(actual, expected, where=""):
    """Describe all differences: floats within the tolerance, all else exactly, dicts in order."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        order = (
            []
            if list(actual) == list(expected)
            else [f"{where}: Podium has {list(actual)}, tf_keras {list(expected)}"]
        )
        both = [key for key in expected if key in actual]
        return order + [
            text
            for key in both
            for text in differences(actual[key], expected[key], f"{where}[{key}]")
        ]
    if isinstance(expected, list) and isinstance(actual, list):
        if len(actual) != len(expected):
            return [
                f"{where}: Podium has {len(actual)} items, tf_keras {len(expected)}:\n"
                f"{actual}\n{expected}"
            ]
        pairs = enumerate(zip(actual, expected, strict=True))
        return [text for i, (a, b) in pairs for text in differences(a, b, f"{where}[{i}]")]
    if isinstance(expected, (float, np.ndarray)):
        same = np.shape(actual) == np.shape(expected) and np.allclose(
            actual, expected, rtol=TOLERANCE, atol=1e-5
        )
    else:
        same = type(actual) is type(expected) and actual == expected
    return [] if same else [f"{where}: Podium has {actual!r}, tf_keras {expected!r}"]


# --- runs


def mean_over_batches(run, sizes):
    """Return the run with Podium's History of raw values: means over the batches of an epoch."""
    raw = run["batches"]
    means = {
        name: [float(np.average([logs[name] for logs in epoch], weights=sizes)) for epoch in raw]
        for name in raw[0][0]
    }
    return {**run, "history": means}


# name -> (function from the recorded to the expected run, reason)
RUNS_THAT_DIFFER = {
    "gan": (
        lambda run: mean_over_batches(run, [8, 8, 4]),
        "tf_keras keeps the raw value of the last batch; in Podium the progress bar and History "
        "agree on the mean of the epoch",
    ),
    "vae": (
        lambda run: {**run, "non_trainable": []},
        "tf_keras counts the sums of metrics among a model's weights; in Podium, as in "
        "Keras 3, they are only variables",
    ),
}


def expected_run(name):
    run = load_record()["runs"][name]
    return RUNS_THAT_DIFFER[name][0](run) if name in RUNS_THAT_DIFFER else run


@pytest.mark.parametrize("name", [name for name in CASES if name != "class_and_sample_weights"])
def test_run_equals_tf_keras(name):
    assert not differences(CASES[name](PODIUM), expected_run(name), name)


def test_class_weight_and_sample_weight_together_raise():
    """tf_keras multiplies them, and fails with a partial batch; Podium, like Keras 3, requires the
    product.
    """
    name = "class_and_sample_weights"
    with pytest.raises(ValueError, match="class_weight and sample_weight were both given"):
        CASES[name](PODIUM)
    assert not differences(CASES[name](PODIUM, multiplied=True), expected_run(name), name)


@pytest.mark.parametrize(("name", "k"), [("regression", None), ("regression", 3), ("gan", 3)])
def test_run_without_batch_callbacks_equals_tf_keras(name, k):
    """Without batch callbacks, the curves are those of single steps for any steps per execution."""
    actual, expected = CASES[name](PODIUM, k=k, log_batches=False), expected_run(name)
    assert not differences(actual, {**expected, "batches": []}, name)


# --- events


def add_end_events(name, k):
    """Each begin hook is followed by its end hook, before the exception reaches the caller."""
    recorded = load_record()["events"][f"{name}/{k}"]
    *events, raised = recorded["events"]
    for mode in ("test", "train", "predict"):  # validation is inside training
        if f"first on_{mode}_begin" in events and not any(
            line.startswith(f"first on_{mode}_end") for line in events
        ):
            events += [f"{callback} on_{mode}_end" for callback in ("first", "raiser", "last")]
    return {**recorded, "events": [*events, raised]}


def drop_steps_without_data(name, k):
    """A step starts only if there is data, so every step also ends; executions have k steps."""
    recorded = load_record()["events"][f"{name}/1"]
    events = [
        line
        for line, after in pairwise([*recorded["events"], ""])
        if "batch_begin" not in line or after.startswith(line.replace("begin", "end"))
    ]
    return {
        **recorded,
        "events": merge_executions(events, k),
        "iterations": recorded["steps"]["_train_counter"],
    }


def drop_epochs_without_data(name, k):
    """As before, and no epoch without data: tf_keras logs a loss of 0.0 for it."""
    recorded = drop_steps_without_data(name, k)
    events = [
        line
        for line in recorded["events"]
        if line.split()[:2] not in (["on_epoch_begin", "1"], ["on_epoch_end", "1"])
    ]
    return {
        **recorded,
        "events": events,
        "epochs": [0],
        "history": {key: [v[0]] for key, v in recorded["history"].items()},
    }


def merge_executions(events, k):
    """Return the events of executions of k steps from those of single steps."""
    kept = []
    for line, after in pairwise([*events, ""]):
        hook, index = (*line.split(), "0")[:2]
        inside = hook.endswith("batch_begin") and int(index) % k
        continues = hook.endswith("batch_end") and (int(index) + 1) % k and "batch_begin" in after
        if not inside and not continues:
            kept.append(line)
    return kept


# pattern of names -> (function that returns the expected events, reason)
EVENTS_THAT_DIFFER = {
    "exception_*": (
        add_end_events,
        "callbacks close files, threads and progress bars also after an exception",
    ),
    "generator_of_unknown_length": (
        drop_steps_without_data,
        "tf_keras starts a step to detect the end of the data",
    ),
    "generator_in_evaluate": (
        drop_steps_without_data,
        "tf_keras starts a step to detect the end of the data",
    ),
    "dataset_that_runs_out": (
        drop_steps_without_data,
        "tf_keras starts a step to detect the end of the data, and loses the end of others",
    ),
    "generator_that_is_spent": (
        drop_epochs_without_data,
        "tf_keras starts an epoch to detect the end of the data",
    ),
}


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", SCENARIOS)
def test_events_equal_tf_keras(name, k):
    expected = load_record()["events"][f"{name}/{k}"]
    for pattern, (adapt_events, _) in EVENTS_THAT_DIFFER.items():
        if fnmatch(name, pattern):
            assert adapt_events(name, k) != expected
            expected = adapt_events(name, k)
    actual = SCENARIOS[name](PODIUM, k)
    assert "\n".join(actual["events"]) == "\n".join(expected["events"])
    assert not differences(actual, expected, name)


# --- the tables


def test_recorded_cases_equal_the_current_cases():
    assert set(load_record()["runs"]) == set(CASES)
    assert set(load_record()["events"]) == {f"{name}/{k}" for name in SCENARIOS for k in (1, 3)}


def test_tf_keras_rejects_executions_of_unknown_length():
    """Therefore the expected events are derived from the record of single steps."""
    rejected = {key for key, recorded in load_record()["events"].items() if "refused" in recorded}
    assert rejected == {
        f"generator_{name}/3" for name in ("of_unknown_length", "that_is_spent", "in_evaluate")
    }
