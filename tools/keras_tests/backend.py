"""What tests import as `keras.src.backend`, beside names of `podium.core` and `podium.ops`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

import podium
from podium.core import (
    SeedGenerator,
    StatelessScope,
    SymbolicScope,
    image_data_format,
    is_keras_tensor,
)
from podium.core.internal import context, override, symbolic_outputs

SUPPORTS_COMPLEX_DTYPES = True
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_SPARSE_TENSORS = False  # Podium has dense tensors alone
IS_THREAD_SAFE = True

BOOL_TYPES = ("bool",)
INT_TYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
FLOAT_TYPES = ("bfloat16", "float16", "float32", "float64")
FLOAT8_TYPES = ("float8_e4m3fn", "float8_e5m2")
COMPLEX_TYPES = ("complex64", "complex128")
ALLOWED_DTYPES = (*BOOL_TYPES, *INT_TYPES, *FLOAT_TYPES, *COMPLEX_TYPES, "string")


def any_symbolic_tensors(args: Any = None, kwargs: Any = None) -> bool:
    """Return whether a KerasTensor is among the arguments."""
    leaves = jax.tree.leaves((args, kwargs), is_leaf=is_keras_tensor)
    return any(is_keras_tensor(leaf) for leaf in leaves)


def get_keras_mask(value: Any) -> Any:
    """Return the mask that a layer attached to a value."""
    return getattr(value, "_keras_mask", None)


def set_keras_mask(value: Any, mask: Any = None) -> None:
    """Attach a mask to a value."""
    value._keras_mask = mask


def in_stateless_scope() -> bool:
    """Return whether a `StatelessScope` is open."""
    return isinstance(context.scope, StatelessScope)


def get_stateless_scope() -> Any:
    """Return the innermost open `StatelessScope`."""
    return context.scope if in_stateless_scope() else None


def in_symbolic_scope() -> bool:
    """Return whether a `SymbolicScope` is open."""
    return isinstance(context.scope, SymbolicScope)


@contextlib.contextmanager
def AutocastScope(dtype: Any) -> Iterator[None]:
    """Read Variables of floats in another dtype inside of a `with` block."""
    with override(autocast_dtype=dtype):
        yield


def compute_output_spec(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes that a function returns for symbolic arguments."""
    return symbolic_outputs(function, args, kwargs)


def standardize_data_format(data_format: str | None) -> str:
    """Return a data format, by default the global one."""
    data_format = data_format or image_data_format()
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"data_format={data_format!r} is unknown.")
    return data_format


def random_seed_dtype() -> str:
    """Return the dtype of the state of seed generators."""
    return str(np.dtype(SeedGenerator(0).state.dtype))


def device(name: str) -> contextlib.AbstractContextManager[object]:
    """Return `keras.device(name)`."""
    return podium.compat.keras.device(name)
