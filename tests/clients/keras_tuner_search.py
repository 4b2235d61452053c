"""KerasTuner: RandomSearch and Hyperband, and the best model loaded again from their files."""

import tempfile

import keras
import keras_tuner
import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(128, 4)).astype("float32")
Y = X[:, :1] * 2 - X[:, 1:2]


def build(hp):
    """A model with a number of units and a learning rate to choose."""
    model = keras.Sequential(
        [
            keras.layers.Input((4,)),
            keras.layers.Dense(hp.Int("units", 2, 8, step=2), activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    rate = hp.Choice("rate", [0.1, 0.01])
    model.compile(keras.optimizers.Adam(rate), "mse", metrics=["mae"])
    return model


def search(make, folder, **arguments):
    """Search, load the best model twice, and compare what they predict."""
    tuner = make(build, "val_loss", directory=folder, project_name="p", seed=1, **arguments)
    tuner.search(X, Y, epochs=3, validation_split=0.25, verbose=0)
    best = tuner.get_best_models()[0]
    trials = tuner.oracle.get_best_trials(100)
    again = make(build, "val_loss", directory=folder, project_name="p", seed=1, **arguments)
    loaded = again.get_best_models()[0]
    np.testing.assert_array_equal(best.predict(X, verbose=0), loaded.predict(X, verbose=0))
    assert again.get_best_hyperparameters()[0].values == trials[0].hyperparameters.values
    return len(trials), trials[0].score


with tempfile.TemporaryDirectory() as folder:
    count, score = search(keras_tuner.RandomSearch, folder, max_trials=3)
    assert count == 3, count
    print(f"RandomSearch: {count} trials, best {score:.4f}")
with tempfile.TemporaryDirectory() as folder:
    count, score = search(keras_tuner.Hyperband, folder, max_epochs=4, factor=2)
    assert count >= 4, count
    print(f"Hyperband: {count} trials, best {score:.4f}")
