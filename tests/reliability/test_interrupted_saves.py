"""Saves that are killed, or that find the disk full, leave the file that was there. `make
soak-saves` kills two hundred.
"""

import os
import pathlib
import subprocess
import sys

from kill_saves import run

HERE = pathlib.Path(__file__).parent


def test_a_killed_save_leaves_a_whole_file(tmp_path):
    assert run(3, tmp_path, seed=1) == 3


def test_a_full_disk_is_an_error_that_names_the_path_and_training_goes_on(tmp_path):
    environment = {**os.environ, "PODIUM_CACHE_DIR": "off"}
    command = [sys.executable, str(HERE / "full_disk.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "all files are whole, and training went on" in done.stdout
