"""Logs: a dictionary whose values stay on the device until they are read.

Reading a value waits for the device once; all copies of a Logs share what was read. The underlying
dictionary stores the values as the step returned them, and every method that reads it calls
`_read`. `_step_logs.py` makes one for each execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from podium.core import Tensor, Variable
from podium.telemetry.internal import DeviceWait

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_values

_MISSING = object()


class _UnreadValues(dict[str, Any]):
    """Values as the step returned them, with those that have been read. All copies of a Logs share
    it.
    """

    __slots__ = ("read",)

    def __init__(self, values: Any, read: dict[int, tuple[Any, Any]]):
        dict.__init__(self, values)
        self.read = read  # id -> (value, as Python object); keeping the value keeps its id valid


class Logs(dict[str, Any]):
    """The logs of a batch: a dictionary that fetches values from the device when they are read.

    It behaves like a plain dictionary of Python floats (NumPy arrays for values that are not
    scalars): `logs["loss"]`, `logs.get`, `logs.items()`, `dict(logs)`, `f(**logs)`,
    `json.dumps(logs)`.

    Args:
        values: Name to value, as the step returned them: Tensors, jax.Arrays or numbers.
        running: Name to value of the epoch so far, if that is known and different.
        batch: Name to value of the batch alone, if that is known and different: what a metric
            returns describes the epoch so far.

    Example:
        >>> running = {"loss": jnp.float32(1.5)}
        >>> logs = podium.callbacks.Logs({"loss": podium.ops.ones(())}, running=running)
        >>> logs["loss"], logs.running["loss"]
        (1.0, 1.5)
        >>> logs
        {'loss': 1.0}
    """

    __slots__ = ("_batch", "_running", "_shown")

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        running: Mapping[str, Any] | None = None,
        batch: Mapping[str, Any] | None = None,
    ):
        read: dict[int, tuple[Any, Any]] = values._shown.read if isinstance(values, Logs) else {}
        self._shown: _UnreadValues = _UnreadValues(_unread_items(values or {}), read)
        self._running: _UnreadValues | None = (
            None if running is None else _UnreadValues(_unread_items(running), read)
        )
        self._batch: _UnreadValues = (
            self._shown if batch is None else _UnreadValues(_unread_items(batch), read)
        )
        dict.__init__(self, self._shown)

    @property
    def batch(self) -> Logs:
        """The values of this batch alone, those of metrics included."""
        return _from_values(self._batch)

    @property
    def running(self) -> Logs:
        """The values of the epoch so far: means, unless `log_reductions` of `compile` says
        otherwise. If they are not known, the values as the step returned them.
        """
        return _from_values(self._shown if self._running is None else self._running)

    @property
    def has_running(self) -> bool:
        """Whether the values of the epoch so far are known."""
        return self._running is not None

    def share(self) -> Logs:
        """Return an independent copy that shares the values that have been read."""
        return _from_values(self._shown, self._running, self._batch, dict.items(self))

    def _read(self, value: Any) -> Any:
        if type(value) is float:
            return value
        known = self._shown.read.get(id(value))
        if known is None:
            with DeviceWait():
                known = self._shown.read[id(value)] = (value, to_python(value))
        return known[1]

    def copy(self) -> dict[str, Any]:
        """Return a plain dictionary; waits until every value has been computed."""
        if len(self) > 1:
            for value in dict.values(self):
                _start_copy(value)  # start all copies before waiting for the first
        return {name: self._read(value) for name, value in dict.items(self)}

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or `default`."""
        value = dict.get(self, name, _MISSING)
        return default if value is _MISSING else self._read(value)

    def items(self) -> dict_items[str, Any]:
        """Return pairs of name and value, all of them read."""
        return self.copy().items()

    def values(self) -> dict_values[str, Any]:
        """Return the values, all of them read."""
        return self.copy().values()

    def pop(self, name: str, *default: Any) -> Any:
        """Remove a name and return its value."""
        value = dict.pop(self, name, _MISSING)
        if value is not _MISSING:
            return self._read(value)
        if not default:
            raise KeyError(name)
        return default[0]

    def popitem(self) -> tuple[str, Any]:
        """Remove the last name and return it with its value."""
        name, value = dict.popitem(self)
        return name, self._read(value)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return a value, after setting it if it was missing."""
        return self._read(dict.setdefault(self, name, default))

    # Without this `__iter__`, `dict(logs)` and `**logs` would copy the unread values.
    def __iter__(self) -> Iterator[str]:
        return dict.__iter__(self)

    def __getitem__(self, name: str) -> Any:
        return self._read(dict.__getitem__(self, name))

    def __eq__(self, other: object) -> bool:
        return self.copy() == (other.copy() if isinstance(other, Logs) else other)

    __hash__ = None

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> Any:
        return self.copy() | dict(other) if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return dict(other) | self.copy() if isinstance(other, dict) else NotImplemented

    def __repr__(self) -> str:
        return repr(self.copy())

    def __reduce_ex__(self, protocol: object) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (self.copy(),)


def to_python(value: Any) -> Any:
    """Return a scalar as a float and an array as a NumPy array, after waiting until it is
    computed.
    """
    if isinstance(value, (bool, int, float)):
        return float(value)
    if isinstance(value, Variable) or hasattr(value, "__array__"):
        array = value.numpy() if isinstance(value, Variable) else np.asarray(value)
        if array.ndim:
            return array
        return array.item() if array.dtype.kind in "cOSU" else float(array)
    if isinstance(value, dict):
        return {name: to_python(part) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(to_python(part) for part in value)
    return value


def _unread_items(values: Mapping[str, Any]) -> Any:
    return dict.items(values) if isinstance(values, Logs) else values


def _from_values(
    shown: _UnreadValues,
    running: _UnreadValues | None = None,
    batch: _UnreadValues | None = None,
    contents: Iterable[tuple[str, Any]] | None = None,
) -> Logs:
    logs = Logs.__new__(Logs)
    logs._shown, logs._running = shown, running
    logs._batch = shown if batch is None else batch
    dict.__init__(logs, shown if contents is None else contents)
    return logs


def _start_copy(value: Any) -> None:
    array = value.value if isinstance(value, Tensor) else value
    if isinstance(array, jax.Array):
        array.copy_to_host_async()
