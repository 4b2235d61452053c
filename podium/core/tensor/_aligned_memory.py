"""Memory for arrays at addresses where XLA on CPU uses it as it is; NumPy's own begins anywhere,
and would be copied first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_ALIGNED = 64  # bytes: where XLA's arrays begin on CPU
WORTH_ALIGNING = 2**16  # bytes


def empty_array(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array whose values are yet to be set.

    Example:
        >>> from podium.core.tensor._aligned_memory import empty_array
        >>> array = empty_array((2, 3), "float32")
        >>> array.shape, array.ctypes.data % 64
        ((2, 3), 0)
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + _ALIGNED, np.uint8)
    first = -memory.__array_interface__["data"][0] % _ALIGNED
    return memory[first : first + size].view(dtype).reshape(shape)


def array_for_device(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array to be filled and handed to XLA: aligned if it is large.

    XLA gives an array that it used as it was back in a thread of its own, which must wait for
    Python's lock: small ones are better copied.
    """
    large = math.prod(shape) * np.dtype(dtype).itemsize >= WORTH_ALIGNING
    return empty_array(shape, dtype) if large else np.empty(shape, dtype)
