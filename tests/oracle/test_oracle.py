"""Podium equals Keras 3.15 on every case of `cases.py`: forward, gradients, masks, state, shapes,
weights, configs.

Needs no Keras: what Keras computed lies in `fixtures/` (README.md says how to record it again).
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cases import CASES
from compare import DEVIATIONS, compare, deviations, oracle


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_podium_equals_keras(case):
    problems = compare(case).problems
    for parts, reason in deviations(case):
        met = [p for p in problems if p.startswith(parts)]
        assert met, f"the deviation {parts} ({reason}) no longer happens: remove it from DEVIATIONS"
        problems = [p for p in problems if p not in met]
    assert not problems, "\n".join(problems)


def test_every_case_was_recorded_and_every_record_has_a_case():
    assert set(oracle().cases) == {case.id for case in CASES}


def test_every_deviation_applies_to_a_case():
    used = {entry for case in CASES for entry in deviations(case)}
    assert used == set(DEVIATIONS.values())


def test_differences_of_tf_keras_belong_to_recorded_cases():
    assert set(oracle("tf_keras").cases) <= set(oracle().cases)
