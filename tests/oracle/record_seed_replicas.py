"""Trains the engines of `seed_engines.py` with tf_keras, and stores the weights after 20 steps.

    python tests/oracle/record_seed_replicas.py --out tests/oracle/fixtures      (in the tf_keras
    environment)

Writes `seed_replicas.json`: for each case the weights with one replica, and with four where
tf_keras computes the same. With means of an uneven batch it does not: it gives each replica the
same weight. Each run has its own process, because TensorFlow's collective operations of several
loops disturb each other.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_USE_LEGACY_KERAS"] = "1"
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import tensorflow as tf
import tf_keras
from seed_engines import CASES, Modules, train
from tf_keras.src.engine import data_adapter, training


def reduce_per_replica(values, strategy=None, reduction="first"):
    return training.reduce_per_replica(values, strategy or tf.distribute.get_strategy(), reduction)


class DataAdapter:
    """The module of tf_keras with what the documents expect of it."""

    unpack_x_y_sample_weight = staticmethod(data_adapter.unpack_x_y_sample_weight)

    @staticmethod
    def expand_1d(data):  # of earlier versions; nothing here has one dimension
        return data

    @staticmethod
    def unpack(data):
        return data_adapter.unpack_x_y_sample_weight(data)[:2]

    @staticmethod
    def get_data_handler(x, y, **options):
        return data_adapter.get_data_handler(x, y, model=None, **options)


MODULES = Modules(
    tf,
    DataAdapter,
    training._minimum_control_deps,
    reduce_per_replica,
    write_scalar_summaries=lambda logs, step: None,  # only some versions of Keras 2 have it
    is_tensorflow=True,
)


def train_on_tensorflow(case, replicas):
    tf.get_logger().setLevel("ERROR")
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
    strategy = tf.distribute.MirroredStrategy([f"cpu:{index}" for index in range(replicas)])
    return train(MODULES, case, strategy)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=str(Path(__file__).parent / "fixtures"))
    options = parser.parse_args()
    lines = [f'"about": "tf_keras {tf_keras.__version__} on tensorflow {tf.__version__}"']
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, spawn, max_tasks_per_child=1) as pool:
        runs = {
            (case.name, replicas): pool.submit(train_on_tensorflow, case, replicas)
            for case in CASES
            for replicas in (1, 4)
        }
        for case in CASES:
            recorded = {"1": to_list(runs[case.name, 1].result())}
            try:
                four = to_list(runs[case.name, 4].result())
            except Exception as error:
                print(f"{case.name:24} 4 replicas fail: {str(error)[:300]}", flush=True)
            else:
                difference = np.abs(np.subtract(four, recorded["1"])).max()
                print(f"{case.name:24} 4 replicas differ by {difference:.1e}", flush=True)
                if difference < 1e-5:
                    recorded["4"] = four
            lines.append(f'"{case.name}": {json.dumps(recorded)}')
    path = Path(options.out) / "seed_replicas.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def to_list(weights):
    return [float(f"{value:.8g}") for value in weights]


if __name__ == "__main__":
    main()
