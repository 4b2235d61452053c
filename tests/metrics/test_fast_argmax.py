"""`fast_argmax` returns what `jnp.argmax` returns, ties and NaN included."""

import jax.numpy as jnp
import numpy as np
import pytest

from podium.metrics._argmax import fast_argmax

CASES = {
    "floats": np.random.default_rng(0).normal(size=(5, 7, 3)).astype("float32"),
    "ties": np.random.default_rng(0).integers(0, 2, (5, 7, 3)).astype("float32"),
    "infinite": np.full((2, 3, 3), -np.inf, "float32"),
    "nan": np.where(np.random.default_rng(0).random((5, 7, 3)) < 0.3, np.nan, 1.0).astype(
        "float32"
    ),
    "integers": np.random.default_rng(0).integers(-5, 5, (5, 7, 3)).astype("int32"),
    "bool": np.random.default_rng(0).random((5, 7, 3)) < 0.5,
}


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", CASES)
def test_fast_argmax_equals_argmax(name, axis):
    values = jnp.asarray(CASES[name])
    np.testing.assert_array_equal(fast_argmax(values, axis), jnp.argmax(values, axis))
