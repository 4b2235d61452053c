"""Podium equals Keras 3.15 on every case of `cases.py`: outputs, gradients, masks, state, shapes,
weights, configs.

Needs no Keras: its results are in `fixtures/` (README.md documents how to record them again).
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
        expected = [p for p in problems if p.startswith(parts)]
        assert expected, (
            f"the deviation {parts} ({reason}) no longer happens: remove it from DEVIATIONS"
        )
        problems = [p for p in problems if p not in expected]
    assert not problems, "\n".join(problems)


def test_recorded_cases_equal_the_current_cases():
    assert set(oracle().cases) == {case.id for case in CASES}


def test_every_deviation_applies_to_a_case():
    used = {entry for case in CASES for entry in deviations(case)}
    assert used == set(DEVIATIONS.values())


def test_differences_of_tf_keras_belong_to_recorded_cases():
    assert set(oracle("tf_keras").cases) <= set(oracle().cases)
