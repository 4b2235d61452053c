"""Zarr: chunked, compressed arrays on disk or in the cloud."""

from __future__ import annotations

import numpy as np

from podium.data.columns._lazy import LazyColumn


class ZarrColumn(LazyColumn):
    """A Zarr array. Scattered rows are selected at once, so that each chunk is opened once for a
    batch.

    A chunk is decompressed whole, for however few of its rows: `shuffle="batch"` with batches of
    the size of a chunk reads each once in an epoch.
    """

    fresh = True

    def scattered(self, wanted: np.ndarray) -> np.ndarray:
        """Return rows by orthogonal selection."""
        return np.asarray(self.source.oindex[wanted])
