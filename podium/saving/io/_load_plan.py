"""What was read from a file and fits: assigned all at once, when nothing can go wrong any more."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import Variable, warn_user
from podium.saving.io._errors import Unfit


class Stored(Protocol):
    """One array of a file, described but not read."""

    @property
    def name(self) -> str:
        """Its name in the file."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the file claims."""

    @property
    def dtype(self) -> str:
        """The type of the numbers."""

    @property
    def is_float(self) -> bool:
        """Whether the numbers are floats."""


class LoadReport(NamedTuple):
    """What `load_weights` did: paths of weights that were loaded, and in words what else was found.

    All but `loaded` are empty, unless `skip_mismatch` or `by_name` allowed it: otherwise such a
    file is an error.

    Example:
        >>> podium.saving.LoadReport(["dense/kernel"], [], [], []).loaded
        ['dense/kernel']
    """

    loaded: list[str]
    missing: list[str]
    unexpected: list[str]
    mismatched: list[str]

    @property
    def problems(self) -> list[str]:
        """All that does not fit, in words."""
        return self.mismatched + self.missing + self.unexpected


class Loaded(NamedTuple):
    """Values for Variables, values for layers that read for themselves, what the user should be
    told, and a report.
    """

    assignments: list[tuple[Variable, jax.Array]]
    own_forms: list[tuple[Any, dict[str, np.ndarray]]]
    complaints: list[str]
    report: LoadReport

    def assign(self) -> None:
        """Change the model; if a layer that reads for itself fails, all of it is as before."""
        changed = [variable for variable, _ in self.assignments]
        changed += [variable for owner, _ in self.own_forms for variable in owner.variables]
        before = [variable.held for variable in changed]
        try:
            for variable, array in self.assignments:
                variable.assign(array)
            for owner, store in self.own_forms:
                owner.load_own_variables(store)
        except BaseException:
            for variable, value in zip(changed, before, strict=True):
                variable.assign(value)
            raise
        for complaint in self.complaints:
            warn_user(complaint)


def checked(
    pairs: list[tuple[Variable, np.ndarray]], model: Any
) -> list[tuple[Variable, jax.Array]]:
    """Turn values into arrays of their Variables' types, or raise `Unfit`."""
    for variable, value in pairs:
        try:
            variable._check_assignable(value)
        except (TypeError, ValueError) as error:
            raise Unfit(
                f"does not fit model {model.name!r}, and nothing was loaded: {error}"
            ) from error
    return [(variable, _as_array(value, variable.dtype)) for variable, value in pairs]


def _as_array(value: np.ndarray, dtype: Any) -> jax.Array:
    """Give memory that was just read, and that nobody else holds, to JAX as it is; convert it if
    the types differ.
    """
    return jax.device_put(value) if value.dtype == jnp.dtype(dtype) else jnp.asarray(value, dtype)


def misfit(variable: Variable, weight: Stored) -> str | None:
    """Say why a stored weight is not one for this Variable: its shape, or numbers of another
    kind.
    """
    if variable.shape != weight.shape:
        return f"{variable.path!r} has shape {variable.shape}, and {weight.name!r} in the file has {weight.shape}"
    is_float = jnp.issubdtype(variable.dtype, np.floating)
    if is_float != weight.is_float:
        return f"{variable.path!r} has dtype {variable.dtype}, and {weight.name!r} in the file has dtype {weight.dtype}"
    return None
