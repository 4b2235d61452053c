"""Iterator: one walk through a source of elements, which compiled functions may read from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.core import Selection, Stream
from podium.data._read_ahead import ReadAhead
from podium.data.pipelines._pipeline import Pipeline


class Iterator(Stream):
    """Gives the elements of a Dataset one after the other, as Tensors. `iter(dataset)` makes one.

    Args:
        source: A Dataset, or an iterable of structures of NumPy or JAX arrays. The arrays must not
            change afterwards.
        transform: Applied to each element as it is read.

    Example:
        >>> iterator = iter(podium.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).batch(2))
        >>> next(iterator).numpy()
        array([1., 2.], dtype=float32)
        >>> iterator.get_next().numpy()
        array([3.], dtype=float32)
        >>> iterator.exhausted()
        True
    """

    def __init__(self, source: Any, transform: Callable | None = None):
        super().__init__()
        pipeline = getattr(source, "pipeline", None)
        self._pipeline: Pipeline | None = pipeline
        self._elements: Any = iter(source if pipeline is None else pipeline.elements())
        self._owns_elements = pipeline is not None
        self._transform = transform
        self._num_read = 0

    @property
    def taken(self) -> int:
        """How many elements have been handed out and not been given back."""
        return self._num_read - len(self._unread)

    def read_next(self) -> Any:
        """Return the next element as NumPy or JAX arrays; raises StopIteration when there is none,
        from then on.
        """
        if self._elements is None:
            raise StopIteration
        try:
            element = next(self._elements)
        except StopIteration:
            self._elements = None
            raise
        self._num_read += 1
        return element if self._transform is None else self._transform(element)

    def next_batches(self, count: int) -> list:
        """Return the next elements as they come, up to `count`; rows of arrays on the device come
        as one `Selection`.
        """
        many = getattr(self._elements, "many", None)
        if many is None or self._transform is not None:
            return super().next_batches(count)
        taken = [self._unread.popleft() for _ in range(min(count, len(self._unread)))]
        count -= len(taken)
        try:
            while count > 0:
                element = many(count)
                number = element.count if isinstance(element, Selection) else 1
                self._num_read += number
                count -= number
                taken.append(element)
        except StopIteration:
            self._elements = None
            if not taken:
                raise
        return taken

    def next_group(self, count: int) -> list:
        """Return the next elements as arrays, up to `count` of them; raises StopIteration if there
        is none.
        """
        group = [self.next_arrays()]
        try:
            while len(group) < count:
                group.append(self.next_arrays())
        except StopIteration:
            pass  # a short group; the next call says that this was the end
        return group

    def exhausted(self) -> bool:
        """Tell whether nothing is left. May read one element ahead to know, and keeps it for the
        next call.
        """
        if not self._unread:
            ended = getattr(self._elements, "ended", None)
            if ended is not None:
                return ended()
            try:
                self.unread([self.read_next()])
            except StopIteration:
                return True
        return False

    def close(self) -> None:
        """End the walk, and whatever reads ahead for it. A generator of the user's is left as it
        is.
        """
        elements, self._elements = self._elements, None
        self._unread.clear()
        if (self._owns_elements or isinstance(elements, ReadAhead)) and hasattr(elements, "close"):
            elements.close()

    def allow(self, count: int | None, ahead: int) -> None:
        """Say that up to `count` more elements will be taken (None: all there are), `ahead` of them
        in one execution.
        """
        if isinstance(self._elements, ReadAhead):
            self._elements.allow(None if count is None else count - len(self._unread), ahead)

    @property
    def element_spec(self) -> Any:
        """The structure of `TensorSpec`s of the Dataset that it walks; None for other sources."""
        return None if self._pipeline is None else self._pipeline.spec()
