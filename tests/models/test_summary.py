"""The summary of a model: what it shows of models inside."""

import podium
from podium import layers


def test_summary_shows_the_shapes_of_models_inside_a_subclass():
    class Pair(podium.Model):
        def __init__(self):
            super().__init__()
            self.stack = podium.Sequential([podium.Input((3,)), layers.Dense(5)])
            x = podium.Input((3,))
            self.graph = podium.Model(x, {"a": layers.Dense(6)(x), "b": [layers.Dense(7)(x)]})
            self.unbuilt = podium.Sequential([layers.Dense(8)])

    lines = []
    Pair().summary(print_fn=lines.append)
    assert (
        "(None, 5)" in lines[0] and "(None, 6), (None, 7)" in lines[0] and lines[0].count("?") == 1
    )
