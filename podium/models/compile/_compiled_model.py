"""CompiledModel: a network with what `compile` gave it: optimizer, losses, metrics, settings; and
its files.

It owns what is known before training. What happens with data is the conductor's business, in
`_model.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from podium import optimizers
from podium.callbacks import History
from podium.core import Variable
from podium.data import StepsPerExecution
from podium.distribute import get_strategy
from podium.models._network import Network
from podium.models.compile._compile_config import compile_config, compile_from_config
from podium.models.compile._compiled_loss import CompiledLoss
from podium.models.compile._compiled_metrics import CompiledMetrics
from podium.models.compile._scope_check import check_one_scope
from podium.models.compile._trainable_state import TrainableState
from podium.models.training._argument_checks import check_compile, no_more_arguments
from podium.models.training._counters import Counters
from podium.models.training._run_guard import is_fitting
from podium.models.training._running_means import RunningMeans
from podium.saving import LoadReport, export_model, save_model
from podium.saving.internal import read_weights, write_weights


class CompiledModel(Network):
    """A network that can be told how to train, and be saved with that. `Model` adds the
    training.
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
            loss: A name, a function `(y_true, y_pred)` or a Loss, for all outputs; or a list or
                dictionary of them, one per output. None if `train_step` or `add_loss` do it all.
            metrics: Names, functions or Metrics: a list for all outputs, or a list of lists or
                dictionary per output.
            loss_weights: How much each output's loss counts: a list or dictionary of numbers.
            weighted_metrics: Like `metrics`, for those that shall take sample weights into account.
            run_eagerly: Run steps as plain Python, for debugging.
            steps_per_execution: How many steps one compiled call takes. Per-batch callbacks are
                called once per call. "auto" fuses as many quick steps as pays when nobody listens
                to single batches, and changes nothing else.
            jit_compile: Accepted for Keras's signature; steps are always compiled by XLA unless
                `run_eagerly`.
            **kwargs: Nothing else is accepted, but for Keras's `auto_scale_loss`.

        Raises:
            ValueError: A name is unknown, or what was given does not fit the outputs.

        Example:
            >>> model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(1)])
            >>> model.compile(optimizer="adm")
            Traceback (most recent call last):
            ValueError: Unknown optimizer 'adm'. Did you mean 'adam'? Choices: ...
        """
        no_more_arguments(
            CompiledModel.compile,
            kwargs,
            allowed=("auto_scale_loss", "pss_evaluation_shards", "from_serialized"),
        )
        check_compile(run_eagerly, steps_per_execution, jit_compile)
        self._check_initialized()
        outputs = self.output if self.outputs else None
        with self.distribute_strategy.scope():
            # Everything is made before anything is replaced: a wrong argument leaves the model as
            # it was.
            made = optimizers.get(optimizer)
            compiled_loss = CompiledLoss(loss, loss_weights, outputs)
            compiled_metrics = CompiledMetrics(metrics, weighted_metrics, outputs)
        check_one_scope(
            self, self.distribute_strategy, made, [metrics, weighted_metrics, self._owned_metrics()]
        )
        self.optimizer, self.loss = made, loss
        self.compiled_loss, self.compiled_metrics = compiled_loss, compiled_metrics
        self.train_function = self.test_function = self.predict_function = None
        self._run_eagerly, self._jit_compile = bool(run_eagerly), jit_compile
        if steps_per_execution in (
            None,
            "auto",
        ):  # found by the clock, on which several processes would not agree
            steps_per_execution = 1 if self.distribute_strategy.spans_processes else "auto"
        self._steps_per_execution = StepsPerExecution(steps_per_execution)
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

    def save(
        self, filepath: Any, overwrite: bool = True, save_format: str | None = None, **kwargs: Any
    ) -> None:
        """Save the whole model to one file: description, weights, compiled state; a failed save
        leaves an old file whole.

        Args:
            filepath: Where to. Names that end in `.h5` get Keras 2's format; all others are
                `.keras` archives at exactly that path. A name without an extension needs
                `save_format`.
            overwrite: Whether an existing file may be replaced.
            save_format: "keras" or "h5", to overrule the name.
            **kwargs: `include_optimizer=False` leaves the compiled state out; see
                `saving.save_model`.
        """
        if self.distribute_strategy.is_chief:
            save_model(self, filepath, overwrite, save_format, **kwargs)

    def export(self, filepath: Any, format: str = "jax", **kwargs: Any) -> None:
        """Write the model as a program that runs without its code: any batch size, weights inside,
        `training=False`.

        Args:
            filepath: A file; for "tf_saved_model" a directory.
            format: "jax" for `jax.export`'s form, which `saving.load_exported` or plain JAX runs;
                "tf_saved_model" (needs tensorflow) or "onnx" (needs jax2onnx).
            **kwargs: `input_signature`, `platforms`, `overwrite`; see `saving.export_model`.

        Example:
            >>> import os, tempfile
            >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     model.export(os.path.join(folder, "model.jax"))
            ...     program = jax.export.deserialize(bytearray(open(os.path.join(folder, "model.jax"), "rb").read()))
            >>> program.call(np.ones((4, 3), "float32")).shape
            (4, 2)
        """
        if self.distribute_strategy.is_chief:
            export_model(self, filepath, format, **kwargs)

    def get_compile_config(self) -> dict[str, Any] | None:
        """Return as plain data how the model was compiled, or None if it was not; override it with
        `compile_from_config`.
        """
        return compile_config(self)

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compile the model as `get_compile_config` says; override it together with a `compile` of
        your own.
        """
        compile_from_config(
            self, config, has_own_compile=type(self).compile is not CompiledModel.compile
        )

    def save_weights(
        self, filepath: Any, overwrite: bool = True, save_format: Any = None, options: Any = None
    ) -> None:
        """Write all weights to a file at exactly this path; a failed write leaves an old file
        whole.

        Args:
            filepath: Where to; any suffix, or none. `.weights.h5` gets Keras 3's layout of HDF5,
                `.safetensors` that format, all others Keras 2's layout. With a slash at the end it
                is a checkpoint directory.
            overwrite: Whether an existing file may be replaced.
            save_format: None, "h5" or "safetensors".
            options: Accepted for Keras's signature: None.
        """
        if self.distribute_strategy.is_chief:
            write_weights(self, filepath, overwrite, save_format, options)

    def load_weights(
        self, filepath: Any, by_name: bool = False, skip_mismatch: bool = False, options: Any = None
    ) -> LoadReport:
        """Read weights from a file of weights or of a whole model, ours or Keras's. Nothing changes
        unless everything fits.

        Args:
            filepath: The file; or a directory of checkpoints; or, if tensorflow is installed, its
                checkpoint or SavedModel.
            by_name: Match layers by name instead of order, and leave out those that only one side
                has.
            skip_mismatch: Leave out weights of other shapes, with a warning.
            options: Accepted for Keras's signature: None.

        Returns:
            What was loaded, and with `by_name` or `skip_mismatch` what was left.
        """
        return read_weights(self, filepath, by_name, skip_mismatch, options)

    @property
    def metrics(self) -> list[Any]:
        """All metrics: the loss, those given to `compile`, those of layers and of the model's own
        attributes.

        They are reset at the start of every epoch and of every `evaluate`. Override it to list
        metrics kept elsewhere.
        """
        found = []
        if self.compiled_loss is not None and self.compiled_metrics is not None:
            found = [*self.compiled_loss.metrics, *self.compiled_metrics.metrics]
        found += self._owned_metrics()
        return list({id(metric): metric for metric in found}.values())

    def _state_attributes(self) -> dict[str, object]:
        return {**super()._state_attributes(), "optimizer": self.optimizer}

    def _training_variables(self) -> dict[str, Variable]:
        """Return the variables of training besides weights and slots, by path; see
        `podium.state`.
        """
        sums = {
            f"metrics/{place}_{metric.name}/{index}": variable
            for place, metric in enumerate(self.metrics)
            for index, variable in enumerate(metric.variables)
        }
        means = {f"means/{','.join(names)}": total for names, total in self._train_means.by_names()}
        return {**sums, **means, "counters/train": self._train_counter}

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

    @contextlib.contextmanager
    def _metrics_apart(self) -> Iterator[None]:
        """Keep what the metrics have gathered in a running epoch, while they are used for an
        evaluation inside it.
        """
        kept = []
        if is_fitting(self):
            gathered = [*self.metrics, self._train_means]
            kept = [
                (variable, variable.value) for metric in gathered for variable in metric.variables
            ]
        try:
            yield
        finally:
            for variable, value in kept:
                variable.assign(value)

    def __getstate__(self) -> dict[str, Any]:
        """Leave compiled functions out of copies: they belong to this model, and are made anew when
        needed.
        """
        return {
            **super().__getstate__(),
            "train_function": None,
            "test_function": None,
            "predict_function": None,
            "history": None,
        }
