"""Encodes plain Python data as strict JSON and decodes it without loss: infinities, tuples, keys of
any type, NumPy arrays.

Arrays are collected under names, to be stored in a file of their own. Other objects are rejected:
nothing is pickled. The text is written and parsed by `_strict_json.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from podium.core.internal import charge_file_budget
from podium.saving.io._array_io import NumpyArray

_MARK = "__podium__"  # marks values that JSON does not have


def encode(value: Any, arrays: dict[str, NumpyArray]) -> Any:
    """Return a value that JSON can represent, and add the arrays in it to `arrays`.

    Raises:
        TypeError: Something is not plain data.
    """
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {_MARK: "float", "is": repr(value)}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        items = [encode(item, arrays) for item in value]
        return items if type(value) is list else {_MARK: "tuple", "is": items}
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value) and _MARK not in value:
            return {key: encode(item, arrays) for key, item in value.items()}
        return {
            _MARK: "dict",
            "is": [[encode(key, arrays), encode(item, arrays)] for key, item in value.items()],
        }
    if isinstance(value, (set, frozenset)):
        return {_MARK: "set", "is": [encode(item, arrays) for item in sorted(value)]}
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        array = np.array(value)
        if array.dtype.kind not in "OSU":
            name = f"{len(arrays):06d}"
            arrays[name] = array
            return {_MARK: "scalar" if isinstance(value, np.generic) else "array", "is": name}
    raise TypeError(f"{value!r} of type {type(value).__name__} is not plain data")


def decode(value: Any, arrays: Mapping[str, NumpyArray]) -> Any:
    """Return the value that `encode` encoded."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_MARK)
    if kind is None:
        return {key: decode(item, arrays) for key, item in value.items()}
    content = value.get("is")
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if kind in ("array", "scalar") and isinstance(content, str) and content in arrays:
        charge_file_budget(
            "bytes",
            arrays[content].nbytes,
            f"uses the array {content[:200]!r} too often for its size",
        )
        return np.array(arrays[content]) if kind == "array" else arrays[content][()]
    if isinstance(content, list):
        if kind == "tuple":
            return tuple(decode(item, arrays) for item in content)
        if kind == "set":
            return {decode(item, arrays) for item in content}
        if kind == "dict":
            return {decode(key, arrays): decode(item, arrays) for key, item in content}
    raise ValueError(f"contains {kind!r} data that cannot be read")


def is_encodable(value: object) -> bool:
    """Return whether `encode` accepts a value."""
    try:
        encode(value, {})
    except (TypeError, ValueError, RecursionError):
        return False
    return True
