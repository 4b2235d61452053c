"""Arithmetic signs, shared by Tensor, Variable and KerasTensor.

Each sign is one call of `dispatch`, which `_dispatch.py` plugs in when it is imported. Mixed types
are promoted as NumPy users expect, whatever JAX's promotion mode is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np


def promote_dtypes(fn: Callable) -> Callable:
    """Make a JAX function promote mixed dtypes even under `jax_numpy_dtype_promotion="strict"`.

    Example:
        >>> add = podium.core.promote_dtypes(jnp.add)
        >>> add(jnp.ones(2, "int32"), jnp.ones(2, "float32")).dtype
        dtype('float32')
    """

    @functools.wraps(fn)
    def promoted(*args: Any, **kwargs: Any) -> Any:
        if jax.config.jax_numpy_dtype_promotion == "standard":  # type: ignore[attr-defined]
            return fn(*args, **kwargs)  # the usual case, spared the cost of a context
        with jax.numpy_dtype_promotion("standard"):
            return fn(*args, **kwargs)

    return promoted


def _sign(fn: Callable) -> Callable:
    """Make a binary JAX function take lists beside arrays, and promote."""
    promoted = promote_dtypes(fn)

    @functools.wraps(fn)
    def run(left: Any, right: Any) -> Any:
        left = jnp.asarray(left) if isinstance(left, (list, tuple)) else left
        right = jnp.asarray(right) if isinstance(right, (list, tuple)) else right
        return promoted(left, right)

    return run


_add, _subtract, _multiply = _sign(jnp.add), _sign(jnp.subtract), _sign(jnp.multiply)
_divide, _floor_divide = _sign(jnp.true_divide), _sign(jnp.floor_divide)
_remainder, _power, _matmul = _sign(jnp.remainder), _sign(jnp.power), _sign(jnp.matmul)
_equal, _not_equal = _sign(jnp.equal), _sign(jnp.not_equal)
_less, _less_equal = _sign(jnp.less), _sign(jnp.less_equal)
_greater, _greater_equal = _sign(jnp.greater), _sign(jnp.greater_equal)
_and, _or, _xor = _sign(jnp.bitwise_and), _sign(jnp.bitwise_or), _sign(jnp.bitwise_xor)
_left_shift, _right_shift = _sign(jnp.left_shift), _sign(jnp.right_shift)


def getitem(x: Any, key: Any) -> Any:
    """Index an array; the function that `x[key]` records."""
    return x[key]


class Operators:
    """The signs `+ - * / // % ** @ < <= > >= == != & | ^ ~ << >> []` over `dispatch`."""

    __slots__ = ()
    # NumPy arrays on the left give way to us; without it `np_array * tensor` would be a NumPy
    # array.
    __array_priority__ = 1000
    _dispatch: ClassVar[Callable[..., Any]]

    def __add__(self, other: Any) -> Any:
        return self._dispatch(_add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self._dispatch(_add, other, self)

    def __sub__(self, other: Any) -> Any:
        return self._dispatch(_subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._dispatch(_subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return self._dispatch(_multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._dispatch(_multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._dispatch(_divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._dispatch(_divide, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._dispatch(_floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._dispatch(_floor_divide, other, self)

    def __mod__(self, other: Any) -> Any:
        return self._dispatch(_remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._dispatch(_remainder, other, self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return self._dispatch(_power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._dispatch(_power, other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._dispatch(_matmul, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._dispatch(_matmul, other, self)

    def __and__(self, other: Any) -> Any:
        return self._dispatch(_and, self, other)

    def __rand__(self, other: Any) -> Any:
        return self._dispatch(_and, other, self)

    def __or__(self, other: Any) -> Any:
        return self._dispatch(_or, self, other)

    def __ror__(self, other: Any) -> Any:
        return self._dispatch(_or, other, self)

    def __xor__(self, other: Any) -> Any:
        return self._dispatch(_xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._dispatch(_xor, other, self)

    def __lshift__(self, other: Any) -> Any:
        return self._dispatch(_left_shift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._dispatch(_left_shift, other, self)

    def __rshift__(self, other: Any) -> Any:
        return self._dispatch(_right_shift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._dispatch(_right_shift, other, self)

    def __neg__(self) -> Any:
        return self._dispatch(jnp.negative, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._dispatch(jnp.abs, self)

    def __invert__(self) -> Any:
        return self._dispatch(jnp.invert, self)

    def __round__(self, digits: int = 0) -> Any:
        return self._dispatch(jnp.round, self, digits)

    def __eq__(self, other: Any) -> Any:
        return NotImplemented if not is_comparable(other) else self._dispatch(_equal, self, other)

    def __ne__(self, other: Any) -> Any:
        return (
            NotImplemented if not is_comparable(other) else self._dispatch(_not_equal, self, other)
        )

    def __lt__(self, other: Any) -> Any:
        return self._dispatch(_less, self, other)

    def __le__(self, other: Any) -> Any:
        return self._dispatch(_less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return self._dispatch(_greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return self._dispatch(_greater_equal, self, other)

    def __getitem__(self, key: Any) -> Any:
        return self._dispatch(getitem, self, _plain_key(key))

    def __index__(self) -> int:
        raise TypeError(f"{self!r} is no known whole number, so it cannot be an index.")

    def __iter__(self) -> Iterator[Any]:
        shape = self.shape  # type: ignore[attr-defined]
        if not shape or shape[0] is None:
            raise TypeError(
                f"Cannot iterate over {self!r}: its first dimension is not a known number."
            )
        return (self[i] for i in range(shape[0]))

    # Identity, so that values can be keys of dictionaries and members of sets.
    __hash__ = object.__hash__


def is_comparable(other: Any) -> bool:
    """Tell whether `==` with `other` means an elementwise comparison (None and strings do not)."""
    if isinstance(other, (Operators, bool, int, float, complex, np.generic, list, tuple)):
        return True
    return isinstance(other, (jax.Array, np.ndarray))


def _plain_key(key: Any) -> Any:
    """Make slice bounds that are Tensors into integers: `x[:n]` needs a known size."""
    if isinstance(key, tuple):
        return tuple(_plain_key(part) for part in key)
    if isinstance(key, slice):
        bounds = (key.start, key.stop, key.step)
        start, stop, step = (
            bound.__index__() if isinstance(bound, Operators) else bound for bound in bounds
        )
        return slice(start, stop, step)
    return key
