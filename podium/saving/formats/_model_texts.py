"""The configs of a whole model as Keras 3's texts, `config.json` and `metadata.json`, and the model
that they describe.

Where the texts are stored is decided by the formats: in a `.keras` archive, or in a SavedModel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from podium.layers import Layer
from podium.layers.internal import share_layers
from podium.saving._savable_model import SavableModel
from podium.saving.formats._archive import CONFIG, METADATA
from podium.saving.io._errors import InvalidFileError
from podium.saving.serialization._deserialization import build_from_config, charge_objects
from podium.saving.serialization._sanitize_config import sanitize_config
from podium.saving.serialization._serialization import serialize_keras_object
from podium.saving.serialization._shared_numbers import add_lost_numbers
from podium.saving.serialization._strict_json import InvalidJsonError, dump_json, parse_json

KERAS_VERSION = "3.15.1"  # whose layout the texts have


class ConfigMembers(NamedTuple):
    """The texts by name, and whether they say how the model was compiled."""

    texts: dict[str, bytes]
    has_compile_config: bool


def config_members(model: SavableModel, with_optimizer: bool) -> ConfigMembers:
    """Return the texts that describe a model.

    Raises:
        ValueError: An object has no config, or JSON has no form for it.
    """
    config = serialize_keras_object(model)
    if not with_optimizer:
        config.pop("compile_config", None)
    try:
        text = dump_json(config).encode()
    except ValueError as error:
        raise ValueError(
            f"Model {model.name!r} cannot be saved: its config holds a number that JSON does not "
            f"have ({error})."
        ) from error
    digest = hashlib.sha256(text).hexdigest()
    metadata = dump_json(
        {"keras_version": KERAS_VERSION, "written_by": "podium", "config_sha256": digest}
    )
    texts = {METADATA: metadata.encode(), CONFIG: text}
    return ConfigMembers(texts, "compile_config" in config)


def check_config_digest(texts: Mapping[str, bytes]) -> bool:
    """Compare the config of a model with its digest; return whether it has one."""
    metadata = parse_member(texts, METADATA) if METADATA in texts else {}
    digest = metadata.get("config_sha256") if isinstance(metadata, dict) else None
    if digest is not None and digest != hashlib.sha256(texts[CONFIG]).hexdigest():
        raise InvalidFileError(
            f"is corrupt: its {CONFIG!r} does not fit the checksum that was written with it. If "
            f"you changed it on purpose, take 'config_sha256' out of its {METADATA!r}."
        )
    return digest is not None


def parse_member(texts: Mapping[str, bytes], name: str) -> Any:
    """Parse one of the texts, or raise `InvalidFileError`."""
    try:
        return parse_json(texts[name])
    except InvalidJsonError as error:
        raise InvalidFileError(f"was rejected: its {name!r} {error}.") from None


def is_savable(model: Layer) -> bool:
    """Return whether files hold an object by itself: models and what is saved as they are."""
    return hasattr(model, "get_layer") or model._is_savable_alone


def build_model(config: object, compile: bool) -> SavableModel:
    """Build the model that a config describes, inside the current `custom_object_scope`."""
    if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
        raise InvalidFileError(
            f"was rejected: its config is {str(config)[:80]!r}; an object with `class_name` and "
            "`config` was expected."
        )
    if not compile:
        config = {key: value for key, value in config.items() if key != "compile_config"}
    charge_objects(config)
    add_lost_numbers(config)
    with share_layers(is_new_config=True):
        model = build_from_config(sanitize_config(config))
    if not isinstance(model, Layer) or not is_savable(model):
        raise InvalidFileError(
            f"was rejected: its config describes a {config['class_name']!r}; a model was expected."
        )
    return cast(SavableModel, model)
