"""Writes weights with Keras 2's `save_weights`, and what the model computes; run it where tf_keras
is installed.

python tests/oracle/record_weights_file.py --out tests/oracle/fixtures
"""

import argparse
import pathlib

import numpy as np
import tf_keras as keras


def model():
    """The same lines are in tests/saving/test_weights_file.py."""
    inner = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.BatchNormalization(name="first"),
            keras.layers.Dense(4, activation="tanh", name="middle"),
            keras.layers.BatchNormalization(name="second"),
        ],
        name="inner",
    )
    x = keras.Input((5, 3), name="x")
    h = keras.layers.LSTM(4, name="lstm")(x)
    return keras.Model(x, keras.layers.Dense(2, name="out")(inner(h)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    folder = pathlib.Path(parser.parse_args().out)
    keras.utils.set_random_seed(0)
    made = model()
    rng = np.random.default_rng(0)
    made.set_weights([rng.uniform(0.2, 1.0, w.shape).astype("float32") for w in made.get_weights()])
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    made.get_layer(
        "inner"
    ).trainable = False  # Keras 2 then writes the weights inside in another order
    made.save_weights(str(folder / "weights_file.h5"))
    np.savez(folder / "weights_file.npz", x=x, y=made.predict(x, verbose=0))


if __name__ == "__main__":
    main()
