"""TensorFlow's tensors and variables, as the arrays that they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data.columns._origin import is_a

_DENSE = {
    "RaggedTensor": "`{0}.to_tensor()`, which pads the shorter rows",
    "SparseTensor": "`tf.sparse.to_dense({0})`, or a SciPy sparse matrix, whose rows are made "
    "dense batch by batch",
    "IndexedSlices": "`tf.convert_to_tensor({0})`",
}


def is_tensorflow_array(value: Any) -> bool:
    """Tell whether an object of TensorFlow is an array; a `tf.data.Dataset` is none."""
    return hasattr(value, "__array__") or is_a(value, "tensorflow", *_DENSE)


def from_tensorflow(value: Any, name: str) -> np.ndarray:
    """Return a tensor as an array, on the same memory where TensorFlow allows it."""
    for kind, dense in _DENSE.items():
        if is_a(value, "tensorflow", kind):
            raise TypeError(
                f"`{name}` is a TensorFlow {kind}; a dense tensor was expected. Give "
                f"{dense.format(name)}."
            )
    try:
        return np.asarray(value)
    except NotImplementedError as error:
        raise TypeError(
            f"`{name}` is a symbolic TensorFlow tensor, which holds no numbers. Call Podium "
            "outside of `tf.function`."
        ) from error
