"""Configs of models: a graph for functional models, the constructor's arguments for subclasses."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from podium._typing import Config
from podium.core import custom_object_scope
from podium.models._graph_config import functional_config, functional_from_config

if TYPE_CHECKING:
    from podium.models._model import Model


def graph_config(model: Model) -> Config | None:
    """Return the config of a model that is created from its graph; None for other models."""
    if model._graph is None or not takes_graph(type(model)):
        return None
    return functional_config(model)


def model_from_graph_config(
    cls: type[Model], config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None
) -> Model | None:
    """Return a model created from the config of a graph; None if the config or the class is of
    another kind.
    """
    if "layers" not in config or "input_layers" not in config or not takes_graph(cls):
        return None
    with custom_object_scope(dict(custom_objects or {})):
        return functional_from_config(cls, config)


def takes_graph(cls: type[Model]) -> bool:
    """Return whether the constructor of a class of models takes `inputs` and `outputs`."""
    constructor = cls.__dict__.get("__init__", cls.__init__)
    parameters = inspect.signature(constructor).parameters
    passes_arguments_on = {parameter.kind for parameter in parameters.values()} >= {
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    }
    return {"inputs", "outputs"} <= set(parameters) or (
        passes_arguments_on and len(parameters) == 3
    )
