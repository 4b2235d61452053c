"""Weights in TensorFlow's checkpoints, written by tf_keras and read by Podium, and the reverse.

    python tests/oracle/check_tensorflow_files.py --tf-keras path/to/python/with/tf_keras

Run with Podium's Python, where tensorflow is not installed. For all models of
`tensorflow_weight_cases.py` it prints the greatest difference between the predictions, and between
the states of the optimizers, of the model that was saved and the one that was loaded; it fails if
one is above 1e-5.
"""

import argparse
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from tensorflow_weight_cases import CASES, optimizer_values, predictions, randomize


def import_side(name):
    if name == "podium":
        import podium

        return podium
    import tf_keras

    return tf_keras


def write(K, folder, seed):
    for make in CASES:
        model, x = make(K)
        if model.optimizer is None:
            randomize(model, seed)
        model.save_weights(str(folder / make.__name__))
        np.savez(
            folder / f"{make.__name__}.npz",
            outputs=predictions(model, x),
            optimizer=optimizer_values(model),
            count=len(model.weights),
        )


def read(K, folder):
    """Return the differences by the name of the model, or errors."""
    differences = {}
    for make in CASES:
        expected = np.load(folder / f"{make.__name__}.npz")
        try:
            model, x = make(K)
            randomize(model, 99)
            model.load_weights(str(folder / make.__name__)).assert_consumed()
            outputs, state = predictions(model, x), optimizer_values(model)
            differences[make.__name__] = max(
                greatest_difference(outputs, expected["outputs"]),
                greatest_difference(state, expected["optimizer"]),
            )
        except Exception as error:
            print(f"{make.__name__}: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr)
            differences[make.__name__] = np.inf
    return differences


def greatest_difference(actual, expected):
    """Return the greatest difference, relative to the values if they are above 1."""
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return float(np.abs(actual - expected).max(initial=0.0)) / scale


def check_files(folder):
    """Read what Podium wrote with TensorFlow's own functions, and compare every value."""
    import tensorflow as tf

    assert tf.train.latest_checkpoint(folder) == str(folder / CASES[-1].__name__)
    for make in CASES:
        reader = tf.train.load_checkpoint(str(folder / make.__name__))
        names = list(reader.get_variable_to_shape_map())
        assert "_CHECKPOINTABLE_OBJECT_GRAPH" in names
        for name in names:
            reader.get_tensor(name)  # raises if a checksum is wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tf-keras", default=sys.executable)
    parser.add_argument("--side", nargs=2, metavar=("ACTION", "FOLDER"))
    arguments = parser.parse_args()
    if arguments.side:
        action, folder = arguments.side[0], pathlib.Path(arguments.side[1])
        if action == "write":
            write(import_side("tf_keras"), folder, 1)
        else:
            check_files(folder)
            np.savez(folder / "differences.npz", **read(import_side("tf_keras"), folder))
        return 0
    assert importlib.util.find_spec("tensorflow") is None, "run it where tensorflow is absent"
    with tempfile.TemporaryDirectory() as temporary:
        theirs, ours = pathlib.Path(temporary, "theirs"), pathlib.Path(temporary, "ours")
        theirs.mkdir()
        run = [arguments.tf_keras, __file__, "--side"]
        subprocess.run([*run, "write", str(theirs)], check=True)
        read_here = read(import_side("podium"), theirs)
        write(import_side("podium"), ours, 2)
        subprocess.run([*run, "read", str(ours)], check=True)
        read_there = np.load(ours / "differences.npz")
        print(f"{'model':20} {'weights':>7} {'tf_keras to Podium':>20} {'Podium to tf_keras':>20}")
        for name, difference in read_here.items():
            count = int(np.load(ours / f"{name}.npz")["count"])
            print(f"{name:20} {count:7} {difference:20.1e} {float(read_there[name]):20.1e}")
        worst = max(*read_here.values(), *(float(read_there[name]) for name in read_here))
    print(f"{len(CASES)} models both ways, greatest difference {worst:.1e}")
    return int(not worst <= 1e-5)


if __name__ == "__main__":
    sys.exit(main())
