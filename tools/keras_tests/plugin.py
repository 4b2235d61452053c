"""The pytest plugin: collects Keras's test files without its packages, and records every result.

`KERAS_TESTS_SOURCES` is the folder `keras/src` of the installed Keras, `KERAS_TESTS_RESULTS` the
file of JSON lines that results are appended to.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import os
import pathlib
import traceback
from collections.abc import Generator
from typing import Any

import pytest

from keras_tests import modules
from keras_tests.results import OTHER_ERROR

SOURCES = pathlib.Path(os.environ["KERAS_TESTS_SOURCES"])
RESULTS = pathlib.Path(os.environ["KERAS_TESTS_RESULTS"])
_errors: dict[str, str] = {}  # by node, of the phase that failed


class KerasTestModule(pytest.Module):
    """A test file that is imported under the name that it has in Keras."""

    def _getobj(self) -> Any:
        name = modules.test_module_name(SOURCES, self.path)
        try:
            return importlib.import_module(name)
        except Exception as error:
            raise self.CollectError(_describe(error)) from error


def pytest_configure(config: pytest.Config) -> None:
    """Install the import hook, and register the marks that the tests have."""
    for mark in ("requires_trainable_backend", "multi_device", "gpu", "tpu"):
        config.addinivalue_line("markers", f"{mark}: a mark of Keras's tests")
    modules.install(SOURCES)


def pytest_collect_directory(path: pathlib.Path, parent: pytest.Collector) -> pytest.Collector:
    """Collect folders as folders: their `__init__` would import Keras."""
    directory: pytest.Dir = pytest.Dir.from_parent(parent, path=path)
    return directory


def pytest_pycollect_makemodule(module_path: pathlib.Path, parent: Any) -> pytest.Module:
    """Collect a test file under its name in Keras."""
    module: pytest.Module = KerasTestModule.from_parent(parent, path=module_path)
    return module


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the type and the text of an error."""
    report = yield
    if call.excinfo is not None:
        error = call.excinfo.value
        is_other = _is_inside_assertion(error) and not isinstance(error, AssertionError)
        _errors[item.nodeid] = (OTHER_ERROR if is_other else "") + _describe(error)
    return report


def pytest_runtest_logstart(nodeid: str) -> None:
    """Record that a test begins: if the process dies, it is known in which one."""
    _record(nodeid, "started")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the result of a test."""
    if report.when == "call" or report.outcome != "passed":
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        _record(report.nodeid, outcome, _errors.pop(report.nodeid, ""))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Record a test file that cannot be imported."""
    if report.outcome != "passed":
        _record(report.nodeid, f"import {report.outcome}", str(report.longrepr)[:2000])


def _record(nodeid: str, outcome: str, message: str = "") -> None:
    with RESULTS.open("a") as file:
        file.write(json.dumps({"test": nodeid, "outcome": outcome, "error": message}) + "\n")


def _is_inside_assertion(error: BaseException) -> bool:
    """Return whether a test expects an error from the statement that raised this one."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file.endswith("_test.py") and any(line in lines for lines in _assertions_in(file)):
            return True
    return False


@functools.cache
def _assertions_in(file: str) -> list[range]:
    """Return the lines of the `with` blocks of a file that expect an error."""
    tree = ast.parse(pathlib.Path(file).read_text())
    return [
        range(node.body[0].lineno, (node.end_lineno or 0) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        and any("aises" in ast.unparse(item.context_expr) for item in node.items)
    ]


def _describe(error: BaseException) -> str:
    """Return the type of an error and the beginning of its text."""
    return f"{type(error).__name__}: {error}"[:2000]
