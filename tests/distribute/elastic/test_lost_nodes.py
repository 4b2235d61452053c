"""Training on a Ray cluster that loses a node and gains one; `make soak-elastic` loses more."""

import subprocess
import sys

import pytest

from tests.distribute.elastic.ray_nodes import ROOT


@pytest.mark.slow
def test_training_continues_with_fewer_and_then_more_workers_and_equals_one_process():
    process = subprocess.run(
        [sys.executable, "-m", "tests.distribute.elastic.lose_nodes", "--workers=2", "--runs=1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "killed the node of worker 0 of 2" in process.stdout
    assert "added a node to 1" in process.stdout
    assert "difference from the undisturbed run" in process.stdout
    assert "left over: no process, no file" in process.stdout
