"""Training on 8 virtual devices equals one device; in a separate process, since tests have 4."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "xla"


def run_script(path, devices, *arguments, timeout=280):
    environment = {
        **os.environ,
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} "
        f"--xla_force_host_platform_device_count={devices}",
        "PJRT_NPROC": str(max(16, 2 * devices)),
        "PYTHONPATH": str(HERE.parents[1]),
        "JAX_COMPILATION_CACHE_DIR": str(CACHE),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    command = [sys.executable, str(path), *map(str, arguments)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.mark.slow
def test_models_under_each_strategy_equal_one_device():
    done = run_script(HERE / "equal_to_one_device.py", 8)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\n") == 13 and "equal to one device:  True" in done.stdout
