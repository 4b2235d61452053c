"""Loss: the base of all losses. It converts, weights, masks and reduces what `call` returns, one
value per sample.
"""

from __future__ import annotations

from typing import Any, Self

import jax

from podium._typing import Config, DTypeLike, TensorLike, Tree
from podium.core import (
    auto_name,
    convert_to_tensor,
    dispatch,
    floatx,
    get_dtype_policy,
    map_structure,
    snake_case,
    tree_leaves,
)
from podium.core.internal import context, is_raw_trace, unwrap_result
from podium.losses._loss_function import VALUE_TYPES, check_result, to_dispatchable
from podium.losses._reduction import check_reduction, combine_masks, reduce_weighted


class Loss:
    """The base class of losses. Subclass it, or pass a function where a loss is expected.

    A subclass implements `call(y_true, y_pred)`, which returns one value per sample, computed with
    `podium.ops`; this class applies weights and masks, and reduces. Both arguments are Tensors of
    the loss's dtype.

    Args:
        name: The name; by default derived from the class.
        reduction: `"sum_over_batch_size"` or `"mean"` (the mean over all values), `"sum"`,
            `"mean_with_sample_weight"` (the sum divided by the sum of the weights), or `"none"` or
            None for the values themselves. Keras 2's `"auto"` means the first.
        dtype: The dtype of the computation, or a policy; `podium.core.floatx()` by default.

    Example:
        >>> class Cubic(podium.losses.Loss):
        ...     def call(self, y_true, y_pred):
        ...         return podium.ops.mean(podium.ops.abs(y_true - y_pred) ** 3, axis=-1)
        >>> float(Cubic()([[0.0], [0.0]], [[1.0], [2.0]]))
        4.5
        >>> loss = Cubic(reduction="none")
        >>> loss([[0.0], [0.0]], [[1.0], [2.0]], sample_weight=[1.0, 0.5]).numpy()
        array([1., 4.], dtype=float32)
    """

    def __init__(
        self,
        name: str | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: DTypeLike | None = None,
    ):
        self.name = name or auto_name(snake_case(type(self).__name__))
        self.reduction = check_reduction(reduction)
        self._dtype_policy = get_dtype_policy(dtype or floatx())

    @property
    def dtype(self) -> str:
        """The dtype that the loss is computed in."""
        return self._dtype_policy.compute_dtype

    def __call__(self, y_true: Tree, y_pred: Tree, sample_weight: TensorLike | None = None) -> Any:
        """Return the reduced loss.

        Args:
            y_true: The targets.
            y_pred: The predictions; a mask that layers attached to them is respected.
            sample_weight: A weight for each sample, or for each value.

        Returns:
            A Tensor: a scalar, or the values for the reduction `"none"`. If raw JAX traces bare
            predictions, as in `jax.grad`, a bare array.

        Raises:
            TypeError: `call` returned text, a list or another thing that is not a value.
            ValueError: `call` returned None, the shape of weights or mask does not match, or a mean
                is computed on one of several replicas.
        """
        self._check_replica_reduction()
        values = self.call(self._convert(y_true), self._convert(y_pred))
        check_result("loss", self._describe(), values)
        masks = getattr(y_pred, "_keras_mask", None), getattr(values, "_keras_mask", None)
        reduced = dispatch(
            _reduce_masked,
            to_dispatchable(values),
            to_dispatchable(sample_weight),
            *masks,
            self.reduction,
            self.dtype,
        )
        return unwrap_result(reduced) if is_raw_trace(y_pred) else reduced

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return one value for each sample. Override it."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `call(y_true, y_pred)`: define it."
        )

    def get_config(self) -> Config:
        """Return the arguments that make this loss again."""
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Make a loss from `get_config`'s result."""
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"

    def _check_replica_reduction(self) -> None:
        """Refuse means inside `Strategy.run`: replicas sum their gradients, as in Keras 2."""
        is_on_replica = context.replica_axes is not None and not context.scales_means
        if is_on_replica and self.reduction not in ("sum", "none", None):
            raise ValueError(
                f"The loss {self._describe()} has reduction={self.reduction!r} and was called in "
                "`strategy.run`, where the gradients of all replicas are summed: with n replicas "
                "the update would be n times too large. Use `reduction='sum'` or 'none' and divide "
                "by the size of the global batch, or pass the loss to `compile` and call "
                "`model.compute_loss(...)`, which scales means."
            )

    def _describe(self) -> str:
        return f"{type(self).__name__} (named {self.name!r})"

    def _convert(self, x: Tree) -> Tree:
        """Return Tensors of the loss's dtype, in the same structure; lists of numbers become one
        Tensor.
        """
        if x is None:
            return None
        holds_values = isinstance(x, (list, tuple)) and any(
            isinstance(leaf, VALUE_TYPES) for leaf in tree_leaves(x)
        )
        nested = isinstance(x, dict) or holds_values
        return map_structure(self._convert, x) if nested else convert_to_tensor(x, dtype=self.dtype)


def _reduce_masked(
    values: jax.Array,
    sample_weight: jax.Array | None,
    mask: jax.Array | None,
    loss_mask: jax.Array | None,
    reduction: str | None,
    dtype: str,
) -> jax.Array:
    combined = combine_masks(mask, loss_mask)
    reduced: jax.Array = reduce_weighted(values, sample_weight, combined, reduction, dtype)
    return reduced
