"""BackupAndRestore: checkpoints of a whole run while it goes, and the way back into it after it was
killed.

It decides when a run is saved, and to where. What belongs to a run is the conductor's business
(`models/training/_training_run.py`), files are `podium/saving`'s.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

import jax

from podium.callbacks._callback import Callback
from podium.callbacks._console import write_stdout
from podium.saving import CheckpointManager
from podium.saving.internal import Contents, dump, encoded


class BackupAndRestore(Callback):
    """Saves the whole run, and continues it when `fit` is called again after the process was
    killed, at whatever instant.

    A checkpoint holds weights, the optimizer's state, metrics in the middle of an epoch, seeds, the
    place in the data, what callbacks remember (`Callback.get_state`), and the History. The
    continued run ends with the same weights, History and logs, bit for bit, as one that was never
    interrupted, on the same machine. Call `fit` with the same arguments; a larger `epochs` and
    other arguments of callbacks are fine.

    Checkpoints are written beside and renamed, with digests. A damaged one is skipped, with a
    warning that says why, for the one before. When training has ended they are deleted.

    Args:
        backup_dir: A directory for the checkpoints of this `fit` alone.
        save_freq: "epoch", or a number of steps; None for only what the other arguments ask for.
            With `steps_per_execution=k` a save that is due takes place after the execution in which
            it fell due; "auto" takes no more steps at once.
        double_checkpoint: Whether to keep the checkpoint before the newest too.
        delete_checkpoint: Whether to delete the checkpoints when training has ended by itself.
        seconds: Save also when so many seconds have passed since the last time.
        on_sigterm: Whether to save and leave when the process is asked to end (SIGTERM), as
            schedulers do with machines that they take away: SystemExit is raised. It needs `fit` to
            run in the main thread.
        grace_seconds: How long that may take. If no step has ended by then, the process ends
            without a new checkpoint.
        exit_code: The code that the process ends with then, for whoever starts it again.
        on_exception: Whether to save when an error or Ctrl-C ends training between two steps, so
            that nothing is lost. In the middle of what callbacks do, nothing is saved: the last
            checkpoint stands.
        verify_resume: Whether to prove, with the first checkpoint, that a run can be continued from
            it: it is read back and compared bit by bit, and one step is taken from it twice, which
            must come to the same.
        asynchronous: Whether a thread writes while training goes on. A failed write is raised after
            the next step.
        save_before_preemption: Keras 2's name for `on_sigterm`.
        verbose: 1 to say what is restored and saved.

    Raises:
        ValueError: The data cannot be put back to a place in the middle, as with a generator; or a
            checkpoint is there that does not fit the model or the data. Nothing has been trained
            then.

    Example:
        >>> import tempfile
        >>> def train(epochs, *more):
        ...     podium.utils.set_random_seed(1)
        ...     model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        ...     model.compile("adam", "mse")
        ...     x = np.arange(64.0).reshape(64, 1)
        ...     return model.fit(x, 2 * x, epochs=epochs, callbacks=list(more), verbose=0).history["loss"]
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
        ...     continued = train(4, backup)
        the machine is gone
        >>> len(continued), continued == train(4)
        (4, True)
    """

    every_batch = False
    every_worker = True
    _keeps_run = True

    def __init__(
        self,
        backup_dir: Any,
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
        self.most_steps: int | None = save_freq if by_steps else None  # type: ignore[assignment]
        self._manager = CheckpointManager(self.backup_dir)
        self._serial = 0
        self._steps = 0
        self._saved_at = 0.0
        self._verified = False
        self._signalled = False
        self._course: Any = None
        self._handler: Any = None
        self._handles = False
        self._watchdog: threading.Timer | None = None

    def get_state(self) -> None:
        """Remember nothing: when to save next does not change what is trained."""

    # --- the run

    def before_run(self, course: Any) -> None:
        """Look for a checkpoint to go on from, and listen to signals."""
        keep = 2 if self.double_checkpoint else 1
        self._manager = manager = CheckpointManager(self.backup_dir, keep, self.asynchronous)
        manager.hold()
        try:
            _refuse_keras_backup(self.backup_dir)
            found = manager.restore()
        except BaseException:
            manager.release()
            raise
        self._course = course
        self._serial = max(manager.all_steps(), default=-1) + 1
        self._steps, self._saved_at = 0, time.monotonic()
        self._verified, self._signalled = not self.verify_resume, False
        if found is not None:
            where = f"Checkpoint {found.step} in {self.backup_dir!r}"
            course.continue_from(Contents(found.arrays, found.state), where)
            self._say(f"going on from checkpoint {found.step}")
        if self.on_sigterm and threading.current_thread() is threading.main_thread():
            self._handler, self._handles = signal.signal(signal.SIGTERM, self._hear), True

    def run_begins(self, course: Any) -> None:
        """Save what callbacks remember before the first step, such as how long a log is that they
        append to.
        """
        self._save(course.fresh_state())

    def after_step(self, course: Any, count: int) -> None:
        """Save if that is due; leave if the process was asked to."""
        self._manager.check()
        self._steps += count
        by_steps = self.most_steps is not None and self._steps >= self.most_steps
        by_time = self.seconds is not None and time.monotonic() - self._saved_at >= self.seconds
        if self._signalled:
            self._leave(course.state())
        elif by_steps or by_time:
            self._save_run(course.state())

    def after_epoch(self, course: Any) -> None:
        """Save if that is due; leave if the process was asked to."""
        self._manager.check()
        if self._signalled:
            self._leave(course.state(ended=True))
        elif self.save_freq == "epoch":
            self._save_run(course.state(ended=True))

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Leave in the middle of a validation, if the process was asked to."""
        if self._signalled:
            self._leave(self._course.state_before_validation())

    def after_run(self, course: Any, error: BaseException | None) -> None:
        """Save what an error would lose, or delete what nobody needs any more; let everything
        go.
        """
        try:
            if error is None and self._signalled:
                self._leave(None)
            if error is not None and self.on_exception and not self._signalled:
                state = course.state_after_error()
                if state is not None:
                    self._save(state)
            self._manager.wait()
            if error is None and self.delete_checkpoint and jax.process_index() == 0:
                self._manager.delete_all()
        finally:
            if self._handles:
                signal.signal(signal.SIGTERM, self._handler)
                self._handler, self._handles = None, False
            if self._watchdog is not None:
                self._watchdog.cancel()
                self._watchdog.join()
                self._watchdog = None
            self._course = None
            try:
                self._manager.wait()
            finally:
                self._manager.release()

    # --- saving

    def _save_run(self, contents: Contents) -> None:
        if not self.model.stop_training:  # the rest is quickly done again, and must be done
            self._save(contents)

    def _save(self, contents: Contents) -> None:
        number, self._serial = self._serial, self._serial + 1
        self._manager.save(number, contents.arrays, contents.state)
        if self.most_steps is not None:
            self._steps %= self.most_steps
        self._saved_at = time.monotonic()
        self._say(f"saved checkpoint {number}")
        if not self._verified and not contents.state["fresh"]:
            self._verified = True
            self._verify(number, contents)

    def _verify(self, number: int, contents: Contents) -> None:
        self._manager.wait()
        found = self._manager.restore(step=number)
        assert found is not None
        where = f"checkpoint {number} in {self.backup_dir!r}"
        for path, value in contents.arrays.items():
            if jax.numpy.asarray(value).tobytes() != found.arrays[path].tobytes():
                raise RuntimeError(f"verify_resume: {path!r} of {where} is not what was saved.")
        if _bytes_of(found.state) != _bytes_of(contents.state):
            raise RuntimeError(f"verify_resume: the state in {where} is not what was saved.")
        self._course.replay(Contents(found.arrays, found.state), where)
        self._say(f"verified that a run can go on from checkpoint {number}")

    def _say(self, text: str) -> None:
        if self.verbose > 0:
            write_stdout(f"\nBackupAndRestore: {text}\n")

    # --- being asked to end

    def _hear(self, number: int, frame: Any) -> None:
        """Take note of SIGTERM, and see to it that the process ends in time even if no step
        does.
        """
        if not self._signalled:
            self._signalled = True
            self._watchdog = threading.Timer(self.grace_seconds, os._exit, (self.exit_code,))
            self._watchdog.daemon = True
            self._watchdog.start()

    def _leave(self, contents: Contents | None) -> None:
        if contents is not None and not self.model.stop_training:
            self._save(contents)
            self._manager.wait()
        sys.stderr.write(
            "The process was asked to end (SIGTERM). Start it again to go on from "
            f"{self.backup_dir!r}.\n"
        )
        raise SystemExit(self.exit_code)


def _bytes_of(state: Any) -> tuple[str, list[bytes]]:
    arrays: dict[str, Any] = {}
    return dump(encoded(state, arrays)), [array.tobytes() for array in arrays.values()]


def _refuse_keras_backup(folder: str) -> None:
    """Refuse a directory that Keras has written: beginning anew beside what should be continued
    would lose it unseen.
    """
    if os.path.lexists(os.path.join(folder, "training_metadata.json")):
        raise ValueError(
            f"backup_dir={folder!r} holds training_metadata.json, the metadata of a backup by "
            "Keras, whose epoch cannot be continued here: it has no place in the data and no state "
            "of callbacks. Load its weights with `load_weights`, give `fit` an initial_epoch, and "
            "back up to another directory."
        )
