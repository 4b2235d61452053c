"""Memory-mapped files: NumPy arrays whose numbers lie on disk, as `np.memmap` and
`np.load(mmap_mode="r")` give them.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from podium.data.columns._column import Index
from podium.data.columns._lazy import LazyColumn


def is_mapped(array: np.ndarray) -> bool:
    """Tell whether an array, or what it is a view of, lies in a mapped file."""
    owner: Any = array
    while owner is not None and not isinstance(owner, (np.memmap, mmap.mmap)):
        owner = getattr(owner, "base", None)
    return owner is not None


class MappedColumn(LazyColumn):
    """A mapped file. The system reads what a batch touches, and forgets it again."""

    def read(self, index: Index) -> np.ndarray:
        """Return rows: a view of neighbours, a copy of others, read in the order of the file."""
        if isinstance(index, slice):
            return np.asarray(self.source[index])
        order = np.argsort(index)
        found = np.empty((len(index), *self.shape[1:]), self.dtype)
        found[order] = self.source[index[order]]
        return found
