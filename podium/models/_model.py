"""Model: the conductor. `compile`, `fit`, `evaluate`, `predict`, and the steps that people rewrite.

It owns the order of things and nothing else: data is counted in `podium/data`, steps are run in
`podium/execution`, whoever listens is called by `podium/callbacks`. What a model is made of is in `_network.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from podium import optimizers
from podium.callbacks import CallbackList, History, StepLogs
from podium.callbacks._step_logs import running_values
from podium.core import GradientTape, Variable, map_structure
from podium.core._program import Body
from podium.data import DataHandler, StepsPerExecution, train_validation_split, unpack_x_y_sample_weight
from podium.distribute import get_strategy
from podium.execution import Execution
from podium.execution._execution import direct, steps_in
from podium.metrics import noting_results
from podium.models._arguments import check_compile, check_fit, check_verbose, no_more_arguments
from podium.models._collector import Collector, as_output
from podium.models._compile_config import compile_config, compile_from_config
from podium.models._compiled_loss import CompiledLoss
from podium.models._compiled_metrics import CompiledMetrics
from podium.models._conducting import conducting, is_fitting
from podium.models._counters import Counters
from podium.models._front_door import RUNS, as_plain_list, check_batch, check_labels, check_loss, rows_of, with_feature_axis
from podium.models._network import Network
from podium.models._outputs import layer_names
from podium.models._pace import Pace
from podium.models._running_means import RunningMeans
from podium.models._trainable_state import TrainableState
from podium.models._validation import Validation
from podium.saving import save_model
from podium.saving._weights_file import read_weights, write_weights


class Model(Network):
    """Layers put together into something to train.

    Three ways to make one: from symbolic inputs and outputs, as a `Sequential` stack, or as a subclass with its
    own `call`. All three train the same way: `compile`, then `fit`. To change what happens with a batch, override
    `train_step`; it is ordinary Python with a `GradientTape`, and is compiled to one XLA program.

    Args:
        inputs: Symbolic values from `Input`: one, or a list or dictionary of them.
        outputs: What layers returned for them, in any structure.
        name: A name.
        trainable: Whether the weights shall be trained.

    Attributes:
        optimizer: What `compile` was given, as an Optimizer.
        loss: What `compile` was given.
        stop_training: Set it to True, in a callback for instance, and `fit` stops after the running step.
        history: The `History` of the last `fit`.

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

    def __init__(self, inputs: Any = None, outputs: Any = None, *args: Any, **kwargs: Any):
        super().__init__(inputs, outputs, *args, **kwargs)
        self.optimizer: Any = None
        self.loss: Any = None
        self.stop_training = False
        self.history: History | None = None
        self.train_function: Callable | None = None
        self.test_function: Callable | None = None
        self.predict_function: Callable | None = None
        self.compiled_loss: CompiledLoss | None = None
        self.compiled_metrics: CompiledMetrics | None = None
        self._is_compiled = False
        self._run_eagerly = False
        self._jit_compile: Any = "auto"
        self._steps_per_execution = StepsPerExecution(1)
        self._distribute_strategy = get_strategy()
        self._cluster_coordinator: Any = None
        self._compiled_trainable_state: TrainableState | None = None
        self._compile_arguments = SimpleNamespace()  # as given, for files; not searched for metrics
        self._train_means = RunningMeans("train_step")
        self._test_means = RunningMeans("test_step")
        self._counters = Counters()

    # ------------------------------------------------------------------ the score

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool | None = None,
        steps_per_execution: int | str | None = "auto",
        jit_compile: bool | str | None = "auto",
        **kwargs: Any,
    ) -> None:
        """Say how the model is to be trained. Nothing is computed yet.

        Which layers are trainable is fixed here: change it, and compile again.

        Args:
            optimizer: A name, an Optimizer, or any optax transformation.
            loss: A name, a function `(y_true, y_pred)` or a Loss, for all outputs; or a list or dictionary of them,
                one per output. None if `train_step` or `add_loss` do it all.
            metrics: Names, functions or Metrics: a list for all outputs, or a list of lists or dictionary per output.
            loss_weights: How much each output's loss counts: a list or dictionary of numbers.
            weighted_metrics: Like `metrics`, for those that shall take sample weights into account.
            run_eagerly: Run steps as plain Python, for debugging.
            steps_per_execution: How many steps one compiled call takes. Per-batch callbacks are called once per call. "auto"
                fuses as many quick steps as pays when nobody listens to single batches, and changes nothing else.
            jit_compile: Accepted for Keras's signature; steps are always compiled by XLA unless `run_eagerly`.
            **kwargs: Nothing else is accepted, but for Keras's `auto_scale_loss`.

        Raises:
            ValueError: A name is unknown, or what was given does not fit the outputs.

        Example:
            >>> model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(1)])
            >>> model.compile(optimizer="adm")
            Traceback (most recent call last):
            ValueError: Unknown optimizer 'adm'. Did you mean 'adam'? Choices: ...
        """
        no_more_arguments(Model.compile, kwargs, allowed=("auto_scale_loss", "pss_evaluation_shards", "from_serialized"))
        check_compile(run_eagerly, steps_per_execution, jit_compile)
        self._check_initialized()
        outputs = self.output if self.outputs else None
        with self.distribute_strategy.scope():
            # Everything is made before anything is replaced: a wrong argument leaves the model as it was.
            made = optimizers.get(optimizer)
            compiled_loss = CompiledLoss(loss, loss_weights, outputs)
            compiled_metrics = CompiledMetrics(metrics, weighted_metrics, outputs)
        self.optimizer, self.loss = made, loss
        self.compiled_loss, self.compiled_metrics = compiled_loss, compiled_metrics
        self.train_function = self.test_function = self.predict_function = None
        self._run_eagerly, self._jit_compile = bool(run_eagerly), jit_compile
        self._steps_per_execution = StepsPerExecution("auto" if steps_per_execution is None else steps_per_execution)
        self._compiled_trainable_state = TrainableState(self)
        self._compile_arguments = SimpleNamespace(
            loss=loss,
            loss_weights=loss_weights,
            metrics=metrics,
            weighted_metrics=weighted_metrics,
            run_eagerly=bool(run_eagerly),
            steps_per_execution=self.steps_per_execution,
            jit_compile=jit_compile,
        )
        self._is_compiled = True

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int | str = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool | str = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
        **kwargs: Any,
    ) -> History:
        """Train for a number of epochs.

        An exception or an interrupt leaves the model at the last completed step, usable, and `history` with what
        was logged.

        Args:
            x: Arrays in any nesting (or a generator, an iterator or a Dataset that yields batches).
            y: Targets, in the structure of the outputs; not with a generator or Dataset.
            batch_size: Samples per step; 32 by default. Not with a generator or Dataset.
            epochs: The epoch to stop before, counted from 0.
            verbose: 0 silent, 1 a bar, 2 a line per epoch; "auto" means 1.
            callbacks: A callback or a list of them.
            validation_split: The fraction of the arrays, taken from their end, to keep for validation.
            validation_data: What `evaluate` gets after an epoch: `(x, y)`, `(x, y, sample_weight)`, or a source of batches.
            shuffle: Shuffle arrays before each epoch; "batch" shuffles whole batches.
            class_weight: A weight per class: a dictionary, or a dictionary of those by output name.
            sample_weight: A weight per sample, in the structure of `y`.
            initial_epoch: The epoch to start from.
            steps_per_epoch: Batches per epoch; needed for endless data.
            validation_steps: Batches per validation.
            validation_batch_size: Samples per step of validation.
            validation_freq: Validate every so many epochs, or after the epochs of a collection (counted from 1), or
                every so many steps: `"100 steps"`.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a `PyDataset`.

        Returns:
            A `History`: its `history` holds the values of every epoch.

        Raises:
            RuntimeError: The model is not compiled, is being fitted already, or the call is inside a compiled function.
            ValueError: An argument or the data does not fit; nothing has been trained then.

        Example:
            >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
            >>> model.compile("sgd", "mse")
            >>> history = model.fit(np.ones((40, 1)), np.zeros((40, 1)), validation_split=0.2, verbose=0)
            >>> sorted(history.history)
            ['loss', 'val_loss']
        """
        no_more_arguments(Model.fit, kwargs, allowed=("max_queue_size", "workers", "use_multiprocessing"))
        check_fit(epochs, initial_epoch, verbose, validation_split, validation_data, validation_freq)
        with conducting(self, "fit"):
            if validation_split:
                (x, y, sample_weight), validation_data = train_validation_split((x, y, sample_weight), validation_split)
            data = self._data_for(
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
            )
            validation = Validation(self, validation_data, validation_steps, validation_batch_size or batch_size, validation_freq)
            listeners = CallbackList(
                callbacks,
                add_history=True,
                add_progbar=verbose != 0,
                model=self,
                verbose=verbose,
                epochs=epochs,
                steps=data.inferred_steps,
            )
            self.stop_training = False
            run = direct(self.make_train_function())
            every_batch = listeners.needs_every_batch("train")
            pace = Pace(self._steps_per_execution, run, every_batch, data, validation.steps_between)
            self._train_counter.assign(0)
            logs: dict[str, Any] = {}
            with data, pace, listeners.ending("train"):
                listeners.on_train_begin()
                for epoch, iterator in data.enumerate_epochs():
                    values = None
                    self.reset_metrics()
                    listeners.on_epoch_begin(epoch)
                    with data.catch_stop_iteration():
                        for step in data.steps():
                            listeners.on_train_batch_begin(step)
                            values = run(iterator)
                            if not pace.settled:
                                pace.after(values)
                            end_step = data.took(steps_in(values))
                            listeners.on_train_batch_end(end_step, values)
                            validation.after_step(end_step - step + 1, listeners)
                            if self.stop_training:
                                break
                    if values is None:  # the data ended before this epoch began
                        break
                    logs = {**running_values(values), **validation.after_epoch(epoch, listeners)}
                    listeners.on_epoch_end(epoch, logs)
                    if self.stop_training:
                        break
                if hasattr(self.optimizer, "finalize_variable_values"):
                    self.optimizer.finalize_variable_values(self.trainable_variables)  # averages kept beside the weights
                listeners.on_train_end(logs)
            assert listeners.history is not None
            return listeners.history

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return the loss and the metrics on data, without training.

        Args:
            x: Arrays in any nesting, or a source of batches.
            y: Targets; not with a generator or Dataset.
            batch_size: Samples per step; 32 by default.
            verbose: 0 silent, 1 a bar, 2 a line; "auto" means 1.
            sample_weight: A weight per sample.
            steps: Batches to take; all by default.
            callbacks: A callback or a list of them.
            return_dict: Return a dictionary instead of a list.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a `PyDataset`.

        Returns:
            The loss, or a list `[loss, metric, ...]` of floats if there are metrics, or a dictionary by name.

        Example:
            >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1, kernel_initializer="ones")])
            >>> model.compile(loss="mse", metrics=["mae"])
            >>> model.evaluate(np.ones((3, 1)), np.zeros((3, 1)), verbose=0)
            [1.0, 1.0]
        """
        no_more_arguments(Model.evaluate, kwargs, allowed=("max_queue_size", "workers", "use_multiprocessing"))
        check_verbose(verbose)
        with conducting(self, "evaluate"):
            data = self._data_for("evaluate", x, y, sample_weight, batch_size, steps, workers=kwargs)
            listeners = callbacks
            if not isinstance(callbacks, CallbackList):
                listeners = CallbackList(
                    callbacks, add_progbar=verbose != 0, model=self, verbose=verbose, epochs=1, steps=data.inferred_steps
                )
            logs = self._evaluate(data, listeners)
            return logs if return_dict else as_plain_list(logs, self.metrics_names)

    def _evaluate(self, data: DataHandler, listeners: CallbackList) -> dict[str, Any]:
        """Walk through data once with the test step."""
        run = direct(self.make_test_function())
        pace = Pace(self._steps_per_execution, run, listeners.needs_every_batch("test"), data)
        self._test_counter.assign(0)
        logs: dict[str, Any] = {}
        with data, pace, listeners.ending("test"), self._metrics_apart():
            listeners.on_test_begin()
            for _, iterator in data.enumerate_epochs():
                values = None
                self.reset_metrics()
                with data.catch_stop_iteration():
                    for step in data.steps():
                        listeners.on_test_batch_begin(step)
                        values = run(iterator)
                        if not pace.settled:
                            pace.after(values)
                        listeners.on_test_batch_end(data.took(steps_in(values)), values)
                if values is None:
                    raise ValueError("The dataset must contain at least one batch of samples; there was none to evaluate.")
                logs = running_values(values)
            listeners.on_test_end(logs)
        return logs

    def predict(
        self,
        x: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Return the outputs for all of the data, as NumPy arrays.

        Everything is kept in memory. For data without end, walk it yourself: `for batch in data: model(batch)`.

        Args:
            x: Arrays in any nesting, or a source of batches (targets in it are ignored).
            batch_size: Samples per step; 32 by default.
            verbose: 0 silent, 1 a bar, 2 a line; "auto" means 1.
            steps: Batches to take; all by default.
            callbacks: A callback or a list of them.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a `PyDataset`.

        Returns:
            NumPy arrays in the structure of the model's outputs, as many rows as there are samples.

        Example:
            >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1, kernel_initializer="ones")])
            >>> model.predict(np.arange(3.0).reshape(3, 1), verbose=0).ravel()
            array([0., 1., 2.], dtype=float32)
        """
        no_more_arguments(Model.predict, kwargs, allowed=("max_queue_size", "workers", "use_multiprocessing"))
        check_verbose(verbose)
        with conducting(self, "predict"):
            data = self._data_for("predict", x, batch_size=batch_size, steps=steps, workers=kwargs)
            listeners = callbacks
            if not isinstance(callbacks, CallbackList):
                listeners = CallbackList(
                    callbacks, add_progbar=verbose != 0, model=self, verbose=verbose, epochs=1, steps=data.inferred_steps
                )
            run = direct(self.make_predict_function())
            pace = Pace(self._steps_per_execution, run, listeners.needs_every_batch("predict"), data)
            self._predict_counter.assign(0)
            outputs = Collector()
            with data, pace, listeners.ending("predict"):
                listeners.on_predict_begin()
                for _, iterator in data.enumerate_epochs():
                    with data.catch_stop_iteration():
                        for step in data.steps():
                            listeners.on_predict_batch_begin(step)
                            values = run(iterator)
                            if not pace.settled:
                                pace.after(values)
                            outputs.add(values)
                            end_step = data.took(steps_in(values))
                            if listeners.listens_to("on_predict_batch_end"):
                                listeners.on_predict_batch_end(end_step, {"outputs": outputs.latest(end_step - step + 1)})
                listeners.on_predict_end()
            return outputs.result()

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        reset_metrics: bool = True,
        return_dict: bool = False,
    ) -> Any:
        """Take one training step on one batch.

        Args:
            x: The batch's inputs.
            y: Its targets.
            sample_weight: A weight per sample.
            class_weight: A weight per class.
            reset_metrics: Whether the values are of this batch alone; with False they go on from the last call.
            return_dict: Return a dictionary instead of a list.

        Returns:
            The loss, or a list `[loss, metric, ...]`, or a dictionary.

        Example:
            >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1, kernel_initializer="ones")])
            >>> model.compile(podium.optimizers.SGD(0.5), "mse")
            >>> model.train_on_batch(np.ones((2, 1)), np.zeros((2, 1))), model.train_on_batch(np.ones((2, 1)), np.zeros((2, 1)))
            (1.0, 1.0)
        """
        with conducting(self, "train_on_batch"):
            batch = self._data_for("train_on_batch", x, y, sample_weight, class_weight=class_weight)
            return self._on_batch(self.make_train_function(), batch, reset_metrics, return_dict)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True, return_dict: bool = False
    ) -> Any:
        """Return the loss and the metrics on one batch, without training.

        Args:
            x: The batch's inputs.
            y: Its targets.
            sample_weight: A weight per sample.
            reset_metrics: Whether the values are of this batch alone.
            return_dict: Return a dictionary instead of a list.
        """
        with conducting(self, "test_on_batch"):
            batch = self._data_for("test_on_batch", x, y, sample_weight)
            return self._on_batch(self.make_test_function(), batch, reset_metrics, return_dict)

    def predict_on_batch(self, x: Any) -> Any:
        """Return the outputs for one batch, as NumPy arrays.

        Args:
            x: The batch's inputs.
        """
        with conducting(self, "predict_on_batch"):
            outputs = Collector()
            for _, iterator in self._data_for("predict_on_batch", x).enumerate_epochs():
                outputs.add(self.make_predict_function()(iterator))
            return outputs.result()

    # ------------------------------------------------------------------ the bars you may rewrite

    def train_step(self, data: Any) -> dict[str, Any]:
        """Train on one batch: the forward pass, the loss, the gradients, the update and the metrics.

        Override it to train differently. It runs compiled; keep what must change in Variables.

        Args:
            data: What the data source gives: `(x, y)` for arrays, `(x, y, sample_weight)` with weights, the element of a
                Dataset as it is.

        Returns:
            A dictionary from names to values: the logs. A metric's `result()` is shown as it is; any other value is
            averaged over the epoch.
        """
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        with GradientTape() as tape:
            y_pred = self(with_feature_axis(self, x), training=True)
            loss = self.compute_loss(x, y, y_pred, sample_weight)
        check_loss(self, loss)
        if self.trainable_variables:
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Evaluate one batch. Override it to evaluate differently; see `train_step`."""
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        y_pred = self(with_feature_axis(self, x), training=False)
        self.compute_loss(x, y, y_pred, sample_weight)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def predict_step(self, data: Any) -> Any:
        """Return the outputs for one batch. Override it to predict differently."""
        x, _, _ = unpack_x_y_sample_weight(data)
        return self(with_feature_axis(self, x), training=False)

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        """Return the total loss of a batch: what `compile` was given, and the losses of layers and regularizers.

        Override it to compute the loss differently. Calling `compiled_loss` updates the running mean named `loss`.

        Args:
            x: The inputs; not needed here, for overriding methods.
            y: The targets.
            y_pred: The outputs.
            sample_weight: A weight per sample.
            training: Whether the loss is for training.
        """
        if self.compiled_loss is None:
            raise RuntimeError("`compute_loss` needs a compiled model. Use `model.compile(optimizer, loss)`.")
        return self.compiled_loss(y, y_pred, sample_weight, regularization_losses=self.losses)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Take a batch into the metrics given to `compile`, and return the logs.

        Args:
            x: The inputs; not needed here, for overriding methods.
            y: The targets.
            y_pred: The outputs.
            sample_weight: A weight per sample.
        """
        if self.compiled_metrics is not None:
            self.compiled_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """Return the results of all `metrics` by name; a result that is a dictionary is merged in."""
        results: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
            for name, value in result.items() if isinstance(result, dict) else [(metric.name, result)]:
                if name in results:
                    raise ValueError(f"Two of the model's metrics have the name {name!r}; give one of them another `name=`.")
                results[name] = value
        return results

    def make_train_function(self, force: bool = False) -> Callable:
        """Return the function that `fit` calls with an iterator: it takes the next batch and runs `train_step` on it.

        Override it to change how steps are run. What it returns is kept in `train_function` until the next `compile`.

        Args:
            force: Make it anew.
        """
        if self.train_function is None or force:

            def conclude(logs: Any, results: dict, data: Any) -> Any:
                self._train_counter.assign_add(1)
                return self._train_means.collect(logs, results, data)

            step = Body(self.train_step, noting_results, conclude)
            self.train_function = Execution(step, self._steps_per_execution, self.run_eagerly, StepLogs)
        return self.train_function

    def make_test_function(self, force: bool = False) -> Callable:
        """Return the function that `evaluate` calls with an iterator; see `make_train_function`."""
        if self.test_function is None or force:

            def conclude(logs: Any, results: dict, data: Any) -> Any:
                self._test_counter.assign_add(1)
                return self._test_means.collect(logs, results, data)

            step = Body(self.test_step, noting_results, conclude)
            self.test_function = Execution(step, self._steps_per_execution, self.run_eagerly, StepLogs)
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Callable:
        """Return the function that `predict` calls with an iterator; see `make_train_function`."""
        if self.predict_function is None or force:

            def conclude(outputs: Any, _: Any, data: Any) -> Any:
                self._predict_counter.assign_add(1)
                return map_structure(as_output, outputs)

            step = Body(self.predict_step, conclude=conclude)
            self.predict_function = Execution(step, self._steps_per_execution, self.run_eagerly)
        return self.predict_function

    # ------------------------------------------------------------------ the plumbing

    def save(self, filepath: Any, overwrite: bool = True, save_format: str | None = None, **kwargs: Any) -> None:
        """Save the whole model to one file: description, weights, compiled state; a failed save leaves an old file whole.

        Args:
            filepath: Where to. Names that end in `.h5` get Keras 2's format; all others, also without a suffix, are `.keras`
                archives at exactly that path.
            overwrite: Whether an existing file may be replaced.
            save_format: "keras" or "h5", to overrule the name.
            **kwargs: `include_optimizer=False` leaves the compiled state out; see `saving.save_model`.
        """
        save_model(self, filepath, overwrite, save_format, **kwargs)

    def get_compile_config(self) -> dict[str, Any] | None:
        """Return as plain data how the model was compiled, or None if it was not; override it with `compile_from_config`."""
        return compile_config(self)

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compile the model as `get_compile_config` says; override it together with a `compile` of your own."""
        compile_from_config(self, config, has_own_compile=type(self).compile is not Model.compile)

    def save_weights(self, filepath: Any, overwrite: bool = True, save_format: Any = None, options: Any = None) -> None:
        """Write all weights to an HDF5 file at exactly this path; a failed write leaves an old file whole.

        Args:
            filepath: Where to; any suffix, or none. `.weights.h5` gets Keras 3's layout, all others Keras 2's.
            overwrite: Whether an existing file may be replaced.
            save_format: None or "h5".
            options: Accepted for Keras's signature: None.
        """
        write_weights(self, filepath, overwrite, save_format, options)

    def load_weights(self, filepath: Any, by_name: bool = False, skip_mismatch: bool = False, options: Any = None) -> None:
        """Read weights from a file of weights or of a whole model, ours or Keras's. Nothing changes unless everything fits.

        Args:
            filepath: The file.
            by_name: Match layers by name instead of order, and leave out those that only one side has.
            skip_mismatch: Leave out weights of other shapes, with a warning.
            options: Accepted for Keras's signature: None.
        """
        read_weights(self, filepath, by_name, skip_mismatch, options)

    @property
    def metrics(self) -> list[Any]:
        """All metrics: the loss, those given to `compile`, those of layers and of the model's own attributes.

        They are reset at the start of every epoch and of every `evaluate`. Override it to list metrics kept elsewhere.
        """
        found = []
        if self.compiled_loss is not None and self.compiled_metrics is not None:
            found = [*self.compiled_loss.metrics, *self.compiled_metrics.metrics]
        found += self._owned_metrics()
        return list({id(metric): metric for metric in found}.values())

    @property
    def metrics_names(self) -> list[str]:
        """The names of the metrics; those from `compile` are known after the first batch."""
        return [metric.name for metric in self.metrics]

    def reset_metrics(self) -> None:
        """Start all metrics, and the running means of logs, anew."""
        for metric in self.metrics:
            metric.reset_state()
        self._train_means.reset_state()
        self._test_means.reset_state()

    @property
    def run_eagerly(self) -> bool:
        """Whether steps run as plain Python. Setting it takes effect at once."""
        return self._run_eagerly

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        self._run_eagerly = bool(value)
        self.train_function = self.test_function = self.predict_function = None

    @property
    def jit_compile(self) -> Any:
        """What `compile` was given; steps are compiled by XLA in any case."""
        return self._jit_compile

    @property
    def steps_per_execution(self) -> int | str:
        """How many steps one compiled call takes, or "auto"."""
        return "auto" if self._steps_per_execution.auto else int(self._steps_per_execution)

    @steps_per_execution.setter
    def steps_per_execution(self, value: int | str) -> None:
        check_compile(None, value, None)
        self._steps_per_execution.auto = value == "auto"
        self._steps_per_execution.assign(1 if isinstance(value, str) else value)

    @property
    def compiled(self) -> bool:
        """Whether `compile` has been called."""
        return self._is_compiled

    @property
    def distribute_strategy(self) -> Any:
        """The strategy in whose scope the model was made."""
        return self._distribute_strategy

    @property
    def _train_counter(self) -> Variable:
        return self._counters.get("train")

    @property
    def _test_counter(self) -> Variable:
        return self._counters.get("test")

    @property
    def _predict_counter(self) -> Variable:
        return self._counters.get("predict")

    def _data_for(
        self,
        caller: str,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        **options: Any,
    ) -> DataHandler:
        """Return the data of a run, its first batch checked against the model."""
        kind, arguments_of = RUNS[caller]
        own_step = getattr(type(self), f"{kind}_step") is getattr(Model, f"{kind}_step")
        data = DataHandler(
            x,
            y,
            sample_weight,
            batch_size=rows_of(x) if caller.endswith("_on_batch") else batch_size,
            steps_per_epoch=steps,
            steps_per_execution=self._steps_per_execution,
            caller=arguments_of,
            output_names=layer_names(self.output) if self.outputs else None,
            same_lengths=own_step,
            **options,
        )
        check_batch(self, data.peek(), caller, default_step=own_step, needs_target=kind != "predict")
        if kind != "predict":
            check_labels(self, y)
        return data

    def _on_batch(self, run: Callable, data: DataHandler, reset_metrics: bool, return_dict: bool) -> Any:
        logs: dict[str, Any] = {}
        for _, iterator in data.enumerate_epochs():
            if reset_metrics:
                self.reset_metrics()
            logs = running_values(run(iterator))
        return logs if return_dict else as_plain_list(logs, self.metrics_names)

    @contextlib.contextmanager
    def _metrics_apart(self) -> Iterator[None]:
        """Keep what the metrics have gathered in a running epoch, while they are used for an evaluation inside it."""
        kept = []
        if is_fitting(self):
            gathered = [*self.metrics, self._train_means]
            kept = [(variable, variable.value) for metric in gathered for variable in metric.variables]
        try:
            yield
        finally:
            for variable, value in kept:
                variable.assign(value)

    def __getstate__(self) -> dict[str, Any]:
        """Leave compiled functions out of copies: they belong to this model, and are made anew when needed."""
        return {**vars(self), "train_function": None, "test_function": None, "predict_function": None, "history": None}
