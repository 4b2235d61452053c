"""Arguments that many operations share: axes, dtypes, data formats, sizes, images and matrices.

Converts them to the form that JAX takes, and validates them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, overload

import jax.numpy as jnp
from jax import Array

from podium._typing import DType, DTypeLike
from podium.core import check_choice, floatx, image_data_format, standardize_dtype
from podium.ops._promotion import to_float

FORMATS = ("channels_last", "channels_first")
PADDINGS = ("valid", "same")


@overload
def hashable_axis(axis: int | Sequence[int]) -> int | tuple[int, ...]: ...


@overload
def hashable_axis(axis: int | Sequence[int] | None) -> int | tuple[int, ...] | None: ...


def hashable_axis(axis: int | Sequence[int] | None) -> int | tuple[int, ...] | None:
    """Return an `axis` argument as JAX takes it: lists become tuples."""
    if axis is None or isinstance(axis, tuple):
        return axis
    return tuple(axis) if isinstance(axis, list) else cast(int, axis)


def dtype_or_default(dtype: DTypeLike | None) -> DType:
    """Return the name of a dtype; `None` means the default float dtype."""
    return standardize_dtype(dtype or floatx())


def dtype_or_none(dtype: DTypeLike | None) -> DType | None:
    """Return the name of a dtype; `None` stays `None`."""
    return None if dtype is None else standardize_dtype(dtype)


def reject_sparse(sparse: bool) -> None:
    """Raise if a sparse result is requested."""
    if sparse:
        raise ValueError("sparse results are not supported. Leave `sparse` out.")


def resolve_data_format(data_format: str | None) -> str:
    """Return a valid data format; `None` means the default one."""
    if data_format is None:
        return image_data_format()
    valid: str = check_choice("data_format", data_format, FORMATS)
    return valid


def to_channels_last(x: Array, data_format: str, axis: int = 1) -> Array:
    """Move the channels from `axis` to the end, for `channels_first`."""
    return jnp.moveaxis(x, axis, -1) if data_format == "channels_first" else x


def from_channels_last(x: Array, data_format: str, axis: int = 1) -> Array:
    """Move the channels from the end to `axis`, for `channels_first`."""
    return jnp.moveaxis(x, -1, axis) if data_format == "channels_first" else x


def spatial_rank(inputs: Array) -> int:
    """Return the number of spatial axes of a batch with channels."""
    if inputs.ndim not in (3, 4, 5):
        raise ValueError(
            "`inputs` must have a batch axis, one to three spatial axes and channels, and got "
            f"shape {inputs.shape}."
        )
    return inputs.ndim - 2


def sizes_per_axis(name: str, value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Return an int, or one for each of `rank` axes, as a tuple of positive ints.

    `output_padding` may be 0.
    """
    values = (value,) * rank if isinstance(value, int) else tuple(value)
    minimum = 0 if name == "output_padding" else 1
    if len(values) == 1:
        values = values * rank
    if len(values) != rank or any(v < minimum for v in values):
        raise ValueError(
            f"`{name}` must be an int of at least {minimum}, or a tuple of {rank} of them."
        )
    return values


def check_images(images: Array, name: str = "images") -> None:
    """Raise unless `images` is one image or a batch of images."""
    if images.ndim not in (3, 4):
        raise ValueError(
            f"`{name}` must be one image (3D) or a batch of images (4D), and the shape is "
            f"{images.shape}."
        )


def as_matrix(x: Array, square: bool = False, name: str = "x") -> Array:
    """Return a matrix, or a batch of matrices, of floats; raise if the shape is another one."""
    if x.ndim < 2:
        raise ValueError(
            f"`{name}` must be a matrix or a batch of matrices, and its shape is {x.shape}."
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"`{name}` must be square, and its shape is {x.shape}.")
    return to_float(x)
