"""Lambda: a function as a layer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Self

from podium._typing import Config, ShapeLike, Tree
from podium.core import Tensor, get_registered_name, get_registered_object
from podium.layers import _call_context
from podium.layers._layer import Layer


class Lambda(Layer):
    """Wraps a function as a layer. For anything with weights, subclass `Layer` instead.

    Args:
        function: The function of the inputs; it may also take `mask` and `training`.
        output_shape: Optional, since shapes are found by tracing: the shape without the batch
            dimension, or a function of the input shape, for `compute_output_shape`.
        mask: The mask of the outputs, or a function of `(inputs, mask)` that returns it.
        arguments: Keyword arguments of the function.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.Lambda(lambda x: x * 2)(np.ones((1, 2), "float32")).numpy()
        array([[2., 2.]], dtype=float32)
    """

    def __init__(
        self,
        function: Any,
        output_shape: ShapeLike | None = None,
        mask: Tensor | None = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if not callable(function):
            raise TypeError(
                f"Lambda was given function={function!r}; a function of the inputs was expected."
            )
        self.function = function
        self.mask = mask
        self.arguments = arguments or {}
        self.supports_masking = mask is not None
        self._output_shape = output_shape
        self._takes_arrays = None  # the function may take bare arrays
        try:
            self._names = set(inspect.signature(function).parameters)
        except ValueError:  # some functions written in C have no signature
            self._names = set()

    def call(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Call the function."""
        optional = {"mask": mask, "training": training}
        result: Tensor = self.function(
            inputs, **self.arguments, **{n: v for n, v in optional.items() if n in self._names}
        )
        return result

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        """Return the mask of the outputs."""
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Trace the function to find the shapes and dtypes of its outputs."""
        return super().compute_output_spec(*args, **kwargs)

    def compute_output_shape(self, input_shape: Tree) -> Tree:
        """Return the shape of the outputs."""
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return self._output_shape(input_shape)
        batch = (
            input_shape[0] if _call_context.is_shape(input_shape) else next(iter(input_shape))[0]
        )
        return _call_context.map_shapes(lambda shape: (batch, *shape), self._output_shape)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer; functions are stored by their
        registered name.
        """
        config = super().get_config() | {
            "function": _lambda_function_config(self.function),
            "arguments": self.arguments,
        }
        for name, value in (("output_shape", self._output_shape), ("mask", self.mask)):
            if value is not None:
                config[name] = _lambda_function_config(value) if callable(value) else value
        return config

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a layer from the result of `get_config`; functions are looked up by name."""
        return cls(**{key: _load_function(value, custom_objects) for key, value in config.items()})


def _lambda_function_config(function: Any) -> dict[str, Any]:
    name = (
        get_registered_name(function) if hasattr(function, "__name__") else type(function).__name__
    )
    kind = "__lambda__" if name == "<lambda>" else "function"
    return {"module": "builtins", "class_name": kind, "config": name, "registered_name": "function"}


def _load_function(value: Any, custom_objects: Mapping[str, Any] | None) -> Any:
    kind = value.get("class_name") if isinstance(value, Mapping) else None
    if kind not in ("function", "__lambda__"):
        return value
    function = (
        get_registered_object(value["config"], custom_objects)
        if isinstance(value["config"], str)
        else None
    )
    if kind == "__lambda__" or function is None:
        description = (
            "a `lambda`"
            if kind == "__lambda__"
            else f"the function {value['config']!r}, which is not registered"
        )
        raise ValueError(
            f"This Lambda layer wraps {description}; a config stores only the name of a function, "
            "so it cannot be recreated. Define the function with `def` and decorate it with "
            "`@podium.saving.register_keras_serializable()`, or subclass Layer."
        )
    return function
