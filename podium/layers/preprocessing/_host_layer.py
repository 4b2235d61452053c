"""HostLayer: the base of layers that compute on the host, with NumPy, because they accept text.

It owns how text passes through the call of a layer, and what happens where values are not known
while a program is compiled. What is computed belongs to its subclasses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import jax
import numpy as np

from podium._typing import Tree
from podium.core import KerasTensor, Tensor, Variable, convert_to_tensor, is_symbolic
from podium.core.internal import as_text_array, is_text
from podium.layers._layer import Layer


class HostArray:
    """An argument of a layer that stays on the host: text, or numbers with all their bits."""

    def __init__(self, value: np.ndarray[Any, Any]):
        self.value = value


class HostLayer(Layer):
    """A layer that computes on the host.

    A subclass defines `_compute_on_host`, and `_compute_traced` if it can compute with numbers in a
    compiled program too.
    """

    encoding = "utf-8"  # how bytes are decoded
    _prepares_inputs = True

    def __init__(self, **kwargs: Any):
        # Numbers are not cast to the compute dtype: in bfloat16 257 would become 256.
        super().__init__(autocast=False, **kwargs)

    def _prepare_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._protect(args[0]), *args[1:]) if args else args

    def _protect(self, inputs: Tree) -> Tree:
        """Return the inputs with `HostArray`s in the place of what only the host can hold."""
        if is_symbolic(inputs):
            return inputs
        return to_host_array(inputs, self.encoding)

    def call(self, inputs: Tree) -> Tree:
        """Compute the outputs, on the host unless the inputs are traced."""
        if is_traced(inputs):
            return self._compute_traced(inputs)
        outputs = self._compute_on_host(as_host_value(inputs))
        return outputs if outputs.dtype.kind == "O" else convert_to_tensor(outputs)

    def _compute_on_host(self, inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the outputs for NumPy arrays."""
        raise NotImplementedError(f"{type(self).__name__} does not define `_compute_on_host`.")

    def _compute_traced(self, inputs: Tree) -> Tree:
        """Return the outputs for values that are traced; by default that is an error."""
        self._raise_traced()

    def _raise_traced(self) -> NoReturn:
        raise TypeError(
            f"Layer {self.name!r} ({type(self).__name__}) computes on the host, and was called "
            "inside a compiled function or step. Call it before, for example in `Dataset.map`, or "
            "make it the first layer of a functional or Sequential model."
        )


def to_host_array(value: Tree, encoding: str = "utf-8") -> Tree:
    """Return text, arrays, numbers and lists of them as a HostArray; a Tensor as it is."""
    if isinstance(value, (Tensor, KerasTensor, HostArray, jax.Array)) or value is None:
        return value
    if isinstance(value, Variable):
        return value.read_value()
    if is_text(value):
        return HostArray(as_text_array(value, "inputs", encoding))
    return HostArray(np.asarray(value))


def as_host_value(value: Tree) -> Tree:
    """Return what `to_host_array` returned as a NumPy array."""
    return value.value if isinstance(value, HostArray) else np.asarray(value)


def is_traced(value: object) -> bool:
    """Return whether a value is not known yet: it belongs to a program that is being compiled."""
    array = value.value if isinstance(value, Tensor) else value
    return isinstance(array, jax.core.Tracer)


def iterate_batches(
    data: Tree, steps: int | None, layer: Layer, lists_are_arrays: bool
) -> Iterator[Tree]:
    """Iterate over the batches that `adapt` was given; of a tuple of them, the first item counts.

    Args:
        data: An array, a Dataset or another iterable of batches.
        steps: The number of batches to read; None for all.
        layer: The layer, for messages.
        lists_are_arrays: Whether a list is one array, and not a list of batches.
    """
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise TypeError(
            f"adapt of layer {layer.name!r} ({type(layer).__name__}) was given {data!r}; an array, "
            "or an iterable of batches, was expected."
        )
    is_array = hasattr(data, "__array__") or isinstance(data, (Tensor, jax.Array))
    if is_array or (lists_are_arrays and isinstance(data, (list, tuple))):
        yield data
        return
    for index, batch in enumerate(data):
        if steps is not None and index >= steps:
            return
        yield batch[0] if isinstance(batch, tuple) else batch


def host_batch(batch: Tree, encoding: str = "utf-8") -> np.ndarray[Any, Any]:
    """Return a batch as an array: of strings if it is text."""
    array: np.ndarray[Any, Any] = as_host_value(to_host_array(batch, encoding))
    return array
