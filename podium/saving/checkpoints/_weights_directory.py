"""The weights of a model in a directory of checkpoints: written by `save_weights("dir/")`, read
from any such directory.

`_checkpoint_manager.py` owns the directories. Those that `save_weights` writes hold weights alone,
and one checkpoint at a time.
"""

from __future__ import annotations

import os
from typing import Any

from podium.saving.checkpoints._checkpoint_directory import MANIFEST, Damaged, read_state
from podium.saving.checkpoints._checkpoint_manager import NAME, CheckpointManager, name_of
from podium.saving.formats._keras_layout import weights_by_path
from podium.saving.io._load_plan import LoadReport
from podium.state import restore

_MARK = "weights alone, by save_weights"  # the plain data of our checkpoints


def holds_checkpoints(path: str) -> bool:
    """Tell whether a path is a directory of checkpoints, or one of them."""
    return os.path.isfile(os.path.join(path, MANIFEST)) or bool(CheckpointManager(path).all_steps())


def is_folder(given: str) -> bool:
    """Tell whether weights that go to this path are to go into a directory: it ends in a slash, or
    is one of checkpoints.
    """
    return given.endswith(("/", os.sep)) or holds_checkpoints(given)


def write_folder(model: Any, given: str, overwrite: bool) -> None:
    """Write a checkpoint of the weights, and then delete the one that was there: at any instant
    there is a whole one.

    Raises:
        FileNotFoundError: The directory above does not exist.
        FileExistsError: There is a checkpoint, and `overwrite` is False.
        ValueError: There are checkpoints of others.
    """
    path = os.path.realpath(given)
    if not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError(
            f"save_weights was given {given!r}; the directory {os.path.dirname(path)!r} does not "
            "exist. Create it first."
        )
    if os.path.lexists(path) and not os.path.isdir(path):
        raise NotADirectoryError(
            f"save_weights was given {given!r}, and {path!r} is a file. For a file leave out the "
            "slash."
        )
    manager = CheckpointManager(path, max_to_keep=1, format="safetensors")
    steps = manager.all_steps()
    if os.path.isfile(os.path.join(path, MANIFEST)) or not all(
        _is_ours(os.path.join(path, name_of(one))) for one in steps
    ):
        raise ValueError(
            f"save_weights was given {given!r}, with checkpoints of a run (`CheckpointManager`, "
            "`BackupAndRestore`) or one that cannot be read: they would be replaced. Give the "
            "weights a directory of their own."
        )
    if steps and not overwrite:
        raise FileExistsError(
            f"save_weights was given {given!r}, which holds weights, and overwrite=False. Choose "
            "another name."
        )
    manager.save(steps[-1] + 1 if steps else 0, weights_by_path(model), state=_MARK)


def _is_ours(path: str) -> bool:
    try:
        return bool(read_state(path) == _MARK)
    except Damaged:
        return False


def read_folder(model: Any, path: str) -> LoadReport:
    """Set the weights of a model to those of a checkpoint, or of the newest whole one in a
    directory; return what was loaded.

    Raises:
        ValueError: There is no whole one, or the weights do not fit.
    """
    if os.path.isfile(os.path.join(path, MANIFEST)):
        folder, name = os.path.split(os.path.abspath(path))
        match = NAME.fullmatch(name)
        found = None if match is None else CheckpointManager(folder).restore(step=int(match[1]))
    else:
        found = CheckpointManager(path).restore()
    if found is None:
        raise ValueError(
            f"load_weights was given {path!r}, a checkpoint that was renamed; it ends in "
            "`checkpoint-` and a number."
        )
    weights = weights_by_path(model)
    restore(
        weights,
        found.arrays,
        f"Checkpoint {found.step} of {path!r}",
        strict=found.state == _MARK,
    )
    return LoadReport([variable.path for variable in weights.values()], [], [], [])
