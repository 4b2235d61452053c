"""Creation of weights for `Layer.add_weight`, and the limit on their size while a file is loaded.

It owns the default initializer and the checks of a weight's shape. Which layer a weight belongs to
is recorded by the layer's tracker.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from podium import initializers, regularizers
from podium._typing import DTypeLike, Shape, ShapeLike
from podium.core import Variable, is_float_dtype, standardize_dtype
from podium.core.internal import layer_name_scope, override, register_thread_local

if TYPE_CHECKING:
    from podium.layers._layer import Layer


class _SizeLimit(threading.local):
    remaining: int | None = None  # elements that new weights may still have; None for no limit


_size_limit = register_thread_local(_SizeLimit())
_LARGE = 1 << 20  # elements


def limited_weights(num_elements: int) -> contextlib.AbstractContextManager[None]:
    """Limit the weights that layers create in a `with` block to `num_elements` elements in all.

    A file with small weights cannot make layers allocate large ones.
    """
    return override(_size_limit, remaining=num_elements)


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
    if _size_limit.remaining is not None:
        _size_limit.remaining -= math.prod(shape)
        if _size_limit.remaining < 0:
            raise ValueError(
                f"Layer {layer_name!r} has a weight {name!r} of shape {shape}, far larger "
                "than the size of all weights in the file."
            )


def _initializer_or_zeros(
    layer: Layer, initializer: Callable[..., Any] | None, shape: Shape, dtype: DTypeLike
) -> Any:
    """Return the initializer, or zeros that take no memory if a file is about to be loaded.

    A large weight would be initialized only to be overwritten by the values of the file.
    """
    if (
        _size_limit.remaining is None
        or math.prod(shape) < _LARGE
        or hasattr(layer, "load_own_variables")
    ):
        return initializer
    return np.broadcast_to(np.zeros((), jnp.dtype(standardize_dtype(dtype))), shape)
