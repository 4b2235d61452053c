"""Batches as tuples: `x`, `(x, y)` or `(x, y, sample_weight)`, packed, unpacked, expanded and
split.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from podium.core import dispatch, map_structure
from podium.data._convert_arrays import check_lengths, convert_arrays, is_array_source
from podium.data._structure import describe_structure, map_leaves
from podium.data.columns._named_columns import split_named_columns


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Pack data the way `fit` hands it to `train_step`: x alone, `(x, y)` or `(x, y,
    sample_weight)`.

    Several inputs without targets become `(x,)`, so that the second input is not taken for y.

    Example:
        >>> podium.data.pack_x_y_sample_weight("x", "y")
        ('x', 'y')
        >>> podium.data.pack_x_y_sample_weight("x"), podium.data.pack_x_y_sample_weight(["a", "b"])
        ('x', (['a', 'b'],))
    """
    if y is None:
        return (x,) if isinstance(x, (tuple, list)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(data: Any) -> tuple[Any, Any, Any]:
    """Return `(x, y, sample_weight)` of what `train_step` was given, None for what is missing.

    Example:
        >>> podium.data.unpack_x_y_sample_weight(("x", "y"))
        ('x', 'y', None)
        >>> podium.data.unpack_x_y_sample_weight("x")
        ('x', None, None)
    """
    if not isinstance(data, (tuple, list)):
        return (data, None, None)
    if not 1 <= len(data) <= 3:
        raise ValueError(
            f"A batch with {len(data)} parts was given: {describe_structure(data)}. `x`, "
            "`(x,)`, `(x, y)` or `(x, y, sample_weight)` was expected; put several inputs into a "
            "tuple of their own, `((a, b), y)`."
        )
    x, y, sample_weight = (*data, None, None)[:3]
    return (x, y, sample_weight)


def expand_1d(data: Any) -> Any:
    """Give one-dimensional arrays a second dimension of 1: `(n,)` becomes `(n, 1)`. Others stay as
    they are.

    Example:
        >>> x, y = podium.data.expand_1d((np.ones(3), np.ones((3, 2))))
        >>> x.shape, y.shape
        ((3, 1), (3, 2))
    """

    def expand(leaf: Any) -> Any:
        if leaf is None or len(getattr(leaf, "shape", ())) != 1:
            return leaf
        return (
            leaf[:, None]
            if isinstance(leaf, np.ndarray)
            else dispatch(lambda array: array[:, None], leaf)
        )

    return map_structure(expand, data)


def train_validation_split(arrays: Any, validation_split: float) -> tuple[Any, Any]:
    """Split arrays into a first part to train on and a last part to validate on, in the order in
    which they are.

    Args:
        arrays: A structure of arrays of one length; None stays None. With a table as the first of a
            tuple, the second may name the columns that are the targets. Arrays in files are cut
            without being read.
        validation_split: The fraction that validates, between 0 and 1.

    Returns:
        `(training arrays, validation arrays)`.

    Example:
        >>> train, validation = podium.data.train_validation_split((np.arange(5), None), 0.4)
        >>> train, validation
        ((array([0, 1, 2]), None), (array([3, 4]), None))
    """
    if isinstance(validation_split, bool) or not isinstance(
        validation_split, (int, float, np.number)
    ):
        raise TypeError(
            f"validation_split={validation_split!r} was given; a number between 0 and 1 was "
            "expected."
        )
    if not 0 < validation_split < 1:
        raise ValueError(
            f"validation_split={validation_split!r} was given; a number between 0 and 1 was "
            "expected, such as 0.2."
        )
    parts = arrays if isinstance(arrays, tuple) else (arrays,)
    if 1 < len(parts) <= 3:
        parts = split_named_columns(*parts, *[None] * (3 - len(parts)))[: len(parts)]
    for part in parts:
        if part is not None and not is_array_source(part):
            raise ValueError(
                f"validation_split={validation_split!r} was given with data of type "
                f"{type(part).__name__}. Only arrays can be "
                "split; a generator or dataset cannot. Make two of them and pass the second as "
                "validation_data."
            )
    named = dict(zip(("x", "y", "sample_weight"), parts, strict=False))
    ready = tuple(convert_arrays(part, name, keep_tensors=True) for name, part in named.items())
    total = check_lengths(dict(zip(named, ready, strict=True)))
    at = math.floor(total * (1 - validation_split))
    if at in (0, total):
        raise ValueError(
            f"validation_split={validation_split!r} of {total} samples leaves nothing to "
            f"{'train' if at == 0 else 'validate'} on. Give more data, or another validation_split."
        )
    halves = tuple(
        map_leaves(lambda array, part=part: array[part], ready)
        for part in (slice(0, at), slice(at, total))
    )
    return halves if isinstance(arrays, tuple) else (halves[0][0], halves[1][0])
