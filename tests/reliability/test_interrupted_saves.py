"""Saves that are killed, or that fail on a full disk, leave the previous file.

`make soak-saves` kills two hundred saves.
"""

import os
import pathlib
import subprocess
import sys

from kill_saves import run_kills

HERE = pathlib.Path(__file__).parent


def test_killed_save_leaves_a_complete_file(tmp_path):
    assert run_kills(3, tmp_path, seed=1) == 3


def test_full_disk_raises_an_error_with_the_path_and_training_continues(tmp_path):
    environment = {**os.environ, "PODIUM_CACHE_DIR": "off"}
    command = [sys.executable, str(HERE / "full_disk.py"), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert result.returncode == 0, result.stderr[-3000:]
    assert "all files are complete, and training continued" in result.stdout
