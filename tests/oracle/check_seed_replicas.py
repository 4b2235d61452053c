"""The weights of the engines of `seed_engines.py` after 20 steps with 1, 2 and 4 replicas and with
2 processes, compared with each other and with tf_keras.

    python tests/oracle/check_seed_replicas.py

Prints one weight of each run, and the largest difference between all weights; fails if one is above
1e-5. `test_seed_replicas.py` is the short version.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

if __name__ == "__main__" and len(sys.argv) == 1:  # not a worker
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import numpy as np
from seed_engines import CASES, Modules, train

import podium
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import data_adapter, training

HERE = pathlib.Path(__file__).parent
LIMIT = 1e-5
MODULES = Modules(
    tf,
    data_adapter,
    training._minimum_control_deps,
    training.reduce_per_replica,
    training.write_scalar_summaries,
)


def train_on_podium(case, strategy, **compile_options):
    """Return the weights of a case; the engines import TensorFlow, which is Podium."""
    podium.compat.install()
    try:
        return train(MODULES, case, strategy, **compile_options)
    finally:
        podium.compat.uninstall()


def train_in_processes(cases):
    """Return the weights of cases by name, trained by two processes of one device each."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parents[1]),
        "XLA_FLAGS": "--xla_force_host_platform_device_count=1",
    }
    command = [sys.executable, "-m", "podium", "launch", "--workers", "2", str(HERE / __file__)]
    with tempfile.TemporaryDirectory() as folder:
        names = [case.name for case in cases]
        done = subprocess.run(
            [*command, folder, *names], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        workers = [json.loads((pathlib.Path(folder) / index).read_text()) for index in "01"]
    assert workers[0] == workers[1], "the processes have different weights"
    return workers[0]


def run_worker(folder, *names):
    """Train cases as one of the processes, and write the weights to a file."""
    strategy = podium.distribute.MultiWorkerMirroredStrategy()
    weights = {
        case.name: train_on_podium(case, strategy).tolist() for case in CASES if case.name in names
    }
    path = pathlib.Path(folder) / str(strategy.cluster.worker)
    path.write_text(json.dumps(weights))


def load_recorded():
    """Return the weights of tf_keras: by case, then by the number of replicas."""
    return json.loads((HERE / "fixtures" / "seed_replicas.json").read_text())


def print_table():
    """Print the table of all cases; return 1 if a difference is too large."""
    columns = {}
    for count in (1, 2, 4):
        strategy = podium.distribute.MirroredStrategy(count)
        columns["1 replica" if count == 1 else f"{count} replicas"] = {
            case.name: train_on_podium(case, strategy) for case in CASES
        }
    columns["2 processes"] = train_in_processes(CASES)
    recorded = load_recorded()
    columns["tf_keras"] = {case.name: recorded[case.name]["1"] for case in CASES}
    print("engine/steps per execution/loss/batches, one weight of each run, largest difference")
    print(f"{'':24}" + "".join(f"{name:>12}" for name in columns) + "  difference  tf_keras on 4")
    worst = 0.0
    for case in CASES:
        runs = np.array([column[case.name] for column in columns.values()])
        difference = np.abs(runs - runs[0]).max()
        four = recorded[case.name].get("4")
        is_equal = four is None or np.abs(runs - four).max() <= LIMIT
        worst = max(worst, difference if is_equal else np.inf)
        shown = "".join(f"{run[0]:12.6f}" for run in runs)
        remark = "differs from its 1" if four is None else "equal" if is_equal else "DIFFERENT"
        print(f"{case.name:24}{shown}{difference:12.1e}  {remark}")
    print(f"largest difference: {worst:.1e} (limit {LIMIT:.0e})")
    return int(worst > LIMIT)


if __name__ == "__main__":
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    sys.exit(run_worker(*sys.argv[1:]) if len(sys.argv) > 1 else print_table())
