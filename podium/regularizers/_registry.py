"""The names of regularizers in arguments and configs: `get`, `serialize` and `deserialize`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from podium._typing import Config
from podium.core import NameRegistry, Tensor
from podium.regularizers._orthogonal_regularizer import OrthogonalRegularizer
from podium.regularizers._regularizers import L1, L1L2, L2, Regularizer

RegularizerFunction: TypeAlias = Callable[[Any], Tensor | float]
RegularizerLike: TypeAlias = (
    str | Mapping[str, Any] | type[Regularizer] | RegularizerFunction | None
)

_registry = NameRegistry("regularizer", Regularizer, module="keras.regularizers")
_registry.add_class(L1)
_registry.add_class(L2)
_registry.add_class(L1L2, "l1_l2")
_registry.add_class(OrthogonalRegularizer)


def get(identifier: RegularizerLike) -> RegularizerFunction | None:
    """Return the regularizer that an argument such as `kernel_regularizer` names.

    Args:
        identifier: A name (`"l2"` or `"L2"`), a config, a class, an instance, a function of the
            weight, or None.

    Returns:
        A regularizer or function, or None for None.

    Example:
        >>> podium.regularizers.get("l2").l2
        0.01
        >>> podium.regularizers.get("l3")
        Traceback (most recent call last):
        ValueError: Unknown regularizer 'l3'. Choices: 'l1', 'l1_l2', 'l1l2', 'l2',
            'orthogonal_regularizer'.
    """
    regularizer: RegularizerFunction | None = _registry.get(identifier)
    return regularizer


def serialize(regularizer: RegularizerFunction | None) -> str | Config | None:
    """Return a config that `deserialize` accepts.

    Args:
        regularizer: The regularizer.

    Example:
        >>> podium.regularizers.serialize(podium.regularizers.L1(0.5))["config"]
        {'l1': 0.5}
    """
    config: str | Config | None = _registry.serialize(regularizer)
    return config


def deserialize(
    config: str | Mapping[str, Any] | None, custom_objects: Mapping[str, Any] | None = None
) -> RegularizerFunction | None:
    """Create a regularizer from the result of `serialize`.

    Args:
        config: The config, or a name.
        custom_objects: Custom classes and functions by name.

    Example:
        >>> podium.regularizers.deserialize({"class_name": "L1L2", "config": {"l1": 0.1}}).l1
        0.1
    """
    regularizer: RegularizerFunction | None = _registry.deserialize(config, custom_objects)
    return regularizer
