"""Reading and splitting the files of public datasets.

Some of these files hold Python pickles, which can run arbitrary code. They are read by an unpickler
that creates NumPy arrays and nothing else.
"""

from __future__ import annotations

import pickle
import zipfile
from typing import IO, Any, TypeAlias

import numpy as np

ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"

# Inputs and targets.
Arrays: TypeAlias = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]

_RECONSTRUCT = np.empty(0).__reduce__()[0]
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("_codecs", "encode"): lambda text, encoding: text.encode(encoding),
}


class ArrayUnpickler(pickle.Unpickler):
    """Unpickles dictionaries, lists, strings and NumPy arrays; raises for everything else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return an allowed class or function."""
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"The file contains {module}.{name}; dataset files may contain arrays only. It was "
                "not read."
            )
        return _ALLOWED[module, name]


def read_pickle(file: IO[bytes]) -> Any:
    """Read a pickle of arrays, as Python 2 wrote it."""
    return ArrayUnpickler(file, encoding="bytes").load()


def read_object_arrays(path: str, *names: str) -> list[np.ndarray[Any, Any]]:
    """Read arrays of lists from an npz file."""
    arrays: list[np.ndarray[Any, Any]] = []
    with zipfile.ZipFile(path) as archive:
        for name in names:
            with archive.open(f"{name}.npy") as file:
                version = np.lib.format.read_magic(file)
                read_header = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read_header(file)
                if dtype.hasobject:
                    arrays.append(ArrayUnpickler(file, encoding="latin1").load())
                else:
                    arrays.append(np.frombuffer(file.read(), dtype).reshape(shape))
    return arrays


def check_test_split(test_split: float) -> None:
    """Raise ValueError unless `test_split` is a fraction, before anything is downloaded."""
    if not 0 <= test_split < 1:
        raise ValueError(
            f"test_split={test_split!r} was given; a fraction from 0 to (but not) 1 was expected."
        )


def shuffle_and_split(
    x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], test_split: float, seed: int | None
) -> tuple[Arrays, Arrays]:
    """Shuffle the rows in the same order as Keras, and split off the last ones for testing."""
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    num_train = int(len(x) * (1 - test_split))
    train, test = order[:num_train], order[num_train:]
    return (x[train], y[train]), (x[test], y[test])
