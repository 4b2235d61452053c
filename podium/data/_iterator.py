"""Iterator: one pass through a source of elements, which compiled functions may read from.

Owns the elements that were read and returned with `unread`; where they come from is the matter of
pipelines and adapters.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator as BaseIterator
from typing import Any

from podium._typing import Tree
from podium.core import Selection, Stream
from podium.core.internal import num_rows
from podium.data._read_ahead import ReadAhead
from podium.data.pipelines._pipeline import Pipeline
from podium.telemetry.internal import Section, active, clock


class Iterator(Stream):
    """Returns the elements of a Dataset one after the other, as Tensors. `iter(dataset)` makes one.

    Args:
        source: A Dataset, or an iterable of structures of NumPy or JAX arrays. The arrays must not
            change afterwards.
        transform: Applied to each element as it is read.
        is_measured: Whether reading it is waiting for data in the telemetry of a run.

    Example:
        >>> iterator = iter(podium.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).batch(2))
        >>> next(iterator).numpy()
        array([1., 2.], dtype=float32)
        >>> iterator.get_next().numpy()
        array([3.], dtype=float32)
        >>> iterator.is_exhausted()
        True
    """

    def __init__(
        self,
        source: Any,
        transform: Callable[[Tree], Tree] | None = None,
        is_measured: bool = False,
    ):
        super().__init__()
        pipeline = getattr(source, "pipeline", None)
        self._pipeline: Pipeline | None = pipeline
        self._elements: BaseIterator[Tree] | None = iter(
            source if pipeline is None else pipeline.elements()
        )
        self._owns_elements = pipeline is not None
        self._transform = transform
        self._is_measured = is_measured
        self._num_read = 0
        self._num_rows: int | None = None  # that were read, once they are counted

    @property
    def num_returned(self) -> int:
        """The number of elements that were returned and not put back with `unread`."""
        return self._num_read - len(self._unread)

    def read_next(self) -> Tree:
        """Return the next element as NumPy or JAX arrays; raise StopIteration at the end and
        whenever called after it.
        """
        if self._elements is None:
            raise StopIteration
        recorder = active.recorder if self._is_measured else None
        if recorder is not None:
            start, measured = clock.ns(), recorder.measured
        try:
            try:
                element = next(self._elements)
            except StopIteration:
                self._elements = None
                raise
            self._num_read += 1
            if self._transform is not None:
                element = self._transform(element)
        finally:
            if recorder is not None:  # without a call, as this is part of every step
                elapsed = clock.ns() - start - (recorder.measured - measured)
                recorder.ns["data"] += elapsed
                recorder.measured += elapsed
        if self._num_rows is not None:
            self._num_rows += num_rows(element)
        return element

    def next_batches(self, count: int) -> list[Tree]:
        """Return up to `count` elements; neighboring rows of arrays on the device come as one
        `Selection`.
        """
        next_selection = getattr(self._elements, "next_selection", None)
        if next_selection is None or self._transform is not None:
            return super().next_batches(count)
        batches = [self._unread.popleft() for _ in range(min(count, len(self._unread)))]
        count -= len(batches)
        try:
            with Section(active.recorder if self._is_measured else None, "data"):
                while count > 0:
                    element = next_selection(count)
                    size = element.count if isinstance(element, Selection) else 1
                    self._num_read += size
                    count -= size
                    batches.append(element)
        except StopIteration:
            self._elements = None
            if not batches:
                raise
        return batches

    def next_group(self, count: int) -> list[Tree]:
        """Return up to `count` elements as arrays; raise StopIteration if none is left."""
        group = [self.next_arrays()]
        try:
            while len(group) < count:
                group.append(self.next_arrays())
        except StopIteration:
            pass  # a short group; the next call raises
        return group

    def rows_returned(self) -> int:
        """Return the number of rows of the elements that were returned, counted from the first call
        on.
        """
        unread = sum(map(num_rows, self._unread))
        if self._num_rows is None:
            self._num_rows = unread
        return self._num_rows - unread

    def is_exhausted(self) -> bool:
        """Return whether no element is left. May read one element ahead, which is kept for the next
        call.
        """
        if not self._unread:
            is_exhausted: Callable[[], bool] | None = getattr(self._elements, "is_exhausted", None)
            if is_exhausted is not None:
                return is_exhausted()
            try:
                self.unread([self.read_next()])
            except StopIteration:
                return True
        return False

    def close(self) -> None:
        """End the iteration, and the thread that reads ahead. A generator passed by the user is not
        closed.
        """
        elements, self._elements = self._elements, None
        self._unread.clear()
        close = getattr(elements, "close", None)
        if close is not None and (self._owns_elements or isinstance(elements, ReadAhead)):
            close()

    def replace_elements(self, other: Iterator) -> None:
        """Continue with the elements of another iterator, of which none was read."""
        self.close()
        self._elements, self._num_read = other._elements, 0

    def allow(self, count: int | None, ahead: int) -> None:
        """Permit reading ahead of `count` more elements (None for all), `ahead` at a time."""
        if isinstance(self._elements, ReadAhead):
            self._elements.allow(None if count is None else count - len(self._unread), ahead)

    @property
    def element_spec(self) -> Tree:
        """The structure of `TensorSpec`s of the Dataset; None for other sources."""
        return None if self._pipeline is None else self._pipeline.spec()
