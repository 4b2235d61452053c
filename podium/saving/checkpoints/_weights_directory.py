"""The weights of a model in a directory of checkpoints: written by `save_weights("dir/")`, read
from any such directory.

`_checkpoint_manager.py` owns the directories. Those that `save_weights` writes contain weights
alone, and one checkpoint at a time.
"""

from __future__ import annotations

import os

from podium.saving._savable_model import SavableModel
from podium.saving.checkpoints._checkpoint_directory import (
    MANIFEST,
    DamagedCheckpointError,
    read_plain_state,
)
from podium.saving.checkpoints._checkpoint_manager import (
    NAME_PATTERN,
    CheckpointManager,
    directory_name,
)
from podium.saving.formats._keras_layout import weights_by_path
from podium.saving.io._load_plan import LoadReport
from podium.state import restore

_MARK = "weights alone, by save_weights"  # the plain data of these checkpoints


def holds_checkpoints(path: str) -> bool:
    """Return whether a path is a directory of checkpoints, or one of them."""
    return os.path.isfile(os.path.join(path, MANIFEST)) or bool(CheckpointManager(path).all_steps())


def is_directory_target(filepath: str) -> bool:
    """Return whether weights are saved to this path as a directory: it ends in a slash, or has
    checkpoints.
    """
    return filepath.endswith(("/", os.sep)) or holds_checkpoints(filepath)


def write_weights_directory(model: SavableModel, filepath: str, overwrite: bool) -> None:
    """Write a checkpoint of the weights, and then delete the previous one: at any time there is a
    complete one.

    Raises:
        FileNotFoundError: The directory above does not exist.
        FileExistsError: There is a checkpoint, and `overwrite` is False.
        ValueError: The directory has other checkpoints.
    """
    path = os.path.realpath(filepath)
    if not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError(
            f"save_weights was given {filepath!r}; the directory {os.path.dirname(path)!r} does "
            "not exist. Create it first."
        )
    if os.path.lexists(path) and not os.path.isdir(path):
        raise NotADirectoryError(
            f"save_weights was given {filepath!r}, and {path!r} is a file. For a file leave out "
            "the slash."
        )
    manager = CheckpointManager(path, max_to_keep=1, format="safetensors")
    steps = manager.all_steps()
    if os.path.isfile(os.path.join(path, MANIFEST)) or not all(
        _holds_only_weights(os.path.join(path, directory_name(step))) for step in steps
    ):
        raise ValueError(
            f"save_weights was given {filepath!r}, with checkpoints of a run (`CheckpointManager`, "
            "`BackupAndRestore`) or one that cannot be read: they would be replaced. Use another "
            "directory for the weights."
        )
    if steps and not overwrite:
        raise FileExistsError(
            f"save_weights was given {filepath!r}, which has weights, and overwrite=False. Choose "
            "another name."
        )
    manager.save(steps[-1] + 1 if steps else 0, weights_by_path(model), state=_MARK)


def _holds_only_weights(path: str) -> bool:
    try:
        return bool(read_plain_state(path) == _MARK)
    except DamagedCheckpointError:
        return False


def read_weights_directory(model: SavableModel, path: str) -> LoadReport:
    """Load the weights of a checkpoint, or of the newest complete one in a directory, into a model;
    return what was loaded.

    Raises:
        ValueError: None is complete, or the weights do not fit.
    """
    if os.path.isfile(os.path.join(path, MANIFEST)):
        folder, name = os.path.split(os.path.abspath(path))
        match = NAME_PATTERN.fullmatch(name)
        checkpoint = (
            None if match is None else CheckpointManager(folder).restore(step=int(match[1]))
        )
    else:
        checkpoint = CheckpointManager(path).restore()
    if checkpoint is None:
        raise ValueError(
            f"load_weights was given {path!r}, a checkpoint that was renamed; it ends in "
            "`checkpoint-` and a number."
        )
    weights = weights_by_path(model)
    restore(
        weights,
        checkpoint.arrays,
        f"Checkpoint {checkpoint.step} of {path!r}",
        strict=checkpoint.state == _MARK,
    )
    return LoadReport([variable.path for variable in weights.values()], [], [], [])
