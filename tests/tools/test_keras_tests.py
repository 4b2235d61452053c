"""What the results of Keras's unit tests mean."""

import json

import pytest
from keras_tests import report, results
from keras_tests.results import DEVIATION, FAILED, NOT_APPLICABLE, PASSED, WORDS

PUBLIC = frozenset({"RemoteMonitor"})
RULES = results.Rules(
    (results.Rule(DEVIATION, ("losses/*::*test_width*",), "were expected", "no broadcasting"),)
)
MISSING = "MissingNameError: keras.src."


@pytest.mark.parametrize(
    ("outcome", "error", "kind"),
    [
        ("passed", "", PASSED),
        ("skipped", "Skipped: needs torch", NOT_APPLICABLE),
        ("failed", "ValueError: 2 columns were expected", DEVIATION),
        ("failed", "ValueError: another error of that test", FAILED),
        ("failed", 'AssertionError: "Invalid" does not match "Unknown reduction"', WORDS),
        ("failed", "AssertionError: ValueError not raised", FAILED),
        ("failed", f"{results.OTHER_ERROR}TypeError: a str was expected", WORDS),
        ("failed", "TypeError: a str was expected", FAILED),
        ("failed", f"{MISSING}callbacks.RemoteMonitor", FAILED),
        ("failed", f"{MISSING}utils.tracking.Tracker", NOT_APPLICABLE),
        ("failed", "AttributeError: 'Dense' object has no attribute '_lock'", NOT_APPLICABLE),
        ("failed", "AttributeError: 'Dense' object has no attribute 'autocast'", FAILED),
        ("import failed", "ModuleNotFoundError: No module named 'torch.nn'", NOT_APPLICABLE),
        ("started", "", FAILED),
    ],
)
def test_outcome_and_error_decide_what_a_result_means(outcome, error, kind):
    record = {"test": "losses/losses_test.py::Test::test_width", "outcome": outcome, "error": error}
    assert RULES.classify(record, PUBLIC).kind == kind


def test_last_line_of_a_test_counts_and_families_are_added_up(tmp_path):
    lines = [
        {"test": "losses/a_test.py::A::test_x", "outcome": "started", "error": ""},
        {"test": "losses/a_test.py::A::test_x", "outcome": "passed", "error": ""},
        {"test": "ops/b_test.py::B::test_y", "outcome": "started", "error": ""},
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    tests = results.load(tmp_path, RULES, PUBLIC)
    assert [(test.family, test.kind) for test in tests] == [("losses", PASSED), ("ops", FAILED)]
    assert report.summary(tests).split()[-2:] == ["50.0", "50.0"]
    assert "| `ops/b_test.py::B::test_y` | the process died" in report.page(tests)


def test_every_rule_of_the_file_has_a_reason():
    rules = results.Rules.load().rules
    assert all(rule.reason and rule.tests for rule in rules)
