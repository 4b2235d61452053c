"""Logs: values are fetched when they are read, as from a dictionary of floats; copies share fetched
values.
"""

import copy
import json
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium.callbacks import Logs, _logs


@pytest.fixture
def reads(monkeypatch):
    """Record every value that is fetched."""
    fetched, real = [], _logs.to_python
    monkeypatch.setattr(_logs, "to_python", lambda value: fetched.append(value) or real(value))
    return fetched


def make():
    return Logs({"loss": podium.Tensor(0.5), "mae": jnp.float32(2.0), "count": 3})


PLAIN = {"loss": 0.5, "mae": 2.0, "count": 3.0}

WAYS = {
    "copy": lambda logs: logs.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "dict": dict,
    "unpacked": lambda logs: {**logs},
    "keywords": lambda logs: (lambda **kwargs: kwargs)(**logs),
    "items": lambda logs: dict(logs.items()),
    "values": lambda logs: dict(zip(logs, logs.values(), strict=True)),
    "comprehension": lambda logs: {name: logs[name] for name in logs},
    "get": lambda logs: {name: logs.get(name) for name in logs.keys()},  # noqa: SIM118
    "update": lambda logs: (lambda plain: plain.update(logs) or plain)({}),
    "or": lambda logs: {} | logs,
    "json": lambda logs: json.loads(json.dumps(logs)),
    "pickle": lambda logs: pickle.loads(pickle.dumps(logs)),
    "repr": lambda logs: eval(repr(logs)),
    "format": lambda logs: {name: float(f"{{{name}}}".format(**logs)) for name in logs},
    "percent": lambda logs: {name: float(f"%({name})s" % logs) for name in logs},
    "pop": lambda logs: {name: logs.pop(name) for name in list(logs)},
    "popitem": lambda logs: dict([logs.popitem() for _ in range(len(logs))][::-1]),
    "setdefault": lambda logs: {name: logs.setdefault(name, 9) for name in logs},
    "share": lambda logs: dict(logs.share()),
    "batch": lambda logs: dict(logs.batch),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_read_method_returns_python_floats(way):
    found = WAYS[way](make())
    assert found == PLAIN and list(found) == list(PLAIN)
    assert type(found) is dict and {type(value) for value in found.values()} == {float}


def test_logs_compare_merge_and_print_like_a_dictionary():
    logs = make()
    assert logs == PLAIN and dict(PLAIN) == logs and logs == make() and logs != {}
    assert logs | {"a": 1} == {**PLAIN, "a": 1} and {"a": 1} | logs == {"a": 1, **PLAIN}
    assert (
        isinstance(logs, dict) and len(logs) == 3 and "loss" in logs and bool(logs) and not Logs()
    )
    assert logs.get("x") is None and logs.get("x", 1) == 1 and logs.pop("x", 2) == 2
    with pytest.raises(KeyError):
        logs["x"]
    logs["new"] = 7
    assert (
        logs["new"] == 7
        and logs.setdefault("more", 8) == 8
        and list(logs) == ["loss", "mae", "count", "new", "more"]
    )


def test_values_are_fetched_once_when_read(reads):
    logs = make()
    shared, running = logs.share(), Logs(logs, running=make())
    assert (
        "loss" in shared
        and len(shared) == 3
        and running.has_running
        and list(logs.running) == list(PLAIN)
    )
    assert not reads
    assert shared["loss"] == logs["loss"] == running["loss"] == logs.batch["loss"] == 0.5
    assert len(reads) == 1


def test_copy_is_independent():
    logs = make()
    copies = [logs.share(), logs.batch, logs.running]
    for one in copies:
        one.clear()
    shared = logs.share()
    shared["loss"] = 9.0
    assert logs == PLAIN and shared["loss"] == 9.0 and shared.batch["loss"] == 0.5


def test_running_means_are_separate_from_the_batch():
    logs = Logs({"loss": 1.0}, running={"loss": jnp.float32(1.5)})
    assert (
        logs["loss"],
        logs.batch["loss"],
        logs.running["loss"],
        logs.share().running["loss"],
    ) == (1.0, 1.0, 1.5, 1.5)
    assert Logs({"loss": 1.0}).running == {"loss": 1.0}


def test_non_scalars_stay_arrays():
    logs = Logs(
        {
            "matrix": podium.Tensor(np.eye(2)),
            "flag": np.bool_(True),
            "half": jnp.bfloat16(1.5),
            "word": "a",
            "no": None,
        }
    )
    assert isinstance(logs["matrix"], np.ndarray) and logs["matrix"].tolist() == [[1, 0], [0, 1]]
    assert (logs["flag"], logs["half"], logs["word"], logs["no"]) == (1.0, 1.5, "a", None)
    nested = Logs(
        {
            "outputs": [podium.Tensor([1.0]), {"a": podium.Tensor([2.0])}],
            "variable": podium.Variable(3.0),
        }
    )
    assert isinstance(nested["outputs"][1]["a"], np.ndarray) and nested["variable"] == 3.0
