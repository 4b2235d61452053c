"""The one point that every operation goes through.

`dispatch(fn, *args)` looks at its arguments and at the thread: a symbolic argument adds a Node to
the graph; an open tape that knows an argument gets an entry with the pullback; otherwise `fn` is
just called. Code that reads and writes Variables, such as a layer's call, has its counterpart in
`_stateful_call.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import _errors
from podium.core._context import context, override
from podium.core._tree import map_structure, preserve_key_order, tree_leaves
from podium.core._validation import check_int_range, check_numeric
from podium.core.autodiff._entries import (
    Layout,
    append_entry,
    explained,
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


def dispatch(fn: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """Run a pure JAX function on Podium values: computing, recording or building a graph.

    `fn` gets bare arrays wherever the arguments hold Tensors or Variables, at any depth; every
    other leaf reaches it unchanged. Arrays in the result come back as Tensors.

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
    found: list[Any] = []
    raw_args = [_unwrap(arg, found) for arg in args]
    raw_kwargs = {key: _unwrap(value, found) for key, value in kwargs.items()} if kwargs else kwargs
    if any(type(value) is KerasTensor for value in found):
        return add_node(fn, args, kwargs)
    if context.tapes and found and any(is_tracked(value) for value in found):
        return _record(fn, args, kwargs)
    try:
        result = fn(*raw_args, **raw_kwargs)
    except (jax.errors.UnexpectedTracerError, ValueError) as error:
        raise explained(error) from error
    wrapped = wrap_result(result)
    if (
        context.metric_values
        and found
        and all(id(value) in context.metric_values for value in found)
    ):
        context.metric_values.update((id(value), value) for value in tree_leaves(wrapped))
    return wrapped


Operators._dispatch = staticmethod(dispatch)


def lift(fn: Callable) -> Callable:
    """Make any JAX function safe on Podium values and visible to gradient tapes.

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

    @functools.wraps(fn)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        return dispatch(fn, *args, **kwargs)

    return lifted


def _unwrap(value: Any, found: list[Any]) -> Any:
    """Replace Podium values by bare arrays, and list them in `found`."""
    kind = type(value)
    if kind is Tensor:
        found.append(value)
        return read_array(value)
    if kind is Variable:
        found.append(value)
        return value.read_cast()
    if kind is KerasTensor:
        found.append(value)
        return value
    if kind is np.ndarray:
        check_numeric(value)
        return jnp.asarray(
            check_int_range(value)
        )  # a copy: JAX may share memory with NumPy, and the caller may reuse it
    if kind is list:
        return [_unwrap(item, found) for item in value]
    if kind is tuple:
        return tuple(_unwrap(item, found) for item in value)
    if kind is dict:
        return {key: _unwrap(item, found) for key, item in value.items()}
    if isinstance(value, Variable):
        found.append(value)
        return value.read_cast()
    if isinstance(value, (tuple, list, dict)) or hasattr(kind, "__dataclass_fields__"):
        if _is_opaque(value):
            _refuse_hidden_values(value)
            return value
        return jax.tree.map(lambda leaf: _unwrap(leaf, found), value, is_leaf=is_value)
    return value


def _is_opaque(value: Any) -> bool:
    """Tell whether JAX does not look inside a container, because its class is not registered."""
    parts = jax.tree.leaves(value, is_leaf=lambda part: part is not value)
    return len(parts) == 1 and parts[0] is value


def _refuse_hidden_values(value: Any) -> None:
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, (tuple, list)):
        parts = list(value)
    else:
        parts = [getattr(value, name, None) for name in type(value).__dataclass_fields__]
    if any(isinstance(part, (Operators, jax.Array)) for part in parts):
        raise TypeError(_errors.OPAQUE_CONTAINER.format(name=type(value).__name__))


def is_value(value: Any) -> bool:
    return isinstance(value, Operators)


def wrap_result(result: Any) -> Any:
    """Wrap the arrays of a result as Tensors, unless the running layer asked for bare ones."""
    if context.bare_arrays:
        return result
    if isinstance(result, jax.Array):
        return wrap(result)
    return jax.tree.map(lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, result)


def unwrap_result(structure: Any) -> Any:
    """Replace Tensors and Variables in a result by bare arrays."""
    return _unwrap(structure, [])


# --- symbolic: one more Node


def add_node(fn: Callable, args: tuple, kwargs: dict) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
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
    args, kwargs = map_structure(
        lambda leaf: np.array(leaf) if isinstance(leaf, np.ndarray) else leaf, (args, kwargs)
    )
    Node(lift(fn), args, kwargs, outputs)
    return outputs


# --- recording: one more entry


def _record(fn: Callable, args: tuple, kwargs: dict) -> Any:
    leaves, treedef = jax.tree.flatten(preserve_key_order((args, kwargs)), is_leaf=is_value)
    inputs, values, slots = [], [], []
    for slot, leaf in enumerate(leaves):
        if isinstance(leaf, (Tensor, Variable)):
            value = read_array(leaf)
            if is_differentiable(value) and is_tracked(leaf):
                inputs.append(node_of(leaf))
                values.append(value)
                slots.append(slot)
            leaves[slot] = leaf.cast_for_layer(value) if isinstance(leaf, Variable) else value
        else:
            leaves[slot] = _unwrap(leaf, [])
    layout = Layout()

    def pure(*values: Any) -> tuple[list, list]:
        filled = list(leaves)
        for slot, value in zip(slots, values, strict=True):
            seen_as = leaves[slot].dtype  # a Variable may be stored in one type and seen in another
            filled[slot] = value if value.dtype == seen_as else value.astype(seen_as)
        args, kwargs = jax.tree.unflatten(treedef, filled)
        return layout.split(fn(*args, **kwargs))

    entry, others = run_entry(pure, inputs, values)
    append_entry(entry)
    return layout.join(entry.outputs, others)
