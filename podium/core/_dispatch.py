"""dispatch: the function through which every operation runs.

`dispatch(fn, *args)` adds a Node to the graph if an argument is symbolic, records an entry if an
open tape tracks an argument, and otherwise just calls `fn`. Its counterpart for calls that read and
write Variables, such as a layer's call, is in `_stateful_call.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import AnyFunction, Tree, Value
from podium.core import _errors
from podium.core._context import context, override
from podium.core._tree import map_structure, preserve_key_order, tree_leaves
from podium.core._validation import check_int_range, check_numeric
from podium.core.autodiff._entries import (
    ResultStructure,
    append_entry,
    explain_jax_error,
    is_tracked,
    node_of,
    read_array,
    run_entry,
)
from podium.core.tensor._dtypes import is_differentiable
from podium.core.tensor._operators import Operators
from podium.core.tensor._symbolic import KerasTensor, Node, symbolic_outputs
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable


def dispatch(fn: AnyFunction, /, *args: Any, **kwargs: Any) -> Any:
    """Run a pure JAX function on Podium values: compute, record or build a graph.

    `fn` receives bare arrays for Tensors and Variables at any depth of its arguments, and all other
    leaves unchanged. Arrays in the result are returned as Tensors.

    Args:
        fn: A function of arrays without side effects.
        *args: Its arguments.
        **kwargs: Its named arguments.

    Returns:
        The result of `fn`, with Tensors for arrays (KerasTensors if an argument was symbolic).

    Example:
        >>> podium.core.dispatch(jnp.add, podium.Variable(1.0), 2.0)
        <podium.Tensor shape=(), dtype=float32, value=3.>
    """
    values: list[Value | KerasTensor] = []
    raw_args = [_unwrap(arg, values) for arg in args]
    raw_kwargs = {key: _unwrap(arg, values) for key, arg in kwargs.items()} if kwargs else kwargs
    if any(type(value) is KerasTensor for value in values):
        return add_node(fn, args, kwargs)
    if context.tapes and values and any(is_tracked(value) for value in values):
        return _record(fn, args, kwargs)
    try:
        result = fn(*raw_args, **raw_kwargs)
    except (jax.errors.UnexpectedTracerError, ValueError) as error:
        raise explain_jax_error(error) from error
    if not values and context.scope is None and is_raw_trace((raw_args, raw_kwargs)):
        return result  # to a function that raw JAX transforms, such as `jax.grad`
    wrapped = wrap_result(result)
    metric_values = context.metric_values
    if metric_values and values and all(id(value) in metric_values for value in values):
        metric_values.mark_computed(wrapped, functools.partial(dispatch, fn), args, kwargs)
    return wrapped


Operators._dispatch = staticmethod(dispatch)  # type: ignore[method-assign, assignment]


def lift(fn: AnyFunction) -> AnyFunction:
    """Return a JAX function that accepts Podium values and that gradient tapes record.

    If `fn` has an attribute `finish`, that is called with the outputs and the arguments, and
    returns the outputs.

    Args:
        fn: A pure function of arrays, such as `jax.lax.erf_inv` or your own.

    Returns:
        A function of Tensors, Variables and symbolic values.

    Example:
        >>> import jax
        >>> x = podium.Variable([0.5, 2.0])
        >>> with podium.GradientTape() as tape:
        ...     y = podium.lift(jax.lax.rsqrt)(x)
        >>> tape.gradient(y, x).numpy().round(4)
        array([-1.4142, -0.1768], dtype=float32)
    """

    finish = getattr(fn, "finish", None)

    @functools.wraps(fn)
    def dispatch_fn(*args: Any, **kwargs: Any) -> Any:
        outputs = dispatch(fn, *args, **kwargs)
        return outputs if finish is None else finish(outputs, *args, **kwargs)

    return dispatch_fn


def _unwrap(value: Any, values: list[Value | KerasTensor]) -> Any:
    """Return an argument with arrays for Podium's values, which are appended to `values`."""
    kind = type(value)
    if kind is Tensor:
        values.append(value)
        return read_array(value)
    if kind is Variable:
        values.append(value)
        return value.cast_to_compute_dtype(value.read())
    if kind is KerasTensor:
        values.append(value)
        return value
    if kind is np.ndarray:
        check_numeric(value)
        # A copy: JAX may share memory with NumPy, and the caller may reuse it.
        return jnp.asarray(check_int_range(value))
    if kind is list:
        return [_unwrap(item, values) for item in value]
    if kind is tuple:
        return tuple(_unwrap(item, values) for item in value)
    if kind is dict:
        return {key: _unwrap(item, values) for key, item in value.items()}
    if isinstance(value, Variable):
        values.append(value)
        return value.cast_to_compute_dtype(value.read())
    if isinstance(value, (tuple, list, dict)) or hasattr(kind, "__dataclass_fields__"):
        if _is_opaque(value):
            _check_opaque_container(value)
            return value
        return jax.tree.map(lambda leaf: _unwrap(leaf, values), value, is_leaf=is_value)
    return value


def _is_opaque(value: object) -> bool:
    """Return whether a container is a leaf for JAX, because its class is not registered."""
    parts = jax.tree.leaves(value, is_leaf=lambda part: part is not value)
    return len(parts) == 1 and parts[0] is value


def _check_opaque_container(value: Any) -> None:
    """Raise a TypeError if a container that JAX does not flatten holds values."""
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, (tuple, list)):
        parts = list(value)
    else:
        parts = [getattr(value, name, None) for name in type(value).__dataclass_fields__]
    if any(isinstance(part, (Operators, jax.Array)) for part in parts):
        raise TypeError(_errors.OPAQUE_CONTAINER.format(name=type(value).__name__))


def is_value(value: object) -> TypeGuard[Operators[Any]]:
    """Return whether a leaf is a Tensor, a Variable or a KerasTensor."""
    return isinstance(value, Operators)


def wrap_result(result: Tree) -> Tree:
    """Wrap the arrays of a result in Tensors, unless the running layer uses bare arrays."""
    if context.bare_arrays:
        return result
    if isinstance(result, jax.Array):
        return wrap(result)
    return jax.tree.map(lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, result)


def is_raw_trace(structure: Tree) -> bool:
    """Return whether raw JAX traces these bare arrays: there is a tracer and no Podium value.

    What is computed from them is returned as bare arrays too, because `jax.grad` and others accept
    nothing else as the result of the function that they transform.
    """
    leaves = tree_leaves(structure)
    return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves) and not any(
        map(is_value, leaves)
    )


def unwrap_result(structure: Tree) -> Tree:
    """Replace Tensors and Variables in a result by bare arrays."""
    return _unwrap(structure, [])


# --- symbolic arguments: add a Node


def add_node(fn: AnyFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tree:
    """Add a call with symbolic arguments to the graph; return its symbolic outputs."""

    def run(*args: Any, **kwargs: Any) -> Tree:
        return unwrap_result(fn(*args, **kwargs))

    plain_args, plain_kwargs = jax.tree.map(
        lambda leaf: leaf if isinstance(leaf, KerasTensor) else _unwrap(leaf, []),
        (args, kwargs),
        is_leaf=is_value,
    )
    name = getattr(fn, "__name__", "operation").strip("_")
    try:
        with override(tapes=()):
            outputs = symbolic_outputs(run, plain_args, plain_kwargs)
    except (TypeError, ValueError) as error:
        shapes = ", ".join(
            str(v.shape) for v in tree_leaves((args, kwargs)) if isinstance(v, KerasTensor)
        )
        raise type(error)(
            f"`{name}` cannot take symbolic inputs of shape {shapes}: {error}"
        ) from error
    # NumPy arrays are copied: a graph outlives the call, and the caller may reuse them.
    node_args, node_kwargs = map_structure(
        lambda leaf: np.array(leaf) if isinstance(leaf, np.ndarray) else leaf, (args, kwargs)
    )
    Node(lift(fn), node_args, node_kwargs, outputs)
    return outputs


# --- open tapes: record an entry


def _record(fn: AnyFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tree:
    leaves, treedef = jax.tree.flatten(preserve_key_order((args, kwargs)), is_leaf=is_value)
    inputs: list[Value] = []
    values: list[jax.Array] = []
    slots: list[int] = []
    for slot, leaf in enumerate(leaves):
        if isinstance(leaf, (Tensor, Variable)):
            value = read_array(leaf)
            if is_differentiable(value) and is_tracked(leaf):
                inputs.append(node_of(leaf))
                values.append(value)
                slots.append(slot)
            leaves[slot] = (
                leaf.cast_to_compute_dtype(value) if isinstance(leaf, Variable) else value
            )
        else:
            leaves[slot] = _unwrap(leaf, [])
    result_structure = ResultStructure()

    def pure(*values: jax.Array) -> tuple[list[jax.Array], list[jax.Array]]:
        filled = list(leaves)
        for slot, value in zip(slots, values, strict=True):
            dtype = leaves[slot].dtype  # a Variable may be stored in another dtype
            filled[slot] = value if value.dtype == dtype else value.astype(dtype)
        args, kwargs = jax.tree.unflatten(treedef, filled)
        return result_structure.split(fn(*args, **kwargs))

    entry, others = run_entry(pure, inputs, values)
    append_entry(entry)
    return result_structure.join(entry.outputs, others)
