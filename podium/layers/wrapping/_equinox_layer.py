"""EquinoxLayer: a module of Equinox as a layer. Equinox is imported when it is used."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Self

import jax

from podium._typing import Config, Tree
from podium.layers.wrapping._jax_layer import JaxLayer
from podium.layers.wrapping._module_config import (
    deserialize_module,
    is_module,
    serialize_module,
)


class EquinoxLayer(JaxLayer):
    """Wraps a module of Equinox as a layer.

    Its floating-point arrays are the weights. Outside of training, it runs in Equinox's
    `inference_mode`. If its call has an argument `key`, it gets a random key in training, of its
    own for each sample.

    Args:
        module: The module, called on one sample: `module(x)`.
        state: The `eqx.nn.State` of a stateful module, such as one with `BatchNorm`, which is
            called as `module(x, state)` and returns `(output, state)`.
        vectorize: Whether to map the module over the batch, under the axis name "batch". False for
            a module that takes batches itself.
        **kwargs: `seed`, `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.EquinoxLayer("no module")
        Traceback (most recent call last):
        TypeError: EquinoxLayer was given a str; an equinox.Module was expected ...
    """

    def __init__(self, module: object, state: Tree = None, vectorize: bool = True, **kwargs: Any):
        if not is_module(module, "equinox"):
            raise TypeError(
                f"EquinoxLayer was given a {type(module).__name__}; an equinox.Module was expected "
                "(`pip install equinox`)."
            )
        eqx = importlib.import_module("equinox")
        params, static = eqx.partition(module, eqx.is_inexact_array)
        call_fn = _make_call_fn(eqx, module, static, state is not None, vectorize)
        super().__init__(call_fn, params=params, state=state, **kwargs)
        self.module = module
        self.vectorize = vectorize

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer; the module needs a `get_config`."""
        config = super().get_config()
        for name in ("call_fn", "init_fn", "native_serialization_platforms"):
            del config[name]
        if self._stored["state"].leaves:
            raise TypeError(
                f"EquinoxLayer {self.name!r} has no config: it wraps a module with a state. Save "
                "weights alone with `model.save_weights`."
            )
        return config | {
            "module": serialize_module(self, self.module),
            "vectorize": self.vectorize,
        }

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a layer from the result of `get_config`; the class is looked up by its name."""
        return cls(
            **(dict(config) | {"module": deserialize_module(config["module"], custom_objects)})
        )


def _make_call_fn(
    eqx: ModuleType, module: object, static: Tree, has_state: bool, vectorize: bool
) -> Callable[..., Any]:
    """Return the module as a function of its arrays, whose arguments are those of a JaxLayer."""
    takes_key = "key" in inspect.signature(type(module).__call__).parameters

    def run(params: Tree, state: Tree, rng: Tree, inputs: Tree, training: bool) -> Tree:
        active = eqx.nn.inference_mode(eqx.combine(params, static), value=not training)

        def call(x: Tree, state: Tree, key: Tree) -> Tree:
            options = {"key": key} if takes_key else {}
            return active(x, state, **options) if has_state else active(x, **options)

        if not vectorize:
            return call(inputs, state, rng)
        count = jax.tree.leaves(inputs)[0].shape[0]
        keys = None if rng is None else jax.random.split(rng, count)
        key_axis = None if keys is None else 0
        out_axes = (0, None) if has_state else 0
        axes = (0, None, key_axis)
        return jax.vmap(call, axes, out_axes, axis_name="batch")(inputs, state, keys)

    # JaxLayer finds out from the names of the arguments what a function takes.
    if has_state and takes_key:
        return run
    if has_state:
        return lambda params, state, inputs, training: run(params, state, None, inputs, training)
    if takes_key:
        return lambda params, rng, inputs, training: run(params, None, rng, inputs, training)
    return lambda params, inputs, training: run(params, None, None, inputs, training)
