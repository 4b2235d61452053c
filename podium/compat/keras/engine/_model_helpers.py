"""Helpers of Keras 2's `Model` that are functions of their own: what a batch holds, which layers
are trainable, where loops over data may run, and results for the user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import jax
import numpy as np

from podium._typing import Tree
from podium.core import Tensor, TensorSpec, Variable, map_structure
from podium.core.internal import PublicRepr
from podium.data import unpack_x_y_sample_weight
from podium.models import Model
from podium.models.internal import check_outside_trace, logs_to_list


def unpack(data: Tree) -> tuple[Tree, Tree]:
    """Return `(x, y)` of the argument of `train_step`; `y` is None if there is none.

    Raises:
        ValueError: The batch has sample weights, which would be lost.

    Example:
        >>> from podium.compat.keras.engine import data_adapter
        >>> data_adapter.unpack(("x", "y"))
        ('x', 'y')
    """
    x, y, sample_weight = unpack_x_y_sample_weight(data)
    if sample_weight is not None:
        raise ValueError(
            "`unpack` was given a batch with sample weights, which `(x, y)` would leave out. Use "
            "`x, y, sample_weight = unpack_x_y_sample_weight(data)`."
        )
    return x, y


class RespectCompiledTrainableState(PublicRepr):
    """Inside the block, the layers of a model are trainable as they were when it was compiled.

    `fit` does this itself; a training loop that replaces it does it with this class.

    Args:
        model: The model. Before `compile`, nothing changes.

    Example:
        >>> from podium.compat.keras.engine import training_utils
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> model.layers[0].trainable = False
        >>> with training_utils.RespectCompiledTrainableState(model):
        ...     model.layers[0].trainable
        True
        >>> model.layers[0].trainable
        False
    """

    def __init__(self, model: Model):
        state = model._compile_state.trainable_state
        self._enforced: contextlib.AbstractContextManager[None] = (
            contextlib.nullcontext() if state is None else state.enforce(trains=False)
        )

    def __enter__(self) -> None:
        self._enforced.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return self._enforced.__exit__(kind, error, traceback)


def get_tensor_spec(
    t: Tensor | Variable, dynamic_batch: bool = False, name: str | None = None
) -> TensorSpec:
    """Return a TensorSpec with the shape and dtype of a value.

    Args:
        t: A Tensor, Variable or array.
        dynamic_batch: Whether the first dimension of the spec is None.
        name: The name of the spec.

    Example:
        >>> from podium.compat.keras.engine import tf_utils
        >>> tf_utils.get_tensor_spec(podium.ops.ones((2, 3)), dynamic_batch=True).shape
        (None, 3)
    """
    shape: tuple[int | None, ...] = tuple(t.shape)
    if dynamic_batch and shape:
        shape = (None, *shape[1:])
    return TensorSpec(shape, t.dtype, name)


def disallow_inside_tf_function(method_name: str) -> None:
    """Raise RuntimeError inside a compiled function: a loop over data cannot be part of one.

    Args:
        method_name: The name of the method that is called.
    """
    check_outside_trace(method_name)


def flatten_metrics_in_order(logs: Mapping[str, Any], metrics_names: Sequence[str]) -> Any:
    """Return logs as a list in the order of the metrics, others last; or the only value.

    Example:
        >>> from podium.compat.keras.engine import training
        >>> training.flatten_metrics_in_order({"mae": 2.0, "loss": 1.0}, ["loss", "mae"])
        [1.0, 2.0]
    """
    return logs_to_list(logs, list(metrics_names))


def sync_to_numpy_or_python_type(tensors: Tree) -> Tree:
    """Wait for values, and return NumPy arrays in their place, or Python numbers for scalars.

    Args:
        tensors: A structure. What is not a Tensor, Variable or array is returned as it is.

    Example:
        >>> from podium.compat.keras.engine import tf_utils
        >>> tf_utils.sync_to_numpy_or_python_type({"loss": podium.Tensor(0.5), "name": "a"})
        {'loss': 0.5, 'name': 'a'}
    """

    def convert(value: Any) -> Any:
        if not isinstance(value, (Tensor, Variable, jax.Array, np.ndarray, np.generic)):
            return value
        array = np.array(value)
        return array if array.ndim else array.item()

    return map_structure(convert, tensors)
