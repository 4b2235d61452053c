"""Values of variables by path: take a snapshot, and restore one.

Restoring assigns all values or none. Where values are stored is the concern of `saving`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Array
from podium.core import Variable
from podium.core.internal import place_value

_MAX_PROBLEMS = 5  # in one message


def snapshot(variables: Mapping[str, Variable]) -> dict[str, Array]:
    """Return the current values of variables. Later steps do not change them: a step copies what a
    snapshot refers to.

    Args:
        variables: The variables by path.

    Example:
        >>> weight = podium.Variable([1.0, 2.0])
        >>> values = podium.state.snapshot({"weight": weight})
        >>> _ = weight.assign([3.0, 4.0])
        >>> values["weight"].tolist()
        [1.0, 2.0]
    """
    return {path: variable.read() for path, variable in variables.items()}


def restore(
    variables: Mapping[str, Variable],
    values: Mapping[str, Array],
    source: str,
    strict: bool = True,
) -> None:
    """Assign values to variables, with each variable's sharding. Nothing changes unless all of
    them fit.

    Args:
        variables: The variables by path.
        values: The values by path.
        source: A description of the values' origin, for messages.
        strict: Whether a value without a variable is an error too.

    Raises:
        ValueError: A value is missing, unexpected or of another shape or dtype.

    Example:
        >>> weight = podium.Variable([1.0, 2.0])
        >>> podium.state.restore({"weight": weight}, {"weight": np.float32([3, 4])}, "An array")
        >>> weight.numpy().tolist()
        [3.0, 4.0]
    """
    values = {path: _upgrade(path, value) for path, value in values.items()}
    problems = [f"{path!r} is missing" for path in variables if path not in values]
    if strict:
        problems += [
            f"{path!r} {value.shape} is unexpected"
            for path, value in values.items()
            if path not in variables
        ]
    for path, variable in variables.items():
        if path in values and (values[path].shape, values[path].dtype) != (
            variable.shape,
            variable.stored.dtype,
        ):
            saved, current = (
                f"{array.dtype}{list(array.shape)}" for array in (values[path], variable.stored)
            )
            problems.append(f"{path!r} is {saved} there, and {current} in the model")
    if problems:
        raise ValueError(
            f"{source} does not fit the model, and nothing was restored: "
            f"{summarize(problems)}. Build and compile the model as it was when this was "
            "saved, or start a new run in another directory."
        )
    placed = {
        path: _put_like(values[path], variable.stored.sharding)
        for path, variable in variables.items()
    }
    for path, variable in variables.items():
        variable.assign(placed[path])


def sharding_by_path(variables: Mapping[str, Variable]) -> Callable[[str], Any]:
    """Return a function from a path to the sharding of its variable, or None for an unknown path.

    Example:
        >>> sharding = podium.state.sharding_by_path({"weight": podium.Variable(1.0)})
        >>> sharding("bias") is None
        True
    """
    return lambda path: variables[path].stored.sharding if path in variables else None


def summarize(problems: Sequence[str]) -> str:
    """Join the first few problems for a message, with the number of the remaining ones.

    Example:
        >>> podium.state.summarize(["'kernel' is missing", "'bias' is missing"])
        "'kernel' is missing; 'bias' is missing"
    """
    shown = list(problems[:_MAX_PROBLEMS])
    if len(problems) > _MAX_PROBLEMS:
        shown.append(f"and {len(problems) - _MAX_PROBLEMS} more")
    return "; ".join(shown) or "none"


def _upgrade(path: str, value: Array) -> Array:
    """Return a value that an earlier version wrote as it is written now."""
    if path == "counters/train" and (value.shape, value.dtype) == ((), np.int32):
        # The count as an int32; now it is [low, high], of 31 bits each.
        number = int(value)
        return np.array([number % 2**31, number // 2**31], np.int32)
    return value


def _put_like(value: Array, sharding: Any) -> jax.Array:
    if isinstance(value, jax.Array):
        return value
    return place_value(jnp.array(value), sharding)  # a copy: JAX may share memory with NumPy
