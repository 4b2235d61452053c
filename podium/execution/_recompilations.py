"""Recompilations of a step: which part of the batch had changed, when, and what it cost.

`Compilations` records them for an `Execution` and warns of many; users see `Recompilations`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

import jax

from podium.core import warn_user
from podium.execution._batch_call import Key

_MANY_SHAPES = 5
_PARTS = ("x", "y", "sample_weight")


@dataclasses.dataclass(frozen=True)
class Recompilation:
    """A further compilation of a step, for batches of another shape or dtype.

    Attributes:
        run: The number of the run, from 1: each `fit`, `evaluate` or `predict` is a run.
        step: The number of the step in the run, from 1.
        changes: What had changed since the previous batch, part by part.
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
        """Return a text with a line for each, and their total time."""
        if not self:
            return "Nothing was compiled again."
        times = f"{len(self)} times" if len(self) > 1 else "once"
        lines = [
            f"Compiled again {times}, in {sum(entry.seconds for entry in self):.2f} s:",
            *(f"  {entry!r}" for entry in self),
        ]
        return "\n".join(lines)


class Compilations:
    """The shapes that a step has been compiled for, and the seconds it took."""

    def __init__(self) -> None:
        self.again = Recompilations()
        self._seconds: dict[Key, float] = {}
        self._warned = False

    def seconds(self, key: Key) -> float:
        """Return how long it took to compile for batches of this key."""
        return self._seconds.get(key, 0.0)

    def describe_cause(self, key: Key, previous_key: Key) -> str:
        """Return what had changed since the previous batch, or what the first one is like; see
        `record`.
        """
        if key in self._seconds or not self._seconds:
            return ", ".join(f"{name}: {spec}" for name, spec in _describe_parts(key).items())
        return ", ".join(_describe_changes(previous_key or next(reversed(self._seconds)), key))

    def add(self, key: Key, seconds: float) -> None:
        """Record a compilation that the user requested."""
        self._seconds[key] = self.seconds(key) + seconds

    def record(self, key: Key, previous_key: Key, run: int, step: int, seconds: float) -> None:
        """Record a compilation that a batch made necessary, and warn if many shapes cause them.

        Args:
            key: The key of the batch.
            previous_key: The key of the batch before; empty if there was none.
            run: The number of the run.
            step: The number of the step in it.
            seconds: How long it took.
        """
        if key not in self._seconds and self._seconds:
            changes = _describe_changes(previous_key or next(reversed(self._seconds)), key)
            self.again.append(Recompilation(run, step, changes, seconds))
        self.add(key, seconds)
        count = _count_shapes(self._seconds)
        if count >= _MANY_SHAPES and not self._warned:
            self._warned = True
            warn_user(
                f"The step has been recompiled for {count} shapes of batch, in "
                f"{sum(self._seconds.values()):.1f} s. Give all "
                "batches one shape (pad them, or use `drop_remainder=True`) to compile once. "
                "The latest:\n" + "\n".join(f"  {entry!r}" for entry in self.again[-_MANY_SHAPES:])
            )


def _count_shapes(keys: Iterable[Key]) -> int:
    """Count shapes; of those that differ in the number of rows only, one may be the smaller last
    batch of an epoch.
    """
    shapes = Counter((key[0], *[(shape[1:], dtype) for shape, dtype in key[1:]]) for key in keys)
    return sum(max(1, count - 1) for count in shapes.values())


def _describe_changes(previous_key: Key, key: Key) -> tuple[str, ...]:
    """Describe which parts of a batch differ, and how."""
    old, new = _describe_parts(previous_key), _describe_parts(key)
    if len(old) == len(previous_key) - 1 and len(new) == len(key) - 1:
        changed = [name for name in new if name in old and old[name] != new[name]]
        changes = [f"{name}: {old[name]} -> {new[name]}" for name in changed]
        changes += [f"{name}: {new[name]} is new" for name in new if name not in old]
        changes += [f"{name}: {old[name]} is gone" for name in old if name not in new]
        if changes:
            return tuple(changes)
    return ("the batch has another structure",)


def _describe_parts(key: Key) -> dict[str, str]:
    """Return dtype and shape of the arrays of a batch, by the names of `fit`'s arguments."""
    treedef, *specs = key
    (batch,), _ = jax.tree.unflatten(treedef, [_Slot(number) for number in range(len(specs))])
    parts = batch if isinstance(batch, tuple) and 0 < len(batch) <= len(_PARTS) else (batch,)
    described: dict[str, str] = {}
    for name, part in zip(_PARTS, parts, strict=False):
        for path, slot in jax.tree_util.tree_flatten_with_path(part)[0]:
            shape, dtype = specs[slot.number]
            described[name + jax.tree_util.keystr(path)] = f"{dtype}{list(shape)}"
    return described


@dataclasses.dataclass(frozen=True)
class _Slot:
    """A placeholder for an array in a structure."""

    number: int
