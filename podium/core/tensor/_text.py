"""The text of Tensors and Variables: Podium's own, and TensorFlow's in a program written for it.

This file also owns whether such a program is running, as `python -m podium` runs it. That decides
how values are printed and what happens if a device is missing; no result depends on it.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium._typing import DType, Shape


class _TensorFlowMode:
    is_on = False


def set_tensorflow_mode(is_on: bool) -> None:
    """Set whether a program written for TensorFlow is running in this process."""
    _TensorFlowMode.is_on = is_on


def in_tensorflow_mode() -> bool:
    """Return whether a program written for TensorFlow is running."""
    return _TensorFlowMode.is_on


def tensor_repr(value: jax.Array, dtype: DType) -> str:
    """Return the `repr` of a Tensor."""
    head = f"shape={value.shape}, dtype={dtype}"
    is_traced = isinstance(value, jax.core.Tracer)
    if in_tensorflow_mode():
        end = "inside a trace" if is_traced else f"numpy={_numpy_text(value, repr)}"
        return f"<tf.Tensor: {head}, {end}>"
    if is_traced:
        return f"<podium.Tensor {head}, inside a trace>"
    return f"<podium.Tensor {head}, value={np.array2string(np.asarray(value), threshold=20)}>"


def tensor_str(value: jax.Array, dtype: DType) -> str:
    """Return the `str` of a Tensor."""
    if not in_tensorflow_mode() or isinstance(value, jax.core.Tracer):
        return tensor_repr(value, dtype)
    return f"tf.Tensor({_numpy_text(value, str)}, shape={value.shape}, dtype={dtype})"


def variable_repr(value: jax.Array, path: str, shape: Shape, dtype: np.dtype[Any]) -> str:
    """Return the `repr` of a Variable."""
    is_traced = isinstance(value, jax.core.Tracer)
    if in_tensorflow_mode():
        text = "" if is_traced else f", numpy={_numpy_text(value, repr)}"
        return f"<tf.Variable '{path}:0' shape={shape} dtype={dtype}{text}>"
    text = "" if is_traced else f", value={np.array2string(np.asarray(value), threshold=20)}"
    return f"<Variable path={path}, shape={shape}, dtype={dtype}{text}>"


def _numpy_text(value: jax.Array, to_text: Any) -> str:
    """Return the text of the NumPy value; text of several lines starts on a line of its own."""
    array = np.asarray(value)
    # `repr` of a scalar names its NumPy type; TensorFlow prints the number alone.
    text: str = to_text(array) if array.ndim else str(array[()])
    return f"\n{text}" if "\n" in text else text
