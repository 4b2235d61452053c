"""RecordedIterator: remembers the state of a source after each of the last batches.

A thread that reads ahead is further on than the caller who asks for the position of a run; the
states in between are kept here. Also encodes such states for JSON.
"""

from __future__ import annotations

import base64
import collections
import copy
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from podium._typing import Tree

_MAX_STATES = 256  # more than the number of batches that are ever read ahead


class RecordedIterator:
    """Iterates over batches, and records the source's state after each of them.

    Args:
        batches: The iterator.
        get_state: Returns the current state, in the form of the source's library.
        close: Called when this iterator is closed.
    """

    def __init__(
        self,
        batches: Iterator[Tree],
        get_state: Callable[[], Tree],
        close: Callable[[], object] | None = None,
    ):
        self._batches: Iterator[Tree] | None = batches
        self._get_state = get_state
        self._close = close
        self._num_read = 0
        self._states: collections.OrderedDict[int, Tree] = collections.OrderedDict(
            {0: copy.deepcopy(get_state())}
        )

    def __iter__(self) -> RecordedIterator:
        return self

    def __next__(self) -> Tree:
        if self._batches is None:
            raise StopIteration
        batch = next(self._batches)
        self._num_read += 1
        self._states[self._num_read] = copy.deepcopy(self._get_state())
        if len(self._states) > _MAX_STATES:
            self._states.popitem(last=False)
        return batch

    def position(self, taken: int) -> dict[str, Any]:
        """Return the state after the first `taken` batches, as a JSON-compatible value."""
        if taken not in self._states:
            raise RuntimeError(
                f"The position after {taken} batches is no longer known: {self._num_read} have "
                f"been read, and only the last {_MAX_STATES} are kept."
            )
        return {"state": encode_state(self._states[taken])}

    def close(self) -> None:
        """End the iteration, and release the source."""
        self._batches = None
        if self._close is not None:
            self._close()


def encode_state(state: Tree) -> Tree:
    """Return a nested state of bytes, arrays and tensors as a JSON-compatible value."""
    if isinstance(state, dict):
        return {key: encode_state(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [encode_state(value) for value in state]
    if isinstance(state, bytes):
        return {"__bytes__": base64.b64encode(state).decode()}
    if isinstance(state, np.ndarray) or hasattr(state, "untyped_storage"):
        array = np.asarray(state)
        return {
            "__array__": base64.b64encode(array.tobytes()).decode(),
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "torch": not isinstance(state, np.ndarray),
        }
    return state.item() if isinstance(state, np.generic) else state


def decode_state(state: Tree) -> Tree:
    """Return the state that `encode_state` has encoded."""
    if isinstance(state, list):
        return [decode_state(value) for value in state]
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
    return {key: decode_state(value) for key, value in state.items()}
