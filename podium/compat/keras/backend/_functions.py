"""Functions from symbolic values, printing, automatic names, and what has no graph to work on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from podium import models, utils
from podium._typing import Array, TensorLike, Tree
from podium.compat.keras._backend import get_value, uids
from podium.core import KerasTensor, Tensor, dispatch, map_structure, reset_names
from podium.layers.internal import calls

if TYPE_CHECKING:
    from jax.experimental.sparse import BCOO


def eval(x: TensorLike) -> np.ndarray[Any, Any]:
    """Return a value as a NumPy array.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.eval(keras.backend.variable([1.0, 2.0]))
        array([1., 2.], dtype=float32)
    """
    if isinstance(x, KerasTensor):
        raise TypeError(
            f"eval was given the symbolic value {x}, which has no numbers. Call a model or "
            "`K.function([inputs], [outputs])` on arrays."
        )
    return get_value(x)


def function(
    inputs: Tree,
    outputs: Tree,
    updates: Sequence[Any] | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Callable[[Tree], Tree]:
    """Create a function of arrays from symbolic values, such as the outputs of inner layers.

    Args:
        inputs: Symbolic inputs: of a model, or of `keras.backend.placeholder`.
        outputs: Symbolic values that were computed from them.
        updates: Not supported: there is no graph.
        name: Not used.
        **kwargs: Not supported: options of TensorFlow's sessions.

    Returns:
        A function of a list of arrays; it returns NumPy arrays.

    Example:
        >>> from podium.compat import keras
        >>> x = keras.backend.placeholder(shape=(None, 2))
        >>> double = keras.backend.function([x], [x * 2])
        >>> double([np.array([[1.0, 2.0]], "float32")])
        [array([[2., 4.]], dtype=float32)]
    """
    if updates or kwargs:
        raise ValueError(
            f"function was given updates={updates!r} and {kwargs!r}, which need a graph of "
            "TensorFlow 1. Assign to Variables in a layer or in `train_step`."
        )
    model = models.Model(inputs=inputs, outputs=outputs)
    is_list = isinstance(outputs, list)

    def call_model(model_inputs: Tree) -> Tree:
        if isinstance(model_inputs, (list, tuple)) and len(model_inputs) == 1:
            model_inputs = model_inputs[0]
        result = map_structure(get_value, model(model_inputs))
        return [result] if is_list and not isinstance(result, list) else result

    return call_model


def gradients(loss: TensorLike, variables: Sequence[TensorLike]) -> list[Tensor]:
    """Raise an error, as Keras 2 does outside of TensorFlow 1's graphs: use a GradientTape.

    Args:
        loss: A value.
        variables: Variables.

    Raises:
        RuntimeError: Always; the message shows the code to write.

    Example:
        >>> x = podium.Variable(3.0)
        >>> with podium.GradientTape() as tape:
        ...     loss = x * x
        >>> float(tape.gradient(loss, x))
        6.0
    """
    raise RuntimeError(
        "keras.backend.gradients needs a graph of TensorFlow 1, as in Keras 2. Instead of "
        "`K.gradients(loss, variables)`, write `with tf.GradientTape() as tape:`, compute the loss "
        "in it, and call `tape.gradient(loss, variables)`."
    )


def print_tensor(x: TensorLike, message: str = "", summarize: int | None = 3) -> TensorLike:
    """Print a value when it is computed, also in compiled functions, and return it.

    Args:
        x: A value.
        message: Printed before it.
        summarize: How many elements at each end of a dimension are printed; -1 for all.

    Example:
        >>> from podium.compat import keras
        >>> _ = keras.backend.print_tensor(podium.ops.array([1.0, 2.0]), message="x =")
        x = [1. 2.]
    """
    edge = 3 if summarize is None else summarize

    def write(array: np.ndarray[Any, Any]) -> None:
        limit = sys.maxsize if edge < 0 else 2 * edge
        text = np.array2string(np.asarray(array), threshold=limit, edgeitems=max(edge, 1))
        sys.stdout.write(f"{message} {text}\n")

    def run(array: Array) -> Array:
        if isinstance(array, jax.core.Tracer):
            jax.debug.callback(write, array)
        else:
            write(np.asarray(array))
        return array

    result: TensorLike = dispatch(run, x)
    return result


def manual_variable_initialization(value: bool) -> None:
    """Accept Keras 2's setting for sessions of TensorFlow 1; Variables always have a value here.

    Args:
        value: Whether the script initializes Variables; False has no effect.

    Raises:
        ValueError: The value is True.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.manual_variable_initialization(False)
    """
    if value:
        raise ValueError(
            "manual_variable_initialization was given True, which needs a session of TensorFlow 1. "
            "Remove the call: Variables have their initial values when they are created."
        )


def reset_uids() -> None:
    """Begin to count again in `get_uid` and in automatic names.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.reset_uids()
        >>> keras.backend.get_uid("example")
        1
    """
    uids.clear()
    reset_names()


def clear_session() -> None:
    """Reset automatic names, `get_uid`, the learning phase and global settings.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.clear_session()
        >>> keras.layers.Dense(1).name
        'dense'
    """
    utils.clear_session()
    uids.clear()
    calls.training = None


def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: TensorLike) -> BCOO:
    """Return the labels that are not padding, as a sparse array of JAX.

    It works on values, and not inside compiled functions, since the number of labels is a shape.

    Args:
        labels: `(samples, max label length)`.
        label_lengths: The length of each label.

    Example:
        >>> from podium.compat import keras
        >>> sparse = keras.backend.ctc_label_dense_to_sparse([[3, 4], [5, 0]], [2, 1])
        >>> sparse.indices.tolist(), sparse.data.tolist()
        ([[0, 0], [0, 1], [1, 0]], [3, 4, 5])
    """
    dense, lengths = get_value(labels), get_value(label_lengths).ravel()
    if dense.ndim != 2 or len(lengths) != len(dense):
        raise ValueError(
            f"ctc_label_dense_to_sparse was given labels of shape {dense.shape} and "
            f"{len(lengths)} lengths; one length per row was expected."
        )
    indices = np.argwhere(np.arange(dense.shape[1]) < lengths[:, None])
    data = jnp.asarray(dense[tuple(indices.T)])
    from jax.experimental.sparse import BCOO  # it takes longer than importing all of Podium

    return BCOO((data, jnp.asarray(indices)), shape=dense.shape)
