"""Tensors of PyTorch and TensorFlow as arrays on the same memory; those on another device are read
batch by batch.
"""

from __future__ import annotations

import sys
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from podium.data._value_checks import check_values
from podium.data.columns._column import Column, Index
from podium.data.columns._foreign_types import ForeignObject, is_instance_of

# dtypes that `Tensor.numpy` does not support, and the integers as which their bits are passed.
_BITS = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def from_torch(tensor: ForeignObject, name: str) -> NDArray[Any] | Column:
    """Return a tensor as an array on the same memory; one on another device as a Column."""
    if str(tensor.layout) != "torch.strided":
        raise TypeError(
            f"`{name}` is a sparse PyTorch tensor (layout {tensor.layout}); a dense one was "
            f"expected. Give `{name}.to_dense()`, or a SciPy sparse matrix, whose rows are made "
            "dense batch by batch."
        )
    if tensor.device.type == "meta":
        raise ValueError(
            f"`{name}` is a PyTorch tensor on the device 'meta', which has no values. Give one "
            "that has."
        )
    tensor = tensor.detach()
    return _as_numpy(tensor) if tensor.device.type == "cpu" else DeviceColumn(name, tensor)


class DeviceColumn(Column):
    """A tensor on another device, such as a GPU. The rows of a batch are selected there, and then
    copied to the host.
    """

    def __init__(self, name: str, tensor: ForeignObject):
        super().__init__(name, tensor.shape, _as_numpy(tensor[:0].cpu()).dtype)
        check_values(self, name)
        self._tensor = tensor

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows."""
        if not isinstance(index, slice):
            index = sys.modules["torch"].from_numpy(index).to(self._tensor.device)
        return _as_numpy(self._tensor[index].cpu())


def _as_numpy(tensor: ForeignObject) -> NDArray[Any]:
    name = str(tensor.dtype).removeprefix("torch.")
    if name in _BITS:
        bits = tensor.view(getattr(sys.modules["torch"], _BITS[name])).numpy()
        return np.asarray(bits.view(jnp.dtype(name)))
    return np.asarray(tensor.resolve_conj().resolve_neg().numpy())


_DENSE = {
    "RaggedTensor": "`{0}.to_tensor()`, which pads the shorter rows",
    "SparseTensor": "`tf.sparse.to_dense({0})`, or a SciPy sparse matrix, whose rows are made "
    "dense batch by batch",
    "IndexedSlices": "`tf.convert_to_tensor({0})`",
}


def is_tensorflow_array(value: object) -> bool:
    """Return whether an object of TensorFlow is an array, unlike a `tf.data.Dataset`."""
    return hasattr(value, "__array__") or is_instance_of(value, "tensorflow", *_DENSE)


def from_tensorflow(value: ForeignObject, name: str) -> NDArray[Any]:
    """Return a tensor as an array, on the same memory where TensorFlow allows it."""
    for kind, dense in _DENSE.items():
        if is_instance_of(value, "tensorflow", kind):
            raise TypeError(
                f"`{name}` is a TensorFlow {kind}; a dense tensor was expected. Give "
                f"{dense.format(name)}."
            )
    try:
        return np.asarray(value)
    except NotImplementedError as error:
        raise TypeError(
            f"`{name}` is a symbolic TensorFlow tensor, which has no values. Call Podium "
            "outside of `tf.function`."
        ) from error
