"""Table.gather returns the rows of the index, for rows of any size."""

import jax
import numpy as np
import pytest

import podium


@pytest.mark.parametrize("width", [3, 5000])
@pytest.mark.parametrize("shape", [(4,), (2, 4), (0,)])
def test_gather_returns_the_rows_of_the_index(width, shape):
    x = np.random.default_rng(0).normal(size=(9, width)).astype("float32")
    y = np.arange(9)
    table = podium.core.Table(
        [(x, "float32"), (y, "int32")], jax.tree.structure((0, 0)), lambda rows: (x[rows], y[rows])
    )
    index = np.random.default_rng(1).integers(0, 9, shape)
    rows, numbers = table.gather(index)
    np.testing.assert_array_equal(rows, x[index])
    np.testing.assert_array_equal(numbers, y[index])
    assert numbers.dtype == "int32"
    if rows.nbytes >= 2**16:
        assert rows.ctypes.data % 64 == 0  # where XLA uses it without a copy
