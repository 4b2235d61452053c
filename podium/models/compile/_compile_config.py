"""The arguments of `compile` as plain data for files, and compiling a model with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium._typing import Config
from podium.core import warn_user
from podium.saving import serialize_keras_object
from podium.saving.internal import build_from_config

if TYPE_CHECKING:
    from podium.models._model import Model


def compile_config(model: Model) -> Config | None:
    """Return the arguments of `compile` as plain data; None before `compile`, and with a warning if
    they cannot be written.
    """
    arguments = dict(model._compile_state.arguments)
    if arguments.get("steps_per_execution") == "auto":
        del arguments["steps_per_execution"]  # the default, and a value that Keras does not support
    if not arguments:
        return None
    try:
        return {
            name: serialize_keras_object(value)
            for name, value in {"optimizer": model.optimizer, **arguments}.items()
        }
    except (TypeError, ValueError, NotImplementedError) as error:
        warn_user(
            f"How model {model.name!r} was compiled is not saved, nor the state of its "
            f"optimizer: {error} Compile the model "
            "again after loading it."
        )
        return None


def compile_from_config(model: Model, config: Config, has_own_compile: bool) -> None:
    """Compile a model with arguments from a file, and create the slots of the optimizer.

    Args:
        model: The model.
        config: What `compile_config` returned.
        has_own_compile: Whether its class overrides `compile`, whose arguments are not known.
    """
    if has_own_compile:
        warn_user(
            f"Model {model.name!r} was not compiled: {type(model).__name__} has a `compile` of its "
            "own. Call it after loading, or override `get_compile_config` and "
            "`compile_from_config` as well."
        )
        return
    try:
        arguments = {name: build_from_config(value) for name, value in config.items()}
        model.compile(**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{error} (This is about how the model was compiled: `compile=False` loads it without.)"
        ) from error
    if model.optimizer is not None and model.built and hasattr(model.optimizer, "build"):
        model.optimizer.build(model.trainable_variables)
