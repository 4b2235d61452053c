"""Records what tf.data and tf_keras's DataHandler do with the cases of `data_cases.py`.

python tests/oracle/record_data.py --out tests/oracle/fixtures      (in the tf_keras environment)
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import tensorflow as tf
from data_cases import HANDLER_CASES, PIPELINES, read_handler
from tf_keras.src.engine.data_adapter import DataHandler

MAX_ELEMENTS = 40  # elements of an endless pipeline


def to_lists(value):
    if isinstance(value, dict):
        return {key: to_lists(part) for key, part in value.items()}
    return (
        [to_lists(part) for part in value]
        if isinstance(value, tuple)
        else np.asarray(value).tolist()
    )


def shapes(spec):
    if isinstance(spec, dict):
        return {key: shapes(part) for key, part in spec.items()}
    return (
        [shapes(part) for part in spec]
        if isinstance(spec, tuple)
        else {"shape": spec.shape.as_list()}
    )


def pipeline(make):
    dataset = make(tf.data.Dataset)
    return {
        "cardinality": int(dataset.cardinality()),
        "shapes": shapes(dataset.element_spec),
        "elements": [
            to_lists(element) for element in dataset.take(MAX_ELEMENTS).as_numpy_iterator()
        ],
    }


def record_handler(samples, batch_size, k, epochs, steps):
    variable = tf.Variable(k)
    handler = DataHandler(
        np.arange(float(samples)),
        batch_size=batch_size,
        epochs=epochs,
        steps_per_epoch=steps,
        steps_per_execution=variable,
    )

    def read(_, iterator):
        return [float(next(iterator)[0]) for _ in range(int(variable.numpy()))]

    return read_handler(handler, read)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    out = Path(parser.parse_args().out)
    tf.data.Dataset.ones = staticmethod(lambda n: tf.ones((n,)))
    results = {
        "pipelines": {name: pipeline(make) for name, make in PIPELINES.items()},
        "walks": [record_handler(*case) for case in HANDLER_CASES],
    }
    (out / "data.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
