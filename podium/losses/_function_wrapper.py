"""Losses made from functions: `LossFunctionWrapper` for any function, and the base of the built-in
classes. Owns the registry of losses by name, in which a wrapper looks up its function;
`_registry.py` fills it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import jax

from podium._typing import Config, DTypeLike, TensorLike, Tree
from podium.core import (
    NameRegistry,
    dispatch,
    floatx,
    get_registered_object,
    map_structure,
    tree_leaves,
)
from podium.core.internal import is_raw_trace, unwrap_result
from podium.losses._loss import Loss
from podium.losses._loss_function import (
    Values,
    is_loss_function,
    replace_by_logits,
    squeeze_or_expand_to_same_rank,
    to_dispatchable,
)
from podium.losses._reduction import combine_masks, reduce_weighted

registry = NameRegistry("loss", Loss, module="keras.losses")


class LossFunctionWrapper(Loss):
    """A loss made from a function `fn(y_true, y_pred, **kwargs)` that returns one value per sample.

    Where targets and predictions differ by a last axis of size 1, `fn` receives them with the
    same rank.

    Args:
        fn: The function.
        reduction: How to reduce its values; see `Loss`.
        name: The name of the loss.
        dtype: The dtype of the computation.
        **kwargs: Further arguments of `fn`.

    Example:
        >>> def quartic(y_true, y_pred, scale=1.0):
        ...     return scale * podium.ops.mean((y_true - y_pred) ** 4, axis=-1)
        >>> loss = podium.losses.LossFunctionWrapper(quartic, name="quartic", scale=0.5)
        >>> float(loss(np.zeros((2, 1)), np.array([[1.0], [2.0]])))
        4.25
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.fn = fn
        self._fn_kwargs = kwargs

    def __call__(self, y_true: Tree, y_pred: Tree, sample_weight: TensorLike | None = None) -> Any:
        """Return the reduced loss; see `Loss.__call__`."""
        if type(self).call is not LossFunctionWrapper.call or not is_loss_function(self.fn):
            return super().__call__(y_true, y_pred, sample_weight)
        self._check_replica_reduction()
        mask = getattr(y_pred, "_keras_mask", None)
        y_pred, _, options = replace_by_logits(self.fn, y_pred, (), self._fn_kwargs)
        # A built-in function: values, weights and reduction are one entry on a tape.
        reduced = dispatch(
            self._reduced_loss,
            to_dispatchable(y_true),
            to_dispatchable(y_pred),
            to_dispatchable(sample_weight),
            mask,
            **options,
        )
        return unwrap_result(reduced) if is_raw_trace(y_pred) else reduced

    def call(self, y_true: Values, y_pred: Values) -> Any:
        """Return one value for each sample."""
        if not is_loss_function(self.fn):  # built-in functions match the ranks themselves
            y_true, y_pred = _match_tree_ranks(y_true, y_pred)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> Config:
        """Return the arguments that make this loss again."""
        return super().get_config() | {"fn": registry.serialize(self.fn)} | self._fn_kwargs

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Make a loss from `get_config`'s result."""
        return (
            cls(**config | {"fn": resolve_loss(config["fn"])}) if "fn" in config else cls(**config)
        )

    def _describe(self) -> str:
        return getattr(self.fn, "__name__", type(self.fn).__name__)

    def _reduced_loss(
        self, y_true: Values, y_pred: Values, sample_weight: Any, mask: Any, **kwargs: Any
    ) -> Any:
        values = self.fn.raw(y_true, y_pred.astype(self.dtype), **kwargs)  # type: ignore[attr-defined]
        values, loss_mask = values if isinstance(values, tuple) else (values, None)
        return reduce_weighted(
            values, sample_weight, combine_masks(mask, loss_mask), self.reduction, self.dtype
        )


class BuiltInLoss(LossFunctionWrapper):
    """The base of the built-in classes: the arguments of the function are attributes, and the
    config. Abstract: each subclass brings a function.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: str | None,
        name: str | None,
        dtype: Any,
        **options: Any,
    ):
        super().__init__(fn, reduction, name, dtype, **options)
        for option, value in options.items():
            setattr(self, option, value)

    def get_config(self) -> Config:
        """Return the arguments that make this loss again."""
        dtype = {} if self._dtype_policy.name == floatx() else {"dtype": self._dtype_policy.name}
        return Loss.get_config(self) | self._fn_kwargs | dtype


def resolve_loss(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return the loss that a name or a config means, also a config of a function by Keras."""
    if isinstance(config, Mapping) and config.get("class_name") == "function":
        config = config["config"]
    if isinstance(config, str):
        registered = get_registered_object(config, custom_objects)
        return registry.get(config if registered is None else registered)
    return registry.deserialize(config, custom_objects)


def _match_tree_ranks(y_true: Values, y_pred: Values) -> tuple[Any, Any]:
    """Match the ranks of every target and its prediction, if both have the same structure."""
    true_tree, pred_tree = (
        str(jax.tree.structure(map_structure(lambda leaf: 0, values)))
        for values in (y_true, y_pred)
    )
    if true_tree != pred_tree:
        return y_true, y_pred
    pairs = [
        squeeze_or_expand_to_same_rank(true, pred)
        for true, pred in zip(tree_leaves(y_true), tree_leaves(y_pred), strict=True)
    ]
    trues, preds = iter([true for true, _ in pairs]), iter([pred for _, pred in pairs])
    return map_structure(lambda _: next(trues), y_true), map_structure(
        lambda _: next(preds), y_pred
    )
