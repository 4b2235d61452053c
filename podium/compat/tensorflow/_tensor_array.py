"""`tf.TensorArray`: a list of tensors that loops fill; each write returns the updated array."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium._typing import DTypeLike, TensorLike
from podium.compat.tensorflow._dtypes import canonical_dtype
from podium.core import Tensor, convert_to_tensor
from podium.core.internal import PublicRepr


class TensorArray(PublicRepr):
    """A list of tensors, written one by one and stacked at the end.

    Loops over it are unrolled while tracing: write Python loops with a known number of iterations.

    Args:
        dtype: The dtype of the elements.
        size: The number of elements.
        dynamic_size: Whether writing past the end extends the array.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> squares = tf.TensorArray(tf.float32, size=3)
        >>> for i in range(3):
        ...     squares = squares.write(i, float(i) ** 2)
        >>> squares.stack().numpy()
        array([0., 1., 4.], dtype=float32)
    """

    def __init__(
        self, dtype: DTypeLike, size: int = 0, dynamic_size: bool = False, **kwargs: Any
    ) -> None:
        self.dtype = canonical_dtype(dtype)
        self.dynamic_size = dynamic_size
        self._elements: list[Any] = [None] * int(size)

    def write(self, index: int, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return an array in which the element at `index` is `value`."""
        position, new = int(index), TensorArray(self.dtype, 0, self.dynamic_size)
        new._elements = list(self._elements)
        if position >= len(new._elements):
            if not self.dynamic_size:
                raise IndexError(
                    f"index={position} was written to a TensorArray of size "
                    f"{len(new._elements)}; pass dynamic_size=True."
                )
            new._elements += [None] * (position + 1 - len(new._elements))
        new._elements[position] = convert_to_tensor(value, self.dtype)
        return new

    def read(self, index: int, name: str | None = None) -> Tensor:
        """Return the element at `index`."""
        element: Tensor = self._elements[int(index)]
        return element

    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements as one tensor with a new first axis."""
        return ops.stack(self._elements)

    def concat(self, name: str | None = None) -> Tensor:
        """Return all elements concatenated along their first axis."""
        return ops.concatenate(self._elements)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return an array that holds the slices of `value` along its first axis."""
        new = TensorArray(self.dtype, 0, self.dynamic_size)
        new._elements = list(ops.unstack(convert_to_tensor(value, self.dtype)))
        return new

    def size(self, name: str | None = None) -> int:
        """Return the number of elements."""
        return len(self._elements)
