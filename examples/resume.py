"""An interrupted and resumed run ends like an uninterrupted one.

`BackupAndRestore` saves the complete state of a run: weights, the optimizer, seeds, the position in
the shuffled data and the state of callbacks. Here an exception is raised twice, once in the middle
of an epoch; a real process may be killed at any time.

Run: python examples/resume.py
"""

import tempfile

import numpy as np

import podium
from podium import callbacks, layers

EPOCHS = 5


class FailAfter(callbacks.Callback):
    """Raises after a number of steps, like a machine that fails."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        self.num_steps = 0

    def on_train_batch_end(self, batch, logs=None):
        self.num_steps += 1
        if self.num_steps == self.steps:
            raise ConnectionError(f"connection lost after {batch + 1} steps of an epoch")

    def get_state(self):
        return None  # a restarted process counts from zero


def train(*extra_callbacks):
    """Run the training script; called for each start of the process."""
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
        x,
        np.sin(x),
        epochs=EPOCHS,
        validation_split=0.2,
        verbose=0,
        callbacks=[plateau, *extra_callbacks],
    )
    return model.get_weights(), history.history


def main():
    with tempfile.TemporaryDirectory() as directory:
        for steps in (4, 6):
            try:
                train(callbacks.BackupAndRestore(directory, save_freq=3), FailAfter(steps))
            except ConnectionError as error:
                print(error)
        weights, history = train(callbacks.BackupAndRestore(directory, save_freq=3, verbose=1))
    expected_weights, expected_history = train()
    same = all(
        np.array_equal(weight, expected)
        for weight, expected in zip(weights, expected_weights, strict=True)
    )
    print(f"same weights: {same}, same history: {history == expected_history}")


if __name__ == "__main__":
    main()
