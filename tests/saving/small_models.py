"""Small models with weights, for tests of files."""

import numpy as np

import podium


class Subclassed(podium.Model):
    def __init__(self):
        super().__init__()
        self.scale = self.add_weight((2,), "ones", name="scale")
        self.dense = podium.layers.Dense(2, name="dense")
        self.norm = podium.layers.BatchNormalization(name="norm")

    def call(self, inputs):
        return self.norm(self.dense(inputs)) * self.scale


def sequential(width=4, name="b"):
    return podium.Sequential(
        [
            podium.Input((3,)),
            podium.layers.Dense(4, name="a"),
            podium.layers.Dense(width, name=name),
        ]
    )


def randomized(model, seed=1):
    draw = np.random.default_rng(seed)
    model.set_weights([draw.uniform(0.1, 1.0, w.shape).astype("float32") for w in model.weights])
    return model


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
