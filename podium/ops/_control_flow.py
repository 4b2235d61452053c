"""Loops and branches over `jax.lax`, whose functions take and return Tensors.

Gradients also reach Tensors and Variables that those functions read by closure. For that a loop may
run twice, and `jax.lax` caches traces by function: so each run wraps the function again
(`call_with_tensors`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from podium._typing import TensorLike, Tree
from podium.core import Tensor, call_with_tensors, dispatch_closure
from podium.ops._promotion import as_array


def _arrays(structure: Tree) -> Tree:
    """Convert every leaf to an array, so that loops carry fixed dtypes."""
    return jax.tree.map(as_array, structure)


def _check_callable(op: str, **functions: object) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(
                f"ops.{op}: `{name}` must be a function, and {function!r} was given. Wrap a value "
                "as `lambda: value`."
            )


def cond(pred: TensorLike, true_fn: Callable[[], Tree], false_fn: Callable[[], Tree]) -> Tree:
    """Call one of two functions, depending on a condition that may be computed.

    Args:
        pred: Boolean scalar.
        true_fn: Function without arguments, called if `pred` is true.
        false_fn: Function without arguments, called otherwise. Its result has the same structure,
            shapes and dtypes.

    Example:
        >>> x = ops.array(3.0)
        >>> float(ops.cond(x > 2.0, lambda: x * 10.0, lambda: x))
        30.0
    """
    _check_callable("cond", true_fn=true_fn, false_fn=false_fn)

    def run(pred: ArrayLike) -> Tree:
        return jax.lax.cond(
            as_array(pred).astype(bool), call_with_tensors(true_fn), call_with_tensors(false_fn)
        )

    return dispatch_closure(run, pred)


def switch(index: TensorLike, branches: Sequence[Callable[..., Tree]], *operands: Tree) -> Tree:
    """Call one of several functions, selected by index.

    Args:
        index: Integer scalar, clipped to the range of branches.
        branches: List of functions of `operands`. Their results have the same structure, shapes and
            dtypes.
        *operands: Arguments of the functions.

    Example:
        >>> int(ops.switch(1, [lambda x: x, lambda x: x + 1], ops.array(5)))
        6
    """
    branches = list(branches)
    _check_callable("switch", **{f"branches[{i}]": fn for i, fn in enumerate(branches)})

    def run(index: Array, *operands: Tree) -> Tree:
        return jax.lax.switch(
            index, [call_with_tensors(branch) for branch in branches], *_arrays(operands)
        )

    return dispatch_closure(run, index, *operands)


def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Tree],
    loop_vars: Tree,
    maximum_iterations: int | None = None,
) -> Tree:
    """Iterate while a condition is true.

    For gradients use `fori_loop` with fixed bounds, or `scan`.

    Args:
        cond: Function of the loop variables that returns a boolean scalar.
        body: Function of the loop variables that returns their next values, with the same shapes
            and dtypes.
        loop_vars: The initial values: a tuple or list, or a single tensor.
        maximum_iterations: Maximum number of iterations. `None` means no limit.

    Returns:
        The final values, in the structure of `loop_vars`.

    Example:
        >>> int(ops.while_loop(lambda i: i < 10, lambda i: i * 2, ops.array(1)))
        16
    """
    _check_callable("while_loop", cond=cond, body=body)
    is_sequence = isinstance(loop_vars, (tuple, list))

    def run(*values: Tree) -> tuple[Tree, ...]:
        raw_cond, raw_body = call_with_tensors(cond), call_with_tensors(body)

        def continues(state: tuple[Array, tuple[Tree, ...]]) -> Array:
            iteration, values = state
            condition: Array = raw_cond(*values)
            if maximum_iterations is None:
                return condition
            return jnp.logical_and(condition, iteration < maximum_iterations)

        def advance(state: tuple[Array, tuple[Tree, ...]]) -> tuple[Array, tuple[Tree, ...]]:
            iteration, values = state
            new_values = raw_body(*values)
            return iteration + 1, (tuple(new_values) if is_sequence else (new_values,))

        _, values = jax.lax.while_loop(continues, advance, (jnp.int32(0), _arrays(values)))
        return values

    values = dispatch_closure(run, *(loop_vars if is_sequence else (loop_vars,)))
    return values if is_sequence else values[0]


def fori_loop(
    lower: TensorLike,
    upper: TensorLike,
    body_fun: Callable[[Tensor, Tree], Tree],
    init_val: Tree,
) -> Tree:
    """Iterate over the integers from `lower` up to, but not including, `upper`.

    Gradients need bounds that are Python integers.

    Args:
        lower: First integer.
        upper: End, not included.
        body_fun: Function `(i, value) -> value`, with the same structure, shapes and dtypes.
        init_val: Initial value.

    Returns:
        The final value.

    Example:
        >>> int(ops.fori_loop(0, 4, lambda i, total: total + i, ops.array(0)))
        6
    """
    _check_callable("fori_loop", body_fun=body_fun)

    def run(lower: Array, upper: Array, init: Tree) -> Tree:
        return jax.lax.fori_loop(lower, upper, call_with_tensors(body_fun), _arrays(init))

    return dispatch_closure(run, lower, upper, init_val)


def scan(
    f: Callable[[Tree, Tree], tuple[Tree, Tree]],
    init: Tree,
    xs: Tree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Tree, Tree]:
    """Carry a value along the first axis, collecting an output at each step.

    Args:
        f: Function `(carry, x) -> (carry, output)`; the carry keeps its shapes and dtypes.
        init: Initial carry, any structure.
        xs: Structure of tensors to iterate over. With `None`, `f` gets `None`.
        length: Number of steps, needed if `xs` is `None`.
        reverse: Whether to iterate from the end.
        unroll: Number of steps to unroll in one iteration (an int), or all (`True`).

    Returns:
        The final carry, and the outputs stacked along a new first axis.

    Example:
        >>> xs = ops.array([1, 2, 3])
        >>> total, history = ops.scan(lambda c, x: (c + x, c + x), ops.array(0), xs)
        >>> int(total), history.numpy()
        (6, array([1, 3, 6], dtype=int32))
    """
    _check_callable("scan", f=f)
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(
            f"ops.scan: unroll={unroll!r} was given. It must be a bool or an int of at least 1."
        )

    def run(init: Tree, xs: Tree) -> tuple[Tree, Tree]:
        body = call_with_tensors(f)
        return jax.lax.scan(
            body, _arrays(init), _arrays(xs), length=length, reverse=reverse, unroll=unroll
        )

    carry, outputs = dispatch_closure(run, init, xs)
    return carry, outputs


def associative_scan(
    f: Callable[[Tree, Tree], Tree], elems: Tree, reverse: bool = False, axis: int = 0
) -> Tree:
    """Cumulative combination of elements by an associative function, computed in parallel.

    Args:
        f: Associative function of two elements (structures like `elems`, batched along `axis`).
        elems: Structure of tensors.
        reverse: Whether to scan from the end.
        axis: Axis to scan along.

    Example:
        >>> ops.associative_scan(lambda a, b: a + b, ops.array([1, 2, 3])).numpy()
        array([1, 3, 6], dtype=int32)
    """
    _check_callable("associative_scan", f=f)

    def run(elems: Tree) -> Tree:
        return jax.lax.associative_scan(call_with_tensors(f), _arrays(elems), reverse, axis)

    return dispatch_closure(run, elems)


def map(f: Callable[[Tree], Tree], xs: Tree) -> Tree:
    """Apply a function to each slice along the first axis, sequentially.

    Args:
        f: Function of a slice.
        xs: Structure of tensors.

    Returns:
        The results, stacked along a new first axis. `vectorized_map` computes them in parallel.

    Example:
        >>> ops.map(lambda x: x * 2, ops.array([1, 2, 3])).numpy()
        array([2, 4, 6], dtype=int32)
    """
    _check_callable("map", f=f)
    return dispatch_closure(lambda xs: jax.lax.map(call_with_tensors(f), _arrays(xs)), xs)


def vectorized_map(function: Callable[[Tree], Tree], elements: Tree) -> Tree:
    """Apply a function to all slices along the first axis in parallel.

    Args:
        function: Function of a slice.
        elements: Structure of tensors.

    Returns:
        The results, stacked along a new first axis.

    Example:
        >>> ops.vectorized_map(lambda x: x * 2, ops.array([1, 2, 3])).numpy()
        array([2, 4, 6], dtype=int32)
    """
    _check_callable("vectorized_map", function=function)
    return dispatch_closure(lambda xs: jax.vmap(call_with_tensors(function))(_arrays(xs)), elements)


def vectorize(
    pyfunc: Callable[..., Tree],
    *,
    excluded: Collection[int | str] | None = None,
    signature: str | None = None,
) -> Callable[..., Tree]:
    """Vectorize a function of scalars (or of small arrays) over tensors, with broadcasting.

    Args:
        pyfunc: The function.
        excluded: Positions or names of arguments that are passed on unchanged.
        signature: Core axes in NumPy's notation, such as `"(n),(n)->()"`. `None` means scalars.

    Returns:
        The vectorized function.

    Example:
        >>> larger = ops.vectorize(lambda a, b: ops.maximum(a, b))
        >>> larger([1, 5], 3).numpy()
        array([3, 5], dtype=int32)
    """
    if not callable(pyfunc):
        raise ValueError(f"ops.vectorize: `pyfunc` must be a function, and {pyfunc!r} was given.")
    excluded_set = set(excluded or ())

    def run(*args: Tree) -> Tree:
        raw = jnp.vectorize(call_with_tensors(pyfunc), excluded=excluded_set, signature=signature)
        return raw(*(x if i in excluded_set else as_array(x) for i, x in enumerate(args)))

    return lambda *args: dispatch_closure(run, *args)
