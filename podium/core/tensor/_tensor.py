"""Tensor: the one value type that users see, a thin wrapper around a `jax.Array` or a tracer.

It has operators both ways and turns into NumPy on demand, but none of ndarray's method names, so
that `np.squeeze(x)` and the like give NumPy arrays. It owns no gradient logic: tapes know Tensors
by identity.
"""

from __future__ import annotations

import linecache
import operator
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import _errors
from podium.core._context import context
from podium.core._validation import as_number_array
from podium.core.tensor._dtypes import standardize_dtype
from podium.core.tensor._operators import Operators


class Tensor(Operators):
    """A value: numbers of one type in a rectangular shape.

    Made by `podium.convert_to_tensor`, by every function of `podium.ops` and by calling layers. It
    behaves like a NumPy array in expressions, and `.numpy()` gives one.

    Args:
        value: Numbers: a jax.Array, a NumPy array, nested lists or a scalar.

    Example:
        >>> x = podium.Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> (2 * x + 1).numpy()
        array([[3., 5.],
               [7., 9.]], dtype=float32)
        >>> x.shape, float(x[1, 1])
        ((2, 2), 4.0)
    """

    __slots__ = ("__weakref__", "_keras_mask", "_value")

    def __init__(self, value: Any):
        if isinstance(value, Tensor):
            value = value._value
        elif not isinstance(value, jax.Array):
            value = jnp.asarray(as_number_array(value))
        self._value: Any = value
        self._keras_mask: Any = None

    @property
    def value(self) -> jax.Array:
        """The bare `jax.Array`. Refused while an open tape records this value: the gradient would
        be cut.
        """
        refuse_if_recorded(self)
        return self._value

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return self._value.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the numbers."""
        return self._value.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._value.shape)

    @property
    def device(self) -> Any:
        """The device or sharding that the value lives on."""
        return self._value.device

    def get_shape(self) -> tuple[int, ...]:
        """Return the shape; TensorFlow's older word for it."""
        return self._value.shape

    def numpy(self) -> np.ndarray:
        """Return a NumPy copy; waits until the value has been computed."""
        return np.array(read_numbers(np.asarray, self._value))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = read_numbers(np.asarray, self._value)
        return np.array(array, dtype=dtype) if copy or dtype not in (None, array.dtype) else array

    def __jax_array__(self) -> Any:
        return defer_or_unwrap(self, lambda: self._value, sys._getframe(1))

    def __len__(self) -> int:
        if not self._value.shape:
            raise TypeError("A Tensor without dimensions has no len(); its shape is ().")
        return self._value.shape[0]

    def __bool__(self) -> bool:
        return read_numbers(bool, self._value)

    def __int__(self) -> int:
        return read_numbers(int, self._value)

    def __float__(self) -> float:
        return read_numbers(float, self._value)

    def __complex__(self) -> complex:
        return read_numbers(complex, self._value)

    def __index__(self) -> int:
        return read_numbers(operator.index, self._value)

    def __format__(self, spec: str) -> str:
        if not self._value.shape and not isinstance(self._value, jax.core.Tracer):
            return format(np.asarray(self._value)[()], spec)  # a number, as people print losses
        return format(str(self), spec)

    def __repr__(self) -> str:
        head = f"shape={self.shape}, dtype={standardize_dtype(self.dtype)}"
        if isinstance(self._value, jax.core.Tracer):
            return f"<podium.Tensor {head}, inside a trace>"
        return f"<podium.Tensor {head}, value={np.array2string(np.asarray(self._value), threshold=20)}>"

    def __deepcopy__(self, memo: dict) -> Tensor:
        return Tensor(self._value)  # arrays never change, so a copy may share them


def wrap(value: Any) -> Tensor:
    """Make a Tensor of a jax.Array without any check: for results of our own."""
    tensor = Tensor.__new__(Tensor)
    tensor._value = value
    tensor._keras_mask = None
    return tensor


def is_recorded(value: Any) -> bool:
    """Tell whether a tape that is open and recording right now knows this value."""
    return any(tape.recording and tape.tracks(value) for tape in context.tapes)


def refuse_if_recorded(value: Any, frame: FrameType | None = None) -> None:
    """Raise TapedValueError if handing `value` to raw JAX would cut a gradient."""
    if is_recorded(value):
        name = _jax_function_name(frame or sys._getframe(2))
        text = _errors.TAPED_VALUE_IN_JAX
        raise _errors.TapedValueError(text.format(function=name, example=name.rsplit(".", 1)[-1]))


def defer_or_unwrap(value: Any, unwrap: Callable[[], Any], frame: FrameType) -> Any:
    """Answer JAX's `__jax_array__` question.

    JAX asks it in two places. In `jax_array * tensor` it must not get an array, or the product
    would bypass `Tensor.__rmul__`: given anything else, it returns NotImplemented and our operator
    runs. In `jnp.sum(tensor)` it may have the array, unless a tape would lose sight of it.
    """
    if frame.f_code.co_name.startswith(("_operator_", "deferring_binary_op")):
        return value
    refuse_if_recorded(value, frame)
    return unwrap()


_JAX_CALL = re.compile(
    r"\b((?:jnp|jax\.numpy|jax\.nn|nn|jax\.lax|lax|jsp|jax\.scipy)(?:\.\w+)*\.\w+)\s*\("
)


def _jax_function_name(frame: FrameType | None) -> str:
    """Guess from the user's source line which JAX function was called; `jnp.sum` if nothing is
    found.
    """
    while frame is not None and "/jax/" in frame.f_code.co_filename.replace("\\", "/"):
        frame = frame.f_back
    while frame is not None:
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if found := _JAX_CALL.search(line):
            return found.group(1)
        frame = frame.f_back if "podium" in frame.f_globals.get("__name__", "") else None
    return "jnp.sum"


_NOT_CONCRETE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
)


def read_numbers(convert: Callable[[Any], Any], value: Any) -> Any:
    """Turn an array into Python or NumPy numbers; explain it if the value is still being traced."""
    try:
        return convert(value)
    except _NOT_CONCRETE as error:
        raise TypeError(
            f"{convert.__name__}() was asked of a Tensor of shape {value.shape} inside a compiled "
            "function, where it stands for numbers that are not known yet. Use `ops.where` or "
            "`ops.cond` to choose by a value, return the value and read it outside, or find the "
            "spot with `podium.run_functions_eagerly(True)`."
        ) from error
    except jax.errors.UnexpectedTracerError as error:
        raise _errors.LeakedValueError(_errors.LEAKED_VALUE) from error


def _flatten(tensor: Tensor) -> tuple[tuple[Any], None]:
    refuse_if_recorded(tensor)
    return (tensor._value,), None


# Raw JAX sees through a Tensor: jit, vmap, scan and tree.map accept structures that hold some.
jax.tree_util.register_pytree_node(Tensor, _flatten, lambda _, children: wrap(children[0]))
