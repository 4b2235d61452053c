"""Losses made of functions: `LossFunctionWrapper` for any function, and the base of Podium's own
classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from podium.core import dispatch, floatx, map_structure, tree_leaves
from podium.losses._family import family, resolve
from podium.losses._inputs import as_value, is_own, same_rank
from podium.losses._loss import Loss
from podium.losses._reduction import both_masks, reduce_weighted


class LossFunctionWrapper(Loss):
    """A loss made of a function `fn(y_true, y_pred, **kwargs)` that returns one value for each
    sample.

    Where targets and predictions differ by a last axis of length 1, `fn` gets them with the same
    rank.

    Args:
        fn: The function.
        reduction: How to reduce its values; see `Loss`.
        name: A name.
        dtype: The type of the computation.
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
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.fn = fn
        self._fn_kwargs = kwargs

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return the reduced loss; see `Loss.__call__`."""
        if type(self).call is not LossFunctionWrapper.call or not is_own(self.fn):
            return super().__call__(y_true, y_pred, sample_weight)
        mask = getattr(y_pred, "_keras_mask", None)
        # Podium's own function: values, weights and reduction are one entry on a tape.
        return dispatch(
            self._fused,
            as_value(y_true),
            as_value(y_pred),
            as_value(sample_weight),
            mask,
            **self._fn_kwargs,
        )

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return one value for each sample."""
        if not is_own(self.fn):  # Podium's own functions match the ranks themselves
            y_true, y_pred = _same_ranks(y_true, y_pred)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this loss again."""
        return super().get_config() | {"fn": family.serialize(self.fn)} | self._fn_kwargs

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """Make a loss from `get_config`'s result."""
        return cls(**config | {"fn": resolve(config["fn"])}) if "fn" in config else cls(**config)

    def _described(self) -> str:
        return getattr(self.fn, "__name__", type(self.fn).__name__)

    def _fused(self, y_true: Any, y_pred: Any, sample_weight: Any, mask: Any, **kwargs: Any) -> Any:
        values = self.fn.raw(y_true, y_pred.astype(self.dtype), **kwargs)  # type: ignore[attr-defined]
        values, own_mask = values if isinstance(values, tuple) else (values, None)
        return reduce_weighted(
            values, sample_weight, both_masks(mask, own_mask), self.reduction, self.dtype
        )


class OwnLoss(LossFunctionWrapper):
    """The base of Podium's classes: the function's arguments are attributes, and the whole
    config.
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

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this loss again."""
        dtype = {} if self._dtype_policy.name == floatx() else {"dtype": self._dtype_policy.name}
        return Loss.get_config(self) | self._fn_kwargs | dtype


def _same_ranks(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Match the ranks of every target and its prediction, if both have the same structure."""
    true_tree, pred_tree = (
        str(jax.tree.structure(map_structure(lambda leaf: 0, values)))
        for values in (y_true, y_pred)
    )
    if true_tree != pred_tree:
        return y_true, y_pred
    pairs = [
        same_rank(true, pred)
        for true, pred in zip(tree_leaves(y_true), tree_leaves(y_pred), strict=True)
    ]
    trues, preds = iter([true for true, _ in pairs]), iter([pred for _, pred in pairs])
    return map_structure(lambda _: next(trues), y_true), map_structure(
        lambda _: next(preds), y_pred
    )
