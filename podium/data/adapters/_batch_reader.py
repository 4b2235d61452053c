"""BatchReader: validates each batch of a generator or Dataset as it arrives.

A batch must not be None or empty, must have the structure of the first one, and parts of equal
length. Which source the batches come from is the adapter's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from podium._typing import Array, Tree
from podium.data._convert_arrays import check_lengths
from podium.data._copy_values import copy_structure, copy_unless_fresh
from podium.data._structure import PART_NAMES, describe_batch, leaves, structure_key
from podium.data.adapters._adapter import DataAdapter

_UNBATCHED = " If the elements of the {} are single samples, make batches of them: {}."


class BatchReader:
    """Reads batches that users made. Exceptions of the source are raised with a note that says
    which batch was read.

    Args:
        adapter: The adapter of the batches: whether they must be copied and converted, and what the
            source is called in messages.
        same_lengths: Whether x, y and sample_weight of a batch must have the same number of rows.
        check: Called with each batch; it raises for values that the model cannot use.
    """

    def __init__(
        self,
        adapter: DataAdapter,
        same_lengths: bool = True,
        check: Callable[[Tree], None] | None = None,
    ):
        self._check = check
        self._kind = adapter.kind
        self._convert = not adapter.owned
        self._fresh = adapter.fresh
        self._same_lengths = same_lengths
        self._hint = (
            "" if adapter.one_shot else _UNBATCHED.format(adapter.kind, adapter.batching.format(32))
        )
        # A source that is read once belongs to the user: it is not closed, and counting continues.
        self._one_shot = adapter.one_shot
        self._first: tuple[object, str] | None = None  # the first batch's key and description
        self._count = 0

    def read(self, batches: Iterable[Tree], first: int = 0) -> Iterator[Tree]:
        """Iterate over validated batches. May be called again for another iteration over the same
        source.

        Closing the iterator also closes `batches`, unless that is a user's own generator.

        Args:
            batches: What the `iterate` of an adapter returned.
            first: The index of the first batch, for messages.
        """
        if not self._one_shot:
            self._count = first
        iterator = iter(batches)
        try:
            while True:
                try:
                    batch = next(iterator)
                except StopIteration:
                    return
                except Exception as error:
                    error.add_note(
                        f"It was raised while batch {self._count} of the {self._kind} was read "
                        "(the first is 0)."
                    )
                    raise
                yield self._validate(batch)
                self._count += 1
        finally:
            if not self._one_shot and iterator is batches and hasattr(iterator, "close"):
                iterator.close()

    def _validate(self, batch: Tree) -> Tree:
        if batch is None:
            raise ValueError(
                f"The {self._kind} gave None as batch {self._count}; a tuple `(x, y)` or `(x, y, "
                "sample_weight)`, or x alone, was expected. A `yield` or `return` without a value "
                "is the usual cause."
            )
        if isinstance(batch, list):
            batch = tuple(batch)
        if self._convert:
            batch = self._copy(batch)  # also turns lists of numbers into arrays
        key = structure_key(batch)
        if self._first is None:
            self._first = key, describe_batch(batch)
        elif key != self._first[0]:
            raise ValueError(
                f"The structure of batch {self._count} of the {self._kind} changed: it is "
                f"{describe_batch(batch)}, and the batches before were {self._first[1]}. All "
                "batches must have one structure; with sample_weight in one, every batch needs it."
            )
        self._check_lengths(batch)
        if self._check is not None:
            self._check(batch)
        return batch

    def _copy(self, batch: Tree) -> Tree:
        location = f"batch {self._count} of the {self._kind}"
        if isinstance(batch, tuple) and len(batch) <= 3:
            parts = zip(batch, PART_NAMES, strict=False)
            return tuple(
                copy_structure(part, f"{name} in {location}", self._copy_leaf)
                for part, name in parts
            )
        return copy_structure(batch, location, self._copy_leaf)

    def _copy_leaf(self, leaf: object, name: str) -> Array:
        return copy_unless_fresh(leaf, name, self._fresh)

    def _check_lengths(self, batch: Tree) -> None:
        parts = (
            dict(zip(PART_NAMES, batch, strict=False))
            if isinstance(batch, tuple) and len(batch) <= 3
            else {"x": batch}
        )
        if any(leaf.shape[:1] == (0,) for leaf in leaves(batch) if hasattr(leaf, "shape")):
            raise ValueError(
                f"Batch {self._count} of the {self._kind} is empty: one of its arrays has 0 rows."
            )
        if (
            self._same_lengths
            and len(parts) > 1
            and all(hasattr(leaf, "ndim") for leaf in leaves(batch))
        ):
            location, hint = f" in batch {self._count} of the {self._kind}", self._hint
            targets = leaves(parts["y"])
            if hint and targets and all(leaf.ndim == 0 for leaf in targets):
                raise ValueError(
                    f"`y`{location} is a single number; an array with a row for each sample was "
                    f"expected.{hint}"
                )
            check_lengths(parts, location, hint)
