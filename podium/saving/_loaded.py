"""What was read from a file and fits: assigned all at once, when nothing can go wrong any more."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import Variable, warn_user
from podium.saving._hdf5 import StoredWeight, Unfit

_MOST_PROBLEMS = 5  # in one message


class Loaded(NamedTuple):
    """Values for Variables, values for layers that read for themselves, and what the user should be told."""

    assignments: list[tuple[Variable, jax.Array]]
    own_forms: list[tuple[Any, dict[str, np.ndarray]]]
    complaints: list[str]

    def assign(self) -> None:
        """Change the model."""
        for variable, array in self.assignments:
            variable.assign(array)
        for owner, store in self.own_forms:
            owner.load_own_variables(store)
        for complaint in self.complaints:
            warn_user(complaint)


def checked(pairs: list[tuple[Variable, np.ndarray]], model: Any) -> list[tuple[Variable, jax.Array]]:
    """Turn values into arrays of their Variables' types, or raise `Unfit`."""
    for variable, value in pairs:
        try:
            variable._check_assignable(value)
        except (TypeError, ValueError) as error:
            raise Unfit(f"does not fit model {model.name!r}, and nothing was loaded: {error}") from error
    return [(variable, jnp.asarray(value, variable.dtype)) for variable, value in pairs]


def misfit(variable: Variable, weight: StoredWeight) -> str | None:
    """Say why a stored weight is not one for this Variable: its shape, or numbers of another kind."""
    if variable.shape != weight.shape:
        return f"{variable.path!r} has shape {variable.shape}, and {weight.name!r} in the file has {weight.shape}"
    is_float = jnp.issubdtype(variable.stored.dtype, np.floating)
    if is_float != weight.is_float:
        return f"{variable.path!r} has dtype {variable.dtype}, and {weight.name!r} in the file has dtype {weight.dtype}"
    return None


def listed(texts: list[str]) -> str:
    """Return the first few of several texts, and how many there are besides."""
    shown = texts[:_MOST_PROBLEMS] + ([f"and {len(texts) - _MOST_PROBLEMS} more"] if len(texts) > _MOST_PROBLEMS else [])
    return "; ".join(shown) or "none"
