"""The names of initializers in arguments and configs: `get`, `serialize` and `deserialize`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import numpy as np

from podium._typing import Array, Config
from podium.core import NameRegistry, Tensor, is_tensor
from podium.initializers._constant import Constant, Identity, Ones, Zeros
from podium.initializers._initializer import Initializer
from podium.initializers._orthogonal import Orthogonal
from podium.initializers._random import RandomNormal, RandomUniform, TruncatedNormal
from podium.initializers._scaling import (
    GlorotNormal,
    GlorotUniform,
    HeNormal,
    HeUniform,
    LecunNormal,
    LecunUniform,
    VarianceScaling,
)
from podium.initializers._stft import STFT

InitializerFunction: TypeAlias = Callable[..., Tensor]
InitializerLike: TypeAlias = (
    str
    | Mapping[str, Any]
    | type[Initializer]
    | InitializerFunction
    | Array
    | np.generic
    | Tensor
    | None
)

_registry = NameRegistry("initializer", Initializer, module="keras.initializers")
for _cls in (GlorotNormal, GlorotUniform, HeNormal, HeUniform, LecunNormal, LecunUniform):
    _registry.add_class(_cls)
_registry.add_class(Constant)
_registry.add_class(Identity, "IdentityInitializer")
_registry.add_class(Ones, "one")
_registry.add_class(Orthogonal, "OrthogonalInitializer")
_registry.add_class(RandomNormal, "normal")
_registry.add_class(RandomUniform, "uniform")
_registry.add_class(STFT, "STFTInitializer")
_registry.add_class(TruncatedNormal)
_registry.add_class(VarianceScaling)
_registry.add_class(Zeros, "zero")


def get(identifier: InitializerLike) -> InitializerFunction | None:
    """Return the initializer that an argument such as `kernel_initializer` names.

    Args:
        identifier: A name (`"he_normal"` or `"HeNormal"`), a config, a class, an instance, a
            function of `(shape, dtype)`, an array that is the value, or None.

    Returns:
        An initializer or function, or None for None.

    Example:
        >>> podium.initializers.get("he_normal").scale
        2.0
        >>> podium.initializers.get("he_norml")
        Traceback (most recent call last):
        ValueError: Unknown initializer 'he_norml'. Did you mean 'he_normal'? Choices: 'constant', \
'glorot_normal', 'glorot_uniform', 'he_normal', 'he_uniform', 'identity', 'lecun_normal', \
'lecun_uniform', 'normal', 'one', 'ones', 'orthogonal', 'random_normal', 'random_uniform', \
'stft', 'truncated_normal', 'uniform', 'variance_scaling', 'zero', 'zeros'.
    """
    if is_tensor(identifier) or isinstance(identifier, (np.ndarray, np.generic)):
        return Constant(cast(Tensor, identifier), broadcast=False)
    initializer: InitializerFunction | None = _registry.get(identifier)
    return initializer


def serialize(initializer: InitializerFunction | None) -> str | Config | None:
    """Return a config that `deserialize` accepts.

    Args:
        initializer: The initializer.

    Example:
        >>> podium.initializers.serialize(podium.initializers.Constant(3.0))["config"]
        {'value': 3.0}
    """
    config: str | Config | None = _registry.serialize(initializer)
    return config


def deserialize(
    config: str | Mapping[str, Any] | None, custom_objects: Mapping[str, Any] | None = None
) -> InitializerFunction | None:
    """Create an initializer from the result of `serialize`.

    Args:
        config: The config, or a name.
        custom_objects: Custom classes and functions by name.

    Example:
        >>> config = podium.initializers.serialize(podium.initializers.RandomNormal(stddev=0.5))
        >>> podium.initializers.deserialize(config).stddev
        0.5
    """
    initializer: InitializerFunction | None = _registry.deserialize(config, custom_objects)
    return initializer
