"""Writes down what TensorFlow computes for the expressions of `tensorflow_cases.py`; run it where
TensorFlow is installed.

python tests/oracle/record_compat.py --out tests/oracle/fixtures
"""

import argparse
import pathlib

import numpy as np
import tensorflow as tf
from tensorflow_cases import ARRAYS, CASES


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    folder = pathlib.Path(parser.parse_args().out)
    values = {}
    for number, case in enumerate(CASES):
        result = eval(case, {"tf": tf, "np": np, **ARRAYS})
        for part, leaf in enumerate(tf.nest.flatten(result)):
            values[f"{number}.{part}"] = np.asarray(leaf)
    np.savez_compressed(folder / "compat.npz", cases=np.array(CASES), **values)


if __name__ == "__main__":
    main()
