"""Chooses the adapter for a source by its type, and refuses arguments that do not go with it.

Owns the registry: new kinds of sources are added here, or by users with `register_adapter`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from podium._typing import Tree
from podium.core import warn_user
from podium.data._argument_names import ArgumentNames, check_shuffle
from podium.data._class_weight import ClassWeight
from podium.data._convert_arrays import convert_arrays
from podium.data._retrying import Retrying
from podium.data._value_checks import short_repr
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
from podium.data.adapters._py_dataset_adapter import PyDatasetAdapter
from podium.data.adapters._retrying_adapter import RetryingAdapter
from podium.data.adapters._tensorflow_adapter import TensorFlowAdapter
from podium.data.adapters._torch_adapter import TorchAdapter
from podium.data.columns._named_columns import split_named_columns
from podium.data.pipelines._shuffling import draw_shuffle_seed

# The first adapter that can handle a source is used: specific ones come before general ones.
_BUILT_IN: tuple[type[DataAdapter], ...] = (
    HuggingFaceAdapter,
    TorchAdapter,
    TensorFlowAdapter,
    GrainMapAdapter,
    GrainStreamAdapter,
    GrainIteratorAdapter,
    PyDatasetAdapter,
    ArrayAdapter,
    GeneratorAdapter,
    DatasetAdapter,
)
_registered: list[type[DataAdapter]] = []  # by users; tried first, the latest before the others


def register_adapter(adapter: type[DataAdapter]) -> type[DataAdapter]:
    """Register an adapter for your own kind of source; it is tried before Podium's. Use it as a
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
    if adapter not in _registered:
        _registered.insert(0, adapter)
    return adapter


def choose_adapter(
    x: Tree,
    y: Tree,
    sample_weight: Tree,
    *,
    batch_size: int | None,
    steps: int | None,
    shuffle: bool | str,
    seed: int | None,
    class_weight: Mapping[Any, Any] | None,
    output_names: list[str] | None,
    names: ArgumentNames,
    workers: Mapping[str, Any] | None = None,
    end_epoch: int | None = None,
) -> tuple[DataAdapter, Callable[[Tree], Tree] | None]:
    """Return the adapter for a source, and a function to apply to each of its batches, or None.

    `workers` holds the arguments `workers`, `use_multiprocessing` and `max_queue_size` of Keras 2's
    `fit` that were passed, `end_epoch` the epoch before which a run ends.
    """
    if isinstance(x, Retrying):
        inner, transform = choose_adapter(
            x.source,
            y,
            sample_weight,
            batch_size=batch_size,
            steps=steps,
            shuffle=shuffle,
            seed=seed,
            class_weight=class_weight,
            output_names=output_names,
            names=names,
            workers=workers,
            end_epoch=end_epoch,
        )
        return RetryingAdapter(x, inner, names=names), transform
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
    adapter_class = _find_adapter_class(x, names)
    if adapter_class is not ArrayAdapter:
        kwargs: dict[str, Any] = {"steps": steps, "names": names}
        if adapter_class.gives_rows:
            kwargs |= {"y": y, "sample_weight": sample_weight, "batch_size": batch_size}
        else:
            _check_array_arguments(x, adapter_class, names, y, sample_weight, batch_size)
        if adapter_class.shuffles:
            kwargs |= {"shuffle": shuffle, "seed": _seed_for(seed, shuffle)}
        if adapter_class.has_workers:
            kwargs |= workers or {}
        return adapter_class(x, **kwargs), None if weights is None else weights.add_to
    if weights is not None:
        if y is None:
            raise ValueError(
                f"class_weight was given without `{names.y}`; it weights the classes of the "
                "targets."
            )
        sample_weight = weights.sample_weight_for(convert_arrays(y, names.y))
    arrays = ArrayAdapter(
        x,
        y,
        sample_weight,
        batch_size=batch_size,
        steps=steps,
        shuffle=shuffle,
        seed=_seed_for(seed, shuffle),
        output_names=output_names,
        names=names,
        end_epoch=end_epoch,
    )
    return arrays, None


def _find_adapter_class(x: Any, names: ArgumentNames) -> type[DataAdapter]:
    """Return the adapter class for the type of the source.

    Raises:
        ValueError: The source is None.
        TypeError: There is no adapter for it.
    """
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
    for adapter_class in (*_registered, *_BUILT_IN):
        if adapter_class.can_handle(x):
            return adapter_class
    raise TypeError(
        f"`{names.x}` is of type {type(x).__name__}: {short_repr(x)}. Arrays (or "
        "dictionaries, lists and tuples of them), a "
        "Dataset or a generator were expected."
    )


def _seed_for(seed: int | None, shuffle: bool | str) -> int:
    """Return the seed; draw one if it is needed and was not passed."""
    if seed is not None:
        return seed
    return draw_shuffle_seed() if shuffle else 0


def _check_array_arguments(
    x: object,
    adapter_class: type[DataAdapter],
    names: ArgumentNames,
    y: Tree,
    sample_weight: Tree,
    batch_size: int | None,
) -> None:
    """Raise an error for data besides a source that holds all of it; warn of a batch size."""
    kind = adapter_class.kind
    for name, value in ((names.y, y), (names.sample_weight, sample_weight)):
        if value is not None:
            raise ValueError(
                f"`{name}` was given, but `{names.x}` is a {kind} ({type(x).__name__}), whose "
                f"batches hold everything. Leave out `{name}`, and let the {kind} give tuples `(x, "
                "y)` or `(x, y, sample_weight)`."
            )
    if batch_size is not None:
        warn_user(
            f"{names.batch_size}={batch_size} has no effect: `{names.x}` is a {kind} "
            f"({type(x).__name__}), which makes its own batches. To make batches of that size: "
            f"{adapter_class.batching.format(batch_size)}."
        )
