"""Layers that make one value of several: Concatenate, Add, Subtract, Multiply, Average, Maximum,
Minimum, Dot.

All take a list. Elementwise layers broadcast as NumPy does, except that a shorter shape gets its
missing dimensions behind the batch. Where every input carries a mask, the output's mask is true
where one of them is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax.numpy as jnp

from podium import ops
from podium.core import KerasTensor, dispatch, promote_dtypes
from podium.layers import _call_context
from podium.layers._layer import Layer
from podium.layers.merging import _merge_arrays

# --- shapes


def _known(length: Any) -> int | None:
    return length if isinstance(length, int) else None


def _broadcast(one: int | None, other: int | None) -> int | None:
    """Return the common length; None if unknown, -1 if there is none."""
    if one is None or other is None:
        return None
    return (
        max(one, other)
        if 1 in (one, other) and 0 not in (one, other)
        else (one if one == other else -1)
    )


def _common_batch(sizes: Sequence[int | None]) -> int | None:
    fixed = {size for size in sizes if size not in (None, 1)}
    if len(fixed) == 1:
        return fixed.pop()
    return -1 if fixed else (None if None in sizes else 1)


class _Merge(Layer):
    """What all merging layers share: a list comes in, shapes are checked at every call, masks are
    joined.
    """

    _function: ClassVar[Callable]
    _count: ClassVar[int | None] = None  # how many inputs it takes, if that is fixed
    _uses_masks: ClassVar[bool] = False

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Check the shapes before anything is computed."""
        self.compute_output_shape(input_shape)

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Compute the output of a list of inputs."""
        if not isinstance(inputs, (list, tuple)):
            raise self._not_a_list(inputs.shape)
        self.compute_output_shape(
            [x.shape for x in inputs]
        )  # says what is wrong if the shapes do not fit
        return self._merged(list(inputs), mask)

    def _merged(self, inputs: list[Any], mask: Any) -> Any:
        masks = list(mask) if self._uses_masks and mask is not None else None
        return dispatch(type(self)._function, inputs, masks)

    def _not_a_list(self, shape: Any) -> ValueError:
        return ValueError(
            f"Layer {self.name!r} ({type(self).__name__}) was called with one input of shape "
            f"{tuple(shape)}; a list of inputs was expected. Call it as `layer([x, y])`."
        )

    def _misfit(self, shapes: Sequence[Any], problem: str) -> ValueError:
        listed = ", ".join(str(tuple(shape)) for shape in shapes)
        return ValueError(
            f"Layer {self.name!r} ({type(self).__name__}) was called with shapes {listed}: "
            f"{problem}"
        )

    def _listed(self, input_shape: Any) -> list[tuple[int | None, ...]]:
        """Return the shapes of a list of inputs, or refuse what is no list or has the wrong
        length.
        """
        if input_shape is None or _call_context.is_shape(input_shape):
            if not input_shape:
                raise self._misfit([], "the list is empty. Give at least one input.")
            raise self._not_a_list(input_shape)
        if self._count is not None and len(input_shape) != self._count:
            raise self._misfit(
                input_shape,
                f"exactly {self._count} inputs were expected, {len(input_shape)} were given.",
            )
        return [tuple(map(_known, shape)) for shape in input_shape]

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the output for a list of input shapes."""
        shapes = self._listed(input_shape)
        rank = max(map(len, shapes))
        if rank and min(map(len, shapes)) == 0:
            raise self._misfit(
                input_shape,
                "a single number and an array cannot be merged. Use `podium.ops` for that.",
            )
        batch = [_common_batch([shape[0] for shape in shapes])] if rank else []
        wide = [(1,) * (rank - len(shape)) + shape[1:] for shape in shapes]
        lengths = [functools.reduce(_broadcast, column) for column in zip(*wide, strict=True)]
        for axis, length in enumerate(batch + lengths):
            if length == -1:
                ranks = set(map(len, shapes))
                widened = (
                    " (after the shorter ones got dimensions of 1 behind the batch)"
                    if len(ranks) > 1
                    else ""
                )
                raise self._misfit(
                    input_shape,
                    f"they differ in dimension {axis}{widened}. Give all inputs the same shape, or "
                    "length 1 where they shall be repeated; to join inputs of different lengths "
                    "use Concatenate.",
                )
        return (*batch, *lengths)

    def _output_dtype(self, dtypes: list[Any]) -> Any:
        return promote_dtypes(jnp.result_type)(*dtypes)

    def compute_output_spec(self, inputs: Any, mask: Any = None) -> KerasTensor:
        """Return what a call on symbolic inputs gives."""
        if not isinstance(inputs, (list, tuple)):
            raise self._not_a_list(inputs.shape)
        shape = self.compute_output_shape([x.shape for x in inputs])
        return KerasTensor(shape, self._output_dtype([x.dtype for x in inputs]))

    def _masks_for(self, inputs: Any, mask: Any) -> list[Any] | None:
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

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return a mask that is true where one of the inputs' masks is; None if one of them has
        none.
        """
        masks = self._masks_for(inputs, mask)
        if masks is None or any(m is None for m in masks):
            return None
        return functools.reduce(ops.logical_or, masks)


class Add(_Merge):
    """Adds inputs, element by element.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Add()([np.ones((2, 3), "float32"), np.ones((2, 3), "float32")]).numpy()[0]
        array([2., 2., 2.], dtype=float32)
    """

    _function = staticmethod(_merge_arrays.folded(jnp.add))


class Subtract(_Merge):
    """Subtracts the second of two inputs from the first.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Subtract()([np.ones((1, 3), "float32"), np.full((1, 3), 3, "float32")]).numpy()
        array([[-2., -2., -2.]], dtype=float32)
    """

    _function = staticmethod(_merge_arrays.folded(jnp.subtract))
    _count = 2


class Multiply(_Merge):
    """Multiplies inputs, element by element. Masked steps count as 1, and as 0 where all inputs are
    masked.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Multiply()([np.full((1, 2), 2, "float32"), np.full((1, 2), 3, "float32")]).numpy()
        array([[6., 6.]], dtype=float32)
    """

    _function = staticmethod(_merge_arrays.product)
    _uses_masks = True


class Average(_Merge):
    """Takes the mean of inputs, element by element.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Average()([np.full((1, 2), 2, "float32"), np.full((1, 2), 3, "float32")]).numpy()
        array([[2.5, 2.5]], dtype=float32)
    """

    _function = staticmethod(_merge_arrays.mean)

    def _output_dtype(self, dtypes: list[Any]) -> Any:
        dtype = super()._output_dtype(dtypes)
        return dtype if jnp.issubdtype(dtype, jnp.floating) else "float32"


class Maximum(_Merge):
    """Keeps the largest of inputs, element by element. A masked step gives way to the other
    inputs'.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Maximum()([np.array([[1.0, 5.0]], "float32"), np.array([[3.0, 2.0]], "float32")]).numpy()
        array([[3., 5.]], dtype=float32)
    """

    _function = staticmethod(_merge_arrays.chosen(jnp.maximum))
    _uses_masks = True


class Minimum(_Merge):
    """Keeps the smallest of inputs, element by element. A masked step gives way to the other
    inputs'.

    Args:
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Minimum()([np.array([[1.0, 5.0]], "float32"), np.array([[3.0, 2.0]], "float32")]).numpy()
        array([[1., 2.]], dtype=float32)
    """

    _function = staticmethod(_merge_arrays.chosen(jnp.minimum))
    _uses_masks = True


class Concatenate(_Merge):
    """Joins inputs along one dimension.

    Args:
        axis: The dimension in which they may differ and are joined.
        **kwargs: `name`, `dtype`, `trainable`.

    Raises:
        ValueError: If the inputs differ in another dimension.

    Example:
        >>> podium.layers.Concatenate()([np.ones((2, 3), "float32"), np.ones((2, 5), "float32")]).shape
        (2, 8)
    """

    def __init__(self, axis: int = -1, **kwargs: Any):
        super().__init__(**kwargs)
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise TypeError(
                f"Concatenate was given axis={axis!r}; a whole number was expected, such as -1 "
                "for the last one."
            )
        self.axis = axis

    def _merged(self, inputs: list[Any], mask: Any) -> Any:
        return dispatch(_merge_arrays.joined, inputs, self.axis)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the output for a list of input shapes."""
        shapes = self._listed(input_shape)
        rank = len(shapes[0])
        if any(len(shape) != rank for shape in shapes):
            raise self._misfit(
                input_shape, "they must have the same number of dimensions. Reshape some of them."
            )
        if not -rank <= self.axis < rank:
            problem = f"axis={self.axis} is none of their {rank} dimensions. Give an axis from {-rank} to {rank - 1}."
            raise self._misfit(input_shape, problem)
        joined = self.axis % rank
        output: list[int | None] = []
        for axis, column in enumerate(zip(*shapes, strict=True)):
            if axis == joined:
                output.append(None if None in column else sum(column))
                continue
            lengths = {length for length in column if length is not None}
            if len(lengths) > 1:
                raise self._misfit(
                    input_shape,
                    f"they may differ only in dimension {joined} (axis={self.axis}), and differ in "
                    f"dimension {axis}. Join along another axis, or crop, pad or reshape the "
                    "inputs.",
                )
            output.append(lengths.pop() if lengths else None)
        return tuple(output)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the joined masks; inputs without one count as true."""
        masks = self._masks_for(inputs, mask)
        if masks is None or all(m is None for m in masks):
            return None
        return dispatch(_merge_arrays.joined_mask, list(inputs), masks, self.axis)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"axis": self.axis}


class Dot(_Merge):
    """Multiplies two inputs and sums over one dimension of each, sample by sample.

    Args:
        axes: The dimension to sum over, in both inputs or as a pair, counted with the batch as 0.
        normalize: Whether to scale to length 1 along that dimension first; the result is then the
            cosine similarity.
        **kwargs: `name`, `dtype`, `trainable`.

    Raises:
        ValueError: If the two dimensions have different lengths.

    Example:
        >>> x, y = np.ones((5, 10, 3), "float32"), np.ones((5, 3, 2), "float32")
        >>> podium.layers.Dot(axes=(2, 1))([x, y]).shape
        (5, 10, 2)
    """

    _count = 2

    def __init__(self, axes: int | tuple[int, int], normalize: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        given = (axes, axes) if isinstance(axes, int) else axes
        if (
            not isinstance(given, (list, tuple))
            or len(given) != 2
            or not all(type(axis) is int for axis in given)
        ):
            kind = ValueError if isinstance(given, (list, tuple)) else TypeError
            raise kind(
                f"Dot was given axes={axes!r}; a whole number or a pair of them was expected, "
                "such as axes=(2, 1)."
            )
        if 0 in given:
            raise ValueError(
                f"Dot was given axes={axes!r}; dimension 0 is the batch and cannot be summed "
                "over. Count from 1."
            )
        self.axes = axes
        self.normalize = normalize

    def _axes_in(self, shapes: Sequence[Any]) -> tuple[int, int]:
        given = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        for axis, shape in zip(given, shapes, strict=True):
            if len(shape) < 2 or not -len(shape) < axis < len(shape):
                raise self._misfit(
                    shapes,
                    f"they have no dimensions axes={self.axes} behind the batch. Give other axes.",
                )
        return given[0] % len(shapes[0]), given[1] % len(shapes[1])

    def _merged(self, inputs: list[Any], mask: Any) -> Any:
        axes = self._axes_in([x.shape for x in inputs])
        if self.normalize:
            inputs = [ops.normalize(x, axis=axis) for x, axis in zip(inputs, axes, strict=True)]
        return dispatch(_merge_arrays.dotted, *inputs, axes)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the output for a list of two input shapes."""
        one, other = self._listed(input_shape)
        axes = self._axes_in((one, other))
        summed = one[axes[0]], other[axes[1]]
        batch = {size for size in (one[0], other[0]) if size is not None}
        if len(batch) > 1 or (None not in summed and summed[0] != summed[1]):
            raise self._misfit(
                input_shape,
                f"dimension {axes[0]} of the first and {axes[1]} of the second "
                f"(axes={self.axes}) must be equally long, and so "
                "must the batches. Give other axes, or reshape the inputs.",
            )
        rest = [
            n
            for shape, gone in zip((one, other), axes, strict=True)
            for i, n in enumerate(shape)
            if i not in (0, gone)
        ]
        return (batch.pop() if batch else None, *(rest or [1]))

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Return None: the masked dimension may be the one that is summed over."""
        return None

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"axes": self.axes, "normalize": self.normalize}


# --- as functions


def add(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Add inputs, element by element; `Add` as a function.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        Their sum.

    Example:
        >>> podium.layers.add([np.ones((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[2., 2.]], dtype=float32)
    """
    return Add(**kwargs)(inputs)


def subtract(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Subtract the second of two inputs from the first; `Subtract` as a function.

    Args:
        inputs: A list of two arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        Their difference.

    Example:
        >>> podium.layers.subtract([np.ones((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[0., 0.]], dtype=float32)
    """
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Multiply inputs, element by element; `Multiply` as a function.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        Their product.

    Example:
        >>> podium.layers.multiply([np.full((1, 2), 2, "float32"), np.full((1, 2), 3, "float32")]).numpy()
        array([[6., 6.]], dtype=float32)
    """
    return Multiply(**kwargs)(inputs)


def average(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Take the mean of inputs, element by element; `Average` as a function.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        Their mean.

    Example:
        >>> podium.layers.average([np.zeros((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[0.5, 0.5]], dtype=float32)
    """
    return Average(**kwargs)(inputs)


def maximum(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Keep the largest of inputs, element by element; `Maximum` as a function.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        The largest values.

    Example:
        >>> podium.layers.maximum([np.zeros((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[1., 1.]], dtype=float32)
    """
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Keep the smallest of inputs, element by element; `Minimum` as a function.

    Args:
        inputs: A list of arrays or symbolic values.
        **kwargs: Arguments of the layer.

    Returns:
        The smallest values.

    Example:
        >>> podium.layers.minimum([np.zeros((1, 2), "float32"), np.ones((1, 2), "float32")]).numpy()
        array([[0., 0.]], dtype=float32)
    """
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Sequence[Any], axis: int = -1, **kwargs: Any) -> Any:
    """Join inputs along one dimension; `Concatenate` as a function.

    Args:
        inputs: A list of arrays or symbolic values.
        axis: The dimension in which they may differ and are joined.
        **kwargs: Arguments of the layer.

    Returns:
        The joined value.

    Example:
        >>> podium.layers.concatenate([np.zeros((1, 2), "float32"), np.ones((1, 1), "float32")]).numpy()
        array([[0., 0., 1.]], dtype=float32)
    """
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Sequence[Any], axes: int | tuple[int, int] = -1, **kwargs: Any) -> Any:
    """Multiply two inputs and sum over one dimension of each, sample by sample; `Dot` as a
    function.

    Args:
        inputs: A list of two arrays or symbolic values.
        axes: The dimension to sum over, in both inputs or as a pair.
        **kwargs: Arguments of the layer, such as `normalize`.

    Returns:
        The products.

    Example:
        >>> podium.layers.dot([np.ones((1, 3), "float32"), np.ones((1, 3), "float32")], axes=1).numpy()
        array([[3.]], dtype=float32)
    """
    return Dot(axes=axes, **kwargs)(inputs)
