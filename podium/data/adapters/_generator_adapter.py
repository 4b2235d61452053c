"""GeneratorAdapter: batches of generators and iterators, which can be read once, in one iteration
through all epochs.
"""

from __future__ import annotations

import dis
import itertools
import types
from collections.abc import Iterator
from typing import Any

from podium._typing import Tree
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data.adapters._adapter import DataAdapter, Position

_EXIT_INSTRUCTIONS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS")


class GeneratorAdapter(DataAdapter):
    """Batches that a generator or iterator yields.

    It is read in the caller's thread, never ahead, and never closed: the user may continue to read
    it.
    """

    kind = "generator"
    one_shot = True
    batching = "let it yield that many"

    def __init__(
        self, source: Any, *, steps: int | None = None, names: ArgumentNames = DEFAULT_NAMES
    ):
        super().__init__(source, steps=steps, names=names)
        if steps is None and is_infinite_iterator(source):
            self.steps = names.steps_for_infinite(
                f"`{names.x}` is a generator that never ends (its code cannot return), and "
                f"{names.steps} was not given. Say how many batches make an epoch: "
                f"`{names.steps}=100`."
            )

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source can be read only once."""
        return hasattr(x, "__next__") and hasattr(x, "__iter__") and not isinstance(x, type)

    def iterate(self, epoch: int, start: Position = 0) -> Iterator[Tree]:
        """Continue the only iteration."""
        source: Iterator[Tree] = self.source
        return source


def is_infinite_iterator(iterator: object) -> bool:
    """Return whether an iterator certainly never ends: its code has no `raise` and no `return`,
    explicit or implicit.

    `while True: yield ...` without a `break` is such code. False means that it may end.
    """
    if isinstance(iterator, (itertools.cycle, itertools.count)):
        return True
    if isinstance(iterator, itertools.repeat):
        try:
            iterator.__length_hint__()
        except TypeError:  # "len() of unsized object": it repeats forever
            return True
    if not isinstance(iterator, types.GeneratorType):
        return False
    frame = iterator.gi_frame
    if frame is None:
        return False  # it has ended already
    if iterator.gi_code.co_name == "<genexpr>":
        return is_infinite_iterator(frame.f_locals.get(".0"))
    return not any(
        step.opname in _EXIT_INSTRUCTIONS for step in dis.get_instructions(iterator.gi_code)
    )
