"""Pipelines at the start of a Dataset: rows of arrays, one structure of arrays, a generator. Also
converts the arguments of the Dataset's constructors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
from podium.core import TensorSpec, Variable, convert_to_tensor, is_tensor, standardize_dtype
from podium.data._copy_values import array_from_list, copy_array
from podium.data._structure import (
    describe_structure,
    leaves,
    map_leaves,
    named_leaves,
    rebuild_sequence,
)
from podium.data._value_checks import device_dtype, short_repr
from podium.data.columns._column_types import is_array_like
from podium.data.pipelines._pipeline import UNKNOWN_CARDINALITY, Pipeline, Rows, TextSpec


class SlicesPipeline(Pipeline):
    """The rows of arrays in memory."""

    in_order = True
    seekable = True

    def __init__(self, table: Tree, count: int | None = None):
        self.table = table
        self._count = len(leaves(table)[0]) if count is None else count

    def size(self) -> int:
        """Return the number of rows."""
        return self._count

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Iterate over all rows in order."""
        yield range(start, self._count)

    def sample(self, batch: int) -> Tree:
        """Return the first row, or zeros if there is none."""
        if self._count:
            return super().sample(batch)
        return map_leaves(lambda array: np.zeros(array.shape[1:], array.dtype)[()], self.table)


class SingleElementPipeline(Pipeline):
    """One element."""

    seekable = True

    def __init__(self, element: Tree):
        self._element = element

    def size(self) -> int:
        """Return 1."""
        return 1

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Yield the element."""
        if start == 0:
            yield self._element


class GeneratorPipeline(Pipeline):
    """What a generator function yields; it is called again for each iteration.

    Args:
        make: A function that returns an iterable.
        signature: A structure of specs that every element must match, or None.
    """

    def __init__(self, make: Callable[[], Iterable[Tree]], signature: Tree = None):
        self._make = make
        self._signature = signature

    def size(self) -> int:
        """Return UNKNOWN_CARDINALITY."""
        return UNKNOWN_CARDINALITY

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Call the function and yield its elements, validated and converted."""
        for element in self._make():
            yield (
                freeze_element(element)
                if self._signature is None
                else _match_signature(element, self._signature)
            )

    def spec(self) -> Tree:
        """Return the signature, or the specs of the first element."""
        return super().spec() if self._signature is None else self._signature


def freeze_element(structure: Tree, name: str = "element") -> Tree:
    """Convert what a user's function returned to an element whose leaves are NumPy values that only
    Podium holds.

    As in tf.data, tuples and dictionaries are structure, and a list stands for one array.
    """
    if isinstance(structure, dict):
        return {key: freeze_element(value, f"{name}[{key!r}]") for key, value in structure.items()}
    if isinstance(structure, tuple):
        return rebuild_sequence(
            structure, [freeze_element(value, f"{name}[{i}]") for i, value in enumerate(structure)]
        )
    if structure is None or isinstance(structure, (str, bytes)):
        return structure
    if isinstance(structure, list):
        holds_tensors = any(
            is_tensor(leaf) or isinstance(leaf, Variable) for leaf in leaves(structure)
        )
        structure = convert_to_tensor(structure) if holds_tensors else np.asarray(structure)
    if isinstance(structure, (np.ndarray, np.generic)) and structure.dtype.kind in "OUS":
        return _check_text(structure, name)
    value = copy_array(structure, name)
    return np.asarray(value) if isinstance(value, jax.Array) else value[()]


def as_table(tensors: Tree) -> Tree:
    """Convert the argument of `from_tensor_slices` to copied arrays of one length."""
    table = map_leaves(np.asarray, freeze_element(tensors, "tensors"))
    lengths = {}
    for name, array in named_leaves(table, "tensors"):
        if array.ndim == 0:
            raise ValueError(
                f"`{name}` is the single value {short_repr(array[()])}, which has no slices. Give "
                "arrays with at least one dimension, or use `Dataset.from_tensors`."
            )
        lengths[name] = len(array)
    if not lengths:
        raise ValueError(f"`tensors` is {short_repr(tensors)}, which holds no arrays.")
    if len(set(lengths.values())) > 1:
        actual = ", ".join(f"`{name}` has {length}" for name, length in lengths.items())
        raise ValueError(
            "All arrays must have the same number of rows, the length of the first dimension: "
            f"{actual}."
        )
    return table


def as_signature(output_types: Tree, output_shapes: Tree, output_signature: Tree) -> Tree:
    """Return the structure of specs from the arguments of `from_generator`, or None."""
    if output_signature is not None:
        if output_types is not None or output_shapes is not None:
            raise ValueError(
                "Give either output_signature, or output_types and output_shapes, but not both."
            )
        return output_signature
    if output_types is None:
        if output_shapes is not None:
            raise ValueError(
                "output_shapes was given without output_types. Give both, or output_signature."
            )
        return None
    if output_shapes is None:
        return map_leaves(lambda dtype: _make_spec(None, dtype), output_types)
    return _make_specs(output_types, output_shapes)


def _make_specs(dtypes: Tree, shapes: Tree) -> Tree:
    if isinstance(dtypes, dict):
        return {key: _make_specs(value, shapes[key]) for key, value in dtypes.items()}
    if isinstance(dtypes, tuple):
        return tuple(_make_specs(value, shape) for value, shape in zip(dtypes, shapes, strict=True))
    return _make_spec(shapes, dtypes)


def _make_spec(shape: Iterable[int | str | None] | None, dtype: Any) -> TensorSpec | TextSpec:
    """Return a spec, also for any rank (shape None) and for text."""
    name = getattr(dtype, "name", dtype)
    if name in ("string", "str", "object", str):
        return TextSpec(() if shape is None else shape)
    spec = TensorSpec(() if shape is None else tuple(shape), standardize_dtype(dtype))
    if shape is None:
        spec.shape = None  # type: ignore[assignment]
    return spec


def _match_signature(element: Tree, signature: Tree, name: str = "element") -> Tree:
    """Convert an element to the dtypes of a signature, and compare the shapes."""
    if isinstance(signature, dict) and isinstance(element, dict) and set(signature) == set(element):
        return {
            key: _match_signature(element[key], spec, f"{name}[{key!r}]")
            for key, spec in signature.items()
        }
    if (
        isinstance(signature, (tuple, list))
        and isinstance(element, (tuple, list))
        and len(signature) == len(element)
    ):
        return tuple(
            _match_signature(*row, f"{name}[{i}]")
            for i, row in enumerate(zip(element, signature, strict=True))
        )
    if isinstance(signature, (dict, tuple, list)):
        raise TypeError(
            f"The generator yielded an {name} of the structure {describe_structure(element)}; its "
            f"signature says {describe_structure(signature)}."
        )
    value = freeze_element(element, name)
    if isinstance(signature, TextSpec):
        return value
    value = np.asarray(value).astype(device_dtype(np.dtype(signature.dtype)), copy=False)
    shape = signature.shape
    if shape is not None and (
        len(shape) != value.ndim
        or any(
            isinstance(want, int) and want != have
            for want, have in zip(shape, value.shape, strict=True)
        )
    ):
        raise ValueError(
            f"The generator yielded an {name} of shape {value.shape}; its signature says {shape}."
        )
    return value[()]


def _check_text(value: NDArray[Any] | np.generic, name: str) -> Any:
    """Return an array of text; one item as Python's `str` or `bytes`."""
    array = np.asarray(value)
    if array.dtype.kind == "O" and not all(isinstance(item, (str, bytes)) for item in array.flat):
        if is_array_like(value) and array.size and not isinstance(array.flat[0], (str, bytes)):
            return array_from_list(array, name)  # raises: an array of Python objects
        raise TypeError(
            f"`{name}` mixes text with values of other types: {short_repr(array.tolist())}."
        )
    return array.item() if array.ndim == 0 else array
