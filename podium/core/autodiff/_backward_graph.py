"""Recording: the part of a tape between some sources and some targets, ready to be walked or run
again.

Walking backwards with the pullbacks kept gives a first gradient. Where another tape listens, the
same walk is run as one pure function of the values it starts from, and recorded there. Calls that
hide a source inside are opened up first. This file owns the walk; what may be asked, and how
results are handed out, is the tape's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium.core._context import context, override
from podium.core._errors import TapedValueError
from podium.core.autodiff._entries import Entry, bridge, enter, read_array
from podium.core.autodiff._tape_base import TapeBase
from podium.core.tensor._dtypes import conjugate
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable

_UNREACHABLE = (
    "The gradient was asked by a value that a layer's `call` computes on its way to the target, "
    "and that `call` uses raw JAX functions, which leave no trace on a tape. Use `podium.ops` in "
    "its `call`, or compute the two parts in two calls."
)


class BackwardGraph:
    """The entries between some sources and some targets, as a pure function of the values they
    start from.
    """

    def __init__(
        self, entries: list[Entry], targets: list, sources: list, tracks: Callable[[Any], bool]
    ):
        self.targets = targets
        self._outside: dict[
            int, Any
        ] = {}  # id of a value met inside -> what outer tapes know it by
        self.sources = [source if tracks(source) else None for source in sources]
        self.entries = self._between(entries)
        self._open_shared_entries()
        self._list_leaves()

    # --- which entries matter

    def _between(self, entries: list[Entry]) -> list[Entry]:
        """Keep the entries on a way from a source to a target."""
        from_sources = {id(source) for source in self.sources if source is not None}
        ahead = []
        for entry in entries:
            makes_source = entry.opened is not None and any(
                id(output) in from_sources for output in entry.outputs
            )
            if makes_source or any(id(value) in from_sources for value in entry.inputs):
                from_sources.update(id(output) for output in entry.outputs)
                ahead.append(entry)
        to_targets = {id(target) for target in self.targets}
        kept = []
        for entry in reversed(ahead):
            if any(id(output) in to_targets for output in entry.outputs):
                to_targets.update(id(value) for value in entry.inputs)
                kept.append(entry)
        return kept[::-1]

    def _open_shared_entries(self) -> None:
        """Replace calls that have a source and something later among their outputs by their inner
        steps.

        Also replace calls whose outputs are used only in part, so that Variables behind the other
        outputs get None, not zeros.
        """
        source_ids = {id(source) for source in self.sources if source is not None}
        used = {id(target) for target in self.targets}
        used.update(id(value) for entry in self.entries for value in entry.inputs)
        opened: list[Entry] = []
        for entry in self.entries:
            shares_source = any(id(output) in source_ids for output in entry.outputs)
            in_part = any(id(output) not in used for output in entry.outputs)
            if len(entry.outputs) < 2 or entry.opened is None:
                opened.append(entry)
            elif shares_source or (in_part and entry.opened.composite):
                opened.extend(self._inner_entries(entry, required=shares_source))
            else:
                opened.append(entry)
        self.entries = self._between(opened)

    def _inner_entries(self, entry: Entry, required: bool) -> list[Entry]:
        inside = TapeBase(watch_accessed_variables=True)
        inside.recording = True
        try:
            inner_inputs, inner_outputs = entry.opened.open(entry.values, inside)
        except TapedValueError as error:
            if not required:
                return [entry]
            raise ValueError(_UNREACHABLE) from error
        ways_in = [
            bridge(outer, raw, inner)
            for outer, raw, inner in zip(entry.inputs, entry.values, inner_inputs, strict=True)
            if outer is not inner
        ]
        ways_out = []
        for outer, inner in zip(entry.outputs, inner_outputs, strict=True):
            if inside.tracks(inner):
                ways_out.append(bridge(inner, inner._value, outer))
            elif any(source is outer for source in self.sources):
                raise ValueError(_UNREACHABLE)
            # A source is met inside under its inner identity, where later inner steps consume it.
            self.sources = [inner if source is outer else source for source in self.sources]
            self._outside[id(inner)] = outer
        return ways_in + inside.entries + ways_out

    def _list_leaves(self) -> None:
        """List the values that the entries start from; a source counts as a start even if it is
        computed.
        """
        source_ids = {id(source) for source in self.sources if source is not None}
        made: set[int] = set()
        self.leaves: dict[tuple[int, int], tuple[Any, Any]] = {}
        for entry in self.entries:
            for value, raw in zip(entry.inputs, entry.values, strict=True):
                if id(value) not in made or id(value) in source_ids:
                    # A Variable may have been read with different values: each is a start of its
                    # own.
                    self.leaves.setdefault(self._key(value, raw), (value, raw))
                    if entry.is_bridge and isinstance(value, Variable):
                        # It had been assigned: outer tapes know this reading of it, not the
                        # Variable.
                        self._outside[id(raw)] = entry.outputs[0]
            made.update(id(output) for output in entry.outputs)

    @staticmethod
    def _key(value: Any, raw: Any) -> tuple[int, int]:
        return (id(value), id(raw) if isinstance(value, Variable) else 0)

    # --- running

    def gradients(self, seeds: list) -> list:
        """Return the gradient by each source, as Tensors or None."""
        starts = self._starts()
        given = [seed for seed in seeds if seed is not None]
        if not any(
            tape.recording and any(map(tape.tracks, starts + given)) for tape in context.tapes
        ):
            with override(tapes=()):
                raw_seeds = [None if seed is None else read_array(seed) for seed in seeds]
                found = self._backward([entry.pull for entry in self.entries], raw_seeds)
            return [None if gradient is None else wrap(gradient) for gradient in found]

        def replay(*values: Any) -> list:
            raw_seeds = iter(values[len(self.leaves) :])
            _, pulls = self._forward(values[: len(self.leaves)], pullbacks=True)
            return self._backward(
                pulls, [None if seed is None else next(raw_seeds) for seed in seeds]
            )

        return enter(
            replay, starts + given, self._start_values() + [read_array(seed) for seed in given]
        )

    def jacobians(self, batched: bool) -> list:
        """Return the Jacobian of the one target by each source, as Tensors or None."""
        positions = {index: self._leaf_of(source) for index, source in enumerate(self.sources)}
        connected = {
            index: position for index, position in positions.items() if position is not None
        }
        if not self.targets or not connected:
            return [self._jacobian_of_itself(source, batched) for source in self.sources]

        def replay(*values: Any) -> list:
            def target_of(*source_values: Any) -> Any:
                changed = list(values)
                for position, value in zip(connected.values(), source_values, strict=True):
                    changed[position] = value
                target = self._forward(changed, pullbacks=False)[0][id(self.targets[0])]
                return target.sum(axis=0) if batched else target

            own = [values[position] for position in connected.values()]
            found = jax.jacrev(target_of, argnums=tuple(range(len(own))))(*own)
            results: list[Any] = [None] * len(self.sources)
            for index, value, jacobian in zip(connected, own, found, strict=True):
                axis = jacobian.ndim - value.ndim
                results[index] = conjugate(jnp.moveaxis(jacobian, axis, 0) if batched else jacobian)
            return results

        results = enter(replay, self._starts(), self._start_values())
        return [
            self._jacobian_of_itself(source, batched) if result is None else result
            for source, result in zip(self.sources, results, strict=True)
        ]

    def _jacobian_of_itself(self, source: Any, batched: bool) -> Tensor | None:
        """Return the Jacobian of a source that is the target; None for any other."""
        if source is None or not self.targets or source is not self.targets[0]:
            return None
        shape = tuple(source.shape[1:] if batched else source.shape)
        one = jnp.eye(math.prod(shape), dtype=source.dtype).reshape(shape + shape)
        return wrap(jnp.broadcast_to(one, (source.shape[0], *one.shape)) if batched else one)

    def tangent(self, tangents: dict[int, Any], target: Any) -> Any:
        """Return the directional derivative of `target` along `tangents` (id of a source ->
        Tensor).
        """
        moved = [
            index for index, (value, _) in enumerate(self.leaves.values()) if id(value) in tangents
        ]
        starts = self._starts()
        given = [tangents[id(starts[index])] for index in moved]

        def replay(*values: Any) -> Any:
            def target_of(*moving: Any) -> Any:
                changed = list(values[: len(starts)])
                for index, value in zip(moved, moving, strict=True):
                    changed[index] = value
                return self._forward(changed, pullbacks=False)[0][id(target)]

            primals = tuple(values[index] for index in moved)
            with override(forward_mode=True):
                return jax.jvp(target_of, primals, tuple(values[len(starts) :]))[1]

        return enter(replay, starts + given, self._start_values() + [read_array(g) for g in given])

    def _starts(self) -> list:
        known = self._outside
        return [
            known.get(id(value), known.get(id(raw), value)) for value, raw in self.leaves.values()
        ]

    def _start_values(self) -> list:
        return [raw for _, raw in self.leaves.values()]

    def _leaf_of(self, source: Any) -> int | None:
        """Return the position of a source among the leaves, or None if the target does not depend
        on it.
        """
        for index, (value, _) in enumerate(self.leaves.values()):
            if value is source:
                return index
        return None

    def _forward(self, values: Sequence[Any], pullbacks: bool) -> tuple[dict[int, Any], list]:
        """Compute everything again from the leaves; returns values by id, and the pullbacks if
        wanted.
        """
        start = dict(zip(self.leaves, values, strict=True))
        by_id: dict[int, Any] = {}
        for (node, _), value in zip(self.leaves, values, strict=True):
            by_id.setdefault(node, value)
        pulls = []
        for entry in self.entries:
            own = []
            for value, raw in zip(entry.inputs, entry.values, strict=True):
                key = self._key(value, raw)
                own.append(start[key] if key in start else by_id[id(value)])
            if pullbacks:
                outputs, pull, _ = jax.vjp(entry.pure, *own, has_aux=True)
                pulls.append(pull)
            else:
                outputs, _ = entry.pure(*own)
            for output, value in zip(entry.outputs, outputs, strict=True):
                by_id[id(output)] = value
        return by_id, pulls

    def _backward(self, pulls: Sequence[Any], seeds: list) -> list:
        """Pull the targets' seeds (ones where None) back to the sources."""
        cotangents: dict[int, Any] = {}
        for target, seed in zip(self.targets, seeds, strict=True):
            like = read_array(target)
            seed = (
                jnp.ones(like.shape, like.dtype)
                if seed is None
                else jnp.broadcast_to(seed, like.shape)
            )
            _accumulate(cotangents, target, conjugate(seed.astype(like.dtype)))
        for entry, pull in zip(reversed(self.entries), reversed(pulls), strict=True):
            if not any(id(output) in cotangents for output in entry.outputs):
                continue
            given = [
                cotangents[id(o)] if id(o) in cotangents else jnp.zeros(o.shape, o.dtype)
                for o in entry.outputs
            ]
            for value, cotangent in zip(entry.inputs, pull(given), strict=True):
                _accumulate(cotangents, value, cotangent)
        found = [None if source is None else cotangents.get(id(source)) for source in self.sources]
        return [None if gradient is None else conjugate(gradient) for gradient in found]


def _accumulate(cotangents: dict[int, Any], value: Any, cotangent: Any) -> None:
    key = id(value)
    cotangents[key] = cotangents[key] + cotangent if key in cotangents else cotangent
