"""Feature and Cross: how a FeatureSpace encodes one column of structured data, or a combination of
several. The layers that encode are in `podium.layers`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from podium._typing import Config
from podium.core import auto_name, check_choice
from podium.layers import (
    CategoryEncoding,
    Discretization,
    HashedCrossing,
    Hashing,
    Identity,
    IntegerLookup,
    Layer,
    Normalization,
    Rescaling,
    StringLookup,
)
from podium.saving import deserialize_keras_object, serialize_keras_object

_MODULE = "keras.src.layers.preprocessing.feature_space"  # of Keras's configs


@dataclasses.dataclass
class Feature:
    """How a FeatureSpace encodes one feature.

    Attributes:
        dtype: The dtype of its values: "float32", "int32" or "string".
        preprocessor: The layer that encodes it.
        output_mode: "int" for indices, "one_hot" for an encoding of them, or "float".
    """

    dtype: str
    preprocessor: Layer
    output_mode: str

    def __post_init__(self) -> None:
        check_choice("`output_mode` of a feature", self.output_mode, ("int", "one_hot", "float"))

    def get_config(self) -> Config:
        """Return the config from which `feature_from_config` recreates the feature."""
        config = {
            "dtype": self.dtype,
            "preprocessor": serialize_keras_object(self.preprocessor),
            "output_mode": self.output_mode,
        }
        return _keras_config("Feature", config)


@dataclasses.dataclass
class Cross:
    """How a FeatureSpace encodes the combinations of several features.

    Attributes:
        feature_names: The names of the features.
        crossing_dim: The number of bins of the combinations.
        output_mode: "int" for bins, or "one_hot".
    """

    feature_names: Sequence[str]
    crossing_dim: int
    output_mode: str = "one_hot"

    def __post_init__(self) -> None:
        check_choice("`output_mode` of a cross", self.output_mode, ("int", "one_hot"))
        self.feature_names = tuple(self.feature_names)

    @property
    def name(self) -> str:
        """The names of the features, joined."""
        return "_X_".join(self.feature_names)

    def get_config(self) -> Config:
        """Return the config from which `cross_from_config` recreates the cross."""
        return _keras_config(
            "Cross",
            {
                "feature_names": list(self.feature_names),
                "crossing_dim": self.crossing_dim,
                "output_mode": self.output_mode,
            },
        )


def _keras_config(name: str, config: Config) -> Config:
    return {"module": _MODULE, "class_name": name, "config": config, "registered_name": name}


def feature_from_config(config: Mapping[str, Any]) -> Feature:
    """Return the feature that a config describes."""
    arguments = config.get("config", config)
    preprocessor = deserialize_keras_object(arguments["preprocessor"])
    if not isinstance(preprocessor, Layer):
        raise ValueError(
            f"The config of a feature has preprocessor={arguments['preprocessor']!r}; a layer was "
            "expected."
        )
    return Feature(arguments["dtype"], preprocessor, arguments["output_mode"])


def cross_from_config(config: Mapping[str, Any]) -> Cross:
    """Return the cross that a config describes."""
    return Cross(**config.get("config", config))


def float_feature(name: str | None = None) -> Feature:
    """Return a feature of numbers as they are."""
    return Feature("float32", Identity(name=_name("float", name)), "float")


def rescaled_feature(scale: float = 1.0, offset: float = 0.0, name: str | None = None) -> Feature:
    """Return a feature of numbers that are scaled and shifted."""
    layer = Rescaling(scale, offset, name=_name("float_rescaled", name))
    return Feature("float32", layer, "float")


def normalized_feature(name: str | None = None) -> Feature:
    """Return a feature of numbers that are normalized."""
    return Feature("float32", Normalization(axis=-1, name=_name("float_normalized", name)), "float")


def discretized_feature(
    num_bins: int | None,
    bin_boundaries: Sequence[float] | None = None,
    output_mode: str = "one_hot",
    name: str | None = None,
) -> Feature:
    """Return a feature of numbers of which the ranges are encoded."""
    layer = Discretization(bin_boundaries, num_bins, name=_name("float_discretized", name))
    return Feature("float32", layer, output_mode)


def categorical_feature(
    is_text: bool, max_tokens: int | None, num_oov_indices: int, output_mode: str, name: str | None
) -> Feature:
    """Return a feature of integers or strings of which a vocabulary is made."""
    cls = StringLookup if is_text else IntegerLookup
    kind = "string_categorical" if is_text else "integer_categorical"
    layer = cls(max_tokens, num_oov_indices, name=_name(kind, name))
    return Feature("string" if is_text else "int32", layer, output_mode)


def hashed_feature(is_text: bool, num_bins: int, output_mode: str, name: str | None) -> Feature:
    """Return a feature of integers or strings that are hashed."""
    layer = Hashing(num_bins, name=_name("string_hashed" if is_text else "integer_hashed", name))
    return Feature("string" if is_text else "int32", layer, output_mode)


def _name(kind: str, name: str | None) -> str:
    return f"{name or auto_name(kind)}_preprocessor"


def num_categories(layer: Layer, name: str) -> int:
    """Return the number of different outputs of the layer of a feature."""
    if isinstance(layer, (IntegerLookup, StringLookup)):
        return layer.vocabulary_size()
    if isinstance(layer, CategoryEncoding):
        return layer.num_tokens
    if isinstance(layer, (HashedCrossing, Hashing)):
        return layer.num_bins
    if isinstance(layer, Discretization):
        boundaries = layer.bin_boundaries
        return layer.num_bins or len(boundaries or ()) + 1
    raise ValueError(
        f"Feature {name!r} has `output_mode='one_hot'`. However it isn't a standard feature and "
        "the dimensionality of its output space is not known, thus it cannot be one-hot encoded. "
        "Try using `output_mode='int'`."
    )


def list_adaptable(layers: Mapping[str, Layer]) -> list[str]:
    """List the names of layers that `adapt` changes: those that were not given what it finds."""
    names = []
    for name, layer in layers.items():
        lookup = getattr(layer, "_lookup_layer", layer)  # of a TextVectorization
        is_given = (
            getattr(layer, "input_mean", None) is not None
            or (isinstance(layer, Discretization) and layer.num_bins is None)
            or getattr(lookup, "_has_input_vocabulary", False)
        )
        if hasattr(layer, "adapt") and not is_given:
            names.append(name)
    return names
