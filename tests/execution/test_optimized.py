"""Results are identical for the optimized programs of users, too: other tests compile quickly
instead (`tests/conftest.py`).
"""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PROMISES = (
    "tests/execution/test_execution.py::test_fused_steps_equal_single_steps_bit_for_bit",
    "tests/models/test_fit.py::test_fused_steps_give_identical_weights_and_logs",
    "tests/models/test_interrupts.py::test_model_holds_a_completed_step_after_each_of_fifty_interrupts",
)


@pytest.mark.slow
def test_results_are_identical_for_optimized_programs():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", *PROMISES],
        cwd=ROOT,
        env=os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "0", "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
