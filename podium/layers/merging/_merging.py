"""Merging layers: Concatenate, Add, Subtract, Multiply, Average, Maximum, Minimum, Dot.

They own the checks of shapes and the masks; the computation is in `_merge_functions.py`.
Element-wise layers broadcast as NumPy does, except that missing dimensions of a shorter shape are
added after the batch. If every input has a mask, the mask of the output is their logical OR.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax.numpy as jnp

from podium import ops
from podium._typing import Config, DTypeLike, SymbolicShape
from podium.core import KerasTensor, Tensor, dispatch, promote_dtypes
from podium.layers import _call_context
from podium.layers._layer import Layer
from podium.layers.merging import _merge_functions

# --- shapes


def _static_size(size: object) -> int | None:
    return size if isinstance(size, int) else None


def _broadcast_size(first: int | None, second: int | None) -> int | None:
    """Return the broadcast size; None if it is unknown, -1 if the sizes are not compatible."""
    if first is None or second is None:
        return None
    if first == second:
        return first
    return max(first, second) if 1 in (first, second) and 0 not in (first, second) else -1


def _common_batch(sizes: Sequence[int | None]) -> int | None:
    fixed = {size for size in sizes if size not in (None, 1)}
    if len(fixed) == 1:
        return fixed.pop()
    return -1 if fixed else (None if None in sizes else 1)


class _Merge(Layer):
    """The base class of merging layers: checks a list of shapes, and combines masks."""

    _function: ClassVar[Callable[..., Any]]
    _num_inputs: ClassVar[int | None] = None  # None for any number
    _uses_masks: ClassVar[bool] = False

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Sequence[SymbolicShape]) -> None:
        """Check the shapes before anything is computed."""
        self.compute_output_shape(input_shape)

    def call(self, inputs: Sequence[Tensor], mask: Sequence[Tensor | None] | None = None) -> Tensor:
        """Compute the output of a list of inputs."""
        if not isinstance(inputs, (list, tuple)):
            raise self._not_a_list(getattr(inputs, "shape", ()))
        self.compute_output_shape([x.shape for x in inputs])  # raises for incompatible shapes
        return self._merge(list(inputs), mask)

    def _merge(self, inputs: list[Any], mask: Sequence[Tensor | None] | None) -> Tensor:
        masks = list(mask) if self._uses_masks and mask is not None else None
        result: Tensor = dispatch(type(self)._function, inputs, masks)
        return result

    def _not_a_list(self, shape: Sequence[Any]) -> ValueError:
        return ValueError(
            f"Layer {self.name!r} ({type(self).__name__}) was called with one input of shape "
            f"{tuple(shape)}; a list of inputs was expected. Call it as `layer([x, y])`."
        )

    def _shape_error(self, shapes: Sequence[Any], problem: str) -> ValueError:
        shown = ", ".join(str(tuple(shape)) for shape in shapes)
        return ValueError(
            f"Layer {self.name!r} ({type(self).__name__}) was called with shapes {shown}: {problem}"
        )

    def _input_shapes(self, input_shape: Sequence[SymbolicShape]) -> list[SymbolicShape]:
        """Return the shapes of a list of inputs; raise for another structure or number."""
        if input_shape is None or _call_context.is_shape(input_shape):
            if not input_shape:
                raise self._shape_error([], "the list is empty. Pass at least one input.")
            raise self._not_a_list(input_shape)
        if self._num_inputs is not None and len(input_shape) != self._num_inputs:
            raise self._shape_error(
                input_shape,
                f"exactly {self._num_inputs} inputs were expected, {len(input_shape)} were given.",
            )
        return [tuple(map(_static_size, shape)) for shape in input_shape]

    def compute_output_shape(self, input_shape: Sequence[SymbolicShape]) -> SymbolicShape:
        """Return the shape of the output for a list of input shapes."""
        shapes = self._input_shapes(input_shape)
        rank = max(map(len, shapes))
        if rank and min(map(len, shapes)) == 0:
            raise self._shape_error(
                input_shape,
                "a scalar and an array cannot be merged. Use `podium.ops` instead.",
            )
        batch = [_common_batch([shape[0] for shape in shapes])] if rank else []
        padded = [(1,) * (rank - len(shape)) + shape[1:] for shape in shapes]
        sizes = [functools.reduce(_broadcast_size, column) for column in zip(*padded, strict=True)]
        for axis, size in enumerate(batch + sizes):
            if size == -1:
                note = (
                    " (after dimensions of size 1 were added to the shorter ones)"
                    if len(set(map(len, shapes))) > 1
                    else ""
                )
                raise self._shape_error(
                    input_shape,
                    f"they differ in dimension {axis}{note}. Use inputs of the same shape, or of "
                    "size 1 where they should be repeated; to combine inputs of different sizes "
                    "use Concatenate.",
                )
        return (*batch, *sizes)

    def _output_dtype(self, dtypes: list[Any]) -> DTypeLike:
        return promote_dtypes(jnp.result_type)(*dtypes)

    def compute_output_spec(
        self, inputs: Sequence[KerasTensor], mask: Sequence[Tensor | None] | None = None
    ) -> KerasTensor:
        """Return the specs of the outputs for symbolic inputs."""
        if not isinstance(inputs, (list, tuple)):
            raise self._not_a_list(getattr(inputs, "shape", ()))
        shape = self.compute_output_shape([x.shape for x in inputs])
        return KerasTensor(shape, self._output_dtype([x.dtype for x in inputs]))

    def _masks_for(
        self, inputs: Sequence[Tensor], mask: Sequence[Tensor | None] | None
    ) -> list[Any] | None:
        if mask is None:
            return None
        if (
            not isinstance(mask, (list, tuple))
            or not isinstance(inputs, (list, tuple))
            or len(mask) != len(inputs)
        ):
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was given a mask that does not "
                "belong to its inputs; a list with one mask or None for every input was expected."
            )
        return list(mask)

    def compute_mask(
        self, inputs: Sequence[Tensor], mask: Sequence[Tensor | None] | None = None
    ) -> Tensor | None:
        """Return the logical OR of the masks; None if an input has no mask."""
        masks = self._masks_for(inputs, mask)
        if masks is None or any(m is None for m in masks):
            return None
        result: Tensor | None = functools.reduce(ops.logical_or, masks)
        return result


class Add(_Merge):
    """Adds a list of inputs element-wise.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Add()([np.ones((2, 3), "float32"), np.ones((2, 3), "float32")]).numpy()[0]
        array([2., 2., 2.], dtype=float32)
    """

    _function = staticmethod(_merge_functions.fold_arrays(jnp.add))


class Subtract(_Merge):
    """Subtracts the second of two inputs from the first, element-wise.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> x, y = np.ones((1, 3), "float32"), np.full((1, 3), 3, "float32")
        >>> podium.layers.Subtract()([x, y]).numpy()
        array([[-2., -2., -2.]], dtype=float32)
    """

    _function = staticmethod(_merge_functions.fold_arrays(jnp.subtract))
    _num_inputs = 2


class Multiply(_Merge):
    """Multiplies a list of inputs element-wise.

    Masked steps count as 1, and as 0 where all inputs are masked.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> x, y = np.full((1, 2), 2, "float32"), np.full((1, 2), 3, "float32")
        >>> podium.layers.Multiply()([x, y]).numpy()
        array([[6., 6.]], dtype=float32)
    """

    _function = staticmethod(_merge_functions.product)
    _uses_masks = True


class Average(_Merge):
    """Averages a list of inputs element-wise.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> x, y = np.full((1, 2), 2, "float32"), np.full((1, 2), 3, "float32")
        >>> podium.layers.Average()([x, y]).numpy()
        array([[2.5, 2.5]], dtype=float32)
    """

    _function = staticmethod(_merge_functions.average_arrays)

    def _output_dtype(self, dtypes: list[Any]) -> DTypeLike:
        dtype = super()._output_dtype(dtypes)
        return dtype if jnp.issubdtype(dtype, jnp.floating) else "float32"


class Maximum(_Merge):
    """Computes the element-wise maximum of a list of inputs.

    Masked steps of an input are ignored.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> x, y = np.array([[1.0, 5.0]], "float32"), np.array([[3.0, 2.0]], "float32")
        >>> podium.layers.Maximum()([x, y]).numpy()
        array([[3., 5.]], dtype=float32)
    """

    _function = staticmethod(_merge_functions.fold_unmasked(jnp.maximum))
    _uses_masks = True


class Minimum(_Merge):
    """Computes the element-wise minimum of a list of inputs.

    Masked steps of an input are ignored.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> x, y = np.array([[1.0, 5.0]], "float32"), np.array([[3.0, 2.0]], "float32")
        >>> podium.layers.Minimum()([x, y]).numpy()
        array([[1., 2.]], dtype=float32)
    """

    _function = staticmethod(_merge_functions.fold_unmasked(jnp.minimum))
    _uses_masks = True


class Concatenate(_Merge):
    """Concatenates a list of inputs along an axis.

    Args:
        axis: The axis along which to concatenate.
        **kwargs: `name`, `dtype`, `trainable`.

    Raises:
        ValueError: If the inputs differ in another dimension.

    Example:
        >>> x, y = np.ones((2, 3), "float32"), np.ones((2, 5), "float32")
        >>> podium.layers.Concatenate()([x, y]).shape
        (2, 8)
    """

    def __init__(self, axis: int = -1, **kwargs: Any):
        super().__init__(**kwargs)
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise TypeError(
                f"Concatenate was given axis={axis!r}; an int was expected, such as -1 "
                "for the last axis."
            )
        self.axis = axis

    def _merge(self, inputs: list[Any], mask: Sequence[Tensor | None] | None) -> Tensor:
        result: Tensor = dispatch(_merge_functions.concatenate, inputs, self.axis)
        return result

    def compute_output_shape(self, input_shape: Sequence[SymbolicShape]) -> SymbolicShape:
        """Return the shape of the output for a list of input shapes."""
        shapes = self._input_shapes(input_shape)
        rank = len(shapes[0])
        if any(len(shape) != rank for shape in shapes):
            raise self._shape_error(
                input_shape, "they must have the same number of dimensions. Reshape some of them."
            )
        if not -rank <= self.axis < rank:
            problem = (
                f"axis={self.axis} is not one of their {rank} dimensions. Use an axis from "
                f"{-rank} to {rank - 1}."
            )
            raise self._shape_error(input_shape, problem)
        concatenated_axis = self.axis % rank
        output: list[int | None] = []
        for axis, column in enumerate(zip(*shapes, strict=True)):
            if axis == concatenated_axis:
                output.append(None if None in column else sum(column))
                continue
            sizes = {size for size in column if size is not None}
            if len(sizes) > 1:
                raise self._shape_error(
                    input_shape,
                    f"they may differ only in dimension {concatenated_axis} (axis={self.axis}), "
                    f"and differ in dimension {axis}. Concatenate along another axis, or crop, "
                    "pad or reshape the inputs.",
                )
            output.append(sizes.pop() if sizes else None)
        return tuple(output)

    def compute_mask(
        self, inputs: Sequence[Tensor], mask: Sequence[Tensor | None] | None = None
    ) -> Tensor | None:
        """Return the concatenated masks; inputs without a mask count as unmasked."""
        masks = self._masks_for(inputs, mask)
        if masks is None or all(m is None for m in masks):
            return None
        result: Tensor | None = dispatch(
            _merge_functions.concatenate_masks, list(inputs), masks, self.axis
        )
        return result

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"axis": self.axis}


class Dot(_Merge):
    """Computes the dot product of two inputs along one axis of each, per sample.

    Args:
        axes: The axis to sum over: an int for both inputs, or a pair. The batch is axis 0.
        normalize: Whether to L2-normalize the inputs along that axis first; the result is then the
            cosine similarity.
        **kwargs: `name`, `dtype`, `trainable`.

    Raises:
        ValueError: If the two axes have different sizes.

    Example:
        >>> x, y = np.ones((5, 10, 3), "float32"), np.ones((5, 3, 2), "float32")
        >>> podium.layers.Dot(axes=(2, 1))([x, y]).shape
        (5, 10, 2)
    """

    _num_inputs = 2

    def __init__(self, axes: int | tuple[int, int], normalize: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        pair = (axes, axes) if isinstance(axes, int) else axes
        if (
            not isinstance(pair, (list, tuple))
            or len(pair) != 2
            or not all(type(axis) is int for axis in pair)
        ):
            error_type = ValueError if isinstance(pair, (list, tuple)) else TypeError
            raise error_type(
                f"Dot was given axes={axes!r}; an int or a pair of ints was expected, "
                "such as axes=(2, 1)."
            )
        if 0 in pair:
            raise ValueError(
                f"Dot was given axes={axes!r}; dimension 0 is the batch and cannot be summed "
                "over. Count from 1."
            )
        self.axes = axes
        self.normalize = normalize

    def _axes_in(self, shapes: Sequence[Any]) -> tuple[int, int]:
        pair = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        for axis, shape in zip(pair, shapes, strict=True):
            if len(shape) < 2 or not -len(shape) < axis < len(shape):
                raise self._shape_error(
                    shapes,
                    f"they have no dimensions axes={self.axes} after the batch. Use other axes.",
                )
        return pair[0] % len(shapes[0]), pair[1] % len(shapes[1])

    def _merge(self, inputs: list[Any], mask: Sequence[Tensor | None] | None) -> Tensor:
        axes = self._axes_in([x.shape for x in inputs])
        if self.normalize:
            inputs = [ops.normalize(x, axis=axis) for x, axis in zip(inputs, axes, strict=True)]
        result: Tensor = dispatch(_merge_functions.batch_dot, *inputs, axes)
        return result

    def compute_output_shape(self, input_shape: Sequence[SymbolicShape]) -> SymbolicShape:
        """Return the shape of the output for a list of two input shapes."""
        first, second = self._input_shapes(input_shape)
        axes = self._axes_in((first, second))
        summed = first[axes[0]], second[axes[1]]
        batch = {size for size in (first[0], second[0]) if size is not None}
        if len(batch) > 1 or (None not in summed and summed[0] != summed[1]):
            raise self._shape_error(
                input_shape,
                f"dimension {axes[0]} of the first and {axes[1]} of the second "
                f"(axes={self.axes}) must have the same size, and so "
                "must the batches. Use other axes, or reshape the inputs.",
            )
        sizes = [
            size
            for shape, summed_axis in zip((first, second), axes, strict=True)
            for axis, size in enumerate(shape)
            if axis not in (0, summed_axis)
        ]
        return (batch.pop() if batch else None, *(sizes or [1]))

    def compute_mask(
        self, inputs: Sequence[Tensor], mask: Sequence[Tensor | None] | None = None
    ) -> None:
        """Return None: the masked axis may be the one that is summed over."""
        return None

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"axes": self.axes, "normalize": self.normalize}


# --- functional interface


def add(inputs: Sequence[Any], **kwargs: Any) -> Tensor | KerasTensor:
    """Add a list of inputs element-wise; functional interface of `Add`.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        Their sum.

    Example:
        >>> podium.layers.add([np.ones((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[2., 2.]], dtype=float32)
    """
    result: Tensor | KerasTensor = Add(**kwargs)(inputs)
    return result


def subtract(inputs: Sequence[Any], **kwargs: Any) -> Tensor | KerasTensor:
    """Subtract the second of two inputs from the first; functional interface of `Subtract`.

    Args:
        inputs: A list of two arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        Their difference.

    Example:
        >>> podium.layers.subtract([np.ones((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[0., 0.]], dtype=float32)
    """
    result: Tensor | KerasTensor = Subtract(**kwargs)(inputs)
    return result


def multiply(inputs: Sequence[Any], **kwargs: Any) -> Tensor | KerasTensor:
    """Multiply a list of inputs element-wise; functional interface of `Multiply`.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        Their product.

    Example:
        >>> x, y = np.full((1, 2), 2, "float32"), np.full((1, 2), 3, "float32")
        >>> podium.layers.multiply([x, y]).numpy()
        array([[6., 6.]], dtype=float32)
    """
    result: Tensor | KerasTensor = Multiply(**kwargs)(inputs)
    return result


def average(inputs: Sequence[Any], **kwargs: Any) -> Tensor | KerasTensor:
    """Average a list of inputs element-wise; functional interface of `Average`.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        Their mean.

    Example:
        >>> podium.layers.average([np.zeros((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[0.5, 0.5]], dtype=float32)
    """
    result: Tensor | KerasTensor = Average(**kwargs)(inputs)
    return result


def maximum(inputs: Sequence[Any], **kwargs: Any) -> Tensor | KerasTensor:
    """Compute the element-wise maximum of inputs; functional interface of `Maximum`.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        The largest values.

    Example:
        >>> podium.layers.maximum([np.zeros((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[1., 1.]], dtype=float32)
    """
    result: Tensor | KerasTensor = Maximum(**kwargs)(inputs)
    return result


def minimum(inputs: Sequence[Any], **kwargs: Any) -> Tensor | KerasTensor:
    """Compute the element-wise minimum of inputs; functional interface of `Minimum`.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        The smallest values.

    Example:
        >>> podium.layers.minimum([np.zeros((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[0., 0.]], dtype=float32)
    """
    result: Tensor | KerasTensor = Minimum(**kwargs)(inputs)
    return result


def concatenate(inputs: Sequence[Any], axis: int = -1, **kwargs: Any) -> Tensor | KerasTensor:
    """Concatenate inputs along an axis; functional interface of `Concatenate`.

    Args:
        inputs: A list of arrays or symbolic values.
        axis: The axis along which to concatenate.
        **kwargs: Arguments of the layer.

    Returns:
        The concatenated value.

    Example:
        >>> x, y = np.zeros((1, 2), "float32"), np.ones((1, 1), "float32")
        >>> podium.layers.concatenate([x, y]).numpy()
        array([[0., 0., 1.]], dtype=float32)
    """
    result: Tensor | KerasTensor = Concatenate(axis=axis, **kwargs)(inputs)
    return result


def dot(
    inputs: Sequence[Any], axes: int | tuple[int, int] = -1, **kwargs: Any
) -> Tensor | KerasTensor:
    """Compute the dot product of two inputs; functional interface of `Dot`.

    Args:
        inputs: A list of two arrays or symbolic values.
        axes: The axis to sum over: an int for both inputs, or a pair.
        **kwargs: Arguments of the layer, such as `normalize`.

    Returns:
        The products.

    Example:
        >>> x = np.ones((1, 3), "float32")
        >>> podium.layers.dot([x, x], axes=1).numpy()
        array([[3.]], dtype=float32)
    """
    result: Tensor | KerasTensor = Dot(axes=axes, **kwargs)(inputs)
    return result
