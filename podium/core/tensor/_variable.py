"""Variable: named state that changes. Weights, optimizer slots, metric sums and seeds are all
Variables.

A Variable is a name for a value, not the value. Where the value lives (in itself, in a compiled
step's Store, or in the Scope of a running trace) is settled in `_context.py`; this file owns what
users see.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import _errors
from podium.core._context import context, override
from podium.core._names import auto_name, current_path
from podium.core._validation import as_number_array, check_int_range
from podium.core.compile._variable_store import VariableStore, write_count
from podium.core.tensor._dtypes import is_float_dtype, standardize_dtype
from podium.core.tensor._operators import Operators
from podium.core.tensor._placement import Placement
from podium.core.tensor._tensor import (
    Tensor,
    defer_or_unwrap,
    is_recorded,
    read_numbers,
    refuse_if_recorded,
    wrap,
)


class Variable(Operators):
    """A named value that can be changed in place, also inside compiled functions.

    Args:
        initializer: The first value: numbers, or a callable. A callable is given `(shape,
            dtype=...)` when `shape` is given, and nothing otherwise.
        shape: The shape, needed only when `initializer` is a callable that wants it.
        dtype: The type to keep; by default the type of the value, or float32.
        trainable: Whether gradient tapes watch it by themselves.
        autocast: Whether mixed-precision layers may see it in their compute type.
        name: A name without "/"; by default `variable`, `variable_1`, ...
        constraint: A function of the value that optimizers apply after an update.
        aggregation: How replicas combine it: "none", "mean", "sum" or "only_first_replica".
        synchronization: Kept for Keras's signature; XLA keeps replicas in step by itself.
        regularizer: A function of the value whose result a layer adds to its losses.

    Example:
        >>> count = podium.Variable(0, name="count", trainable=False)
        >>> _ = count.assign_add(2)
        >>> count.numpy()
        array(2, dtype=int32)
        >>> podium.Variable(lambda: 3.0).assign([1.0, 2.0])
        Traceback (most recent call last):
        ValueError: Variable 'variable' has shape () and was assigned a value of shape (2,). The
            shapes \
must be equal; reshape the value, or make a new Variable.
    """

    def __init__(
        self,
        initializer: Any,
        shape: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        aggregation: str | None = "none",
        synchronization: str = "auto",
        name: str | None = None,
        constraint: Callable | None = None,
        regularizer: Callable | None = None,
    ):
        name = name or auto_name("variable")
        if not isinstance(name, str) or "/" in name:
            raise ValueError(
                f"Variable name={name!r} was given; a string without '/' was expected."
            )
        self._name = name
        self._path = current_path(name)
        self.trainable = bool(trainable)
        self.frozen = False  # trainable in itself, but a layer around it is not
        self.autocast = autocast
        self.aggregation = aggregation or "none"
        self.synchronization = synchronization
        self.constraint = constraint
        self.regularizer = regularizer
        self.overwrite_with_gradient = False
        self.home: VariableStore | None = (
            None  # the compiled step's list that holds the value, if any does
        )
        self.slot = 0
        self.exposed = False  # somebody outside holds the very array, so it must not be donated
        self.source: Tensor | None = (
            None  # the recorded Tensor last assigned: gradients pass through it
        )
        self.placement: Placement | None = None  # how a strategy spreads the value over devices
        self._value = _initial_value(self, initializer, shape, dtype)
        self._shape = tuple(self._value.shape)
        self._dtype = self._value.dtype
        if context.layout is not None:
            self.placement = context.layout.placement_of(self, self._value)
            self._value = self.placement.place_value(context.layout.first_value(self._value))
        if context.scope is not None:
            context.scope.note_created(self)

    # --- what it is

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._name

    @property
    def path(self) -> str:
        """The name with the names of the layers around it, such as `model/dense/kernel`."""
        return self._path

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension; it never changes."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    @property
    def dtype(self) -> Any:
        """The type of the numbers, or the layer's compute type inside a mixed-precision layer."""
        if context.autocast_dtype and self.autocast and is_float_dtype(self._dtype):
            return jnp.dtype(context.autocast_dtype)
        return self._dtype

    # --- where the value lives (for the rooms of core; users read `value`)

    @property
    def stored(self) -> Any:
        """The value outside of all traces."""
        value = self._value if self.home is None else self.home.values[self.slot]
        return value if type(value) is not np.ndarray else self._placed(value)

    @stored.setter
    def stored(self, value: Any) -> None:
        if isinstance(value, jax.core.Tracer):
            raise _errors.LeakedValueError(
                f"Variable {self._path!r} was assigned a value of a trace that it does not belong "
                "to, for example inside `jax.jit` or `jax.grad`. Use `podium.function` and "
                "`podium.GradientTape`, which carry state, or return the value."
            )
        write_count[0] += 1
        if self.placement is not None:
            value = self.placement.place_value(value)
        # Whoever assigned may still hold this very array, so the next compiled step must not donate
        # it.
        if self.home is None:
            self._value, self.exposed = value, True
        else:
            self.home.values[self.slot] = value
            self.home.exposed.add(self.slot)

    def _placed(self, zeros: np.ndarray) -> Any:
        """Bring zeros that `clear` left on the host to the device, for somebody who looks at
        them.
        """
        with jax.ensure_compile_time_eval():  # also while something is traced
            value = jnp.asarray(zeros) if self.placement is None else self.placement.place_value(zeros)
        if self.home is None:
            self._value = value
        else:
            self.home.values[self.slot] = value
        return value

    @property
    def held(self) -> Any:
        """The value as it lies here: the stored one, or zeros on the host."""
        return self._value if self.home is None else self.home.values[self.slot]

    def leave_home(self, value: Any, exposed: bool) -> None:
        """Take the value back from a dissolved Store."""
        self._value, self.home, self.exposed = value, None, exposed

    def read(self) -> Any:
        """Return the bare value as the running trace sees it, in the stored type."""
        scope = context.scope
        return self.expose() if scope is None else scope.read(self)

    def _peek(self) -> Any:
        """Return the bare value to somebody who does not keep it."""
        return self.stored if context.scope is None else context.scope.read(self)

    def expose(self) -> Any:
        """Return the stored value to somebody who may keep it, such as a tape: no compiled step may
        donate it.
        """
        if self.home is None:
            self.exposed = True
        else:
            self.home.exposed.add(self.slot)
        return self.stored

    def read_cast(self) -> Any:
        """Return the bare value in the type that the running layer computes in."""
        return self.cast_for_layer(self.read())

    def cast_for_layer(self, value: Any) -> Any:
        """Cast a value of this Variable to the running layer's compute type, if it asked for
        that.
        """
        wanted = context.autocast_dtype
        if wanted is None or value.dtype == wanted or not self.autocast:
            # without this look, an eager taped layer would spend a fifth of its time on casts
            return value
        return value.astype(wanted) if jnp.issubdtype(value.dtype, jnp.floating) else value

    # --- reading

    @property
    def value(self) -> Any:
        """The value now: a jax.Array, or a Tensor connected to the tape while a tape is recording
        it.
        """
        if is_recorded(self):
            return self._dispatch(_identity, self)
        return self.read_cast()

    def read_value(self) -> Tensor:
        """Return the value as a Tensor that later assignments do not change."""
        return self._dispatch(_identity, self)

    def numpy(self) -> np.ndarray:
        """Return a NumPy copy; waits until the value has been computed."""
        return np.array(read_numbers(np.asarray, self._peek()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()  # a copy, since the buffer may be donated later
        return array if dtype is None else array.astype(dtype)

    def __jax_array__(self) -> Any:
        return defer_or_unwrap(self, self.read_cast, sys._getframe(1))

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError(f"Variable {self._path!r} has no dimensions and so no len().")
        return self._shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read_value())

    def __bool__(self) -> bool:
        return read_numbers(bool, self._peek())

    def __int__(self) -> int:
        return read_numbers(int, self._peek())

    def __float__(self) -> float:
        return read_numbers(float, self._peek())

    def __index__(self) -> int:
        return read_numbers(operator.index, self._peek())

    def __format__(self, spec: str) -> str:
        return format(self.read_value(), spec) if spec else str(self)

    def __repr__(self) -> str:
        value = self._peek()
        shown = ""
        if not isinstance(value, jax.core.Tracer):
            shown = f", value={np.array2string(np.asarray(value), threshold=20)}"
        return f"<Variable path={self._path}, shape={self._shape}, dtype={self._dtype}{shown}>"

    def __deepcopy__(self, memo: dict) -> Variable:
        copy = Variable(
            self.numpy(), None, self._dtype, self.trainable, self.autocast, self.aggregation,
            self.synchronization, self._name, self.constraint, self.regularizer,
        )  # fmt: skip
        copy._path = self._path
        memo[id(self)] = copy
        return copy

    def __getstate__(self) -> dict[str, Any]:
        """Return what `copy.copy` and `pickle` take: the value itself, not the step that holds
        it.
        """
        own = {
            "_value": jnp.array(self._peek(), copy=True),
            "home": None,
            "slot": 0,
            "exposed": False,
            "source": None,
        }
        if self.placement is not None:  # devices are of this process; a copy starts on one of them
            own |= {"_value": jnp.asarray(self.numpy()), "placement": None}
        return vars(self) | own

    # --- changing

    def clear(self) -> None:
        """Set the value to zeros. Outside of traces nothing is computed: the next compiled step
        takes them from the host.

        Example:
            >>> total = podium.Variable(3.0)
            >>> total.clear()
            >>> float(total)
            0.0
        """
        if context.scope is not None or is_recorded(self):
            self.assign(jnp.zeros(self._shape, self._dtype))
            return
        write_count[0] += 1
        zeros: Any = np.zeros(self._shape, self._dtype)
        if self.placement is not None:
            zeros = self.placement.place_value(zeros)
        if self.home is None:
            self._value, self.exposed = zeros, False
        else:
            self.home.values[self.slot] = zeros
            self.home.exposed.discard(self.slot)

    def assign(self, value: Any) -> Tensor:
        """Replace the value. The shape must be equal; the type may widen (int to float), never
        narrow.

        Returns:
            The new value.
        """
        value = value if isinstance(value, (Tensor, Variable)) else self._number(value)
        self._check_assignable(value)
        if isinstance(value, Tensor) and value.dtype == self._dtype:
            new = value
        elif isinstance(value, (Tensor, Variable)):
            with override(
                autocast_dtype=None, bare_arrays=False
            ):  # the stored type, whatever a layer computes in
                new = self._dispatch(_cast_copy, value, self._dtype)
        else:
            # A copy: JAX may share memory with NumPy, and the caller may reuse it.
            new = wrap(jnp.array(value, self._dtype, copy=isinstance(value, np.ndarray)))
        if context.scope is not None:
            context.scope.write(self, new._value)
        else:
            self.stored = new._value
        self.source = new if is_recorded(new) else None
        return new

    def assign_add(self, value: Any) -> Tensor:
        """Add to the value in place and return the sum."""
        return self._update(jnp.add, value)

    def assign_sub(self, value: Any) -> Tensor:
        """Subtract from the value in place and return the difference."""
        return self._update(jnp.subtract, value)

    def scatter_update(self, indices: Any, updates: Any) -> Tensor:
        """Replace the rows at `indices` (along the first dimension) by `updates`."""
        return self._scatter("set", indices, updates)

    def scatter_add(self, indices: Any, updates: Any) -> Tensor:
        """Add `updates` to the rows at `indices`; repeated indices add up."""
        return self._scatter("add", indices, updates)

    def scatter_sub(self, indices: Any, updates: Any) -> Tensor:
        """Subtract `updates` from the rows at `indices`."""
        return self._scatter("subtract", indices, updates)

    def scatter_mul(self, indices: Any, updates: Any) -> Tensor:
        """Multiply the rows at `indices` by `updates`."""
        return self._scatter("multiply", indices, updates)

    def scatter_div(self, indices: Any, updates: Any) -> Tensor:
        """Divide the rows at `indices` by `updates`."""
        return self._scatter("divide", indices, updates)

    def scatter_min(self, indices: Any, updates: Any) -> Tensor:
        """Lower the rows at `indices` to `updates` where those are smaller."""
        return self._scatter("min", indices, updates)

    def scatter_max(self, indices: Any, updates: Any) -> Tensor:
        """Raise the rows at `indices` to `updates` where those are larger."""
        return self._scatter("max", indices, updates)

    def scatter_nd_update(self, indices: Any, updates: Any) -> Tensor:
        """Replace the entries at `indices`, whose last dimension holds one index per dimension."""
        return self._scatter("set", indices, updates, nd=True)

    def scatter_nd_add(self, indices: Any, updates: Any) -> Tensor:
        """Add to the entries at `indices`, whose last dimension holds one index per dimension."""
        return self._scatter("add", indices, updates, nd=True)

    def scatter_nd_sub(self, indices: Any, updates: Any) -> Tensor:
        """Subtract from the entries at `indices`, whose last dimension holds one index per
        dimension.
        """
        return self._scatter("subtract", indices, updates, nd=True)

    def _update(self, fn: Callable, value: Any) -> Tensor:
        value = value if isinstance(value, (Tensor, Variable)) else self._number(value)
        self._check_assignable(value, broadcast=True)

        def update(old: Any, value: Any) -> Any:
            return fn(old, jnp.asarray(value, old.dtype))

        with override(autocast_dtype=None, bare_arrays=False):
            return self.assign(self._dispatch(update, self, value))

    def _scatter(self, method: str, indices: Any, updates: Any, nd: bool = False) -> Tensor:
        indices = indices if isinstance(indices, (Tensor, Variable)) else self._number(indices)
        updates = updates if isinstance(updates, (Tensor, Variable)) else self._number(updates)
        self._check_indices(indices, nd)
        self._check_assignable(updates, shape=False)

        def scatter(value: Any, indices: Any, updates: Any) -> Any:
            key = tuple(jnp.moveaxis(indices, -1, 0)) if nd else indices
            return getattr(value.at[key], method)(updates.astype(value.dtype))

        with override(autocast_dtype=None, bare_arrays=False):
            return self.assign(self._dispatch(scatter, self, indices, updates))

    def _number(self, value: Any) -> Any:
        if isinstance(value, (jax.Array, bool, int, float, complex)):
            return value
        array = as_number_array(value, f"value assigned to {self._path!r}")
        return check_int_range(array) if jnp.issubdtype(self._dtype, jnp.integer) else array

    def _check_assignable(self, value: Any, broadcast: bool = False, shape: bool = True) -> None:
        given = tuple(np.shape(value)) if not hasattr(value, "shape") else tuple(value.shape)
        fits = given == self._shape
        if broadcast and not fits:
            fits = len(given) <= len(self._shape) and all(
                a in (1, b) for a, b in zip(given[::-1], self._shape[::-1], strict=False)
            )
        if shape and not fits:
            raise ValueError(
                f"Variable {self._path!r} has shape {self._shape} and was assigned a value of "
                f"shape {given}. The shapes must be equal; reshape the value, or make a new "
                "Variable."
            )
        dtype = value.dtype if hasattr(value, "dtype") else np.result_type(value)
        if _kind(dtype) > _kind(self._dtype):
            raise TypeError(
                f"Variable {self._path!r} holds {self._dtype} and was assigned {dtype}, which "
                "would lose part of the value. Convert it on purpose with `ops.cast(value, "
                f"{str(self._dtype)!r})`."
            )

    def _check_indices(self, indices: Any, nd: bool) -> None:
        raw = (
            indices.read() if isinstance(indices, Variable) else getattr(indices, "_value", indices)
        )
        if isinstance(raw, jax.core.Tracer):
            return  # sizes are known only when it runs; JAX drops updates that fall outside
        array = np.asarray(raw)
        limits = np.asarray(self._shape[: array.shape[-1]] if nd else self._shape[:1])
        if array.size and ((array < -limits).any() or (array >= limits).any()):
            raise IndexError(
                f"indices from {array.min()} to {array.max()} were given for Variable "
                f"{self._path!r} of shape {self._shape}; each index must be below the length of "
                "its dimension."
            )


def _identity(value: Any) -> Any:
    return jnp.array(value, copy=True)


def _cast_copy(value: Any, dtype: Any) -> Any:
    return jnp.array(value, dtype=dtype, copy=True)


def _kind(dtype: Any) -> int:
    """Rank the kinds of numbers: each can hold those before it."""
    for rank, kind in enumerate((jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)):
        if jnp.issubdtype(dtype, kind):
            return rank
    return 4


def _initial_value(variable: Variable, initializer: Any, shape: Any, dtype: Any) -> Any:
    """Compute the first value, outside of every trace and tape."""
    dtype = None if dtype is None else standardize_dtype(dtype)
    with (
        jax.ensure_compile_time_eval(),
        override(scope=None, tapes=(), autocast_dtype=None, bare_arrays=False),
    ):
        if callable(initializer) and not isinstance(initializer, (Tensor, Variable)):
            if shape is not None:
                value = initializer(tuple(shape), dtype=dtype or standardize_dtype(None))
            else:
                value = initializer()
        else:
            value = initializer
        if isinstance(value, str):
            raise ValueError(
                f"Variable {variable.path!r} was given the string {value!r}; numbers or a callable "
                "were expected. Use `layer.add_weight(initializer='zeros')` or "
                "`podium.initializers.get('zeros')`."
            )
        raw = value.read() if isinstance(value, Variable) else getattr(value, "_value", value)
        if isinstance(raw, jax.core.Tracer):
            raise _errors.LeakedValueError(
                f"The initial value of Variable {variable.path!r} depends on values inside a "
                "compiled function, which are not known when it is made. Give a callable or "
                "constant numbers, and assign the traced value afterwards."
            )
        array: Any
        if isinstance(raw, jax.Array):
            array = jnp.array(raw, dtype=dtype or raw.dtype, copy=True)
        elif (
            type(raw) is np.ndarray and raw.ndim and not any(raw.strides)
        ):  # one zero in all places: takes no memory yet
            array = np.zeros(raw.shape, raw.dtype)
        else:
            numbers = as_number_array(raw, f"initial value of {variable.path!r}")
            if (
                dtype is None
                and isinstance(raw, (list, tuple, float))
                and numbers.dtype.kind == "f"
            ):
                dtype = standardize_dtype(None)
            array = jnp.array(numbers, dtype=dtype, copy=True)
    if shape is not None and tuple(shape) != tuple(array.shape):
        raise ValueError(
            f"Variable {variable.path!r} was given shape={tuple(shape)} and an initial value of "
            f"shape {tuple(array.shape)}; they must be equal."
        )
    return array


def _flatten(variable: Variable) -> tuple[tuple[Any], None]:
    refuse_if_recorded(variable)
    return (variable.read_cast(),), None


def _unflatten(_: None, children: Any) -> Any:
    return wrap(children[0])


# Raw JAX reads a Variable as its value: `jnp.dot(x, self.kernel)` works, and gives an array.
jax.tree_util.register_pytree_node(Variable, _flatten, _unflatten)
