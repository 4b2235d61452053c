"""Collector: puts the outputs of `predict` together, batch behind batch, as NumPy arrays."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium.core import Tensor
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

    @property
    def latest(self) -> Any:
        """The outputs of the last batch, as they were returned."""
        return jax.tree.unflatten(self._structure, [parts[-1] for parts in self._parts])

    def result(self) -> Any:
        """Return everything in the structure of one batch's outputs."""
        joined = []
        for parts in self._parts:
            arrays = [np.asarray(part) for part in parts]
            parts.clear()
            joined.append(np.stack(arrays) if arrays[0].ndim == 0 else np.concatenate(arrays))
        return jax.tree.unflatten(self._structure, joined)
