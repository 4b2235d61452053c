"""The losses given to `compile`, one per output, added up with their weights and averaged over the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium import losses as losses_room
from podium import ops
from podium.core import Tensor, convert_to_tensor, is_float_dtype, leaves_of, snake_case
from podium.metrics import Mean
from podium.models._outputs import flat_targets, output_names, spread


class CompiledLoss:
    """`model.compiled_loss`: computes the loss of a batch and keeps its mean over the epoch.

    Args:
        loss: A loss (name, function or object) for all outputs, a list or a dictionary by output name; or None.
        loss_weights: How much each output's loss counts: a list or a dictionary of numbers.
        names: The names of the model's outputs, where they are known already.
        aliases: Other names for them: the layers' names where outputs are a dictionary.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> model.compile(loss="mse")
        >>> float(model.compiled_loss(np.zeros((3, 1), "float32"), podium.ops.ones((3, 1))))
        1.0
        >>> [metric.name for metric in model.compiled_loss.metrics]
        ['loss']
    """

    def __init__(self, loss: Any, loss_weights: Any = None, names: list[str] | None = None, aliases: Any = None):
        self._given = loss
        self._given_weights = loss_weights
        self._names = names
        self._aliases = aliases
        self._losses: list[Any] = []
        self._weights: list[float | None] = []
        self._mean: Mean | None = None
        self._output_means: list[Mean | None] = []
        self._built = False
        _check_losses(loss)
        if names is not None:
            self._resolve(names)

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

    def _resolve(self, names: list[str]) -> None:
        """Find out each output's loss and weight."""
        given, weights = self._given, self._given_weights
        if given is None:
            self._losses = [None] * len(names)
        elif isinstance(given, (list, tuple, Mapping)) and not _is_config(given):
            self._losses = [_as_loss(one) for one in spread("loss", _flat_list(given), names, self._aliases)]
        else:
            self._losses = [_as_loss(given) for _ in names]
        if isinstance(weights, (int, float)):
            weights = [weights] * len(names)
        self._weights = spread("loss_weights", weights, names, self._aliases)
        for weight in self._weights:
            if weight is not None and (isinstance(weight, bool) or not isinstance(weight, (int, float))):
                raise TypeError(f"`loss_weights` holds {weight!r}; numbers were expected, one per output.")

    def _build(self, y_pred: Any) -> list[str]:
        """Name the outputs and make the means; later calls find it done."""
        names = output_names(y_pred, self._names)
        if not self._built:
            self._resolve(names)
            self._mean = Mean(name="loss")
            if len(names) > 1:
                self._output_means = [
                    Mean(name=f"{name}_loss") if loss is not None else None
                    for name, loss in zip(names, self._losses, strict=True)
                ]
            else:
                self._output_means = [None]
            self._built = True
        return names

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None) -> Any:
        """Return the total loss of a batch, and take it into the running means, weighted by the batch's size.

        Args:
            y_true: Targets in the structure of the outputs.
            y_pred: The model's outputs.
            sample_weight: Weights in the structure of the targets, or one for all outputs.
            regularization_losses: Further losses to add, such as `model.losses`.

        Returns:
            The total; zero when there is no loss at all.
        """
        names = self._build(y_pred)
        predictions = leaves_of(y_pred)
        targets = flat_targets("y", y_true, y_pred, names)
        weights = flat_weights(sample_weight, y_pred, names)
        values = []
        batch_size = leading_length(targets, predictions)
        rows = zip(self._losses, self._weights, self._output_means, names, targets, predictions, weights, strict=True)
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
                raise ValueError(f"The loss {loss_name(loss)!r} returned None. A loss function must return its values.")
            if mean is not None:
                mean.update_state(value, sample_weight=batch_size)
            values.append(value if factor is None else value * factor)
        values.extend(ops.sum(convert_to_tensor(value)) for value in regularization_losses or [])
        if not values:
            return ops.zeros(())
        total = values[0]
        for value in values[1:]:
            total = total + ops.cast(value, total.dtype)
        assert self._mean is not None
        self._mean.update_state(total, sample_weight=batch_size)
        return total


def _is_config(given: Any) -> bool:
    return isinstance(given, Mapping) and "class_name" in given


def _flat_list(given: Any) -> Any:
    """Open nested lists, so that a loss per output can be given in the outputs' own structure."""
    if isinstance(given, Mapping):
        return given
    flat: list[Any] = []
    for one in given:
        flat.extend(_flat_list(one) if isinstance(one, (list, tuple)) else [one])
    return flat


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
    return getattr(loss, "name", None) or getattr(loss, "__name__", None) or snake_case(type(loss).__name__)


def _missing_target(name: str, y_true: Any, loss: Any) -> str:
    if isinstance(y_true, Mapping):
        given = ", ".join(repr(key) for key in y_true)
        return (
            f"The target of output {name!r} is missing: `y` has the keys {given}, and the output has the loss "
            f"{loss_name(loss)!r}. Add it to `y`, or give the output no loss in `compile`."
        )
    return (
        f"The target `y` is missing (None): the model was compiled with the loss {loss_name(loss)!r}, which needs one. Pass "
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
    """Give target and weight the prediction's rank and type where Keras does: `(n,)` becomes `(n, 1)`, floats one type."""
    target = convert_to_tensor(target)
    if not isinstance(prediction, Tensor) and not hasattr(prediction, "_keras_mask"):
        prediction = convert_to_tensor(prediction)
    if len(target.shape) == 1 and len(prediction.shape) == 2:
        target = ops.expand_dims(target, -1)
    if is_float_dtype(target.dtype) and is_float_dtype(prediction.dtype) and target.dtype != prediction.dtype:
        target = ops.cast(target, prediction.dtype)
    if weight is not None:
        weight = convert_to_tensor(weight)
        if len(weight.shape) == 1 and len(prediction.shape) == 2:
            weight = ops.expand_dims(weight, -1)
        if is_float_dtype(prediction.dtype):
            weight = ops.cast(weight, prediction.dtype)
    return target, prediction, weight
