"""Each batch of a generator or Dataset, checked as it arrives: there at all, formed like the first,
of one length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from podium.data._convert_arrays import check_lengths
from podium.data._copy_values import copy_structure, copy_unless_fresh
from podium.data._structure import describe_batch, leaves, structure_key
from podium.data.adapters._adapter import DataAdapter

_PARTS = ("x", "y", "sample_weight")
_UNBATCHED = " If the elements of the {} are single samples, make batches of them: {}."


class BatchReader:
    """Reads batches that users made. Their own exceptions pass through, with a note that says which
    batch it was.

    Args:
        adapter: Where the batches come from: says whether they must be copied and converted, and
            its word for messages.
        same_lengths: Whether x, y and sample_weight of a batch must have as many rows as each
            other.
    """

    def __init__(self, adapter: DataAdapter, same_lengths: bool = True):
        self._kind = adapter.kind
        self._convert = not adapter.owned
        self._fresh = adapter.fresh
        self._same_lengths = same_lengths
        self._hint = (
            "" if adapter.one_shot else _UNBATCHED.format(adapter.kind, adapter.batching.format(32))
        )
        self._goes_on = (
            adapter.one_shot
        )  # what is left stays the user's, and the next walk goes on counting
        self._first: Any = None  # the first batch's form, and how it is written
        self._count = 0

    def read(self, batches: Iterable, first: int = 0) -> Iterator[Any]:
        """Walk batches, checked. May be called again for a new walk through the same source.

        When the walk is closed, so is the one that it reads from, unless that is a user's own
        generator.

        Args:
            batches: What an adapter's `iterate` returned.
            first: The number of the first batch, for messages.
        """
        if not self._goes_on:
            self._count = first
        walk = iter(batches)
        try:
            while True:
                try:
                    batch = next(walk)
                except StopIteration:
                    return
                except Exception as error:
                    error.add_note(
                        f"It was raised while batch {self._count} of the {self._kind} was read "
                        "(the first is 0)."
                    )
                    raise
                yield self._checked(batch)
                self._count += 1
        finally:
            if not self._goes_on and walk is batches and hasattr(walk, "close"):
                walk.close()

    def _checked(self, batch: Any) -> Any:
        if batch is None:
            raise ValueError(
                f"The {self._kind} gave None as batch {self._count}; a tuple `(x, y)` or `(x, y, "
                "sample_weight)`, or x alone, was expected. A `yield` or `return` without a value "
                "is the usual cause."
            )
        if isinstance(batch, list):
            batch = tuple(batch)
        if self._convert:
            batch = self._owned(
                batch
            )  # lists of numbers are arrays from here on, of whatever length
        form = structure_key(batch)
        if self._first is None:
            self._first = form, describe_batch(batch)
        elif form != self._first[0]:
            raise ValueError(
                f"The structure of batch {self._count} of the {self._kind} changed: it is "
                f"{describe_batch(batch)}, and the batches before were {self._first[1]}. All "
                "batches must have one structure; with sample_weight in one, every batch needs it."
            )
        self._check_lengths(batch)
        return batch

    def _owned(self, batch: Any) -> Any:
        where = f"batch {self._count} of the {self._kind}"
        if isinstance(batch, tuple) and len(batch) <= 3:
            parts = zip(batch, _PARTS, strict=False)
            return tuple(
                copy_structure(part, f"{name} in {where}", self._own) for part, name in parts
            )
        return copy_structure(batch, where, self._own)

    def _own(self, leaf: Any, name: str) -> Any:
        return copy_unless_fresh(leaf, name, self._fresh)

    def _check_lengths(self, batch: Any) -> None:
        parts = (
            dict(zip(_PARTS, batch, strict=False))
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
            where, hint = f" in batch {self._count} of the {self._kind}", self._hint
            targets = leaves(parts["y"])
            if hint and targets and all(leaf.ndim == 0 for leaf in targets):
                raise ValueError(
                    f"`y`{where} is a single number; an array with a row for each sample was "
                    f"expected.{hint}"
                )
            check_lengths(parts, where, hint)
