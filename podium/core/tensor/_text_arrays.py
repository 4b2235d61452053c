"""Text on the host: NumPy arrays of Python strings. Neither JAX nor a Tensor can hold text.

This file owns which values count as text, and their conversion to one form. What computes with them
is in `podium.layers.preprocessing`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_TEXT_KINDS = "UST"  # NumPy's kinds of strings: of fixed size, bytes, of any size


class StringDType:
    """The dtype of symbolic text. It equals its name, as NumPy's dtypes do."""

    name = "string"
    kind = "T"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StringDType) or (isinstance(other, str) and other == self.name)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return "dtype('string')"

    def __str__(self) -> str:
        return self.name


def is_string_dtype(dtype: object) -> bool:
    """Return whether a dtype, or its name, is that of text."""
    return dtype in ("string", str) or getattr(dtype, "name", None) == "string"


def is_text(value: object) -> bool:
    """Return whether a value is a string, or an array or a nested list that starts with one."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    if isinstance(value, (str, bytes)):
        return True
    if not isinstance(value, (np.ndarray, np.generic)):
        dtype = getattr(value, "dtype", None)  # of a column of a DataFrame, for example
        if dtype is None or not hasattr(value, "__array__") or hasattr(value, "aval"):
            return False
        if getattr(dtype, "kind", "") not in ("O", *_TEXT_KINDS):
            return False
        value = np.asarray(value)
    if value.dtype.kind != "O":
        return value.dtype.kind in _TEXT_KINDS
    return value.size > 0 and isinstance(np.asarray(value).flat[0], (str, bytes))


def as_text_array(
    value: object, argument: str = "value", encoding: str = "utf-8"
) -> np.ndarray[Any, Any]:
    """Return strings, arrays or nested lists of strings as an array of Python strings.

    Args:
        value: The text.
        argument: The name of the argument, for messages.
        encoding: How bytes are decoded. Those that are not valid become surrogates, from which
            `str.encode(errors="surrogateescape")` gets them back.

    Raises:
        TypeError: An item is neither a string nor bytes.
        ValueError: The rows of a nested list have different lengths.
    """
    array = np.asarray(value) if hasattr(value, "__array__") else _array_from_list(value, argument)
    if array.dtype.kind == "U":
        return array.astype(object)
    texts = np.empty(array.shape, dtype=object)
    flat = texts.reshape(-1)
    for index, item in enumerate(array.reshape(-1).tolist()):
        if isinstance(item, bytes):
            item = item.decode(encoding, "surrogateescape")
        elif not isinstance(item, str):
            raise TypeError(
                f"`{argument}` holds {item!r} ({type(item).__name__}); text was expected. Convert "
                "it, for example with `array.astype(str)`, and replace missing values."
            )
        flat[index] = item
    return texts


def _array_from_list(value: object, argument: str) -> np.ndarray[Any, Any]:
    """Return a nested list of strings as an array of objects, which keeps bytes as they are."""
    try:
        shape = np.asarray(value).shape
    except ValueError as error:
        raise ValueError(
            f"`{argument}` is a nested list whose rows have different lengths ({error}). Give rows "
            "of one length, for example one string for each sample."
        ) from error
    array = np.empty(shape, dtype=object)
    array[...] = value
    return array
