"""Keras 2's description of the model in a SavedModel: its class, config and compile arguments.

It is a JSON text for each object: in `keras_metadata.pb`, or, before TensorFlow 2.5, in
`saved_model.pb`. Only the text of the root is used; what it means is decided by `formats`.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from podium.saving.io._atomic_write import open_regular_file
from podium.saving.io._errors import InvalidFileError
from podium.saving.tensorflow_files._wire_format import Message

METADATA_FILE = "keras_metadata.pb"
GRAPH_FILE = "saved_model.pb"
_MAX_BYTES = 1 << 31
_MODELS = ("_tf_keras_model", "_tf_keras_network", "_tf_keras_sequential")


class _Description(NamedTuple):
    """The kind of Keras's object, and its JSON text."""

    identifier: str
    text: bytes


def num_metadata_bytes(directory: str) -> int:
    """Return the size of the file that has the description."""
    path = _metadata_path(directory)
    return os.path.getsize(path) if os.path.isfile(path) else 0


def read_root_metadata(caller: str, directory: str) -> bytes:
    """Return the JSON text that describes the model in a SavedModel.

    Args:
        caller: The function that the user called, for messages.
        directory: The SavedModel.

    Raises:
        InvalidFileError: There is none, or it is damaged.
    """
    path = _metadata_path(directory)
    name = os.path.basename(path)
    with open_regular_file(caller, path) as file:
        if os.fstat(file.fileno()).st_size > _MAX_BYTES:
            raise InvalidFileError(f"was rejected: its {name!r} has over {_MAX_BYTES} bytes.")
        content = file.read()
    message = Message(content, repr(name))
    root = _root_of_metadata(message) if name == METADATA_FILE else _root_of_graph(message)
    if root is None or not root.text:
        raise InvalidFileError(
            "is a SavedModel without Keras's description of a model: it was written by "
            "`tf.saved_model.save`, `export` or TensorFlow 1. Build the model in Python and use "
            f"`model.load_weights({directory!r})`; or run it with TensorFlow: "
            "`tf.saved_model.load`."
        )
    if root.identifier not in _MODELS:
        raise InvalidFileError(
            f"is a SavedModel of an object of kind {root.identifier[:200]!r}; a model was expected."
        )
    return root.text


def _metadata_path(directory: str) -> str:
    path = os.path.join(directory, METADATA_FILE)
    return path if os.path.lexists(path) else os.path.join(directory, GRAPH_FILE)


def _root_of_metadata(message: Message) -> _Description | None:
    shown = f"{METADATA_FILE!r}"
    nodes = [node for node in message.get_messages(1, shown) if node.get_signed(2) == 0]
    if len(nodes) > 1:
        raise InvalidFileError(f"is damaged: its {shown} describes the root {len(nodes)} times.")
    return _Description(nodes[0].get_text(4), nodes[0].get_bytes(5)) if nodes else None


def _root_of_graph(message: Message) -> _Description | None:
    shown = f"{GRAPH_FILE!r}"
    meta_graphs = message.get_messages(2, shown)
    nodes = meta_graphs[0].get_message(7, shown).get_all_bytes(1) if meta_graphs else []
    if not nodes:
        return None
    user_object = Message(nodes[0], shown).get_message(4, shown)
    return _Description(user_object.get_text(1), user_object.get_bytes(3))
