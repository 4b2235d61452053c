"""The Variables of a model by their paths through it: weights, optimizer slots, seeds, metric sums,
running means, counters.

Weights and slots stand where files of weights have them (`layers/dense/vars/0`), so that a
checkpoint does not depend on names. `_state_tree.py` owns that walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from podium.core import Variable, global_seed_generator
from podium.core.internal import put
from podium.layers import Layer
from podium.layers.internal import seed_states
from podium.saving._state_tree import state_of
from podium.saving.io._load_plan import listed

_NOTHING: frozenset[str] = frozenset()


def variables_by_path(model: Any, others: Iterable[Variable] = ()) -> dict[str, Variable]:
    """List all state of a model, each Variable once.

    Args:
        model: The model.
        others: Further Variables, such as those that a compiled step has met; the ones that are not
            the model's are listed under their own names.
    """
    found: dict[str, Variable] = {}
    taken: set[int] = set()

    def add(path: str, variable: Variable) -> None:
        if id(variable) not in taken:
            taken.add(id(variable))
            found[path] = variable

    def add_all(path: str, variables: Iterable[Variable]) -> None:
        for place, variable in enumerate(variables):
            add(f"{path}/{place}", variable)

    for holder in state_of(model):
        below = f"{holder.path}/" if holder.path else ""
        add_all(f"{below}vars", holder.variables)
        if isinstance(holder.owner, Layer):
            add_all(f"{below}seeds", seed_states(vars(holder.owner), _NOTHING))
    for place, metric in enumerate(model.metrics):
        add_all(f"metrics/{place}_{metric.name}", metric.variables)
    for names, sums in model._train_means.by_names():
        add(f"means/{','.join(names)}", sums)
    add("counters/train", model._train_counter)
    add("seeds/global", global_seed_generator().state)
    for variable in others:
        path, number = f"others/{variable.path}", 0
        while id(variable) not in taken and path in found:
            number += 1
            path = f"others/{variable.path}_{number}"
        add(path, variable)
    return found


def weights_by_path(model: Any) -> dict[str, Variable]:
    """List the weights alone."""
    layers = [holder for holder in state_of(model) if isinstance(holder.owner, Layer)]
    return {
        f"{holder.path}/vars/{place}" if holder.path else f"vars/{place}": variable
        for holder in layers
        for place, variable in enumerate(holder.variables)
    }


def held(variables: Mapping[str, Variable]) -> dict[str, Any]:
    """Return the values as they are now. Later steps do not change them: they make new arrays for
    what is held.
    """
    return {path: variable.expose() for path, variable in variables.items()}


def put_back(
    variables: Mapping[str, Variable], arrays: Mapping[str, Any], where: str, all_of_it: bool = True
) -> None:
    """Assign saved values to Variables, where each of them lives; nothing changes unless all of
    them fit.

    Args:
        variables: The Variables by path.
        arrays: The values by path.
        where: What the values come from, for messages.
        all_of_it: Whether values without a Variable are an error too.

    Raises:
        ValueError: Something is missing, unexpected or of another shape or type.
    """
    problems = [f"{path!r} is missing" for path in variables if path not in arrays]
    if all_of_it:
        problems += [
            f"{path!r} {array.shape} is unexpected"
            for path, array in arrays.items()
            if path not in variables
        ]
    for path, variable in variables.items():
        if path in arrays and (arrays[path].shape, arrays[path].dtype) != (
            variable.shape,
            variable.stored.dtype,
        ):
            there, here = (
                f"{array.dtype}{list(array.shape)}" for array in (arrays[path], variable.stored)
            )
            problems.append(f"{path!r} is {there} there, and {here} in the model")
    if problems:
        raise ValueError(
            f"{where} does not fit the model, and nothing was restored: {listed(problems)}. Build "
            "and compile the model as it was when this was saved, or begin anew in another "
            "directory."
        )
    values = {
        path: _placed(arrays[path], variable.stored.sharding)
        for path, variable in variables.items()
    }
    for path, variable in variables.items():
        variable.assign(values[path])


def sharding_of(variables: Mapping[str, Variable]) -> Callable[[str], Any]:
    """Return a function that tells where the Variable of a path lives; None for a path without
    one.
    """
    return lambda path: variables[path].stored.sharding if path in variables else None


def _placed(value: Any, sharding: Any) -> Any:
    if isinstance(value, jax.Array):
        return value
    return put(jnp.array(value), sharding)  # a copy: JAX may share memory with NumPy
