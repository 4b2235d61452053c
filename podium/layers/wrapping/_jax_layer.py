"""JaxLayer: a pure JAX function with parameters and state as a layer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp

from podium._typing import Config, SymbolicShape, Tree
from podium.core import (
    SeedGenerator,
    dispatch,
    draw_seed,
    get_registered_name,
    get_registered_object,
    map_structure,
)
from podium.layers._call_context import map_shapes
from podium.layers._layer import Layer
from podium.layers.wrapping._stored_tree import StoredTree

_CALL_ARGUMENTS = ("params", "state", "rng", "inputs", "training")
_INIT_ARGUMENTS = ("rng", "inputs", "training")


class JaxLayer(Layer):
    """Wraps a JAX function, such as the `apply` of a Haiku module, as a layer.

    Args:
        call_fn: The function. Its arguments have these names, in any order: `inputs`, and
            optionally `params`, `state`, `rng` (a random key in training, else None) and
            `training`. With `state` it returns `(outputs, new_state)`, else the outputs.
        init_fn: Creates the parameters when the layer is built: it takes `inputs`, and optionally
            `rng` and `training`. It returns `(params, state)` if `call_fn` takes a state, else the
            parameters. None if `params` or `state` are given.
        params: The trained parameters: a tree of arrays.
        state: What changes without training, such as statistics: a tree of arrays.
        seed: An int that makes `rng` repeat.
        native_serialization_platforms: Accepted for Keras's signature, where it is for TensorFlow.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> def scale(params, inputs):
        ...     return inputs * params["scale"]
        >>> layer = podium.layers.JaxLayer(scale, params={"scale": jnp.array([2.0, 3.0])})
        >>> layer(np.ones((1, 2), "float32")).numpy(), len(layer.trainable_variables)
        (array([[2., 3.]], dtype=float32), 1)
    """

    def __init__(
        self,
        call_fn: Callable[..., Any],
        init_fn: Callable[..., Any] | None = None,
        params: Tree = None,
        state: Tree = None,
        seed: int | None = None,
        native_serialization_platforms: Sequence[str] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.call_fn = call_fn
        self.init_fn = init_fn
        self.seed = seed
        self.native_serialization_platforms = native_serialization_platforms
        self.call_fn_arguments = self._check_function("call_fn", call_fn, _CALL_ARGUMENTS)
        self.init_fn_arguments = (
            [] if init_fn is None else self._check_function("init_fn", init_fn, _INIT_ARGUMENTS)
        )
        needs_values = bool({"params", "state"} & set(self.call_fn_arguments))
        if needs_values and init_fn is None and params is None and state is None:
            raise ValueError(
                f"{type(self).__name__} was given a call_fn with parameters or a state, and "
                "neither `params` nor `state` nor an `init_fn` that creates them. Pass one."
            )
        self.seed_generator = SeedGenerator(seed) if "rng" in self.call_fn_arguments else None
        self._stored: dict[str, StoredTree] = {}
        self._input_dtypes: Tree = None
        if params is not None or state is not None or not needs_values:
            self._store(params, state)
            self.built = True

    def _check_function(
        self, argument: str, fn: Callable[..., Any], allowed: tuple[str, ...]
    ) -> list[str]:
        names = [*inspect.signature(fn).parameters]
        unknown = [name for name in names if name not in allowed]
        if unknown or "inputs" not in names:
            problem = f"{unknown[0]!r}" if unknown else "no 'inputs'"
            raise ValueError(
                f"{type(self).__name__} was given an {argument} whose arguments are "
                f"{names}, with {problem}; names of {', '.join(allowed)} were expected. Wrap it: "
                "`lambda params, inputs: fn(inputs, params)`."
            )
        return names

    def _store(self, params: Tree, state: Tree) -> None:
        self._stored = {
            "params": StoredTree(self, params, trainable=True),
            "state": StoredTree(self, state, trainable=False),
        }

    @property
    def params(self) -> Tree:
        """The parameters, a tree of Variables; None before the layer is built."""
        return self._stored["params"].tree if self._stored else None

    @property
    def state(self) -> Tree:
        """The state, a tree of Variables; None before the layer is built."""
        return self._stored["state"].tree if self._stored else None

    # --- building

    def _build_for_call(self, shapes: Sequence[Tree], inputs: Tree) -> None:
        self._input_dtypes = map_structure(lambda value: jnp.dtype(value.dtype).name, inputs)
        self.build(*shapes)

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the parameters and the state with `init_fn`, for inputs of ones."""
        if self._stored:
            return
        dtypes = iter(jax.tree.leaves(self._input_dtypes))

        def make_input(shape: SymbolicShape) -> jax.Array:
            sizes = [1 if size is None else size for size in shape]
            return jnp.ones(sizes, next(dtypes, self.compute_dtype))

        values = {
            "inputs": map_shapes(make_input, input_shape),
            "training": True,
            "rng": self._get_init_rng() if "rng" in self.init_fn_arguments else None,
        }
        assert self.init_fn is not None
        result = self.init_fn(*(values[name] for name in self.init_fn_arguments))
        params, state = result if "state" in self.call_fn_arguments else (result, None)
        self._store(params, state)

    def get_build_config(self) -> Config | None:
        """Return the shapes and dtypes that this layer was built with."""
        config = super().get_build_config()
        if config is None or self._input_dtypes is None:
            return config
        return config | {"input_dtypes": self._input_dtypes}

    def build_from_config(self, config: Config) -> None:
        """Build the layer with the shapes and dtypes that `get_build_config` returned."""
        if config and not self.built:
            self._input_dtypes = config.get("input_dtypes")
        super().build_from_config(config)

    # --- random keys: override these for other structures of keys

    def _get_init_rng(self) -> Tree:
        """Return the `rng` of `init_fn`: a key, or a structure of keys."""
        return self._get_init_seed()

    def _get_init_seed(self) -> jax.Array:
        """Return a new key for `_get_init_rng`."""
        return draw_seed(None)

    def _get_call_rng(self, training: bool) -> Tree:
        """Return the `rng` of `call_fn`: a key in training, else None; or a structure of keys."""
        return self._get_call_seed() if training else None

    def _get_call_seed(self) -> jax.Array:
        """Return a new key for `_get_call_rng`."""
        return draw_seed(self.seed_generator)

    # --- calling

    def call(self, inputs: Tree, training: bool = False) -> Tree:
        """Call the function, and store the state that it returns."""
        training = bool(training)
        rng = self._get_call_rng(training) if self.seed_generator is not None else None
        params, state = self._stored["params"], self._stored["state"]

        def run(params_values: list[Any], state_values: list[Any], rng: Tree, inputs: Tree) -> Tree:
            values = {
                "params": params.restore(params_values),
                "state": state.restore(state_values),
                "rng": rng,
                "inputs": inputs,
                "training": training,
            }
            result = self.call_fn(*(values[name] for name in self.call_fn_arguments))
            if "state" not in self.call_fn_arguments:
                return result, []
            outputs, new_state = result
            return outputs, state.flatten(new_state)

        outputs, new_values = dispatch(run, params.variables, state.variables, rng, inputs)
        if new_values:
            for variable, value in zip(state.variables, new_values, strict=True):
                variable.assign(value)
        return outputs

    # --- serialization

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer; functions are stored by their registered
        names, and weights in files of weights.
        """
        config = super().get_config() | {
            "call_fn": function_entry(self.call_fn),
            "init_fn": None if self.init_fn is None else function_entry(self.init_fn),
            "native_serialization_platforms": self.native_serialization_platforms,
        }
        return config if self.seed is None else config | {"seed": self.seed}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a layer from the result of `get_config`; functions are looked up by name."""
        arguments = dict(config)
        for name in ("call_fn", "init_fn"):
            if arguments.get(name) is not None:
                arguments[name] = find_function(cls.__name__, arguments[name], custom_objects)
        return cls(**arguments)


def function_entry(fn: Callable[..., Any]) -> Config:
    """Return the config of a function: its registered name."""
    name = get_registered_name(fn) if hasattr(fn, "__name__") else type(fn).__name__
    return {
        "module": "builtins",
        "class_name": "function",
        "config": name,
        "registered_name": "function",
    }


def find_function(owner: str, entry: object, custom_objects: Mapping[str, Any] | None) -> object:
    """Return the registered function that a config names; other values are returned unchanged."""
    if not isinstance(entry, Mapping):
        return entry
    name = entry.get("config")
    function: object = (
        get_registered_object(name, custom_objects) if isinstance(name, str) else None
    )
    if function is None:
        raise ValueError(
            f"This {owner} wraps the function {name!r}, which is not registered; a config stores "
            "only its name. Define it with `def` and decorate it with "
            "`@podium.saving.register_keras_serializable()`, or load inside "
            "`podium.saving.custom_object_scope({...})`."
        )
    return function
