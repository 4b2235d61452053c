"""A process that was forked after JAX was used gets an error, where it used to wait forever."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys, warnings
import numpy as np
import podium
warnings.simplefilter("ignore")
model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(1)])
model.compile("sgd", "mse")
x = np.ones((8, 3), "float32")
model.fit(x, x[:, :1], verbose=0)
if os.fork() == 0:
    for use in (lambda: model.fit(x, x[:, :1], verbose=0), lambda: podium.Variable(1.0)):
        try:
            use()
        except RuntimeError as error:
            print(error, flush=True)
    os._exit(0)
os.wait()
model.fit(x, x[:, :1], verbose=0)
print("the parent continues")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_gets_an_error_that_names_spawn():
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=True
    )
    lines = result.stdout.splitlines()
    assert len(lines) == 3 and lines[2] == "the parent continues"
    assert all("forked after JAX was used" in line and "spawn" in line for line in lines[:2])
