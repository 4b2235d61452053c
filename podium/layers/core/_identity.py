"""Layers that pass their input on: as it is, penalised, masked or rescaled."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from podium import regularizers
from podium.core import KerasTensor, dispatch, map_structure
from podium.layers._layer import Layer


class Identity(Layer):
    """Returns its inputs as they are, for a place where a layer must stand.

    Example:
        >>> podium.layers.Identity()(np.ones((2, 3))).shape
        (2, 3)
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        """Return the inputs."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the inputs."""
        return input_shape

    def compute_output_spec(self, inputs: Any) -> Any:
        """Return the shapes and types of the inputs."""
        return map_structure(lambda x: KerasTensor(x.shape, x.dtype), inputs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config()


class ActivityRegularization(Layer):
    """Returns its inputs, and adds a penalty on their size to the losses.

    Args:
        l1: Factor of the sum of absolute values.
        l2: Factor of the sum of squares.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.ActivityRegularization(l2=0.5)
        >>> _ = layer(np.ones((2, 3), "float32"))
        >>> float(layer.losses[0])
        1.5
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any):
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True
        self.l1 = l1
        self.l2 = l2

    def call(self, inputs: Any) -> Any:
        """Return the inputs."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        config = super().get_config() | {"l1": self.l1, "l2": self.l2}
        config.pop("activity_regularizer", None)
        return config


class Masking(Layer):
    """Marks the time steps whose features all equal `mask_value`, so that later layers skip them.

    The marked steps come out as zeros, and the mask travels on with the result.

    Args:
        mask_value: The number that fills a step to be skipped.
        **kwargs: `name`, `dtype`.

    Example:
        >>> x = np.array([[[1.0], [0.0]]], "float32")
        >>> podium.layers.Masking()(x)._keras_mask.numpy()
        array([[ True, False]])
    """

    def __init__(self, mask_value: float = 0.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self.supports_masking = True

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return True for the steps that count."""
        return dispatch(_differs, inputs, self.mask_value)

    def call(self, inputs: Any) -> Any:
        """Set the skipped steps to zero."""
        outputs, mask = dispatch(_masked, inputs, self.mask_value)
        outputs._keras_mask = mask
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"mask_value": self.mask_value}


def _differs(x: Any, value: Any) -> Any:
    return jnp.any(x != value, axis=-1)


def _masked(x: Any, value: Any) -> Any:
    mask = _differs(x, value)
    return jnp.where(mask[..., None], x, 0), mask


class Rescaling(Layer):
    """Computes `inputs * scale + offset`, for example to bring pixels from 0..255 to -1..1.

    Args:
        scale: A number, or a list with one per channel.
        offset: A number, or a list with one per channel.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.Rescaling(1 / 127.5, offset=-1)(np.array([[0, 255]])).numpy()
        array([[-1.,  1.]], dtype=float32)
    """

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.scale = scale
        self.offset = offset
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        """Scale and shift the inputs."""
        scale, offset = (_nested_numbers(value) for value in (self.scale, self.offset))
        return dispatch(_rescaled, inputs, scale, offset, dtype=self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"scale": _plain(self.scale), "offset": _plain(self.offset)}


def _rescaled(x: Any, scale: Any, offset: Any, dtype: str) -> Any:
    return x.astype(dtype) * jnp.asarray(scale, dtype) + jnp.asarray(offset, dtype)


def _nested_numbers(value: Any) -> Any:
    return np.asarray(value, "float32") if isinstance(value, (list, tuple, np.ndarray)) else value


def _plain(value: Any) -> Any:
    return np.asarray(value).tolist() if hasattr(value, "__array__") else value
