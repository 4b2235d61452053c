"""Products in float8: inputs, kernel and the gradient of the outputs are rounded to 8 bits.

Scales follow the largest magnitudes of recent steps. They are variables whose "gradient" is their
new value, which the optimizer assigns (`overwrite_with_gradient`); so a training step updates them,
and a plain call does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes

from podium import ops
from podium.core import (
    QuantizedFloat8DTypePolicy,
    Tensor,
    Variable,
    convert_to_tensor,
    custom_gradient,
)
from podium.layers._layer import Layer
from podium.quantizers import (
    compute_float8_amax_history,
    compute_float8_scale,
    quantize_and_dequantize,
)

_FORWARD, _BACKWARD = "float8_e4m3fn", "float8_e5m2"

_Gradients: TypeAlias = tuple[Tensor, Tensor | None, Tensor | None]
_WithGradient: TypeAlias = tuple[Tensor, Callable[[Tensor], _Gradients]]

FLOAT8_VARIABLES = [
    f"{part}_{kind}"
    for part in ("inputs", "kernel", "outputs_grad")
    for kind in ("scale", "amax_history")
]


def add_float8_variables(layer: Layer) -> dict[str, Variable]:
    """Create the scales and histories of a layer and return them by name."""
    policy = layer.dtype_policy.for_path(layer.name)
    length = getattr(
        policy, "amax_history_length", QuantizedFloat8DTypePolicy.default_amax_history_length
    )
    return {
        name: layer.add_weight(
            name=name,
            shape=() if name.endswith("scale") else (length,),
            initializer="ones" if name.endswith("scale") else "zeros",
            dtype="float32",
            trainable=True,
            autocast=False,
            overwrite_with_gradient=True,
        )
        for name in FLOAT8_VARIABLES
    }


def float8_product(
    layer: Any, product: Callable[[Tensor, Tensor], Tensor], inputs: Tensor, training: bool | None
) -> Tensor:
    """Return the product of inputs and the kernel of a layer, with its variables of float8.

    Args:
        layer: A layer with the attributes of `FLOAT8_VARIABLES`.
        product: Computes the outputs from inputs and kernel.
        inputs: The inputs.
        training: Whether the gradients of the scales are their new values.
    """
    dtype = layer.compute_dtype

    @custom_gradient
    def round_operand(x: Tensor, scale: Tensor, history: Tensor) -> _WithGradient:
        def gradient(upstream: Tensor) -> _Gradients:
            if not training:
                return upstream, None, None
            return upstream, *_new_scale_and_history(x, scale, history, _FORWARD)

        return quantize_and_dequantize(x, scale, _FORWARD, dtype), gradient

    @custom_gradient
    def round_gradient(x: Tensor, scale: Tensor, history: Tensor) -> _WithGradient:
        def gradient(upstream: Tensor) -> _Gradients:
            rounded = quantize_and_dequantize(upstream, scale, _BACKWARD, dtype)
            return rounded, *_new_scale_and_history(upstream, scale, history, _BACKWARD)

        return x, gradient

    outputs = product(
        round_operand(inputs, layer.inputs_scale, layer.inputs_amax_history),
        round_operand(layer._kernel, layer.kernel_scale, layer.kernel_amax_history),
    )
    rounded: Tensor = round_gradient(
        outputs, layer.outputs_grad_scale, layer.outputs_grad_amax_history
    )
    return rounded


def _new_scale_and_history(
    x: Tensor, scale: Tensor, history: Tensor, dtype: str
) -> tuple[Tensor, Tensor]:
    """Return the scale for the next step, and the history with this one."""
    largest = float(ml_dtypes.finfo(dtype).max)
    new_scale = compute_float8_scale(ops.max(history, axis=0), scale, largest)
    return new_scale, compute_float8_amax_history(x, history)


def float8_bias(layer: Any) -> Tensor:
    """Return the bias rounded to bfloat16, which hardware for float8 adds without a conversion."""
    bias: Tensor = convert_to_tensor(layer.bias)
    if layer.compute_dtype != "float32":
        return bias
    return ops.cast(ops.cast(bias, "bfloat16"), "float32")
