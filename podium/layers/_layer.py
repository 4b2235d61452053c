"""Layer: weights plus a computation, called like a function. The base of every layer and model.

`__call__` is the one way in: it converts inputs, builds weights on first use, passes `training` and
masks on, records the call on open tapes as one entry, and collects losses. What a layer is made of
is found in `_tracking.py`, how it is called in `_call_context.py`, how inputs are checked in
`_input_spec.py`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from podium import regularizers
from podium.core import (
    KerasTensor,
    Node,
    Tensor,
    Variable,
    is_float_dtype,
    is_symbolic,
    map_structure,
    record_call,
    snake_case,
    tree_leaves,
    unknown_choice,
)
from podium.core.internal import (
    TENSOR_IN_LAX,
    VariableScope,
    context,
    current_remat_scope,
    layer_name_scope,
    override,
    restore_on_error,
    state_lock,
    symbolic_outputs,
    unwrap_result,
    wrap,
)
from podium.layers import _call_context
from podium.layers._input_spec import check_inputs
from podium.layers._layer_state import LayerState
from podium.layers._tracking import seed_states
from podium.state import OwnState, keras_order

_COMMON = ("name", "trainable", "dtype")  # in every config
_NOT_OWNED = frozenset({"_inbound_nodes", "_added_weights", "_init_arguments", "_added_metrics"})


class Layer(LayerState):
    """A computation with state. Subclass it, make weights in `build`, and compute in `call`.

    Args:
        activity_regularizer: A function of the outputs whose result is added to the losses.
        trainable: Whether the weights shall be trained.
        dtype: A dtype name or policy, such as "float32" or "mixed_bfloat16".
        autocast: Whether float inputs are cast to the compute type.
        name: A name; by default the class's, such as `dense_1`.

    Example:
        >>> class Scale(podium.layers.Layer):
        ...     def build(self, input_shape):
        ...         self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="scale")
        ...     def call(self, inputs):
        ...         return inputs * self.scale
        >>> layer = Scale()
        >>> layer(np.ones((2, 3), "float32")).shape, [w.path.split("/")[-1] for w in layer.weights]
        ((2, 3), ['scale'])
    """

    _init_arguments: tuple[tuple, dict[str, Any]]
    # `call` of Functional and Sequential models: their layers are recorded one by one.
    _records_layers_inside = False

    # Does a finished `build` mean that all weights exist? (A model may wait for its layers.)
    _build_is_final = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "build" in vars(cls):
            type.__setattr__(cls, "build", _noting_that_it_was_built(vars(cls)["build"]))

    def __new__(cls, *args: Any, **kwargs: Any) -> Layer:
        layer = super().__new__(cls)
        layer._init_arguments = (args, kwargs)
        return layer

    def __init__(
        self,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        batch_input_shape = _input_shape_argument(kwargs)
        if "input_dtype" in kwargs:
            raise ValueError(
                "`input_dtype` is not an argument of layers; give the model an `Input(dtype=...)`."
            )
        if kwargs:
            known = [
                p
                for p in inspect.signature(type(self).__init__).parameters
                if p not in ("self", "kwargs", "args")
            ]
            first = next(iter(kwargs))
            raise TypeError(
                f"{type(self).__name__} does not know the argument {first!r}. "
                + str(
                    unknown_choice(
                        "argument",
                        first,
                        [*known, "activity_regularizer", "trainable", "dtype", "name"],
                    )
                )
            )
        super().__init__(name, trainable, dtype)
        self._remat_scope = current_remat_scope()
        self._autocast = autocast
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.built_shape: Any = None  # the input shape that `build` saw, for messages
        self.input_spec: Any = None
        self.supports_masking = _overrides(self, "compute_mask")
        self.batch_input_shape = batch_input_shape
        self._inbound_nodes: list[Node] = []
        self._call_signature = _call_context.CallSignature(self.call)
        # Does `call` want bare jax.Arrays? Not known of a user's layer until it has run once.
        self._takes_arrays: bool | None = (
            False if type(self).__module__.startswith("podium.") else None
        )

    # --- what subclasses write

    def build(self, input_shape: Any) -> None:
        """Make the weights; called once, with the shape of the first input. Override it."""
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs. Override it."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `call` method: define `call(self, inputs)`."
        )

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        """Return the mask of the outputs; by default the mask of the inputs."""
        return previous_mask

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again, without its weights."""
        return self._described(_overrides(self, "get_config"))

    def _described(self, in_part: bool) -> dict[str, Any]:
        """Return the arguments that all layers have, and unless a subclass writes `in_part` itself,
        its own as recorded.
        """
        config = self._base_config()
        if in_part or type(self).__init__ is Layer.__init__:
            return config
        arguments = self._recorded_arguments()
        plain = all(_is_plain(value) for value in arguments.values())
        if not plain:
            names = [name for name, value in arguments.items() if not _is_plain(value)]
            raise NotImplementedError(
                f"{type(self).__name__} has the arguments {names}, which cannot be written as "
                "plain data. Define `get_config` so that it returns all arguments of `__init__` in "
                "plain form, and `from_config` if needed."
            )
        return config | arguments

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """Make a layer from `get_config`'s result."""
        parameters = inspect.signature(cls).parameters
        takes_any = any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
        )
        left_out = (
            {}
            if takes_any
            else {key: config[key] for key in _COMMON if key in config and key not in parameters}
        )
        try:
            layer = cls(**{key: value for key, value in config.items() if key not in left_out})
            if "name" in left_out:  # a constructor that passes nothing on
                layer._name = left_out["name"]
            if left_out.get("trainable") is False:
                layer.trainable = False
            return layer
        except TypeError as error:
            raise TypeError(
                f"{cls.__name__} cannot be made from the config {dict(config)!r}: {error}"
            ) from error

    def _base_config(self) -> dict[str, Any]:
        policy = {
            "module": "keras",
            "class_name": "DTypePolicy",
            "config": self._dtype_policy.get_config(),
            "registered_name": None,
        }
        config: dict[str, Any] = {"name": self._name, "trainable": self._trainable, "dtype": policy}
        if self.activity_regularizer is not None:
            config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        return config

    def _recorded_arguments(self) -> dict[str, Any]:
        args, kwargs = self._init_arguments
        signature = inspect.signature(type(self).__init__)
        bound = signature.bind(self, *args, **kwargs).arguments
        found: dict[str, Any] = {}
        for name, value in list(bound.items())[1:]:
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                found.update(value)
            else:
                found[name] = value
        return found

    # --- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build if needed, then compute. See the class for the order of things."""
        self._check_initialized()
        # A `call` without the argument still passes it on to the layers inside.
        unasked = None if self._call_signature.has_training else kwargs.pop("training", None)
        bound = self._call_signature.bind(self._name, args, kwargs)
        given = {
            name: _call_context.as_tensors(value, self._cast_to) for name, value in bound.items()
        }
        explicit_training = given.get("training", unasked)
        training = self._training_for(given, unasked)
        inputs = given.get(self._call_signature.first) if self._call_signature.first else None
        if self.input_spec is not None:
            check_inputs(self, self.input_spec, inputs)
        self._build_for(given)
        if is_symbolic(given):
            return self._call_symbolically(given, bound, training, explicit_training)
        self._fill_masks(given)
        if self._records_layers_inside:
            outputs, masks = self._run(
                given, training
            )  # the layers inside are recorded, one by one
        elif any(tape.recording for tape in context.tapes):
            composite = bool(self._own_layers())
            outputs, masks = record_call(
                self._run, (given, training), {}, self.trainable_variables, composite
            )
        else:
            outputs, masks = self._run(given, training)
        return _with_masks(outputs, masks)

    @property
    def _cast_to(self) -> str | None:
        """The type that float inputs and Variables are seen in while this layer runs."""
        return self.compute_dtype if self._autocast and is_float_dtype(self.compute_dtype) else None

    def _training_for(self, given: dict[str, Any], unasked: bool | None) -> bool | None:
        """Decide `training`: what the caller says, else what the layer around says, else the
        default.
        """
        signature = self._call_signature
        training = given.get("training", unasked)
        if isinstance(training, (Tensor, np.bool_)):
            training = bool(training)
        if training is None:
            training = _call_context.calls.training
        if "training" in signature.all_names:
            required = signature.training_default is inspect.Parameter.empty
            if training is not None:
                given["training"] = training
            elif required:
                given["training"] = False
            elif "training" in given and signature.training_default is not None:
                given["training"] = signature.training_default
        elif "training" in given:
            given["training"] = training
        return training

    def _fill_masks(self, given: dict[str, Any]) -> None:
        """Hand the masks that tensors carry to a `call` that asks for them."""
        signature = self._call_signature
        if signature.has_mask and given.get("mask") is None and signature.first in given:
            mask = _masks_of(given[signature.first])
            if any(
                leaf is not None
                for leaf in jax.tree.leaves(
                    mask, is_leaf=lambda m: m is None or isinstance(m, Tensor)
                )
            ):
                given["mask"] = mask
        for name in list(given):
            wanted = f"{name}_mask"
            if wanted in signature.all_names and given.get(wanted) is None:
                mask = getattr(given[name], "_keras_mask", None)
                if mask is not None:
                    given[wanted] = mask

    def _run(self, given: dict[str, Any], training: bool | None) -> tuple[Any, Any]:
        """Compute outputs and their masks, with the settings that hold inside this layer."""
        inside = _call_context.inside_call(training)
        with (
            restore_on_error(),
            inside as outermost,
            override(autocast_dtype=self._cast_to),
            layer_name_scope(self._name),
        ):
            if outermost:
                self._clear_losses()
            outputs = self._computed(given)
            if not isinstance(outputs, Tensor):
                outputs = map_structure(_as_output, outputs)
            if self.activity_regularizer is not None:
                self._regularize_activity(self.activity_regularizer, outputs)
            masks = self._output_masks(given, outputs)
        return outputs, masks

    def _computed(self, given: dict[str, Any]) -> Any:
        """Run `call`, so that its gradients compute it again if the layer was made in a
        RematScope.
        """
        if self._remat_scope is None or self._records_layers_inside:
            return self._call_with_what_it_takes(given)
        call = self._remat_scope.applied(
            self._call_with_what_it_takes, self._name, bool(self._own_layers())
        )
        return call(given)

    def _call_with_what_it_takes(self, given: dict[str, Any]) -> Any:
        """Run `call` on Tensors; if it hands them to `jax.lax`, run it on bare arrays from then
        on.
        """
        if self._takes_arrays is None:
            trial = VariableScope(parent=context.scope)
            try:
                with override(scope=trial, bare_arrays=False):
                    outputs = self._call_method(given)
            except (ValueError, TypeError) as error:
                if "__jax_array__" not in str(error) and str(error) != TENSOR_IN_LAX:
                    raise
                self._takes_arrays = True  # what the failed trial wrote is dropped with its scope
            else:
                trial.commit()
                self._takes_arrays = False
                return outputs
        if not self._takes_arrays:
            with override(bare_arrays=False):
                return self._call_method(given)
        with override(bare_arrays=True):
            return self._call_method(unwrap_result(given))

    def _call_method(self, given: dict[str, Any]) -> Any:
        args, kwargs = self._call_signature.unbind(given)
        try:
            return self.call(*args, **kwargs)
        except AttributeError as error:
            if isinstance(getattr(error, "obj", None), Tensor):
                raise TypeError(_no_array_method(self, error.name)) from error
            _locate(error, self)
            raise
        except Exception as error:
            _locate(error, self)
            raise

    def _regularize_activity(self, regularizer: Callable, outputs: Any) -> None:
        for output in tree_leaves(outputs):
            batch = output.shape[0] if output.shape else 1
            self.add_loss(regularizer(output) / batch)

    def _output_masks(self, given: dict[str, Any], outputs: Any) -> Any:
        """Return the masks for the outputs, or None."""
        flat = tree_leaves(outputs)
        carried = [getattr(leaf, "_keras_mask", None) for leaf in flat]
        if not self.supports_masking or all(mask is not None for mask in carried):
            return carried if any(mask is not None for mask in carried) else None
        inputs = given.get(self._call_signature.first) if self._call_signature.first else None
        previous = given["mask"] if given.get("mask") is not None else _masks_of(inputs)
        mask = self.compute_mask(inputs, previous)
        if mask is None:
            return None
        masks = mask if isinstance(mask, (list, tuple)) else [mask]
        return [*masks, *[None] * len(flat)][: len(flat)]

    # --- building

    def _build_for(self, given: dict[str, Any]) -> None:
        """Build with the shapes of the given tensors, once."""
        if self.built:
            return
        shapes = {
            name: _call_context.shapes_of(v)
            for name, v in given.items()
            if _call_context.is_tensor_like(v)
        }
        with state_lock:  # of threads that call together, one builds
            if not self.built:
                # Weights get real numbers, outside of every tape; the running trace finds them by
                # use.
                with restore_on_error(), jax.ensure_compile_time_eval(), override(tapes=()):
                    self._build_once(shapes)

    def _build_once(self, shapes: dict[str, Any]) -> None:
        parameters = inspect.signature(type(self).build).parameters
        names = [
            n
            for n in list(parameters)[1:]
            if parameters[n].kind is not inspect.Parameter.VAR_KEYWORD
        ]
        needed = {name for name in names if parameters[name].default is inspect.Parameter.empty}
        by_name = {
            name: shapes[name.removesuffix("_shape")]
            for name in names
            if name.removesuffix("_shape") in shapes
        }
        first = shapes.get(self._call_signature.first) if self._call_signature.first else None
        with layer_name_scope(self._name), override(autocast_dtype=None, bare_arrays=False):
            if len(names) > 1 and by_name and needed <= set(by_name):
                self.build(
                    **by_name
                )  # `build(query_shape, value_shape)`: one shape for each tensor argument
            else:
                self.build(*[first][: len(names)])
        self.built = True
        self.built_shape = first

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build with the shapes that `get_build_config` returned."""
        if config and config.get("input_shape") is not None and not self.built:
            self.build(config["input_shape"])

    def get_build_config(self) -> dict[str, Any] | None:
        """Return the shapes that this layer was built with."""
        return {"input_shape": self.built_shape} if self.built_shape is not None else None

    # --- state, for files and checkpoints

    def _own_state(self) -> OwnState:
        """Return what this layer owns itself; see `podium.state`."""
        return OwnState(
            snake_case(type(self).__name__),
            self._own_weights(),
            keras_order(self._state_attributes()),
            seed_states(vars(self), frozenset()),
        )

    def _state_attributes(self) -> dict[str, object]:
        """Return the attributes in which files look for layers, by the names they use."""
        return {name: value for name, value in vars(self).items() if name not in _NOT_OWNED}

    # --- symbolic calls: shapes, and nodes of a graph

    def _call_symbolically(
        self,
        given: dict[str, Any],
        bound: dict[str, Any],
        training: bool | None,
        explicit_training: Any,
    ) -> Any:
        outputs = self._declared_outputs(given)
        if outputs is None:
            outputs = self._symbolic_outputs(given, training)
        if outputs is None:
            raise ValueError(
                f"Layer {self._name!r} ({type(self).__name__}) returned None: its `call` must "
                "return the output. Is there a `return` at its end?"
            )
        # A Variable among the arguments is read whenever the graph runs, so the node keeps the
        # Variable itself.
        named = {
            name: _call_context.with_variables(value, bound.get(name))
            for name, value in given.items()
        }
        if explicit_training is None:
            named.pop("training", None)  # decided anew when the graph runs
        first = self._call_signature.first
        if self._call_signature.has_args:
            args, named = self._call_signature.unbind(named)
        else:
            args = (named.pop(first),) if first in named else ()
        node = Node(self, args, named, outputs, layer=self)
        self._inbound_nodes.append(node)
        return outputs

    def _symbolic_outputs(self, given: dict[str, Any], training: bool | None) -> Any:
        given = dict(given)

        def run(given: dict[str, Any]) -> Any:
            wrapped = map_structure(
                lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, given
            )
            with override(scope=VariableScope(parent=context.scope), tapes=()):
                outputs, _ = self._run(wrapped, training)
            return unwrap_result(outputs)

        try:
            return symbolic_outputs(run, (given,), {})
        except (TypeError, ValueError) as error:
            shapes = ", ".join(
                str(v.shape) for v in tree_leaves(given) if isinstance(v, KerasTensor)
            )
            if f"Layer {self._name!r}" in str(error):
                raise
            raise type(error)(
                f"Layer {self._name!r} ({type(self).__name__}) cannot take inputs of shape "
                f"{shapes}: {error}"
            ) from error

    def _declared_outputs(self, given: dict[str, Any]) -> Any:
        """Return what the layer itself says about its outputs, or None if only tracing can tell."""
        if any(not layer.built for layer in self._own_layers()):
            return None  # tracing also builds the layers inside
        args, kwargs = self._call_signature.unbind(
            {n: v for n, v in given.items() if n not in ("training", "mask")}
        )
        if _overrides(self, "compute_output_spec"):
            return self.compute_output_spec(*args, **kwargs)
        if _overrides(self, "compute_output_shape") and len(args) == 1 and not kwargs:
            shapes = self.compute_output_shape(_call_context.shapes_of(args[0]))
            return _call_context.map_shapes(
                lambda shape: KerasTensor(shape, self.compute_dtype), shapes
            )
        return None

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Return KerasTensors that say what a call on symbolic inputs would give."""
        given = self._call_signature.bind(self._name, args, kwargs)
        training = self._training_for(given, None)
        self._build_for(given)
        return self._symbolic_outputs(given, training)

    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the shape of the outputs for a given shape of the inputs (or structure of
        shapes).
        """
        names = [name.removesuffix("_shape") for name in kwargs]
        symbols = [
            _call_context.map_shapes(lambda s: KerasTensor(s, self.compute_dtype), shape)
            for shape in (*args, *kwargs.values())
        ]
        outputs = self.compute_output_spec(
            *symbols[: len(args)], **dict(zip(names, symbols[len(args) :], strict=True))
        )
        return _call_context.shapes_of(outputs)

    # --- a layer's place in a graph

    @property
    def input(self) -> Any:
        """The symbolic input of the first call on symbolic values."""
        return (
            self._first_node().args[0]
            if len(self._first_node().args) == 1
            else self._first_node().inputs
        )

    @property
    def output(self) -> Any:
        """The symbolic output of the first call on symbolic values."""
        return self._first_node().outputs

    def _first_node(self) -> Node:
        if not self._inbound_nodes:
            raise AttributeError(
                f"Layer {self._name!r} has no symbolic input or output yet: it has not been called "
                "on an `Input`. Build the model from `podium.Input(...)`, or call the layer on one."
            )
        return self._inbound_nodes[0]

    # --- the pure form

    def stateless_call(
        self,
        trainable_variables: Any,
        non_trainable_variables: Any,
        *args: Any,
        return_losses: bool = False,
        **kwargs: Any,
    ) -> tuple:
        """Call without touching any state: values in, values out, for use with raw JAX
        transformations.

        Args:
            trainable_variables: Values for `trainable_variables`, in order.
            non_trainable_variables: Values for `non_trainable_variables`, in order.
            *args: Arguments of the call.
            return_losses: Return the losses as a third result.
            **kwargs: Named arguments of the call.

        Returns:
            `(outputs, new_non_trainable_values)`, or with the losses behind them; all as
            jax.Arrays.
        """
        pairs = [
            (self.trainable_variables, trainable_variables),
            (self.non_trainable_variables, non_trainable_variables),
        ]
        inputs = {}
        for variables, values in pairs:
            if len(variables) != len(values):
                raise ValueError(
                    f"stateless_call on {self._name!r} was given {len(values)} values for "
                    f"{len(variables)} Variables."
                )
            for variable, value in zip(variables, values, strict=True):
                inputs[id(variable)] = (variable, unwrap_result(value))
        scope = VariableScope(inputs, context.scope)
        with override(scope=scope, tapes=()):
            outputs = unwrap_result(self(*args, **kwargs))
            losses = unwrap_result(self.losses) if return_losses else []
        new = [scope.read(variable) for variable in pairs[1][0]]
        return (outputs, new, losses) if return_losses else (outputs, new)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self._name}, built={self.built}>"


def _noting_that_it_was_built(build: Callable) -> Callable:
    """Wrap a `build` method so that building by hand counts, and its weights get the layer's
    name.
    """

    @functools.wraps(build)
    def noting(self: Layer, *args: Any, **kwargs: Any) -> None:
        with layer_name_scope(self._name):
            build(self, *args, **kwargs)
        if self._build_is_final:
            self.built = True
            if self.built_shape is None:
                self.built_shape = args[0] if args else next(iter(kwargs.values()), None)

    return noting


def _as_output(leaf: Any) -> Any:
    """Turn what `call` returned into a Tensor: a bare array, or a Variable, which would change
    later.
    """
    if isinstance(leaf, Variable):
        return leaf.read_value()
    return wrap(leaf) if isinstance(leaf, jax.Array) else leaf


def _overrides(layer: Layer, method: str) -> bool:
    return getattr(type(layer), method) is not getattr(Layer, method)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, (bool, int, float, str))


def _input_shape_argument(kwargs: dict[str, Any]) -> tuple | None:
    """Take Keras 2's ways to give the input's shape to a first layer out of `kwargs`."""
    shape = kwargs.pop("input_shape", None)
    batch_shape = kwargs.pop("batch_input_shape", None) or kwargs.pop("batch_shape", None)
    dim, length = kwargs.pop("input_dim", None), kwargs.pop("input_length", None)
    if batch_shape is not None:
        return tuple(batch_shape)
    if shape is not None:
        return (None, *((shape,) if isinstance(shape, int) else tuple(shape)))
    if dim is not None:
        return (None, length, dim) if length is not None else (None, dim)
    return (None, length) if length is not None else None


def _masks_of(value: Any) -> Any:
    if isinstance(value, (Tensor, KerasTensor)):
        return value._keras_mask
    if isinstance(value, (list, tuple)):
        return [_masks_of(item) for item in value]
    return None


def _locate(error: Exception, layer: Layer) -> None:
    """Add to an error which layer it comes from: the innermost one."""
    if not any(
        note.startswith("This happened in layer") for note in getattr(error, "__notes__", ())
    ):
        error.add_note(f"This happened in layer {layer.name!r} ({type(layer).__name__}).")


def _no_array_method(layer: Layer, name: str | None) -> str:
    return (
        f"Layer {layer.name!r} ({type(layer).__name__}) asked a Tensor for `.{name}`, which it "
        "does not have: a Tensor has no methods of NumPy arrays. Use `podium.ops` "
        f"(`ops.{name}(x)`, where there is one), and `ops.cond` or `ops.where` instead of a Python "
        "`if` on values."
    )


def _with_masks(outputs: Any, masks: Any) -> Any:
    if masks is None:
        return outputs
    for output, mask in zip(tree_leaves(outputs), masks, strict=True):
        if isinstance(output, Tensor):
            output._keras_mask = mask
    return outputs
