"""Streams of Hugging Face's `datasets`: rows with named columns, which are put together into
batches here.

The package is never imported here: an object that comes from it brings it along.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from podium.core import unknown_choice
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data._packing import pack_x_y_sample_weight
from podium.data.adapters._adapter import DataAdapter
from podium.data.adapters._recorded_iterator import RecordedIterator, restored
from podium.data.columns._foreign_types import is_instance_of

_DEFAULT_BATCH_SIZE = 32


class HuggingFaceAdapter(DataAdapter):
    """Batches of a `datasets.IterableDataset`. Its columns are the inputs, but for those that `y`
    and `sample_weight` name.

    They arrive as a dictionary by name; one column stands for itself. The stream is told the number
    of each epoch, by which it shuffles. A stream that shuffles in a buffer cannot begin in the
    middle of an epoch: its state leaves that out.

    Args:
        source: The stream.
        y: The name of the column of the targets, or a list of names for several outputs; None if
            there are none.
        sample_weight: The name of the column of the weights, likewise.
        batch_size: Rows per batch, 32 by default.
        steps: Batches per epoch that the user asked for, or None.
        names: The names of the caller's arguments, for messages.
    """

    kind = "datasets.IterableDataset"
    batching = "`batch_size={}`"
    gives_rows: ClassVar[bool] = True
    fresh = True  # new arrays, or views of Arrow's memory, which never changes

    def __init__(
        self,
        source: Any,
        *,
        y: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(source, steps=steps, names=names)
        self._targets = _names(y, names.y, names)
        self._weights = _names(sample_weight, names.sample_weight, names)
        self._batch_size = batch_size or _DEFAULT_BATCH_SIZE
        self._rows = source.with_format("numpy")
        self.seekable = hasattr(source, "state_dict") and not _buffered(
            getattr(source, "_ex_iterable", None)
        )
        self._walk: RecordedIterator | None = None

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source is a stream of Hugging Face's."""
        return is_instance_of(x, "datasets", "IterableDataset")

    def iterate(self, epoch: int, start: Any = 0) -> Iterator[Any]:
        """Start a new walk through the rows."""
        rows = self._rows
        rows.set_epoch(epoch)
        if start:
            rows.load_state_dict(restored(start["state"]))
        walk = map(self._packed, rows.iter(self._batch_size))
        if not self.seekable:
            return walk
        self._walk = RecordedIterator(walk, rows.state_dict)
        return self._walk

    def position(self, taken: int) -> Any:
        """Return the stream's state after `taken` batches of the walk."""
        return None if self._walk is None else self._walk.position(taken)

    def batch_size(self) -> int:
        """Return the number of rows in a full batch."""
        return self._batch_size

    def _packed(self, batch: dict[str, Any]) -> Any:
        """Share out the columns among inputs, targets and weights."""
        names, batch = self.names, dict(batch)
        targets = _taken_out(batch, self._targets, names.y)
        weights = _taken_out(batch, self._weights, names.sample_weight)
        if not batch:
            raise ValueError(
                f"`{names.x}` has no column left for the inputs: `{names.y}` and "
                f"`{names.sample_weight}` name them all."
            )
        x = next(iter(batch.values())) if len(batch) == 1 else batch
        return pack_x_y_sample_weight(x, targets, weights)


def _names(value: Any, argument: str, names: ArgumentNames) -> Any:
    """Check that an argument names a column, or several."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    if value is not None and not (listed and all(isinstance(name, str) for name in listed)):
        raise ValueError(
            f"`{argument}` was given, but `{names.x}` is a datasets.IterableDataset, whose rows "
            f"hold all. Give the name of its column: `{argument}='label'`."
        )
    return value


def _taken_out(batch: dict[str, Any], names: Any, argument: str) -> Any:
    """Take columns out of a batch: one by its name, several as a list."""
    if names is None:
        return None
    if not isinstance(names, str):
        return [_taken_out(batch, name, argument) for name in names]
    if names not in batch:
        raise unknown_choice(f"column in `{argument}`:", names, list(batch))
    return batch.pop(names)


def _buffered(rows: Any) -> bool:
    """Tell whether rows wait in a buffer to be shuffled, or whether nobody can know."""
    if rows is None or "Shuffled" in type(rows).__name__:
        return True
    parts = [
        *getattr(rows, "ex_iterables", ()),
        *([rows.ex_iterable] if hasattr(rows, "ex_iterable") else ()),
    ]
    return any(_buffered(part) for part in parts)
