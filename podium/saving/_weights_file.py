"""Weights in an HDF5 file: `.weights.h5` in Keras 3's layout (`_state_tree.py`), other names in Keras 2's (`_layer_groups.py`).

Writing replaces a file whole, or leaves it as it was. Reading looks at the contents, not at the name, and trusts nothing.
"""

from __future__ import annotations

import io
import os
from typing import Any

from podium.saving._archive import MAGIC, WEIGHTS, unpack
from podium.saving._checkpoint_manager import holds_checkpoints, restore_weights
from podium.saving._hdf5 import Unfit, is_keras_2, reading, seal
from podium.saving._layer_groups import parts_of, read_groups, write_groups
from podium.saving._place import open_regular, place_for, replace_file
from podium.saving._state_tree import read_state, write_state


def write_weights(model: Any, filepath: Any, overwrite: bool = True, save_format: Any = None, options: Any = None) -> None:
    """Write the weights of a model to a file at exactly this path.

    Args:
        model: A model whose weights exist.
        filepath: Where to; the directory must exist. A link is followed. Names that end in `.weights.h5` get Keras 3's layout,
            all others Keras 2's.
        overwrite: Whether a file that is there may be replaced.
        save_format: Accepted for Keras 2's signature: None, "h5", "hdf5" or "keras".
        options: Accepted for Keras 2's signature: None.

    Raises:
        ValueError: The weights do not exist yet, or another format was asked for.
        FileNotFoundError: The directory does not exist.
        FileExistsError: The file exists, and `overwrite` is False.
    """
    if options is not None or save_format not in (None, "h5", "hdf5", "keras"):
        raise ValueError(
            f"save_weights was given save_format={save_format!r}, options={options!r}. TensorFlow's checkpoints cannot be "
            "written; weights are written as HDF5. Leave both arguments out."
        )
    import h5py  # here, because it would add a tenth to the time that `import podium` takes

    given = os.fsdecode(filepath)
    path = place_for("save_weights", given, overwrite)
    image = io.BytesIO()  # put together in memory, so that a full disk is a plain error and not HDF5's business
    parts = parts_of(model, "save_weights")
    with h5py.File(image, "w") as file:
        if given.endswith(".weights.h5"):
            write_state(file, model, with_optimizer=False)
        else:
            seal(file, write_groups(file, parts).items())
    replace_file(path, image.getbuffer())


def read_weights(model: Any, filepath: Any, by_name: bool = False, skip_mismatch: bool = False, options: Any = None) -> None:
    """Read the weights of a model from a file of weights or of a whole model: ours, Keras 2's or Keras 3's.

    Args:
        model: A model whose weights exist.
        filepath: The file; or a directory of checkpoints (`CheckpointManager`, `BackupAndRestore`), whose newest is taken.
        by_name: Take the layers whose names are in the file, and leave the others; otherwise layers are taken in order.
        skip_mismatch: Leave weights that do not fit as they are. A warning lists them.
        options: Accepted for Keras 2's signature: None.

    Raises:
        ValueError: The file does not fit the model. Nothing has changed.
        OSError: The file is missing or damaged.
    """
    if options is not None:
        raise ValueError(f"load_weights was given options={options!r}; they are for TensorFlow's checkpoints. Leave it out.")
    path = os.fsdecode(filepath)
    parts = parts_of(model, "load_weights")
    if holds_checkpoints(path):
        restore_weights(model, path)
        return
    with open_regular("load_weights", path) as raw:
        start = raw.read(len(MAGIC))
        raw.seek(0)
        source: Any = raw
        if start == MAGIC:  # a whole model
            try:
                source = io.BytesIO(unpack(raw, (WEIGHTS,))[WEIGHTS])
            except Unfit as error:
                raise ValueError(f"{path!r} {error}") from None
        with reading(path, source) as file:
            if is_keras_2(file):
                loaded = read_groups(file, model, parts, by_name, skip_mismatch)
            elif by_name:
                raise Unfit("has Keras 3's layout, where layers have no names to look for. Leave `by_name` out.")
            else:
                loaded = read_state(file, model, skip_mismatch, with_optimizer=False)
    loaded.assign()
