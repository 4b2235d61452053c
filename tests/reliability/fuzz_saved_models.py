"""SavedModels that `fuzz.py` mutates: of Keras 2, and as Podium writes them around a checkpoint."""

import json
import os
import pathlib
import shutil

import fuzz_mutations as mutations
import mutate_checkpoints
from fuzz_mutations import choose

import podium
from podium.saving.formats._model_texts import config_members
from podium.saving.formats._saved_model import TEXTS_DIRECTORY
from podium.saving.tensorflow_files._wire_format import Message, encode_bytes, encode_int

_METADATA = "keras_metadata.pb"


def make_keras_saved_model(folder):
    """A SavedModel that tf_keras wrote."""
    shutil.copytree(mutate_checkpoints.SAVED_MODEL, folder / "saved")
    return folder / "saved"


def make_saved_model_of(model):
    """Return a function that writes what `save(save_format="tf")` does, without a program."""

    def make(folder):
        path = folder / "saved"
        (path / "variables").mkdir(parents=True)
        (path / TEXTS_DIRECTORY).mkdir(parents=True)
        (path / "saved_model.pb").write_bytes(b"\x08\x01")
        made = model()
        made.save_weights(path / "variables" / "variables", save_format="tf")
        for name, text in config_members(made, with_optimizer=True).texts.items():
            (path / TEXTS_DIRECTORY / name).write_bytes(text)
        return path

    return make


def load_saved_model(path):
    return podium.saving.load_model(path).get_weights()


def forge_keras_saved_model(path, rng):
    if rng.random() < 0.3:
        _forge_variables(path, rng)
        return
    content = (path / _METADATA).read_bytes()
    if rng.random() < 0.2:
        (path / _METADATA).write_bytes(choose(rng, mutations.DAMAGE)(content, rng))
        return
    nodes = []
    for node in Message(content, "metadata").get_messages(1, "node"):
        text = node.get_text(5).encode()
        if node.get_signed(2) == 0 or rng.random() < 0.1:
            text = mutations.mutate_json_text(text, rng)
        fields = encode_int(2, node.get_signed(2)), encode_bytes(4, node.get_text(4))
        nodes.append(encode_bytes(1, b"".join(fields) + encode_bytes(5, text)))
    repeats = int(choose(rng, [1] * 9 + [1000]))
    (path / _METADATA).write_bytes(b"".join(nodes * repeats))


def forge_saved_model(path, rng):
    kind = rng.random()
    if kind < 0.3:
        _forge_variables(path, rng)
        return
    folder = path / TEXTS_DIRECTORY
    if kind < 0.4:
        target = choose(rng, sorted(folder.iterdir()))
        target.unlink()
        choose(rng, [lambda: None, target.mkdir, lambda: os.mkfifo(target)])()
        return
    config, metadata = folder / "config.json", folder / "metadata.json"
    config.write_bytes(mutations.mutate_json_text(config.read_bytes(), rng))
    metadata.write_text(json.dumps({"keras_version": "3.15.1"}))


def _forge_variables(path, rng):
    prefix = pathlib.Path(path) / "variables" / "variables"
    choose(rng, mutate_checkpoints.MUTATIONS[5:])(prefix, rng)
