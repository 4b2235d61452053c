"""Which adapter a source gets, by its type; and which other arguments go with it. New kinds of sources are added here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from podium.data._adapter import DataAdapter
from podium.data._array_adapter import ArrayAdapter
from podium.data._arrays import prepared
from podium.data._class_weight import ClassWeight
from podium.data._dataset_adapter import DatasetAdapter
from podium.data._generator_adapter import GeneratorAdapter
from podium.data._shuffling import fresh_seed
from podium.data._values import shortened
from podium.data._words import Words, check_shuffle

ADAPTERS: tuple[Any, ...] = (ArrayAdapter, GeneratorAdapter, DatasetAdapter)  # the first one that can, does


def choose_adapter(
    x: Any,
    y: Any,
    sample_weight: Any,
    *,
    batch_size: int | None,
    steps: int | None,
    shuffle: bool | str,
    seed: int | None,
    class_weight: Any,
    output_names: list[str] | None,
    same_lengths: bool,
    words: Words,
) -> tuple[DataAdapter, Callable | None]:
    """Return the adapter for a source, and what must be done to each of its batches."""
    shuffle = check_shuffle(shuffle)
    weights = ClassWeight(class_weight, output_names) if class_weight else None
    if weights is not None and sample_weight is not None:
        raise ValueError(
            "class_weight and sample_weight were both given. Give one: multiply the weights of the classes into "
            "sample_weight, and leave out class_weight."
        )
    kind = _kind_of(x, words)
    if kind is not ArrayAdapter:
        extras = {words.y: y, words.sample_weight: sample_weight, words.batch_size: batch_size}
        _refuse_extras(x, kind, words, extras)
        adapter = kind(x, steps=steps, same_lengths=same_lengths, words=words)
        return adapter, None if weights is None else weights.add_to
    if weights is not None:
        if y is None:
            raise ValueError(f"class_weight was given without `{words.y}`; it weighs the classes that the targets hold.")
        sample_weight = weights.of(prepared(y, words.y))
    if seed is None:
        seed = fresh_seed() if shuffle else 0
    arrays = ArrayAdapter(
        x,
        y,
        sample_weight,
        batch_size=batch_size,
        steps=steps,
        shuffle=shuffle,
        seed=seed,
        output_names=output_names,
        words=words,
    )
    return arrays, None


def _kind_of(x: Any, words: Words) -> Any:
    """Choose the adapter by the type of the source, or say why none fits."""
    if x is None:
        raise ValueError(f"`{words.x}` is None; arrays, a Dataset or a generator were expected.")
    if inspect.isgeneratorfunction(x):
        raise TypeError(
            f"`{words.x}` is of type function: the generator function `{x.__name__}` itself was given, a generator was "
            f"expected. Call it: `{x.__name__}()`."
        )
    if callable(x) and not hasattr(x, "__iter__") and not ArrayAdapter.can_handle(x):
        raise TypeError(
            f"`{words.x}` is of type {type(x).__name__}: {shortened(x)}. Arrays, a Dataset or a generator were expected; call a "
            "function that makes one."
        )
    for kind in ADAPTERS:
        if kind.can_handle(x):
            return kind
    raise TypeError(
        f"`{words.x}` is of type {type(x).__name__}: {shortened(x)}. Arrays (or dictionaries, lists and tuples of them), a "
        "Dataset or a generator were expected."
    )


def _refuse_extras(x: Any, adapter: Any, words: Words, extras: dict[str, Any]) -> None:
    """Refuse arguments that only go with arrays."""
    kind = "generator" if adapter is GeneratorAdapter else "dataset"
    for name, value in extras.items():
        if value is None:
            continue
        if name == words.batch_size:
            raise ValueError(
                f"{name}={value} was given, but `{words.x}` is a {kind} ({type(x).__name__}), which makes its own batches. Leave "
                f"out {name}; a Dataset is batched with `.batch({value})`."
            )
        raise ValueError(
            f"`{name}` was given, but `{words.x}` is a {kind} ({type(x).__name__}), whose batches hold everything. Leave out "
            f"`{name}`, and let the {kind} give tuples `(x, y)` or `(x, y, sample_weight)`."
        )
