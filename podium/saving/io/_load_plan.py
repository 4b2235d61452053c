"""LoadPlan: values that were read from a file and fit a model, to be assigned together.

Formats match what they read with the model and make a plan; nothing changes before `assign`, and
nothing can fail after it has started except a layer's own code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import DTypeLike, Shape
from podium.core import Variable, warn_user
from podium.layers import Layer
from podium.saving.io._array_io import NumpyArray
from podium.saving.io._errors import InvalidFileError


class StoredArray(Protocol):
    """One array of a file, described but not read."""

    @property
    def name(self) -> str:
        """The name in the file."""
        ...

    @property
    def shape(self) -> Shape:
        """The shape that the file declares."""
        ...

    @property
    def dtype(self) -> str:
        """The dtype that the file declares."""
        ...

    @property
    def is_float(self) -> bool:
        """Whether the dtype is a float."""
        ...


class LoadReport(NamedTuple):
    """What `load_weights` did: paths of the loaded weights, and messages about all others.

    All but `loaded` are empty, unless `skip_mismatch` or `by_name` allowed differences: otherwise
    such a file is an error. A checkpoint of TensorFlow 1 may have other variables (`unexpected`).

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
        """Messages about everything that does not fit."""
        return self.mismatched + self.missing + self.unexpected

    def expect_partial(self) -> LoadReport:
        """Return the report, as the status of tf_keras's `load_weights` does."""
        return self

    def assert_consumed(self) -> LoadReport:
        """Return the report; raise AssertionError if there is something that does not fit."""
        if self.problems:
            raise AssertionError(f"Not everything was loaded: {'; '.join(self.problems[:10])}.")
        return self

    def assert_existing_objects_matched(self) -> LoadReport:
        """Return the report; raise AssertionError if there are weights that were not loaded."""
        problems = self.mismatched + self.missing
        if problems:
            raise AssertionError(f"These were not loaded: {'; '.join(problems[:10])}.")
        return self

    def assert_nontrivial_match(self) -> LoadReport:
        """Return the report; raise AssertionError if nothing was loaded."""
        if not self.loaded:
            raise AssertionError("Nothing was loaded: no weight of the model is in the file.")
        return self


class LoadPlan(NamedTuple):
    """Values for variables, values for layers with `load_own_variables`, warnings for the user, and
    a report.
    """

    assignments: Sequence[tuple[Variable, jax.Array]]
    own_stores: Sequence[tuple[Layer, dict[str, NumpyArray]]]
    warnings: list[str]
    report: LoadReport

    def assign(self) -> None:
        """Change the model. If a layer's own `load_own_variables` raises, all values are reset."""
        changed = [variable for variable, _ in self.assignments]
        changed += [variable for layer, _ in self.own_stores for variable in layer.variables]
        before = [variable.stored for variable in changed]
        try:
            for variable, array in self.assignments:
                variable.assign(array)
            for layer, store in self.own_stores:
                layer.load_own_variables(store)
        except BaseException:
            for variable, value in zip(changed, before, strict=True):
                variable.assign(value)
            raise
        for warning in self.warnings:
            warn_user(warning)


def convert_values(
    pairs: Sequence[tuple[Variable, NumpyArray]], model_name: str
) -> list[tuple[Variable, jax.Array]]:
    """Convert values to arrays of their variables' dtypes, or raise `InvalidFileError`."""
    for variable, value in pairs:
        try:
            variable._check_assignable(value)
        except (TypeError, ValueError) as error:
            raise InvalidFileError(
                f"does not fit model {model_name!r}, and nothing was loaded: {error}"
            ) from error
    return [(variable, _to_jax(value, variable.dtype)) for variable, value in pairs]


def _to_jax(value: NumpyArray, dtype: DTypeLike) -> jax.Array:
    """Hand memory that was just read, and that nothing else refers to, to JAX without a copy;
    convert it if the dtypes differ.
    """
    return jax.device_put(value) if value.dtype == jnp.dtype(dtype) else jnp.asarray(value, dtype)


def describe_mismatch(variable: Variable, stored: StoredArray) -> str | None:
    """Return why a stored array does not fit a variable (its shape or kind of dtype), or None."""
    if variable.shape != stored.shape:
        return (
            f"{variable.path!r} has shape {variable.shape}, and {stored.name!r} in the file has "
            f"{stored.shape}"
        )
    if jnp.issubdtype(variable.dtype, np.floating) != stored.is_float:
        return (
            f"{variable.path!r} has dtype {variable.dtype}, and {stored.name!r} in the file has "
            f"dtype {stored.dtype}"
        )
    return None


def fits(variables: Sequence[Any], stored: Sequence[StoredArray]) -> bool:
    """Return whether variables and stored arrays correspond in number and shape."""
    return len(stored) == len(variables) and all(
        weight.shape == variable.shape for weight, variable in zip(stored, variables, strict=True)
    )
