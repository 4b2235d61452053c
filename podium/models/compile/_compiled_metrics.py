"""The metrics given to `compile`, one list per output, with the names that appear in the logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium import losses as losses_room
from podium import metrics as metrics_room
from podium import ops
from podium.metrics import Mean, MeanMetricWrapper, Metric
from podium.models.compile._compiled_loss import flat_weights, loss_name, matched
from podium.models.compile._output_mapping import (
    flat,
    flat_targets,
    layer_names,
    output_names,
    spread,
)

_BY_SHAPE = ("accuracy", "acc", "crossentropy", "ce")


class CompiledMetrics:
    """`model.compiled_metrics`: the metrics of every output.

    Args:
        metrics: A metric (name, function or object), a list for all outputs, a list of lists or a
            dictionary by name.
        weighted_metrics: The same, for metrics that take the sample weights into account.
        outputs: The model's symbolic outputs, where they are known already.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> model.compile(loss="mse", metrics=["mae"])
        >>> model.compiled_metrics.update_state(np.zeros((3, 1), "float32"), podium.ops.ones((3, 1)))
        >>> [(metric.name, float(metric.result())) for metric in model.compiled_metrics.metrics]
        [('mae', 1.0)]
    """

    def __init__(self, metrics: Any = None, weighted_metrics: Any = None, outputs: Any = None):
        self._given = (metrics, weighted_metrics)
        self._aliases = None if outputs is None else layer_names(outputs)
        self._plain: list[list[Metric]] = []
        self._weighted: list[list[Metric]] = []
        self._count: int | None = None  # how many outputs the metrics were made for
        for given in self._given:
            for one in _flat(given):
                if one is not None and not (isinstance(one, str) and one.lower() in _BY_SHAPE):
                    metrics_room.get(one)
        if outputs is not None:
            self._build(outputs)
        elif not any(isinstance(given, Mapping) for given in self._given):
            self._build(
                None
            )  # most models have one output; otherwise they are made anew with the first batch

    @property
    def metrics(self) -> list[Metric]:
        """The metrics in the order of the outputs."""
        return [
            metric
            for pair in zip(self._plain, self._weighted, strict=True)
            for row in pair
            for metric in row
        ]

    def reset_state(self) -> None:
        """Start all metrics anew."""
        for metric in self.metrics:
            metric.reset_state()

    def _build(self, structure: Any) -> list[str]:
        """Make the metrics for outputs of this structure; returns the outputs' names."""
        names = output_names(structure, self._aliases)
        if self._count == len(names):
            return names
        plain, weighted = [
            _per_output(argument, given, structure, names, self._aliases)
            for argument, given in zip(("metrics", "weighted_metrics"), self._given, strict=True)
        ]
        taken: dict[str, Metric] = {}
        self._plain, self._weighted, self._count = [], [], len(names)
        for name, own, own_weighted in zip(names, plain, weighted, strict=True):
            prefix = f"{name}_" if len(names) > 1 else ""
            self._plain.append(
                [_named(_as_metric(one), prefix, taken, "") for one in _as_list(own)]
            )
            self._weighted.append(
                [
                    _named(_as_metric(one), prefix, taken, "weighted_")
                    for one in _as_list(own_weighted)
                ]
            )
        return names

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take a batch into all metrics; only weighted ones see the sample weights.

        Args:
            y_true: Targets in the structure of the outputs.
            y_pred: The model's outputs.
            sample_weight: Weights in the structure of the targets, or one for all outputs.
        """
        if not any(one is not None for given in self._given for one in _flat(given)):
            return
        names = self._build(y_pred)
        targets = flat_targets("y", y_true, y_pred, names)
        weights = flat_weights(sample_weight, y_pred, names)
        rows = zip(self._plain, self._weighted, targets, flat(y_pred), weights, strict=True)
        for plain, weighted, target, prediction, weight in rows:
            if target is None or not (plain or weighted):
                continue
            target, prediction, weight = matched(target, prediction, weight)
            for metric in plain:
                metric.update_state(
                    target, prediction
                )  # a mask, if there is one, travels with the prediction
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


def _per_output(
    argument: str, given: Any, structure: Any, names: list[str], aliases: list[str] | None
) -> list[Any]:
    """One entry per output. A single metric, or a plain list of them, goes to every output."""
    if given is None or isinstance(given, Mapping):
        return spread(argument, given, structure, names, aliases)
    if not isinstance(given, (list, tuple)):
        given = [given]
    if any(isinstance(one, (list, tuple, Mapping)) for one in given) or (
        len(given) == len(names) > 1 and None in given
    ):
        return spread(argument, given, structure, names)
    return [[_copied(one) for one in given] for _ in names] if len(names) > 1 else [given]


def _copied(metric: Any) -> Any:
    """Return another metric like this one, so that outputs do not share state."""
    return type(metric).from_config(metric.get_config()) if isinstance(metric, Metric) else metric


def _as_metric(metric: Any) -> Metric:
    if isinstance(metric, str) and metric.lower() in _BY_SHAPE:
        return ByShape(metric)
    found = metrics_room.get(metric)
    if isinstance(found, Metric):
        if isinstance(metric, str) and metric != type(found).__name__:
            found.name = metric  # the logs say "mae" to who says "mae"
        return found
    if isinstance(found, losses_room.Loss):
        return MeanMetricWrapper(found.call, name=found.name)
    return MeanMetricWrapper(found, name=loss_name(metric))


class ByShape(Mean):
    """`"accuracy"` or `"crossentropy"`: which one is meant shows in the shapes of the first
    batch.
    """

    def __init__(self, name: str):
        super().__init__(name=name)
        self._word = name.lower()
        self._meant: Any = None
        self._direction = "up" if self._word in ("accuracy", "acc") else "down"

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Take a batch into the metric that its shapes ask for."""
        if self._meant is None:
            shapes = tuple(ops.shape(y_true)), tuple(ops.shape(y_pred))
            meant: Any = metrics_room.resolve_accuracy(self._word, *shapes)(name=self.name)
            meant.total, meant.count = (
                self.total,
                self.count,
            )  # one state: ours, which existed before
            meant._variables = [self.total, self.count]
            self._meant = meant
        self._meant.update_state(y_true, y_pred, sample_weight)


def _named(metric: Metric, prefix: str, taken: dict[str, Metric], if_taken: str) -> Metric:
    """Give a metric its name in the logs, and see that no two have the same."""
    own = metric.__dict__.setdefault(
        "_name_as_given", metric.name
    )  # compiled again, it must not get a second prefix
    name = prefix + own
    if name in taken and if_taken:
        name = prefix + if_taken + own
    if name in taken or name == "loss" or (prefix and own == "loss"):
        raise ValueError(
            f"Two metrics have the name {name!r}. The name is the key in the logs, so it must be "
            "unique: give one of them another, as in `podium.metrics.Mean(name='other')`."
        )
    metric.name = name
    taken[name] = metric
    return metric
