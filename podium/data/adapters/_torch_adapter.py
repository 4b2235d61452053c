"""TorchAdapter: batches of PyTorch's DataLoaders.

PyTorch is never imported here: if a source is one of its objects, the user has imported it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium._typing import Tree
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data.adapters._adapter import DataAdapter, Position
from podium.data.adapters._recorded_iterator import RecordedIterator, decode_state
from podium.data.columns._foreign_types import ForeignObject, is_instance_of


class TorchAdapter(DataAdapter):
    """Batches of a `torch.utils.data.DataLoader`.

    Tensors become NumPy arrays that share their memory if PyTorch's own `collate_fn` made the
    batch, which makes a new tensor for every batch; with a user's function they are copied. Only a
    loader that has a state, as torchdata's StatefulDataLoader does, can start in the middle of an
    epoch.
    """

    kind = "DataLoader"
    batching = "`DataLoader(dataset, batch_size={})`"

    def __init__(
        self,
        source: ForeignObject,
        *,
        steps: int | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(source, steps=steps, names=names)
        if not is_instance_of(source, "torch", "DataLoader"):
            raise TypeError(
                f"`{names.x}` is a torch Dataset ({type(source).__name__}), which gives single "
                "samples; batches were expected. Put it into a loader: "
                "`torch.utils.data.DataLoader(dataset, batch_size=32)`."
            )
        collate = source.collate_fn
        self.fresh = getattr(
            collate, "__name__", ""
        ) == "default_collate" and collate.__module__.startswith("torch.")
        self.seekable = hasattr(source, "state_dict") and hasattr(source, "load_state_dict")
        self._iterator: RecordedIterator | None = None

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is PyTorch's: a loader, or a Dataset of rows, which is refused
        with a hint.
        """
        return is_instance_of(x, "torch", "DataLoader") or (
            is_instance_of(x, "torch", "Dataset") and not hasattr(x, "__iter__")
        )

    def iterate(self, epoch: int, start: Position = 0) -> Iterator[Tree]:
        """Start a new iteration, and set the epoch of samplers that have `set_epoch`."""
        loader = self.source
        for part in (loader.batch_sampler, loader.sampler, loader.dataset):
            if callable(getattr(part, "set_epoch", None)):
                part.set_epoch(epoch)
        if not self.seekable:
            return iter(loader)
        if isinstance(start, dict):
            loader.load_state_dict(decode_state(start["state"]))
        self._iterator = RecordedIterator(iter(loader), loader.state_dict)
        return self._iterator

    def position(self, taken: int) -> dict[str, Any] | None:
        """Return the loader's state after `taken` batches."""
        return None if self._iterator is None else self._iterator.position(taken)

    def get_size(self) -> int | None:
        """Return the number of batches, or None: the length of an iterable dataset is only an
        estimate.
        """
        if is_instance_of(self.source.dataset, "torch", "IterableDataset"):
            return None
        try:
            return len(self.source)
        except (TypeError, NotImplementedError):
            return None

    def batch_size(self) -> int | None:
        """Return the number of samples in a full batch, or None if a sampler decides."""
        size: int | None = self.source.batch_size
        return size

    def has_partial_batch(self) -> bool:
        """Return whether the last batch is known to be smaller."""
        return self.partial_batch_size() is not None

    def partial_batch_size(self) -> int | None:
        """Return the size of a smaller last batch, or None."""
        loader = self.source
        if loader.batch_size is None or loader.drop_last or self.get_size() is None:
            return None
        return len(loader.sampler) % loader.batch_size or None
