"""CompiledLoss: the losses passed to `compile`, one per output, and their means over the epoch.

It owns the matching of losses, weights and targets with outputs. The losses themselves are in
`podium/losses`.
"""

from __future__ import annotations

import inspect
import numbers
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax

from podium import ops
from podium._typing import TensorLike, Tree
from podium.core import Tensor, Variable, convert_to_tensor, is_float_dtype, snake_case
from podium.core.internal import PublicRepr, override
from podium.distribute import scale_loss_for_distribution
from podium.distribute.internal import num_traced_replicas
from podium.losses import Loss, LossFunctionWrapper
from podium.losses import get as get_loss
from podium.metrics import Mean, resolve_accuracy
from podium.models.compile._output_mapping import (
    flatten_outputs,
    flatten_targets,
    layer_names,
    output_names,
    to_outputs,
)


class CompiledLoss(PublicRepr):
    """`model.compiled_loss`: computes the loss of a batch and its mean over the epoch.

    Args:
        loss: A loss (name, function or object) for all outputs, a list or a dictionary by output
            name, or the structure of the outputs; None for no loss, also for one of the outputs.
        loss_weights: The weight of each output's loss: a list or a dictionary of numbers.
        outputs: The model's symbolic outputs, if they are known.

    Example:
        >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        >>> model.compile(loss="mse")
        >>> float(model.compiled_loss(np.zeros((3, 1), "float32"), podium.ops.ones((3, 1))))
        1.0
        >>> [metric.name for metric in model.compiled_loss.metrics]
        ['loss']
    """

    def __init__(self, loss: Tree, loss_weights: Tree = None, outputs: Tree = None):
        self._loss_argument = loss
        self._weights_argument = loss_weights
        self._aliases = None if outputs is None else layer_names(outputs)
        self._names: list[str] = []
        self._losses: list[Loss | None] = []
        self._weights: list[float | None] = []
        self._mean: LossMean | None = None
        self._output_means: list[Mean | None] = []
        self._built = False
        _check_losses(loss)
        if outputs is not None:
            self._resolve(outputs)

    @property
    def losses(self) -> list[Loss | None]:
        """One loss per output, None for an output without; empty until the outputs are known."""
        return self._losses

    @property
    def has_losses(self) -> bool:
        """Whether `compile` was given a loss."""
        return self._loss_argument is not None

    def losses_for(self, outputs: Tree) -> list[Loss | None]:
        """Return one loss per output, for outputs that became known after `compile`."""
        if not self._losses:
            self._resolve(outputs)
        return self._losses

    @property
    def metrics(self) -> list[Mean]:
        """The running means: `loss` first, then one per output if there are several."""
        return [mean for mean in (self._mean, *self._output_means) if mean is not None]

    def reset_state(self) -> None:
        """Reset the means."""
        for mean in self.metrics:
            mean.reset_state()

    def _resolve(self, structure: Tree) -> list[str]:
        """Set the loss and the weight of each output, and return the names of the outputs."""
        names = output_names(structure, self._aliases)
        loss, weights = self._loss_argument, self._weights_argument
        if isinstance(loss, (list, tuple, Mapping)) and not _is_config(loss):
            by_output = to_outputs("loss", loss, structure, names, self._aliases)
        else:
            by_output = [loss] * len(names)
        self._losses = [
            _find_loss(_unwrap_loss(identifier, name))
            for identifier, name in zip(by_output, names, strict=True)
        ]
        if weights is not None and not isinstance(weights, (list, tuple, Mapping)):
            weights = [weights] * len(names)
        self._weights = to_outputs("loss_weights", weights, structure, names, self._aliases)
        for weight in self._weights:
            if weight is not None and (
                isinstance(weight, bool) or not isinstance(weight, (numbers.Real, Tensor, Variable))
            ):
                raise TypeError(
                    f"`loss_weights` holds {weight!r}; numbers were expected, one per output."
                )
        return names

    def build(self, y_pred: Tree) -> list[str]:
        """Create the means when the outputs are known, and return the names of the outputs."""
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
        self,
        y_true: Tree,
        y_pred: Tree,
        sample_weight: Tree = None,
        regularization_losses: Iterable[TensorLike] | None = None,
    ) -> Tensor:
        """Return the total loss of a batch, and update the running means with it, weighted by the
        size of the batch.

        Args:
            y_true: Targets in the structure of the outputs.
            y_pred: The model's outputs.
            sample_weight: Weights in the structure of the targets, or one for all outputs.
            regularization_losses: Further losses to add, such as `model.losses`.

        Returns:
            The total; zero if there is no loss.
        """
        names = self.build(y_pred)
        predictions = flatten_outputs(y_pred)
        has_loss = [loss is not None for loss in self._losses]
        targets = flatten_targets("y", y_true, y_pred, names, has_loss)
        weights = flatten_weights(sample_weight, y_pred, names)
        values: list[Any] = []
        shares: list[Any] = []  # of this replica in `values`
        replicas = num_traced_replicas()
        batch_size = leading_size(targets, predictions)
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
                    continue  # None in a list: this output has no target
                raise ValueError(_missing_target_message(name, y_true, loss))
            target, prediction, weight = align_ranks(target, prediction, weight)
            with override(scales_means=True):
                value = loss(target, prediction, sample_weight=weight)
            if value is None:
                raise ValueError(
                    f"The loss {loss_name(loss)!r} returned None. A loss function must return "
                    "its values."
                )
            is_sum = loss.reduction in _SUMS
            # Means count each replica as a batch; a sum is that of all of them.
            shown = value * replicas if loss.reduction == "sum" and replicas > 1 else value
            if mean is not None:
                mean.update_state(shown, sample_weight=batch_size)
            weight = 1.0 if factor is None else ops.cast(factor, value.dtype)
            values.append(shown if factor is None else shown * weight)
            shares.append(value * weight if is_sum else scale_loss_for_distribution(values[-1]))
        for value in regularization_losses or []:
            values.append(ops.sum(convert_to_tensor(value)))
            shares.append(scale_loss_for_distribution(values[-1]))
        if not values:
            return ops.zeros(())
        assert self._mean is not None
        total = _add(values)
        self._mean.track(total, batch_size)
        # In `strategy.run`, where gradients are summed over replicas, the share of this one.
        return total if replicas == 1 else _add(shares)


# Reductions to a sum: the shares of replicas add up without being scaled.
_SUMS = ("sum", "none", None)


def _add(values: list[Any]) -> Tensor:
    total: Tensor = values[0]
    for value in values[1:]:
        total = total + ops.cast(value, total.dtype)
    return total


class LossMean(Mean):
    """The running mean named `loss`.

    A step that updates it with the total once more, as steps written for Keras 3 do, changes
    nothing.
    """

    def __init__(self) -> None:
        super().__init__(name="loss")
        self._tracked: weakref.ref[Tensor] | None = None

    def track(self, total: Tensor, batch_size: float) -> None:
        """Update the mean with the total loss of a batch."""
        super().update_state(total, sample_weight=batch_size)
        self._tracked = weakref.ref(total)

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Update the mean with values, unless they are the total that `compiled_loss` has tracked
        already.
        """
        if self._tracked is None or self._tracked() is not values:
            super().update_state(values, sample_weight)

    def stateless_update_state(
        self, metric_variables: Sequence[TensorLike], *args: Any, **kwargs: Any
    ) -> list[jax.Array]:
        """Return the values of `variables` after `update_state`, which starts from other values
        than those that were tracked.
        """
        self._tracked = None
        return super().stateless_update_state(metric_variables, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tracked": None}


class CrossentropyByShape(Loss):
    """`loss="crossentropy"`: binary, categorical or sparse, as the shapes of a batch require."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the crossentropy of each sample."""
        metric = resolve_accuracy("crossentropy", tuple(y_true.shape), tuple(y_pred.shape))
        return get_loss(snake_case(metric.__name__))(y_true, y_pred)


def _is_config(loss: object) -> bool:
    return isinstance(loss, Mapping) and "class_name" in loss


def _check_losses(loss: Tree) -> None:
    """Raise for what is not a loss, whether or not the outputs are known."""
    if isinstance(loss, (list, tuple, Mapping)) and not _is_config(loss):
        for item in loss.values() if isinstance(loss, Mapping) else loss:
            _check_losses(item)
    elif loss is not None:
        _find_loss(loss)


def _unwrap_loss(identifier: Any, output_name: str) -> Any:
    """Return the loss of an output, which may be in a list, as metrics are."""
    while isinstance(identifier, (list, tuple)):
        if len(identifier) != 1:
            raise ValueError(
                f"`loss` has {len(identifier)} losses for the output {output_name!r}: "
                f"{identifier!r}; one was expected. Add them up in a function of "
                "`(y_true, y_pred)`."
            )
        identifier = identifier[0]
    return identifier


def _find_loss(identifier: Any) -> Loss | None:
    """Return the loss for a name, function, config or loss."""
    if identifier is None:
        return None
    if isinstance(identifier, str) and identifier.lower() in ("crossentropy", "ce"):
        return CrossentropyByShape(identifier)
    loss = get_loss(identifier)
    check_call_arguments(
        "loss", loss_name(identifier), loss.call if isinstance(loss, Loss) else loss
    )
    if isinstance(loss, Loss):
        return loss
    return LossFunctionWrapper(loss, name=loss_name(identifier))


def check_call_arguments(
    kind: str, name: str, function: Callable[..., Any], *, weighted: bool = False
) -> None:
    """Raise if a loss or metric cannot be called with targets and predictions.

    Args:
        kind: "loss" or "metric".
        name: Its name, for the message.
        function: What is called with `(y_true, y_pred)`.
        weighted: Whether it is called with `sample_weight=...` as well.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a function in C: unknown
    keywords = {"sample_weight": None} if weighted else {}
    try:
        signature.bind(None, None, **keywords)
    except TypeError as error:
        arguments = "(y_true, y_pred, sample_weight=...)" if weighted else "(y_true, y_pred)"
        hint = "" if signature.parameters else f" Did you mean what it returns, `{name}()`?"
        raise TypeError(
            f"The {kind} {name!r} has the signature {signature} and is called with {arguments}: "
            f"{error}.{hint}"
        ) from error


def loss_name(loss: object) -> str:
    """Return the name of a loss or metric in the logs."""
    if isinstance(loss, str):
        return loss
    name = getattr(loss, "name", None) or getattr(loss, "__name__", None)
    return str(name or snake_case(type(loss).__name__))


def _missing_target_message(name: str, y_true: Tree, loss: Loss) -> str:
    if isinstance(y_true, Mapping):
        keys = ", ".join(repr(key) for key in y_true)
        return (
            f"The target of output {name!r} is missing: `y` has the keys {keys}, and the output "
            f"has the loss {loss_name(loss)!r}. Add it to `y`, or give the output no loss in "
            "`compile`."
        )
    return (
        "The target `y` is missing (None): the model was compiled with the loss "
        f"{loss_name(loss)!r}, which needs one. Pass "
        "`y=...` to fit or evaluate; a generator or Dataset must yield tuples `(x, y)`."
    )


def leading_size(targets: Iterable[object], predictions: Iterable[object]) -> int:
    """Return the number of samples in the batch; 1 for values without a batch dimension."""
    for value in (*targets, *predictions):
        shape: Sequence[Any] = getattr(value, "shape", ())
        if len(shape):
            return int(shape[0])
    return 1


def flatten_weights(sample_weight: Tree, y_pred: Tree, names: list[str]) -> list[Any]:
    """Return one sample weight per output; a single array is used for every output."""
    if sample_weight is not None and not isinstance(sample_weight, (list, tuple, Mapping)):
        return [sample_weight] * len(names)
    return flatten_targets("sample_weight", sample_weight, y_pred, names)


def align_ranks(
    target: Any, prediction: Any, weight: Any
) -> tuple[Tensor, Tensor | Any, Tensor | None]:
    """Return target, prediction and weight with the same rank and float dtype, as Keras does:
    `(n,)` becomes `(n, 1)`.
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
