"""Splitting data in two, such as for training and for testing."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np

from podium.core import Tensor
from podium.data import INFINITE_CARDINALITY, Dataset
from podium.data.internal import (
    BatchPipeline,
    SlicesPipeline,
    as_table,
    describe_structure,
    freeze_element,
    map_leaves,
    select_rows,
    structure_key,
)


def split_dataset(
    dataset: Any,
    left_size: int | float | None = None,
    right_size: int | float | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    preferred_backend: str | None = None,
) -> tuple[Dataset, Dataset]:
    """Split data into a left and a right part, such as for training and for testing. All of it is
    read into memory.

    Args:
        dataset: An array; a list, tuple or dictionary of arrays of one length; a Dataset, of which
            batches are taken apart and put together again; or anything that can be iterated and
            gives samples.
        left_size: Fraction (a float between 0 and 1) or number (an int) of the samples on the left;
            by default all that are not on the right.
        right_size: The same for the right. What is in neither part is left out.
        shuffle: Whether to mix the samples before.
        seed: Fixes the order, which is then Keras's. By default `podium.utils.set_random_seed`
            does.
        preferred_backend: Accepted for Keras's signature; the result is always a pair of Podium
            Datasets.

    Returns:
        Two Datasets. Samples of a list or tuple of arrays are tuples.

    Raises:
        ValueError: A size does not fit the data, or a part would be empty.

    Example:
        >>> left, right = podium.utils.split_dataset(np.arange(10.0), left_size=0.8)
        >>> len(left), [float(x) for x in right]
        (8, [8.0, 9.0])
    """
    if left_size is None and right_size is None:
        raise ValueError(
            "left_size=None and right_size=None were given; at least one of them was expected: "
            "left_size=0.8."
        )
    _check_size("left_size", left_size)
    _check_size("right_size", right_size)
    batched = (
        dataset.pipeline
        if isinstance(dataset, Dataset) and isinstance(dataset.pipeline, BatchPipeline)
        else None
    )
    table = _table(Dataset(batched).unbatch() if batched else dataset)
    total = SlicesPipeline(table).size()
    left, right = _sizes(left_size, right_size, total)
    order = list(range(total))
    if shuffle:
        random.Random(random.randint(0, 10**6) if seed is None else seed).shuffle(order)
    parts = []
    for rows in (order[:left], order[total - right :]):
        taken = np.array(rows) if shuffle else range(rows[0], rows[-1] + 1)
        part = Dataset(
            SlicesPipeline(map_leaves(lambda array, taken=taken: select_rows(array, taken), table))
        )
        parts.append(part.batch(batched.count, batched.drop_remainder) if batched else part)
    return parts[0], parts[1]


def _table(dataset: Any) -> Any:
    """Return the samples as a structure of arrays with a row for each."""
    if isinstance(dataset, Dataset):
        if dataset.cardinality() == INFINITE_CARDINALITY:
            raise ValueError(
                "The dataset is infinite, so it has no parts. `take(n)` makes it finite."
            )
        return _stacked(dataset.pipeline.elements())
    if _is_array(dataset):
        return as_table(dataset)
    if isinstance(dataset, dict):
        return as_table({key: np.asarray(value) for key, value in dataset.items()})
    if isinstance(dataset, (list, tuple)) and dataset:
        if all(_is_array(part) for part in dataset):
            return as_table(tuple(dataset))
        if any(isinstance(part, list) for part in dataset):
            raise TypeError(
                f"dataset is a {type(dataset).__name__} of lists, which could be columns or "
                "samples. Give columns as arrays, `[np.array(x), np.array(y)]`, and samples as one "
                "array, `np.array(samples)`, or as tuples."
            )
    if isinstance(dataset, (str, bytes)) or not (
        isinstance(dataset, Iterable) or _is_numbered(dataset)
    ):
        raise TypeError(
            f"dataset is of type {type(dataset).__name__}; an array, a list of arrays, a Dataset "
            "or an iterable of samples was expected."
        )
    samples = (
        dataset if isinstance(dataset, Iterable) else map(dataset.__getitem__, range(len(dataset)))
    )
    return _stacked(
        freeze_element(sample, f"sample {number}") for number, sample in enumerate(samples)
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, Tensor)) or (
        hasattr(value, "__array__") and not isinstance(value, (type, np.generic))
    )


def _is_numbered(dataset: Any) -> bool:
    return hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")


def _stacked(samples: Iterable) -> Any:
    rows = list(samples)
    if not rows:
        raise ValueError("The dataset is empty; at least two samples were expected.")
    shapes = map_leaves(np.shape, rows[0])
    for number, row in enumerate(rows):
        if structure_key(row) != structure_key(rows[0]):
            raise ValueError(
                f"Sample {number} has the structure {describe_structure(row)}, and the first one "
                f"{describe_structure(rows[0])}; one was expected."
            )
        if (found := map_leaves(np.shape, row)) != shapes:
            raise ValueError(
                f"Sample {number} has the shape {found}, and the first one {shapes}; one shape "
                "was expected."
            )
    return map_leaves(lambda *leaves: np.stack(leaves), *rows)


def _check_size(name: str, size: Any) -> None:
    if size is None:
        return
    if isinstance(size, (bool, np.bool_)) or not isinstance(
        size, (int, float, np.integer, np.floating)
    ):
        raise TypeError(
            f"{name}={size!r} was given ({type(size).__name__}); a fraction (float) or a number "
            "of samples (int) was expected."
        )
    if isinstance(size, (float, np.floating)) and not 0 < size < 1:
        raise ValueError(
            f"{name}={size!r} was given; a fraction between 0 and 1 was expected, or a number of "
            "samples as an int."
        )
    if size <= 0:
        raise ValueError(f"{name}={size!r} was given; a positive number of samples was expected.")


def _sizes(left: Any, right: Any, total: int) -> tuple[int, int]:
    """Turn fractions into numbers of samples, rounded as Keras does."""
    given = f"left_size={left!r} and right_size={right!r} of {total} samples"
    fractions = [isinstance(size, (float, np.floating)) for size in (left, right)]
    if all(fractions) and left + right > 1:
        raise ValueError(f"{given} were given; their sum must be at most 1.")
    first, second = (
        0 if size is None else round(float(size) * total) if fraction else int(size)
        for size, fraction in zip((left, right), fractions, strict=True)
    )
    if all(fractions):
        second = min(second, total - first)  # halves of an odd number would both be rounded up
    first = total - second if left is None else first
    second = total - first if right is None else second
    if first + second > total:
        raise ValueError(
            f"{given} were given, which is {first} + {second}; at most {total} was expected."
        )
    if first <= 0 or second <= 0:
        raise ValueError(
            f"{given} were given; {first} would be on the left and {second} on the right; at "
            "least 1 was expected."
        )
    return first, second
