"""Layer: weights and a computation, called like a function. The base class of layers and models.

`__call__` converts inputs, creates weights on first use, passes `training` and masks on, records
the call on open tapes as one entry, and collects losses. Each part has its own module: what a layer
holds (`_variable_tracker.py`), the arguments of a call (`_call_context.py`, `_masks.py`), running
`call` (`_call_method.py`), building, symbolic calls, input specs and configs.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Self, Unpack

import jax
import numpy as np

from podium import regularizers
from podium._typing import Config, DType, DTypeLike, TensorLike, Tree
from podium.core import (
    DTypePolicy,
    DTypePolicyMap,
    KerasTensor,
    Node,
    Tensor,
    Variable,
    auto_name,
    convert_to_tensor,
    get_dtype_policy,
    is_float_dtype,
    is_symbolic,
    record_call,
    snake_case,
    tree_leaves,
)
from podium.core.internal import (
    TraceLocal,
    VariableScope,
    check_bool,
    context,
    current_remat_scope,
    layer_name_scope,
    override,
    restore_on_error,
    unwrap_result,
    wrap,
)
from podium.layers._building import build_for_arguments, record_build
from podium.layers._call_context import (
    CallSignature,
    convert_arguments,
    inside_call,
    map_shapes,
    resolve_training,
    shapes_of,
)
from podium.layers._call_method import run_call
from podium.layers._input_spec import InputSpec, check_inputs
from podium.layers._layer_config import (
    base_config,
    check_constructor_arguments,
    input_shape_argument,
    layer_from_config,
    recorded_arguments,
)
from podium.layers._masks import (
    accept_mask_names,
    add_mask_arguments,
    attach_masks,
    output_masks,
)
from podium.layers._quantize_method import missing_method_error, record_quantize
from podium.layers._symbolic_call import (
    add_layer_node,
    attach_symbolic_masks,
    trace_masks,
    trace_outputs,
)
from podium.layers._variable_tracker import (
    TRACKED_TYPES,
    TrackedObjects,
    VariableTracker,
    collect_metrics,
    collect_trainable_weights,
    collect_variables,
    flatten_layers,
    seed_states,
    unique_objects,
)
from podium.layers._weight_creation import WeightOptions, bind_weight_arguments, create_weight
from podium.metrics import Mean, Metric
from podium.quantizers import QuantizationConfig
from podium.state import OwnState, keras_order

_NOT_IN_FILES = frozenset({"_inbound_nodes", "_init_arguments", "_tracker"})
_any_loss_added: list[bool] = []  # by any layer of the process


class Layer:
    """A computation with state. Subclass it, create weights in `build`, and compute in `call`.

    Args:
        activity_regularizer: A regularizer of the outputs; its result is added to the losses.
        trainable: Whether the weights are trained.
        dtype: A dtype name or policy, such as "float32" or "mixed_bfloat16".
        autocast: Whether float inputs are cast to the compute dtype.
        name: The name of the layer; by default derived from the class, such as `dense_1`.

    Example:
        >>> class Scale(podium.layers.Layer):
        ...     def build(self, input_shape):
        ...         self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones")
        ...     def call(self, inputs):
        ...         return inputs * self.scale
        >>> layer = Scale()
        >>> layer(np.ones((2, 3), "float32")).shape, len(layer.weights)
        ((2, 3), 1)
    """

    _init_arguments: tuple[tuple[Any, ...], dict[str, Any]]
    _tracker: VariableTracker
    _initialized = False  # whether `Layer.__init__` has run

    _weights_changed_at = 0  # see `_weight_changes.py`
    _is_quantized = False
    _is_quantizing = False  # while `quantize` runs

    # Whether `call` records the layers inside one by one, as functional and Sequential models do.
    _records_layers_inside = False

    # Whether it is built from the start, unless a subclass defines `build`.
    _needs_no_build = False

    # Whether all weights exist after `build`. (A model may wait for its layers.)
    _build_is_final = True

    # Whether files hold it as they hold models.
    _is_savable_alone = False

    # Whether the arguments of a call pass through `_prepare_inputs` first: text, in models.
    _prepares_inputs = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "build" in vars(cls):
            type.__setattr__(cls, "build", record_build(vars(cls)["build"]))
        if inspect.isfunction(vars(cls).get("quantize")):
            type.__setattr__(cls, "quantize", record_quantize(vars(cls)["quantize"]))
        if inspect.isfunction(vars(cls).get("compute_mask")):
            compute_mask = accept_mask_names(vars(cls)["compute_mask"])
            type.__setattr__(cls, "compute_mask", compute_mask)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        layer = super().__new__(cls)
        layer._tracker = VariableTracker()
        layer._init_arguments = (args, kwargs)
        return layer

    def __init__(
        self,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: DTypeLike | DTypePolicy | None = None,
        autocast: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        batch_input_shape = input_shape_argument(kwargs)
        check_constructor_arguments(self, kwargs)
        if name is not None and (not isinstance(name, str) or not name or "/" in name):
            raise ValueError(
                f"name={name!r} was given; a non-empty string without '/' was expected."
            )
        self._name = name or auto_name(snake_case(type(self).__name__))
        self._trainable = check_bool("trainable", trainable, owner=self)
        self._dtype_policy = get_dtype_policy(dtype)
        self.built = self._needs_no_build and type(self).build is Layer.build
        self._loss_values: TraceLocal[tuple[Any, ...]] = TraceLocal(())
        self._initialized = True
        self._remat_scope = current_remat_scope()
        self.autocast = autocast
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.built_shape: Tree = None  # the input shape that `build` received, for messages
        self.input_spec: InputSpec | Sequence[InputSpec | None] | None = None
        self.supports_masking = _is_overridden(self, "compute_mask")
        self.batch_input_shape = batch_input_shape
        self._inbound_nodes: list[Node] = []
        self._call_signature = CallSignature(self.call)
        # Whether `call` takes bare jax.Arrays; not known of a user's layer until it has run once.
        self._takes_arrays: bool | None = (
            False if type(self).__module__.startswith("podium.") else None
        )

    def _check_initialized(self) -> None:
        """Raise if a subclass did not call `super().__init__()`."""
        if not self._initialized:
            raise RuntimeError(
                f"{type(self).__name__} was used before `super().__init__()` ran. Call "
                "`super().__init__()` first in its `__init__`."
            )

    # --- methods to override

    def build(self, input_shape: Any) -> None:
        """Create the weights. Called once, with the shape of the first input."""
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Tree:
        """Compute the outputs from the inputs."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `call` method: define `call(self, inputs)`."
        )

    @accept_mask_names
    def compute_mask(self, inputs: Tree, mask: Tree = None) -> Tree:
        """Return the mask of the outputs; by default the mask of the inputs.

        Args:
            inputs: The inputs.
            mask: Their mask, or masks. Keras 3's name for it, `previous_mask`, is accepted too,
                whatever an override calls it.
        """
        return mask

    # --- configs

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer, without its weights."""
        return self._config_from_arguments(_is_overridden(self, "get_config"))

    def _config_from_arguments(self, common_only: bool) -> Config:
        """Return the arguments that all layers share, and the recorded ones of this class.

        Args:
            common_only: Leave out the recorded arguments: a subclass adds them itself.
        """
        if common_only or type(self).__init__ is Layer.__init__:
            return base_config(self)
        return base_config(self) | recorded_arguments(self)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Create a layer from the result of `get_config`."""
        return layer_from_config(cls, config)

    # --- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Tree:
        """Build the layer if needed, then compute the outputs."""
        self._check_initialized()
        if context.bare_arrays:  # the caller computes with jax.Arrays; this layer need not
            with override(bare_arrays=False):
                return unwrap_result(self(*args, **kwargs))
        if self._prepares_inputs:
            args = self._prepare_inputs(args)
        signature = self._call_signature
        # A `call` without this argument still passes it on to the layers inside.
        training = None if signature.has_training else kwargs.pop("training", None)
        bound = signature.bind(self._name, args, kwargs)
        cast_to = self._cast_inputs_to
        arguments = {name: convert_arguments(value, cast_to) for name, value in bound.items()}
        explicit_training = arguments.get("training", training)
        training = resolve_training(signature, arguments, explicit_training)
        if self.input_spec is not None:
            inputs = arguments.get(signature.first) if signature.first else None
            check_inputs(self, self.input_spec, inputs)
        build_for_arguments(self, arguments)
        if is_symbolic(arguments):
            outputs, masks = self._symbolic_outputs(arguments, training)
            add_layer_node(self, arguments, bound, outputs, explicit_training is not None)
            attach_symbolic_masks(outputs, masks)
            return outputs
        add_mask_arguments(signature, arguments)
        if not self._records_layers_inside and any(tape.recording for tape in context.tapes):
            outputs, masks = record_call(
                self._run,
                (arguments, training),
                {},
                [variable for variable in self.weights if variable.trainable],
                composite=bool(self._own_layers()),
            )
        else:
            outputs, masks = self._run(arguments, training)
        return attach_masks(outputs, masks)

    def _prepare_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the positional arguments of a call in the form in which they are used."""
        return args

    @property
    def _cast_to(self) -> str | None:
        """The dtype to which float inputs and Variables are cast while this layer runs."""
        return self.compute_dtype if self.autocast and is_float_dtype(self.compute_dtype) else None

    @property
    def _cast_inputs_to(self) -> str | None:
        """The dtype to which float arguments are cast."""
        return self._cast_to

    def _run(self, arguments: dict[str, Any], training: bool | None) -> tuple[Tree, Any]:
        """Compute the outputs and their masks, in this layer's context."""
        inside = inside_call(training)
        with (
            restore_on_error(),
            inside as outermost,
            override(autocast_dtype=self._cast_to),
            layer_name_scope(self._name),
        ):
            if outermost:
                self._clear_losses()
            outputs = run_call(self, arguments)
            if self.activity_regularizer is not None:
                self._regularize_activity(self.activity_regularizer, outputs)
            masks = output_masks(self, arguments, outputs)
        return outputs, masks

    def _regularize_activity(self, regularizer: Callable[..., Any], outputs: Tree) -> None:
        for output in tree_leaves(outputs):
            batch_size = output.shape[0] if output.shape else 1
            self.add_loss(regularizer(output) / max(batch_size, 1))  # an empty batch adds 0

    def build_from_config(self, config: Config) -> None:
        """Build the layer with the shapes that `get_build_config` returned."""
        if config and config.get("input_shape") is not None and not self.built:
            self.build(config["input_shape"])

    def get_build_config(self) -> Config | None:
        """Return the shapes that this layer was built with."""
        return {"input_shape": self.built_shape} if self.built_shape is not None else None

    # --- state, for files and checkpoints

    def _own_state(self) -> OwnState:
        """Return the state of this layer, without the layers inside it; see `podium.state`."""
        return OwnState(
            snake_case(type(self).__name__),
            self._own_weights(),
            keras_order(self._state_attributes()),
            seed_states(vars(self), frozenset()),
        )

    def _state_attributes(self) -> dict[str, object]:
        """Return the attributes in which files look for layers, by the names they use."""
        return {name: value for name, value in vars(self).items() if name not in _NOT_IN_FILES}

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Write the weights of this layer, without those of the layers inside it, into a
        dictionary: for a class that decides itself what files hold of it.

        Files in Keras 3's layout (`.keras`, `.weights.h5`) and `.safetensors` call it if a class
        overrides it or `load_own_variables`.

        Args:
            store: The dictionary: names to arrays, by default "0", "1", ...

        Example:
            >>> class Rounded(podium.layers.Dense):
            ...     def save_own_variables(self, store):
            ...         super().save_own_variables(store)
            ...         store["0"] = np.round(store["0"], 2)
            >>> layer, store = Rounded(1, kernel_initializer="ones"), {}
            >>> layer.build((None, 2))
            >>> layer.save_own_variables(store)
            >>> {name: value.tolist() for name, value in store.items()}
            {'0': [[1.0], [1.0]], '1': [0.0]}
        """
        for index, variable in enumerate(self._own_weights()):
            store[str(index)] = variable.numpy()

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Read the weights of this layer from a dictionary; see `save_own_variables`.

        Raises:
            ValueError: The dictionary does not have exactly the weights of the layer.
        """
        variables = self._own_weights()
        names = [str(index) for index in range(len(variables))]
        if set(store) != set(names):
            raise ValueError(
                f"load_own_variables of {self._name!r} ({type(self).__name__}) was given the keys "
                f"{sorted(store)}; {names} were expected, one for each weight. Override it "
                "together with `save_own_variables`, and build the layer before."
            )
        for name, variable in zip(names, variables, strict=True):
            variable.assign(store[name])

    def _has_own_store(self, by_name: bool = False) -> bool:
        """Return whether the layer decides itself what files hold of it.

        Args:
            by_name: Whether the file has weights by their names, not by their numbers.
        """
        return _is_overridden(self, "save_own_variables") or _is_overridden(
            self, "load_own_variables"
        )

    def _build_for_call(self, shapes: Sequence[Tree], inputs: Tree) -> None:
        """Build the layer for the inputs of a call; models need more of them than the shapes.

        Args:
            shapes: The arguments of `build`: the shape of the inputs, or nothing.
            inputs: The inputs.
        """
        self.build(*shapes)

    # --- symbolic calls

    def _symbolic_outputs(
        self, arguments: dict[str, Any], training: bool | None
    ) -> tuple[Tree, list[Any] | None]:
        """Return KerasTensors for the outputs and their masks: outputs that the layer declares,
        else found by tracing.
        """
        outputs = self._declared_outputs(arguments)
        if outputs is None:
            outputs, masks = trace_outputs(self, arguments, training)
        else:
            masks = trace_masks(self, arguments, outputs)
        if outputs is None:
            raise ValueError(
                f"Layer {self._name!r} ({type(self).__name__}) returned None: its `call` must "
                "return the output. Is there a `return` at its end?"
            )
        return outputs, masks

    def _declared_outputs(self, arguments: dict[str, Any]) -> Tree | None:
        """Return the outputs as an overridden method specifies them, or None."""
        if any(not layer.built for layer in self._own_layers()):
            return None  # tracing also builds the layers inside
        args, kwargs = self._call_signature.unbind(
            {name: value for name, value in arguments.items() if name not in ("training", "mask")}
        )
        if _is_overridden(self, "compute_output_spec"):
            return self.compute_output_spec(*args, **kwargs)
        if _is_overridden(self, "compute_output_shape") and len(args) == 1 and not kwargs:
            shapes = self.compute_output_shape(shapes_of(args[0]))
            return map_shapes(lambda shape: KerasTensor(shape, self.compute_dtype), shapes)
        return None

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Tree:
        """Return KerasTensors with the shapes and dtypes of the outputs for symbolic inputs."""
        arguments = self._call_signature.bind(self._name, args, kwargs)
        training = resolve_training(self._call_signature, arguments, arguments.get("training"))
        build_for_arguments(self, arguments)
        outputs, _ = trace_outputs(self, arguments, training)
        return outputs

    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Tree:
        """Return the shape of the outputs for a shape (or a structure of shapes) of the inputs."""
        names = [name.removesuffix("_shape") for name in kwargs]
        symbols = [
            map_shapes(lambda shape: KerasTensor(shape, self.compute_dtype), shapes)
            for shapes in (*args, *kwargs.values())
        ]
        outputs = self.compute_output_spec(
            *symbols[: len(args)], **dict(zip(names, symbols[len(args) :], strict=True))
        )
        return shapes_of(outputs)

    @property
    def input(self) -> Tree:
        """The symbolic input of the first call on symbolic values."""
        node = self._first_node()
        return node.args[0] if len(node.args) == 1 else node.inputs

    @property
    def output(self) -> Tree:
        """The symbolic output of the first call on symbolic values."""
        return self._first_node().outputs

    def _first_node(self) -> Node:
        if not self._inbound_nodes:
            raise AttributeError(
                f"Layer {self._name!r} has no symbolic input or output yet: it has not been called "
                "on an `Input`. Build the model from `podium.Input(...)`, or call the layer on one."
            )
        return self._inbound_nodes[0]

    # --- name and dtypes

    @property
    def name(self) -> str:
        """The name of the layer."""
        return self._name

    @property
    def path(self) -> str:
        """The name of the layer; the paths of its weights start with it."""
        return self._name

    @property
    def dtype_policy(self) -> DTypePolicy:
        """The dtypes of computations and of weights."""
        return self._dtype_policy

    @dtype_policy.setter
    def dtype_policy(self, value: DTypeLike | DTypePolicy | None) -> None:
        policy = get_dtype_policy(value)
        if isinstance(self._dtype_policy, DTypePolicyMap) and not isinstance(
            policy, DTypePolicyMap
        ):
            self._dtype_policy = DTypePolicyMap(
                self._dtype_policy.default_policy,
                {**dict(self._dtype_policy.items()), self._name: policy},
            )
        else:
            self._dtype_policy = policy
        if policy.quantization_mode is not None and self.built and not self._is_quantized:
            self.quantize(policy.quantization_mode)

    @property
    def dtype(self) -> DType:
        """The dtype of the weights."""
        return self._dtype_policy.for_path(self._name).variable_dtype

    @property
    def variable_dtype(self) -> DType:
        """The dtype of the weights."""
        return self._dtype_policy.for_path(self._name).variable_dtype

    @property
    def compute_dtype(self) -> DType:
        """The dtype of computations."""
        return self._dtype_policy.for_path(self._name).compute_dtype

    # --- quantization

    @property
    def quantization_mode(self) -> str | None:
        """How the weights are quantized, such as "int8"; None if they are not."""
        return self._dtype_policy.for_path(self._name).quantization_mode

    def quantize(
        self,
        mode: str | None = None,
        config: QuantizationConfig | None = None,
        type_check: bool = True,
    ) -> None:
        """Replace the weights by quantized ones. Layers that can be quantized override it.

        Args:
            mode: "int8", "int4", "float8", "gptq" or "awq"; None if `config` is given.
            config: How to quantize; by default the standard config of the mode.
            type_check: Whether subclasses of layers that can be quantized are refused, which may
                compute something else with their weights.

        Example:
            >>> layer = podium.layers.Dense(2)
            >>> layer.build((None, 3))
            >>> layer.quantize("int8")
            >>> layer.dtype_policy.name, layer.kernel.dtype
            ('int8_from_float32', 'int8')
        """
        raise missing_method_error(self, "quantize")

    def quantized_build(self, input_shape: Any, mode: str, config: Any = None) -> None:
        """Create quantized weights, for `build` and `quantize`.

        Args:
            input_shape: The shape of the weight that is quantized.
            mode: The quantization mode.
            config: The quantization config, or None.
        """
        raise missing_method_error(self, "quantized_build")

    def quantized_call(self, *args: Any, **kwargs: Any) -> Tree:
        """Compute the outputs with quantized weights: called instead of `call`."""
        method = getattr(self, f"_{self.quantization_mode}_call", None)
        if method is not None:
            return method(*args, **kwargs)
        if self._own_weights():
            raise missing_method_error(self, f"_{self.quantization_mode}_call")
        return self.call(*args, **kwargs)

    # --- weights

    def add_weight(self, *args: Any, **kwargs: Unpack[WeightOptions]) -> Variable:
        """Create a weight that belongs to this layer.

        Arguments without names are in Keras 3's order, which is that of the list below, or, if the
        first one is a name, in Keras 2's: `name, shape, dtype, initializer, regularizer,
        trainable, constraint`.

        Args:
            *args: Arguments without names.
            **kwargs: Arguments by name:

                - shape: The shape of the weight; () by default.
                - initializer: A name, an initializer or a function of `(shape, dtype)`. By default
                  Glorot uniform for float dtypes and zeros for others.
                - dtype: The dtype of the weight, by default the layer's.
                - trainable: Whether the weight is trained.
                - autocast: Whether the weight is cast to the compute dtype when the layer reads it.
                - regularizer: A function of the weight whose result is added to the losses.
                - constraint: A function of the weight that optimizers apply after an update.
                - aggregation: How replicas combine the weight.
                - overwrite_with_gradient: Whether optimizers assign the gradient to the weight.
                - name: The name of the weight.

        Returns:
            The new Variable.

        Example:
            >>> layer = podium.layers.Layer()
            >>> layer.add_weight((3,), "ones", name="scale").numpy()
            array([1., 1., 1.], dtype=float32)
            >>> layer.add_weight("offset", shape=(2,), initializer="zeros").name
            'offset'
        """
        self._check_initialized()
        options = bind_weight_arguments(self, args, kwargs)
        overwrite_with_gradient = options.pop("overwrite_with_gradient")
        variable = create_weight(self, **options)
        variable.overwrite_with_gradient = overwrite_with_gradient
        if not self._trainable and variable.trainable:
            variable.trainable, variable.frozen = False, True
        self._tracker.add_variable(variable)
        return variable

    def __setattr__(self, name: str, value: Any) -> None:
        previous = vars(self).get(name)
        super().__setattr__(name, value)
        if isinstance(value, _TRACKED_TYPES) or isinstance(previous, _TRACKED_TYPES):
            self._tracker.mark_changed()

    def __delattr__(self, name: str) -> None:
        value = vars(self).get(name)
        super().__delattr__(name)
        if isinstance(value, Variable):
            self._tracker.remove_variable(value)
        self._tracker.mark_changed()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, each with a new tracker."""
        return {**vars(self), "_tracker": copy.copy(self._tracker)}

    # --- what it holds

    def _search_attributes(self) -> TrackedObjects:
        """Search the attributes for Variables, sublayers, metrics and seed generators."""
        self._check_initialized()
        return self._tracker.search(vars(self), Layer)

    def _contents(self) -> TrackedObjects:
        """Return what this layer holds directly."""
        flatten_layers(self, recursive=False)
        return self._tracker.contents

    def _own_layers(self) -> list[Layer]:
        """List the layers directly inside this one."""
        return list(self._contents().sublayers)

    def _own_weights(self) -> list[Variable]:
        """List the weights of this layer alone; first those that are or were trainable."""
        variables = self._contents().variables
        return sorted(variables, key=lambda variable: not (variable.trainable or variable.frozen))

    def _owned_metrics(self) -> list[Metric]:
        """List the metrics of this layer and the layers inside it."""
        return collect_metrics(self)

    def _flatten_layers(self, include_self: bool = True, recursive: bool = True) -> list[Layer]:
        """List this layer and the layers inside it, each once, outermost first."""
        return flatten_layers(self, recursive)[0 if include_self else 1 :]

    @property
    def weights(self) -> list[Variable]:
        """All weights, trainable or not, of this layer and the layers inside it."""
        return collect_variables(self, include_seeds=False)

    @property
    def variables(self) -> list[Variable]:
        """All state: weights, states of seed generators, and Variables of metrics."""
        variables = collect_variables(self, include_seeds=True)
        metrics = [variable for metric in self._owned_metrics() for variable in metric.variables]
        return unique_objects([*variables, *metrics])

    @property
    def trainable_weights(self) -> list[Variable]:
        """The weights that training updates: none of a frozen layer, and of what is inside it."""
        return collect_trainable_weights(self)

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The weights that training does not update."""
        trainable = set(map(id, self.trainable_weights))
        return [variable for variable in self.weights if id(variable) not in trainable]

    @property
    def trainable_variables(self) -> list[Variable]:
        """The Variables that training updates, which are the trainable weights."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The other Variables: frozen weights, statistics, seeds, metrics."""
        trainable = set(map(id, self.trainable_weights))
        return [variable for variable in self.variables if id(variable) not in trainable]

    @property
    def trainable(self) -> bool:
        """Whether training updates the weights.

        Setting it sets all layers inside as well, and those that `build` creates later.
        """
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        value = check_bool("trainable", value, owner=self)
        for layer in self._flatten_layers():
            layer._set_own_trainable(value)

    def _set_own_trainable(self, value: bool) -> None:
        """Freeze or unfreeze this layer alone, not the layers inside it."""
        self._trainable = value
        for variable in self._own_weights():
            if not value and variable.trainable:
                variable.trainable, variable.frozen = False, True
            elif value and variable.frozen:
                variable.trainable, variable.frozen = True, False

    def count_params(self) -> int:
        """Return the number of scalars in the weights."""
        if not self.built and not self.weights:
            raise ValueError(
                f"Layer {self._name!r} ({type(self).__name__}) has no weights yet, so they cannot "
                "be counted. Call it on data or build it: `layer.build(input_shape)`."
            )
        return sum(int(np.prod(variable.shape)) for variable in self.weights)

    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """Return copies of all weights as NumPy arrays, in the order of `weights`."""
        return [variable.numpy() for variable in self.weights]

    def set_weights(self, weights: Sequence[TensorLike]) -> None:
        """Replace the values of all weights. Nothing changes unless all of them fit.

        Raises:
            ValueError: If the number of arrays or a shape does not fit.
        """
        variables = self.weights
        if len(weights) != len(variables):
            hint = "" if variables else " It has not been built: call it on data first."
            raise ValueError(
                f"set_weights on {self._name!r} was given {len(weights)} arrays; it has "
                f"{len(variables)} weights.{hint}"
            )
        values = [convert_to_tensor(value) for value in weights]
        for variable, value in zip(variables, values, strict=True):
            variable._check_assignable(value)
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)

    # --- losses and metrics

    def add_loss(self, loss: Any, **_: Any) -> None:
        """Add losses: scalars or arrays computed in `call`, or functions without arguments.

        The values are listed in `losses` until the outermost layer is called again.
        """
        losses = loss if isinstance(loss, (list, tuple)) else [loss]
        values = [value if _is_lazy(value) else _loss_tensor(value) for value in losses]
        self._loss_values.set((*self._loss_values.get(), *values))
        _any_loss_added[:] = [True]

    @property
    def losses(self) -> list[Any]:
        """The losses of this layer and the layers inside it, and the penalties of regularizers."""
        losses: list[Any] = []
        for layer in self._flatten_layers():
            losses.extend(
                value() if _is_lazy(value) else value for value in layer._loss_values.get()
            )
        for variable in self.trainable_weights:
            if variable.regularizer is not None:
                losses.append(variable.regularizer(variable))
        return losses

    def _clear_losses(self) -> None:
        if not _any_loss_added:
            return  # saves most programs an iteration over all layers in every eager call
        for layer in self._flatten_layers():
            if layer._loss_values.get():
                layer._loss_values.set(
                    tuple(value for value in layer._loss_values.get() if _is_lazy(value))
                )

    def add_metric(
        self, value: TensorLike, name: str | None = None, aggregation: str = "mean"
    ) -> None:
        """Track the running mean of a value computed in `call`; it is listed in `metrics`.

        Args:
            value: The value; or the result of a metric, `self.add_metric(self.mean(x))`, which is
                listed itself, under its own name.
            name: The name of the metric.
            aggregation: Accepted for Keras 2's signature.
        """
        source = getattr(value, "metric", None)
        if source is not None:
            name = source.name
        if name is None:
            raise ValueError("add_metric needs a name: `self.add_metric(value, name='accuracy')`.")
        named = [metric for metric in self._contents().metrics if metric.name == name]
        if not named:
            named = [source or Mean(name=name)]
            self._tracker.add_metric(named[0])
        if source is None:  # a metric was updated when it was called
            named[0].update_state(value)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of this layer and the layers inside it."""
        return self._owned_metrics()

    @property
    def metrics_variables(self) -> list[Variable]:
        """The Variables of the metrics."""
        return unique_objects(
            [variable for metric in self._owned_metrics() for variable in metric.variables]
        )

    # --- the pure form

    def stateless_call(
        self,
        trainable_variables: Sequence[TensorLike],
        non_trainable_variables: Sequence[TensorLike],
        *args: Any,
        return_losses: bool = False,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Call the layer as a pure function of its state, for JAX transformations.

        Args:
            trainable_variables: Values for `trainable_variables`, in order.
            non_trainable_variables: Values for `non_trainable_variables`, in order.
            *args: Arguments of the call.
            return_losses: Whether to return the losses as a third result.
            **kwargs: Named arguments of the call.

        Returns:
            `(outputs, new_non_trainable_values)`, followed by the losses if `return_losses`; all as
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
        with override(scope=scope, tapes=(), bare_arrays=False):
            outputs = unwrap_result(self(*args, **kwargs))
            losses = unwrap_result(self.losses) if return_losses else []
        new_values = [scope.read(variable) for variable in pairs[1][0]]
        return (outputs, new_values, losses) if return_losses else (outputs, new_values)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self._name}, built={self.built}>"


_TRACKED_TYPES = (Layer, *TRACKED_TYPES)


def _is_overridden(layer: Layer, method: str) -> bool:
    return getattr(type(layer), method) is not getattr(Layer, method)


def _is_lazy(loss: object) -> bool:
    """Return whether a loss is a function, called each time the losses are read."""
    return callable(loss) and not isinstance(loss, (Tensor, Variable, KerasTensor))


def _loss_tensor(loss: Any) -> Tensor | KerasTensor:
    if isinstance(loss, (Tensor, KerasTensor)):
        return loss
    return wrap(loss) if isinstance(loss, jax.Array) else convert_to_tensor(loss)
