"""Threads that predict while another trains, and many fits and models: a short version of
`make soak-load`.
"""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.mark.slow
def test_results_are_right_under_load_and_the_process_does_not_grow():
    command = [sys.executable, str(HERE / "load.py"), "--seconds=3", "--fits=20", "--models=30"]
    environment = {**os.environ, "PODIUM_CACHE_DIR": "off"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr[-3000:]
    assert "right predictions by 10 threads" in result.stdout
    assert "no error and no growth" in result.stdout
