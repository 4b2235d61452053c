"""CheckpointManager: a row of checkpoints in one directory. It saves, keeps the last few, and
restores the newest whole one.

What one checkpoint looks like on the disk is `_checkpoint_directory.py`'s affair.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax

from podium.core import Variable, check_choice, warn_user
from podium.saving.checkpoints import _orbax
from podium.saving.checkpoints._checkpoint_directory import Contents, Damaged, read, verify, write
from podium.saving.io._file_lock import lock_folder
from podium.state import restore, sharding_by_path, snapshot, variables_by_path

NAME = re.compile(r"checkpoint-(\d{1,18})")
_TEMPORARY = re.compile(r"\.checkpoint-\d{1,18}\.[0-9a-z]+\.tmp")


class Restored(NamedTuple):
    """What `CheckpointManager.restore` found.

    Attributes:
        step: The number of the checkpoint.
        arrays: Its arrays by path.
        state: The plain data that was saved with them.
        skipped: What newer checkpoints were passed over, by number, and why.

    Example:
        >>> podium.saving.Restored(3, {}, None, {4: "is incomplete"}).step
        3
    """

    step: int
    arrays: dict[str, Any]
    state: Any
    skipped: dict[int, str]


class CheckpointManager:
    """Keeps the last few checkpoints of a model in a directory, each absent or whole.

    A checkpoint is a folder with all state of a model by its paths: weights, optimizer slots,
    seeds, sums of metrics; and plain data of yours. It is written under another name, flushed and
    renamed, with a manifest of sizes and digests; a process that is killed while it saves leaves
    the ones before as they were. `fit` does this by itself, for the whole run, with
    `callbacks.BackupAndRestore`.

    Args:
        directory: Where to. It is made when something is saved.
        max_to_keep: How many checkpoints to keep; the oldest are deleted after a new one is whole.
            None keeps all.
        asynchronous: Whether `save` returns at once and a thread writes. What goes wrong there is
            raised by the next `save`, `check` or `wait`, whichever comes first.
        format: "safetensors" for one file of all arrays, "orbax" for arrays written by Orbax, or
            "auto": Orbax if arrays have parts in other processes, which one process cannot write
            alone.

    Example:
        >>> import tempfile
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     manager = podium.saving.CheckpointManager(folder, max_to_keep=2)
        ...     for step in (10, 20, 30):
        ...         manager.save(step, model, state={"note": f"after {step}"})
        ...     manager.all_steps(), manager.restore(model).state
        ([20, 30], {'note': 'after 30'})
    """

    def __init__(
        self,
        directory: Any,
        max_to_keep: int | None = 5,
        asynchronous: bool = False,
        format: str = "auto",
    ):
        if max_to_keep is not None and (
            isinstance(max_to_keep, bool) or not isinstance(max_to_keep, int) or max_to_keep < 1
        ):
            raise ValueError(
                f"CheckpointManager was given max_to_keep={max_to_keep!r}; a whole number from "
                "1, or None."
            )
        self.directory = os.path.abspath(os.fsdecode(directory))
        self.max_to_keep = max_to_keep
        self.asynchronous = asynchronous
        self.format = check_choice("format", format, ["auto", "safetensors", "orbax"])
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._lock: int | None = None  # a descriptor, while the directory is ours alone

    # --- saving

    def save(self, step: int, target: Any, state: Any = None) -> None:
        """Save a checkpoint.

        Args:
            step: Its number, 0 or more. The one with the largest number is the newest.
            target: A model; or a dictionary of names to arrays or Variables.
            state: Plain data to keep with it: numbers, text, lists, dictionaries, NumPy arrays.

        Raises:
            FileExistsError: There is a checkpoint of this number.
            OSError: It could not be written, or (asynchronously) the one before could not.
        """
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise ValueError(
                f"CheckpointManager.save was given step={step!r}; a whole number from 0 was "
                "expected."
            )
        self.wait()
        contents = Contents(_values(target), state)
        with_orbax = self.format == "orbax" or (
            self.format == "auto" and _orbax.is_needed(list(contents.arrays.values()))
        )
        if not self.asynchronous:
            self._write(step, contents, with_orbax)
            return

        def write_and_note() -> None:
            try:
                self._write(step, contents, with_orbax)
            except BaseException as error:
                self._failure = error

        self._thread = threading.Thread(target=write_and_note, name="podium-checkpoint")
        self._thread.start()

    def check(self) -> None:
        """Raise what went wrong in an asynchronous save, if that is known by now."""
        if self._thread is not None and not self._thread.is_alive():
            self.wait()

    def wait(self) -> None:
        """Wait until an asynchronous save has ended, and raise what went wrong in it."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _write(self, step: int, contents: Contents, with_orbax: bool) -> None:
        os.makedirs(self.directory, exist_ok=True)
        with self._locked():
            write(self._path(step), contents, with_orbax)
            kept = self.all_steps()
            for old in (
                kept[: -self.max_to_keep] if self.max_to_keep is not None and _is_first() else []
            ):
                self.delete(old)

    # --- restoring

    def restore(self, target: Any = None, step: int | None = None) -> Restored | None:
        """Restore the newest whole checkpoint, and say with a warning which newer ones were skipped
        and why.

        Args:
            target: A model, whose state is set to the saved one: all of it, or nothing changes. Its
                weights must exist. Sums of metrics that do not are left out: an epoch begins them
                anew. None reads the arrays alone.
            step: The number of a certain checkpoint; that one must be whole.

        Returns:
            What was found, or None if the directory has no checkpoint.

        Raises:
            ValueError: There are checkpoints and none of them is whole; or what was found does not
                fit `target`.
        """
        if target is not None and getattr(target, "optimizer", None) is not None:
            target.optimizer.build(target.trainable_variables)
        variables = {} if target is None else variables_by_path(target)
        skipped: dict[int, str] = {}
        for number in reversed(self.all_steps()) if step is None else [step]:
            try:
                contents = read(self._path(number), sharding_by_path(variables))
            except Damaged as error:
                skipped[number] = str(error)
                continue
            if skipped:
                warn_user(f"{self._told(skipped)} Checkpoint {number} is taken.")
            if target is not None:
                wanted = {
                    path: variable
                    for path, variable in variables.items()
                    if path in contents.arrays or not _passing(path)
                }
                saved = {
                    path: value
                    for path, value in contents.arrays.items()
                    if path in variables or not _passing(path)
                }
                restore(wanted, saved, f"Checkpoint {self._path(number)!r}")
            return Restored(number, contents.arrays, contents.state, skipped)
        if skipped:
            raise ValueError(
                f"No checkpoint in {self.directory!r} could be restored. {self._told(skipped)}"
            )
        return None

    def _told(self, skipped: Mapping[int, str]) -> str:
        reasons = ", ".join(f"checkpoint {number} {reason}" for number, reason in skipped.items())
        return f"In {self.directory!r}, {reasons}: skipped."

    # --- what there is

    def all_steps(self) -> list[int]:
        """Return the numbers of the checkpoints that are there, whole or not, oldest first."""
        try:
            names = os.listdir(self.directory)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(int(match[1]) for match in map(NAME.fullmatch, names) if match)

    def latest_step(self) -> int | None:
        """Return the number of the newest whole checkpoint, or None."""
        for step in reversed(self.all_steps()):
            with contextlib.suppress(Damaged):
                verify(self._path(step))
                return step
        return None

    def delete(self, step: int) -> None:
        """Delete a checkpoint. It is gone in one instant, whenever the process may be killed."""
        path = self._path(step)
        doomed = os.path.join(self.directory, f".{os.path.basename(path)}.deleted.tmp")
        shutil.rmtree(doomed, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, doomed)
            shutil.rmtree(doomed, ignore_errors=True)

    def delete_all(self) -> None:
        """Delete all checkpoints, and the directory if nothing else is in it."""
        self.wait()
        for step in self.all_steps():
            self.delete(step)
        self._sweep()
        with contextlib.suppress(OSError):
            os.rmdir(self.directory)

    def _path(self, step: int) -> str:
        return os.path.join(self.directory, name_of(step))

    # --- one process at a time

    def hold(self) -> None:
        """Keep other processes from saving here, until `release`; what killed ones have left is
        deleted.

        Raises:
            RuntimeError: Another process does so.
        """
        os.makedirs(self.directory, exist_ok=True)
        if (
            self._lock is None and _is_first()
        ):  # of several processes of one run, the first does what one must do
            self._lock = lock_folder(self.directory)
            self._sweep()

    def release(self) -> None:
        """Let others save here again."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        mine = self._lock is None
        self.hold()
        try:
            yield
        finally:
            if mine:
                self.release()

    def _sweep(self) -> None:
        """Delete what a process that was killed while saving has left; nobody else is at work
        here.
        """
        for name in os.listdir(self.directory):
            if _TEMPORARY.fullmatch(name):
                shutil.rmtree(os.path.join(self.directory, name), ignore_errors=True)


def name_of(step: int) -> str:
    """Return the name of the folder of a checkpoint."""
    return f"checkpoint-{step:08d}"


def _is_first() -> bool:
    return jax.process_index() == 0


def _passing(path: str) -> bool:
    """Tell whether something lasts for an epoch only, and is made when the first batch is seen."""
    return path.startswith(("metrics/", "means/", "others/"))


def _values(target: Any) -> dict[str, Any]:
    if not isinstance(target, Mapping):
        return snapshot(variables_by_path(target))
    return {
        str(name): value.expose() if isinstance(value, Variable) else value
        for name, value in target.items()
    }
