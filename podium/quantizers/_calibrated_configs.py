"""GPTQConfig and AWQConfig: quantization of weights that is calibrated on data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium._typing import Config
from podium.core import check_choice
from podium.core.internal import check_fraction, check_int
from podium.quantizers._quantization_config import QuantizationConfig
from podium.quantizers._quantizer import quantizer_registry


class _CalibratedConfig(QuantizationConfig):
    """What both configs share: the data, and how its values are grouped."""

    _saved: tuple[str, ...] = ()

    def __init__(
        self,
        dataset: Iterable[Any] | None,
        tokenizer: Any,
        weight_bits: int,
        num_samples: int,
        sequence_length: int,
        group_size: int,
        quantization_layer_structure: dict[str, Any] | None,
    ):
        super().__init__()
        self.dataset = dataset
        self.tokenizer = tokenizer
        self.weight_bits = weight_bits
        self.num_samples = self._check_positive("num_samples", num_samples)
        self.sequence_length = self._check_positive("sequence_length", sequence_length)
        if group_size != -1:
            self._check_positive("group_size", group_size)
        self.group_size = group_size
        self.quantization_layer_structure = quantization_layer_structure

    def _check_positive(self, name: str, value: int) -> int:
        return check_int(name, value, owner=self, type_error=ValueError)

    def get_config(self) -> Config:
        """Return the arguments that recreate this config, without the data of the calibration."""
        saved = {name: getattr(self, name) for name in self._saved}
        return {"dataset": None, "tokenizer": None, **saved}

    def dtype_policy_string(self) -> str:
        """Return the beginning of the names of dtype policies, such as "gptq/4/128"."""
        return f"{self.mode}/{self.weight_bits}/{self.group_size}"


@quantizer_registry.add_class
class GPTQConfig(_CalibratedConfig):
    """GPTQ: weights are rounded one after another, and later ones make up for the errors of earlier
    ones in the outputs for calibration data. The config can be created and saved; Podium's layers
    and models raise for it, since they have no calibration.

    Args:
        dataset: Texts or arrays of token ids for the calibration.
        tokenizer: An object whose `tokenize(text)` returns token ids.
        weight_bits: The number of bits of a weight: 2, 3, 4 or 8.
        num_samples: The number of sequences of the calibration.
        per_channel: Whether each output has a scale of its own.
        sequence_length: The length of these sequences.
        hessian_damping: What is added to the diagonal of the Hessian, relative to its mean.
        group_size: The number of inputs that share a scale; -1 for all.
        symmetric: Whether the range of values is centered at zero.
        activation_order: Whether inputs of large values are rounded first.
        quantization_layer_structure: A dictionary with "pre_block_layers", the layers that are
            called before the first block, and "sequential_blocks", the blocks; by default what the
            model's `get_quantization_layer_structure` returns.

    Example:
        >>> config = podium.quantizers.GPTQConfig([[1, 2]], None, group_size=64)
        >>> config.mode, config.dtype_policy_string()
        ('gptq', 'gptq/4/64')
    """

    _saved = (
        "weight_bits",
        "num_samples",
        "per_channel",
        "sequence_length",
        "hessian_damping",
        "group_size",
        "symmetric",
        "activation_order",
        "quantization_layer_structure",
    )

    def __init__(
        self,
        dataset: Iterable[Any] | None,
        tokenizer: Any,
        *,
        weight_bits: int = 4,
        num_samples: int = 128,
        per_channel: bool = True,
        sequence_length: int = 512,
        hessian_damping: float = 0.01,
        group_size: int = 128,
        symmetric: bool = False,
        activation_order: bool = False,
        quantization_layer_structure: dict[str, Any] | None = None,
    ):
        check_choice("weight_bits", weight_bits, (2, 3, 4, 8))
        super().__init__(
            dataset,
            tokenizer,
            weight_bits,
            num_samples,
            sequence_length,
            group_size,
            quantization_layer_structure,
        )
        self.per_channel = per_channel
        self.hessian_damping = check_fraction("hessian_damping", hessian_damping, owner=self)
        self.symmetric = symmetric
        self.activation_order = activation_order

    @property
    def mode(self) -> str:
        """ "gptq"."""
        return "gptq"


@quantizer_registry.add_class
class AWQConfig(_CalibratedConfig):
    """AWQ: inputs that are large for calibration data are scaled before their weights are rounded,
    so that these lose less. The config can be created and saved; Podium's layers and models raise
    for it, since they have no calibration.

    Args:
        dataset: Texts or arrays of token ids for the calibration.
        tokenizer: An object whose `tokenize(text)` returns token ids.
        weight_bits: The number of bits of a weight: 4.
        num_samples: The number of sequences of the calibration.
        sequence_length: The length of these sequences.
        group_size: The number of inputs that share a scale; -1 for all.
        num_grid_points: How many strengths of the scaling are compared.
        quantization_layer_structure: As for `GPTQConfig`.

    Example:
        >>> podium.quantizers.AWQConfig(None, None, group_size=-1).dtype_policy_string()
        'awq/4/-1'
    """

    _saved = (
        "weight_bits",
        "num_samples",
        "sequence_length",
        "group_size",
        "num_grid_points",
        "quantization_layer_structure",
    )

    def __init__(
        self,
        dataset: Iterable[Any] | None,
        tokenizer: Any,
        *,
        weight_bits: int = 4,
        num_samples: int = 128,
        sequence_length: int = 512,
        group_size: int = 128,
        num_grid_points: int = 20,
        quantization_layer_structure: dict[str, Any] | None = None,
    ):
        check_choice("weight_bits", weight_bits, (4,))
        super().__init__(
            dataset,
            tokenizer,
            weight_bits,
            num_samples,
            sequence_length,
            group_size,
            quantization_layer_structure,
        )
        self.num_grid_points = self._check_positive("num_grid_points", num_grid_points)

    @property
    def mode(self) -> str:
        """ "awq"."""
        return "awq"
