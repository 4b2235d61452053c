"""Stream: elements read one after the other, also from inside compiled code.

A compiled function may call `next()` on a Stream that it was given as an argument. `_function.py`
reads as many elements as the body asks for before it runs, and hands the body a `TracedIterator` of them.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import Any

import jax
import numpy as np

from podium.core import _errors
from podium.core._context import context
from podium.core._tree import map_structure
from podium.core.tensor._convert import convert_to_tensor
from podium.core.tensor._selection import Selection
from podium.core.tensor._tensor import wrap


class OutOfRange(StopIteration):
    """A Stream has no more elements. A `for` loop ends with it, as with any `StopIteration`.

    Example:
        >>> iterator = iter(podium.data.Dataset.range(1))
        >>> int(next(iterator))
        0
        >>> next(iterator)
        Traceback (most recent call last):
        podium.core.compile._stream.OutOfRange: The iterator has no more elements.
    """


class Stream:
    """Elements read one after the other. A subclass says in `read_next` where they come from.

    Example:
        >>> class Countdown(podium.core.Stream):
        ...     def __init__(self, start):
        ...         super().__init__()
        ...         self.left = start
        ...     def read_next(self):
        ...         if self.left == 0:
        ...             raise StopIteration
        ...         self.left -= 1
        ...         return np.float32(self.left)
        >>> add_two = podium.function(lambda numbers: next(numbers) + next(numbers))
        >>> float(add_two(Countdown(5)))
        7.0
    """

    def __init__(self) -> None:
        self._unread: deque = deque()  # elements that were read and given back

    def read_next(self) -> Any:
        """Return the next element, a structure of arrays, or raise StopIteration. Override it."""
        raise NotImplementedError(f"{type(self).__name__} has no `read_next`: define it.")

    def next_batch(self) -> Any:
        """Return the next element as it was pulled, which may be a `Selection` of rows."""
        return self._unread.popleft() if self._unread else self.read_next()

    def next_batches(self, count: int) -> list:
        """Return the next elements, up to `count`; neighbouring `Selection`s may come as one.

        Raises:
            StopIteration: None is left.
        """
        taken: list = []
        try:
            while len(taken) < count:
                taken.append(self.next_batch())
        except StopIteration:
            if not taken:
                raise
        return taken

    def next_arrays(self) -> Any:
        """Return the next element as arrays, without wrapping them into Tensors."""
        element = self.next_batch()
        return element.batch() if type(element) is Selection else element

    def unread(self, elements: list) -> None:
        """Put elements back in front, the first of the list first."""
        self._unread.extendleft(reversed(elements))

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        """Return the next element with Tensors in the place of arrays.

        Raises:
            OutOfRange: There are no more elements.
            RuntimeError: A compiled function read from a Stream that it was not given as an
                argument.
        """
        if context.scope is not None:
            raise RuntimeError(_errors.STREAM_IN_CLOSURE)
        try:
            element = self.next_arrays()
        except OutOfRange:
            raise
        except StopIteration:
            raise OutOfRange("The iterator has no more elements.") from None
        return map_structure(_as_tensor, element)

    def get_next(self) -> Any:
        """Return the next element; the same as `next(self)`."""
        return next(self)


class TracedIterator(Stream):
    """A Stream's stand-in while a function is traced: hands out the elements that were read for it.

    When those do not suffice it reads on, and adds what it read to `more`: the function is then
    traced again.
    """

    def __init__(self, elements: list, source: Stream, more: list):
        super().__init__()
        self._elements = deque(elements)
        self._source = source
        self._more = more

    def __next__(self) -> Any:
        if self._elements:
            return self._elements.popleft()
        try:
            self._more.append(self._source.next_arrays())
        except StopIteration:
            raise OutOfRange("The iterator has no more elements.") from None
        return map_structure(_as_tensor, self._more[-1])


@dataclasses.dataclass(frozen=True)
class Place:
    """Stands for the Stream of that number among the arguments of a compiled function."""

    number: int


class NeedMoreElements(Exception):
    """Tracing a function read more elements than had been read for it."""


def _as_tensor(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array):
        return wrap(leaf)
    if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "OSU":
        return leaf  # text stays with Python
    if isinstance(leaf, (np.ndarray, np.generic, float, int, bool)):
        return convert_to_tensor(leaf)
    return leaf
