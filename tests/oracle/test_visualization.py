"""Drawings are those of Keras 3.15, which `record_visualization.py` recorded."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import visualization_cases

from podium.compat import keras

RECORDED = json.loads((Path(__file__).parent / "fixtures" / "visualization.json").read_text())


@pytest.mark.parametrize("case", visualization_cases.CASES, ids=lambda case: case.__name__)
def test_drawings_are_those_of_keras(case):
    assert visualization_cases.run(case, keras) == RECORDED[case.__name__]
