"""RecordedWalk: a walk through a source that can say where it stands, remembered for each of the
last batches.

Somebody who reads ahead is further on than the one who asks where a run stands: the states in
between are kept here.
"""

from __future__ import annotations

import base64
import collections
import copy
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_KEPT = 256  # states; nobody reads that many batches ahead


class RecordedIterator:
    """Walks batches, and notes the source's state after each of them.

    Args:
        batches: The walk.
        get_state: Returns where the walk stands, as the source's library says it.
        close: Called when the walk is closed.
    """

    def __init__(
        self, batches: Iterator, get_state: Callable[[], Any], close: Callable | None = None
    ):
        self._batches: Iterator | None = batches
        self._get_state = get_state
        self._close = close
        self._taken = 0
        self._states: collections.OrderedDict[int, Any] = collections.OrderedDict(
            {0: copy.deepcopy(get_state())}
        )

    def __iter__(self) -> RecordedIterator:
        return self

    def __next__(self) -> Any:
        if self._batches is None:
            raise StopIteration
        batch = next(self._batches)
        self._taken += 1
        self._states[self._taken] = copy.deepcopy(self._get_state())
        if len(self._states) > _KEPT:
            self._states.popitem(last=False)
        return batch

    def position(self, taken: int) -> dict[str, Any]:
        """Return where the walk stood after its first `taken` batches, as a value that JSON can
        hold.
        """
        if taken not in self._states:
            raise RuntimeError(
                f"The place after {taken} batches is not known any more: {self._taken} have been "
                f"read, and the last {_KEPT} are remembered."
            )
        return {"state": plain(self._states[taken])}

    def close(self) -> None:
        """End the walk, and let go of what it reads from."""
        self._batches = None
        if self._close is not None:
            self._close()


def plain(state: Any) -> Any:
    """Write a state of bytes, arrays and tensors, in any nesting, so that JSON can hold it."""
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [plain(value) for value in state]
    if isinstance(state, bytes):
        return {"__bytes__": base64.b64encode(state).decode()}
    if isinstance(state, np.ndarray) or hasattr(state, "untyped_storage"):
        array = np.asarray(state)
        form = {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "torch": not isinstance(state, np.ndarray),
        }
        return {"__array__": base64.b64encode(array.tobytes()).decode(), **form}
    return state.item() if isinstance(state, np.generic) else state


def restored(state: Any) -> Any:
    """Return a state from what `plain` has written."""
    if isinstance(state, list):
        return [restored(value) for value in state]
    if not isinstance(state, dict):
        return state
    if "__bytes__" in state:
        return base64.b64decode(state["__bytes__"])
    if "__array__" in state:
        array = (
            np.frombuffer(base64.b64decode(state["__array__"]), state["dtype"])
            .reshape(state["shape"])
            .copy()
        )
        return sys.modules["torch"].from_numpy(array) if state["torch"] else array
    return {key: restored(value) for key, value in state.items()}
