"""ConvLSTM layers equal Keras 3.15: outputs, gradients, states, shapes, weights, configs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from compare import compare
from conv_lstm_cases import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_podium_equals_keras(case):
    assert not compare(case, "conv_lstm").problems
