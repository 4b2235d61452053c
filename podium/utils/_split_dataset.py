"""Splitting a dataset in two, for example for training and testing."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np

from podium._typing import Tree
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
    dataset: Tree,
    left_size: int | float | None = None,
    right_size: int | float | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    preferred_backend: str | None = None,
) -> tuple[Dataset, Dataset]:
    """Split data into a left and a right part, for example for training and testing.

    All data is read into memory.

    Args:
        dataset: An array; a list, tuple or dictionary of arrays of one length; a Dataset, which is
            unbatched and batched again; or an iterable of samples.
        left_size: Fraction (a float between 0 and 1) or number (an int) of the samples on the left;
            by default all that are not on the right.
        right_size: The same for the right. Samples in neither part are dropped.
        shuffle: Whether to shuffle the samples before the split.
        seed: The seed of the shuffling, with the same order as in Keras; by default set by
            `podium.utils.set_random_seed`.
        preferred_backend: Accepted for Keras's signature; the result is always a pair of Podium
            Datasets.

    Returns:
        Two Datasets. Samples of a list or tuple of arrays are tuples.

    Raises:
        ValueError: A size does not match the data, or a part would be empty.

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
    table = _read_table(Dataset(batched).unbatch() if batched else dataset)
    total = SlicesPipeline(table).size()
    left, right = _num_samples(left_size, right_size, total)
    order = list(range(total))
    if shuffle:
        random.Random(random.randint(0, 10**6) if seed is None else seed).shuffle(order)
    parts = []
    for rows in (order[:left], order[total - right :]):
        selected = np.array(rows) if shuffle else range(rows[0], rows[-1] + 1)
        part = Dataset(
            SlicesPipeline(map_leaves(lambda array, rows=selected: select_rows(array, rows), table))
        )
        parts.append(part.batch(batched.count, batched.drop_remainder) if batched else part)
    return parts[0], parts[1]


def _read_table(dataset: Tree) -> Tree:
    """Return the samples as a structure of arrays with a row for each sample."""
    if isinstance(dataset, Dataset):
        if dataset.cardinality() == INFINITE_CARDINALITY:
            raise ValueError(
                "The dataset is infinite; a finite one was expected. `take(n)` makes it finite."
            )
        return _stack_samples(dataset.pipeline.elements())
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
                "samples. Pass columns as arrays, `[np.array(x), np.array(y)]`, and samples as one "
                "array, `np.array(samples)`, or as tuples."
            )
    if isinstance(dataset, (str, bytes)) or not (
        isinstance(dataset, Iterable) or _is_indexable(dataset)
    ):
        raise TypeError(
            f"dataset is of type {type(dataset).__name__}; an array, a list of arrays, a Dataset "
            "or an iterable of samples was expected."
        )
    samples = (
        dataset if isinstance(dataset, Iterable) else map(dataset.__getitem__, range(len(dataset)))
    )
    return _stack_samples(
        freeze_element(sample, f"sample {index}") for index, sample in enumerate(samples)
    )


def _is_array(value: object) -> bool:
    return isinstance(value, (np.ndarray, Tensor)) or (
        hasattr(value, "__array__") and not isinstance(value, (type, np.generic))
    )


def _is_indexable(dataset: object) -> bool:
    return hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")


def _stack_samples(samples: Iterable[Tree]) -> Tree:
    rows = list(samples)
    if not rows:
        raise ValueError("The dataset is empty; at least two samples were expected.")
    shapes = map_leaves(np.shape, rows[0])
    for index, row in enumerate(rows):
        if structure_key(row) != structure_key(rows[0]):
            raise ValueError(
                f"Sample {index} has the structure {describe_structure(row)}, and the first one "
                f"{describe_structure(rows[0])}; one was expected."
            )
        if (row_shapes := map_leaves(np.shape, row)) != shapes:
            raise ValueError(
                f"Sample {index} has the shape {row_shapes}, and the first one {shapes}; one shape "
                "was expected."
            )
    return map_leaves(lambda *leaves: np.stack(leaves), *rows)


def _check_size(name: str, size: float | None) -> None:
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


def _num_samples(left: float | None, right: float | None, total: int) -> tuple[int, int]:
    """Convert fractions to numbers of samples, rounded as in Keras."""
    sizes = f"left_size={left!r} and right_size={right!r} of {total} samples"
    is_fraction = [isinstance(size, (float, np.floating)) for size in (left, right)]
    if all(is_fraction) and float(left or 0) + float(right or 0) > 1:
        raise ValueError(f"{sizes} were given; their sum must be at most 1.")
    first, second = (
        0 if size is None else round(float(size) * total) if fraction else int(size)
        for size, fraction in zip((left, right), is_fraction, strict=True)
    )
    if all(is_fraction):
        second = min(second, total - first)  # both halves of an odd total are rounded up
    first = total - second if left is None else first
    second = total - first if right is None else second
    if first + second > total:
        raise ValueError(
            f"{sizes} were given, which is {first} + {second}; at most {total} was expected."
        )
    if first <= 0 or second <= 0:
        raise ValueError(
            f"{sizes} were given; {first} would be on the left and {second} on the right; at "
            "least 1 was expected."
        )
    return first, second
