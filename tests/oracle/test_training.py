"""Podium trains as tf_keras does: the same curves, logs, evaluations, predictions, and the same
events for callbacks.

Needs no TensorFlow: what tf_keras gave lies in `fixtures/training.*` (README.md says how to record
it again). Where Podium differs on purpose, `RUNS_THAT_DIFFER` and `EVENTS_THAT_DIFFER` turn the
record into what Podium shall do, with the reason.
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
def record():
    """Everything that was recorded: {"runs": {name: ...}, "events": {name/k: ...}}."""
    found = json.loads((FIXTURES / "training.json").read_text())
    with np.load(FIXTURES / "training.npz") as arrays:
        for key in arrays.files:
            found["runs"][key.split("/")[0]].setdefault("predict", []).append(arrays[key])
    return found


def differences(ours, theirs, where=""):
    """Sentences for everything that differs: floats within the tolerance, all else exactly, dicts
    in their order.
    """
    if isinstance(theirs, dict) and isinstance(ours, dict):
        order = (
            []
            if list(ours) == list(theirs)
            else [f"{where}: Podium has {list(ours)}, tf_keras {list(theirs)}"]
        )
        both = [key for key in theirs if key in ours]
        return order + [
            text for key in both for text in differences(ours[key], theirs[key], f"{where}[{key}]")
        ]
    if isinstance(theirs, list) and isinstance(ours, list):
        if len(ours) != len(theirs):
            return [
                f"{where}: Podium has {len(ours)} of them, tf_keras "
                f"{len(theirs)}:\n{ours}\n{theirs}"
            ]
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [text for i, (a, b) in pairs for text in differences(a, b, f"{where}[{i}]")]
    if isinstance(theirs, (float, np.ndarray)):
        same = np.shape(ours) == np.shape(theirs) and np.allclose(
            ours, theirs, rtol=TOLERANCE, atol=1e-5
        )
    else:
        same = type(ours) is type(theirs) and ours == theirs
    return [] if same else [f"{where}: Podium has {ours!r}, tf_keras {theirs!r}"]


# --- runs


def mean_over_batches(run, sizes):
    """The run with the History that Podium keeps of raw values: means over epochs, weighted by the
    size of batches.
    """
    raw = run["batches"]
    means = {
        name: [float(np.average([logs[name] for logs in epoch], weights=sizes)) for epoch in raw]
        for name in raw[0][0]
    }
    return {**run, "history": means}


# name -> (the recorded run as Podium shall give it, why)
RUNS_THAT_DIFFER = {
    "gan": (
        lambda run: mean_over_batches(run, [8, 8, 4]),
        "tf_keras keeps the raw value of the last batch; in Podium the bar and History "
        "agree on the mean of the epoch",
    ),
    "vae": (
        lambda run: {**run, "non_trainable": []},
        "tf_keras counts the sums of metrics among a model's weights; in Podium, as in "
        "Keras 3, they are only variables",
    ),
}


def expected_run(name):
    run = record()["runs"][name]
    return RUNS_THAT_DIFFER[name][0](run) if name in RUNS_THAT_DIFFER else run


@pytest.mark.parametrize("name", [name for name in CASES if name != "class_and_sample_weights"])
def test_run_equals_tf_keras(name):
    assert not differences(CASES[name](PODIUM), expected_run(name), name)


def test_weights_of_classes_and_samples_are_multiplied_by_the_user():
    """tf_keras multiplies them itself, and fails at that with a partial batch; Podium, as Keras 3,
    asks for the product.
    """
    name = "class_and_sample_weights"
    with pytest.raises(ValueError, match="class_weight and sample_weight were both given"):
        CASES[name](PODIUM)
    assert not differences(CASES[name](PODIUM, multiplied=True), expected_run(name), name)


@pytest.mark.parametrize(("name", "k"), [("regression", None), ("regression", 3), ("gan", 3)])
def test_run_without_listeners_equals_tf_keras(name, k):
    """Nobody listens to batches: the curves are those of single steps, however many go into an
    execution.
    """
    ours, theirs = CASES[name](PODIUM, k=k, listen=False), expected_run(name)
    assert not differences(ours, {**theirs, "batches": []}, name)


# --- events


def ends_what_has_begun(name, k):
    """Every callback hears the end of what it heard the begin of, before the exception reaches the
    caller.
    """
    heard = record()["events"][f"{name}/{k}"]
    *events, raised = heard["events"]
    for mode in ("test", "train", "predict"):  # validation is inside training
        if f"first on_{mode}_begin" in events and not any(
            line.startswith(f"first on_{mode}_end") for line in events
        ):
            events += [f"{callback} on_{mode}_end" for callback in ("first", "raiser", "last")]
    return {**heard, "events": [*events, raised]}


def no_step_without_data(name, k):
    """A step begins when there is data for it, so that all that begins also ends; executions of k
    as with known lengths.
    """
    heard = record()["events"][f"{name}/1"]
    events = [
        line
        for line, after in pairwise([*heard["events"], ""])
        if "batch_begin" not in line or after.startswith(line.replace("begin", "end"))
    ]
    return {
        **heard,
        "events": in_executions(events, k),
        "iterations": heard["steps"]["_train_counter"],
    }


def no_epoch_without_data(name, k):
    """As before, and no epoch of nothing: tf_keras logs a loss of 0.0 for it."""
    heard = no_step_without_data(name, k)
    events = [
        line
        for line in heard["events"]
        if line.split()[:2] not in (["on_epoch_begin", "1"], ["on_epoch_end", "1"])
    ]
    return {
        **heard,
        "events": events,
        "epochs": [0],
        "history": {key: [v[0]] for key, v in heard["history"].items()},
    }


def in_executions(events, k):
    """The events of single steps, when k steps go into an execution."""
    kept = []
    for line, after in pairwise([*events, ""]):
        hook, index = (*line.split(), "0")[:2]
        inside = hook.endswith("batch_begin") and int(index) % k
        goes_on = hook.endswith("batch_end") and (int(index) + 1) % k and "batch_begin" in after
        if not inside and not goes_on:
            kept.append(line)
    return kept


# pattern of names -> (what Podium shall do, why)
EVENTS_THAT_DIFFER = {
    "exception_*": (
        ends_what_has_begun,
        "files, threads and bars of callbacks are closed even when training breaks off",
    ),
    "generator_of_unknown_length": (
        no_step_without_data,
        "tf_keras begins a step to find out that data has ended",
    ),
    "generator_in_evaluate": (
        no_step_without_data,
        "tf_keras begins a step to find out that data has ended",
    ),
    "dataset_that_runs_out": (
        no_step_without_data,
        "tf_keras begins a step to find out, and loses the end of others",
    ),
    "generator_that_is_spent": (
        no_epoch_without_data,
        "tf_keras begins an epoch to find out that data has ended",
    ),
}


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", SCENARIOS)
def test_events_equal_tf_keras(name, k):
    theirs = record()["events"][f"{name}/{k}"]
    for pattern, (what_podium_does, _) in EVENTS_THAT_DIFFER.items():
        if fnmatch(name, pattern):
            assert what_podium_does(name, k) != theirs
            theirs = what_podium_does(name, k)
    ours = SCENARIOS[name](PODIUM, k)
    assert "\n".join(ours["events"]) == "\n".join(theirs["events"])
    assert not differences(ours, theirs, name)


# --- the tables


def test_every_case_was_recorded_and_every_record_has_a_case():
    assert set(record()["runs"]) == set(CASES)
    assert set(record()["events"]) == {f"{name}/{k}" for name in SCENARIOS for k in (1, 3)}


def test_tf_keras_refuses_executions_of_unknown_length():
    """So that what Podium does there is derived from the record of single steps."""
    refused = {key for key, heard in record()["events"].items() if "refused" in heard}
    assert refused == {
        f"generator_{name}/3" for name in ("of_unknown_length", "that_is_spent", "in_evaluate")
    }
