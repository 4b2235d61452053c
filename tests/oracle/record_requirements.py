"""Runs `requirement_cases.py` through tf_keras and stores the results.

    python tests/oracle/record_requirements.py --out tests/oracle/fixtures      (in the tf_keras
    environment)

Writes `requirements.json`. `--only vector_loss` prints one case instead.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_USE_LEGACY_KERAS"] = "1"
sys.path.insert(0, str(Path(__file__).parent))

import tensorflow as tf
from requirement_cases import CASES


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    assert "tf_keras" in tf.keras.Model.__module__
    results = {}
    for name, case in CASES.items():
        if arguments.only in (None, name):
            tf.keras.backend.clear_session()
            tf.keras.utils.set_random_seed(0)
            results[name] = case(tf)
    text = json.dumps(results, indent=1)
    if arguments.only:
        print(text)
    else:
        (arguments.out / "requirements.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
