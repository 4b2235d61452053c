"""`keras.backend`: the functions that Keras 2 scripts call `K.something`."""

from typing import Any

import numpy as np

from podium import ops, random
from podium.core import Variable, convert_to_tensor


def backend() -> str:
    """Return the name of the framework whose words a script may use: "tensorflow", since `tf` is
    what Podium stands for.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.backend()
        'tensorflow'
    """
    return "tensorflow"


def get_value(x: Any) -> Any:
    """Return a value as NumPy numbers.

    Example:
        >>> from podium.compat import keras
        >>> float(keras.backend.get_value(podium.Variable(2.0)))
        2.0
    """
    return x.numpy() if hasattr(x, "numpy") else np.asarray(x)


def set_value(x: Any, value: Any) -> None:
    """Change a Variable.

    Example:
        >>> from podium.compat import keras
        >>> rate = podium.Variable(0.1)
        >>> keras.backend.set_value(rate, 0.01)
        >>> round(float(rate), 3)
        0.01
    """
    if not hasattr(x, "assign"):
        raise TypeError(
            f"set_value() was given {x!r}; a Variable was expected. Assign to the attribute that "
            "holds it instead."
        )
    x.assign(np.asarray(value, dtype=x.dtype))


def batch_get_value(tensors: Any) -> list:
    """Return several values as NumPy numbers.

    Example:
        >>> from podium.compat import keras
        >>> [float(value) for value in keras.backend.batch_get_value([podium.Variable(2.0)])]
        [2.0]
    """
    return [get_value(x) for x in tensors]


def batch_set_value(tuples: Any) -> None:
    """Change several Variables, given as pairs of Variable and value.

    Example:
        >>> from podium.compat import keras
        >>> rate = podium.Variable(0.1)
        >>> keras.backend.batch_set_value([(rate, 0.5)])
        >>> float(rate)
        0.5
    """
    for x, value in tuples:
        set_value(x, value)


def int_shape(x: Any) -> tuple:
    """Return the shape as a tuple, None where a length is not known.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.int_shape(podium.Input((3,)))
        (None, 3)
    """
    return tuple(ops.shape(x))


def ndim(x: Any) -> int:
    """Return the number of dimensions.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.ndim(np.zeros((2, 3)))
        2
    """
    return len(ops.shape(x))


def variable(
    value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None
) -> Variable:
    """Make a Variable.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.variable([1.0, 2.0]).shape
        (2,)
    """
    return Variable(value, dtype=dtype, name=name, constraint=constraint)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Return numbers as a Tensor.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.constant(1.0, shape=(2,)).numpy()
        array([1., 1.], dtype=float32)
    """
    made = convert_to_tensor(value, dtype)
    return made if shape is None else ops.broadcast_to(made, shape)


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Draw from a normal distribution.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.random_normal(shape=(2, 3)).shape
        (2, 3)
    """
    return random.normal(tuple(int(n) for n in shape), mean, stddev, dtype, seed)


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Draw evenly from an interval.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.random_uniform(shape=(2, 3)).shape
        (2, 3)
    """
    return random.uniform(tuple(int(n) for n in shape), minval, maxval, dtype, seed)


def l2_normalize(x: Any, axis: int | None = None) -> Any:
    """Scale vectors along an axis to length one.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.l2_normalize([3.0, 4.0]).numpy().round(2)
        array([0.6, 0.8], dtype=float32)
    """
    return ops.multiply(
        x, ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis=axis, keepdims=True), 1e-12))
    )


def batch_flatten(x: Any) -> Any:
    """Make each sample one row.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.batch_flatten(np.zeros((2, 3, 4))).shape
        (2, 12)
    """
    return ops.reshape(x, (ops.shape(x)[0], -1))


def flatten(x: Any) -> Any:
    """Make one row of everything.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.flatten(np.zeros((2, 3))).shape
        (6,)
    """
    return ops.reshape(x, (-1,))


def learning_phase() -> int:
    """Return 0: whether layers train is said by the `training` argument.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.learning_phase()
        0
    """
    return 0


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Any:
    """The CTC loss of each sample, from probabilities.

    Args:
        y_true: Labels `(samples, longest label)`.
        y_pred: Probabilities `(samples, steps, classes)`; the last class is the blank.
        input_length: Number of steps of each sample, `(samples, 1)`.
        label_length: Length of each label, `(samples, 1)`.

    Returns:
        Tensor `(samples, 1)`.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.ctc_batch_cost([[0]], np.full((1, 2, 2), 0.5), [[2]], [[1]]).shape
        (1, 1)
    """
    blank = ops.shape(y_pred)[-1] - 1
    logits = ops.log(ops.add(ops.cast(y_pred, "float32"), 1e-7))
    lengths = [ops.cast(ops.reshape(each, (-1,)), "int32") for each in (label_length, input_length)]
    return ops.expand_dims(
        ops.ctc_loss(ops.cast(y_true, "int32"), logits, *lengths, mask_index=blank), 1
    )


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list, Any]:
    """The most likely labels, from probabilities; the last class is the blank.

    Returns:
        A list with the labels of each path, -1 where they have ended, and the scores.

    Example:
        >>> from podium.compat import keras
        >>> paths, scores = keras.backend.ctc_decode(np.array([[[0.9, 0.1], [0.2, 0.8]]]), [2])
        >>> paths[0].numpy()[0, :1]
        array([0], dtype=int32)
    """
    blank = ops.shape(y_pred)[-1] - 1
    logits = ops.log(ops.add(ops.cast(y_pred, "float32"), 1e-7))
    lengths = ops.cast(ops.reshape(input_length, (-1,)), "int32")
    strategy, more = (
        ("greedy", {})
        if greedy
        else ("beam_search", {"beam_width": beam_width, "top_paths": top_paths})
    )
    paths, scores = ops.ctc_decode(logits, lengths, strategy=strategy, mask_index=blank, **more)
    return list(ops.unstack(paths)), scores
