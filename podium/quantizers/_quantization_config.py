"""QuantizationConfig and its subclasses: what `quantize` does with the weights of a layer.

Configs of modes that need data for calibration are in `_calibrated_configs.py`.
"""

from __future__ import annotations

from typing import Any, Self

from podium._typing import Config
from podium.core.internal import PublicRepr
from podium.quantizers._quantizer import AbsMaxQuantizer, quantizer_registry


@quantizer_registry.add_class
class QuantizationConfig(PublicRepr):
    """The base class of what `quantize(config=...)` takes.

    Args:
        weight_quantizer: The quantizer of weights; None for that of the layer.
        activation_quantizer: The quantizer of inputs; None to leave them as they are.

    Example:
        >>> config = podium.quantizers.Int8QuantizationConfig(activation_quantizer=None)
        >>> config.mode, config.activation_quantizer
        ('int8', None)
    """

    def __init__(self, weight_quantizer: Any = None, activation_quantizer: Any = None):
        self.weight_quantizer = weight_quantizer
        self.activation_quantizer = activation_quantizer

    @property
    def mode(self) -> str:
        """The quantization mode, such as "int8"."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `mode`. Use a subclass, such as "
            "`Int8QuantizationConfig`, or define the property."
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this config."""
        return {
            "weight_quantizer": quantizer_registry.serialize(self.weight_quantizer),
            "activation_quantizer": quantizer_registry.serialize(self.activation_quantizer),
        }

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create a config from the result of `get_config`."""
        from_config = {
            key: quantizer_registry.get(value) if key.endswith("_quantizer") else value
            for key, value in config.items()
        }
        return cls(**from_config)


@quantizer_registry.add_class
class Int8QuantizationConfig(QuantizationConfig):
    """Weights of 8 bits, with one scale for each output; inputs are quantized in every call.

    Args:
        weight_quantizer: The quantizer of weights; by default that of the layer, with one scale for
            each column.
        activation_quantizer: The quantizer of inputs, by default with one scale for each sample;
            None to compute with float inputs.

    Example:
        >>> podium.quantizers.Int8QuantizationConfig().activation_quantizer.value_range
        (-127, 127)
    """

    def __init__(self, weight_quantizer: Any = None, activation_quantizer: Any = "default"):
        if activation_quantizer == "default":
            activation_quantizer = AbsMaxQuantizer()
        super().__init__(weight_quantizer, activation_quantizer)
        _check_output_dtype(self)

    @property
    def mode(self) -> str:
        """ "int8"."""
        return "int8"


@quantizer_registry.add_class
class Int4QuantizationConfig(QuantizationConfig):
    """Weights of 4 bits, two in a byte; inputs stay floats.

    Args:
        weight_quantizer: The quantizer of weights, of `value_range=(-8, 7)`; only without blocks.
        activation_quantizer: The quantizer of inputs; only without blocks. By default none.
        block_size: The number of rows that share a scale and a zero point; None or -1 for one scale
            for each column, without zero points.

    Example:
        >>> podium.quantizers.Int4QuantizationConfig(block_size=64).get_config()["block_size"]
        64
    """

    def __init__(
        self,
        weight_quantizer: Any = None,
        activation_quantizer: Any = "default",
        block_size: int | None = 128,
    ):
        if activation_quantizer == "default":
            activation_quantizer = None
        super().__init__(weight_quantizer, activation_quantizer)
        has_blocks = block_size is not None and block_size != -1
        if has_blocks:
            if not isinstance(block_size, int) or block_size < 1:
                raise ValueError(
                    f"Int4QuantizationConfig was given block_size={block_size!r}; block_size must "
                    "be None, -1, or a positive integer."
                )
            if weight_quantizer is not None or activation_quantizer is not None:
                raise ValueError(
                    f"Int4QuantizationConfig was given a quantizer and block_size={block_size}: "
                    "sub-channel quantization, in blocks, does not support custom quantizers. Pass "
                    "`block_size=None`, or no quantizer."
                )
        self.block_size = block_size
        if weight_quantizer is not None and tuple(weight_quantizer.value_range) != (-8, 7):
            raise ValueError(
                "Int4QuantizationConfig was given a weight_quantizer with value_range="
                f"{weight_quantizer.value_range}; value_range=(-8, 7) was expected."
            )
        _check_output_dtype(self)

    @property
    def mode(self) -> str:
        """ "int4"."""
        return "int4"

    def get_config(self) -> Config:
        """Return the arguments that recreate this config."""
        return super().get_config() | {"block_size": self.block_size}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create a config from the result of `get_config`; older ones have no blocks."""
        return super().from_config({"block_size": None, **config})


@quantizer_registry.add_class
class Float8QuantizationConfig(QuantizationConfig):
    """Training in float8: inputs, kernels and gradients are rounded to 8 bits in products.

    Example:
        >>> podium.quantizers.Float8QuantizationConfig().mode
        'float8'
    """

    def __init__(self) -> None:
        super().__init__(None, None)

    @property
    def mode(self) -> str:
        """ "float8"."""
        return "float8"

    def get_config(self) -> Config:
        """Return the arguments that recreate this config: none."""
        return {}


def _check_output_dtype(config: QuantizationConfig) -> None:
    quantizer = config.weight_quantizer
    if quantizer is not None and quantizer.output_dtype != "int8":
        raise ValueError(
            f"{type(config).__name__} was given a weight_quantizer with output_dtype="
            f"{quantizer.output_dtype!r}; output_dtype='int8' was expected."
        )
