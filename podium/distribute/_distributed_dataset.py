"""DistributedDataset: batches as PerReplica values, each replica's part on its own device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any, cast

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
from podium.core import Stream, map_structure
from podium.core.internal import PublicRepr, Tensor, check_int_range
from podium.distribute._layout import Layout
from podium.distribute._per_replica import PerReplica
from podium.distribute._split_batches import num_shares


class DistributedDataset(PublicRepr):
    """A source of global batches, each split among the replicas. Made by
    `experimental_distribute_dataset`.

    A batch whose samples do not divide evenly is one value instead of one for each replica.

    Args:
        source: An iterable of batches.
        layout: How they are placed.

    Example:
        >>> strategy = podium.distribute.MirroredStrategy(2)
        >>> data = strategy.experimental_distribute_dataset(podium.data.Dataset.range(5).batch(4))
        >>> [[part.numpy().tolist() for part in batch.values] for batch in data]
        [[[0, 1], [2, 3]], [[4]]]
    """

    def __init__(self, source: Iterable[Tree], layout: Layout):
        self.source = source
        self._layout = layout

    def __iter__(self) -> Stream:
        return _BatchSplitter(iter(self.source), self._layout, is_partial=False)

    def __len__(self) -> int:
        return len(cast(Sized, self.source))


class DistributedDatasetFromFunction(DistributedDataset):
    """A dataset of this worker: the batches of all workers together make the global batch."""

    def __iter__(self) -> Stream:
        return _BatchSplitter(
            iter(self.source),
            self._layout,
            is_partial=not self._layout.replicated.is_fully_addressable,
        )


class _BatchSplitter(Stream):
    """Reads batches, and splits them among the replicas."""

    def __init__(self, elements: Iterator[Tree], layout: Layout, is_partial: bool):
        super().__init__()
        self._elements = elements
        self._layout = layout
        self._is_partial = is_partial  # whether each process reads only a part of the batch

    def read_next(self) -> Tree:
        """Return the next batch with PerReplica instead of arrays."""
        element = (
            self._elements.next_arrays()
            if isinstance(self._elements, Stream)
            else next(self._elements)
        )
        arrays = map_structure(_to_numpy, element)
        sizes = {leaf.shape[0] for leaf in jax.tree.leaves(arrays) if leaf.ndim}
        parts = self._layout.parts // (jax.process_count() if self._is_partial else 1)
        shares = num_shares(sizes, parts)
        with jax.ensure_compile_time_eval():  # a compiled function may read while it is traced
            return map_structure(lambda leaf: self._split(leaf, shares), arrays)

    def _split(self, array: NDArray[Any], parts: int) -> PerReplica:
        if not array.ndim:
            stacked = np.broadcast_to(array, (parts,))
        else:
            stacked = array.reshape(parts, array.shape[0] // parts, *array.shape[1:])
        if self._is_partial:
            sharding = self._layout.sharding_for((self._layout.parts, 1))
            return PerReplica(jax.make_array_from_process_local_data(sharding, stacked))
        return PerReplica(self._layout.place_batch([np.array(stacked)], quietly=True)[0])


def _to_numpy(leaf: Any) -> NDArray[Any]:
    return check_int_range(np.asarray(leaf._value if isinstance(leaf, Tensor) else leaf))
