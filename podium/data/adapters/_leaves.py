"""Leaves of batches from other libraries: owned, and copied only where somebody else could change
them.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium.core import Tensor, Variable
from podium.data._checks import arriving_dtype
from podium.data._values import as_numpy, owned
from podium.data.columns._kinds import is_array_like
from podium.data.columns._origin import is_a


def own_leaf(value: Any, name: str, fresh: bool) -> Any:
    """Return one leaf of a batch, of whatever library, as an array that nobody else can change.

    Args:
        value: An array, a tensor or a number.
        name: What it is, for messages.
        fresh: Whether it was made for this batch, and nobody else holds it: it need not be copied.
    """
    fresh = fresh or is_a(value, "tensorflow", "EagerTensor")  # which nobody can change
    if not fresh or isinstance(value, (jax.Array, Tensor, Variable)) or not is_array_like(value):
        return owned(value, name)
    array = as_numpy(value, name)
    with np.errstate(
        over="ignore"
    ):  # a float64 beyond float32 becomes inf, which the loss will show
        return np.asarray(array, dtype=arriving_dtype(array.dtype), order="C")
