"""Every requirement has exactly one test, with the requirement as its docstring."""

import ast
import re
from collections import Counter
from pathlib import Path

SECTIONS = {
    "test_compile.py": range(1, 11),
    "test_steps.py": range(11, 26),
    "test_step_functions.py": range(26, 36),
    "test_data.py": range(36, 50),
    "test_fit_evaluate_predict.py": range(50, 62),
    "test_distribution.py": range(62, 69),
    "test_persistence.py": range(69, 73),
    "test_operations.py": [73, 74, 75, 85],
    "test_later.py": range(76, 85),
}


def find_tests(pattern):
    """Return (number, module, docstring) of the tests whose name matches a pattern."""
    found = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and (match := re.match(pattern, node.name)):
                found.append((int(match[1]), path.name, ast.get_docstring(node)))
    return found


def test_every_requirement_has_one_test():
    tests = find_tests(r"test_requirement_(\d+)_\w")
    assert Counter(number for number, *_ in tests) == Counter(range(1, 86))
    for number, module, text in tests:
        assert number in SECTIONS[module]
        assert text and text.endswith("."), number


def test_every_defect_has_one_test():
    tests = find_tests(r"test_defect_(\d)_\w")
    assert [number for number, *_ in tests] == list(range(1, 9))
    assert all(module == "test_seed_defects.py" and text for _, module, text in tests)
