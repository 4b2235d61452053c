"""check_optimizer: the contract of every optimizer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from podium import core
from podium._typing import Array
from podium.core import Variable, convert_to_tensor
from podium.optimizers import Optimizer
from podium.testing._contract import Contract

_RTOL = 1e-5
_SHAPES = ((3, 2), (4,))


def check_optimizer(optimizer: Optimizer, *, steps: int = 60) -> None:
    """Check that an optimizer keeps the contract of optimizers.

    Checked are: that a step changes variables and counts; that a gradient of None leaves its
    variable unchanged; that a quadratic loss falls; that compiled, stateless and eager steps agree;
    that a copy with the same state continues alike; a learning rate set between steps; and
    `get_config` with `from_config`.

    Args:
        optimizer: The optimizer. Only copies made from its config take steps.
        steps: Steps in which the loss of a quadratic must fall.

    Raises:
        ContractError: The optimizer breaks the contract; the message states how.

    Example:
        >>> podium.testing.check_optimizer(podium.optimizers.Adam(0.1))
    """
    contract = Contract("check_optimizer", optimizer)
    contract.require(
        isinstance(optimizer, Optimizer),
        f"a {type(optimizer).__name__} is not an optimizer.",
        "Pass an instance of a subclass of `podium.optimizers.Optimizer`.",
    )
    eager = _take_steps(contract, contract.rebuild(optimizer), compiled=False)
    compiled = _take_steps(contract, contract.rebuild(optimizer), compiled=True)
    contract.require_equal(
        compiled,
        eager,
        "compiled steps end at other values than eager ones.",
        "Keep all state in Variables made in `build`, and compute with `podium.ops`.",
        rtol=_RTOL,
    )
    _check_none_gradient(contract, contract.rebuild(optimizer))
    _check_stateless(contract, contract.rebuild(optimizer), eager)
    _check_copied_state(contract, optimizer, eager)
    _check_descent(contract, contract.rebuild(optimizer), steps)


def _make_variables() -> list[Variable]:
    rng = np.random.default_rng(0)
    return [Variable(rng.normal(size=shape).astype("float32")) for shape in _SHAPES]


def _gradients(step: int) -> list[Array]:
    rng = np.random.default_rng(step + 1)
    return [rng.normal(size=shape).astype("float32") for shape in _SHAPES]


def _take_steps(
    contract: Contract, optimizer: Optimizer, compiled: bool, count: int = 3
) -> list[Array]:
    variables = _make_variables()
    before = [variable.numpy() for variable in variables]
    optimizer.build(variables)

    def step(*gradients: Array) -> None:
        optimizer.apply([convert_to_tensor(gradient) for gradient in gradients], variables)

    run = core.function(step) if compiled else step
    with contract.succeeds("a compiled step" if compiled else "a step", "See `update_step`."):
        for number in range(count):
            run(*_gradients(number))
    contract.require(
        int(optimizer.iterations.numpy()) == count,
        f"`iterations` is {int(optimizer.iterations.numpy())} after {count} steps.",
        "Leave `iterations` to the base class.",
    )
    after: list[Array] = [variable.numpy() for variable in variables]
    contract.require(
        all(not np.array_equal(old, new) for old, new in zip(before, after, strict=True)),
        "three steps did not change a variable.",
        "Assign the new value in `update_step`.",
    )
    return after


def _check_none_gradient(contract: Contract, optimizer: Optimizer) -> None:
    variables = _make_variables()
    optimizer.build(variables)
    before = variables[1].numpy()
    with (
        contract.succeeds("a step with a gradient of None", "The base class leaves it out."),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # it warns that a gradient is missing
        optimizer.apply([convert_to_tensor(_gradients(0)[0]), None], variables)
    contract.require_equal(
        variables[1].numpy(),
        before,
        "a variable with a gradient of None was changed.",
        "Change only the variables that `update_step` is called for.",
    )


def _check_stateless(contract: Contract, optimizer: Optimizer, expected: list[Array]) -> None:
    variables = _make_variables()
    optimizer.build(variables)
    values: list[Any] = [variable.numpy() for variable in variables]
    state: list[Any] = [variable.numpy() for variable in optimizer.variables]
    with contract.succeeds("stateless_apply", "Keep all state in Variables made in `build`."):
        for number in range(3):
            values, state = optimizer.stateless_apply(state, _gradients(number), values)
    contract.require_equal(
        values,
        expected,
        "stateless_apply ends at other values than apply.",
        "Keep all state in Variables made in `build`.",
        rtol=_RTOL,
    )


def _check_copied_state(contract: Contract, optimizer: Optimizer, expected: list[Array]) -> None:
    """Two steps, then the third by a copy with the same state, as after loading a checkpoint."""
    first, second = contract.rebuild(optimizer), contract.rebuild(optimizer)
    variables = _make_variables()
    first.build(variables)
    second.build(variables)
    for number in range(2):
        first.apply([convert_to_tensor(gradient) for gradient in _gradients(number)], variables)
    for target, source in zip(second.variables, first.variables, strict=True):
        target.assign(source)
    second.apply([convert_to_tensor(gradient) for gradient in _gradients(2)], variables)
    contract.require_equal(
        [variable.numpy() for variable in variables],
        expected,
        "a copy that took over all `variables` continues differently.",
        "Keep everything that changes from step to step in Variables made in `build`.",
        rtol=_RTOL,
    )


def _check_descent(contract: Contract, optimizer: Optimizer, steps: int) -> None:
    variables = _make_variables()
    optimizer.build(variables)

    def loss() -> float:
        return float(sum((variable.numpy() ** 2).sum() for variable in variables))

    before = loss()
    for _ in range(steps):
        optimizer.apply([convert_to_tensor(2 * variable.numpy()) for variable in variables])
    contract.require(
        np.isfinite(loss()) and loss() < before,
        f"the sum of squares is {loss():g} after {steps} steps, and was {before:g}.",
        "Is the sign of the update right, and the learning rate sensible?",
    )
