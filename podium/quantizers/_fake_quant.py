"""`fake_quant_with_min_max_vars`: rounding to a grid, to train for quantization."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor, Variable, convert_to_tensor, custom_gradient, is_symbolic
from podium.core.internal import check_int


def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min_vals: TensorLike,
    max_vals: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Round values to the grid of a quantized range, and keep them as floats.

    The range is moved slightly so that zero is on the grid. Gradients flow through values inside of
    the range; those of values outside flow to its ends, which can be trained.

    Args:
        inputs: The values.
        min_vals: The smallest value of the range; one for each channel if `axis` is an int.
        max_vals: The largest value of the range.
        num_bits: The number of bits of a quantized value.
        narrow_range: Whether the grid has `2 ** num_bits - 1` values instead of `2 ** num_bits`.
        axis: The axis of the channels; None for one range.

    Example:
        >>> x = np.array([-1.0, 0.3, 0.8, 2.0], "float32")
        >>> podium.quantizers.fake_quant_with_min_max_vars(x, 0.0, 1.0, num_bits=2).numpy()
        array([0.        , 0.33333334, 0.6666667 , 1.        ], dtype=float32)
    """
    num_bits = check_int("num_bits", num_bits, type_error=ValueError)
    values, *ends = map(_as_differentiable, (inputs, min_vals, max_vals))
    if axis is not None and axis < 0:
        axis += len(values.shape)
    smallest, largest = int(narrow_range), 2**num_bits - 1

    @custom_gradient
    def fake_quantize(
        x: Tensor, low: Tensor, high: Tensor
    ) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
        low_end, high_end, scale, inverse = _nudge(low, high, smallest, largest, axis, len(x.shape))
        zero = ops.floor(ops.add(ops.multiply(ops.negative(low_end), inverse), 0.5))
        shifted = ops.subtract(ops.clip(ops.cast(x, low_end.dtype), low_end, high_end), low_end)
        steps = ops.floor(ops.add(ops.subtract(ops.multiply(shifted, inverse), zero), 0.5))
        result = ops.cast(ops.multiply(steps, scale), x.dtype)

        def gradient(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            axes = None if axis is None else [i for i in range(len(x.shape)) if i != axis]

            def sum_where(mask: Tensor, end: Tensor) -> Tensor:
                total = ops.sum(ops.where(mask, upstream, 0.0), axis=axes)
                return ops.cast(ops.reshape(total, end.shape), end.dtype)

            inside = ops.logical_and(ops.greater_equal(x, low_end), ops.less_equal(x, high_end))
            return (
                ops.cast(ops.where(inside, upstream, 0.0), x.dtype),
                sum_where(ops.less_equal(x, low_end), low),
                sum_where(ops.greater_equal(x, high_end), high),
            )

        return result, gradient

    return fake_quantize(values, *ends)


def _as_differentiable(value: TensorLike) -> Tensor:
    """Return a value as a Tensor. Variables keep their gradients, symbolic values are kept."""
    if is_symbolic(value) or isinstance(value, Variable):
        return cast(Tensor, value)
    return convert_to_tensor(value)


def _nudge(
    low: Tensor, high: Tensor, smallest: int, largest: int, axis: int | None, ndim: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return a range with zero on its grid, the size of a step of the grid, and its inverse."""
    shape = None if axis is None else [-1 if i == axis else 1 for i in range(ndim)]
    low, high = (
        end if shape is None or not end.shape else ops.reshape(end, shape)
        for end in (ops.cast(low, "float32"), ops.cast(high, "float32"))
    )
    steps, size = largest - smallest, ops.subtract(high, low)
    scale, inverse = ops.divide(size, steps), ops.divide(steps, size)
    zero = ops.round(ops.clip(ops.subtract(smallest, ops.divide(low, scale)), smallest, largest))
    return (
        ops.multiply(ops.subtract(smallest, zero), scale),
        ops.multiply(ops.subtract(largest, zero), scale),
        scale,
        inverse,
    )
