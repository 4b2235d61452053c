"""The base of all losses: from targets and predictions to one number, by way of one value for each
sample.
"""

from __future__ import annotations

from typing import Any

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
from podium.losses._inputs import VALUE_TYPES, as_value
from podium.losses._reduction import both_masks, checked_reduction, reduce_weighted


class Loss:
    """A loss. Subclass it for one of your own, or pass a plain function where a loss is expected.

    A subclass writes `call(y_true, y_pred)`, which returns one value for each sample, made with
    `podium.ops`; this class weighs them, leaves out what a mask hides and reduces. Both arguments
    come as Tensors of the loss's dtype.

    Args:
        name: A name; by default that of the class.
        reduction: `"sum_over_batch_size"` or `"mean"` (the mean over all values), `"sum"`,
            `"mean_with_sample_weight"` (the sum divided by the sum of the weights), or `"none"` or
            None for the values as they are. Keras 2's `"auto"` means the first.
        dtype: The type of the computation, or a policy; `podium.core.floatx()` by default.

    Example:
        >>> class Cubic(podium.losses.Loss):
        ...     def call(self, y_true, y_pred):
        ...         return podium.ops.mean(podium.ops.abs(y_true - y_pred) ** 3, axis=-1)
        >>> float(Cubic()([[0.0], [0.0]], [[1.0], [2.0]]))
        4.5
        >>> Cubic(reduction="none")([[0.0], [0.0]], [[1.0], [2.0]], sample_weight=[1.0, 0.5]).numpy()
        array([1., 4.], dtype=float32)
    """

    def __init__(
        self,
        name: str | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: Any = None,
    ):
        self.name = name or auto_name(snake_case(type(self).__name__))
        self.reduction = checked_reduction(reduction)
        self._dtype_policy = get_dtype_policy(dtype or floatx())

    @property
    def dtype(self) -> str:
        """The type that the loss is computed in."""
        return self._dtype_policy.compute_dtype

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return the reduced loss.

        Args:
            y_true: The targets.
            y_pred: The predictions; a mask that layers attached to them is respected.
            sample_weight: A weight for each sample, or for each value.

        Returns:
            A Tensor: a scalar, or the values for the reduction `"none"`.

        Raises:
            ValueError: If `call` returned None, or if weights or mask do not fit its values.
        """
        values = self.call(self._converted(y_true), self._converted(y_pred))
        if values is None:
            raise ValueError(
                f"The loss {self._described()} returned None; one value for each sample was "
                "expected. Is a `return` missing at the end of it?"
            )
        masks = getattr(y_pred, "_keras_mask", None), getattr(values, "_keras_mask", None)
        return dispatch(
            _reduced, as_value(values), as_value(sample_weight), *masks, self.reduction, self.dtype
        )

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return one value for each sample. Override it."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `call(y_true, y_pred)`: define it."
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this loss again."""
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """Make a loss from `get_config`'s result."""
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"

    def _described(self) -> str:
        return f"{type(self).__name__} (named {self.name!r})"

    def _converted(self, x: Any) -> Any:
        """Return Tensors of the loss's dtype, at any depth; lists of bare numbers become one
        Tensor.
        """
        if x is None:
            return None
        holds_values = isinstance(x, (list, tuple)) and any(
            isinstance(leaf, VALUE_TYPES) for leaf in tree_leaves(x)
        )
        nested = isinstance(x, dict) or holds_values
        return (
            map_structure(self._converted, x) if nested else convert_to_tensor(x, dtype=self.dtype)
        )


def _reduced(
    values: Any, sample_weight: Any, mask: Any, own_mask: Any, reduction: str | None, dtype: str
) -> Any:
    return reduce_weighted(values, sample_weight, both_masks(mask, own_mask), reduction, dtype)
