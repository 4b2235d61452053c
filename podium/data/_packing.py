"""Packs, unpacks, expands and splits batches: `x`, `(x, y)` or `(x, y, sample_weight)`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from podium._typing import Tree
from podium.core import dispatch, map_structure
from podium.data._convert_arrays import check_lengths, convert_arrays, is_array_source
from podium.data._structure import PART_NAMES, describe_structure, map_leaves
from podium.data.columns._named_columns import split_named_columns


def pack_x_y_sample_weight(x: Tree, y: Tree = None, sample_weight: Tree = None) -> Tree:
    """Pack data as `fit` passes them to `train_step`: x alone, `(x, y)` or `(x, y,
    sample_weight)`.

    Several inputs without targets become `(x,)`, so that the second input is not mistaken for y.

    Example:
        >>> podium.data.pack_x_y_sample_weight("x", "y")
        ('x', 'y')
        >>> podium.data.pack_x_y_sample_weight("x"), podium.data.pack_x_y_sample_weight(["a", "b"])
        ('x', (['a', 'b'],))
    """
    if y is None:
        return (x,) if isinstance(x, (tuple, list)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(data: Tree) -> tuple[Tree, Tree, Tree]:
    """Return `(x, y, sample_weight)` of the argument of `train_step`, None for what is missing.

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


def expand_1d(data: Tree) -> Tree:
    """Add a second dimension of size 1 to one-dimensional arrays: `(n,)` becomes `(n, 1)`. Other
    arrays are returned as they are.

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


def train_validation_split(arrays: Tree, validation_split: float) -> tuple[Tree, Tree]:
    """Split arrays into a first part to train on and a last part to validate on, without
    shuffling.

    Args:
        arrays: A structure of arrays of one length; None stays None. With a table as the first of a
            tuple, the second may name the columns that are the targets. Arrays in files are split
            without being read.
        validation_split: The fraction to validate on, between 0 and 1.

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
    named = dict(zip(PART_NAMES, parts, strict=False))
    converted = tuple(convert_arrays(part, name, keep_tensors=True) for name, part in named.items())
    total = check_lengths(dict(zip(named, converted, strict=True)))
    split = math.floor(total * (1 - validation_split))
    if split in (0, total):
        raise ValueError(
            f"validation_split={validation_split!r} of {total} samples leaves nothing to "
            f"{'train' if split == 0 else 'validate'} on. Give more data, or another "
            "validation_split."
        )
    train = map_leaves(lambda array: array[:split], converted)
    validation = map_leaves(lambda array: array[split:total], converted)
    return (train, validation) if isinstance(arrays, tuple) else (train[0], validation[0])
