"""Variable: named mutable state. Weights, optimizer slots, metric sums and seeds are Variables.

The value is stored in the Variable itself, in the store of a compiled step (`_variable_store.py`)
or, during a trace, in a scope (`_variable_scope.py`). This file owns the public class; four members
read the value: `value` and `numpy` for users, `read` and `stored` for other modules.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Array, DTypeLike, Shape, TensorLike
from podium.core import _errors
from podium.core._context import context, override
from podium.core._forked_process import check_not_forked
from podium.core._names import auto_name, current_path
from podium.core._object_config import find_initializer
from podium.core._validation import as_number_array, check_bool, check_int_range
from podium.core.compile._variable_store import VariableStore, write_count
from podium.core.tensor._dtypes import is_float_dtype, standardize_dtype
from podium.core.tensor._operators import Operators
from podium.core.tensor._placement import Placement
from podium.core.tensor._tensor import (
    Tensor,
    check_not_recorded,
    convert_array,
    defer_or_unwrap,
    drop_axes,
    is_recorded,
    wrap,
)
from podium.core.tensor._text import variable_repr


class Variable(Operators[Tensor]):
    """A named value that can be changed in place, also inside compiled functions.

    Args:
        initializer: The initial value, or a callable that returns it. The callable receives
            `(shape, dtype=...)` if `shape` is given, and no arguments otherwise. With a shape, the
            name of an initializer works too.
        shape: The shape, needed only if `initializer` is a name or a callable that takes it.
        dtype: The dtype of the stored value; by default that of the initial value, or float32.
        trainable: Whether gradient tapes watch it automatically.
        autocast: Whether mixed-precision layers read it in their compute dtype.
        name: A name without "/"; by default `variable`, `variable_1`, ...
        constraint: A function of the value that optimizers apply after an update.
        aggregation: How the values of replicas are aggregated: "none", "mean", "sum" or
            "only_first_replica".
        synchronization: Accepted for Keras's signature; XLA keeps replicas synchronized.
        regularizer: A function of the value whose result a layer adds to its losses.

    Example:
        >>> count = podium.Variable(0, name="count", trainable=False)
        >>> _ = count.assign_add(2)
        >>> count.numpy()
        array(2, dtype=int32)
        >>> podium.Variable(lambda: 3.0).assign([1.0, 2.0])
        Traceback (most recent call last):
        ValueError: Variable 'variable' has shape () and was assigned a value of shape (2,). The \
shapes must be equal; reshape the value, or create a new Variable.
    """

    def __init__(
        self,
        initializer: TensorLike | Callable[..., TensorLike],
        shape: Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        trainable: bool = True,
        autocast: bool = True,
        aggregation: str | None = "none",
        synchronization: str = "auto",
        name: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        regularizer: Callable[[Any], Any] | None = None,
    ):
        check_not_forked()
        name = name or auto_name("variable")
        if not isinstance(name, str) or "/" in name:
            raise ValueError(
                f"Variable name={name!r} was given; a string without '/' was expected."
            )
        self._name = name
        self._path = current_path(name)
        self.trainable = check_bool("trainable", trainable, owner=self)
        self.frozen = False  # whether an enclosing layer is not trainable
        self.autocast = autocast
        self.aggregation = aggregation or "none"
        self.synchronization = synchronization
        self.constraint = constraint
        self.regularizer = regularizer
        self.overwrite_with_gradient = False
        self.is_seed = False  # whether it is the state of a seed generator
        self.store: VariableStore | None = None  # of the compiled step that holds the value
        self.slot = 0  # the position in the store
        self.exposed = False  # whether the array may be referenced elsewhere: never donate it then
        self.source: Tensor | None = None  # the recorded Tensor last assigned, for gradients
        self.placement: Placement | None = None  # how a strategy shards the value
        self.batch_state: Variable | None = None  # of a metric: see `metrics/_batch_values.py`
        self._value = _initial_value(self, initializer, shape, dtype)
        self._shape: Shape = tuple(self._value.shape)
        self._dtype = self._value.dtype
        if context.layout is not None:
            self.placement = context.layout.placement_of(self, self._value)
            self._value = self.placement.place_value(context.layout.first_value(self._value))
        if context.scope is not None:
            context.scope.add_created(self)

    # --- attributes

    @property
    def name(self) -> str:
        """The name without the names of the enclosing layers."""
        return self._name

    @property
    def path(self) -> str:
        """The name with the names of the enclosing layers, such as `model/dense/kernel`."""
        return self._path

    @property
    def shape(self) -> Shape:
        """The size of each dimension; it never changes."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the value; inside a mixed-precision layer, the layer's compute dtype."""
        if context.autocast_dtype and self.autocast and is_float_dtype(self._dtype):
            return jnp.dtype(context.autocast_dtype)
        return self._dtype

    # --- reading and storing the value, for other modules of Podium

    @property
    def stored(self) -> jax.Array:
        """The value outside of all traces, for callers that do not keep the array."""
        value = self._value if self.store is None else self.store.values[self.slot]
        if type(value) is np.ndarray:
            return self._place_zeros(value)
        return cast(jax.Array, value)

    @stored.setter
    def stored(self, value: jax.Array) -> None:
        if isinstance(value, jax.core.Tracer):
            raise _errors.LeakedValueError(
                f"Variable {self._path!r} was assigned a value of a trace that it does not belong "
                "to, for example inside `jax.jit` or `jax.grad`. Use `podium.function` and "
                "`podium.GradientTape`, which carry state, or return the value."
            )
        self._remember_for_undo()
        write_count[0] += 1
        if self.placement is not None:
            value = self.placement.place_value(value)
        # The caller may keep this array, so the next compiled step must not donate it.
        if self.store is None:
            self._value, self.exposed = value, True
        else:
            self.store.values[self.slot] = value
            self.store.exposed.add(self.slot)

    def read(self, keep: bool = True) -> jax.Array:
        """Return the array in the running trace, in the dtype in which it is stored.

        Args:
            keep: Whether the caller may keep the array, as a tape does. No compiled step donates it
                then; the next one copies it instead.
        """
        scope = context.scope
        if scope is not None:
            return scope.read(self)
        if keep:
            self.mark_exposed()
        return self.stored

    def mark_exposed(self) -> None:
        """Mark the stored array as referenced elsewhere: no compiled step may donate it."""
        if self.store is None:
            self.exposed = True
        else:
            self.store.exposed.add(self.slot)

    def cast_to_compute_dtype(self, value: jax.Array) -> jax.Array:
        """Return a value of this Variable in the running layer's compute dtype, if it has one."""
        dtype = context.autocast_dtype
        # Comparing first saves a fifth of the time of an eager taped layer.
        if dtype is None or value.dtype == dtype or not self.autocast:
            return value
        return value.astype(dtype) if jnp.issubdtype(value.dtype, jnp.floating) else value

    def _remember_for_undo(self) -> None:
        if context.undo is not None:
            value = self._value if self.store is None else self.store.values[self.slot]
            context.undo.remember(self, value)

    def restore_value(self, value: Array) -> None:
        """Take back an earlier value, as `undo_on_error` does after an exception."""
        if self.store is None:
            self._value = value
        else:
            self.store.values[self.slot] = value
        self.source = None
        self.mark_exposed()

    def leave_store(self, value: jax.Array, exposed: bool) -> None:
        """Take the value back from a store that is dissolved."""
        self._value, self.store, self.exposed = value, None, exposed

    def _place_zeros(self, zeros: np.ndarray[Any, Any]) -> jax.Array:
        """Transfer zeros that `clear` left on the host to the device."""
        value: jax.Array
        with jax.ensure_compile_time_eval():  # also during a trace
            value = (
                jnp.asarray(zeros) if self.placement is None else self.placement.place_value(zeros)
            )
        if self.store is None:
            self._value = value
        else:
            self.store.values[self.slot] = value
        return value

    # --- reading

    @property
    def value(self) -> jax.Array:
        """The value: a jax.Array, or a Tensor connected to the tape while a tape records it."""
        if is_recorded(self):
            return self.read_value()  # type: ignore[return-value]
        return self.cast_to_compute_dtype(self.read())

    def read_value(self) -> Tensor:
        """Return the value as a Tensor that later assignments do not change."""
        tensor: Tensor = self._dispatch(_copy, self)
        return tensor

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a NumPy copy; waits until the value has been computed."""
        return np.array(convert_array(np.asarray, self.read(keep=False)))

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        array = self.numpy()  # a copy, since the buffer may be donated later
        return array if dtype is None else array.astype(dtype)

    def __jax_array__(self) -> Any:
        return defer_or_unwrap(self, lambda: self.value, sys._getframe(1))

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError(f"Variable {self._path!r} has no dimensions and so no len().")
        return self._shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.read_value())

    def __bool__(self) -> bool:
        return convert_array(bool, self.read(keep=False))

    def __int__(self) -> int:
        return convert_array(int, drop_axes(self.read(keep=False)))

    def __float__(self) -> float:
        return convert_array(float, drop_axes(self.read(keep=False)))

    def __index__(self) -> int:
        return convert_array(operator.index, self.read(keep=False))

    def __format__(self, spec: str) -> str:
        return format(self.read_value(), spec) if spec else str(self)

    def __repr__(self) -> str:
        return variable_repr(self.read(keep=False), self._path, self._shape, self._dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copy = Variable(
            self.numpy(), None, self._dtype, self.trainable, self.autocast, self.aggregation,
            self.synchronization, self._name, self.constraint, self.regularizer,
        )  # fmt: skip
        copy._path = self._path
        memo[id(self)] = copy
        return copy

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for `copy.copy` and `pickle`: the value, without the store."""
        state: dict[str, Any] = {
            "_value": jnp.array(self.read(keep=False), copy=True),
            "store": None,
            "slot": 0,
            "exposed": False,
            "source": None,
            "batch_state": None,
        }
        if self.placement is not None:  # devices belong to this process; a copy starts on one
            state |= {"_value": jnp.asarray(self.numpy()), "placement": None}
        return vars(self) | state

    # --- changing

    def clear(self) -> None:
        """Set the value to zeros, without a computation outside of traces: the next compiled step
        reads the zeros from the host.

        Example:
            >>> total = podium.Variable(3.0)
            >>> total.clear()
            >>> float(total)
            0.0
        """
        if context.scope is not None or is_recorded(self):
            self.assign(jnp.zeros(self._shape, self._dtype))
            return
        self._remember_for_undo()
        write_count[0] += 1
        zeros: Any = np.zeros(self._shape, self._dtype)
        if self.placement is not None:
            zeros = self.placement.place_value(zeros)
        if self.store is None:
            self._value, self.exposed = zeros, False
        else:
            self.store.values[self.slot] = zeros
            self.store.exposed.discard(self.slot)

    def assign(self, value: TensorLike) -> Tensor:
        """Replace the value.

        Args:
            value: The new value. Its shape must be equal; its dtype may be widened (int to float),
                never narrowed.

        Returns:
            The new value.
        """
        value = value if isinstance(value, (Tensor, Variable)) else self._as_numbers(value)
        self._check_assignable(value)
        if isinstance(value, Tensor) and value.dtype == self._dtype:
            new = value
        elif isinstance(value, (Tensor, Variable)):
            # The stored dtype, not the compute dtype of a layer.
            with override(autocast_dtype=None, bare_arrays=False):
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

    def assign_add(self, value: TensorLike) -> Tensor:
        """Add to the value in place and return the sum."""
        return self._update(jnp.add, value)

    def assign_sub(self, value: TensorLike) -> Tensor:
        """Subtract from the value in place and return the difference."""
        return self._update(jnp.subtract, value)

    def scatter_update(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Replace the rows at `indices` (along the first dimension) by `updates`."""
        return self._scatter("set", indices, updates)

    def scatter_add(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Add `updates` to the rows at `indices`; repeated indices add up."""
        return self._scatter("add", indices, updates)

    def scatter_sub(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Subtract `updates` from the rows at `indices`."""
        return self._scatter("subtract", indices, updates)

    def scatter_mul(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Multiply the rows at `indices` by `updates`."""
        return self._scatter("multiply", indices, updates)

    def scatter_div(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Divide the rows at `indices` by `updates`."""
        return self._scatter("divide", indices, updates)

    def scatter_min(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Lower the rows at `indices` to `updates` where those are smaller."""
        return self._scatter("min", indices, updates)

    def scatter_max(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Raise the rows at `indices` to `updates` where those are larger."""
        return self._scatter("max", indices, updates)

    def scatter_nd_update(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Replace the entries at `indices`, whose last dimension holds one index per dimension."""
        return self._scatter("set", indices, updates, nd=True)

    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Add to the entries at `indices`, whose last dimension holds one index per dimension."""
        return self._scatter("add", indices, updates, nd=True)

    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike) -> Tensor:
        """Subtract from the entries at `indices`, whose last dimension holds one index per
        dimension.
        """
        return self._scatter("subtract", indices, updates, nd=True)

    def _update(self, fn: Callable[..., jax.Array], value: TensorLike) -> Tensor:
        value = value if isinstance(value, (Tensor, Variable)) else self._as_numbers(value)
        self._check_assignable(value, broadcast=True)

        def update(current: jax.Array, value: Any) -> jax.Array:
            return fn(current, jnp.asarray(value, current.dtype))

        with override(autocast_dtype=None, bare_arrays=False):
            return self.assign(self._dispatch(update, self, value))

    def _scatter(
        self, method: str, indices: TensorLike, updates: TensorLike, nd: bool = False
    ) -> Tensor:
        indices = indices if isinstance(indices, (Tensor, Variable)) else self._as_numbers(indices)
        updates = updates if isinstance(updates, (Tensor, Variable)) else self._as_numbers(updates)
        self._check_indices(indices, nd)
        self._check_assignable(updates, check_shape=False)

        def scatter(value: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
            key = tuple(jnp.moveaxis(indices, -1, 0)) if nd else indices
            result: jax.Array = getattr(value.at[key], method)(updates.astype(value.dtype))
            return result

        with override(autocast_dtype=None, bare_arrays=False):
            return self.assign(self._dispatch(scatter, self, indices, updates))

    def _as_numbers(self, value: object) -> Any:
        """Return a value that is not Podium's as an array or a Python number."""
        if isinstance(value, (jax.Array, bool, int, float, complex)):
            return value
        array = as_number_array(value, f"value assigned to {self._path!r}")
        return check_int_range(array) if jnp.issubdtype(self._dtype, jnp.integer) else array

    def _check_assignable(
        self, value: Any, broadcast: bool = False, check_shape: bool = True
    ) -> None:
        value_shape = tuple(value.shape if hasattr(value, "shape") else np.shape(value))
        fits = value_shape == self._shape
        if broadcast and not fits:
            fits = len(value_shape) <= len(self._shape) and all(
                a in (1, b) for a, b in zip(value_shape[::-1], self._shape[::-1], strict=False)
            )
        if check_shape and not fits:
            raise ValueError(
                f"Variable {self._path!r} has shape {self._shape} and was assigned a value of "
                f"shape {value_shape}. The shapes must be equal; reshape the value, or create a "
                "new Variable."
            )
        dtype = value.dtype if hasattr(value, "dtype") else np.result_type(value)
        if _dtype_rank(dtype) > _dtype_rank(self._dtype):
            raise TypeError(
                f"Variable {self._path!r} holds {self._dtype} and was assigned {dtype}, which "
                "would lose part of the value. Convert it explicitly with `ops.cast(value, "
                f"{str(self._dtype)!r})`."
            )

    def _check_indices(self, indices: object, nd: bool) -> None:
        values = (
            indices.read() if isinstance(indices, Variable) else getattr(indices, "_value", indices)
        )
        if isinstance(values, jax.core.Tracer):
            return  # not known during a trace; JAX drops updates that are out of bounds
        array = np.asarray(values)
        limits = np.asarray(self._shape[: array.shape[-1]] if nd else self._shape[:1])
        if array.size and ((array < -limits).any() or (array >= limits).any()):
            raise IndexError(
                f"indices from {array.min()} to {array.max()} were given for Variable "
                f"{self._path!r} of shape {self._shape}; each index must be below the size of its "
                "dimension."
            )


def _copy(value: jax.Array) -> jax.Array:
    return jnp.array(value, copy=True)


def _cast_copy(value: jax.Array, dtype: DTypeLike) -> jax.Array:
    return jnp.array(value, dtype=dtype, copy=True)


def _dtype_rank(dtype: DTypeLike) -> int:
    """Return the rank of a dtype's kind: each kind can represent those of lower rank."""
    for rank, kind in enumerate((jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)):
        if jnp.issubdtype(dtype, kind):
            return rank
    return 4


def _initial_value(
    variable: Variable, initializer: Any, shape: Sequence[int] | None, dtype: DTypeLike | None
) -> Array:
    """Compute the initial value, outside of all traces and tapes."""
    dtype = None if dtype is None else standardize_dtype(dtype)
    with (
        jax.ensure_compile_time_eval(),
        override(scope=None, tapes=(), autocast_dtype=None, bare_arrays=False),
    ):
        if isinstance(initializer, str) and shape is not None:
            initializer = find_initializer(initializer)
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
                "were expected. For an initializer of that name, pass the shape: "
                "`Variable('zeros', shape=(2, 3))`."
            )
        raw = value.read() if isinstance(value, Variable) else getattr(value, "_value", value)
        if isinstance(raw, jax.core.Tracer):
            raise _errors.LeakedValueError(
                f"The initial value of Variable {variable.path!r} depends on values inside a "
                "compiled function, which are not known when it is created. Pass a callable or "
                "constant numbers, and assign the traced value afterwards."
            )
        array: Array
        if isinstance(raw, jax.Array):
            array = jnp.array(raw, dtype=dtype or raw.dtype, copy=True)
        elif type(raw) is np.ndarray and raw.ndim and not any(raw.strides):
            # A broadcast zero: takes no memory until the first step.
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
    check_not_recorded(variable)
    return (variable.value,), None


def _unflatten(_: None, children: Sequence[Any]) -> Any:
    return wrap(children[0])


# Raw JAX reads a Variable as its value: `jnp.dot(x, self.kernel)` works, and returns an array.
jax.tree_util.register_pytree_node(Variable, _flatten, _unflatten)
