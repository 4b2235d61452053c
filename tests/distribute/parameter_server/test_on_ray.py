"""Parameter servers in real processes, on a local Ray cluster."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(scope="module")
def results():
    process = subprocess.run(
        [sys.executable, "-m", "tests.distribute.parameter_server.train_on_ray"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.slow
def test_workers_reach_the_accuracy_of_one_process(results):
    classifier = results["classifier"]
    assert classifier["accuracy"] > 0.9
    assert abs(classifier["accuracy"] - classifier["alone"]) < 0.02


@pytest.mark.slow
def test_every_step_is_applied_once_although_a_worker_is_killed(results):
    assert results["classifier"]["applied"] == [300]
    assert results["classifier"]["iterations"] == 300


@pytest.mark.slow
def test_synchronous_rounds_equal_one_device(results):
    assert results["rounds"]["difference"] < 1e-5


@pytest.mark.slow
def test_no_process_and_no_file_is_left(results):
    assert results["processes"] == {}
    assert results["folders"] == []
