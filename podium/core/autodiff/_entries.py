"""Entries: what tapes keep of a computation, and how one is made.

An Entry is a pure function with the values it was given, what came out, and the pullback. This file
makes entries and hands them to the open tapes; `_tape.py` owns what is done with them,
`_dispatch.py` and `_stateful_call.py` decide what becomes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from podium.core import _errors
from podium.core._context import context, override
from podium.core._tree import preserve_key_order
from podium.core.tensor._dtypes import is_differentiable
from podium.core.tensor._symbolic import KerasTensor
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable


class Entry:
    """One recorded step: `pure(*values)` gives the outputs; `pull` maps their gradients back.

    Attributes:
        pure: A function of the inputs' values that returns `(outputs, auxiliary)`.
        inputs: The Tensors and Variables whose values `pure` takes.
        values: Those values at the time.
        outputs: The Tensors that came out and can carry a gradient.
        pull: From gradients of the outputs to gradients of the inputs; None until it is wanted.
        opened: The call that can run again with its inner steps recorded one by one, if it has any.
        is_bridge: Whether it only passes a value on under another identity.
    """

    __slots__ = ("inputs", "is_bridge", "opened", "outputs", "pull", "pure", "values")

    def __init__(
        self,
        pure: Callable,
        inputs: list,
        values: list,
        outputs: list,
        pull: Any,
        opened: Any = None,
    ):
        self.pure = pure
        self.inputs = inputs
        self.values = values
        self.outputs = outputs
        self.pull = pull
        self.opened = opened
        self.is_bridge = False


def bridge(start: Any, raw: Any, end: Any) -> Entry:
    """Make an entry that passes a value on under another identity."""

    def pure(value: Any) -> tuple[list, list]:
        return [value], []

    entry = Entry(pure, [start], [raw], [end], lambda cotangents: (cotangents[0],))
    entry.is_bridge = True
    return entry


def node_of(value: Tensor | Variable) -> Tensor | Variable:
    """Return what tapes shall know a value by.

    A Variable that was assigned a recorded Tensor stands for that Tensor on the tapes that recorded
    it, and for itself on others. Reading it gives a new Tensor that each tape connects to what it
    knows.
    """
    source = getattr(value, "source", None)
    if source is None or not _known_to_tapes(source):
        return value
    raw = read_array(value)
    seen = wrap(raw)
    for tape in context.tapes:
        start = source if tape.tracks(source) else value
        if tape.recording and tape.tracks(start):
            tape.append(bridge(start, raw, seen))
    return seen


def _known_to_tapes(value: Any) -> bool:
    return any(tape.recording and tape.tracks(value) for tape in context.tapes)


def is_tracked(value: Any) -> bool:
    if isinstance(value, KerasTensor):
        return False
    source = getattr(value, "source", None)
    return _known_to_tapes(value) or (source is not None and _known_to_tapes(source))


def run_entry(pure: Callable, inputs: list, values: list, opened: Any = None) -> tuple[Entry, list]:
    """Run `pure(*values)`, with its pullback if an open tape wants one; returns it as an Entry."""
    wanted = any(
        t.wants_pullback and t.recording and any(map(t.tracks, inputs)) for t in context.tapes
    )
    with override(tapes=()):
        try:
            if wanted:
                outputs, pull, others = jax.vjp(pure, *values, has_aux=True)
            else:
                (outputs, others), pull = pure(*values), None
        except (jax.errors.UnexpectedTracerError, ValueError) as error:
            raise explained(error) from error
    return Entry(pure, inputs, values, [wrap(output) for output in outputs], pull, opened), others


def append_entry(entry: Entry) -> None:
    """Hand an entry to every recording tape that tracks one of its inputs."""
    tapes = [
        tape for tape in context.tapes if tape.recording and any(map(tape.tracks, entry.inputs))
    ]
    for tape in tapes if entry.outputs else ():
        tape.append(entry)


def enter(pure: Callable, inputs: list, values: list) -> Any:
    """Record a pure function of explicit values: how a gradient becomes a step of an outer tape."""
    layout = Layout()
    entry, others = run_entry(lambda *args: layout.split(pure(*args)), inputs, values)
    append_entry(entry)
    return layout.join(entry.outputs, others)


class Layout:
    """Splits a result into leaves that carry gradients and others, and puts it together again."""

    def __init__(self) -> None:
        self.treedef: Any = None
        self.kinds: list[str] = []
        self.static: list[Any] = []

    def split(self, result: Any) -> tuple[list, list]:
        """Return the leaves that carry gradients, and the other arrays."""
        leaves, self.treedef = jax.tree.flatten(preserve_key_order(result))
        self.kinds = [_leaf_kind(leaf) for leaf in leaves]
        self.static = [
            leaf for leaf, kind in zip(leaves, self.kinds, strict=True) if kind == "static"
        ]
        outputs = [leaf for leaf, kind in zip(leaves, self.kinds, strict=True) if kind == "output"]
        others = [leaf for leaf, kind in zip(leaves, self.kinds, strict=True) if kind == "other"]
        return outputs, others

    def join(self, outputs: list, others: list) -> Any:
        """Return the result as it was, with Tensors for arrays."""
        sources = {
            "output": iter(outputs),
            "other": iter(map(wrap, others)),
            "static": iter(self.static),
        }
        return jax.tree.unflatten(self.treedef, [next(sources[kind]) for kind in self.kinds])


def _leaf_kind(leaf: Any) -> str:
    if not isinstance(leaf, jax.Array):
        return "static"
    return "output" if is_differentiable(leaf) else "other"


def read_array(value: Tensor | Variable) -> Any:
    """Return the bare array of a Tensor or Variable as the running trace sees it."""
    if isinstance(value, Variable):
        return value.read()
    scope = context.scope
    return value._value if scope is None or not scope.watches_tensors else scope.read_tensor(value)


def explained(error: Exception) -> Exception:
    """Turn JAX's words for two common mistakes into ours; other errors pass unchanged."""
    if isinstance(error, jax.errors.UnexpectedTracerError):
        return _errors.LeakedValueError(_errors.LEAKED_VALUE)
    if "__jax_array__" in str(error):
        return TypeError(_errors.TENSOR_IN_LAX)
    return error
