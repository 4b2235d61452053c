"""FeatureSpace: encodes columns of structured data, each by its own layer, as vectors.

It owns which features are encoded how and in which order. `_features.py` describes a feature; the
layers compute. It runs on data, in `Dataset.map`, and as the start of a functional model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np

from podium._typing import Config, PathLike, Tree
from podium.core import KerasTensor, Tensor, check_choice, is_symbolic
from podium.core.internal import as_text_array, is_text
from podium.data import Dataset
from podium.layers import (
    CategoryEncoding,
    Concatenate,
    HashedCrossing,
    Input,
    Layer,
)
from podium.saving import save_model
from podium.utils import _features
from podium.utils._features import Cross, Feature

_BATCH_SIZE = 32  # in which single rows are read by `adapt`


class FeatureSpace(Layer):
    """Encodes the columns of structured data as one vector, or as a dictionary of vectors.

    Call it on a dictionary of columns, in `Dataset.map` too, or start a functional model with
    `get_inputs()` and `get_encoded_features()`; text is encoded on the host.

    A feature has a type: "float", "float_normalized", "float_rescaled", "float_discretized",
    "integer_categorical", "string_categorical", "integer_hashed" or "string_hashed", or what the
    method of that name returns: `FeatureSpace.float_discretized(num_bins=8)`.

    Args:
        features: The types of the features by name.
        output_mode: "concat" for one vector, "dict" for a dictionary by name.
        crosses: Combinations of features: tuples of names, or results of `FeatureSpace.cross`.
        crossing_dim: The number of bins of a combination.
        hashing_dim: The number of bins of hashed features.
        num_discretization_bins: The number of ranges of discretized features.
        name: The name.

    Example:
        >>> space = podium.utils.FeatureSpace({"size": "float", "kind": "string_categorical"})
        >>> data = {"size": [0.5, 1.5], "kind": ["a", "b"]}
        >>> space.adapt(data)
        >>> space(data).numpy()
        array([[0. , 0. , 1. , 0.5],
               [0. , 1. , 0. , 1.5]], dtype=float32)
    """

    _is_savable_alone = True

    def __init__(
        self,
        features: Mapping[str, Any],
        output_mode: str = "concat",
        crosses: Sequence[Any] | None = None,
        crossing_dim: int = 32,
        hashing_dim: int = 32,
        num_discretization_bins: int = 32,
        name: str | None = None,
    ):
        super().__init__(name=name)
        if not features:
            raise ValueError("The `features` argument cannot be None or empty.")
        self.output_mode = check_choice("output_mode", output_mode, ("concat", "dict"))
        self.crossing_dim = crossing_dim
        self.hashing_dim = hashing_dim
        self.num_discretization_bins = num_discretization_bins
        self.features = {key: self._as_feature(key, value) for key, value in features.items()}
        self.crosses = [self._as_cross(cross) for cross in crosses or ()]
        self.preprocessors = {key: each.preprocessor for key, each in self.features.items()}
        self.crossers = {
            cross.name: HashedCrossing(cross.crossing_dim, name=cross.name)
            for cross in self.crosses
        }
        self.inputs = {
            key: Input(shape=(1,), dtype=feature.dtype, name=key)
            for key, feature in self.features.items()
        }
        self._encoders: dict[str, Layer] = {}
        self._encoded_features: Tree = None
        self._is_adapted = False

    def _as_feature(self, name: str, value: Any) -> Feature:
        if isinstance(value, Feature):
            return value
        if isinstance(value, Mapping):
            return _features.feature_from_config(value)
        makers = {
            "float": lambda: self.float(name),
            "float_normalized": lambda: self.float_normalized(name),
            "float_rescaled": lambda: self.float_rescaled(name=name),
            "float_discretized": lambda: self.float_discretized(
                self.num_discretization_bins, name=name
            ),
            "integer_categorical": lambda: self.integer_categorical(name=name),
            "string_categorical": lambda: self.string_categorical(name=name),
            "integer_hashed": lambda: self.integer_hashed(self.hashing_dim, name=name),
            "string_hashed": lambda: self.string_hashed(self.hashing_dim, name=name),
        }
        return makers[check_choice("feature type", value, list(makers))]()

    def _as_cross(self, value: Cross | Mapping[str, Any] | Sequence[str]) -> Cross:
        if isinstance(value, Mapping):
            cross = _features.cross_from_config(value)
        else:
            cross = value if isinstance(value, Cross) else Cross(value, self.crossing_dim)
        unknown = [name for name in cross.feature_names if name not in self.features]
        if unknown:
            raise ValueError(
                "All features referenced in the `crosses` argument should be present in the "
                f"`features` dict; {unknown} are not."
            )
        return cross

    # --- types of features

    @classmethod
    def cross(
        cls, feature_names: Sequence[str], crossing_dim: int, output_mode: str = "one_hot"
    ) -> Cross:
        """Return a combination of features."""
        return Cross(feature_names, crossing_dim, output_mode)

    @classmethod
    def feature(cls, dtype: str, preprocessor: Layer, output_mode: str) -> Feature:
        """Return a feature that is encoded by a layer of your own."""
        return Feature(dtype, preprocessor, output_mode)

    float = staticmethod(_features.float_feature)
    float_rescaled = staticmethod(_features.rescaled_feature)
    float_normalized = staticmethod(_features.normalized_feature)
    float_discretized = staticmethod(_features.discretized_feature)

    @classmethod
    def integer_categorical(
        cls,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Return a feature of integers, of which `adapt` makes a vocabulary."""
        return _features.categorical_feature(False, max_tokens, num_oov_indices, output_mode, name)

    @classmethod
    def string_categorical(
        cls,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        output_mode: str = "one_hot",
        name: str | None = None,
    ) -> Feature:
        """Return a feature of strings, of which `adapt` makes a vocabulary."""
        return _features.categorical_feature(True, max_tokens, num_oov_indices, output_mode, name)

    @classmethod
    def integer_hashed(
        cls, num_bins: int, output_mode: str = "one_hot", name: str | None = None
    ) -> Feature:
        """Return a feature of integers that are hashed."""
        return _features.hashed_feature(False, num_bins, output_mode, name)

    @classmethod
    def string_hashed(
        cls, num_bins: int, output_mode: str = "one_hot", name: str | None = None
    ) -> Feature:
        """Return a feature of strings that are hashed."""
        return _features.hashed_feature(True, num_bins, output_mode, name)

    # --- adapt

    def adapt(self, dataset: Dataset | Mapping[str, Any]) -> None:
        """Adapt the layers of the features to data.

        Args:
            dataset: A Dataset of dictionaries, batched or not, or a dictionary of columns.
        """
        if isinstance(dataset, Mapping):
            columns = {name: _as_column(value) for name, value in dataset.items()}
            dataset = Dataset.from_tensor_slices(columns)
        if not isinstance(dataset, Dataset):
            raise ValueError(
                "`adapt()` can only be called on a Dataset or a dict of arrays/lists; "
                f"{type(dataset).__name__} was given."
            )
        for name in _features.list_adaptable(self.preprocessors):
            column = dataset.map(lambda row, name=name: row[name])
            rank = np.ndim(next(iter(column)))
            column = column.batch(_BATCH_SIZE) if rank == 0 else column
            preprocessor: Any = self.preprocessors[name]
            preprocessor.adapt(column.map(_add_axis) if rank < 2 else column)
        self._is_adapted = True
        self.get_encoded_features()
        self.built = True

    def _check_adapted(self) -> None:
        if not self._is_adapted and _features.list_adaptable(self.preprocessors):
            raise ValueError(
                "You need to call `.adapt(dataset)` on the FeatureSpace before you can start using "
                "it."
            )

    # --- encoding

    def get_inputs(self) -> dict[str, KerasTensor]:
        """Return the symbolic inputs by name, for a functional model."""
        self._check_adapted()
        return self.inputs

    def get_encoded_features(self) -> Tree:
        """Return the symbolic encoded features, for a functional model."""
        self._check_adapted()
        if self._encoded_features is None:
            self._encoded_features = self._encode(self.inputs)
        return self._encoded_features

    def __call__(self, data: Mapping[str, Any]) -> Tree:
        """Encode a dictionary of columns, or one row."""
        self._check_adapted()
        if not isinstance(data, Mapping):
            raise ValueError(
                f"A FeatureSpace can only be called with a dict; {type(data).__name__} was given."
            )
        missing = [name for name in self.features if name not in data]
        if missing:
            raise ValueError(f"FeatureSpace {self.name!r} was given no values for {missing}.")
        if is_symbolic(data):
            return self._encode(data)
        columns = {name: _as_column(data[name]) for name in self.features}
        is_row = all(column.ndim == 0 for column in columns.values())
        arrays = {}
        for name, column in columns.items():
            column = column.reshape(1, 1) if column.ndim == 0 else column
            column = column[:, None] if column.ndim == 1 else column
            is_float = self.features[name].dtype == "float32"
            arrays[name] = column.astype("float32") if is_float else column
        encoded = self._encode(arrays)
        if not is_row:
            return encoded
        if isinstance(encoded, dict):
            return {name: value[0] for name, value in encoded.items()}
        return encoded[0]

    def _encode(self, data: Mapping[str, Any]) -> Tree:
        values = {name: self.preprocessors[name](data[name]) for name in self.features}
        crossed = {
            cross.name: self.crossers[cross.name]([values[key] for key in cross.feature_names])
            for cross in self.crosses
        }
        specs = [(name, values[name], self.features[name].output_mode) for name in sorted(values)]
        modes = {cross.name: cross.output_mode for cross in self.crosses}
        specs += [(name, crossed[name], modes[name]) for name in sorted(crossed)]
        encoded = {name: self._encode_feature(name, value, mode) for name, value, mode in specs}
        if self.output_mode == "dict":
            return encoded
        for name, value in encoded.items():
            if value.dtype.kind in "iuT":
                raise ValueError(
                    f"Cannot concatenate features because feature {name!r} has not been encoded "
                    f"(it has dtype {value.dtype.name}). Consider using `output_mode='dict'`."
                )
        parts = list(encoded.values())
        return self._encoder("", Concatenate, axis=-1)(parts) if len(parts) > 1 else parts[0]

    def _encode_feature(self, name: str, value: Tensor | KerasTensor, mode: str) -> Any:
        if mode != "one_hot":
            return value
        if value.dtype.kind not in "iu":
            raise ValueError(
                f"Feature {name!r} has `output_mode='one_hot'`. Thus its preprocessor should "
                f"return an integer dtype. Instead it returns a {value.dtype.name} dtype."
            )
        layer = self.preprocessors.get(name) or self.crossers[name]
        size = _features.num_categories(layer, name)
        return self._encoder(name, CategoryEncoding, num_tokens=size)(value)

    def _encoder(self, name: str, cls: type[Layer], **arguments: Any) -> Layer:
        """Return the layer that encodes a feature, or joins them all for an empty name."""
        if name not in self._encoders:
            self._encoders[name] = cls(**arguments)
        return self._encoders[name]

    # --- configs and files

    def get_config(self) -> Config:
        """Return the arguments that recreate this FeatureSpace, without what was adapted."""
        return {
            "features": {name: feature.get_config() for name, feature in self.features.items()},
            "output_mode": self.output_mode,
            "crosses": [cross.get_config() for cross in self.crosses],
            "crossing_dim": self.crossing_dim,
            "hashing_dim": self.hashing_dim,
            "num_discretization_bins": self.num_discretization_bins,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Create a FeatureSpace from the result of `get_config`."""
        return cls(**config)

    def get_build_config(self) -> Config | None:
        """Return what the layers of the features were built with."""
        return {name: layer.get_build_config() for name, layer in self.preprocessors.items()}

    def build_from_config(self, config: Config) -> None:
        """Build the layers of the features."""
        for name, layer_config in config.items():
            if layer_config and not self.preprocessors[name].built:
                self.preprocessors[name].build_from_config(layer_config)
        self._is_adapted = self.built = True

    def save(self, filepath: PathLike) -> None:
        """Save it to a `.keras` file, from which `podium.saving.load_model` loads it."""
        save_model(cast(Any, self), filepath)


def _as_column(value: Any) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = as_text_array(value) if is_text(value) else np.asarray(value)
    return array


def _add_axis(value: Any) -> np.ndarray[Any, Any]:
    return _as_column(value)[..., None]
