"""check_metric: the contract of every metric."""

from __future__ import annotations

from podium import core
from podium._typing import TensorLike, Tree
from podium.core import convert_to_numpy, map_structure, tree_leaves
from podium.metrics import Metric
from podium.testing._contract import Contract

_RTOL = 1e-5


def check_metric(metric: Metric, *batch: TensorLike) -> None:
    """Check that a metric keeps the contract of metrics.

    Checked are: that `result` returns a number or a dictionary of numbers and changes no state;
    that `reset_state` starts again; that state is in Variables, so that compiled, stateless and
    eager updates agree; and `get_config` with `from_config`.

    Args:
        metric: The metric. Its state is reset.
        *batch: Example arguments of `update_state`, usually `y_true` and `y_pred`.

    Raises:
        ContractError: The metric breaks the contract; the message states how.

    Example:
        >>> podium.testing.check_metric(
        ...     podium.metrics.MeanSquaredError(), np.zeros((4, 2)), np.ones((4, 2))
        ... )
    """
    contract = Contract("check_metric", metric)
    contract.require(
        isinstance(metric, Metric),
        f"a {type(metric).__name__} is not a metric.",
        "Pass an instance of a subclass of `podium.metrics.Metric`.",
    )
    with contract.succeeds("update_state with the example batch", "Does the batch fit the metric?"):
        metric.update_state(*batch)
    metric.reset_state()
    initial = _state(metric)  # some metrics make their state with the first batch
    metric.update_state(*batch)
    once = _result(contract, metric)
    contract.require_equal(
        _result(contract, metric), once, "a second `result()` differs from the first.", _PURE
    )
    metric.update_state(*batch)
    twice = _result(contract, metric)
    _check_reset(contract, metric, batch, initial, once)
    _check_compiled(contract, metric, batch, twice)
    _check_stateless(contract, metric, batch, twice)
    copy = contract.rebuild(metric)
    copy.update_state(*batch)
    contract.require_equal(
        _result(contract, copy),
        once,
        "a metric made from the config returns something else.",
        "Return every argument from `get_config`.",
        rtol=_RTOL,
    )
    metric.reset_state()


_PURE = "Compute the value in `result` from the state, and assign no Variables there."
_VARIABLES = "Keep all state in Variables made by `add_weight` in `__init__`."


def _state(metric: Metric) -> list[Tree]:
    return [variable.numpy() for variable in metric.variables]


def _result(contract: Contract, metric: Metric) -> Tree:
    before = _state(metric)
    with contract.succeeds("result()", "Return a scalar Tensor or a dictionary of them."):
        result = map_structure(convert_to_numpy, metric.result())
    contract.require(
        len(tree_leaves(result)) > 0,
        "`result` returned nothing.",
        "Return a Tensor or a dictionary of Tensors.",
    )
    contract.require_equal(_state(metric), before, "`result` changed the state.", _PURE)
    return result


def _check_reset(
    contract: Contract, metric: Metric, batch: tuple[TensorLike, ...], initial: Tree, once: Tree
) -> None:
    metric.reset_state()
    contract.require_equal(
        _state(metric),
        initial,
        "`reset_state` does not restore the initial state.",
        "Assign every Variable its initial value.",
    )
    metric.update_state(*batch)
    contract.require_equal(
        _result(contract, metric),
        once,
        "after `reset_state` the same batch produces another result.",
        _VARIABLES,
        rtol=_RTOL,
    )


def _check_compiled(
    contract: Contract, metric: Metric, batch: tuple[TensorLike, ...], twice: Tree
) -> None:
    metric.reset_state()
    with contract.succeeds("a compiled update_state", "Use `podium.ops`, and no `if` on values."):
        update = core.function(lambda *arguments: metric.update_state(*arguments))
        update(*batch)
        update(*batch)
    contract.require_equal(
        _result(contract, metric),
        twice,
        "compiled updates produce another result than eager ones.",
        _VARIABLES,
        rtol=_RTOL,
    )


def _check_stateless(
    contract: Contract, metric: Metric, batch: tuple[TensorLike, ...], twice: Tree
) -> None:
    values = metric.stateless_reset_state()
    for _ in range(2):
        values = metric.stateless_update_state(values, *batch)
    contract.require_equal(
        metric.stateless_result(values),
        twice,
        "stateless updates produce another result than stateful ones.",
        _VARIABLES,
        rtol=_RTOL,
    )
