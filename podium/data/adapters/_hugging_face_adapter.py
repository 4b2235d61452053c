"""HuggingFaceAdapter: streams of Hugging Face's `datasets`, rows with named columns that are put
together into batches here.

The package is never imported here: if a source is one of its objects, the user has imported it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from podium._typing import Tree
from podium.core import unknown_choice
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data._packing import pack_x_y_sample_weight
from podium.data.adapters._adapter import DataAdapter, Position
from podium.data.adapters._recorded_iterator import RecordedIterator, decode_state
from podium.data.columns._foreign_types import ForeignObject, is_instance_of

_DEFAULT_BATCH_SIZE = 32

ColumnNames = str | Sequence[str] | None


class HuggingFaceAdapter(DataAdapter):
    """Batches of a `datasets.IterableDataset`. Its columns are the inputs, except those that `y`
    and `sample_weight` name.

    Inputs arrive as a dictionary by name, or as an array if there is one column. The stream gets
    the index of each epoch, by which it shuffles. A stream that shuffles in a buffer cannot start
    in the middle of an epoch: its state does not include the buffer.

    Args:
        source: The stream.
        y: The name of the column of the targets, or a list of names for several outputs; None if
            there are none.
        sample_weight: The name or names of the columns of the weights.
        batch_size: Rows per batch, 32 by default.
        steps: The number of batches per epoch that the user passed, or None.
        names: The names of the caller's arguments, for messages.
    """

    kind = "datasets.IterableDataset"
    batching = "`batch_size={}`"
    gives_rows: ClassVar[bool] = True
    fresh = True  # new arrays, or views of Arrow's memory, which never changes

    def __init__(
        self,
        source: ForeignObject,
        *,
        y: ColumnNames = None,
        sample_weight: ColumnNames = None,
        batch_size: int | None = None,
        steps: int | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(source, steps=steps, names=names)
        self._target_columns = _check_column_names(y, names.y, names)
        self._weight_columns = _check_column_names(sample_weight, names.sample_weight, names)
        self._batch_size = batch_size or _DEFAULT_BATCH_SIZE
        self._rows = source.with_format("numpy")
        self.seekable = hasattr(source, "state_dict") and not _may_shuffle_in_buffer(
            getattr(source, "_ex_iterable", None)
        )
        self._iterator: RecordedIterator | None = None

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is a stream of Hugging Face's."""
        return is_instance_of(x, "datasets", "IterableDataset")

    def iterate(self, epoch: int, start: Position = 0) -> Iterator[Tree]:
        """Start a new iteration over the rows."""
        rows = self._rows
        rows.set_epoch(epoch)
        if isinstance(start, dict):
            rows.load_state_dict(decode_state(start["state"]))
        batches = map(self._pack, rows.iter(self._batch_size))
        if not self.seekable:
            return batches
        self._iterator = RecordedIterator(batches, rows.state_dict)
        return self._iterator

    def position(self, taken: int) -> dict[str, Any] | None:
        """Return the stream's state after `taken` batches."""
        return None if self._iterator is None else self._iterator.position(taken)

    def batch_size(self) -> int:
        """Return the number of rows in a full batch."""
        return self._batch_size

    def _pack(self, batch: dict[str, Any]) -> Tree:
        """Divide the columns into inputs, targets and weights."""
        names, batch = self.names, dict(batch)
        targets = _pop_columns(batch, self._target_columns, names.y)
        weights = _pop_columns(batch, self._weight_columns, names.sample_weight)
        if not batch:
            raise ValueError(
                f"`{names.x}` has no column left for the inputs: `{names.y}` and "
                f"`{names.sample_weight}` name them all."
            )
        x = next(iter(batch.values())) if len(batch) == 1 else batch
        return pack_x_y_sample_weight(x, targets, weights)


def _check_column_names(value: ColumnNames, argument: str, names: ArgumentNames) -> ColumnNames:
    """Return the name or names of columns, or raise an error for other values."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    if value is not None and not (listed and all(isinstance(name, str) for name in listed)):
        raise ValueError(
            f"`{argument}` was given, but `{names.x}` is a datasets.IterableDataset, whose rows "
            f"hold all. Give the name of its column: `{argument}='label'`."
        )
    return value


def _pop_columns(batch: dict[str, Any], names: ColumnNames, argument: str) -> Tree:
    """Remove columns from a batch and return them: one by its name, several as a list."""
    if names is None:
        return None
    if not isinstance(names, str):
        return [_pop_columns(batch, name, argument) for name in names]
    if names not in batch:
        raise unknown_choice(f"column in `{argument}`:", names, list(batch))
    return batch.pop(names)


def _may_shuffle_in_buffer(rows: ForeignObject) -> bool:
    """Return whether rows are shuffled in a buffer, or might be."""
    if rows is None or "Shuffled" in type(rows).__name__:
        return True
    parts = [
        *getattr(rows, "ex_iterables", ()),
        *([rows.ex_iterable] if hasattr(rows, "ex_iterable") else ()),
    ]
    return any(_may_shuffle_in_buffer(part) for part in parts)
