"""HashedCrossing: maps the combinations of two or more features to a fixed number of bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium._typing import Config, SymbolicShape, Tree
from podium.core import KerasTensor, Tensor, convert_to_tensor, dispatch, is_symbolic, tree_leaves
from podium.core.internal import check_int
from podium.layers.preprocessing._category_encoding import (
    check_output_mode,
    encode_indices,
    encoded_shape,
    reject_sparse_outputs,
)
from podium.layers.preprocessing._hash_values import cross_on_host, traced_cross
from podium.layers.preprocessing._host_layer import (
    HostArray,
    HostLayer,
    as_host_value,
    is_traced,
    to_host_array,
)


class HashedCrossing(HostLayer):
    """Crosses categorical features: each combination of values is hashed to one of `num_bins`.

    Features are text or integers, of shape `(batch, 1)`, `(batch,)` or `()`. The bins are those of
    Keras and TensorFlow. Text is hashed on the host; integers also inside compiled steps.

    Args:
        num_bins: The number of bins.
        output_mode: "int" for the bins, or "one_hot", see `CategoryEncoding`.
        sparse: Must be False: only dense values are supported.
        name: The name of the layer.
        dtype: The dtype of the outputs.
        **kwargs: `trainable`.

    Example:
        >>> layer = podium.layers.HashedCrossing(num_bins=5)
        >>> layer((np.array(["A", "B", "A"]), np.array([101, 101, 102]))).numpy()
        array([1, 4, 3], dtype=int32)
    """

    def __init__(
        self,
        num_bins: int,
        output_mode: str = "int",
        sparse: bool = False,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: Any,
    ):
        dtype = "int64" if output_mode == "int" and dtype is None else dtype
        super().__init__(name=name, dtype=dtype, **kwargs)
        reject_sparse_outputs(self, sparse)
        self.num_bins = check_int("num_bins", num_bins, owner=self)
        self.output_mode = check_output_mode(self, output_mode, ("int", "one_hot"))
        self.sparse = False

    def _protect(self, inputs: Tree) -> Tree:
        if not isinstance(inputs, (list, tuple)):
            raise ValueError(
                "`HashedCrossing` should be called on a list or tuple of inputs; it was given "
                f"{type(inputs).__name__}."
            )
        if len(inputs) < 2:
            raise ValueError(
                "`HashedCrossing` should be called on at least two inputs; it was given "
                f"{len(inputs)}."
            )
        features = inputs if is_symbolic(inputs) else tuple(map(to_host_array, inputs))
        arrays = [item.value if isinstance(item, HostArray) else item for item in features]
        self._check_features(arrays)
        return features

    def _check_features(self, features: list[Any]) -> None:
        """Raise unless all features have one shape of those that can be crossed, and no floats."""
        shapes = [tuple(feature.shape) for feature in features]
        for feature in features:
            shape = tuple(feature.shape)
            if len(shape) > 2 or (len(shape) == 2 and shape[-1] != 1):
                raise ValueError(
                    "All `HashedCrossing` inputs should have shape `()`, `(batch_size)` or "
                    f"`(batch_size, 1)`; the shapes {shapes} were given."
                )
            if shape != shapes[0]:
                raise ValueError(
                    "All `HashedCrossing` inputs should have equal shape; the shapes "
                    f"{shapes} were given."
                )
            if feature.dtype.kind not in "iubOT":
                raise ValueError(
                    "All `HashedCrossing` inputs should have an integer or string dtype; "
                    f"{feature.dtype.name} was given."
                )

    def call(self, inputs: Tree) -> Tensor:
        """Return the bins of the combinations, encoded as `output_mode` says."""
        if any(map(is_traced, tree_leaves(inputs))):
            bins = self._compute_traced(inputs)
        else:
            features = [as_host_value(feature) for feature in inputs]
            bins = convert_to_tensor(cross_on_host(features, self.num_bins))
        return encode_indices(bins, self.output_mode, self.num_bins, self.compute_dtype)

    def _compute_traced(self, inputs: Tree) -> Tensor:
        if any(isinstance(feature, HostArray) for feature in inputs):
            self._raise_traced()
        bins: Tensor = dispatch(traced_cross, list(inputs), self.num_bins)
        return bins

    def compute_output_shape(self, input_shape: Sequence[SymbolicShape]) -> SymbolicShape:
        """Return the shape of the encoded bins for the shapes of the features."""
        shapes = [tuple(shape) for shape in input_shape]
        if len(set(shapes)) != 1:
            raise ValueError(
                f"Expected the input tensors to have identical shapes; {shapes} were given."
            )
        return encoded_shape(shapes[0], self.output_mode, self.num_bins)

    def compute_output_spec(self, inputs: list[KerasTensor]) -> KerasTensor:
        """Return the spec of the outputs for symbolic inputs."""
        shape = self.compute_output_shape([feature.shape for feature in inputs])
        return KerasTensor(shape, self.compute_dtype)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "num_bins": self.num_bins,
            "output_mode": self.output_mode,
            "sparse": False,
        }
