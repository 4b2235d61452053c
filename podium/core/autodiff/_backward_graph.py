"""BackwardGraph: the part of a tape between some sources and some targets, to be differentiated.

A gradient applies the stored pullbacks in reverse order. Where another tape records, the same
computation runs as one pure function of the values it starts from, and is recorded there. Calls
that compute a source inside are expanded first. Validation of the user's request, and the structure
of the results, belong to the tape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import Shape, Value
from podium.core._context import context, override
from podium.core._errors import TapedValueError
from podium.core.autodiff._entries import Entry, Pullback, bridge, read_array, record_pure
from podium.core.autodiff._tape_base import TapeBase
from podium.core.tensor._dtypes import conjugate
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable

_UNREACHABLE = (
    "The gradient was requested with respect to a value that a layer's `call` computes on the way "
    "to the target, and that `call` uses raw JAX functions, which a tape does not record. Use "
    "`podium.ops` in its `call`, or compute the two parts in two calls."
)

# Identifies a leaf: the id of the value, and for a Variable the id of the array that was read.
_LeafKey = tuple[int, int]


class BackwardGraph:
    """The entries between some sources and some targets, as a pure function of their leaves."""

    def __init__(
        self,
        entries: list[Entry],
        targets: list[Value],
        sources: list[Value],
        tracks: Callable[[object], bool],
    ):
        self.targets = targets
        # id of a value inside an expanded call -> the value that outer tapes track
        self._outer_values: dict[int, Value] = {}
        self.sources = [source if tracks(source) else None for source in sources]
        self.entries = self._select_entries(entries)
        self._expand_shared_entries()
        self._collect_leaves()

    # --- which entries matter

    def _select_entries(self, entries: list[Entry]) -> list[Entry]:
        """Return the entries on a path from a source to a target."""
        from_sources = {id(source) for source in self.sources if source is not None}
        reachable = []
        for entry in entries:
            computes_source = entry.recorded_call is not None and any(
                id(output) in from_sources for output in entry.outputs
            )
            if computes_source or any(id(value) in from_sources for value in entry.inputs):
                from_sources.update(id(output) for output in entry.outputs)
                reachable.append(entry)
        to_targets = {id(target) for target in self.targets}
        selected = []
        for entry in reversed(reachable):
            if any(id(output) in to_targets for output in entry.outputs):
                to_targets.update(id(value) for value in entry.inputs)
                selected.append(entry)
        return selected[::-1]

    def _expand_shared_entries(self) -> None:
        """Replace calls that have a source and a later value among their outputs by their inner
        operations.

        Also replace calls whose outputs are used only in part, so that Variables behind the other
        outputs get None, not zeros.
        """
        source_ids = {id(source) for source in self.sources if source is not None}
        used = {id(target) for target in self.targets}
        used.update(id(value) for entry in self.entries for value in entry.inputs)
        expanded: list[Entry] = []
        for entry in self.entries:
            outputs = _separate_outputs(entry, used)
            has_source = any(id(output) in source_ids for output in outputs)
            is_partly_used = any(not _is_used(output, used) for output in outputs)
            if len(outputs) < 2 or entry.recorded_call is None:
                expanded.append(entry)
            elif has_source or (is_partly_used and entry.recorded_call.composite):
                expanded.extend(self._inner_entries(entry, required=has_source))
            else:
                expanded.append(entry)
        self.entries = self._select_entries(expanded)

    def _inner_entries(self, entry: Entry, required: bool) -> list[Entry]:
        assert entry.recorded_call is not None
        inner_tape = TapeBase(watch_accessed_variables=True)
        inner_tape.recording = True
        try:
            inner_inputs, inner_outputs = entry.recorded_call.replay(entry.values, inner_tape)
        except TapedValueError as error:
            if not required:
                return [entry]
            raise ValueError(_UNREACHABLE) from error
        input_bridges = [
            bridge(outer, array, inner)
            for outer, array, inner in zip(entry.inputs, entry.values, inner_inputs, strict=True)
            if outer is not inner and isinstance(inner, Tensor)
        ]
        output_bridges = []
        for outer, inner in zip(entry.outputs, inner_outputs, strict=True):
            if inner_tape.tracks(inner):
                output_bridges.append(bridge(inner, inner._value, outer))
            elif any(source is outer for source in self.sources):
                raise ValueError(_UNREACHABLE)
            # Later inner operations use a source under its inner identity.
            self.sources = [inner if source is outer else source for source in self.sources]
            self._outer_values[id(inner)] = outer
        return input_bridges + inner_tape.entries + output_bridges

    def _collect_leaves(self) -> None:
        """Collect the values that the entries start from; a source is a leaf even if computed."""
        source_ids = {id(source) for source in self.sources if source is not None}
        computed: set[int] = set()
        self.leaves: dict[_LeafKey, tuple[Value, jax.Array]] = {}
        for entry in self.entries:
            for value, array in zip(entry.inputs, entry.values, strict=True):
                if id(value) not in computed or id(value) in source_ids:
                    # A Variable may have been read with different values: each one is a leaf.
                    self.leaves.setdefault(self._key(value, array), (value, array))
                    if entry.is_bridge and isinstance(value, Variable):
                        # It had been assigned: outer tapes track the Tensor that was read.
                        self._outer_values[id(array)] = entry.outputs[0]
            computed.update(id(output) for output in entry.outputs)

    @staticmethod
    def _key(value: Value, array: jax.Array) -> _LeafKey:
        return (id(value), id(array) if isinstance(value, Variable) else 0)

    # --- running

    def gradients(self, seeds: list[Value | None]) -> list[Tensor | None]:
        """Return the gradient with respect to each source; None where there is no path."""
        starts = self._tracked_leaves()
        explicit_seeds = [seed for seed in seeds if seed is not None]
        if not any(
            tape.recording and any(map(tape.tracks, starts + explicit_seeds))
            for tape in context.tapes
        ):
            with override(tapes=()):
                seed_arrays = [None if seed is None else read_array(seed) for seed in seeds]
                pullbacks = [entry.pullback for entry in self.entries]
                gradients = self._backward(pullbacks, seed_arrays)
            return [None if gradient is None else wrap(gradient) for gradient in gradients]

        def replay(*values: jax.Array) -> list[jax.Array | None]:
            remaining_seeds = iter(values[len(self.leaves) :])
            _, pullbacks = self._forward(values[: len(self.leaves)], with_pullbacks=True)
            return self._backward(
                pullbacks, [None if seed is None else next(remaining_seeds) for seed in seeds]
            )

        seed_values = [read_array(seed) for seed in explicit_seeds]
        results: list[Tensor | None] = record_pure(
            replay, starts + explicit_seeds, self._leaf_values() + seed_values
        )
        return results

    def jacobians(self, batched: bool) -> list[Tensor | None]:
        """Return the Jacobian of the one target with respect to each source."""
        positions = {
            index: self._leaf_position(source) for index, source in enumerate(self.sources)
        }
        connected = {
            index: position for index, position in positions.items() if position is not None
        }
        if not self.targets or not connected:
            return [self._identity_jacobian(source, batched) for source in self.sources]

        def replay(*values: jax.Array) -> list[jax.Array | None]:
            def compute_target(*source_values: jax.Array) -> jax.Array:
                leaf_values = list(values)
                for position, value in zip(connected.values(), source_values, strict=True):
                    leaf_values[position] = value
                outputs, _ = self._forward(leaf_values, with_pullbacks=False)
                target = outputs[id(self.targets[0])]
                return target.sum(axis=0) if batched else target

            source_values = [values[position] for position in connected.values()]
            differentiate = jax.jacrev(compute_target, argnums=tuple(range(len(source_values))))
            jacobians = differentiate(*source_values)
            results: list[jax.Array | None] = [None] * len(self.sources)
            for index, value, jacobian in zip(connected, source_values, jacobians, strict=True):
                axis = jacobian.ndim - value.ndim
                results[index] = conjugate(jnp.moveaxis(jacobian, axis, 0) if batched else jacobian)
            return results

        results = record_pure(replay, self._tracked_leaves(), self._leaf_values())
        return [
            self._identity_jacobian(source, batched) if result is None else result
            for source, result in zip(self.sources, results, strict=True)
        ]

    def _identity_jacobian(self, source: Value | None, batched: bool) -> Tensor | None:
        """Return the Jacobian of a source that is the target itself; None for any other."""
        if source is None or not self.targets or source is not self.targets[0]:
            return None
        shape: Shape = tuple(source.shape[1:] if batched else source.shape)
        identity = jnp.eye(math.prod(shape), dtype=source.dtype).reshape(shape + shape)
        if not batched:
            return wrap(identity)
        return wrap(jnp.broadcast_to(identity, (source.shape[0], *identity.shape)))

    def jvp(self, tangents: dict[int, Value], target: Value) -> Tensor:
        """Return the directional derivative of `target` along `tangents` (by id of the source)."""
        positions = [
            index for index, (value, _) in enumerate(self.leaves.values()) if id(value) in tangents
        ]
        starts = self._tracked_leaves()
        directions = [tangents[id(starts[index])] for index in positions]

        def replay(*values: jax.Array) -> jax.Array:
            def compute_target(*source_values: jax.Array) -> jax.Array:
                leaf_values = list(values[: len(starts)])
                for index, value in zip(positions, source_values, strict=True):
                    leaf_values[index] = value
                return self._forward(leaf_values, with_pullbacks=False)[0][id(target)]

            primals = tuple(values[index] for index in positions)
            with override(forward_mode=True):
                derivative: jax.Array
                _, derivative = jax.jvp(compute_target, primals, tuple(values[len(starts) :]))
            return derivative

        direction_values = [read_array(direction) for direction in directions]
        result: Tensor = record_pure(
            replay, starts + directions, self._leaf_values() + direction_values
        )
        return result

    def _tracked_leaves(self) -> list[Value]:
        """Return the leaves as the values that outer tapes track."""
        outer = self._outer_values
        return [
            outer.get(id(value), outer.get(id(array), value))
            for value, array in self.leaves.values()
        ]

    def _leaf_values(self) -> list[jax.Array]:
        return [array for _, array in self.leaves.values()]

    def _leaf_position(self, source: Value | None) -> int | None:
        """Return the position of a source among the leaves; None if no target depends on it."""
        for index, (value, _) in enumerate(self.leaves.values()):
            if value is source:
                return index
        return None

    def _forward(
        self, values: Sequence[jax.Array], with_pullbacks: bool
    ) -> tuple[dict[int, jax.Array], list[Pullback | None]]:
        """Compute the entries again from the leaves.

        Returns:
            The values by id, and the pullbacks of the entries if they are requested.
        """
        leaf_values = dict(zip(self.leaves, values, strict=True))
        by_id: dict[int, jax.Array] = {}
        for (value_id, _), value in zip(self.leaves, values, strict=True):
            by_id.setdefault(value_id, value)
        pullbacks: list[Pullback | None] = []
        for entry in self.entries:
            inputs = []
            for node, array in zip(entry.inputs, entry.values, strict=True):
                key = self._key(node, array)
                inputs.append(leaf_values[key] if key in leaf_values else by_id[id(node)])
            if with_pullbacks:
                outputs, pullback, _ = jax.vjp(entry.pure, *inputs, has_aux=True)
                pullbacks.append(pullback)
            else:
                outputs, _ = entry.pure(*inputs)
            for output, value in zip(entry.outputs, outputs, strict=True):
                by_id[id(output)] = value
        return by_id, pullbacks

    def _backward(
        self, pullbacks: Sequence[Pullback | None], seeds: Sequence[jax.Array | None]
    ) -> list[jax.Array | None]:
        """Propagate the cotangents of the targets (`seeds`; None for ones) to the sources."""
        cotangents: dict[int, jax.Array] = {}
        for target, seed in zip(self.targets, seeds, strict=True):
            array = read_array(target)
            seed = (
                jnp.ones(array.shape, array.dtype)
                if seed is None
                else jnp.broadcast_to(seed, array.shape)
            )
            _accumulate_cotangent(cotangents, target, conjugate(seed.astype(array.dtype)))
        for entry, pullback in zip(reversed(self.entries), reversed(pullbacks), strict=True):
            if not any(id(output) in cotangents for output in entry.outputs):
                continue
            assert pullback is not None, "the tape needs pullbacks, so its entries have them"
            output_cotangents = [
                cotangents[id(o)] if id(o) in cotangents else jnp.zeros(o.shape, o.dtype)
                for o in entry.outputs
            ]
            for value, cotangent in zip(entry.inputs, pullback(output_cotangents), strict=True):
                _accumulate_cotangent(cotangents, value, cotangent)
        gradients = [
            None if source is None else cotangents.get(id(source)) for source in self.sources
        ]
        return [None if gradient is None else conjugate(gradient) for gradient in gradients]


def _accumulate_cotangent(cotangents: dict[int, Any], value: Value, cotangent: jax.Array) -> None:
    key = id(value)
    cotangents[key] = cotangents[key] + cotangent if key in cotangents else cotangent


def _separate_outputs(entry: Entry, used: set[int]) -> list[Tensor]:
    """Return the outputs without unused logits, which depend on the same values as the outputs
    that they are behind.
    """
    logits = [output._keras_logits for output in entry.outputs]
    spare = {id(item.tensor) for item in logits if item is not None} - used
    return [output for output in entry.outputs if id(output) not in spare]


def _is_used(output: Tensor, used: set[int]) -> bool:
    logits = output._keras_logits
    return id(output) in used or (logits is not None and id(logits.tensor) in used)
