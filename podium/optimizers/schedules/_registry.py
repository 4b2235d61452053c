"""Learning rates as configs: schedules by their class, plain functions by the name they were
registered under.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core import NameRegistry, get_registered_name, get_registered_object
from podium.optimizers.schedules._cosine import CosineDecay, CosineDecayRestarts
from podium.optimizers.schedules._decays import (
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
)
from podium.optimizers.schedules._schedule import LearningRateSchedule

_registry = NameRegistry(
    "learning rate schedule", LearningRateSchedule, module="keras.optimizers.schedules"
)
for _cls in (
    CosineDecay,
    CosineDecayRestarts,
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
):
    _registry.add_class(_cls)


def serialize(learning_rate_schedule: LearningRateSchedule) -> Any:
    """Return a config that `deserialize` converts back to the schedule.

    Example:
        >>> schedule = podium.optimizers.schedules.InverseTimeDecay(0.1, 10, 0.5)
        >>> podium.optimizers.schedules.serialize(schedule)["class_name"]
        'InverseTimeDecay'
    """
    return _registry.serialize(learning_rate_schedule)


def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Make a schedule from `serialize`'s result.

    Args:
        config: The config.
        custom_objects: Your own schedules by name.

    Example:
        >>> arguments = {"initial_learning_rate": 0.1, "decay_steps": 10}
        >>> config = {"class_name": "CosineDecay", "config": arguments}
        >>> podium.optimizers.schedules.deserialize(config).decay_steps
        10
    """
    return _registry.deserialize(config, custom_objects)


def function_config(function: Any) -> dict[str, Any]:
    """Return the config of a plain function of the step, which is function again by its registered
    name.
    """
    name = get_registered_name(function)
    return {"module": "builtins", "class_name": "function", "config": name, "registered_name": name}


def rate_from_config(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return the learning rate in an optimizer's config: a number, a schedule or a function."""
    if not isinstance(config, Mapping):
        return config
    if config.get("class_name") != "function":
        return deserialize(config, custom_objects)
    function = get_registered_object(config["config"], custom_objects)
    if function is None:
        raise ValueError(
            f"The learning rate of this optimizer is the function {config['config']!r}, which is "
            "not registered. Register it with `register_keras_serializable`, or pass it in "
            "`custom_objects`."
        )
    return function
