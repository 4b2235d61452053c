"""Models saved by one side and loaded by the other: Podium's files in Keras 3, and Keras 3's files
in Podium.

    python tests/oracle/check_saving.py --keras path/to/python/with/keras

Run with Podium's Python. For all models of `saving_models.py` and the formats that both support, it
prints the greatest difference between predictions, and fails if one is above 1e-5.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from saving_models import MODELS, build, float8, predict_as_list

SUFFIXES = (".keras", ".h5", ".weights.h5")


def side(name):
    if name == "podium":
        import podium

        return podium
    import keras

    return keras


def write(K, folder):
    for make in MODELS:
        model, inputs = build(K, make)
        outputs = predict_as_list(model, inputs)
        np.savez(
            folder / f"{make.__name__}.npz",
            *inputs,
            **{f"out{index}": value for index, value in enumerate(outputs)},
        )
        model.compile("adam", "mse")
        for suffix in SUFFIXES:
            (model.save_weights if "weights" in suffix else model.save)(
                str(folder / (make.__name__ + suffix))
            )


def read(K, folder):
    worst = 0.0
    for make in MODELS:
        stored = np.load(folder / f"{make.__name__}.npz")
        inputs = [stored[name] for name in stored.files if name.startswith("arr_")]
        expected = [stored[name] for name in sorted(stored.files) if name.startswith("out")]
        # Keras reads the variables of float8 from .h5 files in another order than it writes them.
        for suffix in SUFFIXES[:1] + SUFFIXES[2:] if make is float8 else SUFFIXES:
            path = str(folder / (make.__name__ + suffix))
            try:
                if "weights" in suffix:
                    model = make(K)[0]
                    model.load_weights(path)
                else:
                    model = K.models.load_model(path, compile=suffix == ".keras")
                outputs = predict_as_list(model, inputs)
                worst_here = max(
                    float(np.abs(a - b).max()) for a, b in zip(outputs, expected, strict=True)
                )
            except Exception as error:
                print(
                    f"{make.__name__ + suffix:32} FAILED {type(error).__name__}: {str(error)[:300]}"
                )
                worst = np.inf
                continue
            worst = max(worst, worst_here)
            print(f"{make.__name__ + suffix:32} {worst_here:.2e}")
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keras", default=sys.executable)
    parser.add_argument(
        "--only", nargs=3, metavar=("SIDE", "ACTION", "FOLDER"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.only:
        name, action, folder = options.only
        result = (write if action == "write" else read)(side(name), pathlib.Path(folder))
        sys.exit(0 if result is None or result < 1e-5 else 1)
    pythons = {"podium": sys.executable, "keras": options.keras}
    failed = 0
    for writer, reader in (("podium", "keras"), ("keras", "podium")):
        with tempfile.TemporaryDirectory() as folder:
            print(f"--- written by {writer}, read by {reader}", flush=True)
            for name, action in ((writer, "write"), (reader, "read")):
                command = [pythons[name], __file__, "--only", name, action, folder]
                failed |= subprocess.run(
                    command, env={**os.environ, "KERAS_BACKEND": "jax"}, check=False
                ).returncode
    sys.exit(failed)


if __name__ == "__main__":
    main()
