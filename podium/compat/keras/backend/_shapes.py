"""Functions of `keras.backend` that move elements, with Keras 2's parameters."""

from __future__ import annotations

from collections.abc import Sequence

from podium import ops
from podium._typing import SymbolicShape, TensorLike
from podium.core import Tensor, check_choice, convert_to_tensor
from podium.ops.internal import resolve_data_format

_DATA_FORMATS = ("channels_last", "channels_first")


def concatenate(tensors: Sequence[TensorLike], axis: int = -1) -> Tensor:
    """Join values along an axis; by default the last one.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.concatenate(tensors=[[[1, 2]], [[3, 4]]]).numpy()
        array([[1, 2, 3, 4]], dtype=int32)
    """
    return ops.concatenate(tensors, axis=axis)


def reshape(x: TensorLike, shape: SymbolicShape) -> Tensor:
    """Give a value another shape.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.reshape([1, 2, 3, 4], shape=(2, 2)).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    return ops.reshape(x, shape)


def permute_dimensions(x: TensorLike, pattern: Sequence[int]) -> Tensor:
    """Reorder the dimensions.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.permute_dimensions(np.zeros((2, 3, 4)), pattern=(2, 0, 1)).shape
        (4, 2, 3)
    """
    return ops.transpose(x, tuple(pattern))


def transpose(x: TensorLike) -> Tensor:
    """Reverse the order of the dimensions.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.transpose(np.zeros((2, 3))).shape
        (3, 2)
    """
    return ops.transpose(x)


def expand_dims(x: TensorLike, axis: int = -1) -> Tensor:
    """Insert a dimension of size 1; by default as the last one.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.expand_dims(np.zeros((2, 3))).shape
        (2, 3, 1)
    """
    return ops.expand_dims(x, axis)


def gather(reference: TensorLike, indices: TensorLike) -> Tensor:
    """Return the slices of a value along its first axis that the indices name.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.gather(reference=[[1, 2], [3, 4]], indices=[1]).numpy()
        array([[3, 4]], dtype=int32)
    """
    return ops.take(reference, indices, axis=0)


def one_hot(indices: TensorLike, num_classes: int) -> Tensor:
    """Encode class numbers as vectors of zeros and a one.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.one_hot(indices=[1], num_classes=3).numpy()
        array([[0., 1., 0.]], dtype=float32)
    """
    return ops.one_hot(indices, num_classes)


def repeat(x: TensorLike, n: int) -> Tensor:
    """Repeat each row of a matrix `n` times, along a new dimension in the middle.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.repeat([[1, 2]], n=2).numpy()
        array([[[1, 2],
                [1, 2]]], dtype=int32)
    """
    if len(ops.shape(x)) != 2:
        raise ValueError(
            f"repeat was given a value of shape {ops.shape(x)}; a matrix was expected. Use "
            "`K.repeat_elements(x, rep, axis)` to repeat along an axis."
        )
    return ops.tile(ops.expand_dims(x, 1), (1, n, 1))


def repeat_elements(x: TensorLike, rep: int, axis: int) -> Tensor:
    """Repeat each element along an axis.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.repeat_elements([1, 2], rep=2, axis=0).numpy()
        array([1, 1, 2, 2], dtype=int32)
    """
    return ops.repeat(x, rep, axis=axis)


def tile(x: TensorLike, n: int | Sequence[int]) -> Tensor:
    """Repeat a value, as often as `n` says for each axis.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.tile([1, 2], n=2).numpy()
        array([1, 2, 1, 2], dtype=int32)
    """
    repeats = (n,) if isinstance(n, int) else tuple(n)
    if len(repeats) != len(ops.shape(x)):
        raise ValueError(
            f"tile was given n={n} for a value of shape {ops.shape(x)}; one number per dimension "
            "was expected."
        )
    return ops.tile(x, repeats)


def reverse(x: TensorLike, axes: int | Sequence[int]) -> Tensor:
    """Reverse a value along one or several axes.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.reverse([[1, 2], [3, 4]], axes=1).numpy()
        array([[2, 1],
               [4, 3]], dtype=int32)
    """
    return ops.flip(x, axis=axes if isinstance(axes, int) else tuple(axes))


def resize_images(
    x: TensorLike,
    height_factor: int,
    width_factor: int,
    data_format: str,
    interpolation: str = "nearest",
) -> Tensor:
    """Enlarge images by whole factors.

    Args:
        x: A batch of images.
        height_factor: By how much the height is multiplied.
        width_factor: By how much the width is multiplied.
        data_format: "channels_last" or "channels_first".
        interpolation: "nearest", "bilinear", "bicubic", "lanczos3" or "lanczos5"; or "area", which
            is "nearest" for whole factors. The results are floats unless it is "nearest".

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.resize_images(np.zeros((1, 2, 3, 1)), 2, 3, "channels_last").shape
        (1, 4, 9, 1)
    """
    rows, columns = _DATA_FORMAT_AXES[check_choice("data_format", data_format, _DATA_FORMATS)]
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(
            f"resize_images was given interpolation={interpolation!r}; one of "
            f"{', '.join(map(repr, _INTERPOLATIONS))} was expected."
        )
    if interpolation in ("nearest", "area"):
        resized = repeat_elements(repeat_elements(x, height_factor, rows), width_factor, columns)
        return resized if interpolation == "nearest" else ops.cast(resized, "float32")
    shape = ops.shape(x)
    return ops.image.resize(
        ops.cast(x, "float32"),
        (shape[rows] * height_factor, shape[columns] * width_factor),
        interpolation=interpolation,
        data_format=data_format,
    )


_DATA_FORMAT_AXES = {"channels_last": (1, 2), "channels_first": (2, 3)}
_INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", "area")


def resize_volumes(
    x: TensorLike, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Tensor:
    """Enlarge volumes by whole factors, by repeating their elements.

    Args:
        x: A batch of volumes.
        depth_factor: By how much the depth is multiplied.
        height_factor: By how much the height is multiplied.
        width_factor: By how much the width is multiplied.
        data_format: "channels_last" or "channels_first".

    Example:
        >>> from podium.compat import keras
        >>> volumes = np.zeros((1, 1, 2, 3, 1))
        >>> keras.backend.resize_volumes(volumes, 2, 2, 3, "channels_last").shape
        (1, 2, 4, 9, 1)
    """
    first = 1 if check_choice("data_format", data_format, _DATA_FORMATS) == "channels_last" else 2
    result: Tensor = convert_to_tensor(x)
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        result = repeat_elements(result, factor, axis)
    return result


def temporal_padding(x: TensorLike, padding: tuple[int, int] = (1, 1)) -> Tensor:
    """Pad the second of three dimensions with zeros.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.temporal_padding(np.zeros((2, 3, 4)), padding=(1, 2)).shape
        (2, 6, 4)
    """
    return _pad_spatially(x, (padding,), "channels_last")


def spatial_2d_padding(
    x: TensorLike,
    padding: Sequence[Sequence[int]] = ((1, 1), (1, 1)),
    data_format: str | None = None,
) -> Tensor:
    """Pad the heights and widths of images with zeros.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.spatial_2d_padding(np.zeros((1, 2, 2, 3)), ((1, 1), (0, 2))).shape
        (1, 4, 4, 3)
    """
    return _pad_spatially(x, padding, resolve_data_format(data_format))


def spatial_3d_padding(
    x: TensorLike,
    padding: Sequence[Sequence[int]] = ((1, 1), (1, 1), (1, 1)),
    data_format: str | None = None,
) -> Tensor:
    """Pad the depths, heights and widths of volumes with zeros.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.spatial_3d_padding(np.zeros((1, 2, 2, 2, 3))).shape
        (1, 4, 4, 4, 3)
    """
    return _pad_spatially(x, padding, resolve_data_format(data_format))


def _pad_spatially(x: TensorLike, padding: Sequence[Sequence[int]], data_format: str) -> Tensor:
    """Pad the dimensions between batch and channels."""
    pairs = [(int(before), int(after)) for before, after in padding]
    rank = len(ops.shape(x))
    if rank != len(pairs) + 2:
        raise ValueError(
            f"The padding {padding!r} was given for a value with {rank} dimensions; a value with "
            f"{len(pairs) + 2} dimensions was expected."
        )
    if data_format == "channels_first":
        return ops.pad(x, [(0, 0), (0, 0), *pairs])
    return ops.pad(x, [(0, 0), *pairs, (0, 0)])
