"""Picking elements by position or by condition."""

import jax.numpy as jnp

from podium.core import dispatch
from podium.ops._promotion import as_array
from podium.ops._table import op, row

nonzero = row(
    "nonzero(x)",
    jnp.nonzero,
    "Positions of the elements that are not zero, one tensor an axis.",
    "[i.numpy().tolist() for i in ops.nonzero([[0, 5], [6, 0]])]",
    "[[0, 1], [1, 0]]",
)
unravel_index = row(
    "unravel_index(indices, shape)",
    jnp.unravel_index,
    "Positions in a flat tensor as positions in `shape`.",
    "[i.numpy().tolist() for i in ops.unravel_index([1, 5], (2, 3))]",
    "[[0, 1], [1, 2]]",
    "indices",
    shape="Shape of the tensor.",
)
take_along_axis = row(
    "take_along_axis(x, indices, axis=None)",
    lambda x, indices, axis: jnp.take_along_axis(x, indices, axis=axis),
    "Pick an element of each row, by position.",
    "ops.take_along_axis([[1, 2], [3, 4]], [[1], [0]], axis=1)",
    """array([[2],
       [3]], dtype=int32)""",
)
take = row(
    "take(x, indices, axis=None)",
    lambda x, indices, axis: jnp.take(x, indices, axis=axis),
    "Pick slices by position. `axis=None` picks from the flattened tensor; floats give "
    "NaN for positions outside.",
    "ops.take([[1, 2], [3, 4]], [1, 0], axis=0)",
    """array([[3, 4],
       [1, 2]], dtype=int32)""",
)


@op("condition x1 x2")
def where(condition, x1=None, x2=None):
    """Choose between two tensors; with the condition alone, the positions where it holds.

    Args:
        condition: Boolean tensor.
        x1: Values where it holds.
        x2: Values elsewhere.

    Example:
        >>> ops.where([True, False], [1, 2], 0).numpy()
        array([1, 0], dtype=int32)
    """
    if (x1 is None) != (x2 is None):
        raise ValueError("give both `x1` and `x2`, or neither.")
    return jnp.where(condition, x1, x2)


@op("default")
def select(condlist, choicelist, default=0):
    """Take each element from the first choice whose condition holds.

    Args:
        condlist: List of boolean tensors.
        choicelist: List of tensors, one for each condition.
        default: Value where no condition holds.

    Example:
        >>> x = np.array([1, 5, 9])
        >>> ops.select([x < 3, x > 7], [x * 10, -x], default=0).numpy()
        array([10,  0, -9], dtype=int32)
    """
    if not isinstance(condlist, (list, tuple)) or not isinstance(choicelist, (list, tuple)):
        raise ValueError("`condlist` and `choicelist` must be lists.")
    if not condlist or not choicelist:
        raise ValueError("`condlist` and `choicelist` must not be empty.")
    return jnp.select(
        list(map(as_array, condlist)), list(map(as_array, choicelist)), default=default
    )


def get_item(x, key):
    """`x[key]`, as a function.

    Args:
        x: Input tensor.
        key: What you would write in the brackets: an int, slice, ellipsis, `None`, tensor, or a
            tuple of these.

    Example:
        >>> ops.get_item([[1, 2], [3, 4]], (0, slice(None))).numpy()
        array([1, 2], dtype=int32)
    """
    return dispatch(_get_item, x, tuple(key) if isinstance(key, list) else key)


def _get_item(x, key):
    return as_array(x)[key]
