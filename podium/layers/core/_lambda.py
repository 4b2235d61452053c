"""Lambda: a function as a layer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from podium.core import get_registered_name, get_registered_object
from podium.layers import _call_context
from podium.layers._layer import Layer


class Lambda(Layer):
    """Runs a function as a layer. For anything with weights, write a Layer instead.

    Args:
        function: A function of the inputs; it may also take `mask` and `training`.
        output_shape: Not needed: shapes are found by tracing. Used by `compute_output_shape` if
            given, without the batch dimension, or as a function of the input shape.
        mask: The mask of the outputs, or a function of `(inputs, mask)` that returns it.
        arguments: Further named arguments for the function.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.Lambda(lambda x: x * 2)(np.ones((1, 2), "float32")).numpy()
        array([[2., 2.]], dtype=float32)
    """

    def __init__(
        self,
        function: Any,
        output_shape: Any = None,
        mask: Any = None,
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
        self._takes_arrays = None  # the function is the user's: it may want bare arrays
        try:
            self._names = set(inspect.signature(function).parameters)
        except ValueError:  # some functions written in C have no signature
            self._names = set()

    def call(self, inputs: Any, mask: Any = None, training: bool | None = None) -> Any:
        """Run the function."""
        known = {"mask": mask, "training": training}
        return self.function(
            inputs, **self.arguments, **{n: v for n, v in known.items() if n in self._names}
        )

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
        batch = (
            input_shape[0] if _call_context.is_shape(input_shape) else next(iter(input_shape))[0]
        )
        return _call_context.map_shapes(lambda shape: (batch, *shape), self._output_shape)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again; functions are written by their
        registered name.
        """
        config = super().get_config() | {
            "function": _function_config(self.function),
            "arguments": self.arguments,
        }
        for name, value in (("output_shape", self._output_shape), ("mask", self.mask)):
            if value is not None:
                config[name] = _function_config(value) if callable(value) else value
        return config

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Lambda:
        """Make a layer from `get_config`'s result; functions are looked up by name."""
        found = {key: _function_from(value, custom_objects) for key, value in config.items()}
        return cls(**found)


def _function_config(function: Any) -> dict[str, Any]:
    name = (
        get_registered_name(function) if hasattr(function, "__name__") else type(function).__name__
    )
    kind = "__lambda__" if name == "<lambda>" else "function"
    return {"module": "builtins", "class_name": kind, "config": name, "registered_name": "function"}


def _function_from(value: Any, custom_objects: Mapping[str, Any] | None) -> Any:
    kind = value.get("class_name") if isinstance(value, Mapping) else None
    if kind not in ("function", "__lambda__"):
        return value
    found = (
        get_registered_object(value["config"], custom_objects)
        if isinstance(value["config"], str)
        else None
    )
    if kind == "__lambda__" or found is None:
        what = (
            "a `lambda`"
            if kind == "__lambda__"
            else f"the function {value['config']!r}, which is not registered"
        )
        raise ValueError(
            f"This Lambda layer runs {what}; a config can only name functions, so it cannot be "
            "made again. Write the function with `def` and decorate it with "
            "`@podium.saving.register_keras_serializable()`, or write a Layer."
        )
    return found
