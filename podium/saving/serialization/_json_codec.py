"""Any plain Python data as strict JSON and back, bit for bit: infinities, tuples, keys that are no
strings, NumPy arrays.

Arrays are set apart under names, for a file of their own. What is not plain data is refused:
nothing is pickled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

_MARK = "__podium__"  # the key of what JSON has no word for


def encoded(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return what JSON can hold, and put the arrays in it into `arrays`.

    Raises:
        TypeError: Something is no plain data.
    """
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {_MARK: "float", "is": repr(value)}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        items = [encoded(item, arrays) for item in value]
        return items if type(value) is list else {_MARK: "tuple", "is": items}
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value) and _MARK not in value:
            return {key: encoded(item, arrays) for key, item in value.items()}
        return {
            _MARK: "dict",
            "is": [[encoded(key, arrays), encoded(item, arrays)] for key, item in value.items()],
        }
    if isinstance(value, (set, frozenset)):
        return {_MARK: "set", "is": [encoded(item, arrays) for item in sorted(value)]}
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        array = np.array(value)
        if array.dtype.kind not in "OSU":
            name = f"{len(arrays):06d}"
            arrays[name] = array
            return {_MARK: "scalar" if isinstance(value, np.generic) else "array", "is": name}
    raise TypeError(f"{value!r} of type {type(value).__name__} is no plain data")


def decoded(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Return what `encoded` was given."""
    if isinstance(value, list):
        return [decoded(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_MARK)
    if kind is None:
        return {key: decoded(item, arrays) for key, item in value.items()}
    inside = value.get("is")
    if kind == "float" and inside in ("inf", "-inf", "nan"):
        return float(inside)
    if kind in ("array", "scalar") and isinstance(inside, str) and inside in arrays:
        return np.array(arrays[inside]) if kind == "array" else arrays[inside][()]
    if isinstance(inside, list):
        if kind == "tuple":
            return tuple(decoded(item, arrays) for item in inside)
        if kind == "set":
            return {decoded(item, arrays) for item in inside}
        if kind == "dict":
            return {decoded(key, arrays): decoded(item, arrays) for key, item in inside}
    raise ValueError(f"holds {kind!r} data that cannot be read")


def is_plain(value: Any) -> bool:
    """Tell whether `encoded` takes a value."""
    try:
        encoded(value, {})
    except (TypeError, ValueError, RecursionError):
        return False
    return True
