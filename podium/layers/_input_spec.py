"""InputSpec: what a layer accepts, declared once; the messages are made from it."""

from __future__ import annotations

from typing import Any

from podium.core import standardize_dtype, tree_leaves


class InputSpec:
    """Rank, shape and type that a layer's input must have.

    Args:
        dtype: The wanted type, or None for any.
        shape: The whole shape, None for free dimensions.
        ndim: The number of dimensions.
        max_ndim: The most dimensions allowed.
        min_ndim: The fewest dimensions allowed.
        axes: Wanted lengths by axis, such as `{-1: 32}`.
        allow_last_axis_squeeze: Accept a last dimension of 1 more or less than `shape` has.
        name: The name of the input, for messages.
        optional: Accept None.

    Example:
        >>> podium.layers.InputSpec(min_ndim=2, axes={-1: 3})
        InputSpec(min_ndim=2, axes={-1: 3})
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
    ):
        self.dtype = None if dtype is None else standardize_dtype(dtype)
        self.shape = None if shape is None else tuple(shape)
        self.ndim = len(self.shape) if self.shape is not None else ndim
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = {int(axis): length for axis, length in (axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        self.name = name
        self.optional = optional

    def problem_with(self, shape: tuple[int | None, ...], dtype: Any) -> str | None:
        """Return in words what does not fit about an input, or None."""
        rank = len(shape)
        if (
            self.ndim is not None
            and rank != self.ndim
            and not (self.allow_last_axis_squeeze and abs(rank - self.ndim) == 1)
        ):
            return f"{self.ndim} dimensions were expected{self._shape_hint()}, {rank} were given"
        if self.max_ndim is not None and rank > self.max_ndim:
            return f"at most {self.max_ndim} dimensions were expected, {rank} were given"
        if self.min_ndim is not None and rank < self.min_ndim:
            return f"at least {self.min_ndim} dimensions were expected, {rank} were given"
        if self.dtype is not None and standardize_dtype(dtype) != self.dtype:
            return f"type {self.dtype} was expected, {standardize_dtype(dtype)} was given"
        for axis, length in self.axes.items():
            if length is not None and -rank <= axis < rank and shape[axis] not in (length, None):
                where = "its last dimension" if axis in (-1, rank - 1) else f"dimension {axis}"
                return f"{length} was expected as the length of {where}, {shape[axis]} was given"
        if self.shape is not None and rank == len(self.shape):
            for axis, (want, have) in enumerate(zip(self.shape, shape, strict=True)):
                if want is not None and have is not None and want != have:
                    return f"shape {self.shape} was expected, which differs in dimension {axis}"
        return None

    def _shape_hint(self) -> str:
        return f" (shape {self.shape})" if self.shape is not None else ""

    def __repr__(self) -> str:
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        parts = [f"{name}={getattr(self, name)}" for name in names if getattr(self, name)]
        return f"InputSpec({', '.join(parts)})"

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this spec again."""
        return {
            "dtype": self.dtype,
            "shape": self.shape,
            "ndim": self.ndim if self.shape is None else None,
            "max_ndim": self.max_ndim,
            "min_ndim": self.min_ndim,
            "axes": self.axes,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """Make a spec from `get_config`'s result."""
        return cls(**config)


def check_inputs(layer: Any, spec: Any, inputs: Any) -> None:
    """Raise an error that names the layer, both shapes and the way out, if `inputs` do not fit
    `spec`.
    """
    specs = [s for s in (spec if isinstance(spec, (list, tuple)) else [spec]) if s is not None]
    values = tree_leaves(inputs)
    if len(specs) != len(values):
        raise ValueError(
            f"Layer {layer.name!r} ({type(layer).__name__}) takes {len(specs)} inputs and was "
            f"given {len(values)}. Pass them as one list."
        )
    for position, (one, value) in enumerate(zip(specs, values, strict=True)):
        if not hasattr(value, "shape"):
            raise TypeError(
                f"Layer {layer.name!r} ({type(layer).__name__}) was called with a "
                f"{type(value).__name__}; an array or Tensor was expected. Convert it with "
                "`podium.convert_to_tensor(x)`."
            )
        problem = one.problem_with(tuple(value.shape), value.dtype)
        if problem:
            which = "" if len(values) == 1 else f" as input {position}"
            built = (
                f" It was built for inputs of shape {layer.built_shape}."
                if layer.built_shape is not None
                else ""
            )
            raise ValueError(
                f"Layer {layer.name!r} ({type(layer).__name__}) was called with shape "
                f"{tuple(value.shape)}{which}: {problem}."
                f"{built} {_way_out(one, tuple(value.shape), layer)}"
            )


def _way_out(spec: InputSpec, shape: tuple, layer: Any) -> str:
    needed = spec.ndim or spec.min_ndim or 0
    if len(shape) < needed:
        return "Add the missing dimensions, for example a batch dimension with `x[None]`."
    if spec.max_ndim is not None and len(shape) > spec.max_ndim:
        return "Flatten or reshape the input."
    if layer.built_shape is not None:
        return "Reshape the input, or make a new layer for this shape: weights keep the shape they were built with."
    return "Reshape the input."
