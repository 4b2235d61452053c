"""Calls that read and write Variables, and user functions inside JAX's loops.

`record_call` records a call as one entry: the values that tapes track are its inputs, and written
values are returned next to the results. The call can be replayed with its inner operations
recorded. Single operations are recorded in `_dispatch.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax

from podium._typing import AnyFunction, Tree, Value
from podium.core import _errors
from podium.core._context import context, override
from podium.core._dispatch import add_node, is_value, unwrap_result, wrap_result
from podium.core._tree import preserve_key_order, tree_leaves
from podium.core.autodiff._entries import (
    ResultStructure,
    append_entry,
    is_tracked,
    node_of,
    read_array,
    run_entry,
)
from podium.core.compile._variable_scope import ValuesById, VariableScope
from podium.core.tensor._dtypes import is_differentiable
from podium.core.tensor._logits import Logits, attach_logits, collect_logits
from podium.core.tensor._symbolic import is_symbolic
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable

if TYPE_CHECKING:
    from podium.core.autodiff._tape_base import TapeBase

_MAX_RUNS = 10  # of one call, each of which reads values that the one before did not


def record_call(
    body: AnyFunction,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    variables: Sequence[Variable] = (),
    composite: bool = True,
) -> Tree:
    """Record `body(*args, **kwargs)`, which may read and write Variables, as one entry.

    While it runs no outer tape records, so it may use JAX freely. Tensors and Variables that a tape
    tracks become inputs of the entry, including those it reads by closure. Those that are not in
    `variables` are found while it runs, and it then runs again. Written values are assigned
    afterwards.

    Args:
        body: The function to run; its array arguments are Tensors.
        args: Positional arguments.
        kwargs: Named arguments.
        variables: Variables that it is expected to read.
        composite: Whether it consists of other calls, so that a replay can tell its outputs apart.

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
    arguments = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Variable)]
    candidates = [v for v in (*variables, *arguments) if is_tracked(v) and is_differentiable(v)]
    closure: list[Value] = list({id(v): v for v in candidates}.values())
    for _ in range(_MAX_RUNS):
        call = _RecordedCall(body, args, kwargs, closure, composite)
        recorded = call.record()
        if not call.missed_inputs:
            return call.commit(*recorded)
        closure = closure + call.missed_inputs
    layer = getattr(body, "__self__", None)
    names = [repr(value.path) for value in call.missed_inputs if isinstance(value, Variable)]
    raise ValueError(
        _errors.WEIGHT_PER_CALL.format(
            owner=f"`{body.__qualname__}`" if layer is None else f"{layer!r}",
            names=", ".join(names[:3]),
            count=_MAX_RUNS,
        )
    )


class _RecordedCall:
    """A stateful call as a pure function of the values that tapes track; it can be replayed.

    Args:
        body: The function to run.
        args: Positional arguments.
        kwargs: Named arguments.
        closure: The Tensors and Variables to take as inputs in addition to the arguments.
        composite: Whether it consists of other calls.
    """

    def __init__(
        self,
        body: AnyFunction,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        closure: list[Value],
        composite: bool,
    ):
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
        self._inputs: list[Value] = [self._leaves[slot] for slot in self._slots] + closure
        self._paused_tapes = tuple(tape for tape in context.tapes if tape.recording)
        self._parent = context.scope
        self._layer_context: dict[str, Any] = {
            "autocast_dtype": context.autocast_dtype,
            "bare_arrays": context.bare_arrays,
        }
        # The values that were read besides the inputs, for a replay.
        self._reads: ValuesById = {}
        self._scope = VariableScope()
        self._result_structure = ResultStructure()
        # The logits behind each leaf of the result that is an argument, which is returned as it is.
        self._logits_of_arguments: list[Logits | None] = []
        self.missed_inputs: list[Value] = []

    def record(self) -> tuple[Tree, list[Tree], list[Logits | None], list[jax.Array]]:
        """Run the call as one entry, and record it unless inputs were missed.

        `missed_inputs` has the Tensors and Variables that it read and that are not inputs yet.

        Returns:
            The result, the losses that layers added, the logits behind the result, and the values
            that were written.
        """
        inputs = [node_of(value) for value in self._inputs]
        values = [read_array(value) for value in self._inputs]

        def pure(*values: jax.Array) -> tuple[list[jax.Array], list[Any]]:
            result, logits, scope, _ = self._run(values, tapes=())
            self._scope = scope
            losses = [unwrap_result(value) for value in scope.locals.values()]
            outputs, others = self._result_structure.split((result, losses, logits))
            return outputs, others + [value for _, value in scope.writes.values()]

        entry, others = run_entry(pure, inputs, values, recorded_call=self)
        if not self._reads:
            self._reads = self._scope.reads
        self.missed_inputs = [
            value
            for value, array in self._scope.reads.values()
            if is_differentiable(array) and is_tracked(value)
        ]
        if not self.missed_inputs:
            append_entry(entry)
        count = len(others) - len(self._scope.writes)
        result, losses, logits = self._result_structure.join(entry.outputs, others[:count])
        return result, losses, logits, others[count:]

    def commit(
        self,
        result: Tree,
        losses: list[Tree],
        logits: list[Logits | None],
        written: list[jax.Array],
    ) -> Tree:
        """Assign what the call wrote, set its layers' losses, and return the result."""
        attach_logits(
            result, [a or b for a, b in zip(logits, self._logits_of_arguments, strict=True)]
        )
        self._scope.commit_as(written)
        for local, value in zip(self._scope.locals, losses, strict=True):
            local.set(value)
        return result

    def _run(
        self, values: Sequence[jax.Array], tapes: tuple[TapeBase, ...]
    ) -> tuple[Tree, list[Logits | None], VariableScope, list[Value]]:
        """Run the body with these values of its inputs.

        Returns:
            The result and the logits behind it (of Tensors if a tape records, else of arrays), the
            scope in which it ran, and the inputs under their inner identity.
        """
        inputs = {id(v): (v, array) for v, array in zip(self._inputs, values, strict=True)}
        paused_tapes = () if tapes else self._paused_tapes
        scope = VariableScope(inputs, self._parent, dict(self._reads), paused_tapes)
        leaves = list(self._leaves)
        for slot, array in zip(self._slots, values, strict=False):
            leaves[slot] = wrap(array)
            leaves[slot]._keras_mask = self._leaves[slot]._keras_mask
        inner = [leaves[slot] for slot in self._slots] + self._inputs[len(self._slots) :]
        for tape in tapes:
            for value in inner:
                tape.watch(value)
        args, kwargs = jax.tree.unflatten(self._treedef, leaves)
        with override(scope=scope, tapes=tapes, **self._layer_context):
            result = self._body(*args, **kwargs)
            logits = collect_logits(result)
            arguments = {id(leaves[slot]): self._leaves[slot]._keras_logits for slot in self._slots}
            self._logits_of_arguments = [arguments.get(id(leaf)) for leaf in tree_leaves(result)]
            if not tapes:
                result, logits = unwrap_result((result, logits))
            return result, logits, scope, inner

    def replay(
        self, values: Sequence[jax.Array], tape: TapeBase
    ) -> tuple[list[Value], list[Tensor]]:
        """Run again while `tape` records; return the inner inputs and the inner outputs."""
        result, logits, scope, inner = self._run(values, tapes=(tape,))
        leaves = tree_leaves(preserve_key_order((result, list(scope.locals.values()), logits)))
        return inner, [
            leaf for leaf in leaves if isinstance(leaf, Tensor) and is_differentiable(leaf._value)
        ]


def call_with_tensors(fn: AnyFunction) -> AnyFunction:
    """Return a function of arrays that calls `fn`, which is written for Tensors.

    For the bodies of loops and branches (`jax.lax.scan`, `cond`, ...). `fn` may read Variables but
    not assign them, because values leave a loop only as its results. JAX caches loop bodies by
    identity, so wrap the function again for every loop.

    Example:
        >>> import jax
        >>> jax.lax.map(podium.core.call_with_tensors(lambda x: x * 2), jnp.arange(3))
        Array([0, 2, 4], dtype=int32)
    """

    @functools.wraps(fn)
    def call(*args: Any) -> Tree:
        scope = VariableScope(parent=context.scope)
        with override(scope=scope, tapes=()):
            result = unwrap_result(fn(*wrap_result(args)))
        if scope.writes:
            names = ", ".join(repr(variable.path) for variable, _ in scope.writes.values())
            raise RuntimeError(
                f"The body of a loop or branch assigned {names}. Values leave it only as results. "
                "Carry the value as part of the loop's state, return it, and assign it after the "
                "loop. (Random draws assign their seed: draw before the loop, or pass an integer "
                "`seed=`.)"
            )
        return result

    return call


def dispatch_closure(fn: AnyFunction, /, *args: Any) -> Tree:
    """Like `dispatch`, for a function that calls user functions (see `call_with_tensors`).

    Tensors and Variables that those functions read by closure get gradients too.

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

    def body(*args: Any) -> Tree:
        return wrap_result(fn(*unwrap_result(args)))

    return record_call(body, args, {}, composite=False)
