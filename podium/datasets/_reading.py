"""Reading the files of public datasets without running what they say.

Some of them hold Python pickles, which can run any code. They are read by an unpickler that knows
how to make NumPy arrays and nothing else.
"""

from __future__ import annotations

import pickle
import zipfile
from typing import IO, Any

import numpy as np

ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_RECONSTRUCT = np.empty(0).__reduce__()[0]
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("_codecs", "encode"): lambda text, encoding: text.encode(encoding),
}


class ArrayUnpickler(pickle.Unpickler):
    """Unpickles dictionaries, lists, text and NumPy arrays, and refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return one of the few known makers."""
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"The file asks for {module}.{name}; files of datasets hold arrays only. It was "
                "not read."
            )
        return _ALLOWED[module, name]


def read_pickle(file: IO[bytes]) -> Any:
    """Read a pickle of arrays, as Python 2 wrote it."""
    return ArrayUnpickler(file, encoding="bytes").load()


def read_object_arrays(path: str, *names: str) -> list[np.ndarray]:
    """Read arrays of lists from an npz file."""
    found = []
    with zipfile.ZipFile(path) as archive:
        for name in names:
            with archive.open(f"{name}.npy") as file:
                version = np.lib.format.read_magic(file)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read(file)
                if dtype.hasobject:
                    found.append(ArrayUnpickler(file, encoding="latin1").load())
                else:
                    found.append(np.frombuffer(file.read(), dtype).reshape(shape))
    return found
