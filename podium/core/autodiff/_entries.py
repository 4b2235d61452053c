"""Entries: what tapes store of a computation.

An Entry is a pure function with its input values, its outputs and its pullback. This file creates
entries and adds them to the open tapes; `_dispatch.py` and `_stateful_call.py` decide what becomes
an entry, and `_backward_graph.py` differentiates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import jax

from podium._typing import AnyFunction, Tree, TreeDef, Value
from podium.core import _errors
from podium.core._context import context, override
from podium.core._tree import preserve_key_order
from podium.core.tensor._dtypes import is_differentiable
from podium.core.tensor._symbolic import KerasTensor
from podium.core.tensor._tensor import Tensor, is_recorded, wrap
from podium.core.tensor._variable import Variable

if TYPE_CHECKING:
    from podium.core.autodiff._tape_base import TapeBase

# A function of arrays that returns its differentiable results and the others.
PureFunction: TypeAlias = Callable[..., tuple[list[jax.Array], list[Any]]]

# Maps cotangents of the outputs to cotangents of the inputs.
Pullback: TypeAlias = Callable[[list[jax.Array]], Sequence[jax.Array]]


class ReplayableCall(Protocol):
    """A recorded call that can run again with its inner operations recorded."""

    composite: bool

    def replay(
        self, values: Sequence[jax.Array], tape: TapeBase
    ) -> tuple[list[Value], list[Tensor]]:
        """Run the call while `tape` records; return the inner inputs and the inner outputs."""


class Entry:
    """One recorded operation: `pure(*values)` returns the outputs, `pullback` maps gradients back.

    Attributes:
        pure: A function of the inputs' values that returns `(outputs, auxiliary)`.
        inputs: The Tensors and Variables whose values `pure` takes.
        values: Their values when the operation was recorded.
        outputs: The differentiable Tensors among the results.
        pullback: Maps gradients of the outputs to gradients of the inputs; None if no tape needs
            it.
        recorded_call: The call that can run again with its inner operations recorded one by one;
            None for a single operation.
        is_bridge: Whether it only passes a value on under another identity.
    """

    __slots__ = (
        "inputs",
        "is_bridge",
        "outputs",
        "pullback",
        "pure",
        "recorded_call",
        "values",
    )

    def __init__(
        self,
        pure: PureFunction,
        inputs: list[Value],
        values: list[jax.Array],
        outputs: list[Tensor],
        pullback: Pullback | None,
        recorded_call: ReplayableCall | None = None,
    ):
        self.pure = pure
        self.inputs = inputs
        self.values = values
        self.outputs = outputs
        self.pullback = pullback
        self.recorded_call = recorded_call
        self.is_bridge = False


def bridge(start: Value, array: jax.Array, end: Tensor) -> Entry:
    """Return an entry that passes a value on under another identity."""

    def pure(value: jax.Array) -> tuple[list[jax.Array], list[Any]]:
        return [value], []

    entry = Entry(pure, [start], [array], [end], lambda cotangents: (cotangents[0],))
    entry.is_bridge = True
    return entry


def node_of(value: Tensor | Variable) -> Tensor | Variable:
    """Return the value under which tapes record an input.

    A Variable that was assigned a recorded Tensor stands for that Tensor on the tapes that recorded
    it, and for itself on others. Reading it returns a new Tensor that each tape connects to the
    value it tracks.
    """
    source = getattr(value, "source", None)
    if source is None or not is_recorded(source):
        return value
    array = read_array(value)
    node = wrap(array)
    for tape in context.tapes:
        start = source if tape.tracks(source) else value
        if tape.recording and tape.tracks(start):
            tape.append(bridge(start, array, node))
    return node


def is_tracked(value: object) -> bool:
    """Return whether an open, recording tape tracks a value or what was assigned to it."""
    if isinstance(value, KerasTensor):
        return False
    source = getattr(value, "source", None)
    return is_recorded(value) or (source is not None and is_recorded(source))


def run_entry(
    pure: PureFunction,
    inputs: list[Value],
    values: list[jax.Array],
    recorded_call: ReplayableCall | None = None,
) -> tuple[Entry, list[Any]]:
    """Run `pure(*values)`, with its pullback if an open tape needs one.

    Returns:
        The entry, and the results that are not differentiable.
    """
    needs_pullback = any(
        t.needs_pullback and t.recording and any(map(t.tracks, inputs)) for t in context.tapes
    )
    pullback: Pullback | None = None
    with override(tapes=()):
        try:
            if needs_pullback:
                outputs, pullback, others = jax.vjp(pure, *values, has_aux=True)
            else:
                outputs, others = pure(*values)
        except (jax.errors.UnexpectedTracerError, ValueError) as error:
            raise explain_jax_error(error) from error
    tensors = [wrap(output) for output in outputs]
    return Entry(pure, inputs, values, tensors, pullback, recorded_call), others


def append_entry(entry: Entry) -> None:
    """Add an entry to every recording tape that tracks one of its inputs."""
    tapes = [
        tape for tape in context.tapes if tape.recording and any(map(tape.tracks, entry.inputs))
    ]
    for tape in tapes if entry.outputs else ():
        tape.append(entry)


def record_pure(pure: AnyFunction, inputs: list[Value], values: list[jax.Array]) -> Tree:
    """Run and record a pure function of arrays; gradients use it to appear on outer tapes."""
    result_structure = ResultStructure()
    entry, others = run_entry(lambda *args: result_structure.split(pure(*args)), inputs, values)
    append_entry(entry)
    return result_structure.join(entry.outputs, others)


class ResultStructure:
    """Splits a result into differentiable arrays and others, and joins them again."""

    def __init__(self) -> None:
        self.treedef: TreeDef | None = None
        self.kinds: list[str] = []
        self.static: list[Any] = []

    def split(self, result: Tree) -> tuple[list[jax.Array], list[jax.Array]]:
        """Return the differentiable arrays, and the other arrays."""
        leaves, self.treedef = jax.tree.flatten(preserve_key_order(result))
        self.kinds = [_leaf_kind(leaf) for leaf in leaves]
        self.static = [
            leaf for leaf, kind in zip(leaves, self.kinds, strict=True) if kind == "static"
        ]
        outputs = [leaf for leaf, kind in zip(leaves, self.kinds, strict=True) if kind == "output"]
        others = [leaf for leaf, kind in zip(leaves, self.kinds, strict=True) if kind == "other"]
        return outputs, others

    def join(self, outputs: Sequence[Tensor], others: Sequence[jax.Array]) -> Tree:
        """Return the result in its structure, with Tensors for arrays."""
        assert self.treedef is not None
        sources: dict[str, Iterator[Any]] = {
            "output": iter(outputs),
            "other": iter(map(wrap, others)),
            "static": iter(self.static),
        }
        return jax.tree.unflatten(self.treedef, [next(sources[kind]) for kind in self.kinds])


def _leaf_kind(leaf: object) -> str:
    if not isinstance(leaf, jax.Array):
        return "static"
    return "output" if is_differentiable(leaf) else "other"


def read_array(value: Value) -> jax.Array:
    """Return the bare array of a Tensor or Variable as the running trace sees it."""
    if isinstance(value, Variable):
        return value.read()
    scope = context.scope
    return value._value if scope is None or not scope.watches_tensors else scope.read_tensor(value)


def explain_jax_error(error: Exception) -> Exception:
    """Return an error that explains two common mistakes; other errors are returned unchanged."""
    if isinstance(error, jax.errors.UnexpectedTracerError):
        return _errors.LeakedValueError(_errors.LEAKED_VALUE)
    if "__jax_array__" in str(error):
        return TypeError(_errors.TENSOR_IN_LAX)
    return error
