"""The losses given to `compile`, one per output, added up with their weights and averaged over the
epoch.
"""

from __future__ import annotations

import numbers
import weakref
from collections.abc import Mapping
from typing import Any

from podium import losses as losses_room
from podium import ops
from podium.core import Tensor, Variable, convert_to_tensor, is_float_dtype, snake_case
from podium.distribute import scale_loss_for_distribution
from podium.metrics import Mean
from podium.models.compile._output_mapping import (
    flat,
    flat_targets,
    layer_names,
    output_names,
    spread,
)


class CompiledLoss:
    """`model.compiled_loss`: computes the loss of a batch and keeps its mean over the epoch.

    Args:
        loss: A loss (name, function or object) for all outputs, a list or a dictionary by output
            name; or None.
        loss_weights: How much each output's loss counts: a list or a dictionary of numbers.
        outputs: The model's symbolic outputs, where they are known already.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> model.compile(loss="mse")
        >>> float(model.compiled_loss(np.zeros((3, 1), "float32"), podium.ops.ones((3, 1))))
        1.0
        >>> [metric.name for metric in model.compiled_loss.metrics]
        ['loss']
    """

    def __init__(self, loss: Any, loss_weights: Any = None, outputs: Any = None):
        self._given = loss
        self._given_weights = loss_weights
        self._aliases = None if outputs is None else layer_names(outputs)
        self._names: list[str] = []
        self._losses: list[Any] = []
        self._weights: list[float | None] = []
        self._mean: LossMean | None = None
        self._output_means: list[Mean | None] = []
        self._built = False
        _check_losses(loss)
        if outputs is not None:
            self._resolve(outputs)

    @property
    def losses(self) -> list[Any]:
        """One loss per output, None where an output has none; empty until the outputs are known."""
        return self._losses

    @property
    def metrics(self) -> list[Mean]:
        """The running means: `loss` first, then one per output if there are several."""
        own = [self._mean, *self._output_means]
        return [mean for mean in own if mean is not None]

    def reset_state(self) -> None:
        """Start the means anew."""
        for mean in self.metrics:
            mean.reset_state()

    def _resolve(self, structure: Any) -> list[str]:
        """Find out each output's loss and weight; returns the outputs' names."""
        names = output_names(structure, self._aliases)
        given, weights = self._given, self._given_weights
        if given is None:
            self._losses = [None] * len(names)
        elif isinstance(given, (list, tuple, Mapping)) and not _is_config(given):
            self._losses = [
                _as_loss(one) for one in spread("loss", given, structure, names, self._aliases)
            ]
        else:
            self._losses = [_as_loss(given) for _ in names]
        if weights is not None and not isinstance(weights, (list, tuple, Mapping)):
            weights = [weights] * len(names)
        self._weights = spread("loss_weights", weights, structure, names, self._aliases)
        for weight in self._weights:
            if weight is not None and (
                isinstance(weight, bool) or not isinstance(weight, (numbers.Real, Tensor, Variable))
            ):
                raise TypeError(
                    f"`loss_weights` holds {weight!r}; numbers were expected, one per output."
                )
        return names

    def _build(self, y_pred: Any) -> list[str]:
        """Name the outputs and make the means; later calls find it done."""
        if self._built:
            return self._names
        self._names = names = self._resolve(y_pred)
        self._mean = LossMean()
        if len(names) > 1:
            self._output_means = [
                Mean(name=f"{name}_loss") if loss is not None else None
                for name, loss in zip(names, self._losses, strict=True)
            ]
        else:
            self._output_means = [None]
        self._built = True
        return names

    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None
    ) -> Any:
        """Return the total loss of a batch, and take it into the running means, weighted by the
        batch's size.

        Args:
            y_true: Targets in the structure of the outputs.
            y_pred: The model's outputs.
            sample_weight: Weights in the structure of the targets, or one for all outputs.
            regularization_losses: Further losses to add, such as `model.losses`.

        Returns:
            The total; zero when there is no loss at all.
        """
        names = self._build(y_pred)
        predictions = flat(y_pred)
        targets = flat_targets("y", y_true, y_pred, names)
        weights = flat_weights(sample_weight, y_pred, names)
        values = []
        batch_size = leading_length(targets, predictions)
        rows = zip(
            self._losses,
            self._weights,
            self._output_means,
            names,
            targets,
            predictions,
            weights,
            strict=True,
        )
        for loss, factor, mean, name, target, prediction, weight in rows:
            if loss is None:
                continue
            if target is None:
                if isinstance(y_true, (list, tuple)):
                    continue  # None in a list says that this output has no target
                raise ValueError(_missing_target(name, y_true, loss))
            target, prediction, weight = matched(target, prediction, weight)
            value = loss(target, prediction, sample_weight=weight)
            if value is None:
                raise ValueError(
                    f"The loss {loss_name(loss)!r} returned None. A loss function must return "
                    "its values."
                )
            if mean is not None:
                mean.update_state(value, sample_weight=batch_size)
            values.append(value if factor is None else value * ops.cast(factor, value.dtype))
        values.extend(ops.sum(convert_to_tensor(value)) for value in regularization_losses or [])
        if not values:
            return ops.zeros(())
        total = values[0]
        for value in values[1:]:
            total = total + ops.cast(value, total.dtype)
        assert self._mean is not None
        scaled = scale_loss_for_distribution(
            total
        )  # in `strategy.run`, where gradients are added up
        self._mean.track(total, batch_size)
        return scaled


class LossMean(Mean):
    """The running mean named `loss`. A step that hands it the total once more, as steps for Keras 3
    do, changes nothing.
    """

    def __init__(self) -> None:
        super().__init__(name="loss")
        self._tracked: weakref.ref | None = None

    def track(self, total: Any, batch_size: Any) -> None:
        """Take the total loss of a batch into the mean."""
        super().update_state(total, sample_weight=batch_size)
        self._tracked = weakref.ref(total)

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Take values into the mean, unless they are the total that `compiled_loss` has tracked
        already.
        """
        if self._tracked is None or self._tracked() is not values:
            super().update_state(values, sample_weight)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tracked": None}


def _is_config(given: Any) -> bool:
    return isinstance(given, Mapping) and "class_name" in given


def _check_losses(loss: Any) -> None:
    """Refuse at once what is no loss, whether or not the outputs are known."""
    if isinstance(loss, (list, tuple, Mapping)) and not _is_config(loss):
        for one in loss.values() if isinstance(loss, Mapping) else loss:
            _check_losses(one)
    elif loss is not None:
        _as_loss(loss)


def _as_loss(loss: Any) -> Any:
    """Return a callable `(y_true, y_pred, sample_weight)` that reduces to one number."""
    if loss is None:
        return None
    found = losses_room.get(loss)
    if isinstance(found, losses_room.Loss):
        return found
    return losses_room.LossFunctionWrapper(found, name=loss_name(loss))


def loss_name(loss: Any) -> str:
    """Return the name that a loss or metric is shown under."""
    if isinstance(loss, str):
        return loss
    return (
        getattr(loss, "name", None)
        or getattr(loss, "__name__", None)
        or snake_case(type(loss).__name__)
    )


def _missing_target(name: str, y_true: Any, loss: Any) -> str:
    if isinstance(y_true, Mapping):
        given = ", ".join(repr(key) for key in y_true)
        return (
            f"The target of output {name!r} is missing: `y` has the keys {given}, and the output "
            f"has the loss {loss_name(loss)!r}. Add it to `y`, or give the output no loss in "
            "`compile`."
        )
    return (
        "The target `y` is missing (None): the model was compiled with the loss "
        f"{loss_name(loss)!r}, which needs one. Pass "
        "`y=...` to fit or evaluate; a generator or Dataset must yield tuples `(x, y)`."
    )


def leading_length(targets: list, predictions: list) -> int | float:
    """Return the number of samples in the batch; 1 for values without a batch dimension."""
    for value in (*[target for target in targets if target is not None], *predictions):
        shape: Any = getattr(value, "shape", ())
        if len(shape):
            return int(shape[0])
    return 1


def flat_weights(sample_weight: Any, y_pred: Any, names: list[str]) -> list[Any]:
    """Return one sample weight per output; a single array counts for every output."""
    if sample_weight is not None and not isinstance(sample_weight, (list, tuple, Mapping)):
        return [sample_weight] * len(names)
    return flat_targets("sample_weight", sample_weight, y_pred, names)


def matched(target: Any, prediction: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Give target and weight the prediction's rank and type where Keras does: `(n,)` becomes `(n,
    1)`, floats one type.
    """
    target = convert_to_tensor(target)
    if not isinstance(prediction, Tensor) and not hasattr(prediction, "_keras_mask"):
        prediction = convert_to_tensor(prediction)
    if len(target.shape) == 1 and len(prediction.shape) == 2:
        target = ops.expand_dims(target, -1)
    if (
        is_float_dtype(target.dtype)
        and is_float_dtype(prediction.dtype)
        and target.dtype != prediction.dtype
    ):
        target = ops.cast(target, prediction.dtype)
    if weight is not None:
        weight = convert_to_tensor(weight)
        if len(weight.shape) == 1 and len(prediction.shape) == 2:
            weight = ops.expand_dims(weight, -1)
        if is_float_dtype(prediction.dtype):
            weight = ops.cast(weight, prediction.dtype)
    return target, prediction, weight
