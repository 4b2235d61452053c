"""RandomDraws: the random numbers that a source of batches draws from the global generators of
Python and NumPy, as augmentation in a `map` does.

Owns the state that the generators had before each batch that was read and not yet used. A run that
is resumed restores it before it reads such a batch again. Generators that the user's code creates
itself are not seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from podium._typing import Tree
from podium.core import random_state, set_random_state
from podium.core.internal import drawn_generators


class RandomDraws:
    """Records the draws of one source, if `recording`; otherwise reading costs nothing more.

    Args:
        recording: Whether to record; see the attribute.

    Attributes:
        recording: Whether to record.
        generators: The names of the global generators from which the source has drawn.
    """

    def __init__(self, recording: bool = False):
        self.recording = recording
        self.generators: set[str] = set()
        self._num_read = 0  # in the current iteration
        self._states: deque[tuple[int, dict[str, Any]]] = deque()  # index of a batch, state before

    def begin(self) -> None:
        """Begin another iteration over the source."""
        self._num_read = 0
        self._states.clear()

    def read(self, elements: Iterator[Tree]) -> Tree:
        """Return the next element, and record what was drawn to make it."""
        before = random_state()
        element = next(elements)
        drawn = drawn_generators(before, random_state())
        if drawn:
            self.generators.update(drawn)
            self._states.append((self._num_read, before))
        self._num_read += 1
        return element

    def release(self, num_used: int) -> None:
        """Drop the states before the batches that have been used."""
        while self._states and self._states[0][0] < num_used:
            self._states.popleft()

    def unused_states(self, num_used: int) -> list[dict[str, Any] | None]:
        """Return the state before each batch that was read and not used; None if nothing was drawn
        for it. The list is empty if nothing was drawn at all.
        """
        states = {index: state for index, state in self._states if index >= num_used}
        return [states.get(index) for index in range(num_used, max(states, default=-1) + 1)]

    @staticmethod
    def restore(state: dict[str, Any] | None) -> None:
        """Restore the state before a batch."""
        if state is not None:
            set_random_state(state)
