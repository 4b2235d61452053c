"""Model: layers put together, and how they are compiled, trained, evaluated and saved.

It owns the methods that users call and override, and the loop of `fit`. The work is done
elsewhere: data is read in `podium/data`, steps run in `podium/execution`, callbacks are called by
`podium/callbacks`, files are written by `podium/saving`. In this package, `_graph.py` runs
functional models, `compile/` holds what `compile` creates, `training/` and `predict/` the parts of
a run.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from podium._typing import Config, PathLike, SymbolicShape, TensorLike, Tree
from podium.callbacks import Callback, CallbackList, History, StepLogs
from podium.callbacks.internal import running_logs
from podium.core import (
    GradientTape,
    KerasTensor,
    Tensor,
    Variable,
    is_symbolic,
    map_structure,
    unknown_choice,
)
from podium.data import (
    DataHandler,
    StepsPerExecution,
    unpack_x_y_sample_weight,
)
from podium.distribute import (
    DistributedDataset,
    ParameterServerStrategy,
    Strategy,
    get_strategy,
)
from podium.execution import Execution
from podium.execution.internal import CustomExecution, count_steps, run_once, to_execution
from podium.layers import Layer
from podium.layers.internal import count_weight_changes, has_changed_since, map_shapes
from podium.metrics import Metric
from podium.models._graph import Graph, unwrap_single
from podium.models._model_config import graph_config, model_from_graph_config
from podium.models._quantize_model import LayerFilters, quantize_layers
from podium.models._state_tree import assign_state_tree, make_state_tree
from podium.models._summary import print_summary
from podium.models._text_part import TextPart, split_text_part
from podium.models.compile._compile_config import compile_config, compile_from_config
from podium.models.compile._compile_state import (
    CompileState,
    make_compile_state,
    scale_tapes,
    validate_compile,
)
from podium.models.compile._compiled_loss import CompiledLoss
from podium.models.compile._compiled_metrics import CompiledMetrics
from podium.models.compile._output_mapping import layer_names
from podium.models.compile._trainable_state import TrainableState
from podium.models.predict._output_collector import OutputCollector, concatenate_tensors
from podium.models.predict._predict import iterate_outputs, predict_all
from podium.models.training._argument_checks import (
    check_compile,
    check_fit,
    check_keywords,
    check_verbose,
    limit_epochs,
    seconds_of,
    show_keywords,
)
from podium.models.training._input_checks import (
    RUNS,
    BatchCheck,
    add_feature_axis,
    build_from_batch,
    check_batch,
    check_indices_of_embeddings,
    check_labels,
    check_loss_value,
    logs_to_list,
    num_samples,
    warn_nothing_to_train,
)
from podium.models.training._remote_execution import (
    RemoteExecution,
    find_coordinator,
    reads_on_workers,
    run_on_workers,
    worker_data,
)
from podium.models.training._run_batches import evaluate_all
from podium.models.training._run_guard import hold_model
from podium.models.training._run_limits import RunLimits
from podium.models.training._run_telemetry import record_parts, record_run
from podium.models.training._running_logs import RunningLogs
from podium.models.training._stateless_steps import (
    accept_state,
    accept_stateless,
    compute_loss_and_updates,
    takes_training,
)
from podium.models.training._step_counter import StepCounter
from podium.models.training._step_functions import Counters, make_logged_step, make_predict_step
from podium.models.training._text_sources import prepare_source, split_rows
from podium.models.training._training_run import TrainingRun
from podium.models.training._validator import Validator
from podium.models.training._warm_up import warm_up
from podium.optimizers import Optimizer
from podium.quantizers import QuantizationConfig
from podium.saving import LoadReport, export_model, save_model, serialize_keras_object
from podium.saving.internal import read_weights, write_weights
from podium.state import OwnState, keras_order
from podium.telemetry import Telemetry
from podium.telemetry.internal import Recorder, make_telemetry

CallbacksLike: TypeAlias = Callback | CallbackList | Sequence[Any] | None
StepFunction: TypeAlias = Callable[[Iterator[Tree]], Any]

# Keras 2's arguments for a `PyDataset`.
_WORKER_ARGUMENTS = ("max_queue_size", "workers", "use_multiprocessing")


class Model(Layer):
    """A network of layers that can be trained.

    There are three ways to create one: from symbolic inputs and outputs, as a `Sequential` stack,
    or as a subclass with its own `call`. All three train the same way: `compile`, then `fit`. To
    change what happens with a batch, override `train_step`: plain Python with a `GradientTape`,
    compiled to one XLA program.

    Args:
        inputs: Symbolic values from `Input`: one, or a list or dictionary of them.
        outputs: What layers returned for them, in any structure.
        *args: No other positional arguments are accepted.
        **kwargs: The arguments of `Layer`, such as `name` and `trainable`.

    Attributes:
        stop_training: Set it to True, for example in a callback, and `fit` stops after the current
            step.
        history: The `History` of the last `fit`.
        telemetry: The measurements of the latest run.
        train_function: What `make_train_function` returned; None until it is needed.
        test_function: What `make_test_function` returned.
        predict_function: What `make_predict_function` returned.
        train_tf_function: The same as `train_function`; None if steps run eagerly.

    Example:
        >>> x = podium.Input(shape=(8,))
        >>> h = podium.layers.Dense(4, activation="relu")(x)
        >>> model = podium.Model(x, podium.layers.Dense(1)(h + 1.0))
        >>> model.compile(optimizer="sgd", loss="mse")
        >>> history = model.fit(np.ones((64, 8)), np.zeros((64, 1)), epochs=3, verbose=0)
        >>> len(history.history["loss"]), history.history["loss"][2] < history.history["loss"][0]
        (3, True)
        >>> class Twice(podium.Model):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.dense = podium.layers.Dense(1)
        ...     def call(self, inputs):
        ...         return 2.0 * self.dense(inputs)
        >>> Twice()(np.ones((2, 8), "float32")).shape
        (2, 1)
    """

    # Read by `make_*_function`s written for Keras 2.13 and later.
    autotune_steps_per_execution = False
    distribute_reduction_method = "auto"
    _pss_evaluation_shards = 0

    def __init__(self, inputs: Tree = None, outputs: Tree = None, *args: Any, **kwargs: Any):
        if args:
            raise TypeError(
                f"Model takes `inputs` and `outputs`, then named arguments; {len(args)} more "
                "were given."
            )
        if (inputs is None) != (outputs is None):
            missing = "inputs" if inputs is None else "outputs"
            raise ValueError(
                f"Model was given no `{missing}`; give both `inputs` and `outputs`, or neither "
                "in a subclass."
            )
        super().__init__(**kwargs)
        self.supports_masking = type(self).compute_mask is not Model.compute_mask
        self._graph: Graph | None = None
        self._graph_layers: list[Layer] = []
        self._symbolic_losses: list[KerasTensor] = []
        self._symbols_to_build: Tree = None  # the inputs of the call that builds the model
        self._text_part: TextPart | None = None  # what runs on the host
        self._loss_graph: Graph | None = None  # with the symbolic losses as further outputs
        self.stop_training = False
        self.history: History | None = None
        self._num_weight_changes = count_weight_changes()  # when steps were compiled
        self.train_function: StepFunction | None = None
        self.train_tf_function: StepFunction | None = None
        self.test_function: StepFunction | None = None
        self.predict_function: StepFunction | None = None
        self._compile_state = CompileState()
        self._distribute_strategy = get_strategy()
        self._cluster_coordinator: Any = None
        self._train_logs = RunningLogs("train_step")
        self._test_logs = RunningLogs("test_step")
        self._counters = Counters()
        self._telemetry: Telemetry | Recorder | None = None  # of the latest run
        if inputs is not None:
            self._use_graph(Graph(inputs, outputs, self.name))

    def _use_graph(self, graph: Graph) -> None:
        self._graph = graph
        self._graph_layers = graph.layers
        self._use_text_part(split_text_part(graph, self.name))
        self.built = True
        # Each layer is an entry of its own on a tape, so that outputs inside the graph can be
        # sources of gradients.
        self._records_layers_inside = self._records_layers_inside or type(self).call is Model.call

    def _use_text_part(self, text_part: TextPart | None) -> None:
        self._text_part = text_part
        self._prepares_inputs = text_part is not None

    def _prepare_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of a call with the results of the text part for the inputs."""
        if self._text_part is None or not args:
            return args
        return (self._text_part.prepare(args[0]), *args[1:])

    def _symbolic_outputs(
        self, arguments: dict[str, Any], training: bool | None
    ) -> tuple[Tree, list[Any] | None]:
        """Return the symbolic outputs of a call; a graph with text cannot be traced for them."""
        if self._text_part is None or self._graph is None:
            return super()._symbolic_outputs(arguments, training)
        outputs = self._graph.run(arguments[self._call_signature.first or "inputs"])
        return map_structure(lambda output: KerasTensor(output.shape, output.dtype), outputs), None

    if TYPE_CHECKING:
        # A subclass has the arguments it needs; checkers accept any override of this signature.
        def call(self, *args: Any, **kwargs: Any) -> Any: ...

    else:

        def call(self, inputs, training=None, mask=None):
            """Compute the outputs. Subclasses override it; a functional model runs its graph."""
            return self._run_graph(inputs, mask)

    @property
    def _cast_inputs_to(self) -> str | None:
        """The dtype to which float inputs are cast; a graph casts each one to that of its Input."""
        return None if self._runs_graph() else super()._cast_inputs_to

    def _runs_graph(self) -> bool:
        """Return whether a call runs the graph, and not a `call` of a subclass."""
        return self._graph is not None and type(self).call is Model.call

    def compute_mask(self, inputs: Tree, mask: Tree = None) -> Tree:
        """Return the masks of the outputs: those that the layers of a graph give them, else the
        masks of the inputs.
        """
        if not self._runs_layers():
            return super().compute_mask(inputs, mask)
        return map_structure(lambda output: output._keras_mask, self(inputs, mask=mask))

    def _runs_layers(self) -> bool:
        """Return whether the layers of the model, and nothing else, compute its outputs."""
        return self._runs_graph()

    def _run_graph(self, inputs: Tree, mask: Tree = None) -> Tree:
        if self._graph is None:
            raise NotImplementedError(
                f"{type(self).__name__} has no `call` method and was not created from `inputs` and "
                "`outputs`. Define `call(self, inputs)`."
            )
        graph = self._graph if self._loss_graph is None else self._loss_graph
        if self._text_part is not None and not is_symbolic(inputs):
            graph = self._text_part.numeric
        if self._loss_graph is None:
            return graph.run(inputs, mask)
        outputs, losses = graph.run(inputs, mask)
        super().add_loss(losses)
        return outputs

    def add_loss(self, loss: Tree, **options: Any) -> None:
        """Add to the losses; a functional model also accepts a symbolic value of its graph, which
        is computed in every call.
        """
        values = loss if isinstance(loss, (list, tuple)) else [loss]
        symbols = [value for value in values if isinstance(value, KerasTensor)]
        if symbols and self._graph is None:
            raise TypeError(
                f"add_loss on {self.name!r} was given a symbolic value, and the model has no graph "
                "that could compute it. Call `add_loss` with the value inside `call`."
            )
        if symbols:
            assert self._graph is not None
            self._symbolic_losses += symbols
            self._loss_graph = Graph(
                self._graph.inputs, [self._graph.result, self._symbolic_losses], self.name
            )
            self._use_text_part(split_text_part(self._loss_graph, self.name))
        super().add_loss(
            [value for value in values if not isinstance(value, KerasTensor)], **options
        )

    def build(self, input_shape: Any = None) -> None:
        """Create all weights for inputs of this shape, by a call on symbolic values."""
        if self._graph is None and input_shape is not None and type(self).call is not Model.call:
            symbols = self._symbols_to_build
            if symbols is None:
                symbols = map_shapes(
                    lambda shape: KerasTensor(shape, self.compute_dtype), input_shape
                )
            self.built = True  # the call below builds the layers inside
            try:
                self.compute_output_spec(symbols)
            except BaseException:
                self.built = False
                raise
            self.built_shape = input_shape
        self.built = True

    def _build_for_call(self, shapes: Sequence[Tree], inputs: Tree) -> None:
        """Build the model for inputs of these dtypes too: `call` may need ints."""
        self._symbols_to_build = _symbols_like(inputs, shapes[0]) if shapes else None
        try:
            self.build(*shapes)
        finally:
            self._symbols_to_build = None

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Tree = None,
        metrics: Tree = None,
        loss_weights: Tree = None,
        weighted_metrics: Tree = None,
        run_eagerly: bool | None = None,
        steps_per_execution: int | str | None = "auto",
        jit_compile: bool | str | None = "auto",
        auto_scale_loss: bool = True,
        log_reductions: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Set how the model is trained. Nothing is computed yet.

        Which layers are trainable is fixed here: compile again after a change of `trainable`.

        Args:
            optimizer: A name, an Optimizer, or any optax transformation.
            loss: A name, a function `(y_true, y_pred)` or a Loss, for all outputs; or a list or
                dictionary of them, one per output. None if `train_step` or `add_loss` do it all.
            metrics: Names, functions or Metrics: a list for all outputs, or a list of lists or
                dictionary per output.
            loss_weights: The weight of each output's loss: a list or dictionary of numbers.
            weighted_metrics: Like `metrics`, for those that take sample weights into account.
            run_eagerly: Run steps as plain Python, for debugging.
            steps_per_execution: The number of steps that one compiled call runs. Batch hooks of
                callbacks are called once per call. "auto" fuses quick steps as long as that pays
                off and no callback needs single batches; results are the same.
            jit_compile: Accepted for Keras's signature; steps are always compiled by XLA unless
                `run_eagerly`.
            auto_scale_loss: Whether to wrap the optimizer of a model whose dtype policy is
                "mixed_float16" in a `LossScaleOptimizer`, without which small gradients become 0.
            log_reductions: How logs are reduced to the value of an epoch, by the names that steps
                return: "mean" (of the samples, the default), "sum", "min", "max" or "last", of the
                values of the batches. Where `strategy.run` runs a step, also over replicas: "mean",
                "sum", "min", "max", "first" or "concat". A name that both have is used for both;
                `{"over_epoch": "max", "over_replicas": "sum"}` chooses each. It applies to
                validation too. A step can choose itself, with `podium.metrics.LogValue`.
            **kwargs: Nothing else is accepted, except Keras 2's `pss_evaluation_shards`.

        Raises:
            ValueError: A name is unknown, or an argument does not match the outputs.

        Example:
            >>> model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(1)])
            >>> model.compile(optimizer="adm")
            Traceback (most recent call last):
            ValueError: Unknown optimizer 'adm'. Did you mean 'adam'? Choices: ...
        """
        check_keywords(
            Model.compile,
            kwargs,
            allowed=("pss_evaluation_shards", "from_serialized"),
        )
        self._check_initialized()
        self._validate_compile(optimizer, [metrics, weighted_metrics])
        self._compile_state = make_compile_state(
            self,
            optimizer,
            loss,
            metrics,
            loss_weights,
            weighted_metrics,
            run_eagerly,
            steps_per_execution,
            jit_compile,
            auto_scale_loss,
            log_reductions,
        )
        reductions = self._compile_state.log_reductions
        self._train_logs = RunningLogs("train_step", reductions)
        self._test_logs = RunningLogs("test_step", reductions)
        self._clear_functions()

    def _validate_compile(self, optimizer: Any, metrics: Any, **kwargs: Any) -> None:
        """Raise for an optimizer of TensorFlow 1, and for parts made in another scope than the
        model's; Keras 2's name, which subclasses extend.
        """
        validate_compile(self, optimizer, metrics)

    def _clear_functions(self) -> None:
        self.train_function = self.test_function = self.predict_function = None
        self.train_tf_function = None

    # --- training, evaluation, prediction

    @show_keywords(*_WORKER_ARGUMENTS)
    def fit(
        self,
        x: Tree = None,
        y: Tree = None,
        batch_size: int | None = None,
        epochs: int | None = None,
        verbose: int | str = "auto",
        callbacks: CallbacksLike = None,
        validation_split: float = 0.0,
        validation_data: Tree = None,
        shuffle: bool | str = True,
        class_weight: Mapping[Any, Any] | None = None,
        sample_weight: Tree = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int | str | Collection[int] = 1,
        *,
        max_steps: int | None = None,
        max_time: float | datetime.timedelta | str | Mapping[str, float] | None = None,
        **kwargs: Any,
    ) -> History:
        """Train for a number of epochs, of steps, or for a time.

        After an exception or an interrupt the model holds the last completed step, and `history`
        what was logged.

        Args:
            x: Arrays in any nesting (or a generator, an iterator or a Dataset that yields batches).
                Under a ParameterServerStrategy also a function that makes the dataset on each
                worker; it may take an `InputContext`.
            y: Targets, in the structure of the outputs; not with a generator or Dataset.
            batch_size: Samples per step; 32 by default. Not with a generator or Dataset.
            epochs: The epoch to stop before, counted from 0. By default 1; with `max_steps` or
                `max_time` there is no limit.
            verbose: 0 silent, 1 a progress bar, 2 a line per epoch; "auto" means 1.
            callbacks: A callback or a list of them.
            validation_split: The fraction of the arrays, from their end, that is used for
                validation.
            validation_data: What the model is evaluated on after an epoch: `(x, y)`, `(x, y,
                sample_weight)`, or a source of batches.
            shuffle: Shuffle arrays before each epoch; "batch" shuffles the order of batches.
            class_weight: A weight per class: a dictionary, or a dictionary of those by output name.
            sample_weight: A weight per sample, in the structure of `y`.
            initial_epoch: The epoch to start from.
            steps_per_epoch: Batches per epoch; required for endless data.
            validation_steps: Batches per validation.
            validation_batch_size: Samples per step of validation.
            validation_freq: The number of epochs between validations, or a collection of epochs
                (counted from 1), or a number of steps: `"100 steps"`.
            max_steps: The number of steps after which to stop, counted over all epochs, and over
                all processes of a run that is resumed. The epoch that it ends is validated and
                logged like any other.
            max_time: The time after which to stop: seconds, a `datetime.timedelta`, a text
                "days:hours:minutes:seconds" or a dictionary such as `{"hours": 12}`. It is
                checked after each execution.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a
                `PyDataset`.

        Returns:
            A `History`: its `history` holds the values of every epoch.

        Raises:
            RuntimeError: The model is not compiled, is being fitted already, or the call is inside
                a compiled function.
            ValueError: An argument is wrong or the data do not match the model; nothing has been
                trained in that case.

        Example:
            >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
            >>> model.compile("sgd", "mse")
            >>> x, y = np.ones((40, 1)), np.zeros((40, 1))
            >>> history = model.fit(x, y, validation_split=0.2, verbose=0)
            >>> sorted(history.history)
            ['loss', 'val_loss']
        """
        check_keywords(Model.fit, kwargs, allowed=_WORKER_ARGUMENTS)
        check_fit(
            epochs,
            initial_epoch,
            verbose,
            validation_split,
            validation_data,
            validation_freq,
            max_steps,
        )
        max_seconds = seconds_of("max_time", max_time)
        if epochs is None and max_steps is None and max_seconds is None:
            epochs = 1
        epochs = limit_epochs(epochs)
        with record_run(self, "fit") as recorder, hold_model(self, "fit"):
            if validation_split:
                (x, y, sample_weight), validation_data = split_rows(
                    self, (x, y, sample_weight), validation_split
                )
            worker_iterator = None
            if reads_on_workers(self.distribute_strategy, x):
                x, worker_iterator = worker_data(self.distribute_strategy, x, steps_per_epoch)
            data = self._make_data(
                "fit",
                x,
                y,
                sample_weight,
                batch_size,
                steps_per_epoch,
                initial_epoch=initial_epoch,
                epochs=epochs,
                shuffle=shuffle,
                class_weight=class_weight,
                workers=kwargs,
                max_steps=sys.maxsize if max_steps is None and max_seconds else max_steps,
                is_checked=worker_iterator is None,
            )
            validator = Validator(
                self,
                validation_data,
                validation_steps,
                validation_batch_size,
                validation_freq,
                training_batch_size=batch_size,
            )
            callback_list = CallbackList(
                callbacks,
                add_history=True,
                add_progbar=verbose != 0,
                model=self,
                verbose=verbose,
                epochs=data.last_epoch if epochs is None else epochs,
                steps=data.inferred_steps,
            )
            limits = RunLimits(
                max_steps, max_seconds, callback_list.steps_between, self.distribute_strategy
            )
            self._cluster_coordinator = find_coordinator(self.distribute_strategy)
            execution = to_execution(self.make_train_function(), self._train_logs.collect_execution)
            execution = run_on_workers(execution, self.distribute_strategy, worker_iterator)
            self.stop_training = False
            self._train_counter.clear()
            with TrainingRun(self, execution, data, validator, callback_list, limits) as run:
                callback_list.on_train_begin()
                logs = run.resume()
                for epoch, iterator in data.enumerate_epochs():
                    values = run.begin_epoch(epoch)
                    with data.catch_stop_iteration():
                        for step in data.steps():
                            callback_list.on_train_batch_begin(step)
                            values = execution.run(
                                iterator, data.execution_steps, data.steps_per_execution, recorder
                            )
                            end_step = data.record_steps(count_steps(values))
                            callback_list.on_train_batch_end(end_step, values)
                            run.after_steps(values, end_step - step + 1)
                            if self.stop_training:
                                break
                    if values is None:  # the data ended before a step of this epoch
                        break
                    logs = run.epoch_logs(epoch, values)
                    callback_list.on_epoch_end(epoch, logs)
                    run.after_epoch(logs)
                    if self.stop_training:
                        break
                self._finalize_optimizer()
                history = cast(History, callback_list.history)
                history.stop_reason = run.stop_reason
                callback_list.on_train_end(logs)
            return history

    @show_keywords(*_WORKER_ARGUMENTS)
    def evaluate(
        self,
        x: Tree = None,
        y: Tree = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Tree = None,
        steps: int | None = None,
        callbacks: CallbacksLike = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> float | list[float] | dict[str, Any]:
        """Return the loss and the metrics on data, without training.

        Args:
            x: Arrays in any nesting, or a source of batches.
            y: Targets; not with a generator or Dataset.
            batch_size: Samples per step; 32 by default.
            verbose: 0 silent, 1 a progress bar, 2 a line; "auto" means 1.
            sample_weight: A weight per sample.
            steps: The number of batches; all by default.
            callbacks: A callback or a list of them.
            return_dict: Return a dictionary instead of a list.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a
                `PyDataset`.

        Returns:
            The loss, or a list `[loss, metric, ...]` of floats if there are metrics, or a
            dictionary by name.

        Example:
            >>> dense = podium.layers.Dense(1, kernel_initializer="ones")
            >>> model = podium.Sequential([podium.Input((1,)), dense])
            >>> model.compile(loss="mse", metrics=["mae"])
            >>> model.evaluate(np.ones((3, 1)), np.zeros((3, 1)), verbose=0)
            [1.0, 1.0]
        """
        check_keywords(Model.evaluate, kwargs, allowed=_WORKER_ARGUMENTS)
        check_verbose(verbose)
        with record_run(self, "evaluate"), hold_model(self, "evaluate"):
            data = self._make_data(
                "evaluate", x, y, sample_weight, batch_size, steps, workers=kwargs
            )
            logs = evaluate_all(self, data, self._make_callbacks(callbacks, verbose, data))
            return logs if return_dict else logs_to_list(logs, self.metrics_names)

    @show_keywords(*_WORKER_ARGUMENTS)
    def predict(
        self,
        x: Tree = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: CallbacksLike = None,
        out: Tree = None,
        **kwargs: Any,
    ) -> Tree:
        """Return the outputs for all of the data, as NumPy arrays.

        They are in memory once. If they would not fit, a warning is given before the first batch is
        computed: with `out` they are written to a file as they are computed, `predict_iter` returns
        them batch by batch.

        Args:
            x: Arrays in any nesting, or a source of batches (targets in it are ignored).
            batch_size: Samples per step; 32 by default.
            verbose: 0 silent, 1 a progress bar, 2 a line; "auto" means 1.
            steps: The number of batches; all by default.
            callbacks: A callback or a list of them.
            out: What to fill instead of new arrays: an array, an np.memmap, a dataset of h5py or
                zarr, anything with a `shape` and a `dtype` that supports `out[a:b] = rows`; one for
                each output, in the structure of the outputs. It needs at least as many rows as
                there are samples, and a dtype that holds the outputs without loss.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a
                `PyDataset`.

        Returns:
            NumPy arrays in the structure of the model's outputs, with one row per sample; or
            `out`.

        Raises:
            ValueError: The data do not match the model, or `out` does not match the outputs;
                nothing has been computed in that case.

        Example:
            >>> dense = podium.layers.Dense(1, kernel_initializer="ones")
            >>> model = podium.Sequential([podium.Input((1,)), dense])
            >>> model.predict(np.arange(3.0).reshape(3, 1), verbose=0).ravel()
            array([0., 1., 2.], dtype=float32)
            >>> import tempfile
            >>> with tempfile.NamedTemporaryFile() as file:
            ...     rows = np.memmap(file, "float32", shape=(3, 1))
            ...     float(model.predict(np.arange(3.0).reshape(3, 1), verbose=0, out=rows).sum())
            3.0
        """
        check_keywords(Model.predict, kwargs, allowed=_WORKER_ARGUMENTS)
        check_verbose(verbose)
        with record_run(self, "predict"), hold_model(self, "predict"):
            data = self._make_data("predict", x, batch_size=batch_size, steps=steps, workers=kwargs)
            callback_list = self._make_callbacks(callbacks, verbose, data)
            execution = to_execution(self.make_predict_function())
            self._predict_counter.clear()
            return predict_all(self, execution, data, callback_list, out)

    @property
    def telemetry(self) -> Telemetry | None:
        """The measurements of the latest `fit`, `evaluate`, `predict` or `predict_iter`, even if an
        error ended it, or those so far while it runs; None before the first.

        Example:
            >>> model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
            >>> outputs = model.predict(np.ones((64, 2)), verbose=0)
            >>> model.telemetry.kind, model.telemetry.samples
            ('predict', 64)
        """
        latest = self._telemetry
        return make_telemetry(latest) if isinstance(latest, Recorder) else latest

    @show_keywords(*_WORKER_ARGUMENTS)
    def predict_iter(
        self,
        x: Tree = None,
        batch_size: int | None = None,
        steps: int | None = None,
        callbacks: CallbacksLike = None,
        verbose: int | str = 0,
        **kwargs: Any,
    ) -> Iterator[Tree]:
        """Return a generator of the outputs batch by batch, for data that do not fit in memory or
        are endless.

        Nothing is kept: memory does not grow with the data. A batch is computed when it is
        requested, together with those of the same execution (`steps_per_execution`). The data are
        closed with the generator: when it is exhausted, closed (`contextlib.closing`), or dropped.
        The model may be used, and even trained, in between.

        Args:
            x: Arrays in any nesting, or a source of batches (targets in it are ignored), which may
                be endless.
            batch_size: Samples per step; 32 by default.
            steps: The number of batches; all by default.
            callbacks: A callback or a list of them.
            verbose: 0 silent, 1 a progress bar, 2 a line; "auto" means 1.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a
                `PyDataset`.

        Returns:
            A generator of NumPy arrays in the structure of the model's outputs.

        Raises:
            ValueError: The data do not match the model. It is raised immediately, not with the
                first batch.

        Example:
            >>> dense = podium.layers.Dense(1, kernel_initializer="ones")
            >>> model = podium.Sequential([podium.Input((1,)), dense])
            >>> [outputs.shape for outputs in model.predict_iter(np.ones((70, 1)))]
            [(32, 1), (32, 1), (6, 1)]
            >>> endless = podium.data.Dataset.range(4).batch(2).repeat()
            >>> for outputs in model.predict_iter(endless):
            ...     if outputs.max() == 3:
            ...         break
            >>> outputs.ravel()
            array([2., 3.], dtype=float32)
        """
        check_keywords(Model.predict_iter, kwargs, allowed=_WORKER_ARGUMENTS)
        check_verbose(verbose)
        recording = record_parts(self, "predict_iter")
        with recording.running(), hold_model(self, "predict_iter"):
            execution = to_execution(self.make_predict_function())
            # Other runs may use `_steps_per_execution` while this one is suspended.
            shared = isinstance(execution, CustomExecution)
            steps_per_execution = None if shared else StepsPerExecution(self.steps_per_execution)
            data = self._make_data(
                "predict_iter",
                x,
                None,
                None,
                batch_size,
                steps,
                steps_per_execution,
                workers=kwargs,
            )
            callback_list = self._make_callbacks(callbacks, verbose, data)
            self._predict_counter.clear()
            return iterate_outputs(self, execution, data, callback_list, recording)

    def train_on_batch(
        self,
        x: Tree,
        y: Tree = None,
        sample_weight: Tree = None,
        class_weight: Mapping[Any, Any] | None = None,
        reset_metrics: bool = True,
        return_dict: bool = False,
    ) -> float | list[float] | dict[str, Any]:
        """Run one training step on one batch.

        Args:
            x: The batch's inputs.
            y: Its targets.
            sample_weight: A weight per sample.
            class_weight: A weight per class.
            reset_metrics: Whether the values are of this batch alone; with False they continue
                those of the previous call.
            return_dict: Return a dictionary instead of a list.

        Returns:
            The loss, or a list `[loss, metric, ...]`, or a dictionary.

        Example:
            >>> dense = podium.layers.Dense(1, kernel_initializer="ones")
            >>> model = podium.Sequential([podium.Input((1,)), dense])
            >>> model.compile(podium.optimizers.SGD(0.5), "mse")
            >>> [model.train_on_batch(np.ones((2, 1)), np.zeros((2, 1))) for _ in range(2)]
            [1.0, 1.0]
        """
        with hold_model(self, "train_on_batch"):
            batch = self._make_data(
                "train_on_batch", x, y, sample_weight, class_weight=class_weight
            )
            return self._run_on_batch(
                self.make_train_function(),
                batch,
                reset_metrics,
                return_dict,
                self._train_logs.collect_execution,
            )

    def test_on_batch(
        self,
        x: Tree,
        y: Tree = None,
        sample_weight: Tree = None,
        reset_metrics: bool = True,
        return_dict: bool = False,
    ) -> float | list[float] | dict[str, Any]:
        """Return the loss and the metrics on one batch, without training.

        Args:
            x: The batch's inputs.
            y: Its targets.
            sample_weight: A weight per sample.
            reset_metrics: Whether the values are of this batch alone.
            return_dict: Return a dictionary instead of a list.
        """
        with hold_model(self, "test_on_batch"):
            batch = self._make_data("test_on_batch", x, y, sample_weight)
            return self._run_on_batch(
                self.make_test_function(),
                batch,
                reset_metrics,
                return_dict,
                self._test_logs.collect_execution,
            )

    def predict_on_batch(self, x: Tree) -> Tree:
        """Return the outputs for one batch, as NumPy arrays.

        Args:
            x: The batch's inputs.
        """
        with hold_model(self, "predict_on_batch"):
            outputs = OutputCollector()
            for _, iterator in self._make_data("predict_on_batch", x).enumerate_epochs():
                outputs.add(run_once(self.make_predict_function(), iterator))
            return outputs.result()

    def warm_up(
        self,
        x: Tree,
        y: Tree = None,
        sample_weight: Tree = None,
        batch_size: int | None = None,
        kinds: str | Sequence[str] = ("train", "test", "predict"),
    ) -> dict[str, float]:
        """Compile in advance what `fit`, `evaluate` and `predict` will run, so that their first
        step starts immediately.

        Nothing is trained: weights, the optimizer, metrics, counters and seeds do not change. A
        model that has no weights yet is built, as by its first batch. Overridden steps are compiled
        too; a function that an overridden `make_train_function` returns is not.

        Args:
            x: What `fit` will receive: arrays, or a Dataset, of which one batch is read. Or a
                `TensorSpec` for each input: `TensorSpec((None, 8))`, where None is the
                batch size.
            y: Targets, or their TensorSpecs; not with a Dataset.
            sample_weight: Weights, or their TensorSpecs, if `fit` will receive them.
            batch_size: Samples per step; 32 by default. The program for a smaller last batch of
                arrays is compiled too.
            kinds: Which steps: "train", "test", "predict" or several of them.

        Returns:
            The seconds that each kind took to compile.

        Example:
            >>> model = podium.Sequential([podium.Input((8,)), podium.layers.Dense(1)])
            >>> model.compile("adam", "mse")
            >>> x, y = podium.TensorSpec((None, 8)), podium.TensorSpec((None, 1))
            >>> seconds = model.warm_up(x, y, kinds="train")
            >>> model.train_function.trace_count
            1
            >>> _ = model.fit(np.ones((64, 8)), np.zeros((64, 1)), verbose=0)
            >>> model.train_function.trace_count
            1
        """
        return warm_up(self, x, y, sample_weight, batch_size, kinds)

    # --- steps, to override

    @accept_state("train")
    def train_step(self, data: Tree) -> dict[str, Any]:
        """Train on one batch: the forward pass, the loss, the gradients, the update and the
        metrics.

        Override it to train differently. It is compiled; keep what must change in Variables. An
        override in Keras 3's form for JAX, `train_step(self, state, data)`, works too: it receives
        the values of `(trainable_variables, non_trainable_variables, optimizer.variables,
        metrics_variables)` and returns `(logs, new_state)`, and so does `super().train_step(state,
        data)` in it.

        Args:
            data: What the data source yields: `(x, y)` for arrays, `(x, y, sample_weight)` with
                weights, the elements of a Dataset as they are.

        Returns:
            The logs, a dictionary from names to values. A metric's `result()` is reported as it is;
            any other value is averaged over the epoch, unless it is a `metrics.LogValue` that says
            otherwise.
        """
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        with GradientTape() as tape:
            y_pred = self(add_feature_axis(self, x), training=True)
            loss = self.compute_loss(x, y, y_pred, sample_weight)
        check_loss_value(self, loss, tape)
        if self.trainable_variables:
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
        else:
            warn_nothing_to_train(self)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    @accept_state("test")
    def test_step(self, data: Tree) -> dict[str, Any]:
        """Evaluate one batch. Override it to evaluate differently; see `train_step`."""
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        y_pred = self(add_feature_axis(self, x), training=False)
        if takes_training(self.compute_loss):
            self.compute_loss(x, y, y_pred, sample_weight, training=False)
        else:
            self.compute_loss(x, y, y_pred, sample_weight)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def eval_step(self, data: Tree) -> dict[str, Any]:
        """Evaluate one batch: another name of `test_step`, and overridable like it."""
        return self.test_step(data)

    @accept_state("predict")
    def predict_step(self, data: Tree) -> Tree:
        """Return the outputs for one batch. Override it to predict differently."""
        x, _, _ = unpack_x_y_sample_weight(data)
        return self(add_feature_axis(self, x), training=False)

    def compute_loss(
        self,
        x: Tree = None,
        y: Tree = None,
        y_pred: Tree = None,
        sample_weight: Tree = None,
        training: bool = True,
    ) -> Tensor:
        """Return the total loss of a batch: that passed to `compile`, and those of layers and
        regularizers.

        Override it to compute the loss differently. Calling `compiled_loss` updates the running
        mean named `loss`.

        Args:
            x: The inputs; not used here, for methods that override this one.
            y: The targets.
            y_pred: The outputs.
            sample_weight: A weight per sample.
            training: Whether the loss is for training.
        """
        compiled_loss = self._compile_state.compiled_loss
        if compiled_loss is None:
            raise RuntimeError(
                "`compute_loss` needs a compiled model. Use `model.compile(optimizer, loss)`."
            )
        return compiled_loss(y, y_pred, sample_weight, regularization_losses=self.losses)

    def compute_loss_and_updates(
        self,
        trainable_variables: Sequence[TensorLike],
        non_trainable_variables: Sequence[TensorLike],
        metrics_variables: Sequence[TensorLike],
        x: Tree,
        y: Tree,
        sample_weight: Tree = None,
        training: bool = False,
        optimizer_variables: Sequence[TensorLike] | None = None,
    ) -> tuple[Any, tuple[Any, Any, list[Any], list[Any]]]:
        """Return the loss of a batch as a function of the values of all Variables, for
        `jax.value_and_grad(..., has_aux=True)` in a `train_step(self, state, data)`.

        Args:
            trainable_variables: Values for `trainable_variables`, in order.
            non_trainable_variables: Values for `non_trainable_variables`.
            metrics_variables: Values for `metrics_variables`.
            x: The inputs.
            y: The targets.
            sample_weight: A weight per sample.
            training: Whether to run layers as in training.
            optimizer_variables: Values for `optimizer.variables`, with which the loss is scaled.

        Returns:
            `(loss, (unscaled_loss, y_pred, non_trainable_variables, metrics_variables))`, where
            the running mean of the loss is updated already.
        """
        state = (trainable_variables, non_trainable_variables, metrics_variables)
        return compute_loss_and_updates(
            self, state, x, y, sample_weight, training, optimizer_variables
        )

    def get_state_tree(self, value_format: str = "backend_tensor") -> dict[str, Any]:
        """Return the values of all Variables as nested dictionaries, by the parts of their paths.

        Args:
            value_format: "backend_tensor" for arrays of JAX, "numpy_array" for NumPy's.

        Returns:
            A dictionary with the keys "trainable_variables", "non_trainable_variables",
            "optimizer_variables" and "metrics_variables".

        Example:
            >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2, name="out")])
            >>> tree = model.get_state_tree("numpy_array")["trainable_variables"]
            >>> tree["out"]["kernel"].shape
            (3, 2)
            >>> model.set_state_tree({"trainable_variables": {"out": {"bias": [1.0, 2.0]}}})
            >>> model.layers[0].bias.numpy()
            array([1., 2.], dtype=float32)
        """
        return make_state_tree(self, value_format)

    def set_state_tree(self, state_tree: Mapping[str, Any]) -> None:
        """Assign values that `get_state_tree` returned; Variables that are not named keep theirs.

        Args:
            state_tree: Nested dictionaries, in whole or in part.

        Raises:
            ValueError: A key or a path does not exist; nothing is assigned then.
        """
        assign_state_tree(self, state_tree)

    def compute_metrics(
        self, x: Tree, y: Tree, y_pred: Tree, sample_weight: Tree = None
    ) -> dict[str, Any]:
        """Update the metrics passed to `compile` with a batch, and return the logs.

        Args:
            x: The inputs; not used here, for methods that override this one.
            y: The targets.
            y_pred: The outputs.
            sample_weight: A weight per sample.
        """
        compiled_metrics = self._compile_state.compiled_metrics
        if compiled_metrics is not None:
            compiled_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """Return the results of all `metrics` by name. The items of a result that is a dictionary
        are listed one by one.
        """
        results: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
            if result is None:
                raise TypeError(
                    f"`result()` of the metric {metric.name!r} ({type(metric).__name__}) returned "
                    "None; a value was expected. Is a `return` missing at its end?"
                )
            for name, value in (
                result.items() if isinstance(result, dict) else [(metric.name, result)]
            ):
                if name in results:
                    raise ValueError(
                        f"Two of the model's metrics have the name {name!r}; give one of them "
                        "another `name=`."
                    )
                results[name] = value
        return results

    def make_train_function(self, force: bool = False) -> StepFunction:
        """Return the function that `fit` calls with an iterator: it reads the next batch and runs
        `train_step` on it.

        Override it to change how steps are run. The function is kept in `train_function` until the
        next `compile`.

        Args:
            force: Create the function again.
        """
        self._drop_outdated_functions()
        if self.train_function is None or force:
            step = make_logged_step(
                accept_stateless(self, self.train_step, "train"),
                self._train_counter,
                self._train_logs,
                lambda: scale_tapes(self.optimizer),
            )
            strategy = self.distribute_strategy
            self.train_function = (
                RemoteExecution(step, strategy, StepLogs)
                if isinstance(strategy, ParameterServerStrategy) and not self.run_eagerly
                else self._make_execution(step, StepLogs)
            )
            self.train_tf_function = None if self.run_eagerly else self.train_function
        return self.train_function

    def make_test_function(self, force: bool = False) -> StepFunction:
        """Return the function that `evaluate` calls with an iterator; see `make_train_function`."""
        self._drop_outdated_functions()
        if self.test_function is None or force:
            is_renamed = type(self).eval_step is not Model.eval_step
            test_step = accept_stateless(
                self, self.eval_step if is_renamed else self.test_step, "test"
            )
            step = make_logged_step(test_step, self._test_counter, self._test_logs)
            self.test_function = self._make_execution(step, StepLogs)
        return self.test_function

    def make_predict_function(self, force: bool = False) -> StepFunction:
        """Return the function that `predict` calls with an iterator; see `make_train_function`."""
        self._drop_outdated_functions()
        if self.predict_function is None or force:
            predict_step = accept_stateless(self, self.predict_step, "predict")
            step = make_predict_step(predict_step, self._predict_counter)
            self.predict_function = self._make_execution(step, concatenate_tensors)
        return self.predict_function

    def _drop_outdated_functions(self) -> None:
        """Forget compiled steps if layers have got other weights since, as by `enable_lora`."""
        if has_changed_since(self, self._num_weight_changes):
            self.train_function = self.test_function = self.predict_function = None
        self._num_weight_changes = count_weight_changes()

    def _make_execution(
        self, step: Callable[[Tree], Tree], finish: Callable[..., Any] | None = None
    ) -> Execution:
        return Execution(step, self._steps_per_execution, self.run_eagerly, finish)

    # --- quantization

    def quantize(
        self,
        mode: str | None = None,
        config: QuantizationConfig | None = None,
        type_check: bool = True,
        filters: LayerFilters | None = None,
    ) -> None:
        """Quantize the weights of the layers inside that can be quantized.

        Compile the model afterwards if it is trained further.

        Args:
            mode: "int8", "int4" or "float8"; None if `config` is given.
            config: How to quantize; by default the standard config of the mode.
            type_check: Whether subclasses of layers that can be quantized are left as they are.
            filters: Which layers to quantize: a regular expression that their names contain, a
                list of these, or a function of a layer that returns a bool; by default all.

        Example:
            >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
            >>> model.quantize("int8")
            >>> [(weight.name, str(weight.dtype)) for weight in model.weights]
            [('bias', 'float32'), ('kernel', 'int8'), ('kernel_scale', 'float32')]
        """
        quantize_layers(self, str(mode), config, filters, type_check)

    # --- data and callbacks of a run

    def _make_data(
        self,
        caller: str,
        x: Tree,
        y: Tree = None,
        sample_weight: Tree = None,
        batch_size: int | None = None,
        steps: int | None = None,
        steps_per_execution: StepsPerExecution | None = None,
        is_checked: bool = True,
        **options: Any,
    ) -> DataHandler:
        """Return the data of a run, after its first batch was checked against the model."""
        kind, arguments_of = RUNS[caller]
        if isinstance(x, DistributedDataset):
            x = x.source  # batches are split when they are placed
        default_step = getattr(type(self), f"{kind}_step") is getattr(Model, f"{kind}_step")
        needs_target = kind != "predict"
        check = BatchCheck(self, needs_target) if is_checked and default_step else None
        source, transform = prepare_source(self, x) if is_checked else (x, None)
        data = DataHandler(
            source,
            y,
            sample_weight,
            batch_size=num_samples(source) if caller.endswith("_on_batch") else batch_size,
            steps_per_epoch=steps,
            steps_per_execution=steps_per_execution or self._steps_per_execution,
            caller=arguments_of,
            output_names=layer_names(self.output) if self.outputs else None,
            same_lengths=default_step,
            check=check,
            transform=transform,
            **options,
        )
        if not is_checked:  # the workers read the batches
            return data
        if check is not None:
            build_from_batch(self, data.peek())
            check.begin()
        check_batch(self, data.peek(), caller, default_step, needs_target)
        if default_step and source is x:
            check_indices_of_embeddings(self, x)
        if needs_target:
            check_labels(self, y)
        return data

    def _make_callbacks(
        self, callbacks: CallbacksLike, verbose: int | str, data: DataHandler
    ) -> CallbackList:
        """Return the callbacks of an `evaluate` or `predict`."""
        if isinstance(callbacks, CallbackList):
            return callbacks
        return CallbackList(
            callbacks,
            add_progbar=verbose != 0,
            model=self,
            verbose=verbose,
            epochs=1,
            steps=data.inferred_steps,
        )

    def _run_on_batch(
        self,
        function: StepFunction,
        data: DataHandler,
        reset_metrics: bool,
        return_dict: bool,
        collect: Callable[[Any, int], Any],
    ) -> float | list[float] | dict[str, Any]:
        logs: dict[str, Any] = {}
        for _, iterator in data.enumerate_epochs():
            if reset_metrics:
                self.reset_metrics()
            logs = running_logs(collect(run_once(function, iterator), 1)).copy()
        return logs if return_dict else logs_to_list(logs, self.metrics_names)

    def _finalize_optimizer(self) -> None:
        """Apply the accumulated gradients that are left, and the averages of the weights."""
        if hasattr(self.optimizer, "flush"):
            self.optimizer.flush(self.trainable_variables)
        if hasattr(self.optimizer, "finalize_variable_values"):
            self.optimizer.finalize_variable_values(self.trainable_variables)

    # --- what `compile` created

    @property
    def compiled(self) -> bool:
        """Whether `compile` has been called."""
        return self._compile_state.is_compiled

    @property
    def _is_compiled(self) -> bool:
        """The same as `compiled`, under Keras 2's name; a `compile` of one's own sets it."""
        return self.compiled

    @_is_compiled.setter
    def _is_compiled(self, value: bool) -> None:
        self._compile_state.trainable_state = TrainableState(self) if value else None

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer passed to `compile`; None before."""
        return cast(Optimizer, self._compile_state.optimizer)

    @optimizer.setter
    def optimizer(self, value: Optimizer) -> None:
        self._compile_state.optimizer = value

    @property
    def loss(self) -> Any:
        """The loss passed to `compile`; None before."""
        return self._compile_state.loss

    @loss.setter
    def loss(self, value: Any) -> None:
        self._compile_state.loss = value

    @property
    def compiled_loss(self) -> CompiledLoss:
        """Computes the loss of all outputs; None before `compile`."""
        return cast(CompiledLoss, self._compile_state.compiled_loss)

    @compiled_loss.setter
    def compiled_loss(self, value: CompiledLoss) -> None:
        self._compile_state.compiled_loss = value

    @property
    def _loss_tracker(self) -> Metric:
        """The running mean of the loss, under Keras 3's name; a step has created it."""
        return self.compiled_loss.metrics[0]

    @property
    def compiled_metrics(self) -> CompiledMetrics:
        """The metrics passed to `compile`, for all outputs; None before."""
        return cast(CompiledMetrics, self._compile_state.compiled_metrics)

    @compiled_metrics.setter
    def compiled_metrics(self, value: CompiledMetrics) -> None:
        self._compile_state.compiled_metrics = value

    @property
    def metrics(self) -> list[Metric]:
        """All metrics: the loss, those passed to `compile`, those of layers and of the model's
        attributes.

        They are reset at the start of every epoch and of every `evaluate`. Override it to list
        metrics that are stored elsewhere.
        """
        metrics: list[Metric] = []
        state = self._compile_state
        if state.compiled_loss is not None and state.compiled_metrics is not None:
            metrics = [*state.compiled_loss.metrics, *state.compiled_metrics.metrics]
        metrics += self._owned_metrics()
        return list({id(metric): metric for metric in metrics}.values())

    @property
    def metrics_variables(self) -> list[Variable]:
        """The Variables of all `metrics`."""
        variables = [variable for metric in self.metrics for variable in metric.variables]
        return list({id(variable): variable for variable in variables}.values())

    @property
    def metrics_names(self) -> list[str]:
        """The names of the metrics; those from `compile` are known after the first batch."""
        return [metric.name for metric in self.metrics]

    def reset_metrics(self) -> None:
        """Reset all metrics, and the running values of logs."""
        for metric in self.metrics:
            metric.reset_state()
        self._train_logs.reset_state()
        self._test_logs.reset_state()

    @property
    def run_eagerly(self) -> bool:
        """Whether steps run as plain Python. Setting it takes effect immediately."""
        return self._compile_state.run_eagerly

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        self._compile_state.run_eagerly = bool(value)
        self._clear_functions()

    @property
    def jit_compile(self) -> bool | str | None:
        """The argument of `compile`; steps are compiled by XLA in any case."""
        return self._compile_state.jit_compile

    @jit_compile.setter
    def jit_compile(self, value: bool | str | None) -> None:
        self._compile_state.jit_compile = value

    @property
    def _jit_compile(self) -> bool:
        """Whether `jit_compile=True` was given, for a `make_train_function` written for Keras 2."""
        return self._compile_state.jit_compile is True

    @property
    def steps_per_execution(self) -> int | str:
        """The number of steps that one compiled call runs, or "auto". Setting it takes effect with
        the next run.
        """
        steps = self._steps_per_execution
        return "auto" if steps.auto else steps.given

    @steps_per_execution.setter
    def steps_per_execution(self, value: int | str) -> None:
        check_compile(None, value, None)
        self._steps_per_execution.auto = value == "auto"
        self._steps_per_execution.assign(1 if isinstance(value, str) else value)

    @property
    def _steps_per_execution(self) -> StepsPerExecution:
        """The variable that a `make_train_function` written for Keras 2 reads."""
        return self._compile_state.steps_per_execution

    @property
    def distribute_strategy(self) -> Strategy:
        """The strategy in whose scope the model was created."""
        return self._distribute_strategy

    @property
    def _train_counter(self) -> StepCounter:
        return self._counters.get("train")

    @property
    def _test_counter(self) -> StepCounter:
        return self._counters.get("test")

    @property
    def _predict_counter(self) -> StepCounter:
        return self._counters.get("predict")

    # --- files

    def save(
        self,
        filepath: PathLike,
        overwrite: bool = True,
        save_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Save the whole model to one file: config, weights, compile state. If saving fails, an
        existing file is unchanged.

        Args:
            filepath: The file. Names that end in `.h5` get Keras 2's format; all others are
                `.keras` archives at exactly that path. A name without an extension needs
                `save_format`.
            overwrite: Whether an existing file may be replaced.
            save_format: "keras" or "h5", for names with any ending; "tf" for a SavedModel, a
                directory that TensorFlow can serve (needs tensorflow).
            **kwargs: `include_optimizer=False` leaves the compile state out; see
                `saving.save_model`.
        """
        if self.distribute_strategy.is_chief:
            save_model(self, filepath, overwrite, save_format, **kwargs)

    def export(self, filepath: PathLike, format: str | None = None, **kwargs: Any) -> None:
        """Write the model as a program that runs without its source code, for any batch size, with
        the weights inside and `training=False`.

        Args:
            filepath: A file; for "tf_saved_model" a directory.
            format: "tf_saved_model", which TensorFlow serves (needs tensorflow); "jax" for the
                format of `jax.export`, which `saving.load_exported` or plain JAX runs, the default
                for names that end in `.jax`; or "onnx" (needs jax2onnx), the default for `.onnx`.
            **kwargs: `input_signature`, `platforms`, `overwrite`; see `saving.export_model`.

        Example:
            >>> import os, tempfile
            >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     model.export(os.path.join(folder, "model.jax"))
            ...     with open(os.path.join(folder, "model.jax"), "rb") as file:
            ...         program = jax.export.deserialize(bytearray(file.read()))
            >>> program.call(np.ones((4, 3), "float32")).shape
            (4, 2)
        """
        if self.distribute_strategy.is_chief:
            export_model(self, filepath, format, **kwargs)

    def get_compile_config(self) -> Config | None:
        """Return the arguments of `compile` as plain data, or None before it; override it together
        with `compile_from_config`.
        """
        return compile_config(self)

    def compile_from_config(self, config: Config) -> None:
        """Compile the model with the result of `get_compile_config`; override it if you override
        `compile`.
        """
        compile_from_config(self, config, has_own_compile=type(self).compile is not Model.compile)

    def save_weights(
        self,
        filepath: PathLike,
        overwrite: bool = True,
        save_format: str | None = None,
        options: None = None,
    ) -> None:
        """Write all weights to files of exactly this name. If writing fails, existing ones are
        unchanged.

        Args:
            filepath: The file. `.weights.h5` selects Keras 3's layout of HDF5, `.h5`, `.hdf5` and
                `.keras` Keras 2's, `.safetensors` that format. Any other name is a TensorFlow
                checkpoint (`name.index`, `name.data-00000-of-00001`), with the state of the
                optimizer. With a slash at the end it is a checkpoint directory.
            overwrite: Whether an existing file may be replaced.
            save_format: None, "h5", "safetensors" or "tf".
            options: Accepted for Keras's signature: None.
        """
        if self.distribute_strategy.is_chief:
            write_weights(self, filepath, overwrite, save_format, options)

    def load_weights(
        self,
        filepath: PathLike,
        by_name: bool = False,
        skip_mismatch: bool = False,
        options: None = None,
    ) -> LoadReport:
        """Read weights from a file of weights or of a whole model, written by Podium or Keras.
        Nothing changes unless everything matches.

        Args:
            filepath: The file; or a directory of checkpoints; or a TensorFlow checkpoint or
                SavedModel.
            by_name: Match layers by name instead of order, and skip those that only one side has.
            skip_mismatch: Skip weights of other shapes, with a warning.
            options: Accepted for Keras's signature: None.

        Returns:
            What was loaded, and with `by_name` or `skip_mismatch` what was skipped.
        """
        return read_weights(self, filepath, by_name, skip_mismatch, options)

    # --- configs

    def get_config(self) -> Config:
        """Return what recreates this model, without its weights: the graph, or the arguments of the
        constructor for a subclass.

        A subclass whose arguments are not plain data overrides it, and `from_config` if needed.
        """
        config = graph_config(self)
        if config is not None:
            return config
        return self._config_from_arguments(type(self).get_config is not Model.get_config)

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a model from the result of `get_config`, with new weights."""
        model = model_from_graph_config(cls, config, custom_objects)
        return super().from_config(config) if model is None else cast(Self, model)

    def to_json(self, **kwargs: Any) -> str:
        """Return the model as JSON, without its weights; `models.model_from_json` recreates it.

        Args:
            **kwargs: Options of `json.dumps`, such as `indent=2`.

        Example:
            >>> text = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)]).to_json()
            >>> podium.models.model_from_json(text).output_shape
            (None, 2)
        """
        return json.dumps(serialize_keras_object(self), **kwargs)

    # --- state, for files and checkpoints

    def _own_state(self) -> OwnState:
        """Return what this model owns itself, and the list of its layers; see `podium.state`."""
        state = super()._own_state()
        if type(self).__name__ == "Model" and self._graph is not None:
            state = state._replace(type_name="functional")  # Keras's name for such a model
        layers: tuple[str, object] = ("layers", self.layers)
        if self._is_assembled():
            return state._replace(attributes=[layers, *state.attributes])
        return state._replace(attributes=keras_order(dict([*state.attributes, layers])))

    def _is_assembled(self) -> bool:
        """Return whether the model was created from layers, and not by subclassing."""
        return self._graph is not None

    def _state_attributes(self) -> dict[str, object]:
        return {**super()._state_attributes(), "optimizer": self.optimizer}

    def _training_variables(self) -> dict[str, Variable]:
        """Return the variables of training besides weights and slots, by path; see
        `podium.state`.
        """
        sums = {
            f"metrics/{index}_{metric.name}/{slot}": variable
            for index, metric in enumerate(self.metrics)
            for slot, variable in enumerate(metric.variables)
        }
        return {**sums, **self._train_logs.by_path(), "counters/train": self._train_counter.words}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, without compiled functions, which belong to this
        model.
        """
        functions = ("train_function", "train_tf_function", "test_function", "predict_function")
        return {
            **super().__getstate__(),
            **dict.fromkeys((*functions, "history", "_telemetry")),
        }

    # --- layers, inputs and outputs

    @property
    def layers(self) -> list[Layer]:
        """The layers directly inside, in order."""
        if self._graph is not None:
            in_graph = set(map(id, self._graph_layers))
            others = [layer for layer in self._own_layers() if id(layer) not in in_graph]
            return self._graph_layers + others
        return self._flatten_layers(include_self=False, recursive=False)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """Return a layer by name or position.

        Raises:
            ValueError: There is no such layer; the message lists the names.
        """
        if (name is None) == (index is None):
            raise ValueError("get_layer needs a name or an index, one of them.")
        layers = self.layers
        if index is not None:
            if not -len(layers) <= index < len(layers):
                raise ValueError(
                    f"get_layer(index={index}) was called on a model with {len(layers)} layers."
                )
            return layers[index]
        for layer in layers:
            if layer.name == name:
                return layer
        raise unknown_choice(
            f"layer of model {self.name!r},", name, [layer.name for layer in layers]
        )

    @property
    def inputs(self) -> list[KerasTensor] | None:
        """The symbolic inputs, or None for a subclassed model."""
        return None if self._graph is None else self._graph.flat_inputs

    @property
    def outputs(self) -> list[KerasTensor] | None:
        """The symbolic outputs, or None for a subclassed model."""
        return None if self._graph is None else self._graph.flat_outputs

    @property
    def input(self) -> Tree:
        """The symbolic inputs in the structure in which they were passed; a list of one is its
        element.
        """
        return super().input if self._graph is None else unwrap_single(self._graph.inputs)

    @property
    def output(self) -> Tree:
        """The symbolic outputs in the structure in which they were passed; a list of one is its
        element.
        """
        return super().output if self._graph is None else self._graph.result

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [symbol.name for symbol in self.inputs or []]

    @property
    def output_names(self) -> list[str]:
        """The names of the layers that the outputs come from."""
        return [
            symbol.node.name if symbol.node is not None else symbol.name
            for symbol in self.outputs or []
        ]

    @property
    def input_shape(self) -> SymbolicShape | list[SymbolicShape]:
        """The shape of the input, or the list of shapes."""
        return _shape_or_list(self.inputs)

    @property
    def output_shape(self) -> SymbolicShape | list[SymbolicShape]:
        """The shape of the output, or the list of shapes."""
        return _shape_or_list(self.outputs)

    def summary(
        self,
        line_length: int | None = None,
        positions: Sequence[float] | None = None,
        print_fn: Callable[[str], None] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Sequence[str] | None = None,
    ) -> None:
        """Print a table of the layers, their output shapes and their numbers of parameters.

        Args:
            line_length: The width of the table in characters.
            positions: Accepted for Keras's signature and ignored.
            print_fn: A function that is called with the text instead of printing it.
            expand_nested: Show the layers of models inside this one.
            show_trainable: Add a column that says which layers are trained.
            layer_range: Two layer names: show the layers from the first to the second.
        """
        print_summary(self, line_length, print_fn, expand_nested, show_trainable, layer_range)


def _shape_or_list(symbols: list[KerasTensor] | None) -> SymbolicShape | list[SymbolicShape]:
    if symbols is None:
        raise AttributeError(
            "A subclassed model has no fixed shape; it may be called on several. See `built_shape`."
        )
    shapes = [symbol.shape for symbol in symbols]
    return shapes[0] if len(shapes) == 1 else shapes


def _symbols_like(inputs: Tree, shapes: Tree) -> Tree:
    """Return KerasTensors with the dtypes of inputs and these shapes."""
    if isinstance(inputs, dict):
        return {name: _symbols_like(value, shapes[name]) for name, value in inputs.items()}
    if isinstance(inputs, (list, tuple)):
        return type(shapes)(map(_symbols_like, inputs, shapes))
    return None if inputs is None else KerasTensor(shapes, inputs.dtype)
