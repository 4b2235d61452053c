"""A user's script runs, and type checkers accept it and infer the types it asserts."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "typing" / "user_script.py"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_script_runs():
    result = run(sys.executable, str(SCRIPT))
    assert (result.returncode, result.stdout) == (0, "loss falls: True\n"), result.stderr


@pytest.mark.slow
def test_mypy_infers_the_types():
    options = ["--config-file=", "--cache-dir=.cache/mypy", "--ignore-missing-imports"]
    result = run(sys.executable, "-m", "mypy", *options, str(SCRIPT))
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
def test_pyright_infers_the_types():
    options = ["--outputjson", "--pythonpath", sys.executable]
    result = run(sys.executable, "-m", "pyright", *options, str(SCRIPT))
    report = json.loads(result.stdout)
    problems = [
        f"line {each['range']['start']['line'] + 1}: {each['message']}"
        for each in report["generalDiagnostics"]
        if each["severity"] == "error"
    ]
    assert not problems, "\n".join(problems)
    assert report["summary"]["filesAnalyzed"] == 1
