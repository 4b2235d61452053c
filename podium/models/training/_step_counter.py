"""StepCounter: a 64-bit counter of steps that compiled steps can advance.

JAX computes with 32 bits unless a process-wide switch is set, and a counter of 32 bits wraps after
2.1e9 steps. Design note: the value is `high * 2**31 + low` with `0 <= low < 2**31`, in one Variable
`[low, high]` of int32, so that a step has as many arrays as with a plain counter, and strategies,
checkpoints and undoing a failed step need to know nothing about it. Adding carries in uint32, in
which the sum of two low words always fits. `tests/models/test_step_counter.py` guards this, and the
restoring of checkpoints that hold a single int32; see `podium/state/_snapshot.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import AnyFunction, TensorLike
from podium.core import Tensor, Variable, dispatch
from podium.core.internal import Operators, check_int

_BITS = 31
_LOW_MASK = 2**_BITS - 1


class StepCounter(Operators[Tensor]):
    """Counts steps: an int64 Variable for its readers, whatever number of bits JAX computes with.

    Operators compute with 64 bits, and their results have 32 if they are integers. What else reads
    it inside a compiled function gets an int32, which stays at 2**31 - 1 where the count is larger.

    Args:
        name: The name of its Variable.

    Example:
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> counter = model._train_counter
        >>> counter.assign(2**31 - 1).assign_add(2).numpy(), int(counter % 10)
        (np.int64(2147483649), 9)
    """

    dtype = np.dtype("int64")
    shape = ()

    def __init__(self, name: str):
        self.words = Variable(
            np.zeros(2, np.int32),
            trainable=False,
            aggregation="only_first_replica",
            name=name,
        )

    @property
    def name(self) -> str:
        """The name of its Variable."""
        return self.words.name

    @property
    def aggregation(self) -> str:
        """How replicas combine it: each counts the same steps, so it is that of the first one."""
        return self.words.aggregation

    def clear(self) -> None:
        """Set it to 0, without a computation."""
        self.words.clear()

    def assign(self, value: TensorLike) -> Self:
        """Set it to an int, also a traced one, and return it."""
        self.words.assign(jnp.stack(_split_words(value)))
        return self

    def assign_add(self, value: TensorLike) -> Self:
        """Add an int, also a traced one, and return the counter."""
        self.words.assign(dispatch(_add_words, self.words, *_split_words(value)))
        return self

    def assign_sub(self, value: TensorLike) -> Self:
        """Subtract an int, also a traced one, and return the counter."""
        return self.assign_add(-cast(Any, value))

    def numpy(self) -> np.int64:
        """Return the count; waits until it has been computed."""
        low, high = self.words.numpy()
        return np.int64(int(high) * 2**_BITS + int(low))

    def value(self) -> np.int64 | Tensor:
        """Return the count; inside a compiled function as an int32 Tensor, at most 2**31 - 1."""
        words = self.words.read(keep=False)
        if isinstance(words, jax.core.Tracer):
            return cast(Tensor, dispatch(_saturate, self.words))
        return self.numpy()

    read_value = value

    def __int__(self) -> int:
        return int(self.numpy())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.numpy())

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.numpy(), dtype)

    def __jax_array__(self) -> jax.Array:
        return _saturate(self.words.read())

    def __format__(self, spec: str) -> str:
        return format(int(self), spec)

    def __repr__(self) -> str:
        words = self.words.read(keep=False)
        value = "traced" if isinstance(words, jax.core.Tracer) else int(self)
        return f"StepCounter(name={self.name!r}, value={value})"

    def _dispatch(self, fn: AnyFunction, /, *args: Any) -> Tensor:
        """Call an operator with the 64-bit value; a result of 64 bits gets 32."""
        places = [index for index, arg in enumerate(args) if isinstance(arg, StepCounter)]
        words = [args[index].words for index in places]
        rest = [None if index in places else arg for index, arg in enumerate(args)]

        def compute(words: Sequence[jax.Array], rest: list[Any]) -> Any:
            with jax.enable_x64(True):
                for index, word in zip(places, words, strict=True):
                    low, high = word.astype(np.int64)
                    rest[index] = high * 2**_BITS + low
                result = fn(*rest)
            return result.astype(_NARROW.get(result.dtype.name, result.dtype))

        return cast(Tensor, dispatch(compute, words, rest))


_NARROW = {"int64": np.dtype("int32"), "float64": np.dtype("float32")}


def _split_words(value: Any) -> tuple[Any, Any]:
    """Return the low and the high word of an int: of a Python one at any size, or an int32."""
    if isinstance(value, StepCounter):
        low, high = value.words.read()
        return low, high
    value = value.value if isinstance(value, (Tensor, Variable)) else value
    if not isinstance(value, jax.Array):
        high, low = divmod(check_int("value", value, None, owner="StepCounter"), 2**_BITS)
        if not -(2**_BITS) <= high < 2**_BITS:
            raise OverflowError(f"StepCounter was given value={value!r}, beyond 62 bits.")
        return jnp.int32(low), jnp.int32(high)
    value = value.astype(np.int32)
    return value & jnp.int32(_LOW_MASK), value >> _BITS


def _add_words(words: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    total = words[0].astype(np.uint32) + low.astype(np.uint32)
    carry = (total >> _BITS).astype(np.int32)
    return jnp.stack([(total & _LOW_MASK).astype(np.int32), words[1] + high + carry])


def _saturate(words: jax.Array) -> jax.Array:
    return jnp.where(words[1] > 0, jnp.int32(_LOW_MASK), words[0])
