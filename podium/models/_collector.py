"""Collector: puts the outputs of `predict` together, batch behind batch, as NumPy arrays."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium.core import Tensor, convert_to_tensor
from podium.core._structures import in_order
from podium.execution import StepValues

_IN_FLIGHT = 4  # batches left on the device, so that the next step is not waited for


class Collector:
    """The outputs so far. Each leaf of the structure is a list of batches, older ones in NumPy already."""

    def __init__(self) -> None:
        self._structure: Any = None
        self._parts: list[list[Any]] = []
        self._copied = 0

    def add(self, values: Any) -> None:
        """Add the outputs of an execution."""
        for outputs in values.each() if isinstance(values, StepValues) else [values]:
            leaves, structure = jax.tree.flatten(in_order(outputs), is_leaf=lambda leaf: isinstance(leaf, Tensor))
            if self._structure is None:
                self._structure = structure
                self._parts = [[] for _ in leaves]
            elif structure != self._structure:
                raise ValueError(
                    f"`predict_step` returned {structure} after {self._structure}. It must return the same structure for "
                    "every batch, so that the batches can be put together."
                )
            for parts, leaf in zip(self._parts, leaves, strict=True):
                parts.append(leaf)
        while self._parts and len(self._parts[0]) - self._copied > _IN_FLIGHT:
            for parts in self._parts:
                parts[self._copied] = np.asarray(parts[self._copied])
            self._copied += 1

    def latest(self, count: int) -> Any:
        """Return the outputs of the last `count` batches, put together if they are several."""
        if count == 1:
            return jax.tree.unflatten(self._structure, [parts[-1] for parts in self._parts])
        return jax.tree.unflatten(self._structure, [_joined(parts[-count:]) for parts in self._parts])

    def result(self) -> Any:
        """Return everything in the structure of one batch's outputs."""
        joined = []
        for parts in self._parts:
            joined.append(_joined(parts))
            parts.clear()
        return jax.tree.unflatten(self._structure, joined)


def _joined(parts: list) -> np.ndarray:
    arrays = [np.asarray(part) for part in parts]
    return np.stack(arrays) if arrays[0].ndim == 0 else np.concatenate(arrays)


def as_output(leaf: Any) -> Any:
    """Turn a plain number that `predict_step` returns into a Tensor, one per batch."""
    return convert_to_tensor(leaf) if isinstance(leaf, (bool, int, float, np.generic, np.ndarray)) else leaf
