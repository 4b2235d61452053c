"""The code of two documents about Keras's training loop runs on Podium, unmodified.

Eleven cells are covered: the nine of "Customizing what happens in fit()" and the final listing of
"Keras Model Implementation Walkthrough" with its example. The rest of the walkthrough is an earlier
version of the listing and excerpts that do not run on their own. `seeds/` holds the text of the
cells; `run_cells.py` runs them in order, with a few random digits for MNIST.
"""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "xla"


def run_cells(*names):
    environment = {
        "JAX_COMPILATION_CACHE_DIR": str(CACHE),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "PYTHONWARNINGS": "error,ignore:Error reading persistent:UserWarning,ignore:Error "
        "writing persistent:UserWarning",
    }
    paths = [str(HERE / "seeds" / f"{name}.txt") for name in names]
    result = subprocess.run(
        [sys.executable, "-m", "podium", str(HERE / "run_cells.py"), *paths],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    assert [line[4:] for line in result.stdout.splitlines() if line.startswith("ran ")] == list(
        names
    )
    return result.stdout


@pytest.mark.slow
def test_customizing_fit_runs():
    out = run_cells(*(f"customizing_fit_{number}" for number in range(1, 7)))
    assert out.count("Epoch ") == 3 + 5 + 3
    assert out.count(" - loss: ") == 3 + 5 + 3 + 1 and out.count(" - mae: ") == 3 + 5 + 3 + 1


@pytest.mark.slow
def test_customizing_fit_gan_runs():
    out = run_cells(
        *(f"customizing_fit_{number}" for number in (1, 7, 8)),
        "customizing_fit_numpy",
        "customizing_fit_9",
    )
    assert "2/2 [====" in out and "d_loss: " in out and "g_loss: " in out


@pytest.mark.slow
def test_walkthrough_final_listing_runs():
    out = run_cells("walkthrough_final_1", "walkthrough_final_2")
    assert "Using <podium.distribute.Strategy" in out or "Using OneDeviceStrategy" in out
    assert "Epoch 10/10" in out and "Predictions Shape: (1000, 1)" in out
    counts = [line.split(" - ")[0] for line in out.splitlines() if "/epoch" in line]
    assert counts == ["100/100"] * 10  # the document's 101 counts a step that had no data
    before, after = (line for line in out.splitlines() if line.startswith("Metrics "))
    assert "numpy=10.0" in before and "numpy=100." in before
    assert "e-13" in after and "e-05" in after  # the document's values: 1.4e-13 and 1.2e-05
