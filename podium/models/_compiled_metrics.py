"""The metrics given to `compile`, one list per output, with the names that appear in the logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium import losses as losses_room
from podium import metrics as metrics_room
from podium import ops
from podium.core import leaves_of
from podium.metrics import MeanMetricWrapper, Metric
from podium.models._compiled_loss import flat_weights, loss_name, matched
from podium.models._outputs import flat_targets, output_names, spread

_BY_SHAPE = ("accuracy", "acc", "crossentropy", "ce")


class CompiledMetrics:
    """`model.compiled_metrics`: the metrics of every output.

    Args:
        metrics: A metric (name, function or object), a list for all outputs, a list of lists or a dictionary by name.
        weighted_metrics: The same, for metrics that take the sample weights into account.
        names: The names of the model's outputs, where they are known already.
        aliases: Other names for them: the layers' names where outputs are a dictionary.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> model.compile(loss="mse", metrics=["mae"])
        >>> model.compiled_metrics.update_state(np.zeros((3, 1), "float32"), podium.ops.ones((3, 1)))
        >>> [(metric.name, float(metric.result())) for metric in model.compiled_metrics.metrics]
        [('mae', 1.0)]
    """

    def __init__(self, metrics: Any = None, weighted_metrics: Any = None, names: list[str] | None = None, aliases: Any = None):
        self._given = (metrics, weighted_metrics)
        self._names = names
        self._aliases = aliases
        self._plain: list[list[Metric]] = []
        self._weighted: list[list[Metric]] = []
        self._built = False
        for given in self._given:
            for one in _flat(given):
                if one is not None and not (isinstance(one, str) and one.lower() in _BY_SHAPE):
                    metrics_room.get(one)
        if names is not None:
            self._spread(names)

    def _spread(self, names: list[str]) -> list[list[list[Any]]]:
        """Return, for plain and for weighted metrics, one list per output of what the user gave."""
        arguments = ("metrics", "weighted_metrics")
        return [
            [_as_list(one) for one in _per_output(argument, given, names, self._aliases)]
            for argument, given in zip(arguments, self._given, strict=True)
        ]

    @property
    def metrics(self) -> list[Metric]:
        """The metrics in the order of the outputs. Before the first batch, those that were given as objects."""
        if not self._built:
            return [one for given in self._given for one in _flat(given) if isinstance(one, Metric)]
        return [metric for pair in zip(self._plain, self._weighted, strict=True) for row in pair for metric in row]

    def reset_state(self) -> None:
        """Start all metrics anew."""
        for metric in self.metrics:
            metric.reset_state()

    def _build(self, y_pred: Any, targets: list) -> None:
        names = output_names(y_pred, self._names)
        plain, weighted = self._spread(names)
        predictions = leaves_of(y_pred)
        taken: dict[str, Metric] = {}
        several = len(names) > 1
        for name, own, own_weighted, target, prediction in zip(names, plain, weighted, targets, predictions, strict=True):
            prefix = f"{name}_" if several else ""
            self._plain.append([_named(_as_metric(one, target, prediction), prefix, taken, "") for one in own])
            self._weighted.append(
                [_named(_as_metric(one, target, prediction), prefix, taken, "weighted_") for one in own_weighted]
            )
        self._built = True

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take a batch into all metrics; only weighted ones see the sample weights.

        Args:
            y_true: Targets in the structure of the outputs.
            y_pred: The model's outputs.
            sample_weight: Weights in the structure of the targets, or one for all outputs.
        """
        if not any(one is not None for given in self._given for one in _flat(given)):
            return
        names = output_names(y_pred, self._names)
        targets = flat_targets("y", y_true, y_pred, names)
        if not self._built:
            self._build(y_pred, targets)
        weights = flat_weights(sample_weight, y_pred, names)
        rows = zip(self._plain, self._weighted, targets, leaves_of(y_pred), weights, strict=True)
        for plain, weighted, target, prediction, weight in rows:
            if target is None or not (plain or weighted):
                continue
            target, prediction, weight = matched(target, prediction, weight)
            for metric in plain:
                metric.update_state(target, prediction)  # a mask, if there is one, travels with the prediction
            for metric in weighted:
                metric.update_state(target, prediction, sample_weight=weight)


def _flat(given: Any) -> list[Any]:
    if isinstance(given, Mapping):
        return [one for value in given.values() for one in _flat(value)]
    if isinstance(given, (list, tuple)):
        return [one for value in given for one in _flat(value)]
    return [given]


def _as_list(given: Any) -> list[Any]:
    return [one for one in _flat(given) if one is not None]


def _per_output(argument: str, given: Any, names: list[str], aliases: list[str] | None) -> list[Any]:
    """One entry per output. A single metric, or a plain list of them, goes to every output."""
    if given is None or isinstance(given, Mapping):
        return spread(argument, given, names, aliases)
    if not isinstance(given, (list, tuple)):
        given = [given]
    if any(isinstance(one, (list, tuple)) for one in given) or (len(names) > 1 and len(given) == len(names) and None in given):
        return spread(argument, given, names)
    if len(names) > 1:
        return [[_copied(one) if index else one for one in given] for index in range(len(names))]
    return [given]


def _copied(metric: Any) -> Any:
    """Return another metric like this one, so that outputs do not share state."""
    return type(metric).from_config(metric.get_config()) if isinstance(metric, Metric) else metric


def _as_metric(metric: Any, target: Any, prediction: Any) -> Metric:
    found = metric
    if isinstance(metric, str) and metric.lower() in _BY_SHAPE and target is not None:
        target_shape = tuple(ops.shape(target))
        found = metrics_room.resolve_accuracy(metric.lower(), target_shape, tuple(prediction.shape))
    found = metrics_room.get(found)
    if isinstance(found, Metric):
        if isinstance(metric, str) and metric != type(found).__name__:
            found.name = metric  # the logs say "mae" to who says "mae"
        return found
    if isinstance(found, losses_room.Loss):
        return MeanMetricWrapper(found.call, name=found.name)
    return MeanMetricWrapper(found, name=loss_name(metric))


def _named(metric: Metric, prefix: str, taken: dict[str, Metric], if_taken: str) -> Metric:
    """Give a metric its name in the logs, and see that no two have the same."""
    name = metric.name if not prefix or metric.name.startswith(prefix) else prefix + metric.name
    if name in taken and if_taken:
        name = prefix + if_taken + name.removeprefix(prefix)
    if name in taken:
        raise ValueError(
            f"Two metrics have the name {name!r}. The name is the key in the logs, so it must be unique: give one of "
            "them another, as in `podium.metrics.Mean(name='other')`."
        )
    metric.name = name
    taken[name] = metric
    return metric
