"""Torch's DataLoaders. Torch is never imported here: an object that comes from it brings it
along.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data.adapters._adapter import DataAdapter
from podium.data.adapters._recorded_iterator import RecordedIterator, restored
from podium.data.columns._foreign_types import is_instance_of


class TorchAdapter(DataAdapter):
    """Batches of a `torch.utils.data.DataLoader`.

    Tensors become NumPy arrays that share their memory if torch's own function put the batch
    together, which makes a new tensor for every batch; they are copied if it was the user's
    function. Only a loader that knows its own state, as torchdata's StatefulDataLoader does, can
    begin in the middle of an epoch.
    """

    kind = "DataLoader"
    batching = "`DataLoader(dataset, batch_size={})`"

    def __init__(
        self, source: Any, *, steps: int | None = None, names: ArgumentNames = DEFAULT_NAMES
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
        self._walk: RecordedIterator | None = None

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source is torch's: a loader, or a Dataset of rows, which is refused with a
        hint.
        """
        return is_instance_of(x, "torch", "DataLoader") or (
            is_instance_of(x, "torch", "Dataset") and not hasattr(x, "__iter__")
        )

    def iterate(self, epoch: int, start: Any = 0) -> Iterator[Any]:
        """Start a new walk; samplers that want to know the epoch are told."""
        loader = self.source
        for part in (loader.batch_sampler, loader.sampler, loader.dataset):
            if callable(getattr(part, "set_epoch", None)):
                part.set_epoch(epoch)
        if not self.seekable:
            return iter(loader)
        if start:
            loader.load_state_dict(restored(start["state"]))
        self._walk = RecordedIterator(iter(loader), loader.state_dict)
        return self._walk

    def position(self, taken: int) -> Any:
        """Return the loader's state after `taken` batches of the walk."""
        return None if self._walk is None else self._walk.position(taken)

    def get_size(self) -> int | None:
        """Return the number of batches. What an iterable dataset says about its length is only a
        guess.
        """
        if is_instance_of(self.source.dataset, "torch", "IterableDataset"):
            return None
        try:
            return len(self.source)
        except (TypeError, NotImplementedError):
            return None

    def batch_size(self) -> int | None:
        """Return the number of samples in a full batch, or None if a sampler decides."""
        return self.source.batch_size

    def has_partial_batch(self) -> bool:
        """Tell whether the last batch is known to be smaller."""
        return self.partial_batch_size() is not None

    def partial_batch_size(self) -> int | None:
        """Return the size of a smaller last batch, or None."""
        loader = self.source
        if loader.batch_size is None or loader.drop_last or self.get_size() is None:
            return None
        return len(loader.sampler) % loader.batch_size or None
