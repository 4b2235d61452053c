"""Assets: files that layers write beside their weights, such as vocabularies, in `.keras` archives.

A layer with the methods `save_assets(directory)` and `load_assets(directory)` has assets. They are
members `assets/<path of the layer>/<file>` of the archive, as in Keras 3. A directory exists only
for the duration of such a call; nothing else of an archive is extracted.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any, BinaryIO

from podium.saving._savable_model import SavableModel
from podium.saving.formats._archive import list_members, read_texts
from podium.saving.io._errors import InvalidFileError
from podium.state import StateNode, state_nodes

_PREFIX = "assets"


def asset_members(model: SavableModel) -> dict[str, bytes]:
    """Return the contents of the assets of a model's layers by the names of their members."""
    members: dict[str, bytes] = {}
    for node in _nodes_with(model, "save_assets"):
        with tempfile.TemporaryDirectory() as directory:
            _owner(node).save_assets(directory)
            for folder, _, names in os.walk(directory):
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    relative = os.path.relpath(path, directory).replace(os.sep, "/")
                    with open(path, "rb") as file:
                        members[f"{_directory_of(node)}/{relative}"] = file.read()
    return members


def load_assets(model: SavableModel, archive: BinaryIO) -> None:
    """Pass to each layer of a model the assets that an archive has for it.

    Raises:
        InvalidFileError: The archive has assets for a layer that does not read any.
    """
    remaining = {name for name in list_members(archive) if name.startswith(f"{_PREFIX}/")}
    remaining = {name for name in remaining if not name.endswith("/")}
    if not remaining:
        return
    nodes = _nodes_with(model, "load_assets")
    contents = read_texts(archive, tuple(sorted(remaining)))
    # A layer inside of another one has a longer path: its assets are not those of the outer one.
    for node in sorted(nodes, key=lambda node: len(node.path), reverse=True):
        prefix = f"{_directory_of(node)}/"
        names = sorted(name for name in remaining if name.startswith(prefix))
        if not names:
            continue
        remaining.difference_update(names)
        with tempfile.TemporaryDirectory() as directory:
            for name in names:
                path = os.path.join(directory, *name.removeprefix(prefix).split("/"))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(contents[name])
            _owner(node).load_assets(directory)
    if remaining:
        raise InvalidFileError(
            f"does not fit model {model.name!r}: it has the assets {min(remaining)!r}, which "
            "belong to none of its layers."
        )


def reject_assets(model: SavableModel, file_format: str) -> None:
    """Raise if layers have assets: only `.keras` archives hold them."""
    for node in _nodes_with(model, "save_assets"):
        with tempfile.TemporaryDirectory() as directory:
            _owner(node).save_assets(directory)
            names = sorted(os.listdir(directory))
        if names:
            raise ValueError(
                f"Layer {node.owner.name!r} ({type(node.owner).__name__}) writes {names[0]!r} "
                f"beside its weights, which a file in the format {file_format} cannot hold. Save "
                "the model as `.keras`, or create the layer with its `vocabulary`."
            )


def _nodes_with(model: SavableModel, method: str) -> list[StateNode]:
    return [node for node in state_nodes(model) if callable(getattr(node.owner, method, None))]


def _owner(node: StateNode) -> Any:
    return node.owner


def _directory_of(node: StateNode) -> str:
    return f"{_PREFIX}/{node.path}" if node.path else _PREFIX
