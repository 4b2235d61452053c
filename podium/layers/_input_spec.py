"""InputSpec: the rank, shape and dtype of the inputs that a layer accepts.

Layers declare it, and `check_inputs` generates the messages from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from podium._typing import Config, DTypeLike, SymbolicShape, Tree
from podium.core import KerasTensor, standardize_dtype, tree_leaves
from podium.core.internal import is_string_dtype, refuse_text

if TYPE_CHECKING:
    from podium.layers._layer import Layer


class InputSpec:
    """The rank, shape and dtype of an input of a layer.

    Args:
        dtype: The expected dtype, or None for any.
        shape: The complete shape, with None for dimensions of any size.
        ndim: The number of dimensions.
        max_ndim: The maximum number of dimensions.
        min_ndim: The minimum number of dimensions.
        axes: Expected sizes by axis, such as `{-1: 32}`.
        allow_last_axis_squeeze: Whether one dimension more or less than in `shape` is accepted.
        name: The name of the input, for messages.
        optional: Whether None is accepted.

    Example:
        >>> podium.layers.InputSpec(min_ndim=2, axes={-1: 3})
        InputSpec(min_ndim=2, axes={-1: 3})
    """

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: Sequence[int | None] | None = None,
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
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        self.name = name
        self.optional = optional

    def describe_mismatch(self, shape: SymbolicShape, dtype: DTypeLike) -> str | None:
        """Return how an input differs from this spec, or None if it does not."""
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
            return f"dtype {self.dtype} was expected, {standardize_dtype(dtype)} was given"
        for axis, size in self.axes.items():
            if size is not None and -rank <= axis < rank and shape[axis] not in (size, None):
                where = "its last dimension" if axis in (-1, rank - 1) else f"dimension {axis}"
                return f"{size} was expected as the size of {where}, {shape[axis]} was given"
        if self.shape is not None and rank == len(self.shape):
            for axis, (expected, size) in enumerate(zip(self.shape, shape, strict=True)):
                if expected is not None and size is not None and expected != size:
                    return f"shape {self.shape} was expected, which differs in dimension {axis}"
        return None

    def _shape_hint(self) -> str:
        return f" (shape {self.shape})" if self.shape is not None else ""

    def __repr__(self) -> str:
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        parts = [f"{name}={getattr(self, name)}" for name in names if getattr(self, name)]
        return f"InputSpec({', '.join(parts)})"

    def get_config(self) -> Config:
        """Return the arguments that recreate this spec."""
        return {
            "dtype": self.dtype,
            "shape": self.shape,
            "ndim": self.ndim if self.shape is None else None,
            "max_ndim": self.max_ndim,
            "min_ndim": self.min_ndim,
            "axes": self.axes,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Create a spec from the result of `get_config`."""
        return cls(**config)


def check_inputs(layer: Layer, spec: InputSpec | Sequence[InputSpec | None], inputs: Tree) -> None:
    """Raise an error with both shapes and a fix, if `inputs` do not match `spec`."""
    declared = [spec] if isinstance(spec, InputSpec) else spec
    specs = [each for each in declared if each is not None]
    values = tree_leaves(inputs)
    if len(specs) != len(values):
        raise ValueError(
            f"Layer {layer.name!r} ({type(layer).__name__}) takes {len(specs)} inputs and was "
            f"given {len(values)}. Pass them as one list."
        )
    for position, (each, value) in enumerate(zip(specs, values, strict=True)):
        if not hasattr(value, "shape"):
            raise TypeError(
                f"Layer {layer.name!r} ({type(layer).__name__}) was called with a "
                f"{type(value).__name__}; an array or Tensor was expected. Convert it with "
                "`podium.convert_to_tensor(x)`."
            )
        if is_string_dtype(getattr(value, "dtype", None)):
            refuse_text(value.name if isinstance(value, KerasTensor) else "The input")
        problem = each.describe_mismatch(tuple(value.shape), value.dtype)
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
                f"{built} {_suggest_fix(each, tuple(value.shape), layer)}"
            )


def _suggest_fix(spec: InputSpec, shape: SymbolicShape, layer: Layer) -> str:
    min_rank = spec.ndim or spec.min_ndim or 0
    if len(shape) < min_rank:
        return "Add the missing dimensions, for example a batch dimension with `x[None]`."
    if spec.max_ndim is not None and len(shape) > spec.max_ndim:
        return "Flatten or reshape the input."
    if layer.built_shape is not None:
        return (
            "Reshape the input, or create a new layer for this shape: weights keep the shape they "
            "were built with."
        )
    return "Reshape the input."
