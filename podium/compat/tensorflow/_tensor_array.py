"""`tf.TensorArray`: a list of tensors that loops fill; each write returns the array to go on
with.
"""

from __future__ import annotations

from typing import Any

from podium import ops
from podium.compat.tensorflow._dtypes import canonical_dtype
from podium.core import convert_to_tensor


class TensorArray:
    """A list of tensors, written one by one and stacked at the end.

    Loops over it run while tracing: write them as Python loops with a known number of rounds.

    Args:
        dtype: The type of the elements.
        size: How many there are.
        dynamic_size: Whether writing behind the end makes it longer.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> squares = tf.TensorArray(tf.float32, size=3)
        >>> for i in range(3):
        ...     squares = squares.write(i, float(i) ** 2)
        >>> squares.stack().numpy()
        array([0., 1., 4.], dtype=float32)
    """

    def __init__(self, dtype: Any, size: Any = 0, dynamic_size: bool = False, **kwargs: Any):
        self.dtype = canonical_dtype(dtype)
        self.dynamic_size = dynamic_size
        self._parts: list[Any] = [None] * int(size)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Put a value in its place and return the array to use from now on."""
        place, new = int(index), TensorArray(self.dtype, 0, self.dynamic_size)
        new._parts = list(self._parts)
        if place >= len(new._parts):
            if not self.dynamic_size:
                raise IndexError(
                    f"index={place} was written to a TensorArray of size {len(new._parts)}; give "
                    "dynamic_size=True."
                )
            new._parts += [None] * (place + 1 - len(new._parts))
        new._parts[place] = convert_to_tensor(value, self.dtype)
        return new

    def read(self, index: Any, name: str | None = None) -> Any:
        """Return the value in a place."""
        return self._parts[int(index)]

    def stack(self, name: str | None = None) -> Any:
        """Return all values as one tensor with a new first axis."""
        return ops.stack(self._parts)

    def concat(self, name: str | None = None) -> Any:
        """Return all values joined along their first axis."""
        return ops.concatenate(self._parts)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Return an array that holds the slices of `value` along its first axis."""
        new = TensorArray(self.dtype, 0, self.dynamic_size)
        new._parts = list(ops.unstack(convert_to_tensor(value, self.dtype)))
        return new

    def size(self, name: str | None = None) -> int:
        """Return the number of places."""
        return len(self._parts)
