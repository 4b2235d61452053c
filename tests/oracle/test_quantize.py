"""LoRA and quantization with Keras's results, which `record_quantize.py` recorded."""

import json
from pathlib import Path

import name_cases
import pytest
import quantize_cases
from test_keras_names import approximate

from podium.compat import keras

RECORDED = json.loads((Path(__file__).parent / "fixtures" / "quantize.json").read_text())


@pytest.mark.parametrize("case", quantize_cases.CASES, ids=lambda case: case.__name__)
def test_results_are_those_of_keras(case):
    assert name_cases.run(case, keras) == approximate(RECORDED[case.__name__], 1e-4, 1e-5)
