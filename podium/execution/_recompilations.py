"""What a step was compiled for, again and again: which part of the batch had changed, when, and
what it cost.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import jax

from podium.core import warn_user

_MANY_SHAPES = 5
_PARTS = ("x", "y", "sample_weight")


@dataclasses.dataclass(frozen=True)
class Recompilation:
    """One more compilation of a step, for batches of another shape or type.

    Attributes:
        run: Which run it was in, counted from 1: a `fit`, `evaluate` or `predict` is a run.
        step: At which step of the run, counted from 1.
        changes: What had changed since the batch before, part by part.
        seconds: How long tracing and compiling took.

    Example:
        >>> execution = podium.execution.Execution(lambda x: {"sum": podium.ops.sum(x)})
        >>> batches = iter([np.ones(4, "float32"), np.ones(3, "float32")])
        >>> _ = execution(batches), execution(batches)
        >>> execution.recompilations[0].changes
        ('x: float32[4] -> float32[3]',)
    """

    run: int
    step: int
    changes: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        return f"run {self.run}, step {self.step}: {', '.join(self.changes)} ({self.seconds:.2f} s)"


class Recompilations(list[Recompilation]):
    """All recompilations of a step, in order.

    Example:
        >>> execution = podium.execution.Execution(lambda x: {"sum": podium.ops.sum(x)})
        >>> print(execution.recompilations.report())
        Nothing was compiled again.
    """

    def report(self) -> str:
        """Return a text with a line for each, and the seconds they took together."""
        if not self:
            return "Nothing was compiled again."
        times = f"{len(self)} times" if len(self) > 1 else "once"
        lines = [
            f"Compiled again {times}, in {sum(one.seconds for one in self):.2f} s:",
            *(f"  {one!r}" for one in self),
        ]
        return "\n".join(lines)


class Compilations:
    """The shapes that a step has been compiled for, and the seconds it took."""

    def __init__(self) -> None:
        self.again = Recompilations()
        self._seconds: dict[tuple, float] = {}
        self._warned = False

    def seconds(self, key: tuple) -> float:
        """Return how long it took to compile for batches of this key."""
        return self._seconds.get(key, 0.0)

    def add(self, key: tuple, seconds: float) -> None:
        """Take a compilation down that was asked for."""
        self._seconds[key] = self.seconds(key) + seconds

    def note(self, key: tuple, before: tuple, run: int, step: int, seconds: float) -> None:
        """Take a compilation down that a batch made necessary, and say so when it happens for shape
        after shape.

        Args:
            key: How a batch is made of arrays, and their shapes and types.
            before: The key of the batch before; empty if there was none.
            run: The number of the run.
            step: The number of the step in it.
            seconds: What it cost.
        """
        if key not in self._seconds and self._seconds:
            self.again.append(
                Recompilation(
                    run, step, _changes(before or next(reversed(self._seconds)), key), seconds
                )
            )
        self.add(key, seconds)
        count = _without_remainders(self._seconds)
        if count >= _MANY_SHAPES and not self._warned:
            self._warned = True
            warn_user(
                f"The step has been recompiled for {count} shapes of batch, in "
                f"{sum(self._seconds.values()):.1f} s. Give all "
                "batches one shape (pad them, or use `drop_remainder=True`) to compile once. "
                "The latest:\n" + "\n".join(f"  {one!r}" for one in self.again[-_MANY_SHAPES:])
            )


def _without_remainders(keys: Any) -> int:
    """Count shapes; of those that differ in the number of rows only, one may be the last, smaller
    batch of an epoch.
    """
    kinds = Counter((key[0], *[(shape[1:], dtype) for shape, dtype in key[1:]]) for key in keys)
    return sum(max(1, number - 1) for number in kinds.values())


def _changes(before: tuple, now: tuple) -> tuple[str, ...]:
    """Say which parts of a batch differ, and how."""
    old, new = _parts(before), _parts(now)
    if len(old) == len(before) - 1 and len(new) == len(now) - 1:
        same = [name for name in new if name in old and old[name] != new[name]]
        told = [f"{name}: {old[name]} -> {new[name]}" for name in same]
        told += [f"{name}: {new[name]} is new" for name in new if name not in old]
        told += [f"{name}: {old[name]} is gone" for name in old if name not in new]
        if told:
            return tuple(told)
    return ("the batch has another structure",)


def _parts(key: tuple) -> dict[str, str]:
    """Name the arrays of a batch as users do, and write their types and shapes."""
    treedef, *kinds = key
    (batch,), _ = jax.tree.unflatten(treedef, [_Slot(number) for number in range(len(kinds))])
    top = batch if isinstance(batch, tuple) and 0 < len(batch) <= len(_PARTS) else (batch,)
    named: dict[str, str] = {}
    for part, structure in zip(_PARTS, top, strict=False):
        for path, slot in jax.tree_util.tree_flatten_with_path(structure)[0]:
            shape, dtype = kinds[slot.number]
            named[part + jax.tree_util.keystr(path)] = f"{dtype}{list(shape)}"
    return named


@dataclasses.dataclass(frozen=True)
class _Slot:
    """Stands for an array in a structure."""

    number: int
