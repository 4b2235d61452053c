"""Around `Layer.quantize`: the resolution of its arguments, the conditions, and the errors.

What a layer does to its weights is decided by its class; see `core/_quantizable_layer.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from podium.core import unknown_choice
from podium.core.internal import QUANTIZATION_MODES, layer_name_scope
from podium.layers._weight_changes import report_weight_change
from podium.quantizers import (
    AWQConfig,
    Float8QuantizationConfig,
    GPTQConfig,
    Int4QuantizationConfig,
    Int8QuantizationConfig,
    QuantizationConfig,
)

if TYPE_CHECKING:
    from podium.layers._layer import Layer

_DEFAULT_CONFIGS: dict[str, type[QuantizationConfig]] = {
    "int8": Int8QuantizationConfig,
    "int4": Int4QuantizationConfig,
    "float8": Float8QuantizationConfig,
}
_CALIBRATED = {"gptq": GPTQConfig, "awq": AWQConfig}

# Modes that need data, which layers do not support.
CALIBRATED_MODES = tuple(_CALIBRATED)


def record_quantize(quantize: Callable[..., None]) -> Callable[..., None]:
    """Wrap a `quantize` method so that its arguments are resolved, and models notice the change."""

    @functools.wraps(quantize)
    def quantize_and_record(
        self: Layer, mode: Any = None, config: Any = None, **kwargs: Any
    ) -> None:
        if self._is_quantizing:  # a `quantize` calls that of its base class
            quantize(self, mode=mode, config=config, **kwargs)
            return
        resolved = resolve_config(mode, config)
        _check_can_quantize(self, resolved.mode)
        self._is_quantizing = True
        try:
            with layer_name_scope(self._name):
                quantize(self, mode=resolved.mode, config=resolved, **kwargs)
        finally:
            self._is_quantizing = False
        report_weight_change(self)

    return quantize_and_record


def resolve_config(mode: object, config: object) -> QuantizationConfig:
    """Return the config that the arguments of `quantize` mean.

    Args:
        mode: A mode such as "int8", or None if `config` has it.
        config: A config, a mode, or None for the default config of the mode.
    """
    if isinstance(config, str):
        mode, config = config, None
    if mode is not None and mode not in QUANTIZATION_MODES:
        raise unknown_choice("quantization mode", str(mode), QUANTIZATION_MODES)
    if config is None:
        if mode is None:
            raise ValueError(
                "quantize was called without arguments. You must provide either `mode` or "
                "`config`: `quantize('int8')`."
            )
        if mode in _CALIBRATED:
            name = _CALIBRATED[str(mode)].__name__
            raise ValueError(
                f"quantize was given mode={mode!r} without a config, which has the data for the "
                f"calibration. Pass `config=keras.quantizers.{name}(dataset, tokenizer)`."
            )
        return _DEFAULT_CONFIGS[str(mode)]()
    if not isinstance(config, QuantizationConfig):
        raise ValueError(
            f"quantize was given config={config!r}. Argument `config` must be an instance of "
            "`QuantizationConfig`, such as `keras.quantizers.Int8QuantizationConfig()`."
        )
    if mode is not None and mode != config.mode:
        raise ValueError(
            f"quantize was given mode={mode!r} and a config with mode={config.mode!r}. "
            "Contradictory arguments: leave `mode` out."
        )
    if config.mode not in QUANTIZATION_MODES:
        raise unknown_choice("quantization mode", config.mode, QUANTIZATION_MODES)
    expected = _CALIBRATED.get(config.mode)
    if expected is not None and not isinstance(config, expected):
        raise ValueError(
            f"quantize was given a config with mode={config.mode!r} of type "
            f"{type(config).__name__}; a `{expected.__name__}` was expected."
        )
    return config


def _check_can_quantize(layer: Layer, mode: str) -> None:
    label = f"Layer {layer.name!r} ({type(layer).__name__})"
    if not layer.built:
        raise ValueError(
            f"Cannot quantize a layer that isn't yet built: {label} has no weights. Call it on "
            "data first, or `build(input_shape)`."
        )
    if layer._is_quantized:
        raise ValueError(
            f"{label} is already quantized with dtype_policy={layer.dtype_policy.name!r}, and "
            f"quantize was given mode={mode!r}. Quantize the layer with its float weights."
        )
    if mode == "int8" and layer.compute_dtype == "float16":
        raise ValueError(
            f"{label} computes in float16, whose range products of int8 values exceed: "
            "mode='int8' doesn't work well with compute_dtype='float16'. Use 'float32', "
            "'bfloat16' or 'mixed_bfloat16'."
        )


def calibration_error(owner: Layer, mode: str) -> NotImplementedError:
    """Return the error for modes whose calibration does not exist in Podium."""
    algorithm = mode.upper()
    return NotImplementedError(
        f"{type(owner).__name__} {owner.name!r} was given the quantization mode {mode!r}. Podium "
        f"has no {algorithm}: it rounds weights one block of a model after another, by what the "
        "blocks compute for calibration data. Use `quantize('int4')`, which needs no data and "
        "takes as little memory."
    )


def missing_method_error(layer: Layer, method: str) -> NotImplementedError:
    """Return the error for a layer that cannot be quantized."""
    return NotImplementedError(
        f"Layer {type(layer).__name__} does not have a `{method}` method implemented: "
        f"{layer.name!r} cannot be quantized. Dense, EinsumDense, Embedding and "
        "ReversibleEmbedding can; a class of your own needs `quantize`, `quantized_build` and "
        "`quantized_call`."
    )
