"""Making arrays and changing their form: `tf.constant`, `tf.zeros`, `tf.reshape`, `tf.concat`,
...
"""

import builtins
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops
from podium.compat.tensorflow._dtypes import number_type
from podium.compat.tensorflow._sizes import Shape, sizes
from podium.compat.tensorflow._table import alias, is_known, keeping_known
from podium.core import convert_to_tensor as to_tensor
from podium.core import lift, promote_dtypes


def _to_tensor(value: Any, dtype: Any = None) -> Any:
    dtype = None if dtype is None else number_type(dtype)
    return to_tensor(builtins.list(value) if isinstance(value, Shape) else value, dtype)


def _constant(value: Any, dtype: Any, shape: Any) -> Any:
    made = _to_tensor(value, dtype)
    if shape is None:
        return made
    lengths = sizes(shape)
    return ops.reshape(made, lengths) if made.ndim else ops.broadcast_to(made, lengths)


constant = alias(
    "constant(value, dtype=None, shape=None, name='Const')",
    _constant,
    "tf.constant([[1, 2], [3, 4]], dtype=tf.float32).shape",
    "(2, 2)",
    "Return numbers as a Tensor, in a given type and shape.",
)
convert_to_tensor = alias(
    "convert_to_tensor(value, dtype=None, dtype_hint=None, name=None)",
    lambda value, dtype, hint: _to_tensor(value, dtype),
    "tf.convert_to_tensor([1.0, 2.0]).numpy()",
    "array([1., 2.], dtype=float32)",
    "Return numbers as a Tensor.",
)
identity = alias(
    "identity(input, name=None)",
    lift(lambda x: jnp.array(x, copy=True)),
    "tf.identity([1.0, 2.0]).numpy()",
    "array([1., 2.], dtype=float32)",
    "A copy.",
)
cast = alias("cast(x, dtype, name=None)", ops.cast)
saturate_cast = alias("saturate_cast(value, dtype, name=None)", ops.saturate_cast)
complex = alias(
    "complex(real, imag, name=None)",
    lift(
        lambda real, imag: jax.lax.complex(
            *jnp.broadcast_arrays(jnp.asarray(real, float), jnp.asarray(imag, float))
        )
    ),
    "tf.complex(1.0, 2.0).numpy()",
    "array(1.+2.j, dtype=complex64)",
    "A complex number from its two parts.",
)


def _named(op: Any, run: Any) -> Any:
    run.__doc__, run.__name__ = op.__doc__, op.__name__
    return run


zeros = alias(
    "zeros(shape, dtype='float32', name=None)",
    _named(ops.zeros, lambda shape, dtype: ops.zeros(sizes(shape), dtype)),
    known=False,
)
ones = alias(
    "ones(shape, dtype='float32', name=None)",
    _named(ops.ones, lambda shape, dtype: ops.ones(sizes(shape), dtype)),
    known=False,
)
zeros_like = alias("zeros_like(input, dtype=None, name=None)", ops.zeros_like)
ones_like = alias("ones_like(input, dtype=None, name=None)", ops.ones_like)
fill = alias(
    "fill(dims, value, name=None)",
    lambda dims, value: lift(lambda value: jnp.full(sizes(dims), value))(to_tensor(value)),
    "tf.fill([2, 2], 7).numpy()",
    "array([[7, 7],\n       [7, 7]], dtype=int32)",
    "An array with one value everywhere.",
    known=False,
)
linspace = alias(
    "linspace(start, stop, num, name=None, axis=0)",
    lambda start, stop, num, axis: ops.linspace(start, stop, int(num), axis=axis),
    "tf.linspace(0.0, 1.0, 3).numpy()",
    "array([0. , 0.5, 1. ], dtype=float32)",
    "Numbers at equal distances, both ends included.",
    known=False,
)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    """Numbers from `start` (0 if only one bound is given) to `limit`, which is left out.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.range(3).numpy(), tf.range(1, 6, 2).numpy()
        (array([0, 1, 2], dtype=int32), array([1, 3, 5], dtype=int32))
    """
    start, limit = (0, start) if limit is None else (start, limit)
    known = [_number(bound) for bound in (start, limit, delta)]
    if dtype is None and any(isinstance(bound, float) for bound in known):
        dtype = "float32"
    return keeping_known(ops.arange)(*known, dtype=None if dtype is None else number_type(dtype))


def _number(bound: Any) -> Any:
    """A bound as a plain number, since the length of the result must be known."""
    if isinstance(bound, (int, float)):
        return bound
    kind = np.dtype(getattr(bound, "dtype", "float32")).kind
    return int(bound) if kind in "iub" else float(bound)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
) -> Any:
    """The identity matrix, or a batch of them.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.eye(2, batch_shape=[3]).shape
        (3, 2, 2)
    """
    rows, columns = sizes(num_rows)[0], sizes(num_rows if num_columns is None else num_columns)[0]
    matrix = ops.eye(rows, columns, dtype=number_type(dtype))
    return (
        matrix
        if batch_shape is None
        else ops.broadcast_to(matrix, (*sizes(batch_shape), rows, columns))
    )


# --- form

reshape = alias(
    "reshape(tensor, shape, name=None)",
    _named(ops.reshape, lambda x, shape: ops.reshape(x, sizes(shape))),
)
broadcast_to = alias(
    "broadcast_to(input, shape, name=None)",
    _named(ops.broadcast_to, lambda x, shape: ops.broadcast_to(x, sizes(shape))),
)
tile = alias(
    "tile(input, multiples, name=None)",
    _named(ops.tile, lambda x, multiples: ops.tile(x, sizes(multiples))),
)


def _axis(axis: Any) -> Any:
    if axis is None or isinstance(axis, (int, builtins.list, tuple)):
        return tuple(axis) if isinstance(axis, builtins.list) else axis
    return int(axis)


expand_dims = alias(
    "expand_dims(input, axis, name=None)",
    _named(ops.expand_dims, lambda x, axis: ops.expand_dims(x, _axis(axis))),
)
squeeze = alias(
    "squeeze(input, axis=None, name=None)",
    _named(ops.squeeze, lambda x, axis: ops.squeeze(x, None if axis == [] else _axis(axis))),
)


def _transpose(x: Any, perm: Any, conjugate: bool) -> Any:
    x = ops.transpose(x, None if perm is None else sizes(perm))
    return ops.conj(x) if conjugate else x


transpose = alias(
    "transpose(a, perm=None, conjugate=False, name='transpose')",
    _transpose,
    "tf.transpose(tf.zeros((2, 3, 4)), perm=[0, 2, 1]).shape",
    "(2, 4, 3)",
    "Put the axes in another order, reversed unless `perm` is given.",
)
reverse = alias(
    "reverse(tensor, axis, name=None)",
    lambda x, axis: ops.flip(x, _axis(axis)),
    "tf.reverse([1, 2, 3], axis=[0]).numpy()",
    "array([3, 2, 1], dtype=int32)",
    "Reverse the order along axes.",
)
roll = alias(
    "roll(input, shift, axis, name=None)",
    lift(lambda x, shift, axis: jnp.roll(jnp.asarray(x), _axis(shift), _axis(axis))),
    "tf.roll([1, 2, 3], shift=1, axis=0).numpy()",
    "array([3, 1, 2], dtype=int32)",
    "Move elements along axes; those that fall out come in at the other end.",
)
repeat = alias(
    "repeat(input, repeats, axis=None, name=None)",
    lambda x, repeats, axis: ops.repeat(
        x, repeats if isinstance(repeats, int) else np.asarray(repeats), axis=axis
    ),
    "tf.repeat([1, 2], 2).numpy()",
    "array([1, 1, 2, 2], dtype=int32)",
    "Repeat each element.",
)


# --- joining and cutting


def _known_parts(values: Any) -> list:
    return [builtins.list(value) if isinstance(value, Shape) else value for value in values]


def _concat(values: Any, axis: Any) -> Any:
    joined = ops.concatenate(_known_parts(values), axis=_axis(axis))
    sized = is_known(values) and any(isinstance(value, Shape) for value in values)
    return Shape(joined.numpy().tolist()) if sized else joined


concat = alias(
    "concat(values, axis, name='concat')",
    _concat,
    "tf.concat([[1, 2], [3]], axis=0).numpy()",
    "array([1, 2, 3], dtype=int32)",
    "Join a list of tensors along an axis they have.",
)
stack = alias(
    "stack(values, axis=0, name='stack')",
    lambda values, axis: ops.stack(_known_parts(values), axis=_axis(axis)),
    "tf.stack([[1, 2], [3, 4]], axis=1).numpy()",
    "array([[1, 3],\n       [2, 4]], dtype=int32)",
    "Join a list of tensors along a new axis.",
)
unstack = alias(
    "unstack(value, num=None, axis=0, name='unstack')",
    lambda value, num, axis: builtins.list(ops.unstack(value, num, axis)),
    "[float(part) for part in tf.unstack([1.0, 2.0])]",
    "[1.0, 2.0]",
    "Cut a tensor into a list along an axis, which goes away.",
)


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: str = "split"
) -> list:
    """Cut a tensor into a list: a number of equal parts, or parts of given sizes (-1 for the rest).

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [part.shape for part in tf.split(tf.zeros((5, 2)), [1, -1])]
        [(1, 2), (4, 2)]
    """
    axis = _axis(axis)
    if not np.ndim(num_or_size_splits):
        return builtins.list(keeping_known(ops.split)(value, int(num_or_size_splits), axis=axis))
    parts = builtins.list(sizes(num_or_size_splits))
    if -1 in parts:
        parts[parts.index(-1)] = ops.shape(value)[axis] - sum(part for part in parts if part >= 0)
    places = [int(place) for place in np.cumsum(parts)[:-1]]
    return builtins.list(keeping_known(ops.split)(value, places, axis=axis))


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Any:
    """Add margins: `paddings` has how many before and after, for each axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.pad([1, 2], [[1, 2]]).numpy()
        array([0, 1, 2, 0, 0], dtype=int32)
    """
    widths = [
        sizes(pair)
        for pair in (
            np.asarray(paddings) if not isinstance(paddings, (builtins.list, tuple)) else paddings
        )
    ]
    how = mode.lower()
    return ops.pad(
        tensor, widths, mode=how, constant_values=constant_values if how == "constant" else None
    )


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list:
    """The coordinates of a grid, one array for each axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [part.shape for part in tf.meshgrid([1, 2, 3], [4, 5])]
        [(2, 3), (2, 3)]
    """
    return builtins.list(ops.meshgrid(*args, indexing=indexing))


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """A 1 in the place of each index, 0 elsewhere.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.one_hot([0, 2], depth=3).numpy()
        array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    kind = number_type(dtype if dtype is not None else getattr(on_value, "dtype", None))
    hot = ops.one_hot(
        ops.cast(indices, "int32"), sizes(depth)[0], axis=-1 if axis is None else axis, dtype=kind
    )
    if on_value is None and off_value is None:
        return hot
    on, off = 1 if on_value is None else on_value, 0 if off_value is None else off_value
    return ops.cast(ops.where(ops.equal(hot, 1), on, off), kind)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: str | None = None
) -> Any:
    """True for the first `lengths` places of each row.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.sequence_mask([1, 3], 3).numpy()
        array([[ True, False, False],
               [ True,  True,  True]])
    """
    longest = int(ops.max(lengths)) if maxlen is None else int(maxlen)

    @promote_dtypes
    def mask(lengths: Any) -> Any:
        return (jnp.arange(longest) < jnp.asarray(lengths)[..., None]).astype(number_type(dtype))

    return lift(mask)(lengths)
