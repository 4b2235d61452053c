"""SciPy's sparse matrices: the rows of a batch are made dense, the matrix never is."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data._checks import check_values
from podium.data.columns._column import Column, Index


class SparseColumn(Column):
    """A sparse matrix or array of any format. It is kept by rows (CSR), into which other formats
    are converted once.
    """

    fresh = True

    def __init__(self, name: str, matrix: Any):
        if len(matrix.shape) > 2:
            raise ValueError(
                f"`{name}` is a sparse array of shape {matrix.shape}; one or two dimensions were "
                "expected. Reshape it to `(samples, features)`, or make it dense, "
                f"`{name}.toarray()`."
            )
        super().__init__(name, matrix.shape, matrix.dtype)
        check_values(self, name)
        by_rows = matrix.reshape(-1, 1) if self.ndim == 1 else matrix
        self._matrix = by_rows.tocsr()
        check_values(np.asarray(self._matrix.data), name)

    def read(self, index: Index) -> np.ndarray:
        """Return dense rows."""
        found = self._matrix[index].toarray()
        return found[:, 0] if self.ndim == 1 else found
