"""SeedGenerator and set_random_seed."""

import numpy as np
import pytest

import podium


def test_seed_generators_count_their_draws():
    generator = podium.random.SeedGenerator(7)
    first = podium.random.normal((3,), seed=generator).numpy()
    second = podium.random.normal((3,), seed=generator).numpy()
    assert not np.array_equal(first, second) and generator.state.numpy().tolist() == [7, 2]
    restored = podium.random.SeedGenerator.from_config(generator.get_config())
    np.testing.assert_array_equal(podium.random.normal((3,), seed=restored).numpy(), first)
    np.testing.assert_array_equal(
        podium.random.normal((3,), seed=5).numpy(), podium.random.normal((3,), seed=5).numpy()
    )
    for wrong in (1.5, True, "a"):
        with pytest.raises(TypeError, match="an int"):
            podium.random.SeedGenerator(wrong)
        with pytest.raises(TypeError, match="an int"):
            podium.random.normal((3,), seed=wrong)


def test_same_seed_repeats_weights_and_draws():
    def run():
        podium.utils.set_random_seed(11)
        layer = podium.layers.Dense(4)
        return (
            layer(np.ones((2, 3), "float32")).numpy(),
            podium.random.uniform((2,)).numpy(),
            np.random.rand(2),
        )

    for a, b in zip(run(), run(), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(TypeError, match="an int"):
        podium.utils.set_random_seed(1.5)
