"""TrainingRun: one `fit` as something that can be saved and resumed.

It owns what belongs to a run: the state of the model, the position in the data, the state of the
callbacks, the seeds. It runs validations that are due, sets how many steps an execution fuses, and
calls the two hooks of callbacks that checkpoint runs, such as `BackupAndRestore`. Those decide when
a run is saved, and where. Without one, checkpointing costs nothing.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import jax
import numpy as np

from podium._typing import Tree
from podium.callbacks import Callback, CallbackList, Logs
from podium.callbacks.internal import running_logs
from podium.core import Variable, random_state, set_random_state, warn_user
from podium.data import DataHandler
from podium.execution import Execution
from podium.execution.internal import CustomExecution, StepsAutotuner
from podium.models.training._run_batches import make_autotuner
from podium.models.training._run_limits import RunLimits
from podium.models.training._validator import Validator
from podium.saving.internal import CheckpointContents
from podium.state import restore, snapshot, summarize, variables_by_path
from podium.telemetry.internal import active, clock, measure

if TYPE_CHECKING:
    from podium.models._model import Model

_OTHER_DATA = (
    "{source} was saved while training on other data: {saved} then, {current} now, so its position "
    "in the data does not apply. Pass the same data and batch size to `fit`, or start a new run in "
    "another directory."
)

_NUM_VERIFIED_BATCHES = 2
_LOST_DRAWS = (
    "The data draw random numbers from {0} in {1}. A checkpoint holds the state of the global "
    "generators of one process, and a run that is resumed from it will draw other numbers than one "
    "that is not interrupted. Draw them from a generator for each element, such as "
    "`np.random.default_rng([seed, index])`."
)


class TrainingRun:
    """One `fit`, from its first step to its last, in several processes if it is resumed.

    Callbacks that override `run_context` or `on_safepoint` receive it. For them are `stage`,
    `new_steps`, `limit_steps`, `enable_verification`, `resume_from`, `state`, `interrupted_state`
    and `verify`; the other methods are for the loop in `Model.fit`.

    Args:
        model: The model.
        execution: Runs its steps.
        data: What it is trained on.
        validator: Runs the validations.
        callbacks: The callbacks.
        limits: When the run ends, besides its epochs.

    Attributes:
        stage: The latest safepoint: "begin", "steps" or "epoch_end".
        new_steps: The number of steps between the latest safepoint and the one before.
    """

    def __init__(
        self,
        model: Model,
        execution: Execution | CustomExecution,
        data: DataHandler,
        validator: Validator,
        callbacks: CallbackList,
        limits: RunLimits,
    ):
        self.stage: Literal["begin", "steps", "epoch_end"] = "begin"
        self.new_steps = 0
        self._model = model
        self._execution = execution
        self._data = data
        self._validator = validator
        self._callbacks = callbacks
        self._limits = limits
        self._checkpointers = [callback for callback in callbacks if _checkpoints(callback)]
        self._max_steps = validator.steps_between
        for steps in limits.steps_between:
            self.limit_steps(steps)
        self._autotuner: StepsAutotuner
        self._exits: contextlib.ExitStack
        self._checkpoint: tuple[CheckpointContents, str] | None = None  # to resume from
        self._earlier: Iterable[tuple[CheckpointContents, str]] = ()  # if that one does not fit
        self._resumed_epoch: int | None = None  # an epoch that is resumed in its middle
        self._epoch_logs: Any = None  # of the epoch so far, as saved
        self._values: Any = None  # of the latest execution
        self._position: dict[str, Any] = {}  # in the data, after it
        self._num_steps = 0  # of the run
        self._between_steps = False
        self._before_validation: CheckpointContents | None = None
        self._verification_batch: Tree = None

    def __enter__(self) -> TrainingRun:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._data)
            stack.enter_context(self._callbacks.ensure_end("train"))
            stack.callback(self._set_resumes, False)
            if self._checkpointers:
                self._check_resumable()
                self._record_draws()
                self._validator.on_begin = self._before_each_validation
            for callback in self._checkpointers:
                self._enter_context(stack, callback)
            every_batch = self._callbacks.needs_every_batch("train")
            autotuner = make_autotuner(
                self._model, self._execution, every_batch, self._data, self._max_steps
            )
            self._autotuner = stack.enter_context(autotuner)
            self._data.steps_per_execution = self._autotuner.steps
            self._execution.begin_run()
            self._limits.begin()
            self._limit_next_execution()
            self._exits = stack.pop_all()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exits.__exit__(error_type, error, traceback)

    def _check_resumable(self) -> None:
        """Raise for data that cannot be resumed, and name the callbacks that need it."""
        try:
            self._data.position()
            self._validator.get_state()
        except ValueError as error:
            names = ", ".join(type(callback).__name__ for callback in self._checkpointers)
            raise ValueError(
                f"The callback {names} saves the position in the data, to resume there. {error} "
                f"Pass such data to `fit`, or leave out {names}."
            ) from error

    def _record_draws(self) -> None:
        """Record what the data draw from the global random generators, and warn if a resumed run
        cannot draw it again.
        """
        self._data.record_draws()
        for data in [self._data, *self._validator.record_draws()]:
            drawn, lost = data.draws()
            if lost:
                warn_user(_LOST_DRAWS.format(", ".join(sorted(lost)), "workers"))
            elif drawn and jax.process_count() > 1:
                warn_user(_LOST_DRAWS.format(", ".join(sorted(drawn)), "several processes"))

    def _enter_context(self, stack: contextlib.ExitStack, callback: Callback) -> None:
        """Enter the context of a checkpointer. If leaving it fails after another error, that is
        added to the other error as a note.
        """
        context = callback.run_context(self)
        context.__enter__()

        def leave(
            error_type: type[BaseException] | None,
            error: BaseException | None,
            traceback: TracebackType | None,
        ) -> None:
            try:
                context.__exit__(error_type, error, traceback)
            except Exception as failure:
                if error is None:
                    raise
                if failure is not error:
                    error.add_note(
                        f"Then {type(callback).__name__} failed as well: "
                        f"{type(failure).__name__}: {failure}"
                    )

        stack.push(leave)

    def _set_resumes(self, resumes: bool) -> None:
        for callback in self._callbacks:
            callback._is_resuming = resumes

    # --- for the loop in `Model.fit`

    def resume(self) -> dict[str, Any]:
        """Resume from a checkpoint, if a callback has found one; returns the logs of the last
        completed epoch.
        """
        if active.recorder is not None:
            active.recorder.end_setup()
        if self._checkpoint is None:
            self._call_checkpointers("begin", 0)
            return {}
        contents, source = self._restore_newest(self._checkpoint)
        self._checkpoint, self._earlier = None, ()
        state = contents.state
        if state["fresh"]:  # saved before the first step: only callbacks have state
            self._restore_callbacks(state["callbacks"], source)
            return {}
        self._restore_callbacks(state["callbacks"], source)
        self._validator.set_state(state["validation"])
        self._data.seek(state["position"], ended=state["ended"])
        self._data.read_again(state.get("draws", []))
        set_random_state(state["random"])  # last: the calls above may have drawn random numbers
        self._num_steps = state["taken"]
        if active.recorder is not None:
            active.recorder.resume(self._num_steps)
        self._limits.begin(self._num_steps, state.get("seconds", 0.0))
        self._limit_next_execution()
        self.stage = "epoch_end" if state["ended"] else "steps"
        if state["ended"]:
            logs: dict[str, Any] = state["figures"]
            return logs
        self._resumed_epoch, self._epoch_logs = state["position"]["epoch"], state["figures"]
        return {}

    def _restore_newest(
        self, newest: tuple[CheckpointContents, str]
    ) -> tuple[CheckpointContents, str]:
        """Restore the Variables from the newest checkpoint that fits the model and the data.

        Where steps would be lost, a checkpoint that does not fit raises an error: the run does not
        begin again.
        """
        misfits: list[ValueError] = []
        lost_steps = 0
        for contents, source in itertools.chain([newest], self._earlier):
            state = contents.state
            if state["fresh"] and lost_steps:
                break
            try:
                if not state["fresh"]:
                    self._restore_checkpoint(contents, source)
            except ValueError as error:
                misfits.append(error)
                lost_steps = max(lost_steps, state["taken"])
                continue
            if misfits:
                reasons = summarize([str(error) for error in misfits])
                warn_user(f"{source} is used; newer ones were skipped: {reasons}")
            return contents, source
        raise misfits[0]

    def _restore_checkpoint(self, contents: CheckpointContents, source: str) -> None:
        saved, current = contents.state["data"], self._describe_data()
        if saved != current:
            raise ValueError(
                _OTHER_DATA.format(source=source, saved=_format(saved), current=_format(current))
            )
        self._create_variables(self._data.peek())
        self._restore_variables(contents, source)

    def begin_epoch(self, epoch: int) -> Any:
        """Begin an epoch, or resume it; returns the logs of a resumed epoch so far."""
        logs = None
        if active.recorder is not None:
            active.recorder.begin_epoch(epoch)
        if epoch == self._resumed_epoch:
            self._resumed_epoch, logs = None, self._epoch_logs
            self._callbacks.on_epoch_resumed(epoch)
        else:
            self._model.reset_metrics()
            self._callbacks.on_epoch_begin(epoch)
        if self._checkpointers:
            self._values, self._position, self._between_steps = logs, self._data.position(), True
            self._validator.run_if_due(self._callbacks)  # one that was interrupted
        return logs

    def after_steps(self, values: Any, count: int) -> None:
        """Run what is due after an execution and its callbacks: autotuning, validation,
        checkpoints.

        Args:
            values: What the execution returned.
            count: The number of its steps.
        """
        if self._checkpointers:
            self._values, self._position = values, self._data.position()
        if self._validator.steps_between is not None:
            self._validator.count_steps(count)
        self._num_steps += count  # last: before it, `interrupted_state` returns None
        if not self._autotuner.settled:
            self._data.steps_per_execution = self._autotuner.record(values)
        if self._validator.steps_between is not None:
            self._validator.run_if_due(self._callbacks)
        if self._checkpointers:
            self._before_validation = None
            self._call_checkpointers("steps", count)
        if self._limits.apply:
            self._limit_next_execution()

    def _limit_next_execution(self) -> None:
        if self._limits.apply:
            self._data.max_execution_steps = self._limits.next_steps(self._num_steps)

    def epoch_logs(self, epoch: int, values: Any) -> Logs:
        """Return the logs of an epoch whose steps have run, with those of a validation that is due.

        Args:
            epoch: The epoch.
            values: What its last execution returned.
        """
        self._between_steps = False
        logs = running_logs(values)
        logs.update(self._validator.after_epoch(epoch, self._callbacks))
        return logs

    def after_epoch(self, logs: Logs) -> None:
        """Run the checkpoints that are due after an epoch and its callbacks.

        Args:
            logs: The logs of the epoch, with what callbacks have added.
        """
        if self._checkpointers:
            self._before_validation = None
            self._epoch_logs = dict(logs)
            self._call_checkpointers("epoch_end", 0)

    @property
    def stop_reason(self) -> str:
        """Why the run has ended; see `History.stop_reason`."""
        if self._limits.reached is not None:
            return self._limits.reached
        if self._model.stop_training:
            return "stop_training"
        return "data" if self._data.insufficient_data else "epochs"

    def _call_checkpointers(
        self, stage: Literal["begin", "steps", "epoch_end"], new_steps: int
    ) -> None:
        self.stage, self.new_steps = stage, new_steps
        for callback in self._checkpointers:
            recorder = active.recorder
            start, measured = clock.ns(), 0 if recorder is None else recorder.measured
            try:
                callback.on_safepoint(self)
            finally:
                if recorder is not None:
                    recorder.add_callback(callback, start, measured)

    def _before_each_validation(self) -> None:
        """Keep the state before a validation: a run cannot be resumed in the middle of one."""
        self._before_validation = self._collect_state(epoch_ended=False)

    # --- for callbacks that checkpoint the run; documented in `callbacks/_checkpointable_run.py`

    def limit_steps(self, max_steps: int) -> None:
        """Let no execution fuse more steps, unless `steps_per_execution` was set."""
        self._max_steps = min(max_steps, self._max_steps or max_steps)

    def enable_verification(self) -> None:
        """Keep a batch for `verify`."""
        self._verification_batch = self._data.peek()

    def resume_from(
        self,
        contents: CheckpointContents,
        source: str,
        earlier: Iterable[tuple[CheckpointContents, str]] = (),
    ) -> None:
        """Resume the run from a checkpoint when `fit` begins, or from an earlier one if it does not
        fit; callbacks append to their files.
        """
        self._checkpoint, self._earlier = (contents, source), earlier
        self._set_resumes(True)

    def state(self) -> CheckpointContents:
        """Return all that is needed to resume the run from the latest safepoint."""
        if self.stage == "begin":
            return CheckpointContents({}, {"fresh": True, "callbacks": self._callbacks.get_state()})
        return self._collect_state(epoch_ended=self.stage == "epoch_end")

    def interrupted_state(self) -> CheckpointContents | None:
        """Return all that is needed to resume a run that is interrupted now; during a validation,
        from before it. None where a run cannot be resumed.
        """
        if self._before_validation is not None:
            return self._before_validation
        self._model.distribute_strategy.wait()
        if (
            not self._between_steps
            or not self._num_steps  # the first step creates Variables
            or self._callbacks.implements("on_train_batch_begin")
            or self._model.stop_training
            or int(self._model._train_counter) != self._num_steps
        ):
            return None
        return self._collect_state(epoch_ended=False)

    def verify(self, contents: CheckpointContents, source: str) -> None:
        """Read the next batches and run one step, twice from a state; compare the results, and
        restore the state.

        Raises:
            RuntimeError: The results differ.
        """
        self._verify_step(contents, source)
        self._verify_data(contents.state, source)

    def _verify_data(self, state: dict[str, Any], source: str) -> None:
        """Compare the batches that the run would read next with those that a resumed run reads."""
        reads = []
        if not state["ended"]:  # otherwise the iteration of the next epoch has not started
            reads.append(self._data.read_ahead(_NUM_VERIFIED_BATCHES))
        for _ in range(2):
            self._replay_data(state)
            reads.append(self._data.read_ahead(_NUM_VERIFIED_BATCHES))
        self._replay_data(state)
        expected, *others = [[_batch_bytes(batch) for batch in batches] for batches in reads]
        if any(batches != expected for batches in others):
            raise RuntimeError(
                f"verify_resume: the batches after {source} were read again from the same "
                "position, and differ. The data depend on something that is not in the "
                "checkpoint, such as a generator of random numbers that the code of the data "
                "created. Draw from `np.random` or `random`, whose state is in the checkpoint, or "
                "create the generator for each element: `np.random.default_rng([seed, index])`."
            )

    def _replay_data(self, state: dict[str, Any]) -> None:
        self._data.replay(state["position"], state["ended"])
        self._data.read_again(state["draws"])
        set_random_state(state["random"])

    def _verify_step(self, contents: CheckpointContents, source: str) -> None:
        results = []
        for _ in range(2):
            self._restore_variables(contents, source)
            set_random_state(contents.state["random"])
            self._run_on(self._verification_batch)
            results.append({path: value.numpy() for path, value in self._variables().items()})
        self._restore_variables(contents, source)
        set_random_state(contents.state["random"])
        first, second = results
        paths = [path for path in first if first[path].tobytes() != second[path].tobytes()]
        if paths:
            raise RuntimeError(
                f"verify_resume: the same step, run twice from {source}, gave other values of "
                f"{', '.join(paths[:5])}. Something that the step depends on is not in the "
                "checkpoint. Keep it in a Variable of the model, and draw random numbers with "
                "`podium.random`."
            )

    # --- state

    def _collect_state(self, epoch_ended: bool) -> CheckpointContents:
        self._model.distribute_strategy.wait()  # the state is that of the position in the data
        with measure("saving"):
            return self._copy_state(epoch_ended)

    def _copy_state(self, epoch_ended: bool) -> CheckpointContents:
        logs = self._epoch_logs if epoch_ended else None
        if not epoch_ended and self._values is not None:
            logs = running_logs(self._values).copy()
        # The keys are those of files that exist.
        return CheckpointContents(
            snapshot(self._variables()),
            {
                "fresh": False,
                "ended": epoch_ended,
                "position": self._position,
                "taken": self._num_steps,
                "figures": logs,
                "data": self._describe_data(),
                "validation": self._validator.get_state(),
                "callbacks": self._callbacks.get_state(),
                "random": random_state(),
                "draws": self._data.unused_draws(self._position),
                **self._limits.get_state(),
            },
        )

    def _restore_variables(self, contents: CheckpointContents, source: str) -> None:
        restore(self._variables(), contents.arrays, source)

    def _restore_callbacks(self, states: dict[str, Any], source: str) -> None:
        missing = self._callbacks.set_state(states)
        if missing:
            warn_user(
                f"{source} has the state of callbacks that were not passed to `fit`: "
                f"{', '.join(missing)}."
            )

    def _variables(self) -> dict[str, Variable]:
        return variables_by_path(self._model, self._execution.variables)

    def _create_variables(self, batch: Tree) -> None:
        """Create the Variables that the first step creates, such as the optimizer's slots; a step
        that is not compiled must be run for that.
        """
        with self._data._truncate_execution_to_epoch():
            if self._execution.runs_eagerly:
                self._run_on(batch)
            else:
                self._execution.warm_up(batch, self._data.steps_per_execution)

    def _run_on(self, batch: Tree) -> None:
        """Run an execution in which all batches are the same."""
        steps = self._data.steps_per_execution
        self._execution.run(iter([batch] * steps), steps, steps)

    def _describe_data(self) -> dict[str, Any]:
        adapter = self._data.adapter
        return {
            "kind": adapter.kind,
            "batch_size": adapter.batch_size(),
            "batches": adapter.get_size(),
            "steps": adapter.steps,
        }


def _batch_bytes(batch: Tree) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(batch)]


def _checkpoints(callback: Callback) -> bool:
    """Return whether a callback overrides a hook for checkpoints of the run."""
    cls = type(callback)
    return (
        cls.run_context is not Callback.run_context or cls.on_safepoint is not Callback.on_safepoint
    )


def _format(description: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in description.items() if value is not None)
