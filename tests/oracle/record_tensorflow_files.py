"""Checkpoints and a SavedModel as tf_keras writes them, with predictions: `make oracle-record` runs
it.

python tests/oracle/record_tensorflow_files.py --out tests/oracle/fixtures
"""

import argparse
import pathlib
import shutil

import numpy as np
import tensorflow as tf
import tf_keras as keras
from tensorflow_file_models import functional, subclassed


def randomize_weights(model, seed):
    rng = np.random.default_rng(seed)
    model.set_weights(
        [rng.uniform(0.1, 1.0, weight.shape).astype("float32") for weight in model.get_weights()]
    )
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    folder = parser.parse_args().out / "tensorflow_files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    model, x = functional(keras)
    randomize_weights(model, 1).save_weights(str(folder / "functional"))
    tf.train.Checkpoint(model=model).write(str(folder / "wrapped"))
    model.save(str(folder / "saved"))
    custom, custom_x = subclassed(keras)
    custom.compile("adam", "mse")
    custom.fit(custom_x, np.ones((len(custom_x), 2), "float32"), verbose=0)
    randomize_weights(custom, 2).save_weights(str(folder / "subclassed"))
    np.savez(
        folder / "outputs.npz", functional=model(x).numpy(), subclassed=custom(custom_x).numpy()
    )
    for path in [
        folder / "checkpoint",
        folder / "saved" / "keras_metadata.pb",
        folder / "saved" / "fingerprint.pb",
    ]:
        path.unlink()
    (folder / "saved" / "saved_model.pb").write_bytes(
        b""
    )  # large, and never read: weights are in `variables`
    shutil.rmtree(folder / "saved" / "assets")


if __name__ == "__main__":
    main()
