"""Arithmetic operators, shared by Tensor, Variable and KerasTensor.

Each operator is one call of `dispatch`, which `_dispatch.py` sets when it is imported. Mixed dtypes
are promoted as in NumPy, in any promotion mode of JAX.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import AnyFunction, P, R, TensorLike
from podium.core._jax_config import jax_config

# The result of an operator: Tensor for Tensors and Variables, KerasTensor for symbolic values.
ResultT = TypeVar("ResultT")


def promote_dtypes(fn: Callable[P, R]) -> Callable[P, R]:
    """Return a JAX function that promotes mixed dtypes even under
    `jax_numpy_dtype_promotion="strict"`.

    Example:
        >>> add = podium.core.promote_dtypes(jnp.add)
        >>> add(jnp.ones(2, "int32"), jnp.ones(2, "float32")).dtype
        dtype('float32')
    """

    @functools.wraps(fn)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if jax_config.jax_numpy_dtype_promotion == "standard":
            return fn(*args, **kwargs)  # the usual case, without the cost of a context
        with jax.numpy_dtype_promotion("standard"):
            return fn(*args, **kwargs)

    return run


def _binary_operator(fn: AnyFunction) -> AnyFunction:
    """Return a binary JAX function that also accepts lists, and promotes dtypes."""
    promoted = promote_dtypes(fn)

    @functools.wraps(fn)
    def run(left: Any, right: Any) -> Any:
        left = jnp.asarray(left) if isinstance(left, (list, tuple)) else left
        right = jnp.asarray(right) if isinstance(right, (list, tuple)) else right
        return promoted(left, right)

    return run


_add = _binary_operator(jnp.add)
_subtract = _binary_operator(jnp.subtract)
_multiply = _binary_operator(jnp.multiply)
_divide = _binary_operator(jnp.true_divide)
_floor_divide = _binary_operator(jnp.floor_divide)
_remainder = _binary_operator(jnp.remainder)
_power = _binary_operator(jnp.power)
_matmul = _binary_operator(jnp.matmul)
_equal = _binary_operator(jnp.equal)
_not_equal = _binary_operator(jnp.not_equal)
_less = _binary_operator(jnp.less)
_less_equal = _binary_operator(jnp.less_equal)
_greater = _binary_operator(jnp.greater)
_greater_equal = _binary_operator(jnp.greater_equal)
_and = _binary_operator(jnp.bitwise_and)
_or = _binary_operator(jnp.bitwise_or)
_xor = _binary_operator(jnp.bitwise_xor)
_left_shift = _binary_operator(jnp.left_shift)
_right_shift = _binary_operator(jnp.right_shift)


def getitem(x: Any, key: Any) -> Any:
    """Index an array; the function that `x[key]` records."""
    return x[key]


class Operators(Generic[ResultT]):
    """The operators `+ - * / // % ** @ < <= > >= == != & | ^ ~ << >> []` through `dispatch`."""

    __slots__ = ()
    # Without it `np_array * tensor` would be a NumPy array.
    __array_priority__ = 1000

    if TYPE_CHECKING:

        def _dispatch(self, fn: AnyFunction, /, *args: Any) -> ResultT: ...

    def __add__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_add, self, other)

    def __radd__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_add, other, self)

    def __sub__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_subtract, self, other)

    def __rsub__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_subtract, other, self)

    def __mul__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_multiply, self, other)

    def __rmul__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_multiply, other, self)

    def __truediv__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_divide, self, other)

    def __rtruediv__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_divide, other, self)

    def __floordiv__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_floor_divide, self, other)

    def __rfloordiv__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_floor_divide, other, self)

    def __mod__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_remainder, self, other)

    def __rmod__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_remainder, other, self)

    def __divmod__(self, other: TensorLike) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: TensorLike) -> tuple[Any, Any]:
        return other // self, other % self

    def __pow__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_power, self, other)

    def __rpow__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_power, other, self)

    def __matmul__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_matmul, self, other)

    def __rmatmul__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_matmul, other, self)

    def __and__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_and, self, other)

    def __rand__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_and, other, self)

    def __or__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_or, self, other)

    def __ror__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_or, other, self)

    def __xor__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_xor, self, other)

    def __rxor__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_xor, other, self)

    def __lshift__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_left_shift, self, other)

    def __rlshift__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_left_shift, other, self)

    def __rshift__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_right_shift, self, other)

    def __rrshift__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_right_shift, other, self)

    def __neg__(self) -> ResultT:
        return self._dispatch(jnp.negative, self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> ResultT:
        return self._dispatch(jnp.abs, self)

    def __invert__(self) -> ResultT:
        return self._dispatch(jnp.invert, self)

    def __round__(self, digits: int = 0) -> ResultT:
        return self._dispatch(jnp.round, self, digits)

    def __eq__(self, other: object) -> ResultT:  # type: ignore[override]
        return NotImplemented if not is_comparable(other) else self._dispatch(_equal, self, other)

    def __ne__(self, other: object) -> ResultT:  # type: ignore[override]
        return (
            NotImplemented if not is_comparable(other) else self._dispatch(_not_equal, self, other)
        )

    def __lt__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_less, self, other)

    def __le__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_less_equal, self, other)

    def __gt__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_greater, self, other)

    def __ge__(self, other: TensorLike) -> ResultT:
        return self._dispatch(_greater_equal, self, other)

    def __getitem__(self, key: Any) -> ResultT:
        return self._dispatch(getitem, self, _resolve_slices(key))

    def __index__(self) -> int:
        raise TypeError(f"{self!r} is not a known integer, so it cannot be an index.")

    def __iter__(self) -> Iterator[ResultT]:
        shape = self.shape  # type: ignore[attr-defined]
        if not shape or shape[0] is None:
            raise TypeError(
                f"Cannot iterate over {self!r}: the size of its first dimension is not known."
            )
        return (self[i] for i in range(shape[0]))

    # Identity, so that values can be keys of dictionaries and members of sets.
    __hash__ = object.__hash__


def is_comparable(other: object) -> bool:
    """Return whether `==` with `other` is an elementwise comparison (not with None or strings)."""
    if isinstance(other, (Operators, bool, int, float, complex, np.generic, list, tuple)):
        return True
    return isinstance(other, (jax.Array, np.ndarray))


def _resolve_slices(key: Any) -> Any:
    """Return an index with ints for slice bounds that are Tensors: `x[:n]` needs a known size."""
    if isinstance(key, tuple):
        return tuple(_resolve_slices(part) for part in key)
    if isinstance(key, slice):
        bounds = (key.start, key.stop, key.step)
        start, stop, step = (
            bound.__index__() if isinstance(bound, Operators) else bound for bound in bounds
        )
        return slice(start, stop, step)
    return key
