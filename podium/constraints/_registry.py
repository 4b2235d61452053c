"""Which string means which constraint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podium.constraints._constraint import Constraint
from podium.constraints._norms import MaxNorm, MinMaxNorm, NonNeg, UnitNorm
from podium.core import Family

_family = Family("constraint", Constraint, module="keras.constraints")
_family.add_class(MaxNorm)
_family.add_class(MinMaxNorm)
_family.add_class(NonNeg)
_family.add_class(UnitNorm)


def get(identifier: Any) -> Callable[[Any], Any] | None:
    """Return the constraint that an argument such as `kernel_constraint` means.

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
    return _family.get(identifier)


def serialize(constraint: Any) -> Any:
    """Return a config that `deserialize` turns back into the constraint.

    Example:
        >>> podium.constraints.serialize(podium.constraints.UnitNorm(axis=1))["config"]
        {'axis': 1}
    """
    return _family.serialize(constraint)


def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Make a constraint from `serialize`'s result.

    Args:
        config: The config, or a name.
        custom_objects: Your own classes and functions by name.

    Example:
        >>> podium.constraints.deserialize({"class_name": "MaxNorm", "config": {"max_value": 3}}).max_value
        3
    """
    return _family.deserialize(config, custom_objects)
