"""Adds the `shared_object_id`s that Keras loses: it numbers a layer when it writes it for the
second time, and the first config of it, if inside another model, was copied before.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

from podium._typing import Config

_KEY = "shared_object_id"


def add_lost_numbers(config: Any) -> None:
    """Give the number that a single layer has to the earlier layer that it is, in place.

    That is the only one before it without a number, of its class, name and arguments.
    """
    layers = list(_named_objects(config))
    counts = collections.Counter(_shared_number(layer) for layer in layers)
    unnumbered: dict[tuple[str, str], list[Config]] = {}
    for layer in layers:
        number = _shared_number(layer)
        others = unnumbered.setdefault((layer["class_name"], layer["config"]["name"]), [])
        if number is None:
            others.append(layer)
        elif (
            counts[number] == 1 and len(others) == 1 and _arguments(layer) == _arguments(others[0])
        ):
            others[0][_KEY] = number


def _shared_number(layer: Config) -> int | None:
    number = layer.get(_KEY)
    return number if isinstance(number, int) else None


def _named_objects(config: Any) -> Iterator[Config]:
    """Yield the configs of objects with names, in order."""
    pending = [config]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            arguments = item.get("config")
            if (
                isinstance(item.get("class_name"), str)
                and isinstance(arguments, dict)
                and isinstance(arguments.get("name"), str)
            ):
                yield item
            pending.extend(reversed(item.values()))
        elif isinstance(item, list):
            pending.extend(reversed(item))


def _arguments(layer: Config) -> Config:
    """Return the arguments that are plain values, which are quick to compare."""
    plain = (bool, int, float, str)
    return {key: value for key, value in layer["config"].items() if isinstance(value, plain)}
