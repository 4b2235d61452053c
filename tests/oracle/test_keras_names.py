"""Names of Keras 3.15 with Keras's results, which `record_names.py` recorded."""

import json
from pathlib import Path

import name_cases
import pytest

from podium.compat import keras

RECORDED = json.loads((Path(__file__).parent / "fixtures" / "names.json").read_text())


def approximate(value, rel=2e-5, abs=2e-6):
    """Return recorded data with floats that are compared up to rounding."""
    if isinstance(value, dict):
        return {key: approximate(item, rel, abs) for key, item in value.items()}
    if isinstance(value, list):
        return [approximate(item, rel, abs) for item in value]
    return pytest.approx(value, rel=rel, abs=abs) if isinstance(value, float) else value


@pytest.mark.parametrize("case", name_cases.CASES, ids=[c.__name__ for c in name_cases.CASES])
def test_results_are_those_of_keras(case):
    assert name_cases.run(case, keras) == approximate(RECORDED[case.__name__])
