"""Names of TensorFlow's and Keras's sources that are part of no public API, but that forks of
Keras's training loop import: waiting for the device, tracing, decorators, constants of files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
from jax.experimental import sparse

from podium._typing import TensorLike
from podium.core import convert_to_tensor
from podium.core.internal import is_tracing

_T = TypeVar("_T")

SAVED_MODEL_FILENAME_PB = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT = "saved_model.pbtxt"
VARIABLES_DIRECTORY = "variables"
VARIABLES_FILENAME = "variables"


def async_wait() -> None:
    """Wait until everything that was started on the devices is computed, and callbacks have run."""
    jax.block_until_ready([array for array in jax.live_arrays() if not array.is_deleted()])
    jax.effects_barrier()


def inside_function() -> bool:
    """Return whether the running code is traced to be compiled."""
    return is_tracing()


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
    """
