"""Gradients matched with their variables: which pairs are valid, and messages for the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import jax

from podium._typing import TensorLike
from podium.core import Variable, convert_to_tensor, warn_user
from podium.core.internal import read_array
from podium.optimizers._update_math import wide_dtype


def split_pairs(
    grads_and_vars: Iterable[tuple[TensorLike | None, Variable]],
) -> list[tuple[TensorLike | None, Variable]]:
    """Return pairs of gradient and variable as a list, or raise for other tuples."""
    pairs = list(grads_and_vars)
    if any(len(tuple(pair)) != 2 for pair in pairs):
        raise ValueError(
            "apply_gradients takes pairs of a gradient and its variable: `zip(gradients, "
            "variables)`."
        )
    return pairs


def match_gradients(
    name: str,
    grads: Sequence[TensorLike | None],
    variables: list[Variable],
    warned: set[str],
) -> tuple[list[jax.Array], list[Variable]]:
    """Return gradients as arrays in the dtype of the update, and their variables, without those
    whose gradient is None.

    Args:
        name: The optimizer's name, for messages.
        grads: Gradients or None.
        variables: A variable for each of them.
        warned: Paths of variables that a warning has named; extended, so that each is named once.
    """
    missing = [
        variable.path
        for gradient, variable in zip(grads, variables, strict=True)
        if gradient is None
    ]
    if len(missing) == len(grads):
        raise ValueError(
            f"No gradients provided for any variable: {name!r} was given None for each of "
            f"{missing}. Compute the loss inside the tape's `with` block from these variables, "
            "with Podium's layers and operations."
        )
    if new := [path for path in missing if path not in warned]:
        warned.update(new)
        warn_user(
            f"Gradients do not exist for variables {new} when minimizing the loss: they stay as "
            "they are. If that is not meant, check that the loss depends on them."
        )
    pairs = [
        (_gradient_array(name, gradient, variable), variable)
        for gradient, variable in zip(grads, variables, strict=True)
        if gradient is not None
    ]
    return [gradient for gradient, _ in pairs], [variable for _, variable in pairs]


def _gradient_array(name: str, gradient: TensorLike, variable: Variable) -> jax.Array:
    array = read_array(convert_to_tensor(gradient))
    if array.shape != variable.shape:
        raise ValueError(
            f"{name!r} was given a gradient of shape {array.shape} for variable "
            f"{variable.path!r} of shape {variable.shape}; "
            "the shapes must be equal. Check that gradients and variables are in the same order."
        )
    dtype = wide_dtype(variable.dtype)
    return array if array.dtype == dtype else array.astype(dtype)
