"""Small layers around other code: Lambda, Masking, Identity, Rescaling, ActivityRegularization and the Wrapper base."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from podium import regularizers
from podium.core import KerasTensor, dispatch, get_registered_name, get_registered_object, map_structure
from podium.layers import _calls
from podium.layers._layer import Layer
from podium.layers._serialization import deserialize, serialize


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


class Lambda(Layer):
    """Runs a function as a layer. For anything with weights, write a Layer instead.

    Args:
        function: A function of the inputs; it may also take `mask` and `training`.
        output_shape: Not needed: shapes are found by tracing. Used by `compute_output_shape` if given, without the batch
            dimension, or as a function of the input shape.
        mask: The mask of the outputs, or a function of `(inputs, mask)` that returns it.
        arguments: Further named arguments for the function.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.Lambda(lambda x: x * 2)(np.ones((1, 2), "float32")).numpy()
        array([[2., 2.]], dtype=float32)
    """

    def __init__(
        self, function: Any, output_shape: Any = None, mask: Any = None, arguments: dict[str, Any] | None = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        if not callable(function):
            raise TypeError(f"Lambda was given function={function!r}; a function of the inputs was expected.")
        self.function = function
        self.mask = mask
        self.arguments = arguments or {}
        self.supports_masking = mask is not None
        self._output_shape = output_shape
        self._takes_arrays = None  # the function is the user's: it may want bare arrays
        try:
            self._names = set(inspect.signature(function).parameters)
        except ValueError:  # some functions written in C have no signature
            self._names = set()

    def call(self, inputs: Any, mask: Any = None, training: bool | None = None) -> Any:
        """Run the function."""
        known = {"mask": mask, "training": training}
        return self.function(inputs, **self.arguments, **{n: v for n, v in known.items() if n in self._names})

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return the mask of the outputs."""
        return self.mask(inputs, previous_mask) if callable(self.mask) else self.mask

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Trace the function: only that tells the type of what it returns."""
        return super().compute_output_spec(*args, **kwargs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs."""
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return self._output_shape(input_shape)
        batch = input_shape[0] if _calls.is_shape(input_shape) else next(iter(input_shape))[0]
        return _calls.map_shapes(lambda shape: (batch, *shape), self._output_shape)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again; functions are written by their registered name."""
        config = super().get_config() | {"function": _function_config(self.function), "arguments": self.arguments}
        for name, value in (("output_shape", self._output_shape), ("mask", self.mask)):
            if value is not None:
                config[name] = _function_config(value) if callable(value) else value
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Lambda:
        """Make a layer from `get_config`'s result; functions are looked up by name."""
        found = {key: _function_from(value, custom_objects) for key, value in config.items()}
        return cls(**found)


def _function_config(function: Any) -> dict[str, Any]:
    name = get_registered_name(function) if hasattr(function, "__name__") else type(function).__name__
    kind = "__lambda__" if name == "<lambda>" else "function"
    return {"module": "builtins", "class_name": kind, "config": name, "registered_name": "function"}


def _function_from(value: Any, custom_objects: Mapping[str, Any] | None) -> Any:
    kind = value.get("class_name") if isinstance(value, Mapping) else None
    if kind not in ("function", "__lambda__"):
        return value
    found = get_registered_object(value["config"], custom_objects) if isinstance(value["config"], str) else None
    if kind == "__lambda__" or found is None:
        what = "a `lambda`" if kind == "__lambda__" else f"the function {value['config']!r}, which is not registered"
        raise ValueError(
            f"This Lambda layer runs {what}; a config can only name functions, so it cannot be made again. Write the function "
            "with `def` and decorate it with `@podium.saving.register_keras_serializable()`, or write a Layer."
        )
    return found


class Wrapper(Layer):
    """The base of layers that change what another layer does.

    Args:
        layer: The layer inside.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> class Twice(podium.layers.Wrapper):
        ...     def call(self, inputs):
        ...         return self.layer(inputs) * 2
        >>> Twice(podium.layers.Identity())(np.ones((1, 2), "float32")).numpy()
        array([[2., 2.]], dtype=float32)
    """

    def __init__(self, layer: Any, **kwargs: Any):
        super().__init__(**kwargs)
        if not isinstance(layer, Layer):
            raise ValueError(
                f"{type(self).__name__} was given layer={layer!r}; a layer was expected, such as podium.layers.Dense(8)."
            )
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        """Build the layer inside."""
        self.layer.build_from_config({"input_shape": input_shape})

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"layer": serialize(self.layer)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Make a layer from `get_config`'s result."""
        arguments = dict(config)
        return cls(deserialize(arguments.pop("layer"), custom_objects), **arguments)
