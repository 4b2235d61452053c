"""CheckpointManager: a series of checkpoints in one directory. It saves, keeps the last few, and
restores the newest complete one.

The files of one checkpoint are the concern of `_checkpoint_directory.py`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from podium._typing import PathLike
from podium.core import Variable, check_choice, warn_user
from podium.core.internal import PublicRepr, check_int
from podium.optimizers import Optimizer
from podium.saving._savable_model import SavableModel
from podium.saving.checkpoints import _orbax
from podium.saving.checkpoints._checkpoint_directory import (
    CheckpointContents,
    DamagedCheckpointError,
    read,
    verify,
    write,
)
from podium.saving.checkpoints._share_checkpoints import (
    check_same_choice,
    delete_copies,
    share_checkpoints,
)
from podium.saving.io._atomic_write import lock_directory
from podium.state import (
    StateNode,
    restore,
    sharding_by_path,
    snapshot,
    state_nodes,
    summarize,
    variables_by_path,
)
from podium.telemetry.internal import BackgroundSave, measure, measure_save

NAME_PATTERN = re.compile(r"checkpoint-(\d{1,18})")
_TEMPORARY = re.compile(r"\.checkpoint-\d{1,18}\.[0-9a-z]+\.tmp")


class Restored(NamedTuple):
    """The checkpoint that `CheckpointManager.restore` has restored.

    Attributes:
        step: The number of the checkpoint.
        arrays: Its arrays by path.
        state: The plain data that was saved with them.
        skipped: The newer checkpoints that were skipped: number to reason.

    Example:
        >>> podium.saving.Restored(3, {}, None, {4: "is incomplete"}).step
        3
    """

    step: int
    arrays: dict[str, Any]
    state: Any
    skipped: dict[int, str]


class CheckpointManager(PublicRepr):
    """Keeps the last few checkpoints of a model in a directory, each absent or complete.

    A checkpoint is a directory with all state of a model by path (weights, optimizer slots, seeds,
    metric sums) and plain data of yours. It is written under a temporary name, flushed and renamed,
    with a manifest of sizes and digests; a process that is killed while it saves leaves earlier
    checkpoints intact. To save and resume whole runs of `fit`, use `callbacks.BackupAndRestore`.

    Args:
        directory: The directory. It is created by the first save.
        max_to_keep: How many checkpoints to keep; the oldest are deleted after a new one is
            complete. None keeps all.
        asynchronous: Whether `save` returns immediately and a thread writes. An error there is
            raised by the next `save`, `check` or `wait`.
        format: "safetensors" for one file of all arrays, "orbax" for arrays written by Orbax, or
            "auto": Orbax if arrays have shards in other processes, which one process cannot write.

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
        directory: PathLike,
        max_to_keep: int | None = 5,
        asynchronous: bool = False,
        format: str = "auto",
    ):
        if max_to_keep is not None:
            check_int("max_to_keep", max_to_keep, owner=self, or_none=True, type_error=ValueError)
        self.directory = os.path.abspath(os.fsdecode(directory))
        self.max_to_keep = max_to_keep
        self.asynchronous = asynchronous
        self.format = check_choice("format", format, ["auto", "safetensors", "orbax"])
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._copied: list[str] = []  # from the first process, to a directory of another one
        self._lock: int | None = None  # a descriptor, while this process holds the directory

    # --- saving

    def save(
        self, step: int, target: SavableModel | Mapping[str, Any], state: object = None
    ) -> None:
        """Save a checkpoint.

        Args:
            step: Its number, 0 or more. The one with the largest number is the newest.
            target: A model; or a dictionary of names to arrays or Variables.
            state: Plain data to save with it: numbers, text, lists, dictionaries, NumPy arrays.

        Raises:
            FileExistsError: There is a checkpoint with this number.
            OSError: It could not be written; or, if asynchronous, the previous one could not.
        """
        check_int("step", step, 0, owner="CheckpointManager.save", type_error=ValueError)
        with measure("saving"):
            self.wait()
            contents = CheckpointContents(_values(target), state)
        with_orbax = self.format == "orbax" or (
            self.format == "auto" and _orbax.contain_shards(list(contents.arrays.values()))
        )
        if not self.asynchronous:
            with measure_save(self._path(step)):
                self._write(step, contents, with_orbax)
            return
        in_background = BackgroundSave(self._path(step))

        def write_and_keep_error() -> None:
            try:
                with in_background:
                    self._write(step, contents, with_orbax)
            except BaseException as error:
                self._failure = error

        self._thread = threading.Thread(target=write_and_keep_error, name="podium-checkpoint")
        self._thread.start()

    def check(self) -> None:
        """Raise the error of an asynchronous save that has ended, if there was one."""
        if self._thread is not None and not self._thread.is_alive():
            self.wait()

    def wait(self) -> None:
        """Wait until an asynchronous save has ended, and raise its error, if there was one."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _write(self, step: int, contents: CheckpointContents, with_orbax: bool) -> None:
        os.makedirs(self.directory, exist_ok=True)
        with self._hold_for_write():
            write(self._path(step), contents, with_orbax)
            if self.max_to_keep is not None and _is_first():
                for old_step in self.all_steps()[: -self.max_to_keep]:
                    self.delete(old_step)

    # --- restoring

    def restore(
        self, target: SavableModel | None = None, step: int | None = None
    ) -> Restored | None:
        """Restore the newest complete checkpoint that fits. A warning lists newer ones that were
        skipped, and why.

        Args:
            target: A model, whose state is replaced completely, or not at all. Its weights must
                exist. Slots of `model.optimizer` are created if they were saved, those of other
                optimizers are restored when they are created. Metric sums that do not exist yet
                are skipped: an epoch resets them. None only reads the arrays.
            step: The number of the checkpoint to restore, which must be complete.

        Returns:
            The checkpoint, or None if the directory has none.

        Raises:
            ValueError: None of the checkpoints is complete and fits `target`.
        """

        def find_variables(paths: Collection[str]) -> dict[str, Variable]:
            if target is None:
                return {}
            _build_optimizer(target, paths)
            return variables_by_path(target)

        def find_shardings(paths: list[str]) -> list[Any]:
            return list(map(sharding_by_path(find_variables(paths)), paths))

        misfits: dict[int, ValueError] = {}
        steps = self.all_steps() if step is None else [step]
        for checkpoint in self._read_complete(steps, find_shardings):
            if target is not None:
                try:
                    self._restore_into(target, checkpoint, find_variables(checkpoint.arrays))
                except ValueError as error:
                    misfits[checkpoint.step] = error
                    continue
            if misfits:
                reasons = summarize([str(error) for error in misfits.values()])
                warn_user(f"{reasons} Checkpoint {checkpoint.step} is used.")
            reasons_by_step = {number: str(error) for number, error in misfits.items()}
            return checkpoint._replace(skipped=checkpoint.skipped | reasons_by_step)
        if misfits:
            raise next(iter(misfits.values()))
        return None

    def restore_all(self) -> Iterator[Restored]:
        """Read the complete checkpoints one after another, newest first. A warning lists newer ones
        that were skipped, and why.

        With several processes, all must call it: each reads those of the first process, which are
        copied to a directory that lacks them, and all begin with the same one.

        Raises:
            ValueError: None of the checkpoints is complete, or processes begin with different ones.
        """
        names = [directory_name(step) for step in self.all_steps()]
        names, self._copied = share_checkpoints(self.directory, names)
        steps = [int(name.rpartition("-")[2]) for name in names]
        checkpoints = self._read_complete(steps, lambda paths: [None] * len(paths))
        newest = next(checkpoints, None)
        check_same_choice(self.directory, -1 if newest is None else newest.step)
        return checkpoints if newest is None else itertools.chain([newest], checkpoints)

    def _restore_into(
        self, target: SavableModel, checkpoint: Restored, variables: Mapping[str, Variable]
    ) -> None:
        """Replace the state of a model completely, or not at all."""
        source = f"Checkpoint {self._path(checkpoint.step)!r}"
        slots = _slots_to_create(target, checkpoint.arrays)
        later = {path for by_path in slots.values() for path in by_path}
        expected = {
            path: variable
            for path, variable in variables.items()
            if path in checkpoint.arrays or not _is_transient(path)
        }
        saved = {
            path: value
            for path, value in checkpoint.arrays.items()
            if path in variables or not (path in later or _is_transient(path))
        }
        restore(expected, saved, source)
        for optimizer, by_path in slots.items():
            optimizer.restore_when_created(list(by_path.values()), source)

    def _read_complete(
        self, steps: Sequence[int], find_shardings: Callable[[list[str]], list[Any]]
    ) -> Iterator[Restored]:
        damaged: dict[int, str] = {}
        found = False
        for number in reversed(steps):
            try:
                contents = read(self._path(number), find_shardings)
            except DamagedCheckpointError as error:
                damaged[number] = str(error)
                continue
            if damaged and not found:
                warn_user(f"{self._describe_skipped(damaged)} Checkpoint {number} is used.")
            found = True
            yield Restored(number, contents.arrays, contents.state, dict(damaged))
        if damaged and not found:
            raise ValueError(
                f"No checkpoint in {self.directory!r} could be restored. "
                f"{self._describe_skipped(damaged)}"
            )

    def _describe_skipped(self, skipped: Mapping[int, str]) -> str:
        reasons = ", ".join(f"checkpoint {number} {reason}" for number, reason in skipped.items())
        return f"In {self.directory!r}, {reasons}: skipped."

    # --- listing and deleting

    def all_steps(self) -> list[int]:
        """Return the numbers of all checkpoints, complete or not, oldest first."""
        try:
            names = os.listdir(self.directory)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(int(match[1]) for match in map(NAME_PATTERN.fullmatch, names) if match)

    def latest_step(self) -> int | None:
        """Return the number of the newest complete checkpoint, or None."""
        for step in reversed(self.all_steps()):
            with contextlib.suppress(DamagedCheckpointError):
                verify(self._path(step))
                return step
        return None

    def delete(self, step: int) -> None:
        """Delete a checkpoint atomically: it is renamed before its files are removed."""
        path = self._path(step)
        renamed = os.path.join(self.directory, f".{os.path.basename(path)}.deleted.tmp")
        shutil.rmtree(renamed, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, renamed)
            shutil.rmtree(renamed, ignore_errors=True)

    def delete_all(self) -> None:
        """Delete all checkpoints, and the directory if it is empty then."""
        self.wait()
        for step in self.all_steps():
            self.delete(step)
        self._remove_leftovers()
        with contextlib.suppress(OSError):
            os.rmdir(self.directory)

    def _path(self, step: int) -> str:
        return os.path.join(self.directory, directory_name(step))

    # --- one process at a time

    def hold(self) -> None:
        """Prevent other processes from saving here until `release`, and delete the incomplete
        checkpoints of killed processes.

        Raises:
            RuntimeError: Another process holds the directory.
        """
        os.makedirs(self.directory, exist_ok=True)
        if self._lock is None and _is_first():  # the first of the processes of a run does this
            self._lock = lock_directory(self.directory)
            self._remove_leftovers()

    def release(self) -> None:
        """Allow other processes to save here again; delete copies of the first process's
        checkpoints.
        """
        copied, self._copied = self._copied, []
        delete_copies(self.directory, copied)
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    @contextlib.contextmanager
    def _hold_for_write(self) -> Iterator[None]:
        acquired = self._lock is None
        self.hold()
        try:
            yield
        finally:
            if acquired:
                self.release()

    def _remove_leftovers(self) -> None:
        """Delete incomplete checkpoints of killed processes. This process holds the directory."""
        for name in os.listdir(self.directory):
            if _TEMPORARY.fullmatch(name):
                shutil.rmtree(os.path.join(self.directory, name), ignore_errors=True)


def directory_name(step: int) -> str:
    """Return the name of a checkpoint's directory."""
    return f"checkpoint-{step:08d}"


def _is_first() -> bool:
    return jax.process_index() == 0


def _saved_slots(node: StateNode, paths: Collection[str]) -> list[str]:
    """List the paths in a checkpoint of an optimizer's variables that do not exist yet."""
    count = itertools.count(len(node.variables))
    return list(itertools.takewhile(paths.__contains__, (node.path_of(f"vars/{i}") for i in count)))


def _build_optimizer(target: SavableModel, paths: Collection[str]) -> None:
    """Create the slots of `target.optimizer` if the checkpoint has some: an optimizer that was
    never used, as that of a custom loop may be, has none, and gets none.
    """
    for node in state_nodes(target):
        if node.path.partition("/")[0] == "optimizer" and _saved_slots(node, paths):
            target.optimizer.build(target.trainable_variables)
            return


def _slots_to_create(
    target: SavableModel, arrays: Mapping[str, Any]
) -> dict[Optimizer, dict[str, Any]]:
    """Return the saved slots of optimizers that have created none yet, by optimizer and path."""
    slots = {}
    for node in state_nodes(target):
        if isinstance(node.owner, Optimizer) and not node.owner.built:
            paths = _saved_slots(node, arrays)
            if paths:
                slots[node.owner] = {path: arrays[path] for path in paths}
    return slots


def _is_transient(path: str) -> bool:
    """Return whether a variable lasts for an epoch only, and is created by the first batch."""
    return path.startswith(("metrics/", "means/", "others/"))


def _values(target: SavableModel | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(target, Mapping):
        return snapshot(variables_by_path(target))
    return {
        str(name): value.read() if isinstance(value, Variable) else value
        for name, value in target.items()
    }
