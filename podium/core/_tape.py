"""GradientTape: records what is computed while it is open, and gives gradients of it.

A tape keeps Entries (made in `_dispatch.py`) and knows values by identity. `gradient` walks the entries
backwards. When another tape is still recording, the walk itself is recorded there as one pure function,
so tapes nest to any depth. `Recording` is the part of a tape between some sources and some targets.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium.core._dispatch import Entry, bridge, enter, read_raw
from podium.core._dtypes import is_differentiable
from podium.core._errors import TapedValueError, check_choice
from podium.core._state import current, setting
from podium.core._symbolic import leaves_of, map_structure
from podium.core._tensor import Tensor, wrap
from podium.core._variable import Variable


class Recorder:
    """What tapes and forward accumulators share: an open/closed state, known values, entries."""

    wants_pullback = True

    def __init__(self, watch_accessed_variables: bool = True):
        self.recording = False
        self._watch_accessed = watch_accessed_variables
        self.entries: list[Entry] = []
        self._known: dict[int, Any] = {}  # id -> value; holding the value keeps its id from being reused
        self._variables: dict[int, Variable] = {}

    def tracks(self, value: Any) -> bool:
        """Tell whether results computed from `value` belong on this tape."""
        if id(value) in self._known:
            return True
        return isinstance(value, Variable) and value.trainable and self._watch_accessed

    def append(self, entry: Entry) -> None:
        """Take an entry; its outputs are known from now on."""
        self.entries.append(entry)
        for output in entry.outputs:
            self._known[id(output)] = output
        for value in entry.inputs:
            if isinstance(value, Variable):
                self._variables[id(value)] = value

    def watch(self, tensor: Any) -> None:
        """Follow a Tensor or Variable (or a structure of them) from here on."""
        for value in leaves_of(tensor):
            if not isinstance(value, (Tensor, Variable)):
                raise TypeError(
                    f"tape.watch was given a {type(value).__name__}; a Tensor or Variable was expected, because "
                    "the tape must see what is done with it. Convert it first: "
                    "`x = podium.convert_to_tensor(x)`, and compute with that x."
                )
            if not is_differentiable(value):
                raise TypeError(
                    f"tape.watch was given values of type {value.dtype}, which have no gradient. Convert them "
                    "first: `x = ops.cast(x, 'float32')`."
                )
            self._known[id(value)] = value
            if isinstance(value, Variable):
                self._variables[id(value)] = value

    def _open(self) -> None:
        if self in current.recorders:
            raise RuntimeError(f"This {type(self).__name__} is already open; leave its `with` block first.")
        current.recorders = (*current.recorders, self)
        self.recording = True

    def _close(self) -> None:
        current.recorders = tuple(recorder for recorder in current.recorders if recorder is not self)
        self.recording = False


class GradientTape(Recorder):
    """Records operations while its `with` block is open, to differentiate them afterwards.

    Trainable Variables are watched by themselves; watch Tensors with `watch`. It works the same in plain
    Python and inside `podium.function`. Gradients pass through state updates too: after
    `v.assign(2 * x)`, what is computed from `v` has a gradient by `x`.

    Args:
        persistent: Keep the recording, so that gradients can be taken more than once.
        watch_accessed_variables: Watch trainable Variables without being told.

    Example:
        >>> x = podium.Variable(3.0)
        >>> with podium.GradientTape() as outer:
        ...     with podium.GradientTape() as inner:
        ...         y = x * x * x
        ...     dy = inner.gradient(y, x)
        >>> float(dy), float(outer.gradient(dy, x))
        (27.0, 18.0)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        super().__init__(watch_accessed_variables)
        self._persistent = bool(persistent)
        self._used = False

    def __enter__(self) -> GradientTape:
        self._used = False
        self._open()
        return self

    def __exit__(self, *_: Any) -> None:
        self._close()

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the Variables that recorded operations have read."""
        return tuple(self._variables.values())

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Compute without recording on this tape, for the length of a `with` block."""
        if not self.recording:
            raise RuntimeError("stop_recording() needs an open tape; call it inside the tape's `with` block.")
        self.recording = False
        try:
            yield
        finally:
            self.recording = True

    def reset(self) -> None:
        """Forget everything recorded so far, watched values included."""
        self.entries, self._known, self._variables = [], {}, {}
        self._used = False

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: str = "none",
    ) -> Any:
        """Return the gradient of `target` by each of `sources`, in the structure of `sources`.

        A target that is not a scalar counts as its sum; several targets add up.

        Args:
            target: A Tensor computed on this tape, or a structure of them.
            sources: A Tensor or Variable, or any structure of them.
            output_gradients: Weights for the target's elements, in the structure of `target`.
            unconnected_gradients: What a source gets that the target does not depend on: "none" or "zero".

        Returns:
            Tensors (or None) in the structure of `sources`.

        Raises:
            RuntimeError: The tape was used before and is not persistent.
            ValueError: The tape never saw the target.
        """
        zero = _wants_zero(unconnected_gradients)
        targets, sources_flat = self._begin("gradient", target, sources, zero)
        seeds = [None] * len(targets)
        if output_gradients is not None:
            seeds = _matching_seeds(targets, leaves_of(output_gradients))
        recording = Recording(self.entries, targets, sources_flat, self.tracks)
        gradients = iter(recording.gradients(seeds))
        self._end()
        return _fill(sources, gradients, zero)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the derivative of every element of `target` by every element of each source.

        The result for a source has shape `target.shape + source.shape`. The last two arguments are
        accepted for TensorFlow's signature and change nothing.

        Example:
            >>> x = podium.Variable([1.0, 2.0])
            >>> with podium.GradientTape() as tape:
            ...     y = x * x
            >>> tape.jacobian(y, x).numpy()
            array([[2., 0.],
                   [0., 4.]], dtype=float32)
        """
        zero = _wants_zero(unconnected_gradients)
        targets, sources_flat = self._begin("jacobian", target, sources, zero)
        if len(targets) != 1:
            raise ValueError(f"jacobian takes one target; {len(targets)} were given. Call it once for each.")
        recording = Recording(self.entries, targets, sources_flat, self.tracks)
        jacobians = recording.jacobians(batched=False)
        self._end()
        return _fill(sources, iter(jacobians), zero, targets[0].shape)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the Jacobian of each row of `target` by the same row of `source`.

        Row i of the target must depend on row i of the source only. The result has shape
        `(batch,) + target.shape[1:] + source.shape[1:]`.

        Example:
            >>> x = podium.Variable([[1.0, 2.0], [3.0, 4.0]])
            >>> with podium.GradientTape() as tape:
            ...     y = x * x
            >>> tape.batch_jacobian(y, x).numpy()[1]
            array([[6., 0.],
                   [0., 8.]], dtype=float32)
        """
        zero = _wants_zero(unconnected_gradients)
        targets, sources = self._begin("batch_jacobian", target, source, zero)
        shapes = (targets[0].shape, sources[0].shape)
        if not shapes[0] or not shapes[1] or shapes[0][0] != shapes[1][0]:
            raise ValueError(
                f"batch_jacobian was given a target of shape {shapes[0]} and a source of shape {shapes[1]}; their "
                "first dimensions, the batch, must exist and be equal. Use `jacobian` otherwise."
            )
        recording = Recording(self.entries, targets, sources, self.tracks)
        jacobians = recording.jacobians(batched=True)
        self._end()
        return _fill(source, iter(jacobians), zero, shapes[0], drop_batch=True)

    def _begin(self, method: str, target: Any, sources: Any, zero: bool) -> tuple[list, list]:
        """Check the call, and return the targets that the tape saw and the flat list of sources."""
        if self._used:
            raise RuntimeError(
                f"tape.{method} was called a second time on a tape that keeps its recording for one call only. "
                "Use `GradientTape(persistent=True)`, or ask for all gradients in one call."
            )
        if self.recording and not self._persistent:
            self.recording = False  # as in TensorFlow: a one-time tape stops when it is used
        sources_flat = leaves_of(sources)
        for source in sources_flat:
            if not isinstance(source, (Tensor, Variable)):
                raise TypeError(
                    f"tape.{method} was given a source of type {type(source).__name__}; Tensors and Variables were "
                    "expected. For an array, make a Tensor, watch it and compute with it: "
                    "`x = podium.convert_to_tensor(x); tape.watch(x)`."
                )
        targets = [self._node_of_target(leaf) for leaf in leaves_of(target)]
        seen = [t for t in targets if isinstance(t, (Tensor, Variable)) and self.tracks(t)]
        if not seen and not zero:
            raise ValueError(_unseen_target(method, targets[0] if targets else None))
        return seen, sources_flat

    def _node_of_target(self, leaf: Any) -> Any:
        """A Variable as target means its value now: the recorded Tensor it was last assigned, if any."""
        source = getattr(leaf, "source", None)
        return source if source is not None and self.tracks(source) else leaf

    def _end(self) -> None:
        if not self._persistent:
            self._used = True
            self.entries, self._known = [], {}


def _unseen_target(method: str, target: Any) -> str:
    if isinstance(target, Tensor) and not is_differentiable(target):
        return (
            f"tape.{method} was given a target of type {target.dtype}, which has no gradient. "
            "Compute the target in floats."
        )
    what = f"a {type(target).__name__}" if not isinstance(target, Tensor) else f"a Tensor of shape {target.shape}"
    return (
        f"tape.{method} was given {what} as target that this tape never saw. The target must be computed inside "
        "the tape's `with` block, by Podium's operators, layers or `podium.ops`, from trainable Variables or "
        "watched Tensors. Check that it is not a NumPy or JAX array, not computed before the tape was opened, "
        "and that what it depends on is trainable or watched (`tape.watch(x)`). "
        "`unconnected_gradients='zero'` gives zeros instead of this error."
    )


def _wants_zero(unconnected_gradients: Any) -> bool:
    name = getattr(unconnected_gradients, "value", unconnected_gradients)  # TensorFlow's enum has .value
    return check_choice("unconnected_gradients", str(name).lower(), ("none", "zero")) == "zero"


def _matching_seeds(targets: list, seeds: list) -> list:
    if len(seeds) != len(targets):
        raise ValueError(
            f"output_gradients holds {len(seeds)} values for {len(targets)} targets; give one for each target."
        )
    return [seed if isinstance(seed, (Tensor, Variable)) else wrap(jnp.asarray(seed)) for seed in seeds]


def _fill(sources: Any, found: Iterator, zero: bool, outer: tuple = (), drop_batch: bool = False) -> Any:
    """Put results into the structure of `sources`, with zeros for None where that was asked for."""

    def one(source: Any) -> Any:
        result = next(found)
        if result is None and zero:
            inner = source.shape[1:] if drop_batch else source.shape
            return wrap(jnp.zeros((*outer, *inner), source.dtype))
        return result

    return map_structure(one, sources)


_UNREACHABLE = (
    "The gradient was asked by a value that a layer's `call` computes on its way to the target, and that `call` uses "
    "raw JAX functions, which leave no trace on a tape. Use `podium.ops` in its `call`, or compute the two parts in "
    "two calls."
)


class Recording:
    """The entries between some sources and some targets, as a pure function of the values they start from."""

    def __init__(self, entries: list[Entry], targets: list, sources: list, tracks: Callable[[Any], bool]):
        self.targets = targets
        self._outside: dict[int, Any] = {}  # id of a value met inside -> what outer tapes know it by
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
            makes_source = entry.opened is not None and any(id(output) in from_sources for output in entry.outputs)
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
        """Replace calls that have a source and something later among their outputs by their inner steps.

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
        inside = Recorder(watch_accessed_variables=True)
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
        """List the values that the entries start from; a source counts as a start even if it is computed."""
        source_ids = {id(source) for source in self.sources if source is not None}
        made: set[int] = set()
        self.leaves: dict[tuple[int, int], tuple[Any, Any]] = {}
        for entry in self.entries:
            for value, raw in zip(entry.inputs, entry.values, strict=True):
                if id(value) not in made or id(value) in source_ids:
                    # A Variable may have been read with different values: each is a start of its own.
                    self.leaves.setdefault(self._key(value, raw), (value, raw))
                    if entry.is_bridge and isinstance(value, Variable):
                        # It had been assigned: outer tapes know this reading of it, not the Variable.
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
        if not any(tape.recording and any(map(tape.tracks, starts + given)) for tape in current.recorders):
            with setting(recorders=()):
                raw_seeds = [None if seed is None else read_raw(seed) for seed in seeds]
                found = self._backward([entry.pull for entry in self.entries], raw_seeds)
            return [None if gradient is None else wrap(gradient) for gradient in found]

        def replay(*values: Any) -> list:
            raw_seeds = iter(values[len(self.leaves) :])
            _, pulls = self._forward(values[: len(self.leaves)], pullbacks=True)
            return self._backward(pulls, [None if seed is None else next(raw_seeds) for seed in seeds])

        return enter(replay, starts + given, self._start_values() + [read_raw(seed) for seed in given])

    def jacobians(self, batched: bool) -> list:
        """Return the Jacobian of the one target by each source, as Tensors or None."""
        positions = {index: self._leaf_of(source) for index, source in enumerate(self.sources)}
        connected = {index: position for index, position in positions.items() if position is not None}
        if not self.targets or not connected:
            return [None] * len(self.sources)

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
                results[index] = jnp.moveaxis(jacobian, axis, 0) if batched else jacobian
            return results

        return enter(replay, self._starts(), self._start_values())

    def tangent(self, tangents: dict[int, Any], target: Any) -> Any:
        """Return the directional derivative of `target` along `tangents` (id of a source -> Tensor)."""
        moved = [index for index, (value, _) in enumerate(self.leaves.values()) if id(value) in tangents]
        starts = self._starts()
        given = [tangents[id(starts[index])] for index in moved]

        def replay(*values: Any) -> Any:
            def target_of(*moving: Any) -> Any:
                changed = list(values[: len(starts)])
                for index, value in zip(moved, moving, strict=True):
                    changed[index] = value
                return self._forward(changed, pullbacks=False)[0][id(target)]

            primals = tuple(values[index] for index in moved)
            with setting(forward_mode=True):
                return jax.jvp(target_of, primals, tuple(values[len(starts) :]))[1]

        return enter(replay, starts + given, self._start_values() + [read_raw(g) for g in given])

    def _starts(self) -> list:
        known = self._outside
        return [known.get(id(value), known.get(id(raw), value)) for value, raw in self.leaves.values()]

    def _start_values(self) -> list:
        return [raw for _, raw in self.leaves.values()]

    def _leaf_of(self, source: Any) -> int | None:
        """Return the position of a source among the leaves, or None if the target does not depend on it."""
        for index, (value, _) in enumerate(self.leaves.values()):
            if value is source:
                return index
        return None

    def _forward(self, values: Sequence[Any], pullbacks: bool) -> tuple[dict[int, Any], list]:
        """Compute everything again from the leaves; returns values by id, and the pullbacks if wanted."""
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
            like = read_raw(target)
            seed = jnp.ones(like.shape, like.dtype) if seed is None else jnp.broadcast_to(seed, like.shape)
            _accumulate(cotangents, target, seed.astype(like.dtype))
        for entry, pull in zip(reversed(self.entries), reversed(pulls), strict=True):
            if not any(id(output) in cotangents for output in entry.outputs):
                continue
            given = [
                cotangents[id(o)] if id(o) in cotangents else jnp.zeros(o.shape, o.dtype) for o in entry.outputs
            ]
            for value, cotangent in zip(entry.inputs, pull(given), strict=True):
                _accumulate(cotangents, value, cotangent)
        return [None if source is None else cotangents.get(id(source)) for source in self.sources]


def _accumulate(cotangents: dict[int, Any], value: Any, cotangent: Any) -> None:
    key = id(value)
    cotangents[key] = cotangents[key] + cotangent if key in cotangents else cotangent
