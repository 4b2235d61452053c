"""Hashing: maps text and integers to a fixed number of bins.

The hashes are in `_hash_values.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from podium._typing import Config, SymbolicShape, Tree
from podium.core import KerasTensor, Tensor, dispatch, floatx
from podium.core.internal import check_int
from podium.layers._layer import Layer
from podium.layers.preprocessing._category_encoding import (
    check_output_mode,
    encode_indices,
    encoded_shape,
    reject_sparse_outputs,
)
from podium.layers.preprocessing._hash_values import Salt, hash_on_host, traced_buckets
from podium.layers.preprocessing._host_layer import HostLayer

_MODES = ("int", "one_hot", "multi_hot", "count")


class Hashing(HostLayer):
    """Maps text or integers to a number from 0 to `num_bins - 1`, the same on every machine.

    The bins are those of Keras and TensorFlow: FarmHash of the text (of the decimal digits of a
    number), or SipHash if there is a salt. Text is hashed on the host; integers also inside
    compiled steps.

    Args:
        num_bins: The number of bins, including that of the mask value.
        mask_value: A value that has bin 0 for itself; the others start at 1.
        salt: An int or two, the key of SipHash.
        output_mode: "int" for the bins, or an encoding of them: "one_hot", "multi_hot" or "count",
            see `CategoryEncoding`.
        sparse: Must be False: only dense values are supported.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.Hashing(num_bins=3)
        >>> layer([["A"], ["B"], ["C"], ["D"], ["E"]]).numpy().ravel()
        array([1, 0, 1, 1, 2], dtype=int32)
        >>> layer(np.array([0, 1, 2, 3, 4])).numpy()
        array([1, 0, 1, 0, 2], dtype=int32)
    """

    def __init__(
        self,
        num_bins: int,
        mask_value: str | int | None = None,
        salt: int | Sequence[int] | None = None,
        output_mode: str = "int",
        sparse: bool = False,
        **kwargs: Any,
    ):
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = "int64" if output_mode == "int" else floatx()
        super().__init__(**kwargs)
        if num_bins is None or num_bins <= 0:
            raise ValueError(
                "The `num_bins` for `Hashing` cannot be `None` or non-positive values; it was "
                f"given num_bins={num_bins}."
            )
        if output_mode == "int" and self.dtype_policy.name not in ("int32", "int64"):
            raise ValueError(
                f"Hashing was given dtype={kwargs['dtype']!r} with output_mode='int'; 'int32' or "
                "'int64' was expected. Omit it."
            )
        reject_sparse_outputs(self, sparse)
        self.num_bins = check_int("num_bins", num_bins, owner=self)
        self.mask_value = mask_value
        self.output_mode = check_output_mode(self, output_mode, _MODES)
        self.sparse = False
        self.salt = check_salt(self, salt)

    def call(self, inputs: Tree) -> Tensor:
        """Return the bins of the inputs, encoded as `output_mode` says."""
        bins = super().call(inputs)
        return encode_indices(bins, self.output_mode, self.num_bins, self.compute_dtype)

    def _compute_on_host(self, inputs: NDArray[Any]) -> NDArray[Any]:
        if self._offset == 0:
            return self._bins_on_host(inputs)
        is_text = inputs.dtype.kind == "O"
        if is_text != isinstance(self.mask_value, str):
            kinds = ("text", "numbers") if is_text else ("numbers", "text")
            raise TypeError(
                f"Layer {self.name!r} (Hashing) has mask_value={self.mask_value!r} and was given "
                f"{kinds[0]}; {kinds[1]} was expected. Convert the inputs, or change the mask "
                "value."
            )
        return np.where(inputs == self.mask_value, 0, self._bins_on_host(inputs) + 1)

    def _bins_on_host(self, inputs: NDArray[Any]) -> NDArray[Any]:
        hashes = hash_on_host(inputs, self._key)
        return (hashes % np.uint64(self.num_bins - self._offset)).astype("int64")

    def _compute_traced(self, inputs: Tensor) -> Tensor:
        bins: Tensor = dispatch(self._traced_bins, inputs)
        return bins

    def _traced_bins(self, x: jax.Array) -> jax.Array:
        if x.dtype == bool:
            raise TypeError(
                f"Layer {self.name!r} (Hashing) was called with booleans inside a compiled "
                "function; text or integers were expected. Cast them to int32."
            )
        bins = traced_buckets(x, self.num_bins - self._offset, self._key)
        if self._offset == 0:
            return bins
        return jnp.where(x == jnp.asarray(self.mask_value, x.dtype), 0, bins + 1)

    @property
    def _key(self) -> Salt:
        return None if self.salt is None else (self.salt[0], self.salt[1])

    @property
    def _offset(self) -> int:
        """The number of bins that are reserved for the mask value."""
        return int(self.mask_value is not None and self.num_bins > 1)

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the encoded bins."""
        return encoded_shape(input_shape, self.output_mode, self.num_bins)

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        return KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "num_bins": self.num_bins,
            "salt": self.salt,
            "mask_value": self.mask_value,
            "output_mode": self.output_mode,
            "sparse": False,
        }


def check_salt(layer: Layer, salt: int | Sequence[int] | None) -> list[int] | None:
    """Return the salt of a layer as a list of two ints; None stays None."""
    if salt is None:
        return None
    pair = salt if isinstance(salt, (tuple, list)) and len(salt) == 2 else (salt, salt)
    numbers = list(pair)
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) for n in numbers):
        name = type(layer).__name__
        raise ValueError(
            f"{name} was given salt={salt!r}: the `salt` argument for `{name}` can only be a tuple "
            "of size 2 integers, or a single integer."
        )
    return [int(number) for number in numbers]
