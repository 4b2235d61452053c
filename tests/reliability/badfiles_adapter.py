"""The functions that a corpus of malicious files calls: saving a small model, loading any file.

The harness that builds the files defines the names and calls them:
`PYTHONPATH=tests/reliability python badfiles.py --adapter badfiles_adapter`.
"""

import json
import pathlib

import numpy as np

import podium
from podium.utils._extract_archive import extract_archive

K = podium
ext, wext, config, weights = ".keras", ".weights.h5", "config.json", "model.weights.h5"


def model():
    podium.utils.set_random_seed(0)
    network = podium.Sequential(
        [
            podium.layers.Input((4,)),
            podium.layers.Dense(3, name="d"),
            podium.layers.Dense(2, name="e"),
        ]
    )
    network.compile("sgd", "mse")
    return network


def save(network, path):
    network.save(path)


def save_weights(network, path):
    network.save_weights(path)


def load_model(path):
    return podium.saving.load_model(path)


def load_weights(path):
    network = model()
    network.load_weights(path)
    return network


load_legacy_h5 = load_npz_model = load_model
load_legacy_weights = load_safetensors = load_weights


def extract(path, folder):
    extract_archive(pathlib.Path(path), pathlib.Path(folder) / "extracted")


def layer_from_config(path):
    with open(path) as file:
        podium.saving.deserialize_keras_object(json.load(file))(podium.ops.zeros((1, 2)))


def model_from_json(path):
    with open(path) as file:
        podium.models.model_from_json(file.read())(podium.ops.zeros((1, 4)))


def restore_backup(folder):
    if not hasattr(podium.callbacks, "BackupAndRestore"):
        raise NotImplementedError
    network = model()
    backup = podium.callbacks.BackupAndRestore(folder, delete_checkpoint=False)
    network.fit(
        np.zeros((8, 4), "float32"),
        np.zeros((8, 2), "float32"),
        epochs=2,
        verbose=0,
        callbacks=[backup],
    )
    return network
