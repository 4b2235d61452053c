"""Control flow and execution: `tf.cond`, `tf.while_loop`, `tf.map_fn`, `tf.print`, ..."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

import jax
import numpy as np

from podium import ops
from podium._typing import Array, DTypeLike, TensorLike, Tree
from podium.compat.tensorflow._dtypes import canonical_dtype_or_none
from podium.core import Tensor, convert_to_tensor, map_structure, tree_leaves
from podium.core.internal import is_tracing


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Tree] | None = None,
    false_fn: Callable[[], Tree] | None = None,
    name: str | None = None,
) -> Tree:
    """Call one of two functions.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> float(tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0)))
        1.0
    """
    if true_fn is None or false_fn is None:
        raise TypeError("tf.cond() was given true_fn=None or false_fn=None; pass both functions.")
    if isinstance(pred, (bool, np.bool_)):
        return true_fn() if pred else false_fn()
    return ops.cond(pred, true_fn, false_fn)


def switch_case(
    branch_index: TensorLike,
    branch_fns: Mapping[int, Callable[[], Tree]] | Sequence[Callable[[], Tree]],
    default: Callable[[], Tree] | None = None,
    name: str = "switch_case",
) -> Tree:
    """Call one of several functions, by index.

    `default`, or else the last function, is called for an index out of range.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> float(tf.switch_case(1, [lambda: tf.constant(1.0), lambda: tf.constant(2.0)]))
        2.0
    """
    branches: list[Callable[[], Tree]] = (
        [branch_fns[i] for i in sorted(branch_fns)]
        if isinstance(branch_fns, Mapping)
        else list(branch_fns)
    )
    branches += [default] if default is not None else []
    out_of_range = ops.logical_or(
        ops.less(branch_index, 0), ops.greater_equal(branch_index, len(branches))
    )
    return ops.switch(ops.where(out_of_range, len(branches) - 1, branch_index), branches)


def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Tree],
    loop_vars: Tree,
    shape_invariants: Tree = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: int | None = None,
    name: str | None = None,
) -> Tree:
    """Call `body` repeatedly while `cond` is true.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> int(tf.while_loop(lambda i: i < 10, lambda i: (i + 3,), (tf.constant(0),))[0])
        12
    """
    return ops.while_loop(cond, body, loop_vars, maximum_iterations)


def map_fn(
    fn: Callable[..., Tree],
    elems: Tree,
    dtype: DTypeLike | None = None,
    fn_output_signature: Tree = None,
    name: str | None = None,
    **kwargs: Any,
) -> Tree:
    """Apply a function to each slice along the first axis and stack the results.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.map_fn(lambda x: x * 2, tf.constant([1, 2])).numpy()
        array([2, 4], dtype=int32)
    """
    if isinstance(elems, list):
        return ops.map(fn, convert_to_tensor(elems))
    return ops.map(fn, map_structure(convert_to_tensor, elems))


def vectorized_map(
    fn: Callable[..., Tree], elems: Tree, fallback_to_while_loop: bool = True, warn: bool = True
) -> Tree:
    """Apply a function to all slices along the first axis, vectorized.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.vectorized_map(lambda x: x * 2, tf.constant([1, 2])).numpy()
        array([2, 4], dtype=int32)
    """
    return ops.vectorized_map(fn, elems)


def scan(
    fn: Callable[..., Tree],
    elems: Tree,
    initializer: Tree = None,
    reverse: bool = False,
    name: str | None = None,
    **kwargs: Any,
) -> Tree:
    """Call `fn(accumulated, element)` along the first axis and stack the results.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3])).numpy()
        array([1, 3, 6], dtype=int32)
    """

    def step(carry: Tree, element: Tree) -> tuple[Tree, Tree]:
        result = fn(carry, element)
        return result, result

    if initializer is not None:
        return ops.scan(step, initializer, elems, reverse=reverse)[1]
    first = map_structure(lambda x: x[-1 if reverse else 0], elems)
    remaining = map_structure(lambda x: x[:-1] if reverse else x[1:], elems)
    results = ops.scan(step, first, remaining, reverse=reverse)[1]

    def prepend(initial: Tensor, accumulated: Tensor) -> Tensor:
        parts = [initial[None], accumulated]
        return ops.concatenate(parts[::-1] if reverse else parts)

    return map_structure(prepend, first, results)


@contextlib.contextmanager
def control_dependencies(control_inputs: Tree) -> Iterator[None]:
    """Do nothing: operations run in program order.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> with tf.control_dependencies([]):
        ...     print("in order")
        in order
    """
    yield


@contextlib.contextmanager
def device(device_name: str | None) -> Iterator[None]:
    """Do nothing: JAX chooses the device, and `podium.distribute` places values on several.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> with tf.device("/cpu:0"):
        ...     print("anywhere")
        anywhere
    """
    yield


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Do nothing: Variables are always created outside of traces.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> with tf.init_scope():
        ...     print("outside")
        outside
    """
    yield


def group(*inputs: Tree, name: str | None = None) -> None:
    """Do nothing: the inputs are already computed.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.group(tf.constant(1))
    """


def no_op(name: str | None = None) -> None:
    """Do nothing.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.no_op()
    """


def executing_eagerly() -> bool:
    """Return whether operations run eagerly: False inside a compiled function.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.executing_eagerly()
        True
    """
    return not isinstance(ops.zeros(())._value, jax.core.Tracer)


def print(
    *inputs: Tree,
    output_stream: TextIO | None = None,
    sep: str = " ",
    end: str = "\n",
    **kwargs: Any,
) -> None:
    """Print values when they are computed, also from inside compiled functions.

    Prints to stderr by default, as TensorFlow does.

    Example:
        >>> import sys
        >>> from podium.compat import tensorflow as tf
        >>> tf.print("loss:", tf.constant(0.5), output_stream=sys.stdout)
        loss: 0.5
    """
    arrays = [leaf._value for leaf in tree_leaves(inputs) if isinstance(leaf, Tensor)]

    def write(*values: Array) -> None:
        remaining = iter(values)
        printed = map_structure(
            lambda leaf: next(remaining) if isinstance(leaf, Tensor) else leaf, inputs
        )
        stream = output_stream or sys.stderr
        stream.write(sep.join(str(part) for part in printed) + end)

    if any(isinstance(array, jax.core.Tracer) for array in arrays):
        jax.debug.callback(write, *arrays)
    else:
        write(*map(np.asarray, arrays))


def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: DTypeLike | Sequence[DTypeLike] | None = None,
    stateful: bool = True,
    name: str | None = None,
) -> Tensor | list[Tensor]:
    """Call a Python function on NumPy arrays.

    Works eagerly only, for example in functions that a Dataset maps.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.numpy_function(np.sinh, [tf.constant(0.0)], tf.float32).numpy()
        array(0., dtype=float32)
    """
    result = func(*(np.asarray(value) for value in inp))
    requested: list[Any] = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    dtypes = [canonical_dtype_or_none(dtype) for dtype in requested]
    if isinstance(result, (list, tuple)):
        return [convert_to_tensor(part, dtype) for part, dtype in zip(result, dtypes, strict=True)]
    tensor: Tensor = convert_to_tensor(result, dtypes[0])
    return tensor


def py_function(
    func: Callable[..., Tree],
    inp: Sequence[TensorLike],
    Tout: DTypeLike | Sequence[DTypeLike] | None = None,
    name: str | None = None,
) -> Tree:
    """Call a Python function on Tensors.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> float(tf.py_function(lambda x: x + 1, [tf.constant(1.0)], tf.float32))
        2.0
    """
    return func(*inp)


def get_logger() -> logging.Logger:
    """Return the logger named `tensorflow`, so that scripts can set its level.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.get_logger().name
        'tensorflow'
    """
    return logging.getLogger("tensorflow")


def inside_function() -> bool:
    """Return whether the running code is traced to be compiled.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.inside_function()
        False
    """
    return is_tracing()
