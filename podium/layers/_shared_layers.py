"""`shared_object_id` in configs: a layer that a config describes several times is one layer.

Both directions are here: numbering the layers of configs that are written, and finding the layer of
a number in one that is read. The numbers have a meaning inside one config alone.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from podium._typing import Config
from podium.core.internal import override, register_thread_local
from podium.layers._layer import Layer

_T = TypeVar("_T")

KEY = "shared_object_id"  # Keras's name


class _Number(int):
    """The number of a layer while configs are made; it stays recognizable when they are copied."""


class _Local(threading.local):
    numbers: dict[int, tuple[Layer, _Number]] | None = None  # by id; holds the layers alive
    layers: dict[tuple[object, object, int], Layer] | None = None  # by class, name and number


_local = register_thread_local(_Local())
_counter = itertools.count()  # never repeats, so that a number in an old config matches no layer


# --- writing


def number_shared_layers(make_config: Callable[[], _T]) -> _T:
    """Return what `make_config` returns, with numbers for layers that are described repeatedly.

    Inside another call of this function, the outer one gives the numbers.
    """
    if _local.numbers is not None:
        return make_config()
    with override(_local, numbers={}):
        config = make_config()
    _keep_shared_numbers(config)
    return config


def add_number(layer: object, config: Config) -> Config:
    """Return the config of a layer with its number, inside of `number_shared_layers`."""
    if _local.numbers is None or not isinstance(layer, Layer):
        return config
    if id(layer) not in _local.numbers:
        _local.numbers[id(layer)] = layer, _Number(next(_counter))
    return config | {KEY: _local.numbers[id(layer)][1]}


def _keep_shared_numbers(config: Any) -> None:
    """Count from 0 the numbers that occur several times, and delete the others, in place."""
    configs = [item for item in _dictionaries(config) if isinstance(item.get(KEY), _Number)]
    counts = collections.Counter(item[KEY] for item in configs)
    final: dict[int, int] = {}
    for item in configs:
        number = item.pop(KEY)
        if counts[number] > 1:
            item[KEY] = final.setdefault(number, len(final))


def _dictionaries(config: Any) -> Iterator[dict[str, Any]]:
    """Yield the dictionaries of plain data, in order."""
    pending = [config]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield item
            pending.extend(reversed(item.values()))
        elif isinstance(item, (list, tuple)):
            pending.extend(reversed(item))


# --- reading


def share_layers(is_new_config: bool = False) -> contextlib.AbstractContextManager[None]:
    """Make layers of one number one layer in a `with` block.

    Args:
        is_new_config: Whether numbers of an outer block have another meaning.
    """
    if _local.layers is not None and not is_new_config:
        return contextlib.nullcontext()
    return override(_local, layers={})


def build_layer_once(config: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Return the layer that was built for the number in a config, or `build(config)`.

    The class and the name are compared too: Keras numbers objects of other kinds as well.
    """
    shared, number, arguments = _local.layers, config.get(KEY), config.get("config")
    if shared is None or not isinstance(number, int) or not isinstance(arguments, Mapping):
        return build(config)
    class_name, name = config.get("class_name"), arguments.get("name")
    if not isinstance(class_name, str) or not isinstance(name, str | None):
        return build(config)
    key = class_name, name, number
    if key not in shared:
        instance = build(config)
        if not isinstance(instance, Layer):
            return instance
        shared[key] = instance
    return shared[key]
