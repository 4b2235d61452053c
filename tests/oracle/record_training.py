"""Runs `training_cases.py`, `training_custom.py` and `training_events.py` through tf_keras and
stores the results.

    python tests/oracle/record_training.py --out tests/oracle/fixtures      (in the tf_keras
    environment)

Writes `training.json` (curves, logs, events) and `training.npz` (predictions). `--only gan` prints
one case instead.
"""

import argparse
import json
import logging
import os
import sys
import warnings
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import tensorflow as tf
import tf_keras
from training_cases import COMPILED
from training_custom import CUSTOM
from training_events import SCENARIOS
from training_library import Library

LIBRARY = Library(
    keras=tf_keras,
    GradientTape=tf.GradientTape,
    Dataset=tf.data.Dataset,
    mean=tf.reduce_mean,
    sum=tf.reduce_sum,
    exp=tf.exp,
    square=tf.square,
    concat=tf.concat,
    ones=tf.ones,
    zeros=tf.zeros,
    shape=tf.shape,
)


class WarningHandler(logging.Handler):
    """Converts log messages of TensorFlow to warnings."""

    def emit(self, record):
        warnings.warn(record.getMessage(), stacklevel=2)


def run_scenario(scenario, k):
    """Return the result of a scenario, or the error of tf_keras."""
    try:
        return scenario(LIBRARY, k)
    except ValueError as error:
        return {"refused": str(error)}


def round_floats(value):
    """Round floats to the precision of float32."""
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, dict):
        return {key: round_floats(item) for key, item in value.items()}
    return [round_floats(item) for item in value] if isinstance(value, (list, tuple)) else value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=str(Path(__file__).parent / "fixtures"))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    tf.get_logger().setLevel("WARNING")
    tf.get_logger().addHandler(WarningHandler())
    runs, events, arrays = {}, {}, {}
    for name, case in (COMPILED | CUSTOM).items():
        if options.only in name:
            run = case(LIBRARY)
            for i, array in enumerate(run.pop("predict", [])):
                arrays[f"{name}/{i}"] = np.asarray(array, "float32")
            runs[name] = round_floats(run)
    for name, scenario in SCENARIOS.items():
        if options.only in name:
            events |= {f"{name}/{k}": round_floats(run_scenario(scenario, k)) for k in (1, 3)}
    about = f"tf_keras {tf_keras.__version__} on tensorflow {tf.__version__}"
    if options.only:
        print(json.dumps({**runs, **events}, indent=1))
        return
    out = Path(options.out)
    lines = [f'"about": {json.dumps(about)}']
    for part, results in (("runs", runs), ("events", events)):
        inner = ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in results.items()
        )
        lines.append(f'"{part}": {{\n{inner}\n}}')
    (out / "training.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    np.savez_compressed(out / "training.npz", **arrays)
    print(f"{len(runs)} runs, {len(events)} lists of events")


if __name__ == "__main__":
    main()
