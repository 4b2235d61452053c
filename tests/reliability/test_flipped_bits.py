"""Files with a flipped bit raise an error or load the same weights.

`make soak-flips` flips a thousand bits of each format.
"""

import pytest
from flip_bits import NAMES, count_outcomes


@pytest.mark.parametrize("name", NAMES)
def test_file_with_a_flipped_bit_never_loads_other_weights(name, tmp_path):
    outcomes = count_outcomes(name, 40, tmp_path, seed=7)
    assert set(outcomes) <= {"error", "the same weights"}, outcomes
    assert sum(outcomes.values()) == 40 and outcomes["error"] > 0
