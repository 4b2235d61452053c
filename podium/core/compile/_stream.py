"""Stream: an iterator that compiled functions can read.

A compiled function may call `next()` on a Stream among its arguments. `_function.py` reads the
elements before the program runs, and passes a `TracedIterator` of them to the Python function.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import Self

import jax
import numpy as np

from podium._typing import Tree
from podium.core import _errors
from podium.core._context import context
from podium.core._public_repr import PublicRepr
from podium.core._tree import map_structure
from podium.core.tensor._convert import convert_to_tensor
from podium.core.tensor._selection import Selection
from podium.core.tensor._tensor import Tensor, mark_batch, wrap


class OutOfRange(StopIteration):
    """Raised when a Stream has no more elements; a `StopIteration`, so `for` loops end with it.

    Example:
        >>> iterator = iter(podium.data.Dataset.range(1))
        >>> int(next(iterator))
        0
        >>> next(iterator)
        Traceback (most recent call last):
        podium.core.compile._stream.OutOfRange: The iterator has no more elements.
    """


class Stream(PublicRepr):
    """An iterator over elements, each a structure of arrays. Subclasses override `read_next`.

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
        self._unread: deque[Tree] = deque()  # elements that were returned with `unread`

    def read_next(self) -> Tree:
        """Return the next element, a structure of arrays; raise StopIteration at the end."""
        raise NotImplementedError(f"{type(self).__name__} has no `read_next`: define it.")

    def next_batch(self) -> Tree:
        """Return the next element as it was read, which may be a `Selection` of rows."""
        return self._unread.popleft() if self._unread else self.read_next()

    def next_batches(self, count: int) -> list[Tree]:
        """Return up to `count` next elements; adjacent `Selection`s may be joined.

        Raises:
            StopIteration: There are no more elements.
        """
        batches: list[Tree] = []
        try:
            while len(batches) < count:
                batches.append(self.next_batch())
        except StopIteration:
            if not batches:
                raise
        return batches

    def next_arrays(self) -> Tree:
        """Return the next element as arrays, not as Tensors."""
        element = self.next_batch()
        return element.batch() if type(element) is Selection else element

    def rows_returned(self) -> int | None:
        """Return the number of rows of the elements that were returned, counted from the first call
        on; None if they are not counted.
        """
        return None

    def unread(self, elements: Sequence[Tree]) -> None:
        """Put elements back, to be read again in this order."""
        self._unread.extendleft(reversed(elements))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Tree:
        """Return the next element, with Tensors for arrays.

        Raises:
            OutOfRange: There are no more elements.
            RuntimeError: A compiled function read a Stream that is not one of its arguments.
        """
        if context.scope is not None:
            raise RuntimeError(_errors.STREAM_IN_CLOSURE)
        try:
            element = self.next_arrays()
        except OutOfRange:
            raise
        except StopIteration:
            raise OutOfRange("The iterator has no more elements.") from None
        return map_structure(_element_to_tensor, element)

    def get_next(self) -> Tree:
        """Return the next element; the same as `next(self)`."""
        return next(self)


class TracedIterator(Stream):
    """Replaces a Stream while a function is traced: returns the elements that were read for it.

    If there are not enough, it reads more from the source and appends them to `additional`; the
    function is then traced again.
    """

    def __init__(self, elements: list[Tree], source: Stream, additional: list[Tree]):
        super().__init__()
        self._elements = deque(elements)
        self._source = source
        self._additional = additional

    def __next__(self) -> Tree:
        if self._elements:
            return map_structure(_element_to_tensor, self._elements.popleft())
        try:
            self._additional.append(self._source.next_arrays())
        except StopIteration:
            raise OutOfRange("The iterator has no more elements.") from None
        return map_structure(_element_to_tensor, self._additional[-1])


@dataclasses.dataclass(frozen=True)
class StreamPlaceholder:
    """Replaces a Stream among the static arguments of a compiled function."""

    index: int  # the position among the streams


class TraceSetting:
    """A number outside of the Variables that functions read while they are traced.

    A function that reads Streams may loop over such a number, as over the steps of an execution.
    It has one program for each value of the settings that it read.

    Args:
        current: Its value.
    """

    def __init__(self, current: int):
        self.current = current

    def read(self) -> int:
        """Return the value; a function that is being traced depends on it from now on."""
        settings = context.trace_settings
        if settings is not None and not any(setting is self for setting in settings):
            settings.append(self)
        return self.current


class NeedMoreElements(Exception):
    """Raised when a function that is traced reads more elements than were read for it."""


def _element_to_tensor(leaf: object) -> object:
    """Return a Tensor for an array; it is marked as a batch, which `Strategy.run` splits."""
    if isinstance(leaf, Tensor):
        return mark_batch(leaf)
    if isinstance(leaf, jax.Array):
        return mark_batch(wrap(leaf))
    if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "OSU":
        return leaf  # there are no Tensors of strings
    if isinstance(leaf, (np.ndarray, np.generic, float, int, bool)):
        return mark_batch(convert_to_tensor(leaf))
    return leaf
