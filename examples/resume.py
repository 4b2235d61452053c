"""A run that is broken off and started again ends as one that never was.

`BackupAndRestore` saves the whole run: weights, the optimizer, seeds, the place in the shuffled
data, what callbacks remember. Here the "machine" fails twice, once in the middle of an epoch. A
real one may be killed at any instant.

    python examples/resume.py
"""

import tempfile

import numpy as np

import podium
from podium import callbacks, layers

EPOCHS = 5


class Fails(callbacks.Callback):
    """A machine that breaks down after a number of steps."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        self.taken = 0

    def on_train_batch_end(self, batch, logs=None):
        self.taken += 1
        if self.taken == self.steps:
            raise ConnectionError(f"the machine is gone, {batch + 1} steps into an epoch")

    def get_state(self):
        return None  # another machine counts anew


def train(*more):
    """What a script does, each time it is started."""
    podium.utils.set_random_seed(1)
    x = np.random.default_rng(0).uniform(-3, 3, (256, 1)).astype("float32")
    model = podium.Sequential(
        [
            podium.Input((1,)),
            layers.Dense(32, activation="tanh"),
            layers.Dropout(0.1),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    plateau = callbacks.ReduceLROnPlateau("loss", patience=1)
    history = model.fit(
        x, np.sin(x), epochs=EPOCHS, validation_split=0.2, verbose=0, callbacks=[plateau, *more]
    )
    return model.get_weights(), history.history


def main():
    with tempfile.TemporaryDirectory() as folder:
        for steps in (4, 6):
            try:
                train(callbacks.BackupAndRestore(folder, save_freq=3), Fails(steps))
            except ConnectionError as error:
                print(error)
        weights, history = train(callbacks.BackupAndRestore(folder, save_freq=3, verbose=1))
    expected_weights, expected_history = train()
    same = all(
        np.array_equal(one, other) for one, other in zip(weights, expected_weights, strict=True)
    )
    print(f"same weights: {same}, same history: {history == expected_history}")


if __name__ == "__main__":
    main()
