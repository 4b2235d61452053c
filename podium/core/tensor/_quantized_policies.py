"""Dtype policies of layers whose weights are quantized.

They say how: the mode and its parameters. The layers in `podium/layers` compute with them.
"""

from __future__ import annotations

from podium._typing import Config
from podium.core._errors import unknown_choice
from podium.core._validation import check_choice, check_int
from podium.core.tensor._dtypes import DTypePolicy

QUANTIZATION_MODES = ("int8", "float8", "int4", "gptq", "awq")


class QuantizedDTypePolicy(DTypePolicy):
    """The policy of a layer with weights in "int8".

    Args:
        mode: How weights are quantized: "int8", "float8", "int4", "gptq" or "awq".
        source_name: The name of the policy that the layer had before; by default the global one.

    Example:
        >>> policy = podium.dtype_policies.QuantizedDTypePolicy("int8", "float32")
        >>> policy.name, policy.compute_dtype, policy.quantization_mode
        ('int8_from_float32', 'float32', 'int8')
    """

    def __init__(self, mode: str, source_name: str | None = None):
        if mode not in QUANTIZATION_MODES:
            raise unknown_choice("quantization mode", mode, QUANTIZATION_MODES)
        super().__init__(source_name)
        self._mode, self._source_name = mode, self._name
        self._name = f"{mode}_from_{self._source_name}"
        if mode == "int8" and self._compute_dtype == "float16":
            raise ValueError(
                f"mode='int8' was given with source_name={source_name!r}: products of int8 values "
                "exceed the range of float16. Use 'float32', 'bfloat16' or 'mixed_bfloat16'."
            )

    @property
    def quantization_mode(self) -> str | None:
        """How weights are quantized."""
        return self._mode

    @property
    def source_name(self) -> str:
        """The name of the policy that the layer had before."""
        return self._source_name

    def get_config(self) -> Config:
        """Return the arguments that recreate this policy."""
        return {"mode": self._mode, "source_name": self._source_name}


class QuantizedFloat8DTypePolicy(QuantizedDTypePolicy):
    """The policy of a layer that computes in float8, for training.

    Args:
        mode: "float8".
        source_name: The name of the policy that the layer had before.
        amax_history_length: The number of steps whose largest values determine the scales.

    Example:
        >>> policy = podium.dtype_policies.QuantizedFloat8DTypePolicy("float8", "float32")
        >>> policy.amax_history_length
        1024
    """

    default_amax_history_length = 1024

    def __init__(self, mode: str, source_name: str | None = None, amax_history_length: int = 1024):
        check_choice("mode", mode, ("float8",))
        super().__init__(mode, source_name)
        self._amax_history_length = check_int("amax_history_length", amax_history_length)

    @property
    def amax_history_length(self) -> int:
        """The number of steps whose largest values determine the scales."""
        return self._amax_history_length

    def get_config(self) -> Config:
        """Return the arguments that recreate this policy."""
        return super().get_config() | {"amax_history_length": self._amax_history_length}


class _BlockPolicy(QuantizedDTypePolicy):
    """A policy whose mode has parameters: `algorithm/first/second`."""

    _form = ""

    def __init__(self, mode: str, source_name: str | None = None):
        algorithm, *parameters = mode.split("/")
        expected = self._form.split("/")
        if algorithm != expected[0] or len(parameters) != len(expected) - 1:
            raise ValueError(f"mode={mode!r} was given; the form {self._form!r} was expected.")
        try:
            self._parameters = [int(text) for text in parameters]
        except ValueError:
            raise ValueError(
                f"mode={mode!r} was given; integers were expected: {self._form!r}."
            ) from None
        if self._parameters[-1] < 1 and self._parameters[-1] != -1:
            raise ValueError(
                f"mode={mode!r} was given with {expected[-1]}={self._parameters[-1]}; a positive "
                "int, or -1 for entire columns, was expected."
            )
        super().__init__(algorithm, source_name)
        self.mode = algorithm
        self._full_mode = mode
        self._name = f"{mode}_from_{self._source_name}"

    def get_config(self) -> Config:
        """Return the arguments that recreate this policy."""
        return {"mode": self._full_mode, "source_name": self._source_name}


class Int4DTypePolicy(_BlockPolicy):
    """The policy of a layer with weights in 4 bits, quantized in blocks of rows.

    Args:
        mode: "int4/128" for blocks of 128 rows, "int4/-1" for one scale per column.
        source_name: The name of the policy that the layer had before.

    Example:
        >>> podium.dtype_policies.Int4DTypePolicy("int4/128", "float32").block_size
        128
    """

    _form = "int4/<block_size>"

    @property
    def block_size(self) -> int:
        """The number of rows that share a scale; -1 for all."""
        return self._parameters[0]


class _CalibratedPolicy(_BlockPolicy):
    """A policy of weights that were quantized by calibration on data."""

    _bits: tuple[int, ...] = ()

    def __init__(self, mode: str, source_name: str | None = None):
        super().__init__(mode, source_name)
        check_choice("weight_bits", self.weight_bits, self._bits)

    @property
    def weight_bits(self) -> int:
        """The number of bits of a weight."""
        return self._parameters[0]

    @property
    def group_size(self) -> int:
        """The number of rows that share a scale; -1 for all."""
        return self._parameters[1]


class GPTQDTypePolicy(_CalibratedPolicy):
    """The policy of a layer that GPTQ has quantized. Layers do not compute with it yet.

    Args:
        mode: "gptq/<weight_bits>/<group_size>", such as "gptq/4/128".
        source_name: The name of the policy that the layer had before.

    Example:
        >>> podium.dtype_policies.GPTQDTypePolicy("gptq/4/128", "float32").group_size
        128
    """

    _form = "gptq/<weight_bits>/<group_size>"
    _bits = (2, 3, 4, 8)


class AWQDTypePolicy(_CalibratedPolicy):
    """The policy of a layer that AWQ has quantized. Layers do not compute with it yet.

    Args:
        mode: "awq/4/<group_size>", such as "awq/4/128".
        source_name: The name of the policy that the layer had before.

    Example:
        >>> podium.dtype_policies.AWQDTypePolicy("awq/4/-1", "float32").weight_bits
        4
    """

    _form = "awq/<weight_bits>/<group_size>"
    _bits = (4,)
