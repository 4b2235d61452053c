"""The names of constraints in arguments and configs: `get`, `serialize` and `deserialize`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from podium._typing import Config, TensorLike
from podium.constraints._constraints import Constraint, MaxNorm, MinMaxNorm, NonNeg, UnitNorm
from podium.core import NameRegistry

ConstraintFunction: TypeAlias = Callable[[Any], TensorLike]
ConstraintLike: TypeAlias = str | Mapping[str, Any] | type[Constraint] | ConstraintFunction | None

_registry = NameRegistry("constraint", Constraint, module="keras.constraints")
_registry.add_class(MaxNorm)
_registry.add_class(MinMaxNorm)
_registry.add_class(NonNeg)
_registry.add_class(UnitNorm)


def get(identifier: ConstraintLike) -> ConstraintFunction | None:
    """Return the constraint that an argument such as `kernel_constraint` names.

    Args:
        identifier: A name (`"max_norm"` or `"MaxNorm"`), a config, a class, an instance, a function
            of the weight, or None.

    Returns:
        A constraint or function, or None for None.

    Example:
        >>> podium.constraints.get("max_norm").max_value
        2
        >>> podium.constraints.get("maxnorm")
        Traceback (most recent call last):
        ValueError: Unknown constraint 'maxnorm'. Did you mean 'max_norm'? Choices: 'max_norm', \
'min_max_norm', 'non_neg', 'unit_norm'.
    """
    constraint: ConstraintFunction | None = _registry.get(identifier)
    return constraint


def serialize(constraint: ConstraintFunction | None) -> str | Config | None:
    """Return a config that `deserialize` accepts.

    Args:
        constraint: The constraint.

    Example:
        >>> podium.constraints.serialize(podium.constraints.UnitNorm(axis=1))["config"]
        {'axis': 1}
    """
    config: str | Config | None = _registry.serialize(constraint)
    return config


def deserialize(
    config: str | Mapping[str, Any] | None, custom_objects: Mapping[str, Any] | None = None
) -> ConstraintFunction | None:
    """Create a constraint from the result of `serialize`.

    Args:
        config: The config, or a name.
        custom_objects: Custom classes and functions by name.

    Example:
        >>> config = {"class_name": "MaxNorm", "config": {"max_value": 3}}
        >>> podium.constraints.deserialize(config).max_value
        3
    """
    constraint: ConstraintFunction | None = _registry.deserialize(config, custom_objects)
    return constraint
