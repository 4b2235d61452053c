"""Aligned host memory, which XLA uses on CPU without a copy; NumPy's own is not always aligned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from podium._typing import DTypeLike, Shape

_ALIGNMENT = 64  # bytes, as XLA requires on CPU
MIN_ALIGNED_SIZE = 2**16  # bytes; smaller arrays are not worth aligning


def empty_array(shape: Shape, dtype: DTypeLike) -> np.ndarray[Any, Any]:
    """Return an uninitialized array in aligned memory.

    Example:
        >>> from podium.core.tensor._aligned_memory import empty_array
        >>> array = empty_array((2, 3), "float32")
        >>> array.shape, array.ctypes.data % 64
        ((2, 3), 0)
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def array_for_device(shape: Shape, dtype: DTypeLike) -> np.ndarray[Any, Any]:
    """Return an uninitialized array to fill and pass to XLA: aligned if it is large.

    XLA releases an array that it used without a copy in another thread, which must wait for the
    GIL, so small ones are better copied.
    """
    large = math.prod(shape) * np.dtype(dtype).itemsize >= MIN_ALIGNED_SIZE
    return empty_array(shape, dtype) if large else np.empty(shape, dtype)
