"""Saves in every format with a limit on the file size, as on a full disk.

Runs as a separate process.

The error must name the path, the previous file must load unchanged, no other file may be left, and
training must continue.
"""

import os
import pathlib
import resource
import sys

import numpy as np
from flip_bits import NAMES, load, save, small_model, state_of


def main(directory):
    x, y = np.ones((8, 4), "float32"), np.ones((8, 2), "float32")
    model = small_model()
    model.fit(x, y, verbose=0)
    for name in NAMES:
        save(model, directory / name)
    contents = {name: (directory / name).read_bytes() for name in NAMES}
    weights = state_of(model)[1:]
    model.fit(x, y, verbose=0)
    _, hard_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard_limit))
    for name in NAMES:
        try:
            save(model, directory / name)
        except OSError as error:
            assert str(directory / name) in str(error) and "File too large" in str(error), error
            assert "The file that was there is unchanged" in str(error), error
        else:
            raise AssertionError(f"{name} was saved")
        assert (directory / name).read_bytes() == contents[name]
        assert state_of(load(directory / name))[1:] == weights, name
        model.fit(x, y, verbose=0)
    assert sorted(os.listdir(directory)) == sorted(NAMES), os.listdir(directory)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard_limit, hard_limit))
    print("all files are complete, and training continued")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
