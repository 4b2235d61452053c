"""BackupAndRestore: checkpoints of a whole run, and resuming it after the process was killed.

It decides when a run is saved, and where. What belongs to a run is in
`models/training/_training_run.py`; files are written by `podium/saving`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import jax

from podium._typing import Logs, PathLike
from podium.callbacks._callback import Callback
from podium.callbacks._checkpointable_run import CheckpointableRun
from podium.callbacks._console import write_stdout
from podium.distribute.internal import (
    LauncherConnection,
    launcher_connection,
    report_checkpoint,
    should_grow_at_checkpoint,
)
from podium.saving import CheckpointManager, Restored
from podium.saving.internal import CheckpointContents, contain_shards, dump_json, encode


class BackupAndRestore(Callback):
    """Saves the whole run, and resumes it when `fit` is called again after the process was killed.

    A checkpoint holds weights, the optimizer's state, metrics in the middle of an epoch, seeds, the
    position in the data, the state of callbacks (`Callback.get_state`), and the History. The
    resumed run ends with the same weights, History and logs, bit for bit, as one that was never
    interrupted, on the same machine. Call `fit` with the same arguments; a larger `epochs` and
    other arguments of callbacks are fine.

    Checkpoints are written to another name and renamed, with checksums. If the newest one is
    corrupt or does not fit the model, the one before it is used, with a warning and the reason.
    The one from the beginning, before the first step, has only the state of callbacks. When
    training has ended they are deleted.

    Args:
        backup_dir: A directory for the checkpoints of this `fit` alone.
        save_freq: "epoch", or a number of steps; None to save only as the other arguments specify.
            With `steps_per_execution=k` a checkpoint is saved after the execution in which it falls
            due; "auto" fuses no more steps than that.
        double_checkpoint: Whether to keep the previous checkpoint as well as the newest.
        delete_checkpoint: Whether to delete the checkpoints when training has ended normally.
        seconds: Save also when this number of seconds has passed since the last checkpoint.
        on_sigterm: Whether to save and exit when the process receives SIGTERM, which schedulers
            send before they preempt a machine: SystemExit is raised. `fit` must run in the main
            thread.
        grace_seconds: How long that may take. If no step has ended by then, the process exits
            without a new checkpoint.
        exit_code: The exit code of the process in that case, for the program that restarts it.
        on_exception: Whether to save when an error or Ctrl-C ends training between two steps, so
            that no step is lost. If it occurs while callbacks run, nothing is saved, and the last
            checkpoint stays.
        verify_resume: Whether to verify, with the first checkpoint, that a run can be resumed from
            it: it is read and compared bit by bit; one step is run from it twice, which must give
            the same result; and the next batches are read again, which must be the same.
        asynchronous: Whether a thread writes while training continues. A failed write is raised
            after the next step.
        save_before_preemption: Keras 2's name for `on_sigterm`.
        verbose: 1 to print what is restored and saved.

    Raises:
        ValueError: The data cannot be resumed at a position, as with a generator; or there is a
            checkpoint that does not match the model or the data. Nothing has been trained in that
            case.

    Example:
        >>> import tempfile
        >>> def train(epochs, *more):
        ...     podium.utils.set_random_seed(1)
        ...     model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        ...     model.compile("adam", "mse")
        ...     x = np.arange(64.0).reshape(64, 1)
        ...     history = model.fit(x, 2 * x, epochs=epochs, callbacks=list(more), verbose=0)
        ...     return history.history["loss"]
        >>> class Fails(podium.callbacks.Callback):
        ...     def on_epoch_begin(self, epoch, logs=None):
        ...         if epoch == 2:
        ...             raise OSError("the machine is gone")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     backup = podium.callbacks.BackupAndRestore(folder)
        ...     try:
        ...         train(4, Fails(), backup)
        ...     except OSError as error:
        ...         print(error)
        ...     resumed = train(4, backup)
        the machine is gone
        >>> len(resumed), resumed == train(4)
        (4, True)
    """

    every_batch = False
    every_worker = True

    def __init__(
        self,
        backup_dir: PathLike | bytes,
        save_freq: int | str | None = "epoch",
        double_checkpoint: bool = True,
        delete_checkpoint: bool = True,
        *,
        seconds: float | None = None,
        on_sigterm: bool = True,
        grace_seconds: float = 25.0,
        exit_code: int = 75,
        on_exception: bool = True,
        verify_resume: bool = False,
        asynchronous: bool = False,
        save_before_preemption: bool | None = None,
        verbose: int = 0,
    ):
        super().__init__()
        if not isinstance(backup_dir, (str, bytes, os.PathLike)) or not os.fspath(backup_dir):
            raise ValueError(
                f"BackupAndRestore was given backup_dir={backup_dir!r}; the path of a directory "
                "was expected."
            )
        by_steps = isinstance(save_freq, int) and not isinstance(save_freq, bool) and save_freq > 0
        if not by_steps and save_freq is not False and save_freq not in ("epoch", None):
            raise ValueError(
                f"BackupAndRestore was given save_freq={save_freq!r}; 'epoch', a number of steps "
                "or None was expected."
            )
        if seconds is not None and not seconds > 0:
            raise ValueError(
                f"BackupAndRestore was given seconds={seconds!r}; a number above 0 was expected, "
                "or None."
            )
        self.backup_dir = os.fsdecode(backup_dir)
        self.save_freq = save_freq
        self.double_checkpoint = double_checkpoint
        self.delete_checkpoint = delete_checkpoint
        self.seconds = seconds
        self.on_sigterm = on_sigterm if save_before_preemption is None else save_before_preemption
        self.grace_seconds = grace_seconds
        self.exit_code = exit_code
        self.on_exception = on_exception
        self.verify_resume = verify_resume
        self.asynchronous = asynchronous
        self.verbose = verbose
        self._max_steps: int | None = save_freq if by_steps else None  # type: ignore[assignment]
        self._manager = CheckpointManager(self.backup_dir)
        self._serial = 0
        self._steps = 0
        self._saved_at = 0.0
        self._verified = False
        self._signalled = False
        self._run: CheckpointableRun | None = None
        self._handler: Any = None  # the one that SIGTERM had before
        self._handles = False
        self._watchdog: threading.Timer | None = None
        self._launcher: LauncherConnection | None = None  # while its signals are handled here

    def get_state(self) -> None:
        """Return None: when to save next does not change what is trained."""

    # --- the run

    @contextlib.contextmanager
    def run_context(self, run: CheckpointableRun) -> Iterator[None]:
        """Resume from the newest checkpoint, and save what an error would lose; delete the
        checkpoints when training has ended.
        """
        self._begin(run)
        try:
            try:
                yield
            except BaseException:
                self._save_interrupted(run)
                raise
            if self._signalled or (self._launcher is not None and self._launcher.stops):
                self._exit_process(None)
            self._manager.wait()
            if self.delete_checkpoint and jax.process_index() == 0:
                self._manager.delete_all()
        finally:
            self._end()

    def on_safepoint(self, run: CheckpointableRun) -> None:
        """Save if that is due; exit if the process received SIGTERM."""
        if self._launcher is not None and self._launcher.pass_safepoint():
            self._signalled = True
        if run.stage == "begin":  # callbacks have state, such as the length of a log to append to
            self._save(run.state())
            return
        self._manager.check()
        self._steps += run.new_steps
        if self._signalled:
            self._exit_process(run.state())
        elif not self.model.stop_training:
            # At these safepoints all workers are at the same step, whatever their clocks say.
            workers_agree = run.stage == "epoch_end" or self._is_due_by_steps()
            saves = self._is_due(run)
            if saves:
                self._save(run.state())
            if workers_agree and should_grow_at_checkpoint(self.model.distribute_strategy):
                self._exit_to_grow(None if saves else run.state())

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Exit in the middle of a validation, if the process received SIGTERM."""
        if self._signalled and self._run is not None:
            self._exit_process(self._run.interrupted_state())

    def _begin(self, run: CheckpointableRun) -> None:
        """Find a checkpoint to resume from, and handle SIGTERM."""
        max_to_keep = 2 if self.double_checkpoint else 1
        self._manager = manager = CheckpointManager(self.backup_dir, max_to_keep, self.asynchronous)
        manager.hold()
        try:
            _check_not_from_keras(self.backup_dir)
            checkpoints = manager.restore_all()
            checkpoint = next(checkpoints, None)
            if self._max_steps is not None:
                run.limit_steps(self._max_steps)
            if self.verify_resume:
                run.enable_verification()
        except BaseException:
            manager.release()
            raise
        self._run = run
        self._serial = max(manager.all_steps(), default=-1) + 1
        self._steps, self._saved_at = 0, time.monotonic()
        self._verified, self._signalled = not self.verify_resume, False
        if checkpoint is not None:
            run.resume_from(*self._describe(checkpoint), earlier=map(self._describe, checkpoints))
            self._report(f"resuming from checkpoint {checkpoint.step}")
        if self.on_sigterm and threading.current_thread() is threading.main_thread():
            self._handler, self._handles = signal.signal(signal.SIGTERM, self._on_signal), True
            self._launcher = launcher_connection()
            if self._launcher is not None:
                self._launcher.is_stoppable = True

    def _describe(self, checkpoint: Restored) -> tuple[CheckpointContents, str]:
        contents = CheckpointContents(checkpoint.arrays, checkpoint.state)
        return contents, f"Checkpoint {checkpoint.step} in {self.backup_dir!r}"

    def _save_interrupted(self, run: CheckpointableRun) -> None:
        if self.on_exception and not self._signalled:
            state = run.interrupted_state()
            if state is not None:
                self._save(state)
        self._manager.wait()

    def _end(self) -> None:
        """Release signals, threads and the directory."""
        if self._launcher is not None:
            self._launcher.is_stoppable = False
            self._launcher = None
        if self._handles:
            signal.signal(signal.SIGTERM, self._handler)
            self._handler, self._handles = None, False
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog.join()
            self._watchdog = None
        self._run = None
        try:
            self._manager.wait()
        finally:
            self._manager.release()

    # --- saving

    def _is_due(self, run: CheckpointableRun) -> bool:
        if run.stage == "epoch_end":
            return self.save_freq == "epoch"
        by_time = self.seconds is not None and time.monotonic() - self._saved_at >= self.seconds
        return by_time or self._is_due_by_steps()

    def _is_due_by_steps(self) -> bool:
        return self._max_steps is not None and self._steps >= self._max_steps

    def _save(self, contents: CheckpointContents) -> None:
        number, self._serial = self._serial, self._serial + 1
        self._manager.save(number, contents.arrays, contents.state)
        if self._max_steps is not None:
            self._steps %= self._max_steps
        self._saved_at = time.monotonic()
        self._report(f"saved checkpoint {number}")
        if not contents.state["fresh"] and jax.process_index() == 0:
            report_checkpoint(self.backup_dir, contents.state["taken"])
        if not self._verified and not contents.state["fresh"]:
            self._verified = True
            self._verify(number, contents)

    def _verify(self, number: int, contents: CheckpointContents) -> None:
        self._manager.wait()
        assert self._run is not None
        source = f"checkpoint {number} in {self.backup_dir!r}"
        if jax.process_index() == 0 or contain_shards(list(contents.arrays.values())):
            contents = self._read_back(number, contents, source)
        self._run.verify(contents, source)
        self._report(f"verified that a run can be resumed from checkpoint {number}")

    def _read_back(
        self, number: int, contents: CheckpointContents, source: str
    ) -> CheckpointContents:
        """Return what is in a checkpoint, which must be what was saved."""
        checkpoint = self._manager.restore(step=number)
        assert checkpoint is not None
        for path, value in contents.arrays.items():
            if jax.numpy.asarray(value).tobytes() != checkpoint.arrays[path].tobytes():
                raise RuntimeError(f"verify_resume: {path!r} of {source} is not what was saved.")
        if _to_bytes(checkpoint.state) != _to_bytes(contents.state):
            raise RuntimeError(f"verify_resume: the state in {source} is not what was saved.")
        return CheckpointContents(checkpoint.arrays, checkpoint.state)

    def _report(self, text: str) -> None:
        if self.verbose > 0:
            write_stdout(f"\nBackupAndRestore: {text}\n")

    # --- SIGTERM

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Record SIGTERM, and let the process exit in time even if no step ends."""
        if not self._signalled:
            self._signalled = True
            self._watchdog = threading.Timer(self.grace_seconds, os._exit, (self.exit_code,))
            self._watchdog.daemon = True
            self._watchdog.start()

    def _exit_process(self, contents: CheckpointContents | None) -> None:
        if contents is not None and not self.model.stop_training:
            self._save(contents)
            self._manager.wait()
        sys.stderr.write(
            "The process received SIGTERM and exits. Start it again to resume from "
            f"{self.backup_dir!r}.\n"
        )
        raise SystemExit(self.exit_code)

    def _exit_to_grow(self, contents: CheckpointContents | None) -> None:
        """Exit at a checkpoint: `podium launch --ray` continues from it with more workers."""
        if contents is not None:
            self._save(contents)
        self._manager.wait()
        self._signalled = True  # nothing more is saved
        raise SystemExit(self.exit_code)


def _to_bytes(state: object) -> tuple[str, list[bytes]]:
    arrays: dict[str, Any] = {}
    return dump_json(encode(state, arrays)), [array.tobytes() for array in arrays.values()]


def _check_not_from_keras(folder: str) -> None:
    """Raise for a directory that Keras has written: to start a new run there would silently lose
    the old one.
    """
    if os.path.lexists(os.path.join(folder, "training_metadata.json")):
        raise ValueError(
            f"backup_dir={folder!r} holds training_metadata.json, the metadata of a backup by "
            "Keras, which cannot be resumed here: it has no position in the data and no state of "
            "callbacks. Load its weights with `load_weights`, pass an initial_epoch to `fit`, and "
            "back up to another directory."
        )
