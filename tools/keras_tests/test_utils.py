"""What tests import as `keras.src.testing.test_utils`: data and combinations of parameters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

_Data = tuple[np.ndarray, np.ndarray]


def get_test_data(
    train_samples: int,
    test_samples: int,
    input_shape: tuple[int, ...],
    num_classes: int,
    random_seed: int | None = None,
) -> tuple[_Data, _Data]:
    """Return `(x, y)` of two sets whose classes have different means and are equally frequent."""
    generator = np.random.default_rng(random_seed)
    centers = 2 * num_classes * generator.random((num_classes, *input_shape))

    def draw(count: int) -> _Data:
        y = generator.permutation(np.arange(count) % num_classes)
        x = centers[y] + generator.normal(size=(count, *input_shape))
        return x.astype("float32"), y.astype("int64")

    return draw(train_samples), draw(test_samples)


def named_product(*cases: Iterable[dict[str, Any]], **values: Iterable[Any]) -> list[Any]:
    """Return all combinations of named cases, and of values that name themselves.

    Args:
        *cases: Dictionaries with the key "testcase_name" and arguments.
        **values: The values of one argument each.
    """
    named = [
        [{"testcase_name": _name_of(value), key: value} for value in options]
        for key, options in values.items()
    ]
    combinations = []
    # The first argument changes fastest, which tests do not depend on.
    for chosen in itertools.product(*(list(options) for options in (*cases, *named))):
        merged: dict[str, Any] = {}
        for case in chosen:
            merged.update(case)
        names = [str(case["testcase_name"]) for case in chosen]
        merged["testcase_name"] = "_".join(name for name in names if name)
        combinations.append(merged)
    return combinations


def _name_of(value: Any) -> str:
    return str(getattr(value, "__name__", value)).lower()
