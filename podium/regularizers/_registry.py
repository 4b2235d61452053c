"""Which string means which regularizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podium.core import Family
from podium.regularizers._norms import L1, L1L2, L2
from podium.regularizers._orthogonal import OrthogonalRegularizer
from podium.regularizers._regularizer import Regularizer

_family = Family("regularizer", Regularizer, module="keras.regularizers")
_family.add_class(L1)
_family.add_class(L2)
_family.add_class(L1L2, "l1_l2")
_family.add_class(OrthogonalRegularizer)


def get(identifier: Any) -> Callable[[Any], Any] | None:
    """Return the regularizer that an argument such as `kernel_regularizer` means.

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
    return _family.get(identifier)


def serialize(regularizer: Any) -> Any:
    """Return a config that `deserialize` turns back into the regularizer.

    Example:
        >>> podium.regularizers.serialize(podium.regularizers.L1(0.5))["config"]
        {'l1': 0.5}
    """
    return _family.serialize(regularizer)


def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Make a regularizer from `serialize`'s result.

    Args:
        config: The config, or a name.
        custom_objects: Your own classes and functions by name.

    Example:
        >>> podium.regularizers.deserialize({"class_name": "L1L2", "config": {"l1": 0.1}}).l1
        0.1
    """
    return _family.deserialize(config, custom_objects)
