"""TensorFlow's numbers of dtypes (`DataType`), and the names that NumPy and JAX have for them."""

from __future__ import annotations

from podium.saving.io._errors import InvalidFileError

STRING = "string"

_NUMBERS = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    STRING: 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
    "float8_e5m2": 24,
    "float8_e4m3fn": 25,
}
_QUANTIZED = {11: "int8", 12: "uint8", 13: "int32", 15: "int16", 16: "uint16"}  # ints in files
_NAMES = _QUANTIZED | {number: name for name, number in _NUMBERS.items()}


def dtype_name(number: int) -> str:
    """Return the name of a dtype, or raise `InvalidFileError` for one that arrays do not have."""
    if number not in _NAMES:
        raise InvalidFileError(
            f"has a tensor of TensorFlow's dtype number {number}, which is not supported."
        )
    return _NAMES[number]


def dtype_number(name: str) -> int:
    """Return TensorFlow's number of a dtype.

    Raises:
        ValueError: TensorFlow has no such dtype.
    """
    if name not in _NUMBERS:
        raise ValueError(
            f"An array has dtype {name!r}, which TensorFlow's checkpoints do not have. Expected "
            f"one of {', '.join(sorted(_NUMBERS))}. Save to `.weights.h5` or `.safetensors`."
        )
    return _NUMBERS[name]
