"""Podium: write Keras, train at the speed of hand-written JAX."""

import typing as _typing

from podium import _importing as _importing

with _importing.pause_garbage_collection():
    from podium import core as core
    from podium.core import DTypePolicy as DTypePolicy
    from podium.core import ForwardAccumulator as ForwardAccumulator
    from podium.core import Function as Function
    from podium.core import GradientTape as GradientTape
    from podium.core import KerasTensor as KerasTensor
    from podium.core import RematScope as RematScope
    from podium.core import Tensor as Tensor
    from podium.core import TensorSpec as TensorSpec
    from podium.core import Variable as Variable
    from podium.core import convert_to_tensor as convert_to_tensor
    from podium.core import custom_gradient as custom_gradient
    from podium.core import function as function
    from podium.core import functions_run_eagerly as functions_run_eagerly
    from podium.core import is_tensor as is_tensor
    from podium.core import lift as lift
    from podium.core import name_scope as name_scope
    from podium.core import remat as remat
    from podium.core import run_functions_eagerly as run_functions_eagerly
    from podium.core import stop_gradient as stop_gradient
    from podium.core.compile._compilation_cache import (
        start_compilation_cache as _start_compilation_cache,
    )
    from podium.core.internal import register_class_loader as _register_class_loader
    from podium.core.internal import register_initializer_finder as _register_initializer_finder
    from podium.core.internal import register_layer_finder as _register_layer_finder

if _typing.TYPE_CHECKING:
    from podium import activations as activations
    from podium import applications as applications
    from podium import callbacks as callbacks
    from podium import compat as compat
    from podium import constraints as constraints
    from podium import data as data
    from podium import datasets as datasets
    from podium import distribute as distribute
    from podium import execution as execution
    from podium import initializers as initializers
    from podium import layers as layers
    from podium import losses as losses
    from podium import metrics as metrics
    from podium import models as models
    from podium import ops as ops
    from podium import optimizers as optimizers
    from podium import quantizers as quantizers
    from podium import random as random
    from podium import regularizers as regularizers
    from podium import saving as saving
    from podium import telemetry as telemetry
    from podium import testing as testing
    from podium import utils as utils
    from podium import visualization as visualization
    from podium.compat.keras import backend as backend
    from podium.compat.keras import config as config
    from podium.compat.keras import dtype_policies as dtype_policies
    from podium.compat.keras import mixed_precision as mixed_precision
    from podium.compat.keras import preprocessing as preprocessing
    from podium.compat.keras import tree as tree
    from podium.layers import Input as Input
    from podium.layers import Layer as Layer
    from podium.models import Model as Model
    from podium.models import Sequential as Sequential

__version__ = "0.1.0"

# Packages that are imported when they are first used.
_LAZY_PACKAGES = [
    "activations",
    "applications",
    "callbacks",
    "compat",
    "constraints",
    "data",
    "datasets",
    "distribute",
    "execution",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "ops",
    "optimizers",
    "quantizers",
    "random",
    "regularizers",
    "saving",
    "telemetry",
    "testing",
    "utils",
    "visualization",
]

# Names that are imported from such a package when they are first used.
_LAZY_NAMES = {
    "Input": "layers",
    "Layer": "layers",
    "Model": "models",
    "Sequential": "models",
    **dict.fromkeys(
        ("backend", "config", "dtype_policies", "mixed_precision", "preprocessing", "tree"),
        "compat.keras",
    ),
}


def __getattr__(name: str) -> _typing.Any:
    if name in _LAZY_PACKAGES:
        return _importing.import_package(name)
    if name in _LAZY_NAMES:
        value = getattr(_importing.import_package(_LAZY_NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'podium' has no attribute {name!r}")


def _load_model() -> type[_typing.Any]:
    model: type[_typing.Any] = __getattr__("Model")
    return model


def _load_sequential() -> type[_typing.Any]:
    sequential: type[_typing.Any] = __getattr__("Sequential")
    return sequential


def _load_layer_scale() -> type[_typing.Any]:
    layer: type[_typing.Any] = _importing.import_package("applications.convnext").LayerScale
    return layer


def _load_stochastic_depth() -> type[_typing.Any]:
    layer: type[_typing.Any] = _importing.import_package("applications.convnext").StochasticDepth
    return layer


def _load_custom_scale_layer() -> type[_typing.Any]:
    package = _importing.import_package("applications.inception_resnet_v2")
    layer: type[_typing.Any] = package.CustomScaleLayer
    return layer


def _load_feature_space() -> type[_typing.Any]:
    layer: type[_typing.Any] = _importing.import_package("utils").FeatureSpace
    return layer


def _load_locally_connected_1d() -> type[_typing.Any]:
    layer: type[_typing.Any] = _importing.import_package("compat.keras.layers").LocallyConnected1D
    return layer


def _load_locally_connected_2d() -> type[_typing.Any]:
    layer: type[_typing.Any] = _importing.import_package("compat.keras.layers").LocallyConnected2D
    return layer


def _load_thresholded_relu() -> type[_typing.Any]:
    layer: type[_typing.Any] = _importing.import_package("compat.keras.layers").ThresholdedReLU
    return layer


def _find_layer(name: str) -> type[_typing.Any] | None:
    layers = __getattr__("layers")
    layer_class = None if name.startswith("_") else getattr(layers, name, None)
    is_layer = isinstance(layer_class, type) and issubclass(layer_class, layers.Layer)
    return layer_class if is_layer else None


def _find_initializer(name: str) -> _typing.Any:
    return __getattr__("initializers").get(name)


# Files name these classes, whose package is imported when the first of them is loaded.
_register_class_loader("Model", _load_model)
_register_class_loader("Functional", _load_model)
_register_class_loader("Sequential", _load_sequential)
_register_class_loader("LayerScale", _load_layer_scale)
_register_class_loader("StochasticDepth", _load_stochastic_depth)
_register_class_loader("CustomScaleLayer", _load_custom_scale_layer)
_register_class_loader("FeatureSpace", _load_feature_space)
_register_class_loader("LocallyConnected1D", _load_locally_connected_1d)
_register_class_loader("LocallyConnected2D", _load_locally_connected_2d)
_register_class_loader("ThresholdedReLU", _load_thresholded_relu)
_register_layer_finder(_find_layer)  # an activation may be a layer
_register_initializer_finder(_find_initializer)  # of `Variable("zeros", shape=...)`


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_PACKAGES, *_LAZY_NAMES})


_start_compilation_cache()
