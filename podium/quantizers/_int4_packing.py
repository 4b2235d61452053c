"""Two 4-bit values in a byte: `pack_int4` and `unpack_int4`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import DType, Shape, TensorLike
from podium.core import Tensor, check_choice, convert_to_tensor, dispatch

_BYTES = ("int8", "uint8")


def pack_int4(arr: TensorLike, axis: int = 0, dtype: DType = "int8") -> tuple[Tensor, Shape, int]:
    """Store pairs of 4-bit values in bytes: the first in the low bits, the second in the high ones.

    Args:
        arr: Values from -8 to 7 (int8), or from 0 to 15 (uint8).
        axis: The axis along which neighbours share a byte. A zero is added if its size is odd.
        dtype: The dtype of `arr` and of the result, "int8" or "uint8".

    Returns:
        The bytes, their shape, and the size of the axis before.

    Raises:
        TypeError: `arr` has another dtype.

    Example:
        >>> packed, shape, size = podium.quantizers.pack_int4(np.array([-3, 2, 1], "int8"))
        >>> packed.numpy(), shape, size
        (array([45,  1], dtype=int8), (2,), 3)
        >>> podium.quantizers.unpack_int4(packed, size).numpy()
        array([-3,  2,  1], dtype=int8)
    """
    check_choice("dtype", dtype, _BYTES)
    values = np.asarray(convert_to_tensor(arr))
    if values.dtype.name != dtype:
        raise TypeError(
            f"pack_int4 was given an array of dtype {values.dtype}; dtype={dtype!r} was expected. "
            "Convert the array, or pass its dtype."
        )
    front = np.moveaxis(values, axis, 0).view("uint8")
    size = len(front)
    if size % 2:
        front = np.concatenate([front, np.zeros_like(front[:1])])
    packed = (front[::2] & 0x0F) | (front[1::2] << 4)
    result = np.moveaxis(packed.astype("uint8").view(dtype), 0, axis)
    return convert_to_tensor(result), result.shape, size


def unpack_int4(packed: TensorLike, orig_len: int, axis: int = 0, dtype: DType = "int8") -> Tensor:
    """Return the 4-bit values that `pack_int4` has stored in bytes.

    Args:
        packed: The bytes.
        orig_len: The size of the axis before packing.
        axis: The axis along which neighbours share a byte.
        dtype: "int8" for values from -8 to 7, "uint8" for values from 0 to 15.

    Raises:
        TypeError: `packed` is not of bytes.

    Example:
        >>> podium.quantizers.unpack_int4(np.array([45, 1], "int8"), 3, dtype="uint8").numpy()
        array([13,  2,  1], dtype=uint8)
    """
    check_choice("dtype", dtype, _BYTES)
    given = convert_to_tensor(packed).dtype
    if given not in _BYTES:
        raise TypeError(
            f"unpack_int4 was given an array of dtype {given}; int8 or uint8 was expected, as "
            "`pack_int4` returns it."
        )
    result: Tensor = dispatch(_unpack_nibbles, packed, orig_len, axis, dtype)
    return result


def _unpack_nibbles(packed: jax.Array, size: int, axis: int, dtype: DType) -> jax.Array:
    front = jnp.moveaxis(packed, axis, 0).astype("uint8")
    pairs = jnp.stack([front & 0x0F, front >> 4], axis=1)
    values = pairs.reshape(-1, *front.shape[1:])[:size].astype(dtype)
    if dtype == "int8":
        values = (values ^ 8) - 8  # 8 to 15 become -8 to -1
    return jnp.moveaxis(values, 0, axis)
