"""Model: the conductor. `compile`, `fit`, `evaluate`, `predict`, and the steps that people rewrite.

It owns the order of things and nothing else: data is counted in `podium/data`, steps are run in
`podium/execution`, whoever listens is called by `podium/callbacks`. What a model is made of is in
`_network.py`, what `compile` gave it in `_compiled_model.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from podium.callbacks import CallbackList, History, StepLogs
from podium.callbacks.internal import running_logs
from podium.core import GradientTape
from podium.data import (
    DataHandler,
    StepsPerExecution,
    train_validation_split,
    unpack_x_y_sample_weight,
)
from podium.distribute import DistributedDataset
from podium.execution import Execution
from podium.execution.internal import (
    CustomExecution,
    StepsAutotuner,
    count_steps,
    to_execution,
)
from podium.models.compile._compiled_model import CompiledModel
from podium.models.compile._output_mapping import layer_names
from podium.models.predict._output_collector import Collector
from podium.models.training._argument_checks import check_fit, check_verbose, no_more_arguments
from podium.models.training._input_checks import (
    RUNS,
    as_plain_list,
    check_batch,
    check_labels,
    check_loss,
    rows_of,
    with_feature_axis,
)
from podium.models.training._run_batches import iterate_outputs, run_batches
from podium.models.training._run_guard import conducting
from podium.models.training._step_functions import make_logged_step, make_predict_step
from podium.models.training._training_run import TrainingRun
from podium.models.training._validator import Validator
from podium.models.training._warm_up import warm_up


class Model(CompiledModel):
    """Layers put together into something to train.

    Three ways to make one: from symbolic inputs and outputs, as a `Sequential` stack, or as a
    subclass with its own `call`. All three train the same way: `compile`, then `fit`. To change
    what happens with a batch, override `train_step`; it is ordinary Python with a `GradientTape`,
    and is compiled to one XLA program.

    Args:
        inputs: Symbolic values from `Input`: one, or a list or dictionary of them.
        outputs: What layers returned for them, in any structure.
        name: A name.
        trainable: Whether the weights shall be trained.

    Attributes:
        optimizer: What `compile` was given, as an Optimizer.
        loss: What `compile` was given.
        stop_training: Set it to True, in a callback for instance, and `fit` stops after the running
            step.
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

    # ------------------------------------------------------------------ the score

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

        An exception or an interrupt leaves the model at the last completed step, usable, and
        `history` with what was logged.

        Args:
            x: Arrays in any nesting (or a generator, an iterator or a Dataset that yields batches).
            y: Targets, in the structure of the outputs; not with a generator or Dataset.
            batch_size: Samples per step; 32 by default. Not with a generator or Dataset.
            epochs: The epoch to stop before, counted from 0.
            verbose: 0 silent, 1 a bar, 2 a line per epoch; "auto" means 1.
            callbacks: A callback or a list of them.
            validation_split: The fraction of the arrays, taken from their end, to keep for
                validation.
            validation_data: What `evaluate` gets after an epoch: `(x, y)`, `(x, y, sample_weight)`,
                or a source of batches.
            shuffle: Shuffle arrays before each epoch; "batch" shuffles whole batches.
            class_weight: A weight per class: a dictionary, or a dictionary of those by output name.
            sample_weight: A weight per sample, in the structure of `y`.
            initial_epoch: The epoch to start from.
            steps_per_epoch: Batches per epoch; needed for endless data.
            validation_steps: Batches per validation.
            validation_batch_size: Samples per step of validation.
            validation_freq: Validate every so many epochs, or after the epochs of a collection
                (counted from 1), or every so many steps: `"100 steps"`.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a
                `PyDataset`.

        Returns:
            A `History`: its `history` holds the values of every epoch.

        Raises:
            RuntimeError: The model is not compiled, is being fitted already, or the call is inside
                a compiled function.
            ValueError: An argument or the data does not fit; nothing has been trained then.

        Example:
            >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
            >>> model.compile("sgd", "mse")
            >>> history = model.fit(np.ones((40, 1)), np.zeros((40, 1)), validation_split=0.2, verbose=0)
            >>> sorted(history.history)
            ['loss', 'val_loss']
        """
        no_more_arguments(
            Model.fit, kwargs, allowed=("max_queue_size", "workers", "use_multiprocessing")
        )
        check_fit(
            epochs, initial_epoch, verbose, validation_split, validation_data, validation_freq
        )
        with conducting(self, "fit"):
            if validation_split:
                (x, y, sample_weight), validation_data = train_validation_split(
                    (x, y, sample_weight), validation_split
                )
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
            validator = Validator(
                self,
                validation_data,
                validation_steps,
                validation_batch_size,
                validation_freq,
                batch_size,
            )
            callback_list = CallbackList(
                callbacks,
                add_history=True,
                add_progbar=verbose != 0,
                model=self,
                verbose=verbose,
                epochs=epochs,
                steps=data.inferred_steps,
            )
            execution = to_execution(self.make_train_function())
            self.stop_training = False
            self._train_counter.clear()
            with TrainingRun(self, execution, data, validator, callback_list) as run:
                callback_list.on_train_begin()
                logs = run.resume()
                for epoch, iterator in data.enumerate_epochs():
                    values = run.begin_epoch(epoch)
                    with data.catch_stop_iteration():
                        for step in data.steps():
                            callback_list.on_train_batch_begin(step)
                            values = execution.run(
                                iterator, data.execution_steps, data.steps_per_execution
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
                callback_list.on_train_end(logs)
            assert callback_list.history is not None
            return callback_list.history

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
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a
                `PyDataset`.

        Returns:
            The loss, or a list `[loss, metric, ...]` of floats if there are metrics, or a
            dictionary by name.

        Example:
            >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1, kernel_initializer="ones")])
            >>> model.compile(loss="mse", metrics=["mae"])
            >>> model.evaluate(np.ones((3, 1)), np.zeros((3, 1)), verbose=0)
            [1.0, 1.0]
        """
        no_more_arguments(
            Model.evaluate, kwargs, allowed=("max_queue_size", "workers", "use_multiprocessing")
        )
        check_verbose(verbose)
        with conducting(self, "evaluate"):
            data = self._data_for(
                "evaluate", x, y, sample_weight, batch_size, steps, workers=kwargs
            )
            logs = self._evaluate(data, self._callback_list(callbacks, verbose, data))
            return logs if return_dict else as_plain_list(logs, self.metrics_names)

    def _evaluate(self, data: DataHandler, callbacks: CallbackList) -> dict[str, Any]:
        """Run the test step once over the data, and return the logs."""
        execution = to_execution(self.make_test_function())
        execution.begin_run()
        self._test_counter.clear()
        values = None
        with (
            data,
            self._autotuner(execution, callbacks.needs_every_batch("test"), data) as autotuner,
            callbacks.ensure_end("test"),
            self._metrics_apart(),
        ):
            callbacks.on_test_begin()
            self.reset_metrics()
            for values in run_batches("test", data, callbacks, execution, autotuner):  # noqa: B007
                pass
            logs = {} if values is None else running_logs(values).copy()
            callbacks.on_test_end(logs)
        return logs

    def predict(
        self,
        x: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Return the outputs for all of the data, as NumPy arrays.

        They are in memory once. If they will not fit, a warning says so before the first batch is
        computed: `out` has them written to a file as they come, `predict_iter` gives them batch by
        batch.

        Args:
            x: Arrays in any nesting, or a source of batches (targets in it are ignored).
            batch_size: Samples per step; 32 by default.
            verbose: 0 silent, 1 a bar, 2 a line; "auto" means 1.
            steps: Batches to take; all by default.
            callbacks: A callback or a list of them.
            out: What to fill instead of new arrays: an array, an np.memmap, a dataset of h5py or
                zarr, anything with a `shape` and a `dtype` that takes `out[a:b] = rows`; one for
                each output, in the structure of the outputs. It has at least as many rows as there
                are samples, and a type that holds the outputs without loss.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a
                `PyDataset`.

        Returns:
            NumPy arrays in the structure of the model's outputs, as many rows as there are samples;
            or `out`.

        Raises:
            ValueError: The data do not fit the model, or `out` does not fit the outputs; nothing
                has been computed then.

        Example:
            >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1, kernel_initializer="ones")])
            >>> model.predict(np.arange(3.0).reshape(3, 1), verbose=0).ravel()
            array([0., 1., 2.], dtype=float32)
            >>> import tempfile
            >>> with tempfile.NamedTemporaryFile() as file:
            ...     rows = np.memmap(file, "float32", shape=(3, 1))
            ...     float(model.predict(np.arange(3.0).reshape(3, 1), verbose=0, out=rows).sum())
            3.0
        """
        no_more_arguments(
            Model.predict, kwargs, allowed=("max_queue_size", "workers", "use_multiprocessing")
        )
        check_verbose(verbose)
        with conducting(self, "predict"):
            data = self._data_for("predict", x, batch_size=batch_size, steps=steps, workers=kwargs)
            callback_list = self._callback_list(callbacks, verbose, data)
            outputs = Collector(data, out)
            execution = to_execution(self.make_predict_function())
            execution.begin_run()
            execution = execution.for_run(on_result_spec=outputs.expect)
            every_batch = callback_list.needs_every_batch("predict")
            self._predict_counter.clear()
            with (
                data,
                self._autotuner(execution, every_batch, data) as autotuner,
                callback_list.ensure_end("predict"),
            ):
                callback_list.on_predict_begin()
                for values in run_batches("predict", data, callback_list, execution, autotuner):
                    outputs.add(values)
                callback_list.on_predict_end()
            return outputs.result()

    def predict_iter(
        self,
        x: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        callbacks: Any = None,
        verbose: int | str = 0,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Return a generator of the outputs batch by batch, for data larger than memory or without
        an end.

        Nothing is kept: memory does not grow with the data. A batch is computed when it is asked
        for, with those that `steps_per_execution` takes along. What reads the data ends with the
        generator: when it has given all, is closed (`contextlib.closing`), or is dropped. The model
        may be used, and even trained, in between.

        Args:
            x: Arrays in any nesting, or a source of batches (targets in it are ignored), which may
                have no end.
            batch_size: Samples per step; 32 by default.
            steps: Batches to take; all by default.
            callbacks: A callback or a list of them.
            verbose: 0 silent, 1 a bar, 2 a line; "auto" means 1.
            **kwargs: Keras 2's `workers`, `max_queue_size` and `use_multiprocessing`, for a
                `PyDataset`.

        Returns:
            A generator of NumPy arrays in the structure of the model's outputs.

        Raises:
            ValueError: The data do not fit the model. This shows at once, not when the first batch
                is asked for.

        Example:
            >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1, kernel_initializer="ones")])
            >>> [outputs.shape for outputs in model.predict_iter(np.ones((70, 1)))]
            [(32, 1), (32, 1), (6, 1)]
            >>> endless = podium.data.Dataset.range(4).batch(2).repeat()
            >>> for outputs in model.predict_iter(endless):
            ...     if outputs.max() == 3:
            ...         break
            >>> outputs.ravel()
            array([2., 3.], dtype=float32)
        """
        no_more_arguments(
            Model.predict_iter, kwargs, allowed=("max_queue_size", "workers", "use_multiprocessing")
        )
        check_verbose(verbose)
        with conducting(self, "predict_iter"):
            execution = to_execution(self.make_predict_function())
            execution.begin_run()
            # Other runs may use `_steps_per_execution` while this one is suspended.
            shared = isinstance(execution, CustomExecution)
            steps_per_execution = None if shared else StepsPerExecution(self.steps_per_execution)
            data = self._data_for(
                "predict_iter",
                x,
                None,
                None,
                batch_size,
                steps,
                steps_per_execution,
                workers=kwargs,
            )
            callback_list = self._callback_list(callbacks, verbose, data)
            # What is left of a one-shot iterator belongs to the caller: nothing is read ahead.
            every_batch = callback_list.needs_every_batch("predict") or data.adapter.one_shot
            self._predict_counter.clear()
            execution = execution.for_run()
            autotuner = self._autotuner(execution, every_batch, data)
            return iterate_outputs(self, data, callback_list, execution, autotuner)

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
            reset_metrics: Whether the values are of this batch alone; with False they go on from
                the last call.
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
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        reset_metrics: bool = True,
        return_dict: bool = False,
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

    def warm_up(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        kinds: str | Sequence[str] = ("train", "test", "predict"),
    ) -> dict[str, float]:
        """Compile ahead what `fit`, `evaluate` and `predict` will run, so that their first step
        starts at once.

        Nothing is trained: weights, the optimizer, metrics, counters and seeds stay as they are. A
        model without weights gets them, as with its first batch. Steps of your own are compiled
        too; only a function of your own, from an overridden `make_train_function`, is left alone.

        Args:
            x: What `fit` will get: arrays, or a Dataset, of which one batch is looked at. Or a
                `TensorSpec` for each input: `TensorSpec((None, 8))`, where None stands for the
                batch size.
            y: Targets, or their TensorSpecs; not with a Dataset.
            sample_weight: Weights, or their TensorSpecs, if `fit` will get any.
            batch_size: Samples per step; 32 by default. A smaller last batch of arrays is provided
                for too.
            kinds: Which steps: "train", "test", "predict" or several of them.

        Returns:
            The seconds that each kind took.

        Example:
            >>> model = podium.Sequential([podium.Input((8,)), podium.layers.Dense(1)])
            >>> model.compile("adam", "mse")
            >>> seconds = model.warm_up(podium.TensorSpec((None, 8)), podium.TensorSpec((None, 1)), kinds="train")
            >>> model.train_function.trace_count
            1
            >>> _ = model.fit(np.ones((64, 8)), np.zeros((64, 1)), verbose=0)
            >>> model.train_function.trace_count
            1
        """
        return warm_up(self, x, y, sample_weight, batch_size, kinds)

    # ------------------------------------------------------------------ the bars you may rewrite

    def train_step(self, data: Any) -> dict[str, Any]:
        """Train on one batch: the forward pass, the loss, the gradients, the update and the
        metrics.

        Override it to train differently. It runs compiled; keep what must change in Variables.

        Args:
            data: What the data source gives: `(x, y)` for arrays, `(x, y, sample_weight)` with
                weights, the element of a Dataset as it is.

        Returns:
            A dictionary from names to values: the logs. A metric's `result()` is shown as it is;
            any other value is averaged over the epoch.
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
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """Return the total loss of a batch: what `compile` was given, and the losses of layers and
        regularizers.

        Override it to compute the loss differently. Calling `compiled_loss` updates the running
        mean named `loss`.

        Args:
            x: The inputs; not needed here, for overriding methods.
            y: The targets.
            y_pred: The outputs.
            sample_weight: A weight per sample.
            training: Whether the loss is for training.
        """
        if self.compiled_loss is None:
            raise RuntimeError(
                "`compute_loss` needs a compiled model. Use `model.compile(optimizer, loss)`."
            )
        return self.compiled_loss(y, y_pred, sample_weight, regularization_losses=self.losses)

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
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
        """Return the results of all `metrics` by name; a result that is a dictionary is merged
        in.
        """
        results: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
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

    def make_train_function(self, force: bool = False) -> Callable:
        """Return the function that `fit` calls with an iterator: it takes the next batch and runs
        `train_step` on it.

        Override it to change how steps are run. What it returns is kept in `train_function` until
        the next `compile`.

        Args:
            force: Make it anew.
        """
        if self.train_function is None or force:
            step = make_logged_step(self.train_step, self._train_counter, self._train_means)
            self.train_function = Execution(
                step, self._steps_per_execution, self.run_eagerly, StepLogs
            )
        return self.train_function

    def make_test_function(self, force: bool = False) -> Callable:
        """Return the function that `evaluate` calls with an iterator; see `make_train_function`."""
        if self.test_function is None or force:
            step = make_logged_step(self.test_step, self._test_counter, self._test_means)
            self.test_function = Execution(
                step, self._steps_per_execution, self.run_eagerly, StepLogs
            )
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Callable:
        """Return the function that `predict` calls with an iterator; see `make_train_function`."""
        if self.predict_function is None or force:
            step = make_predict_step(self.predict_step, self._predict_counter)
            self.predict_function = Execution(step, self._steps_per_execution, self.run_eagerly)
        return self.predict_function

    # ------------------------------------------------------------------ the plumbing

    def _data_for(
        self,
        caller: str,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        steps_per_execution: StepsPerExecution | None = None,
        **options: Any,
    ) -> DataHandler:
        """Return the data of a run, its first batch checked against the model."""
        kind, arguments_of = RUNS[caller]
        x = (
            x.source if isinstance(x, DistributedDataset) else x
        )  # batches are split when they are placed
        own_step = getattr(type(self), f"{kind}_step") is getattr(Model, f"{kind}_step")
        data = DataHandler(
            x,
            y,
            sample_weight,
            batch_size=rows_of(x) if caller.endswith("_on_batch") else batch_size,
            steps_per_epoch=steps,
            steps_per_execution=steps_per_execution or self._steps_per_execution,
            caller=arguments_of,
            output_names=layer_names(self.output) if self.outputs else None,
            same_lengths=own_step,
            **options,
        )
        check_batch(
            self, data.peek(), caller, default_step=own_step, needs_target=kind != "predict"
        )
        if kind != "predict":
            check_labels(self, y)
        return data

    def _callback_list(self, callbacks: Any, verbose: int | str, data: DataHandler) -> CallbackList:
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

    def _autotuner(
        self, execution: Execution | CustomExecution, every_batch: bool, data: DataHandler
    ) -> StepsAutotuner:
        steps = self._steps_per_execution
        return StepsAutotuner(execution, steps.given, steps.auto, every_batch, data)

    def _finalize_optimizer(self) -> None:
        """Apply accumulated gradients that are left, and averages kept beside the weights."""
        if hasattr(self.optimizer, "flush"):
            self.optimizer.flush(self.trainable_variables)
        if hasattr(self.optimizer, "finalize_variable_values"):
            self.optimizer.finalize_variable_values(self.trainable_variables)

    def _on_batch(
        self, run: Callable, data: DataHandler, reset_metrics: bool, return_dict: bool
    ) -> Any:
        logs: dict[str, Any] = {}
        for _, iterator in data.enumerate_epochs():
            if reset_metrics:
                self.reset_metrics()
            logs = running_logs(run(iterator)).copy()
        return logs if return_dict else as_plain_list(logs, self.metrics_names)
