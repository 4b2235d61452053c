"""GraphInputs: which value belongs to which symbolic input of a graph, and its conversion.

It owns the structures that a functional model accepts: that of its inputs, a dictionary by the
names of the inputs, or a flat list. A value gets the dtype and the rank that its `Input` declares.
Running the graph is done by `_graph.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from podium._typing import TensorLike, Tree
from podium.core import (
    KerasTensor,
    Tensor,
    closest_match,
    convert_to_tensor,
    tree_leaves,
    warn_user,
)
from podium.core.internal import as_text_array, is_string_dtype, is_text
from podium.layers import InputLayer


class GraphInputs:
    """The inputs of a graph, in the structure in which the model was created.

    Args:
        structure: A KerasTensor, or a list, tuple or dictionary of them, nested to any depth.
        model_name: The model's name, for messages.
        declared: Whether the caller chose the dtypes and the sizes of the inputs; if not, values
            keep their own, and layers check what they can take.
    """

    def __init__(self, structure: Tree, model_name: str, declared: bool = True):
        self.structure = structure
        self.symbols: list[KerasTensor] = tree_leaves(structure)
        self._model_name = model_name
        self._declared = declared
        self._unexpected_keys: tuple[str, ...] = ()  # a warning named them

    def convert(self, inputs: Tree) -> list[Tensor | KerasTensor | None]:
        """Return one value per input, in order, with its dtype and rank."""
        return self._map_values(self._convert, inputs)

    def check(self, inputs: Tree) -> None:
        """Raise if these inputs do not match; nothing is computed."""
        self._map_values(self._check_shape, inputs)

    def flatten(self, inputs: Tree) -> list[Any]:
        """Return one value per input, in order, as they are.

        Raises:
            ValueError: The structure does not match.
        """
        structure = self.structure
        if isinstance(inputs, Mapping) and not isinstance(structure, Mapping):
            structure = {symbol.name: symbol for symbol in self.symbols}
        elif not _has_mapping(inputs) and not _is_same_structure(structure, inputs):
            return self._flatten_positional(inputs)
        values: dict[int, Any] = {}
        self._collect(structure, inputs, "", values)
        return [values[id(symbol)] for symbol in self.symbols]

    def _flatten_positional(self, inputs: Tree) -> list[Any]:
        """Return the values of a list in the order of the inputs, which sorts dictionaries."""
        flat = list(_flatten_with_none(inputs))
        if len(flat) != len(self.symbols):
            names = ", ".join(f"{s.name!r} {s.shape}" for s in self.symbols)
            raise ValueError(
                f"Model {self._model_name!r} takes {len(self.symbols)} inputs ({names}) and was "
                f"given {len(flat)}."
            )
        if len(flat) > 1 and not _has_sorted_keys(self.structure):
            raise ValueError(
                f"Model {self._model_name!r} was given a list, and its inputs are a dictionary "
                f"with the keys in another order than the alphabetical one: which value belongs to "
                "which input is not clear. Pass a dictionary: "
                f"{_describe(self.structure)}."
            )
        return flat

    def _collect(self, structure: Tree, value: Tree, path: str, values: dict[int, Any]) -> None:
        """Store the value of each symbol of `structure` in `values`, by id."""
        if isinstance(structure, KerasTensor):
            if _has_mapping(value):
                raise self._structure_error(structure, value, path)
            is_wrapped = isinstance(value, (list, tuple)) and len(value) == 1
            values[id(structure)] = value[0] if is_wrapped else value
        elif isinstance(structure, Mapping):
            if not isinstance(value, Mapping):
                raise self._structure_error(structure, value, path)
            self._check_keys(structure, value, path)
            for key, part in structure.items():
                self._collect(part, value[key], f"{path}[{key!r}]", values)
        else:
            if not isinstance(value, (list, tuple)) or len(value) != len(structure):
                raise self._structure_error(structure, value, path)
            for index, part in enumerate(structure):
                self._collect(part, value[index], f"{path}[{index}]", values)

    def _structure_error(self, structure: Tree, value: Tree, path: str) -> ValueError:
        where = f" for inputs{path}" if path else ""
        return ValueError(
            f"Model {self._model_name!r} was given {_describe(value)}{where}; "
            f"{_describe(structure)} was expected. Pass the inputs in the structure in which the "
            "model was created."
        )

    def _check_keys(
        self, structure: Mapping[str, Any], value: Mapping[str, Any], path: str
    ) -> None:
        """Raise for a missing key of a dictionary; warn about unexpected ones."""
        where = f" in inputs{path}" if path else ""
        for key in structure:
            if key not in value:
                close = closest_match(str(key), map(str, value))
                hint = f" Did you mean {key!r} where you wrote {close!r}?" if close else ""
                raise ValueError(
                    f"Model {self._model_name!r} needs the input {key!r}{where} and was given the "
                    f"keys {sorted(value, key=str)}.{hint}"
                )
        unexpected = tuple(f"{path}{key}" for key in value if key not in structure)
        if unexpected and unexpected != self._unexpected_keys:
            self._unexpected_keys = unexpected
            keys = [key for key in value if key not in structure]
            warn_user(
                f"Model {self._model_name!r} was given inputs with the keys {keys}{where}, which "
                f"it does not have; they are ignored. Its inputs are {list(structure)}."
            )

    def _map_values(self, fn: Callable[[KerasTensor, Any], Any], inputs: Tree) -> list[Any]:
        """Apply `fn` to each symbol and its value, unless that is None and may be."""
        values = self.flatten(inputs)
        for symbol, value in zip(self.symbols, values, strict=True):
            if value is None:
                self._check_optional(symbol)
        return [
            None if value is None else fn(symbol, value)
            for symbol, value in zip(self.symbols, values, strict=True)
        ]

    def _check_optional(self, symbol: KerasTensor) -> None:
        if not is_optional(symbol):
            raise ValueError(
                f"Model {self._model_name!r} was given None for the input {symbol.name!r}; a value "
                f"of shape {symbol.shape} was expected. Pass one, or declare it as "
                f"`Input(shape={symbol.shape[1:]}, optional=True)`."
            )

    def _convert(self, symbol: KerasTensor, value: TensorLike) -> Any:
        if is_string_dtype(symbol.dtype):
            return self._convert_text(symbol, value)
        mask = getattr(value, "_keras_mask", None)
        tensor = convert_to_tensor(value, symbol.dtype if self._declared else None)
        sizes = self._check_shape(symbol, tensor)
        if sizes > 0:
            tensor = tensor[..., None]
        elif sizes < 0:
            tensor = tensor[..., 0]
        if mask is not None and tensor is not value:
            tensor._keras_mask = mask
        return tensor

    def _convert_text(self, symbol: KerasTensor, value: Any) -> Any:
        """Return text as an array of strings of the rank of its `Input`."""
        if isinstance(value, KerasTensor):
            return value
        if not is_text(value):
            raise TypeError(
                f"Model {self._model_name!r} was given {_describe(value)} for the input "
                f"{symbol.name!r}, which was declared with dtype='string': text was expected, as "
                "an array or a list of strings."
            )
        array = as_text_array(value, symbol.name)
        sizes = self._check_shape(symbol, array)
        return array[..., None] if sizes > 0 else array[..., 0] if sizes < 0 else array

    def _check_shape(self, symbol: KerasTensor, value: Any) -> int:
        """Return 1 if a last axis of size 1 has to be added, -1 if it has to be removed, else 0.

        Raises:
            ValueError: The shape does not match.
        """
        given = tuple(value.shape if hasattr(value, "shape") else np.shape(value))
        shape, expected, change = given, symbol.shape, 0
        if len(shape) == len(expected) - 1 and expected[-1] == 1:
            shape, change = (*shape, 1), 1
        elif len(shape) == len(expected) + 1 and shape[-1] == 1:
            shape, change = shape[:-1], -1
        matches = len(shape) == len(expected) and all(
            None in sizes or sizes[0] == sizes[1]
            for sizes in zip(expected[1:], shape[1:], strict=True)
        )
        if not self._declared and len(shape) == len(expected):
            return change
        if not matches:
            raise ValueError(
                f"Model {self._model_name!r} was given an input of shape {shape} for "
                f"{symbol.name!r}, which was declared as Input(shape={expected[1:]}): shape "
                f"{expected} was expected. Reshape the data, or change the `Input`."
            )
        return change


def is_optional(symbol: KerasTensor) -> bool:
    """Return whether None is accepted as the value of an input."""
    layer = None if symbol.node is None else symbol.node.layer
    return isinstance(layer, InputLayer) and layer.optional


def _flatten_with_none(value: Tree) -> Iterator[Any]:
    """Yield the leaves of lists, tuples and dictionaries (by key); None is one."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _flatten_with_none(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _flatten_with_none(item)
    else:
        yield value


def _has_mapping(value: Tree) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_mapping, value))
    return isinstance(value, Mapping)


def _has_sorted_keys(structure: Tree) -> bool:
    if isinstance(structure, Mapping):
        keys = list(structure)
        return keys == sorted(keys) and all(map(_has_sorted_keys, structure.values()))
    return not isinstance(structure, (list, tuple)) or all(map(_has_sorted_keys, structure))


def _is_same_structure(structure: Tree, value: Tree) -> bool:
    """Return whether a value has the structure of the inputs; lists and tuples are the same."""
    if isinstance(structure, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(structure)
            and all(map(_is_same_structure, structure, value))
        )
    return not isinstance(structure, Mapping) and not isinstance(value, (list, tuple, Mapping))


def _describe(value: Tree) -> str:
    """Return a structure in a short form: names of symbols, types and shapes of values."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_describe(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_describe, value)) + "]"
    if isinstance(value, KerasTensor):
        return value.name
    return f"{type(value).__name__}{tuple(getattr(value, 'shape', ()))}"
