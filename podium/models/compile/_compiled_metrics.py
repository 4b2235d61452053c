"""CompiledMetrics: the metrics passed to `compile`, by output, with their names in the logs.

It owns the matching of metrics with outputs. The metrics themselves are in `podium/metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium import ops
from podium._typing import TensorLike, Tree
from podium.core.internal import PublicRepr
from podium.losses import Loss
from podium.metrics import Mean, MeanMetricWrapper, Metric, resolve_accuracy
from podium.metrics import get as get_metric
from podium.models.compile._compiled_loss import (
    align_ranks,
    check_call_arguments,
    flatten_weights,
    loss_name,
)
from podium.models.compile._output_mapping import (
    flatten_outputs,
    flatten_targets,
    layer_names,
    output_names,
    to_outputs,
)

_BY_SHAPE = ("accuracy", "acc", "crossentropy", "ce")


class CompiledMetrics(PublicRepr):
    """`model.compiled_metrics`: the metrics of every output.

    Args:
        metrics: A metric (name, function or object), a list for all outputs, a list of lists or a
            dictionary by name.
        weighted_metrics: The same, for metrics that take the sample weights into account.
        outputs: The model's symbolic outputs, if they are known.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> model.compile(loss="mse", metrics=["mae"])
        >>> metrics = model.compiled_metrics
        >>> metrics.update_state(np.zeros((3, 1), "float32"), podium.ops.ones((3, 1)))
        >>> [(metric.name, float(metric.result())) for metric in metrics.metrics]
        [('mae', 1.0)]
    """

    def __init__(self, metrics: Tree = None, weighted_metrics: Tree = None, outputs: Tree = None):
        self._arguments = (metrics, weighted_metrics)
        self._aliases = None if outputs is None else layer_names(outputs)
        self._plain: list[list[Metric]] = []
        self._weighted: list[list[Metric]] = []
        self._num_outputs: int | None = None  # that the metrics were created for
        for argument, weighted in ((metrics, False), (weighted_metrics, True)):
            for identifier in _as_list(argument):
                _check_metric(identifier, weighted)
        if outputs is not None:
            self.build(outputs)
        elif not any(map(_is_per_output, self._arguments)):
            # Most models have one output. If there are more, the first batch replaces the metrics.
            self.build(None)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics in the order of the outputs."""
        return [
            metric
            for pair in zip(self._plain, self._weighted, strict=True)
            for row in pair
            for metric in row
        ]

    @property
    def has_metrics(self) -> bool:
        """Whether `compile` was given metrics."""
        return bool(self._identifiers())

    def reset_state(self) -> None:
        """Reset all metrics."""
        for metric in self.metrics:
            metric.reset_state()

    def _identifiers(self) -> list[Any]:
        """List what was passed for single metrics, in any structure."""
        return [identifier for argument in self._arguments for identifier in _as_list(argument)]

    def build(self, structure: Tree) -> list[str]:
        """Create the metrics for outputs of this structure, and return the names of the outputs."""
        names = output_names(structure, self._aliases)
        if self._num_outputs == len(names):
            return names
        plain, weighted = [
            _by_output(name, argument, structure, names, self._aliases)
            for name, argument in zip(("metrics", "weighted_metrics"), self._arguments, strict=True)
        ]
        used: set[str] = set()
        self._plain, self._weighted, self._num_outputs = [], [], len(names)
        for name, plain_ids, weighted_ids in zip(names, plain, weighted, strict=True):
            prefix = f"{name}_" if len(names) > 1 else ""
            self._plain.append(
                [_set_name(_find_metric(item), prefix, used, "") for item in _as_list(plain_ids)]
            )
            self._weighted.append(
                [
                    _set_name(_find_metric(item), prefix, used, "weighted_")
                    for item in _as_list(weighted_ids)
                ]
            )
        return names

    def update_state(self, y_true: Tree, y_pred: Tree, sample_weight: Tree = None) -> None:
        """Update all metrics with a batch; only weighted metrics use the sample weights.

        Args:
            y_true: Targets in the structure of the outputs.
            y_pred: The model's outputs.
            sample_weight: Weights in the structure of the targets, or one for all outputs.
        """
        if not self._identifiers():
            return
        names = self.build(y_pred)
        has_metric = [bool(a or b) for a, b in zip(self._plain, self._weighted, strict=True)]
        targets = flatten_targets("y", y_true, y_pred, names, has_metric)
        weights = flatten_weights(sample_weight, y_pred, names)
        rows = zip(
            self._plain, self._weighted, targets, flatten_outputs(y_pred), weights, strict=True
        )
        for plain, weighted, target, prediction, weight in rows:
            if target is None or not (plain or weighted):
                continue
            target, prediction, weight = align_ranks(target, prediction, weight)
            for metric in plain:
                metric.update_state(target, prediction)  # a mask is attached to the prediction
            for metric in weighted:
                metric.update_state(target, prediction, sample_weight=weight)


def _flatten_metrics(metrics: Tree) -> list[Any]:
    if isinstance(metrics, Mapping):
        return [leaf for item in metrics.values() for leaf in _flatten_metrics(item)]
    if isinstance(metrics, (list, tuple)):
        return [leaf for item in metrics for leaf in _flatten_metrics(item)]
    return [metrics]


def _is_per_output(metrics: Tree) -> bool:
    """Return whether metrics are given for the single outputs, which the first batch names."""
    if isinstance(metrics, Mapping):
        return True
    return (
        isinstance(metrics, (list, tuple))
        and len(metrics) > 1
        and any(isinstance(item, (list, tuple, Mapping)) for item in metrics)
    )


def _as_list(metrics: Tree) -> list[Any]:
    return [identifier for identifier in _flatten_metrics(metrics) if identifier is not None]


def _by_output(
    argument: str, metrics: Tree, structure: Tree, names: list[str], aliases: list[str] | None
) -> list[Any]:
    """Return one entry per output. A single metric, or a plain list, is used for every output."""
    if metrics is None or isinstance(metrics, Mapping):
        return to_outputs(argument, metrics, structure, names, aliases)
    if not isinstance(metrics, (list, tuple)):
        metrics = [metrics]
    if any(isinstance(item, (list, tuple, Mapping)) for item in metrics) or (
        len(metrics) == len(names) > 1 and None in metrics
    ):
        return to_outputs(argument, metrics, structure, names)
    if len(names) == 1:
        return [metrics]
    return [[_copy_metric(identifier) for identifier in metrics] for _ in names]


def _copy_metric(identifier: Any) -> Any:
    """Return a new metric like this one, so that outputs do not share state."""
    if isinstance(identifier, Metric):
        return type(identifier).from_config(identifier.get_config())
    return identifier


def _depends_on_shapes(identifier: object) -> bool:
    return isinstance(identifier, str) and identifier.lower() in _BY_SHAPE


def _check_metric(identifier: Any, weighted: bool) -> None:
    """Raise for an unknown metric, and for one that cannot be called with a batch."""
    if _depends_on_shapes(identifier):
        return
    metric = get_metric(identifier)
    if isinstance(metric, Metric):
        check_call_arguments("metric", metric.name, metric.update_state, weighted=weighted)
    else:
        call = metric.call if isinstance(metric, Loss) else metric
        check_call_arguments("metric", loss_name(identifier), call)


def _find_metric(identifier: Any) -> Metric:
    """Return the metric for a name, function, loss or metric."""
    if _depends_on_shapes(identifier):
        return MetricByShape(identifier)
    metric = get_metric(identifier)
    if isinstance(metric, Metric):
        if isinstance(identifier, str) and identifier != type(metric).__name__:
            metric.name = identifier  # "mae" is named "mae" in the logs
        return metric
    if isinstance(metric, Loss):
        return MeanMetricWrapper(metric.call, name=metric.name)
    return MeanMetricWrapper(metric, name=loss_name(identifier))


class MetricByShape(Mean):
    """`"accuracy"` or `"crossentropy"`: the shapes of the first batch decide which metric it is."""

    def __init__(self, name: str):
        super().__init__(name=name)
        self._identifier = name.lower()
        self._metric: Any = None
        self._direction = "up" if self._identifier in ("accuracy", "acc") else "down"

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Update the metric that the shapes of the batch select."""
        if self._metric is None:
            shapes = tuple(ops.shape(y_true)), tuple(ops.shape(y_pred))
            metric: Any = resolve_accuracy(self._identifier, *shapes)(name=self.name)
            # It uses the state of this metric, which existed before.
            metric.total, metric.count = self.total, self.count
            metric._variables = [self.total, self.count]
            self._metric = metric
        self._metric.update_state(y_true, y_pred, sample_weight)


def _set_name(metric: Metric, prefix: str, used: set[str], prefix_if_used: str) -> Metric:
    """Set the name of a metric in the logs, which must be unique; returns the metric."""
    # When the model is compiled again, the name must not get a second prefix.
    base = metric.__dict__.setdefault("_name_as_given", metric.name)
    name = prefix + base
    if name in used and prefix_if_used:
        name = prefix + prefix_if_used + base
    if name in used or name == "loss" or (prefix and base == "loss"):
        raise ValueError(
            f"Two metrics have the name {name!r}. The name is the key in the logs, so it must be "
            "unique: give one of them another, as in `podium.metrics.Mean(name='other')`."
        )
    metric.name = name
    used.add(name)
    return metric
