"""Tensor: the value type of the public API, a thin wrapper around a `jax.Array` or a tracer.

It has operators in both directions and converts to NumPy, but has none of ndarray's method names,
so that `np.squeeze(x)` and the like return NumPy arrays. It owns no gradient logic: tapes track
Tensors by identity.
"""

from __future__ import annotations

import linecache
import operator
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import DTypeLike, Shape, T, TensorLike
from podium.core import _errors
from podium.core._context import context
from podium.core._validation import as_number_array
from podium.core.tensor._operators import Operators
from podium.core.tensor._text import tensor_repr, tensor_str

if TYPE_CHECKING:
    from podium.core.tensor._logits import Logits


class Tensor(Operators["Tensor"]):
    """An array of values of one dtype.

    Returned by `podium.convert_to_tensor`, by every function of `podium.ops` and by layers. It
    behaves like a NumPy array in expressions, and `.numpy()` returns one.

    Args:
        value: A jax.Array, a NumPy array, nested lists or a scalar.

    Example:
        >>> x = podium.Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> (2 * x + 1).numpy()
        array([[3., 5.],
               [7., 9.]], dtype=float32)
        >>> x.shape, float(x[1, 1])
        ((2, 2), 4.0)
    """

    # `_is_batch` is set by iterators alone: see `mark_batch`; `metric` by a metric whose result
    # this is.
    __slots__ = ("__weakref__", "_is_batch", "_keras_logits", "_keras_mask", "_value", "metric")

    _is_batch: bool
    metric: object

    def __init__(self, value: TensorLike):
        if isinstance(value, Tensor):
            value = value._value
        elif not isinstance(value, jax.Array):
            value = jnp.asarray(as_number_array(value))
        self._value: jax.Array = value
        self._keras_mask: Tensor | None = None
        self._keras_logits: Logits | None = None

    @property
    def value(self) -> jax.Array:
        """The bare `jax.Array`.

        Raises:
            TapedValueError: An open tape records this Tensor, so that the gradient would be lost.
        """
        check_not_recorded(self)
        return self._value

    @property
    def shape(self) -> Shape:
        """The size of each dimension."""
        return self._value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self._value.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._value.shape)

    @property
    def device(self) -> jax.Device | jax.sharding.Sharding:
        """The device or sharding on which the value is stored."""
        return self._value.device

    def get_shape(self) -> Shape:
        """Return the shape; an older name of TensorFlow."""
        return self._value.shape

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a NumPy copy; waits until the value has been computed."""
        return np.array(convert_array(np.asarray, self._value))

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        array = convert_array(np.asarray, self._value)
        if copy or dtype not in (None, array.dtype):
            return np.array(array, dtype=dtype)
        return array

    def __jax_array__(self) -> Any:
        return defer_or_unwrap(self, lambda: self._value, sys._getframe(1))

    def __len__(self) -> int:
        if not self._value.shape:
            raise TypeError("A Tensor without dimensions has no len(); its shape is ().")
        return self._value.shape[0]

    def __bool__(self) -> bool:
        return convert_array(bool, self._value)

    def __int__(self) -> int:
        return convert_array(int, drop_axes(self._value))

    def __float__(self) -> float:
        return convert_array(float, drop_axes(self._value))

    def __complex__(self) -> complex:
        return convert_array(complex, drop_axes(self._value))

    def __index__(self) -> int:
        return convert_array(operator.index, self._value)

    def __format__(self, spec: str) -> str:
        if not self._value.shape and not isinstance(self._value, jax.core.Tracer):
            return format(np.asarray(self._value)[()], spec)  # as a number, to print losses
        return format(str(self), spec)

    def __repr__(self) -> str:
        return tensor_repr(self._value, self.dtype.name)

    def __str__(self) -> str:
        return tensor_str(self._value, self.dtype.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return Tensor(self._value)  # arrays are immutable, so copies share them


def wrap(value: jax.Array) -> Tensor:
    """Wrap a jax.Array in a Tensor without any check."""
    tensor = Tensor.__new__(Tensor)
    tensor._value = value
    tensor._keras_mask = None
    tensor._keras_logits = None
    return tensor


def mark_batch(tensor: Tensor) -> Tensor:
    """Mark a Tensor as a batch of samples that an iterator returned, and return it.

    `Strategy.run` splits it among the replicas. What is computed from it has no mark.
    """
    tensor._is_batch = True
    return tensor


def is_batch(value: object) -> bool:
    """Return whether a value is a batch that an iterator returned."""
    return getattr(value, "_is_batch", False)


def is_recorded(value: object) -> bool:
    """Return whether an open tape that is recording tracks this value."""
    return any(tape.recording and tape.tracks(value) for tape in context.tapes)


def check_not_recorded(value: object, frame: FrameType | None = None) -> None:
    """Raise a TapedValueError if passing `value` to raw JAX would lose a gradient."""
    if is_recorded(value):
        name = _jax_function_name(frame or sys._getframe(2))
        text = _errors.TAPED_VALUE_IN_JAX
        raise _errors.TapedValueError(text.format(function=name, example=name.rsplit(".", 1)[-1]))


def defer_or_unwrap(value: T, unwrap: Callable[[], jax.Array], frame: FrameType) -> T | jax.Array:
    """Return the result of `__jax_array__`.

    JAX calls it in two cases. In `jax_array * tensor` it must not return an array, or the product
    would bypass `Tensor.__rmul__`: for any other result JAX returns NotImplemented and Podium's
    operator runs. In `jnp.sum(tensor)` it returns the array, unless a tape records the value.

    Args:
        value: The Tensor or Variable.
        unwrap: Returns its array.
        frame: The frame of the caller of `__jax_array__`.
    """
    if frame.f_code.co_name.startswith(("_operator_", "deferring_binary_op")):
        return value
    check_not_recorded(value, frame)
    return unwrap()


_JAX_CALL = re.compile(
    r"\b((?:jnp|jax\.numpy|jax\.nn|nn|jax\.lax|lax|jsp|jax\.scipy)(?:\.\w+)*\.\w+)\s*\("
)


def _jax_function_name(frame: FrameType | None) -> str:
    """Return the JAX function that the user's source line calls; `jnp.sum` if there is none."""
    while frame is not None and "/jax/" in frame.f_code.co_filename.replace("\\", "/"):
        frame = frame.f_back
    while frame is not None:
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if match := _JAX_CALL.search(line):
            return match.group(1)
        frame = frame.f_back if "podium" in frame.f_globals.get("__name__", "") else None
    return "jnp.sum"


_NOT_CONCRETE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
)


def convert_array(convert: Callable[[Any], T], value: jax.Array) -> T:
    """Convert an array to Python or NumPy values; the error for a tracer explains the cause."""
    try:
        return convert(value)
    except _NOT_CONCRETE as error:
        raise TypeError(
            f"{convert.__name__}() was called on a Tensor of shape {value.shape} inside a compiled "
            "function, where its values are not known yet. Use `ops.where` or `ops.cond` to choose "
            "by a value, return the value and read it outside, or find the line with "
            "`podium.run_functions_eagerly(True)`."
        ) from error
    except jax.errors.UnexpectedTracerError as error:
        raise _errors.LeakedValueError(_errors.LEAKED_VALUE) from error


def drop_axes(value: jax.Array) -> jax.Array:
    """Return the number in an array of one; any other array unchanged."""
    return value.reshape(()) if value.ndim and value.size == 1 else value


def _flatten(tensor: Tensor) -> tuple[tuple[Any], None]:
    check_not_recorded(tensor)
    return (tensor._value,), None


# Raw JAX flattens a Tensor: jit, vmap, scan and tree.map accept structures of them.
jax.tree_util.register_pytree_node(Tensor, _flatten, lambda _, children: wrap(children[0]))
