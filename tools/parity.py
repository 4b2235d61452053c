"""Runs the comparisons with Keras's recorded results, and reports which public names they compare.

    python tools/parity.py [--missing] [pytest arguments...]        (make parity)

A name of Keras 3 is compared if a test that compares with recorded results calls what is behind it,
and passes. The tests are those of the files in `COMPARISONS`; `make oracle-record` records the
results with Keras itself.
"""

from __future__ import annotations

import argparse
import collections
import inspect
import json
import pathlib
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import pytest
from catalogue import FIXTURES, find

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTS = str(ROOT / "tests")
COMPARISONS = [
    "tests/applications/test_preprocessing.py",
    "tests/applications/test_structure.py",
    "tests/callbacks/test_callbacks_oracle.py",
    "tests/layers/test_image_oracle.py",
    "tests/layers/test_preprocessing_oracle.py",
    "tests/losses/test_losses_oracle.py",
    "tests/metrics/test_metrics_oracle.py",
    "tests/ops/test_against_keras.py",
    "tests/optimizers/test_optimizers_oracle.py",
    "tests/optimizers/test_loss_scale.py",
    "tests/oracle",
    "tests/saving",
    "tests/utils/test_utils_oracle.py",
]
_MAX_DEPTH = 6  # frames between a test and the constructor that it calls


class CalledNames:
    """A plugin of pytest: which names of Keras the passing and the failing tests call.

    Attributes:
        passed: The names that passing tests call.
        failed: Those that failing tests call.
    """

    def __init__(self, objects: dict[str, Any]):
        self.passed: set[str] = set()
        self.failed: set[str] = set()
        self._classes: dict[type, set[str]] = collections.defaultdict(set)
        self._functions: dict[CodeType, set[str]] = collections.defaultdict(set)
        self._called: set[str] = set()
        for name, value in objects.items():
            if inspect.isclass(value):
                self._classes[value].add(name)
            elif callable(value):
                for function in (value, inspect.unwrap(value)):
                    code = getattr(function, "__code__", None)
                    if code is not None:
                        self._functions[code].add(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Run a test, and record what it calls."""
        self._called = set()
        sys.setprofile(self._on_event)
        passed = False
        try:
            yield
            passed = True
        finally:
            sys.setprofile(None)
            (self.passed if passed else self.failed).update(self._called)

    def _on_event(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code in self._functions and _is_near_a_test(frame):
            self._called.update(self._functions[code])
        elif code.co_name == "__init__" and _is_near_a_test(frame):
            made = type(frame.f_locals.get("self"))
            self._called.update(self._classes.get(made, ()))


def _is_near_a_test(frame: FrameType) -> bool:
    caller = frame.f_back
    for _ in range(_MAX_DEPTH):
        if caller is None:
            return False
        if caller.f_code.co_filename.startswith((TESTS, "<string>")):
            return True
        caller = caller.f_back
    return False


def main() -> int:
    """Run the comparisons and print the counts."""
    from podium.compat import keras3

    parser = argparse.ArgumentParser()
    parser.add_argument("--missing", action="store_true", help="list the names not compared")
    options, arguments = parser.parse_known_args()
    record = json.loads((FIXTURES / "catalogue_keras.json").read_text())
    objects, absent = {}, []
    for name in record["names"]:
        try:
            objects[name] = find(keras3, name)
        except (AttributeError, ImportError):
            absent.append(name)
    plugin = CalledNames(objects)
    status = pytest.main(["-p", "no:xdist", *(arguments or COMPARISONS)], plugins=[plugin])
    _report(record, objects, absent, plugin, options.missing)
    return int(status)


def _report(
    record: dict[str, Any],
    objects: dict[str, Any],
    absent: list[str],
    plugin: CalledNames,
    lists_missing: bool,
) -> None:
    """Print a row of counts for each package, and the names that are not compared."""
    rows: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0, 0])
    missing = []
    for name in record["names"]:
        package = name.partition(".")[0] if "." in name else "keras"
        is_present = name in objects
        passes = name in plugin.passed and name not in plugin.failed
        for column, holds in enumerate((True, is_present, passes, name in plugin.failed)):
            rows[package][column] += holds
        if is_present and not passes:
            missing.append(name)
    rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    print(f"\n{'package':24}{'names':>8}{'present':>9}{'compared':>10}{'failing':>9}")
    for package, (total, present, compared, failing) in rows.items():
        print(f"{package:24}{total:8}{present:9}{compared:10}{failing:9}")
    if lists_missing:
        print("\nnot compared:", ", ".join(missing))
    print("\nabsent:", ", ".join(absent))


if __name__ == "__main__":
    sys.exit(main())
