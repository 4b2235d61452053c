"""Files with a flipped bit are refused, or give the same weights. `make soak-flips` flips a
thousand bits of each format.
"""

import pytest
from flip_bits import NAMES, check


@pytest.mark.parametrize("name", NAMES)
def test_no_flipped_bit_is_loaded_as_other_weights(name, tmp_path):
    found = check(name, 40, tmp_path, seed=7)
    assert set(found) <= {"refused", "the same weights"}, found
    assert sum(found.values()) == 40 and found["refused"] > 0
