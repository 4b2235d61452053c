"""HDF5: a `h5py.Dataset`, whose file the user opens and closes."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data.columns._lazy import LazyColumn


class HDF5Column(LazyColumn):
    """A dataset of a file. HDF5 reads scattered rows in increasing order only."""

    fresh = True

    def __init__(self, name: str, source: Any):
        if not source:
            raise ValueError(
                f"`{name}` is a dataset of an HDF5 file that has been closed. Keep the file open "
                "while the model reads it: call `fit` inside `with h5py.File(...) as file:`."
            )
        if source.shape is None:
            raise ValueError(
                f"`{name}` is an empty HDF5 dataset (h5py.Empty) without a shape; an array was "
                "expected."
            )
        super().__init__(name, source)

    def scattered(self, wanted: np.ndarray) -> np.ndarray:
        """Return rows by one selection, about twice as fast as one read for each."""
        return self.source[wanted]
