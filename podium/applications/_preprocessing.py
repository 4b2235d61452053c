"""Preprocessing of images: `preprocess_input` of each architecture.

Three modes are in use. It owns their constants; which architecture has which is in the packages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from podium import ops
from podium._typing import T, TensorLike
from podium.core import (
    KerasTensor,
    Tensor,
    check_choice,
    convert_to_tensor,
    floatx,
    image_data_format,
    is_float_dtype,
)

NumpyArray: TypeAlias = np.ndarray[Any, Any]
Images: TypeAlias = NumpyArray | Tensor | KerasTensor

_MODES = ("caffe", "tf", "torch")
# Means of the channels of ImageNet's images, from 0 to 255 in the order BGR.
_CAFFE_MEAN = (103.939, 116.779, 123.68)
# Means and standard deviations from 0 to 1 in the order RGB.
_TORCH_MEAN = (0.485, 0.456, 0.406)
_TORCH_STDDEV = (0.229, 0.224, 0.225)


def preprocess_input(x: TensorLike, data_format: str | None = None, mode: str = "caffe") -> Images:
    """Bring images into the form on which weights of ImageNet were trained.

    Each architecture has this function with its own mode: use
    `podium.applications.resnet50.preprocess_input` for `ResNet50`, and so on.

    Args:
        x: Images with values from 0 to 255: an array, a Tensor or a symbolic value of 3 or 4
            dimensions. It is not changed, whereas Keras changes arrays of floats in place.
        data_format: "channels_last" or "channels_first"; by default the one that is set.
        mode: "caffe": BGR instead of RGB, with the means of the channels subtracted. "tf": from -1
            to 1. "torch": from 0 to 1, then normalized with the statistics of the channels.

    Returns:
        The images in the same shape: an array for an array, else a Tensor; of the default float
        dtype unless they were floats before.

    Raises:
        ValueError: The mode or the data format is unknown, or the images do not have the three
            channels that the mode needs.

    Example:
        >>> image = np.array([[[0, 127.5, 255]]])
        >>> podium.applications.imagenet_utils.preprocess_input(image, mode="tf")
        array([[[-1.,  0.,  1.]]])
        >>> podium.applications.imagenet_utils.preprocess_input(image).round(3)
        array([[[ 151.061,   10.721, -123.68 ]]])
    """
    check_choice("mode", mode, _MODES)
    data_format = data_format or image_data_format()
    check_choice("data_format", data_format, ("channels_first", "channels_last"))
    images: Images
    images = x if isinstance(x, (np.ndarray, Tensor, KerasTensor)) else convert_to_tensor(x)
    if mode != "tf":
        _check_channels(images.shape, data_format, mode)
    if isinstance(images, np.ndarray):
        is_float = np.issubdtype(images.dtype, np.floating)
        return _normalize_array(images if is_float else images.astype(floatx()), data_format, mode)
    floats = images if is_float_dtype(images.dtype) else ops.cast(images, floatx())
    return _normalize_tensor(floats, data_format, mode)


def preprocess_caffe(x: TensorLike, data_format: str | None = None) -> Images:
    """Convert images from RGB to BGR and subtract the means of ImageNet's channels.

    Args:
        x: Images with values from 0 to 255; see `imagenet_utils.preprocess_input`.
        data_format: "channels_last" or "channels_first"; by default the one that is set.

    Example:
        >>> podium.applications.vgg16.preprocess_input(np.array([[[0, 0, 255]]])).round(1)
        array([[[ 151.1, -116.8, -123.7]]], dtype=float32)
    """
    return preprocess_input(x, data_format, "caffe")


def preprocess_tf(x: TensorLike, data_format: str | None = None) -> Images:
    """Scale pixels to values from -1 to 1.

    Args:
        x: Images with values from 0 to 255; see `imagenet_utils.preprocess_input`.
        data_format: "channels_last" or "channels_first"; by default the one that is set.

    Example:
        >>> podium.applications.mobilenet.preprocess_input(np.array([[[0, 51, 255]]]))
        array([[[-1. , -0.6,  1. ]]], dtype=float32)
    """
    return preprocess_input(x, data_format, "tf")


def preprocess_torch(x: TensorLike, data_format: str | None = None) -> Images:
    """Scale pixels to values from 0 to 1 and normalize ImageNet's channels.

    Args:
        x: Images with values from 0 to 255; see `imagenet_utils.preprocess_input`.
        data_format: "channels_last" or "channels_first"; by default the one that is set.

    Example:
        >>> podium.applications.densenet.preprocess_input(np.array([[[0, 0, 255]]])).round(2)
        array([[[-2.12, -2.04,  2.64]]], dtype=float32)
    """
    return preprocess_input(x, data_format, "torch")


def return_unchanged(x: T, data_format: str | None = None) -> T:
    """Return images as they are: the model itself has layers for preprocessing.

    Args:
        x: Images with values from 0 to 255.
        data_format: Accepted like in the other packages.

    Example:
        >>> podium.applications.efficientnet.preprocess_input(np.array([0, 255]))
        array([  0, 255])
    """
    return x


def _check_channels(shape: Sequence[int | None], data_format: str, mode: str) -> None:
    axis = -3 if data_format == "channels_first" else -1
    if len(shape) < 3 or shape[axis] not in (None, 3):
        raise ValueError(
            f"preprocess_input was given images of shape {tuple(shape)} with mode={mode!r} and "
            f"data_format={data_format!r}; 3 channels on axis {axis} were expected."
        )


def _normalize_array(x: NumpyArray, data_format: str, mode: str) -> NumpyArray:
    """Compute in the dtype of `x`, like Keras."""
    axis = -3 if data_format == "channels_first" else -1
    result: NumpyArray
    if mode == "tf":
        result = x / x.dtype.type(127.5) - x.dtype.type(1)
    elif mode == "caffe":
        result = np.flip(x, axis) - _along_channels(_CAFFE_MEAN, axis, x.dtype)
    else:
        scaled = x / x.dtype.type(255) - _along_channels(_TORCH_MEAN, axis, x.dtype)
        result = scaled / _along_channels(_TORCH_STDDEV, axis, x.dtype)
    return result


def _normalize_tensor(x: Tensor | KerasTensor, data_format: str, mode: str) -> Tensor | KerasTensor:
    """Compute with operations, which files can name if the value is part of a model."""
    if mode == "tf":
        return x / 127.5 - 1.0
    axis = -3 if data_format == "channels_first" else -1
    if mode == "caffe":
        return ops.flip(x, axis) - _along_channels(_CAFFE_MEAN, axis, x.dtype)
    scaled = x / 255.0 - _along_channels(_TORCH_MEAN, axis, x.dtype)
    return scaled / _along_channels(_TORCH_STDDEV, axis, x.dtype)


def _along_channels(values: tuple[float, ...], axis: int, dtype: np.dtype[Any]) -> NumpyArray:
    array = np.array(values, dtype)
    return array.reshape(3, 1, 1) if axis == -3 else array
