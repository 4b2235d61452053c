"""check_strategy: the contract of every distribution strategy."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from podium import ops
from podium.core import Variable, convert_to_numpy, set_random_seed
from podium.distribute import Strategy, get_strategy
from podium.layers import Dense, Input
from podium.models import Sequential
from podium.testing._contract import Contract

_RTOL = 1e-4


def check_strategy(strategy: Strategy) -> None:
    """Check that a distribution strategy keeps the contract of strategies.

    Checked are: its scope; `run` with one result per replica; `reduce`; that the replicas of a
    `run` update a Variable once; and that `fit`, `evaluate` and `predict` under it return what they
    return without it, also for a batch that does not divide by the number of replicas.

    Args:
        strategy: The strategy.

    Raises:
        ContractError: The strategy breaks the contract; the message states how.

    Example:
        >>> podium.testing.check_strategy(podium.distribute.OneDeviceStrategy("cpu:0"))
    """
    contract = Contract("check_strategy", strategy)
    contract.require(
        isinstance(strategy, Strategy),
        f"a {type(strategy).__name__} is not a strategy.",
        "Pass an instance of a subclass of `podium.distribute.Strategy`.",
    )
    replicas = strategy.num_replicas_in_sync
    contract.require(
        isinstance(replicas, int) and replicas >= 1,
        f"num_replicas_in_sync is {replicas!r}.",
        "Return an int of at least 1.",
    )
    _check_scope(contract, strategy)
    _check_run(contract, strategy)
    _check_equal_to_no_strategy(contract, strategy)


def _check_scope(contract: Contract, strategy: Strategy) -> None:
    outside = get_strategy()
    with (
        contract.succeeds("scope()", "Leave `scope` to the base class."),
        strategy.scope() as entered,
    ):
        inside = get_strategy()
        variable = Variable(np.arange(4.0, dtype="float32"))
    contract.require(
        entered is strategy and inside is strategy and get_strategy() is outside,
        "`get_strategy` inside and after the scope is not this strategy and the one before.",
        "Leave `scope` to the base class.",
    )
    contract.require_equal(
        variable.numpy(),
        np.arange(4.0, dtype="float32"),
        "a Variable made in the scope does not hold its value.",
        "Place Variables without changing them.",
    )


def _check_run(contract: Contract, strategy: Strategy) -> None:
    replicas = strategy.num_replicas_in_sync
    with strategy.scope():
        counter = Variable(0.0, aggregation="only_first_replica", trainable=False)

    def step() -> Any:
        counter.assign_add(1.0)
        return ops.ones(()) * 2.0

    with contract.succeeds("run(step)", "Return what the step returned, for each replica."):
        result = strategy.run(step)
        values = [float(convert_to_numpy(value)) for value in strategy.unwrap(result)]
    contract.require(
        len(values) >= 1 and set(values) == {2.0},
        f"run returned {values} for a step that returns 2.0.",
        "Return one value for each replica of this process.",
    )
    contract.require_equal(
        counter.numpy(),
        np.float32(1.0),
        "one `run` of a step did not count a Variable up once.",
        "Combine what replicas assign as the Variable's `aggregation` specifies.",
    )
    for operation, expected in (("sum", 2.0 * replicas), ("mean", 2.0)):
        with contract.succeeds(f"reduce({operation!r})", 'Support "sum" and "mean".'):
            reduced = float(convert_to_numpy(strategy.reduce(operation, result, axis=None)))
        contract.require(
            reduced == expected,
            f"reduce({operation!r}) of 2.0 on {replicas} replicas returned {reduced}.",
            f"It is {expected}.",
        )


def _train(strategy: Strategy | None) -> tuple[Any, ...]:
    """Return History, evaluation, predictions and weights of a small training run."""
    set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(21, 3)).astype("float32")
    y = x[:, :1] - x[:, 1:2]
    with contextlib.nullcontext() if strategy is None else strategy.scope():
        model = Sequential([Input((3,)), Dense(4, activation="tanh"), Dense(1)])
        model.compile("adam", "mse", metrics=["mae"])
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    return (
        history,
        model.evaluate(x, y, verbose=0),
        model.predict(x, verbose=0),
        model.get_weights(),
    )


def _check_equal_to_no_strategy(contract: Contract, strategy: Strategy) -> None:
    with contract.succeeds("`fit`, `evaluate` and `predict` under the strategy", ""):
        under = _train(strategy)
    for name, actual, expected in zip(
        ("the History", "evaluate", "predict", "the weights"), under, _train(None), strict=True
    ):
        contract.require_equal(
            actual,
            expected,
            f"{name} under the strategy differs from that without it.",
            "Shard the batch and keep Variables whole: XLA inserts the collectives.",
            rtol=_RTOL,
        )
