"""Arrays at the front door: structures of array-likes checked leaf by leaf, with messages that name the leaf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from podium.core import Tensor
from podium.data._structure import named_leaves, rebuilt
from podium.data._values import as_numpy, check_values, from_numbers, holds_numbers, is_array_like, shortened

_SCALARS = (bool, int, float, complex, np.generic)


def is_arrays(value: Any) -> bool:
    """Tell whether a source is arrays: one array-like, numbers, or a structure that begins with one of those."""
    while isinstance(value, (dict, list, tuple)) and value:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return isinstance(value, (dict, list, tuple, range, str, bytes, *_SCALARS)) or is_array_like(value)


def prepared(value: Any, name: str, keep_tensors: bool = False, optional: bool = True) -> Any:
    """Turn a structure of array-likes into one of NumPy arrays, without copying, or say which leaf cannot be one.

    Args:
        value: Arrays, frames, lists of numbers, and dictionaries, lists and tuples of those.
        name: The argument's name, for messages.
        keep_tensors: Whether JAX arrays and Tensors stay what they are.
        optional: Whether None is accepted, and stays None.
    """
    if value is None:
        if not optional:
            raise ValueError(f"`{name}` is None; an array was expected. Leave out inputs that the model does not have.")
        return None
    if isinstance(value, dict):
        _refuse_empty(value, name)
        return {key: prepared(part, f"{name}[{key!r}]", keep_tensors, optional) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        _refuse_empty(value, name)
        if holds_numbers(value):
            return _with_samples(from_numbers(value, name), name)
        parts = [prepared(part, f"{name}[{place}]", keep_tensors, optional) for place, part in enumerate(value)]
        return rebuilt(value, parts)
    if isinstance(value, range):
        return np.asarray(value)
    if isinstance(value, _SCALARS):
        return _with_samples(np.asarray(value), name)
    if not is_array_like(value):
        raise TypeError(
            f"`{name}` is of type {type(value).__name__}: {shortened(value)}. An array was expected, or a dictionary, list or "
            "tuple of arrays."
        )
    if keep_tensors and isinstance(value, (jax.Array, Tensor)):
        check_values(value, name)
        return _with_samples(value, name)
    return _with_samples(as_numpy(value, name), name)


def check_lengths(parts: Mapping[str, Any], where: str = "", hint: str = "") -> int:
    """Return the number of samples that all arrays share, or name those that differ."""
    lengths = {path: leaf.shape[0] for name, part in parts.items() for path, leaf in named_leaves(part, name) if leaf.ndim}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"`{path}` has {length}" for path, length in lengths.items())
        names = " and ".join(name for name, part in parts.items() if part is not None)
        raise ValueError(
            f"{names} must hold the same number of samples (the length of the first dimension){where}, but {found}. Row i of "
            f"every array belongs to sample i.{hint}"
        )
    return next(iter(lengths.values()), 0)


def _with_samples(array: Any, name: str) -> Any:
    if array.ndim == 0:
        raise ValueError(
            f"`{name}` is the single number {shortened(array[()])} of shape (). An array with at least one dimension, that of "
            f"the samples, was expected: `np.array([{name}])`."
        )
    if array.shape[0] == 0:
        raise ValueError(
            f"`{name}` is empty: its shape is {tuple(array.shape)}, so there are 0 samples. Expect x to be a non-empty array "
            "or dataset."
        )
    return array


def _refuse_empty(value: Any, name: str) -> None:
    if not value:
        raise ValueError(f"`{name}` is empty: {value!r} holds no arrays. Expect x to be a non-empty array or dataset.")
