"""Which string means which optimizer, and what else the argument `optimizer` may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from podium.core import NameRegistry, custom_object_scope, get_registered_object
from podium.optimizers._adafactor import Adafactor
from podium.optimizers._adagrad import Adadelta, Adagrad
from podium.optimizers._adam import Adam, AdamW
from podium.optimizers._adamax import Adamax
from podium.optimizers._ftrl import Ftrl
from podium.optimizers._lamb import Lamb
from podium.optimizers._lion import Lion
from podium.optimizers._muon import Muon
from podium.optimizers._nadam import Nadam
from podium.optimizers._optax import OptaxOptimizer, is_transformation
from podium.optimizers._optimizer import Optimizer
from podium.optimizers._rmsprop import RMSprop
from podium.optimizers._schedule_free import ScheduleFreeAdamW
from podium.optimizers._sgd import SGD

_Kind = TypeVar("_Kind", bound=Optimizer)
_registry = NameRegistry("optimizer", Optimizer, module="keras.optimizers")


def add_optimizer(cls: type[_Kind]) -> type[_Kind]:
    """Let strings and configs name an optimizer: its class name in any case."""
    _registry.add(cls.__name__.lower(), cls)
    return cls


for _cls in (
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    AdamW,
    Adamax,
    Ftrl,
    Lamb,
    Lion,
    Muon,
    Nadam,
    RMSprop,
    SGD,
    ScheduleFreeAdamW,
):
    add_optimizer(_cls)


def get(identifier: Any) -> Optimizer | None:
    """Return the optimizer that the argument `optimizer` means.

    Args:
        identifier: A name in any case (`"adam"`), a config, a class, an instance, an optax
            transformation, or None.

    Returns:
        An optimizer, or None for None.

    Example:
        >>> podium.optimizers.get("RMSprop").rho
        0.9
        >>> podium.optimizers.get("adm")
        Traceback (most recent call last):
        ValueError: Unknown optimizer 'adm'. Did you mean 'adam'? Choices: 'adadelta', \
'adafactor', 'adagrad', 'adam', 'adamax', 'adamw', 'ftrl', 'lamb', 'lion', 'lossscaleoptimizer', \
'multioptimizer', 'muon', 'nadam', 'rmsprop', 'schedulefreeadamw', 'sgd'.
    """
    if identifier is None or isinstance(identifier, Optimizer):
        return identifier
    if is_transformation(identifier):
        return OptaxOptimizer(identifier)
    if isinstance(identifier, str):
        optimizer = _registry.get(_known_name(identifier))
    elif isinstance(identifier, Mapping):
        optimizer = deserialize(identifier)
    elif isinstance(identifier, type) and issubclass(identifier, Optimizer):
        optimizer = identifier()  # type: ignore[call-arg]
    else:
        optimizer = None
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"optimizer={identifier!r} was given; a name such as 'adam', an Optimizer, its class "
            "or config, or an optax transformation was expected."
        )
    return optimizer


def serialize(optimizer: Optimizer) -> Any:
    """Return a config that `deserialize` converts back to the optimizer, without its state.

    Example:
        >>> podium.optimizers.serialize(podium.optimizers.SGD(0.5))["config"]["learning_rate"]
        0.5
    """
    return _registry.serialize(optimizer)


def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Optimizer:
    """Make an optimizer from `serialize`'s result.

    Args:
        config: The config, or a name.
        custom_objects: Your own optimizers and schedules by name.

    Example:
        >>> config = {"class_name": "Adam", "config": {"learning_rate": 0.5}}
        >>> float(podium.optimizers.deserialize(config).learning_rate)
        0.5
    """
    with custom_object_scope(custom_objects or {}):  # for schedules inside the config too
        if isinstance(config, str):
            return cast(Optimizer, _registry.get(_known_name(config)))
        if "class_name" in config:
            config = {**config, "class_name": _known_name(config["class_name"])}
        return cast(Optimizer, _registry.deserialize(config))


def _known_name(name: str) -> str:
    """Return a name as the registry has it: in lower case, without the module prefix of Keras 2."""
    return name if get_registered_object(name) is not None else name.rsplit(">", 1)[-1].lower()
