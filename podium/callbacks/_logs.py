"""Logs: a dictionary of figures that stay on the device until somebody reads one.

Reading a value waits for the device once; every copy of the Logs shares what was read. It owns no
figures of its own: the conductor makes one Logs for each batch, the CallbackList hands a copy to
each callback. The dictionary underneath holds the values as they came; every way of reading it
passes through `_read`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from podium.core import Tensor, Variable

_MISSING = object()


class _Given(dict):
    """Figures as they came, with what was read of them so far. All copies of a Logs share it."""

    __slots__ = ("read",)

    def __init__(self, values: Any, read: dict[int, tuple[Any, Any]]):
        dict.__init__(self, values)
        self.read = read  # id -> (value, what it was read as); keeping the value keeps its id


class Logs(dict):
    """Figures of a batch, as a dictionary that reads device values when asked for them.

    It behaves like the plain dictionary of Python floats (NumPy arrays for figures that are no
    scalars) that it turns into: `logs["loss"]`, `logs.get`, `logs.items()`, `dict(logs)`,
    `f(**logs)`, `json.dumps(logs)`.

    Args:
        values: Name to value, as the step returned them: Tensors, jax.Arrays or numbers.
        running: Name to mean over the epoch so far, if that is known and is something else.

    Example:
        >>> logs = podium.callbacks.Logs({"loss": podium.ops.ones(())}, running={"loss": jnp.float32(1.5)})
        >>> logs["loss"], logs.running["loss"]
        (1.0, 1.5)
        >>> logs
        {'loss': 1.0}
    """

    __slots__ = ("_batch", "_running")

    def __init__(
        self, values: Mapping[str, Any] | None = None, running: Mapping[str, Any] | None = None
    ):
        read: dict[int, tuple[Any, Any]] = values._batch.read if isinstance(values, Logs) else {}
        self._batch: _Given = _Given(_as_they_came(values or {}), read)
        self._running: _Given | None = (
            None if running is None else _Given(_as_they_came(running), read)
        )
        dict.__init__(self, self._batch)

    @property
    def batch(self) -> Logs:
        """This batch's figures, as the step returned them."""
        return _sibling(self._batch)

    @property
    def running(self) -> Logs:
        """The means over the epoch so far; the batch's figures where no means are known."""
        return _sibling(self._batch if self._running is None else self._running)

    @property
    def has_running(self) -> bool:
        """Whether running means are known."""
        return self._running is not None

    def share(self) -> Logs:
        """Return a copy that can be changed alone and shares what has been read."""
        return _sibling(self._batch, self._running, dict.items(self))

    def _read(self, value: Any) -> Any:
        if type(value) is float:
            return value
        known = self._batch.read.get(id(value))
        if known is None:
            known = self._batch.read[id(value)] = (value, to_python(value))
        return known[1]

    def copy(self) -> dict[str, Any]:
        """Return a plain dictionary; waits until every value has been computed."""
        if len(self) > 1:
            for value in dict.values(self):
                _start_copy(value)  # all on their way before the first wait
        return {name: self._read(value) for name, value in dict.items(self)}

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or `default`."""
        value = dict.get(self, name, _MISSING)
        return default if value is _MISSING else self._read(value)

    def items(self) -> Any:
        """Return pairs of name and value, all of them read."""
        return self.copy().items()

    def values(self) -> Any:
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

    # Without an `__iter__` of our own, `dict(logs)` and `**logs` would copy the unread values
    # underneath.
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

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return dict, (self.copy(),)


def to_python(value: Any) -> Any:
    """Return a scalar as a float and an array as a NumPy array; waits until it has been
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


def _as_they_came(values: Mapping[str, Any]) -> Any:
    return dict.items(values) if isinstance(values, Logs) else values


def _sibling(batch: _Given, running: _Given | None = None, contents: Any = None) -> Logs:
    logs = Logs.__new__(Logs)
    logs._batch, logs._running = batch, running
    dict.__init__(logs, batch if contents is None else contents)
    return logs


def _start_copy(value: Any) -> None:
    array = value.value if isinstance(value, Tensor) else value
    if isinstance(array, jax.Array):
        array.copy_to_host_async()
