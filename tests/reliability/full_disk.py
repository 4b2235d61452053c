"""Save, with every writer, where no file can grow beyond a limit, as on a full disk; run as a
process of its own.

The error must name the path, the old file must load as it was, no other file may be left, and
training must go on.
"""

import os
import pathlib
import resource
import sys

import numpy as np
from flip_bits import NAMES, bits_of, load, save, small_model


def main(folder):
    x, y = np.ones((8, 4), "float32"), np.ones((8, 2), "float32")
    model = small_model()
    model.fit(x, y, verbose=0)
    for name in NAMES:
        save(model, folder / name)
    before = {name: (folder / name).read_bytes() for name in NAMES}
    weights = bits_of(model)[1:]
    model.fit(x, y, verbose=0)
    _, hardest = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hardest))
    for name in NAMES:
        try:
            save(model, folder / name)
        except OSError as error:
            assert str(folder / name) in str(error) and "File too large" in str(error), error
            assert "The file that was there is unchanged" in str(error), error
        else:
            raise AssertionError(f"{name} was saved")
        assert (folder / name).read_bytes() == before[name]
        assert bits_of(load(folder / name))[1:] == weights, name
        model.fit(x, y, verbose=0)
    assert sorted(os.listdir(folder)) == sorted(NAMES), os.listdir(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hardest, hardest))
    print("all files are whole, and training went on")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
