"""`load_latest`: the newest file of a series that can be read, for files of `ModelCheckpoint`.

Directories of checkpoints are restored by `_checkpoint_manager.py` instead.
"""

from __future__ import annotations

import glob
import os
import string
from collections.abc import Mapping
from typing import Any

from podium._typing import PathLike
from podium.core import warn_user
from podium.saving._savable_model import SavableModel
from podium.saving.formats._model_file import load_model
from podium.state import summarize


def load_latest(
    filepath: PathLike,
    model: SavableModel | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
) -> Any:
    """Load the newest complete file that `ModelCheckpoint` has written. A warning lists files that
    were skipped, and why.

    Args:
        filepath: The `filepath` of `ModelCheckpoint`, such as
            `"run/{epoch:02d}-{val_loss:.2f}.keras"`; or a directory, for all of its files; or a
            pattern such as `"run/*.keras"`.
        model: A model to load weights into, for files of weights alone. By default whole models are
            loaded.
        custom_objects: Your own classes and functions by name, for whole models.
        compile: Whether to compile a whole model as it was.

    Returns:
        The model that was loaded, or `model` with its weights.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: None of the files can be loaded.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for epoch in (1, 2):
        ...         model.save(os.path.join(folder, f"{epoch}.keras"))
        ...     podium.saving.load_latest(os.path.join(folder, "{epoch}.keras")).count_params()
        2
    """
    pattern = os.fsdecode(filepath)
    paths = newest_files(pattern)
    if not paths:
        raise FileNotFoundError(f"load_latest was given {pattern!r}; there is no such file.")
    skipped: list[str] = []
    for path in paths:
        try:
            loaded = _load(path, model, custom_objects, compile)
        except (OSError, ValueError) as error:
            skipped.append(str(error) if path in str(error) else f"{path!r}: {error}")
            continue
        if skipped:
            warn_user(f"{path!r} was loaded; newer files were skipped: {summarize(skipped)}")
        return loaded
    raise ValueError(
        f"load_latest was given {pattern!r}; none of {len(paths)} files could be loaded: "
        f"{summarize(skipped)}"
    )


def _load(
    path: str, model: SavableModel | None, custom_objects: Mapping[str, Any] | None, compile: bool
) -> SavableModel:
    if model is None:
        loaded: SavableModel = load_model(path, custom_objects, compile)
        return loaded
    model.load_weights(path)
    return model


def newest_files(filepath: str) -> list[str]:
    """Return the files that `ModelCheckpoint` has written to a path, the newest one first."""
    if os.path.isdir(filepath):
        pattern = os.path.join(glob.escape(filepath), "*")
    elif "{" in filepath:
        pattern = "".join(
            glob.escape(text) + ("" if field is None else "*")
            for text, field, _, _ in string.Formatter().parse(filepath)
        )
    else:
        pattern = glob.escape(filepath) if os.path.exists(filepath) else filepath
    files = [path for path in glob.glob(pattern) if os.path.isfile(path)]
    return sorted(files, key=lambda path: (os.stat(path).st_mtime_ns, path), reverse=True)
