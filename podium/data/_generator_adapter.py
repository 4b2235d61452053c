"""Generators and iterators: batches that can be read once, in one walk through all epochs."""

from __future__ import annotations

import dis
import itertools
import types
from collections.abc import Iterator
from typing import Any

from podium.data._batch_checks import BatchReader
from podium.data._words import Words

_WAYS_OUT = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS")


class GeneratorAdapter:
    """Batches that a generator or iterator yields.

    The generator is never closed: what is left of it stays the user's.

    Args:
        x: The generator or iterator.
        steps: Batches per epoch that the user asked for, or None.
        same_lengths: Whether x, y and sample_weight of a batch must have as many rows as each other.
        words: The names of the arguments, for messages.
    """

    def __init__(self, x: Any, *, steps: int | None = None, same_lengths: bool = True, words: Words = Words()):  # noqa: B008
        if steps is None and never_ends(x):
            raise ValueError(
                f"`{words.x}` is a generator that never ends (its code has no way to finish), and {words.steps} was not given. "
                f"Say how many batches make an epoch: `{words.steps}=100`."
            )
        self._batches = BatchReader("generator", words, same_lengths=same_lengths).read(x)

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source can be read only once."""
        return hasattr(x, "__next__") and hasattr(x, "__iter__") and not isinstance(x, type)

    def iterate(self, epoch: int) -> Iterator[Any]:
        """Go on with the one walk that there is."""
        return self._batches

    def get_size(self) -> int | None:
        """Return None: nobody knows."""
        return None

    def batch_size(self) -> int | None:
        """Return None: batches may differ."""
        return None

    def has_partial_batch(self) -> bool:
        """Return False: nothing is known of the last batch."""
        return False

    def partial_batch_size(self) -> int | None:
        """Return None: nothing is known of the last batch."""
        return None

    def should_recreate_iterator(self) -> bool:
        """Return False: one walk goes through all epochs."""
        return False

    def on_epoch_end(self) -> None:
        """Nothing to do."""


def never_ends(iterator: Any) -> bool:
    """Tell whether an iterator certainly never ends: its code has no `raise` and no `return`, not even the unwritten one.

    `while True: yield ...` without a `break` is such code. False means that nobody can know.
    """
    if isinstance(iterator, (itertools.cycle, itertools.count)):
        return True
    if isinstance(iterator, itertools.repeat):
        try:
            iterator.__length_hint__()
        except TypeError:  # "len() of unsized object": it repeats for ever
            return True
    if not isinstance(iterator, types.GeneratorType):
        return False
    frame = iterator.gi_frame
    if frame is None:
        return False  # it has ended already
    if iterator.gi_code.co_name == "<genexpr>":
        return never_ends(frame.f_locals.get(".0"))
    return not any(step.opname in _WAYS_OUT for step in dis.get_instructions(iterator.gi_code))
