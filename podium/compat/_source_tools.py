"""Names of TensorFlow's and Keras's sources that are part of no public API, but that forks of
Keras's training loop import: waiting for the device, tracing, decorators, constants of files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, TypeVar

import jax
import numpy as np
from jax.experimental import sparse

from podium._typing import TensorLike
from podium.core import KerasTensor, Tensor, convert_to_tensor

_T = TypeVar("_T")

SAVED_MODEL_FILENAME_PB = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT = "saved_model.pbtxt"
VARIABLES_DIRECTORY = "variables"
VARIABLES_FILENAME = "variables"


def async_wait() -> None:
    """Wait until everything that was started on the devices is computed, and callbacks have run."""
    jax.block_until_ready([array for array in jax.live_arrays() if not array.is_deleted()])
    jax.effects_barrier()


def get_keras_mask(value: object) -> Tensor | KerasTensor | None:
    """Return the mask that a Tensor carries, or None.

    Example:
        >>> from podium.compat import keras3
        >>> tokens = podium.layers.Embedding(5, 2, mask_zero=True)(np.array([[3, 0]]))
        >>> keras3.backend.get_keras_mask(tokens).numpy()
        array([[ True, False]])
    """
    mask: Tensor | KerasTensor | None = getattr(value, "_keras_mask", None)
    return mask


def set_keras_mask(value: Tensor | KerasTensor, mask: Any) -> None:
    """Attach a mask to a Tensor; None removes it.

    Example:
        >>> from podium.compat import keras3
        >>> tensor = ops.ones((1, 2))
        >>> keras3.backend.set_keras_mask(tensor, ops.array([[True, False]]))
        >>> keras3.backend.get_keras_mask(tensor).numpy()
        array([[ True, False]])
    """
    value._keras_mask = mask


def class_weight_to_sample_weights(y: TensorLike, class_weights: Mapping[int, float]) -> Any:
    """Return the weight of each target's class as a NumPy array; 1 for other classes.

    Args:
        y: Numbers of classes, or one-hot rows.
        class_weights: Weights by the numbers of classes.
    """
    classes = np.asarray(y)
    if classes.ndim > 1:
        classes = classes[..., 0] if classes.shape[-1] == 1 else classes.argmax(-1)
    weights = np.ones(classes.shape, "float32")
    for number, weight in class_weights.items():
        weights[np.round(classes) == number] = weight
    return weights


def in_grain_data_pipeline() -> bool:
    """Return whether a pipeline of Grain has called, which passes results on as NumPy arrays."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if os.path.join("grain", "_src", "python") in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def in_tf_graph() -> bool:
    """Return False: nothing is traced into a graph of TensorFlow."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """Return True: outside of compiled functions, operations always run eagerly."""
    return True


class keras_export:
    """Decorator of Keras's public names: returns what it is applied to.

    Args:
        *names: The public names.
        **options: Other options, such as `v1`.
    """

    def __init__(self, *names: str, **options: Any):
        self.names = names

    def __call__(self, target: _T) -> _T:
        return target


tf_export = keras_export


def do_not_generate_docs(target: _T) -> _T:
    """Return what the decorator is applied to."""
    return target


def make_decorator(
    target: Callable[..., Any], decorator_func: Callable[..., Any], *args: Any, **kwargs: Any
) -> Callable[..., Any]:
    """Return a function that replaces `target`, with its name and docstring."""
    for attribute in ("__name__", "__doc__", "__module__", "__qualname__"):
        setattr(decorator_func, attribute, getattr(target, attribute, None))
    decorator_func.__dict__["__wrapped__"] = target
    return decorator_func


def disallow_legacy_graph(class_name: str, method_name: str) -> None:
    """Do nothing: there are no graphs of TensorFlow 1."""


def filter_traceback(fn: _T) -> _T:
    """Return what the decorator is applied to: tracebacks show every call."""
    return fn


class ModeKeys:
    """The names of the three kinds of runs."""

    TRAIN = "train"
    TEST = "test"
    PREDICT = "predict"


def path_to_string(path: object) -> object:
    """Return a path-like object as a string, and other values as they are."""
    return os.fspath(path) if isinstance(path, os.PathLike) else path


class V1Optimizer:
    """The base class of TensorFlow 1's optimizers, of which Podium has none.

    It exists for `isinstance` checks and to be refused by `compile`.
    """


class ModelVersionSelector:
    """A base class that selects between versions of Keras: there is one here."""


class _SparseTensorFactory(type):
    def __call__(
        cls, indices: TensorLike, values: TensorLike, dense_shape: Sequence[int]
    ) -> sparse.BCOO:
        arrays = (convert_to_tensor(values).value, convert_to_tensor(indices).value)
        return sparse.BCOO(arrays, shape=tuple(int(size) for size in dense_shape))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, sparse.BCOO)


class SparseTensor(metaclass=_SparseTensorFactory):
    """Create a sparse array of JAX, `jax.experimental.sparse.BCOO`, with TensorFlow's arguments.

    Args:
        indices: The positions, one row each.
        values: The value at each position.
        dense_shape: The shape of the array.

    Example:
        >>> import podium.compat.tensorflow as tf
        >>> tf.SparseTensor(indices=[[0, 1]], values=[5.0], dense_shape=[2, 2]).todense()
        Array([[0., 5.],
               [0., 0.]], dtype=float32)
    """
