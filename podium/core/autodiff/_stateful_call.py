"""Calls that read and write Variables, and functions of the user's inside JAX's loops.

`record_call` makes one entry of a whole call: what tapes track goes in as values, results come out,
and what the call wrote leaves beside them. It can run the call again, opened up, with its inner
steps recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from podium.core._context import context, override
from podium.core._dispatch import add_node, is_value, unwrap_result, wrap_result
from podium.core._tree import preserve_key_order, tree_leaves
from podium.core.autodiff._entries import (
    Layout,
    append_entry,
    is_tracked,
    node_of,
    read_array,
    run_entry,
)
from podium.core.compile._variable_scope import VariableScope
from podium.core.tensor._dtypes import is_differentiable
from podium.core.tensor._symbolic import is_symbolic
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable


def record_call(
    body: Callable,
    args: tuple,
    kwargs: dict,
    variables: Sequence[Variable] = (),
    composite: bool = True,
) -> Any:
    """Record `body(*args, **kwargs)`, which may read and write Variables, as one entry.

    While it runs no outer tape records, so it may use JAX freely. Tensors and Variables that a tape
    tracks become inputs of the entry, also those it reads by closure (`variables` is a first guess;
    others are found by use, and the call is repeated). What it writes is assigned afterwards.

    Args:
        body: The code to run; it gets its arguments as Tensors.
        args: Positional arguments.
        kwargs: Named arguments.
        variables: Variables that it is expected to read.
        composite: Whether it is made of other calls, so that opening it up can tell its outputs
            apart.

    Returns:
        The result of `body`.

    Example:
        >>> w = podium.Variable(3.0)
        >>> def body(x):
        ...     return jnp.square(x) * w
        >>> with podium.GradientTape() as tape:
        ...     y = podium.core.record_call(body, (podium.Tensor(2.0),), {})
        >>> float(tape.gradient(y, w))
        4.0
    """
    if not any(tape.recording for tape in context.tapes):
        return body(*args, **kwargs)
    given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Variable)]
    known = list(
        {id(v): v for v in (*variables, *given) if is_tracked(v) and is_differentiable(v)}.values()
    )
    while True:
        call = _RecordedCall(body, args, kwargs, known, composite)
        result = call.record()
        if not call.missed:
            return call.commit(result)
        known = known + call.missed


class _RecordedCall:
    """One stateful call as a pure function of what tapes track; it can run again, and opened up."""

    def __init__(self, body: Callable, args: tuple, kwargs: dict, known: list, composite: bool):
        self._body = body
        self.composite = composite
        self._leaves, self._treedef = jax.tree.flatten(
            preserve_key_order((args, kwargs)), is_leaf=is_value
        )
        self._slots = [
            slot
            for slot, leaf in enumerate(self._leaves)
            if isinstance(leaf, Tensor) and is_differentiable(leaf._value) and is_tracked(leaf)
        ]
        self._values = [self._leaves[slot] for slot in self._slots] + known
        self._paused = tuple(tape for tape in context.tapes if tape.recording)
        self._parent = context.scope
        self._inherited: dict[str, Any] = {
            "autocast_dtype": context.autocast_dtype,
            "bare_arrays": context.bare_arrays,
        }
        self._reads: dict[
            int, tuple
        ] = {}  # what was read beside the inputs, so that it can run again
        self._scope = VariableScope()
        self._layout = Layout()
        self.missed: list[Any] = []

    def record(self) -> Any:
        """Run as one entry. If Variables or Tensors turn up that are no inputs yet, nothing is
        recorded.
        """
        inputs = [node_of(value) for value in self._values]
        values = [read_array(value) for value in self._values]

        def pure(*values: Any) -> tuple[list, list]:
            result, scope, _ = self._run(values, tapes=())
            self._scope = scope
            losses = [unwrap_result(value) for value in scope.locals.values()]
            outputs, others = self._layout.split((result, losses))
            return outputs, others + [value for _, value in scope.writes.values()]

        entry, others = run_entry(pure, inputs, values, opened=self)
        if not self._reads:
            self._reads = self._scope.reads
        self.missed = [
            value
            for value, raw in self._scope.reads.values()
            if is_differentiable(raw) and is_tracked(value)
        ]
        if not self.missed:
            append_entry(entry)
        count = len(others) - len(self._scope.writes)
        return (*self._layout.join(entry.outputs, others[:count]), others[count:])

    def commit(self, joined: Any) -> Any:
        """Assign what the call wrote, and give its layers their losses as recorded Tensors."""
        result, losses, writes = joined
        self._scope.commit_as(writes)
        for local, value in zip(self._scope.locals, losses, strict=True):
            local.set(value)
        return result

    def _run(self, values: Sequence[Any], tapes: tuple) -> tuple[Any, VariableScope, list]:
        """Run the body with the given values of its inputs; returns result, scope and the inner
        inputs.
        """
        inputs = {id(v): (v, raw) for v, raw in zip(self._values, values, strict=True)}
        paused = () if tapes else self._paused
        scope = VariableScope(inputs, self._parent, dict(self._reads), paused)
        leaves = list(self._leaves)
        for slot, raw in zip(self._slots, values, strict=False):
            leaves[slot] = wrap(raw)
            leaves[slot]._keras_mask = self._leaves[slot]._keras_mask
        inner = [leaves[slot] for slot in self._slots] + self._values[len(self._slots) :]
        for tape in tapes:
            for value in inner:
                tape.watch(value)
        args, kwargs = jax.tree.unflatten(self._treedef, leaves)
        with override(scope=scope, tapes=tapes, **self._inherited):
            result = self._body(*args, **kwargs)
            return (result if tapes else unwrap_result(result)), scope, inner

    def open(self, values: Sequence[Any], tape: Any) -> tuple[list, list]:
        """Run again with `tape` recording the inner steps; returns the inner inputs and inner
        outputs.
        """
        result, scope, inner = self._run(values, tapes=(tape,))
        leaves = tree_leaves(preserve_key_order((result, list(scope.locals.values()))))
        return inner, [
            leaf for leaf in leaves if isinstance(leaf, Tensor) and is_differentiable(leaf._value)
        ]


def call_with_tensors(fn: Callable) -> Callable:
    """Let JAX call a Python function written for Tensors: arrays in and out, Tensors for `fn`.

    For the bodies of loops and branches (`jax.lax.scan`, `cond`, ...). `fn` may read Variables but
    not assign them: what happens inside a loop reaches the outside only as a result. JAX remembers
    loop bodies by identity, so make the wrapped function anew for every loop.

    Example:
        >>> import jax
        >>> jax.lax.map(podium.core.call_with_tensors(lambda x: x * 2), jnp.arange(3))
        Array([0, 2, 4], dtype=int32)
    """

    @functools.wraps(fn)
    def called(*args: Any) -> Any:
        scope = VariableScope(parent=context.scope)
        with override(scope=scope, tapes=()):
            result = unwrap_result(fn(*wrap_result(args)))
        if scope.writes:
            names = ", ".join(repr(variable.path) for variable, _ in scope.writes.values())
            raise RuntimeError(
                f"The body of a loop or branch assigned {names}. State cannot leave it that way. "
                "Carry the value as part of the loop's state, return it, and assign it after the "
                "loop. (Random draws assign their seed: draw before the loop, or pass an integer "
                "`seed=`.)"
            )
        return result

    return called


def dispatch_closure(fn: Callable, /, *args: Any) -> Any:
    """Like `dispatch`, for a function that runs Python functions of the user's (see
    `call_with_tensors`).

    Tensors and Variables that those functions read by closure get their gradients too.

    Example:
        >>> import jax
        >>> w = podium.Variable(3.0)
        >>> def scale_all(xs):
        ...     return jax.lax.map(podium.core.call_with_tensors(lambda x: x * w), xs)
        >>> with podium.GradientTape() as tape:
        ...     y = podium.core.dispatch_closure(scale_all, jnp.arange(3.0))
        >>> float(tape.gradient(y, w))
        3.0
    """
    if is_symbolic(args):
        return add_node(fn, args, {})

    def body(*args: Any) -> Any:
        return wrap_result(fn(*unwrap_result(args)))

    return record_call(body, args, {}, composite=False)
