"""Flow of control and the words around it: `tf.cond`, `tf.while_loop`, `tf.map_fn`, `tf.device`,
`tf.print`, ...
"""

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from podium import ops
from podium.compat.tensorflow._dtypes import canonical_dtype
from podium.core import Tensor, convert_to_tensor, map_structure, tree_leaves


def cond(
    pred: Any,
    true_fn: Callable | None = None,
    false_fn: Callable | None = None,
    name: str | None = None,
) -> Any:
    """Run one of two functions.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> float(tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0)))
        1.0
    """
    if isinstance(pred, (bool, np.bool_)):
        return true_fn() if pred else false_fn()  # type: ignore[misc]
    return ops.cond(pred, true_fn, false_fn)


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable | None = None, name: str = "switch_case"
) -> Any:
    """Run one of several functions, by number; the last one (or `default`) for numbers out of
    range.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> float(tf.switch_case(1, [lambda: tf.constant(1.0), lambda: tf.constant(2.0)]))
        2.0
    """
    branches = (
        [branch_fns[i] for i in sorted(branch_fns)]
        if isinstance(branch_fns, dict)
        else list(branch_fns)
    )
    branches += [default] if default is not None else []
    outside = (branch_index < 0) | (branch_index >= len(branches))
    return ops.switch(ops.where(outside, len(branches) - 1, branch_index), branches)


def while_loop(
    cond: Callable,
    body: Callable,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: int | None = None,
    name: str | None = None,
) -> Any:
    """Repeat `body` while `cond` holds.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> int(tf.while_loop(lambda i: i < 10, lambda i: (i + 3,), (tf.constant(0),))[0])
        12
    """
    return ops.while_loop(cond, body, loop_vars, maximum_iterations)


def map_fn(
    fn: Callable,
    elems: Any,
    dtype: Any = None,
    fn_output_signature: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """Apply a function to each slice along the first axis and stack the results.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.map_fn(lambda x: x * 2, tf.constant([1, 2])).numpy()
        array([2, 4], dtype=int32)
    """
    return ops.map(
        fn,
        map_structure(convert_to_tensor, elems)
        if not isinstance(elems, list)
        else convert_to_tensor(elems),
    )


def vectorized_map(
    fn: Callable, elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """Apply a function to all slices along the first axis at once.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.vectorized_map(lambda x: x * 2, tf.constant([1, 2])).numpy()
        array([2, 4], dtype=int32)
    """
    return ops.vectorized_map(fn, elems)


def scan(
    fn: Callable,
    elems: Any,
    initializer: Any = None,
    reverse: bool = False,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """Run `fn(accumulated, element)` along the first axis and stack what it returns.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3])).numpy()
        array([1, 3, 6], dtype=int32)
    """

    def step(carry: Any, element: Any) -> Any:
        result = fn(carry, element)
        return result, result

    if initializer is not None:
        return ops.scan(step, initializer, elems, reverse=reverse)[1]
    first = map_structure(lambda x: x[-1 if reverse else 0], elems)
    rest = map_structure(lambda x: x[:-1] if reverse else x[1:], elems)
    others = ops.scan(step, first, rest, reverse=reverse)[1]
    joined = (
        (lambda a, b: ops.concatenate([b, a[None]]))
        if reverse
        else (lambda a, b: ops.concatenate([a[None], b]))
    )
    return map_structure(joined, first, others)


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Do nothing: lines run in the order they are written.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> with tf.control_dependencies([]):
        ...     print("in order")
        in order
    """
    yield


@contextlib.contextmanager
def device(device_name: Any) -> Iterator[None]:
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
    """Do nothing: Variables are made outside of every trace already.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> with tf.init_scope():
        ...     print("outside")
        outside
    """
    yield


def group(*inputs: Any, name: str | None = None) -> None:
    """Return nothing: what was given has run already.

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
    """Tell whether values are known here: False inside a compiled function.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.executing_eagerly()
        True
    """
    return not isinstance(ops.zeros(())._value, jax.core.Tracer)


def print(
    *inputs: Any, output_stream: Any = None, sep: str = " ", end: str = "\n", **kwargs: Any
) -> None:
    """Print values when they are computed, also from inside compiled functions; to stderr, as
    TensorFlow does.

    Example:
        >>> import sys
        >>> from podium.compat import tensorflow as tf
        >>> tf.print("loss:", tf.constant(0.5), output_stream=sys.stdout)
        loss: 0.5
    """
    flat = tree_leaves(inputs)
    arrays = [leaf._value for leaf in flat if isinstance(leaf, Tensor)]

    def write(*values: Any) -> None:
        found = iter(values)
        shown = map_structure(
            lambda leaf: next(found) if isinstance(leaf, Tensor) else leaf, inputs
        )
        stream = output_stream or sys.stderr
        stream.write(sep.join(str(part) for part in shown) + end)

    if any(isinstance(array, jax.core.Tracer) for array in arrays):
        jax.debug.callback(write, *arrays)
    else:
        write(*map(np.asarray, arrays))


def numpy_function(
    func: Callable, inp: Any, Tout: Any = None, stateful: bool = True, name: str | None = None
) -> Any:
    """Run a Python function on NumPy arrays. For eager code, such as functions that a Dataset maps.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.numpy_function(np.sinh, [tf.constant(0.0)], tf.float32).numpy()
        array(0., dtype=float32)
    """
    result = func(*(np.asarray(value) for value in inp))
    kinds = [
        None if kind is None else canonical_dtype(kind)
        for kind in (Tout if isinstance(Tout, (list, tuple)) else [Tout])
    ]
    if isinstance(result, (list, tuple)):
        return [convert_to_tensor(part, kind) for part, kind in zip(result, kinds, strict=True)]
    return convert_to_tensor(result, kinds[0])


def py_function(func: Callable, inp: Any, Tout: Any = None, name: str | None = None) -> Any:
    """Run a Python function on Tensors.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> float(tf.py_function(lambda x: x + 1, [tf.constant(1.0)], tf.float32))
        2.0
    """
    return func(*inp)


def get_logger() -> logging.Logger:
    """Return the logger named `tensorflow`, so that scripts may set its level.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.get_logger().name
        'tensorflow'
    """
    return logging.getLogger("tensorflow")
