"""Loops and branches over `jax.lax`. The functions given to them are ordinary ones: they see
Tensors and may use operators.

Tensors and Variables that those functions read from outside are found too, so gradients reach them.
For that a loop may be run twice, and `jax.lax` remembers traces by function: so each run makes a
new raw function (`call_with_tensors`).
"""

import jax
import jax.numpy as jnp

from podium.core import call_with_tensors, dispatch_closure
from podium.ops._promotion import as_array


def _arrays(structure):
    """Every leaf as an array, so that loops carry fixed types."""
    return jax.tree.map(as_array, structure)


def _check_callable(op, **functions):
    for name, fn in functions.items():
        if not callable(fn):
            raise TypeError(
                f"ops.{op}: `{name}` must be a function, and {fn!r} was given. Wrap a value as "
                "`lambda: value`."
            )


def cond(pred, true_fn, false_fn):
    """Run one of two functions, depending on a value that may be computed.

    Args:
        pred: Boolean scalar.
        true_fn: Function without arguments, run if `pred` holds.
        false_fn: Function without arguments, run otherwise. Its result has the same structure,
            shapes and dtypes.

    Example:
        >>> x = ops.array(3.0)
        >>> float(ops.cond(x > 2.0, lambda: x * 10.0, lambda: x))
        30.0
    """
    _check_callable("cond", true_fn=true_fn, false_fn=false_fn)

    def run(pred):
        return jax.lax.cond(
            as_array(pred).astype(bool), call_with_tensors(true_fn), call_with_tensors(false_fn)
        )

    return dispatch_closure(run, pred)


def switch(index, branches, *operands):
    """Run one of several functions, by number.

    Args:
        index: Integer scalar; out of range means the nearest branch.
        branches: List of functions of `operands`. Their results have the same structure, shapes and
            dtypes.
        *operands: What to call the function with.

    Example:
        >>> int(ops.switch(1, [lambda x: x, lambda x: x + 1], ops.array(5)))
        6
    """
    branches = list(branches)
    _check_callable("switch", **{f"branches[{i}]": b for i, b in enumerate(branches)})

    def run(index, *operands):
        return jax.lax.switch(
            index, [call_with_tensors(branch) for branch in branches], *_arrays(operands)
        )

    return dispatch_closure(run, index, *operands)


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    """Repeat while a condition holds. For gradients use `fori_loop` with fixed bounds, or `scan`.

    Args:
        cond: Function of the loop variables that returns a boolean scalar.
        body: Function of the loop variables that returns their next values, with the same shapes
            and dtypes.
        loop_vars: The first values: a tuple or list, or a single tensor.
        maximum_iterations: Stop after so many rounds. `None` means no limit.

    Returns:
        The last values, in the structure of `loop_vars`.

    Example:
        >>> int(ops.while_loop(lambda i: i < 10, lambda i: i * 2, ops.array(1)))
        16
    """
    _check_callable("while_loop", cond=cond, body=body)
    many = isinstance(loop_vars, (tuple, list))

    def run(*values):
        raw_cond, raw_body = call_with_tensors(cond), call_with_tensors(body)

        def goes_on(state):
            round_, values = state
            more = raw_cond(*values)
            return (
                more
                if maximum_iterations is None
                else jnp.logical_and(more, round_ < maximum_iterations)
            )

        def advance(state):
            round_, values = state
            new = raw_body(*values)
            return round_ + 1, (tuple(new) if many else (new,))

        return jax.lax.while_loop(goes_on, advance, (jnp.int32(0), _arrays(values)))[1]

    values = dispatch_closure(run, *(loop_vars if many else (loop_vars,)))
    return values if many else values[0]


def fori_loop(lower, upper, body_fun, init_val):
    """Repeat for each integer from `lower` up to, not including, `upper`.

    Gradients need bounds that are Python integers.

    Args:
        lower: First integer.
        upper: End.
        body_fun: Function `(i, value) -> value`, with the same structure, shapes and dtypes.
        init_val: First value.

    Returns:
        The last value.

    Example:
        >>> int(ops.fori_loop(0, 4, lambda i, total: total + i, ops.array(0)))
        6
    """
    _check_callable("fori_loop", body_fun=body_fun)

    def run(lower, upper, init):
        return jax.lax.fori_loop(lower, upper, call_with_tensors(body_fun), _arrays(init))

    return dispatch_closure(run, lower, upper, init_val)


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    """Carry a value along the first axis, collecting an output at each step.

    Args:
        f: Function `(carry, x) -> (carry, output)`; the carry keeps its shapes and dtypes.
        init: First carry, any structure.
        xs: Structure of tensors to walk along. `None` means `f` gets `None`.
        length: Number of steps, needed if `xs` is `None`.
        reverse: Whether to walk from the end.
        unroll: How many steps to write out in a row (an int), or all (`True`).

    Returns:
        The last carry, and the outputs stacked along a new first axis.

    Example:
        >>> total, history = ops.scan(lambda c, x: (c + x, c + x), ops.array(0), ops.array([1, 2, 3]))
        >>> int(total), history.numpy()
        (6, array([1, 3, 6], dtype=int32))
    """
    _check_callable("scan", f=f)
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(
            f"ops.scan: unroll={unroll!r} was given. It must be a bool or an int of at least 1."
        )

    def run(init, xs):
        body = call_with_tensors(f)
        return jax.lax.scan(
            body, _arrays(init), _arrays(xs), length=length, reverse=reverse, unroll=unroll
        )

    return dispatch_closure(run, init, xs)


def associative_scan(f, elems, reverse=False, axis=0):
    """Running combination of elements by an associative function, computed in parallel.

    Args:
        f: Associative function of two elements (structures like `elems`, batched along `axis`).
        elems: Structure of tensors.
        reverse: Whether to run from the end.
        axis: Axis to run along.

    Example:
        >>> ops.associative_scan(lambda a, b: a + b, ops.array([1, 2, 3])).numpy()
        array([1, 3, 6], dtype=int32)
    """
    _check_callable("associative_scan", f=f)

    def run(elems):
        return jax.lax.associative_scan(call_with_tensors(f), _arrays(elems), reverse, axis)

    return dispatch_closure(run, elems)


def map(f, xs):
    """Apply a function to each slice along the first axis, one after the other.

    Args:
        f: Function of a slice.
        xs: Structure of tensors.

    Returns:
        The results, stacked along a new first axis. `vectorized_map` does the same at once.

    Example:
        >>> ops.map(lambda x: x * 2, ops.array([1, 2, 3])).numpy()
        array([2, 4, 6], dtype=int32)
    """
    _check_callable("map", f=f)
    return dispatch_closure(lambda xs: jax.lax.map(call_with_tensors(f), _arrays(xs)), xs)


def vectorized_map(function, elements):
    """Apply a function to all slices along the first axis at once.

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


def vectorize(pyfunc, *, excluded=None, signature=None):
    """Make a function of scalars (or of small arrays) work on whole tensors, with broadcasting.

    Args:
        pyfunc: The function.
        excluded: Positions or names of arguments that are passed on as they are.
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
    left_out = set(excluded or ())

    def run(*args):
        raw = jnp.vectorize(call_with_tensors(pyfunc), excluded=left_out, signature=signature)
        return raw(*(x if i in left_out else as_array(x) for i, x in enumerate(args)))

    return lambda *args: dispatch_closure(run, *args)
