"""FlaxLayer: a module of Flax, of Linen or of NNX, as a layer. Flax is imported when it is used."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self

from podium._typing import Config, Tree
from podium.layers.wrapping._jax_layer import JaxLayer, find_function, function_entry
from podium.layers.wrapping._module_config import (
    deserialize_module,
    is_module,
    serialize_module,
)

_Functions = tuple[Callable[..., Any], Callable[..., Any] | None, Tree, Tree]


class FlaxLayer(JaxLayer):
    """Wraps a module of Flax: a `flax.linen.Module`, or an initialized `flax.nnx.Module`.

    The method takes `inputs` and optionally `training`. A module of NNX without `training` is set
    to `module.train()` and `module.eval()`. Everything that is not a parameter, such as statistics
    and counters of random streams, is state.

    Args:
        module: The module. A module of NNX is copied: the layer's weights are its own.
        method: The method to call, by default `__call__`; or a function of the module, `inputs`
            and optionally `training`.
        variables: For Linen: the result of `module.init`, to start from. By default the module is
            initialized when the layer is built.
        **kwargs: `seed`, `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.FlaxLayer("no module")
        Traceback (most recent call last):
        TypeError: FlaxLayer was given a str; a flax.linen.Module or a flax.nnx.Module was ...
    """

    def __init__(
        self,
        module: object,
        method: Callable[..., Any] | str | None = None,
        variables: Tree = None,
        **kwargs: Any,
    ):
        if is_module(module, "flax.linen"):
            functions = _linen_functions(module, _find_method(module, method), variables)
        elif is_module(module, "flax.nnx"):
            functions = _nnx_functions(module, _find_method(module, method), variables)
        else:
            raise TypeError(
                f"FlaxLayer was given a {type(module).__name__}; a flax.linen.Module or a "
                "flax.nnx.Module was expected (`pip install flax`)."
            )
        call_fn, init_fn, params, state = functions
        super().__init__(call_fn, init_fn, params=params, state=state, **kwargs)
        self.module = module
        self.method = method

    def _get_init_rng(self) -> Tree:
        return {"params": self._get_init_seed(), "dropout": self._get_init_seed()}

    def _get_call_rng(self, training: bool) -> Tree:
        return {"dropout": self._get_call_seed()} if training else {}

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer; the module needs a `get_config`."""
        config = super().get_config()
        for name in ("call_fn", "init_fn", "native_serialization_platforms"):
            del config[name]
        method: Any = self.method
        if getattr(method, "__self__", None) is self.module:
            method = method.__name__  # of a method of the module; it is found again by its name
        is_named = method is None or isinstance(method, str)
        return config | {
            "module": serialize_module(self, self.module),
            "method": method if is_named else function_entry(method),
        }

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a layer from the result of `get_config`; classes are looked up by name."""
        arguments = dict(config)
        arguments["module"] = deserialize_module(arguments["module"], custom_objects)
        arguments["method"] = find_function(cls.__name__, arguments.get("method"), custom_objects)
        return cls(**arguments)


def _find_method(module: object, method: Callable[..., Any] | str | None) -> Callable[..., Any]:
    """Return the function to call; methods of the module as functions of the module."""
    name = "__call__" if method is None else method
    found = getattr(type(module), name) if isinstance(name, str) else name
    function: Callable[..., Any] = getattr(found, "__func__", found)
    return function


def _takes_training(method: Callable[..., Any]) -> bool:
    return "training" in inspect.signature(method).parameters


def _linen_functions(module: Any, method: Callable[..., Any], variables: Tree) -> _Functions:
    linen = importlib.import_module("flax.linen")
    takes_training = _takes_training(method)

    def call(
        params: Tree, state: Tree, rng: Tree, inputs: Tree, training: bool
    ) -> tuple[Tree, Tree]:
        options = {"training": training} if takes_training else {}
        outputs: tuple[Tree, Tree] = module.apply(
            {**(params or {}), **(state or {})},
            inputs,
            rngs=rng,
            method=method,
            mutable=linen.DenyList(["params"]),
            **options,
        )
        return outputs

    def init(rng: Tree, inputs: Tree, training: bool) -> tuple[Tree, Tree]:
        options = {"training": training} if takes_training else {}
        return _split_variables(module.init(rng, inputs, method=method, **options))

    return call, init, *((None, None) if variables is None else _split_variables(variables))


def _split_variables(variables: Mapping[str, Any]) -> tuple[Tree, Tree]:
    """Return the collection of parameters, and all others."""
    params = {name: variables[name] for name in variables if name == "params"}
    return params, {name: variables[name] for name in variables if name != "params"}


def _nnx_functions(module: Any, method: Callable[..., Any], variables: Tree) -> _Functions:
    if variables is not None:
        raise ValueError(
            "FlaxLayer was given `variables` for a module of NNX, which has its own. Use "
            "`nnx.update(module, state)` first."
        )
    nnx = importlib.import_module("flax.nnx")
    takes_training = _takes_training(method)
    graph, params, state = nnx.split(module, nnx.Param, ...)

    def call(params: Tree, state: Tree, inputs: Tree, training: bool) -> tuple[Tree, Tree]:
        copy = nnx.merge(graph, params, state)
        copy.train() if training else copy.eval()
        outputs = method(copy, inputs, **({"training": training} if takes_training else {}))
        return outputs, nnx.split(copy, nnx.Param, ...)[2]

    return call, None, params, state
