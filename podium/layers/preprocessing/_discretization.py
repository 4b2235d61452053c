"""Discretization: maps numbers to the ranges that they are in.

The boundaries of the ranges are arguments, or are estimated from data by `adapt`: a `Summary` holds
about `1 / epsilon` quantiles of what was read so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium._typing import Config, DType, DTypeLike, SymbolicShape, Tree
from podium.core import KerasTensor, Tensor, dispatch, standardize_dtype, warn_user
from podium.core.internal import check_int, check_number
from podium.layers._layer import Layer
from podium.layers.preprocessing._category_encoding import (
    check_output_mode,
    encode_indices,
    encoded_shape,
    reject_sparse_outputs,
)
from podium.layers.preprocessing._host_layer import host_batch, is_traced, iterate_batches

# Values in ascending order, and the number of samples that each stands for: two rows.
Summary: TypeAlias = NDArray[Any]

_MODES = ("int", "one_hot", "multi_hot", "count")


class Discretization(Layer):
    """Maps each number to the index of the range that it is in.

    Pass the boundaries of the ranges, or their number and call `adapt` with data, before the layer
    is part of a program that has been compiled. The first range starts at minus infinity, the last
    ends at infinity; a boundary belongs to the range that it starts.

    Args:
        bin_boundaries: The boundaries, in ascending order.
        num_bins: The number of ranges that `adapt` finds, of about as many samples each.
        epsilon: The error of the quantiles that `adapt` estimates; smaller is slower.
        output_mode: "int" for the indices, or an encoding of them: "one_hot", "multi_hot" or
            "count", see `CategoryEncoding`.
        sparse: Must be False: only dense values are supported.
        dtype: The dtype of encoded outputs; indices are int32.
        name: The name of the layer.
        **kwargs: `trainable`.

    Example:
        >>> layer = podium.layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0])
        >>> layer(np.array([[-1.5, 1.0, 3.4, 0.5]])).numpy()
        array([[0, 2, 3, 1]], dtype=int32)
        >>> layer = podium.layers.Discretization(num_bins=4)
        >>> layer.adapt(np.arange(8.0))
        >>> layer.bin_boundaries
        [1.0, 3.0, 5.0]
    """

    def __init__(
        self,
        bin_boundaries: Sequence[float] | None = None,
        num_bins: int | None = None,
        epsilon: float = 0.01,
        output_mode: str = "int",
        sparse: bool = False,
        dtype: DTypeLike | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, dtype=dtype, **kwargs)
        reject_sparse_outputs(self, sparse)
        if num_bins is not None and bin_boundaries is not None:
            raise ValueError(
                "Both `num_bins` and `bin_boundaries` should not be set; Discretization was given "
                f"num_bins={num_bins} and bin_boundaries={bin_boundaries}."
            )
        if num_bins is None and bin_boundaries is None:
            raise ValueError(
                "Discretization was given neither: you need to set either `num_bins` or "
                "`bin_boundaries`."
            )
        self.output_mode = check_output_mode(self, output_mode, _MODES)
        self.num_bins = None if num_bins is None else check_int("num_bins", num_bins, 0, owner=self)
        self.bin_boundaries = (
            None if bin_boundaries is None else _check_boundaries(self, bin_boundaries)
        )
        self.epsilon = check_number("epsilon", epsilon, 0, 1, owner=self)
        self.sparse = False
        self.summary: Summary = _empty_summary()
        self._is_compiled = False  # whether a program contains the boundaries

    def adapt(self, data: Tree, steps: int | None = None) -> None:
        """Estimate the boundaries from data, replacing earlier ones.

        Args:
            data: An array, or an iterable of batches such as a Dataset.
            steps: The number of batches to read; by default all.
        """
        if self.num_bins is None:
            raise ValueError(
                f"Cannot adapt layer {self.name!r} (Discretization), which was created with "
                "`bin_boundaries`: use `num_bins` instead."
            )
        if self._is_compiled:
            warn_user(
                f"Layer {self.name!r} (Discretization) is adapted after a program that contains "
                "its boundaries was compiled, which keeps the old ones. Adapt the layer first, or "
                "compile the model again."
            )
        self.reset_state()
        for batch in iterate_batches(data, steps, self, lists_are_arrays=False):
            self.update_state(batch)
        self.finalize_state()

    def update_state(self, data: Tree) -> None:
        """Include the values of a batch in the estimate."""
        summary = _summarize(host_batch(data).astype("float32"), self.epsilon)
        self.summary = _merge_summaries(summary, self.summary, self.epsilon)

    def finalize_state(self) -> None:
        """Compute the boundaries from what `update_state` has read."""
        if self.num_bins is None:
            return
        if self.summary.size == 0:
            raise ValueError(
                f"adapt of layer {self.name!r} (Discretization) was given no values; at least one "
                "was expected."
            )
        self.bin_boundaries = _compress(self.summary, 1.0 / self.num_bins)[0, :-1].tolist()

    def reset_state(self) -> None:
        """Forget what `update_state` has read."""
        self.summary = _empty_summary()

    def call(self, inputs: Tensor) -> Tensor:
        """Return the indices of the ranges, encoded as `output_mode` says."""
        if self.bin_boundaries is None:
            raise ValueError(
                f"Layer {self.name!r} (Discretization) has no boundaries. You need to either pass "
                "the `bin_boundaries` argument, or call `adapt(data)` before you use the layer."
            )
        self._is_compiled = self._is_compiled or is_traced(inputs)
        boundaries = np.asarray(self.bin_boundaries, "float32")
        indices = dispatch(_digitize, inputs, boundaries)
        depth = len(self.bin_boundaries) + 1
        return encode_indices(indices, self.output_mode, depth, self._output_dtype)

    @property
    def _output_dtype(self) -> DType:
        return "int32" if self.output_mode == "int" else self.compute_dtype

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the encoded indices."""
        boundaries = self.bin_boundaries
        depth = self.num_bins if boundaries is None else len(boundaries) + 1
        return encoded_shape(input_shape, self.output_mode, depth)

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        return KerasTensor(
            self.compute_output_shape(inputs.shape), standardize_dtype(self._output_dtype)
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer, with the boundaries that it found."""
        return super().get_config() | {
            "bin_boundaries": self.bin_boundaries,
            "num_bins": self.num_bins,
            "epsilon": self.epsilon,
            "output_mode": self.output_mode,
            "sparse": False,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Create a layer from the result of `get_config`."""
        boundaries = config.get("bin_boundaries")
        if boundaries is None or config.get("num_bins") is None:
            return super().from_config(config)
        layer = super().from_config({**config, "bin_boundaries": None})
        layer.bin_boundaries = _check_boundaries(layer, boundaries)
        return layer


def _check_boundaries(layer: Layer, boundaries: ArrayLike) -> list[float]:
    array = np.asarray(boundaries)
    if array.ndim != 1 or array.dtype.kind not in "iuf" or np.any(np.diff(array) < 0):
        raise ValueError(
            f"{type(layer).__name__} was given bin_boundaries={boundaries!r}; a list of numbers in "
            "ascending order was expected."
        )
    numbers: list[float] = array.tolist()
    return numbers


def _digitize(x: jax.Array, boundaries: jax.Array) -> jax.Array:
    is_precise = jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize >= 4
    x = x if is_precise else x.astype("float32")
    return jnp.digitize(x, boundaries.astype(x.dtype))


def _empty_summary() -> Summary:
    return np.zeros((2, 0), "float32")


def _summarize(values: NDArray[Any], epsilon: float) -> Summary:
    """Return values of a batch at equal distances in their order, about `1 / epsilon` of them."""
    values = np.sort(values.reshape(-1))
    step = max(values.size * epsilon, 1)
    chosen = values[int(step - 1) :: int(step)]
    return np.stack([chosen, np.full_like(chosen, step)])


def _merge_summaries(first: Summary, second: Summary, epsilon: float) -> Summary:
    merged = np.concatenate((first, second), axis=1)
    return _compress(merged[:, np.argsort(merged[0])], epsilon)


def _compress(summary: Summary, epsilon: float) -> Summary:
    """Return a summary of about `1 / epsilon` values, interpolated by their cumulative weights."""
    if summary.shape[1] * epsilon < 1:
        return summary
    fractions = epsilon + np.arange(0.0, 1.0, epsilon)
    cumulative = summary[1].cumsum()
    positions = cumulative / cumulative[-1]
    values = np.interp(fractions, positions, summary[0])
    weights = np.diff(np.interp(fractions, positions, cumulative), prepend=0)
    return np.stack([values, weights]).astype("float32")
