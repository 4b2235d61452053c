"""Creation of weights for `Layer.add_weight`, and the limit on their size while a file is loaded.

It owns the default initializer and the checks of a weight's shape. Which layer a weight belongs to
is recorded by the layer's tracker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

import jax.numpy as jnp
import numpy as np

from podium import initializers, regularizers
from podium._typing import DTypeLike, Shape, ShapeLike
from podium.core import Variable, closest_match, is_float_dtype, standardize_dtype
from podium.core.internal import (
    charge_file_budget,
    check_bool,
    context,
    current_file_budget,
    layer_name_scope,
)

if TYPE_CHECKING:
    from podium.layers._layer import Layer


_LARGE = 1 << 20  # elements


class WeightOptions(TypedDict, total=False):
    """The arguments of `Layer.add_weight` by name; the last ones only for Keras 2's signature."""

    shape: ShapeLike | None
    initializer: Any
    dtype: DTypeLike | None
    trainable: bool | None
    autocast: bool
    regularizer: Any
    constraint: Any
    aggregation: str | None
    overwrite_with_gradient: bool
    name: str | None
    layout: object
    experimental_autocast: bool
    use_resource: object
    synchronization: object
    collections: object
    caching_device: object
    getter: object


_DEFAULTS: dict[str, Any] = {
    "shape": None,
    "initializer": None,
    "dtype": None,
    "trainable": True,
    "autocast": True,
    "regularizer": None,
    "constraint": None,
    "aggregation": "none",
    "overwrite_with_gradient": False,
    "name": None,
}  # in the order of Keras 3's arguments
_KERAS_2_ORDER = (
    "name",
    "shape",
    "dtype",
    "initializer",
    "regularizer",
    "trainable",
    "constraint",
    "use_resource",
    "synchronization",
    "aggregation",
)
# Keras's arguments without a meaning here.
_IGNORED = frozenset(
    {"use_resource", "synchronization", "layout", "collections", "caching_device", "getter"}
)


def bind_weight_arguments(
    layer: Layer, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all arguments of `add_weight` by name, with defaults for those that were not passed.

    Raises:
        TypeError: An argument is unknown, was passed twice, or the order cannot be recognized.
    """
    order = _positional_order(args)
    if len(args) > len(order):
        raise TypeError(
            f"add_weight was given {len(args)} arguments without names; at most {len(order)} were "
            "expected."
        )
    options = dict(zip(order, args, strict=False))
    if twice := [name for name in options if name in kwargs]:
        raise TypeError(
            f"add_weight was given {twice[0]!r} by position, {options[twice[0]]!r}, and by name, "
            f"{kwargs[twice[0]]!r}. Without names the order is "
            f"`add_weight({', '.join(order[:4])}, ...)`; name the arguments."
        )
    options |= kwargs
    options["autocast"] = options.pop("experimental_autocast", options.get("autocast", True))
    known = (*_DEFAULTS, *_IGNORED)
    for name in options:
        if name not in known:
            close = closest_match(name, tuple(_DEFAULTS))
            hint = f" Did you mean {close!r}?" if close else ""
            raise TypeError(
                f"add_weight was given {name}={options[name]!r}, which is not one of its "
                f"arguments.{hint}"
            )
    bound = {name: options.get(name, default) for name, default in _DEFAULTS.items()}
    if bound["trainable"] is None:  # Keras 2's default
        bound["trainable"] = True
    check_bool("trainable", bound["trainable"], owner=f"add_weight of {layer.name!r}")
    return bound


def _positional_order(args: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the names of arguments without names: Keras 2's order if the first is a name, or None
    before a shape; Keras 3's otherwise.
    """
    keras_3 = tuple(_DEFAULTS)
    if not args:
        return keras_3
    second = args[1] if len(args) > 1 else None
    is_shape = isinstance(second, (int, np.integer, tuple, list))
    if isinstance(args[0], str):
        if len(args) > 1 and second is not None and not is_shape:
            raise TypeError(
                f"add_weight was given {args[0]!r}, {second!r} without names: the first is a "
                "name, after which Keras 2's order has the shape. Pass "
                "`add_weight(name, shape, dtype, initializer)`, or name the arguments: "
                "`add_weight(shape=..., initializer=..., name=...)`."
            )
        return _KERAS_2_ORDER
    return _KERAS_2_ORDER if args[0] is None and is_shape else keras_3


def create_weight(
    layer: Layer,
    shape: ShapeLike | None,
    initializer: Any,
    dtype: DTypeLike | None,
    regularizer: Any,
    name: str | None,
    **options: Any,
) -> Variable:
    """Create a Variable in the name scope of `layer`.

    Args:
        layer: The layer that will own the weight.
        shape: The shape; None for a scalar.
        initializer: A name, an initializer or a function of `(shape, dtype)`; None for the default.
        dtype: The dtype; None for the layer's.
        regularizer: A name, a regularizer or a function of the weight; None for none.
        name: The name of the weight.
        **options: Further arguments of `Variable`.
    """
    dtype = dtype or layer.variable_dtype
    if initializer is None:
        initializer = "glorot_uniform" if is_float_dtype(dtype) else "zeros"
    known_shape = _known_shape(layer, shape, name)
    _subtract_from_limit(layer.name, name, known_shape)
    with layer_name_scope(layer.name):
        return Variable(
            _initializer_or_zeros(layer, initializers.get(initializer), known_shape, dtype),
            known_shape,
            dtype,
            name=name,
            regularizer=regularizers.get(regularizer),
            **options,
        )


def _known_shape(layer: Layer, shape: ShapeLike | None, name: str | None) -> Shape:
    if shape is None:
        return ()
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    known_sizes = tuple(size for size in sizes if size is not None)
    if len(known_sizes) < len(sizes):
        raise ValueError(
            f"Layer {layer.name!r} ({type(layer).__name__}) needs a weight {name!r} of shape "
            f"{sizes}: a dimension that the weight depends on is unknown (None). Specify that "
            "dimension in `Input(shape=...)`."
        )
    return known_sizes


def _subtract_from_limit(layer_name: str, name: str | None, shape: Shape) -> None:
    charge_file_budget(
        "weights",
        math.prod(shape),
        f"Layer {layer_name!r} has a weight {name!r} of shape {shape}, far larger than the size of "
        "all weights in the file.",
    )
    charge_file_budget(
        "new weights",
        math.prod(shape),
        f"Layer {layer_name!r} has a weight {name!r} of shape {shape}; with it the model is larger "
        "than the memory of this machine.",
    )


def _initializer_or_zeros(
    layer: Layer, initializer: Callable[..., Any] | None, shape: Shape, dtype: DTypeLike
) -> Any:
    """Return the initializer, or zeros that take no memory if a file is about to be loaded.

    A large weight would be initialized only to be overwritten by the values of the file.
    """
    budget = current_file_budget()
    is_loading = budget is not None and budget.limits("weights") and math.prod(shape) >= _LARGE
    if not (is_loading or context.skips_initialization) or layer._has_own_store():
        return initializer
    return np.broadcast_to(np.zeros((), jnp.dtype(standardize_dtype(dtype))), shape)
