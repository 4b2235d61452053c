"""Which adapter a source gets, by its type; and which other arguments go with it. New kinds of
sources are added here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from podium.data._argument_names import ArgumentNames, check_shuffle
from podium.data._class_weight import ClassWeight
from podium.data._convert_arrays import convert_arrays
from podium.data._copy_values import short_repr
from podium.data.adapters._adapter import DataAdapter
from podium.data.adapters._array_adapter import ArrayAdapter
from podium.data.adapters._dataset_adapter import DatasetAdapter
from podium.data.adapters._generator_adapter import GeneratorAdapter
from podium.data.adapters._grain_adapter import (
    GrainIteratorAdapter,
    GrainMapAdapter,
    GrainStreamAdapter,
)
from podium.data.adapters._hugging_face_adapter import HuggingFaceAdapter
from podium.data.adapters._py_dataset_adapter import SequenceAdapter
from podium.data.adapters._tensorflow_adapter import TensorFlowAdapter
from podium.data.adapters._torch_adapter import TorchAdapter
from podium.data.columns._named_columns import split_named_columns
from podium.data.pipelines._shuffling import draw_seed

_own: tuple[
    type[DataAdapter], ...
] = (  # the first one that can, does: the most specific stand before the general
    HuggingFaceAdapter,
    TorchAdapter,
    TensorFlowAdapter,
    GrainMapAdapter,
    GrainStreamAdapter,
    GrainIteratorAdapter,
    SequenceAdapter,
    ArrayAdapter,
    GeneratorAdapter,
    DatasetAdapter,
)
_added: list[type[DataAdapter]] = []  # by users; those are asked first, the latest one before all


def register_adapter(adapter: type[DataAdapter]) -> type[DataAdapter]:
    """Add an adapter for a kind of source of your own; it is asked before Podium's. Use it as a
    decorator.

    Args:
        adapter: A subclass of `DataAdapter`; see there for an example.

    Example:
        >>> class Nothing(podium.data.DataAdapter):
        ...     @staticmethod
        ...     def can_handle(x):
        ...         return False
        >>> podium.data.register_adapter(Nothing) is Nothing
        True
    """
    if not (isinstance(adapter, type) and issubclass(adapter, DataAdapter)):
        raise TypeError(
            f"register_adapter({adapter!r}): a subclass of `podium.data.DataAdapter` was expected."
        )
    if adapter not in _added:
        _added.insert(0, adapter)
    return adapter


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
    names: ArgumentNames,
    workers: Mapping[str, Any] | None = None,
) -> tuple[DataAdapter, Callable | None]:
    """Return the adapter for a source, and what must be done to each of its batches.

    `workers` are the arguments of Keras 2's `fit` about who makes the batches, those that were
    given.
    """
    shuffle = check_shuffle(shuffle)
    x, y, sample_weight = split_named_columns(
        x, y, sample_weight, (names.x, names.y, names.sample_weight)
    )
    weights = ClassWeight(class_weight, output_names) if class_weight else None
    if weights is not None and sample_weight is not None:
        raise ValueError(
            "class_weight and sample_weight were both given. Give one: multiply the weights of the "
            "classes into sample_weight, and leave out class_weight."
        )
    kind = _kind_of(x, names)
    if kind is not ArrayAdapter:
        wanted: dict[str, Any] = {"steps": steps, "names": names}
        if kind.gives_rows:
            wanted |= {"y": y, "sample_weight": sample_weight, "batch_size": batch_size}
        else:
            _refuse_extras(x, kind, names, y, sample_weight, batch_size)
        if kind.shuffles:
            wanted |= {"shuffle": shuffle, "seed": _seed(seed, shuffle)}
        if kind.has_workers:
            wanted |= workers or {}
        return kind(x, **wanted), None if weights is None else weights.add_to
    if weights is not None:
        if y is None:
            raise ValueError(
                f"class_weight was given without `{names.y}`; it weighs the classes that the "
                "targets hold."
            )
        sample_weight = weights.of(convert_arrays(y, names.y))
    arrays = ArrayAdapter(
        x,
        y,
        sample_weight,
        batch_size=batch_size,
        steps=steps,
        shuffle=shuffle,
        seed=_seed(seed, shuffle),
        output_names=output_names,
        names=names,
    )
    return arrays, None


def _kind_of(x: Any, names: ArgumentNames) -> Any:
    """Choose the adapter by the type of the source, or say why none fits."""
    if x is None:
        raise ValueError(f"`{names.x}` is None; arrays, a Dataset or a generator were expected.")
    if inspect.isgeneratorfunction(x):
        raise TypeError(
            f"`{names.x}` is of type function: the generator function `{x.__name__}` itself was "
            f"given, a generator was expected. Call it: `{x.__name__}()`."
        )
    if callable(x) and not hasattr(x, "__iter__") and not ArrayAdapter.can_handle(x):
        raise TypeError(
            f"`{names.x}` is of type {type(x).__name__}: {short_repr(x)}. Arrays, a Dataset or a "
            "generator were expected; call a function that makes one."
        )
    for kind in (*_added, *_own):
        if kind.can_handle(x):
            return kind
    raise TypeError(
        f"`{names.x}` is of type {type(x).__name__}: {short_repr(x)}. Arrays (or "
        "dictionaries, lists and tuples of them), a "
        "Dataset or a generator were expected."
    )


def _seed(seed: int | None, shuffle: bool | str) -> int:
    """Draw a seed if one is needed and was not given."""
    if seed is not None:
        return seed
    return draw_seed() if shuffle else 0


def _refuse_extras(
    x: Any, adapter: Any, names: ArgumentNames, y: Any, sample_weight: Any, batch_size: int | None
) -> None:
    """Refuse arguments that only go with arrays."""
    kind = adapter.kind
    for name, value in ((names.y, y), (names.sample_weight, sample_weight)):
        if value is not None:
            raise ValueError(
                f"`{name}` was given, but `{names.x}` is a {kind} ({type(x).__name__}), whose "
                f"batches hold everything. Leave out `{name}`, and let the {kind} give tuples `(x, "
                "y)` or `(x, y, sample_weight)`."
            )
    if batch_size is not None:
        raise ValueError(
            f"{names.batch_size}={batch_size} was given, but `{names.x}` is a {kind} "
            f"({type(x).__name__}), which makes its own "
            f"batches. Leave out {names.batch_size}; to make batches of that size: "
            f"{adapter.batching.format(batch_size)}."
        )
