"""The one point that every operation goes through.

`dispatch(fn, *args)` looks at its arguments and at the thread: a symbolic argument adds a Node to the
graph; an open tape that knows an argument gets an entry with the pullback; otherwise `fn` is just called.
`record_call` does the same for code that reads and writes Variables, such as a layer's call.
This file owns how entries are made; `_tape.py` owns what is done with them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import _errors
from podium.core._dtypes import is_differentiable
from podium.core._operators import Operators
from podium.core._state import Scope, current, setting
from podium.core._symbolic import KerasTensor, Node, is_symbolic, leaves_of, symbolic_outputs
from podium.core._tensor import Tensor, wrap
from podium.core._variable import Variable


def dispatch(fn: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """Run a pure JAX function on Podium values: computing, recording or building a graph.

    `fn` gets bare arrays wherever the arguments hold Tensors or Variables, at any depth; every other
    leaf reaches it unchanged. Arrays in the result come back as Tensors.

    Args:
        fn: A function of arrays without side effects.
        *args: Its arguments.
        **kwargs: Its named arguments.

    Returns:
        The result of `fn`, with Tensors for arrays (KerasTensors if an argument was symbolic).

    Example:
        >>> podium.core.dispatch(jnp.add, podium.Variable(1.0), 2.0)
        <podium.Tensor shape=(), dtype=float32, value=3.>
    """
    found: list[Any] = []
    raw_args = [_unwrap(arg, found) for arg in args]
    raw_kwargs = {key: _unwrap(value, found) for key, value in kwargs.items()} if kwargs else kwargs
    if any(type(value) is KerasTensor for value in found):
        return _add_node(fn, args, kwargs)
    if current.recorders and found and any(_tracked(value) for value in found):
        return _record(fn, args, kwargs)
    try:
        result = fn(*raw_args, **raw_kwargs)
    except (jax.errors.UnexpectedTracerError, ValueError) as error:
        raise _explained(error) from error
    return _wrapped(result, [v for v in found if type(v) is Variable])


Operators._dispatch = staticmethod(dispatch)


def lift(fn: Callable) -> Callable:
    """Make any JAX function safe on Podium values and visible to gradient tapes.

    Args:
        fn: A pure function of arrays, such as `jax.lax.erf_inv` or your own.

    Returns:
        A function of Tensors, Variables and symbolic values.

    Example:
        >>> import jax
        >>> x = podium.Variable([0.5, 2.0])
        >>> with podium.GradientTape() as tape:
        ...     y = podium.lift(jax.lax.rsqrt)(x)
        >>> tape.gradient(y, x).numpy().round(4)
        array([-1.4142, -0.1768], dtype=float32)
    """

    @functools.wraps(fn)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        return dispatch(fn, *args, **kwargs)

    return lifted


def _unwrap(value: Any, found: list[Any]) -> Any:
    """Replace Podium values by bare arrays, and list them in `found`."""
    kind = type(value)
    if kind is Tensor:
        found.append(value)
        return read_raw(value)
    if kind is Variable:
        found.append(value)
        return value.read_cast()
    if kind is KerasTensor:
        found.append(value)
        return value
    if kind is np.ndarray:
        _errors.check_numeric(value)
        return jnp.asarray(value)  # a copy: JAX may share memory with NumPy, and the caller may reuse it
    if kind is list:
        return [_unwrap(item, found) for item in value]
    if kind is tuple:
        return tuple(_unwrap(item, found) for item in value)
    if kind is dict:
        return {key: _unwrap(item, found) for key, item in value.items()}
    if isinstance(value, Variable):
        found.append(value)
        return value.read_cast()
    if isinstance(value, (tuple, list)) or hasattr(kind, "__dataclass_fields__"):
        return jax.tree.map(lambda leaf: _unwrap(leaf, found), value, is_leaf=_is_value)
    return value


def _is_value(value: Any) -> bool:
    return isinstance(value, Operators)


def _wrapped(result: Any, variables: Sequence[Variable] = ()) -> Any:
    """Wrap the arrays of a result as Tensors, unless the running layer asked for bare ones."""
    if isinstance(result, jax.Array):
        for variable in variables:
            if current.scope is None and variable.stored is result:
                result = jnp.array(result, copy=True)  # the Variable's own buffer may be donated later
        return result if current.arrays else wrap(result)
    if current.arrays:
        return result
    return jax.tree.map(lambda leaf: wrap(leaf) if isinstance(leaf, jax.Array) else leaf, result)


def unwrap_result(structure: Any) -> Any:
    """Replace Tensors and Variables in a result by bare arrays."""
    return _unwrap(structure, [])


def _explained(error: Exception) -> Exception:
    """Turn JAX's words for two common mistakes into ours; other errors pass unchanged."""
    if isinstance(error, jax.errors.UnexpectedTracerError):
        return _errors.LeakedValueError(_errors.LEAKED_VALUE)
    if "__jax_array__" in str(error):
        return TypeError(_errors.TENSOR_IN_LAX)
    return error


# --- symbolic: one more Node


def _add_node(fn: Callable, args: tuple, kwargs: dict) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        return unwrap_result(fn(*args, **kwargs))

    plain_args, plain_kwargs = jax.tree.map(
        lambda leaf: leaf if isinstance(leaf, KerasTensor) else _unwrap(leaf, []),
        (args, kwargs),
        is_leaf=_is_value,
    )
    name = getattr(fn, "__name__", "operation").strip("_")
    try:
        with setting(recorders=()):
            outputs = symbolic_outputs(run, plain_args, plain_kwargs)
    except (TypeError, ValueError) as error:
        shapes = ", ".join(str(v.shape) for v in leaves_of((args, kwargs)) if isinstance(v, KerasTensor))
        raise type(error)(f"`{name}` cannot take symbolic inputs of shape {shapes}: {error}") from error
    Node(lift(fn), args, kwargs, outputs)
    return outputs


def call_with_tensors(fn: Callable) -> Callable:
    """Let JAX call a Python function written for Tensors: arrays in and out, Tensors for `fn`.

    For the bodies of loops and branches (`jax.lax.scan`, `cond`, ...). `fn` may read Variables but not
    assign them: what happens inside a loop reaches the outside only as a result. JAX remembers loop bodies by
    identity, so make the wrapped function anew for every loop.

    Example:
        >>> import jax
        >>> jax.lax.map(podium.core.call_with_tensors(lambda x: x * 2), jnp.arange(3))
        Array([0, 2, 4], dtype=int32)
    """

    @functools.wraps(fn)
    def called(*args: Any) -> Any:
        scope = Scope(parent=current.scope)
        with setting(scope=scope, recorders=()):
            result = unwrap_result(fn(*_wrapped(args)))
        if scope.writes:
            names = ", ".join(repr(variable.path) for variable, _ in scope.writes.values())
            raise RuntimeError(
                f"The body of a loop or branch assigned {names}. State cannot leave it that way. Carry the value as "
                "part of the loop's state, return it, and assign it after the loop. (Random draws assign "
                "their seed: draw before the loop, or pass an integer `seed=`.)"
            )
        return result

    return called


def dispatch_closure(fn: Callable, /, *args: Any) -> Any:
    """Like `dispatch`, for a function that runs Python functions of the user's (see `call_with_tensors`).

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
        return _add_node(fn, args, {})

    def body(*args: Any) -> Any:
        return _wrapped(fn(*unwrap_result(args)))

    return record_call(body, args, {}, composite=False)


# --- recording: one more entry


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

    def __init__(self, pure: Callable, inputs: list, values: list, outputs: list, pull: Any, opened: Any = None):
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

    A Variable that was assigned a recorded Tensor stands for that Tensor on the tapes that recorded it, and for
    itself on others. Reading it gives a new Tensor that each tape connects to what it knows.
    """
    source = getattr(value, "source", None)
    if source is None or not _known_to_tapes(source):
        return value
    raw = read_raw(value)
    seen = wrap(raw)
    for tape in current.recorders:
        start = source if tape.tracks(source) else value
        if tape.recording and tape.tracks(start):
            tape.append(bridge(start, raw, seen))
    return seen


def _known_to_tapes(value: Any) -> bool:
    return any(tape.recording and tape.tracks(value) for tape in current.recorders)


def _tracked(value: Any) -> bool:
    if isinstance(value, KerasTensor):
        return False
    source = getattr(value, "source", None)
    return _known_to_tapes(value) or (source is not None and _known_to_tapes(source))


def _record(fn: Callable, args: tuple, kwargs: dict) -> Any:
    leaves, treedef = jax.tree.flatten((args, kwargs), is_leaf=_is_value)
    inputs, values, slots = [], [], []
    for slot, leaf in enumerate(leaves):
        if isinstance(leaf, (Tensor, Variable)):
            value = read_raw(leaf)
            if is_differentiable(value) and _tracked(leaf):
                inputs.append(node_of(leaf))
                values.append(value)
                slots.append((slot, leaf.cast_for_layer if isinstance(leaf, Variable) else None))
            leaves[slot] = leaf.cast_for_layer(value) if isinstance(leaf, Variable) else value
        else:
            leaves[slot] = _unwrap(leaf, [])
    layout = _Layout()

    def pure(*values: Any) -> tuple[list, list]:
        filled = list(leaves)
        for (slot, cast), value in zip(slots, values, strict=True):
            filled[slot] = cast(value) if cast is not None else value
        args, kwargs = jax.tree.unflatten(treedef, filled)
        return layout.split(fn(*args, **kwargs))

    entry, others = _run_entry(pure, inputs, values)
    _append(entry)
    return layout.join(entry.outputs, others)


def _run_entry(pure: Callable, inputs: list, values: list, opened: Any = None) -> tuple[Entry, list]:
    """Run `pure(*values)`, with its pullback if an open tape wants one; returns it as an Entry."""
    wanted = any(t.wants_pullback and t.recording and any(map(t.tracks, inputs)) for t in current.recorders)
    with setting(recorders=()):
        try:
            if wanted:
                outputs, pull, others = jax.vjp(pure, *values, has_aux=True)
            else:
                (outputs, others), pull = pure(*values), None
        except (jax.errors.UnexpectedTracerError, ValueError) as error:
            raise _explained(error) from error
    return Entry(pure, inputs, values, [wrap(output) for output in outputs], pull, opened), others


def _append(entry: Entry) -> None:
    """Hand an entry to every recording tape that tracks one of its inputs."""
    tapes = [tape for tape in current.recorders if tape.recording and any(map(tape.tracks, entry.inputs))]
    for tape in tapes if entry.outputs else ():
        tape.append(entry)


def enter(pure: Callable, inputs: list, values: list) -> Any:
    """Record a pure function of explicit values: how a gradient becomes a step of an outer tape."""
    layout = _Layout()
    entry, others = _run_entry(lambda *args: layout.split(pure(*args)), inputs, values)
    _append(entry)
    return layout.join(entry.outputs, others)


class _Layout:
    """Splits a result into leaves that carry gradients and others, and puts it together again."""

    def __init__(self) -> None:
        self.treedef: Any = None
        self.kinds: list[str] = []
        self.static: list[Any] = []

    def split(self, result: Any) -> tuple[list, list]:
        leaves, self.treedef = jax.tree.flatten(result)
        self.kinds = [_leaf_kind(leaf) for leaf in leaves]
        self.static = [leaf for leaf, kind in zip(leaves, self.kinds, strict=True) if kind == "static"]
        outputs = [leaf for leaf, kind in zip(leaves, self.kinds, strict=True) if kind == "output"]
        others = [leaf for leaf, kind in zip(leaves, self.kinds, strict=True) if kind == "other"]
        return outputs, others

    def join(self, outputs: list, others: list) -> Any:
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


# --- recording calls that read and write Variables


def record_call(
    body: Callable, args: tuple, kwargs: dict, variables: Sequence[Variable] = (), composite: bool = True
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
        composite: Whether it is made of other calls, so that opening it up can tell its outputs apart.

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
    if not any(tape.recording for tape in current.recorders):
        return body(*args, **kwargs)
    known = [variable for variable in variables if _tracked(variable)]
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
        self._leaves, self._treedef = jax.tree.flatten((args, kwargs), is_leaf=_is_value)
        self._slots = [
            slot
            for slot, leaf in enumerate(self._leaves)
            if isinstance(leaf, Tensor) and is_differentiable(leaf._value) and _tracked(leaf)
        ]
        self._values = [self._leaves[slot] for slot in self._slots] + known
        self._paused = tuple(tape for tape in current.recorders if tape.recording)
        self._parent = current.scope
        self._inherited: dict[str, Any] = {"autocast": current.autocast, "arrays": current.arrays}
        self._reads: dict[int, tuple] = {}  # what was read beside the inputs, so that it can run again
        self._scope = Scope()
        self._layout = _Layout()
        self.missed: list[Any] = []

    def record(self) -> Any:
        """Run as one entry. If Variables or Tensors turn up that are no inputs yet, nothing is recorded."""
        inputs = [node_of(value) for value in self._values]
        values = [read_raw(value) for value in self._values]

        def pure(*values: Any) -> tuple[list, list]:
            result, scope, _ = self._run(values, recorders=())
            self._scope = scope
            losses = [unwrap_result(value) for value in scope.locals.values()]
            outputs, others = self._layout.split((result, losses))
            return outputs, others + [value for _, value in scope.writes.values()]

        entry, others = _run_entry(pure, inputs, values, opened=self)
        if not self._reads:
            self._reads = self._scope.reads
        self.missed = [value for value, raw in self._scope.reads.values() if is_differentiable(raw) and _tracked(value)]
        if not self.missed:
            _append(entry)
        count = len(others) - len(self._scope.writes)
        return (*self._layout.join(entry.outputs, others[:count]), others[count:])

    def commit(self, joined: Any) -> Any:
        """Assign what the call wrote, and give its layers their losses as recorded Tensors."""
        result, losses, writes = joined
        for (variable, _), value in zip(self._scope.writes.values(), writes, strict=True):
            if current.scope is not None:
                current.scope.write(variable, value)
            else:
                variable.stored = value
            variable.source = None
        for local, value in zip(self._scope.locals, losses, strict=True):
            local.set(value)
        return result

    def _run(self, values: Sequence[Any], recorders: tuple) -> tuple[Any, Scope, list]:
        """Run the body with the given values of its inputs; returns result, scope and the inner inputs."""
        inputs = {id(v): (v, raw) for v, raw in zip(self._values, values, strict=True)}
        paused = () if recorders else self._paused
        scope = Scope(inputs, self._parent, dict(self._reads), paused)
        leaves = list(self._leaves)
        for slot, raw in zip(self._slots, values, strict=False):
            leaves[slot] = wrap(raw)
            leaves[slot]._keras_mask = self._leaves[slot]._keras_mask
        inner = [leaves[slot] for slot in self._slots] + self._values[len(self._slots) :]
        for tape in recorders:
            for value in inner:
                tape.watch(value)
        args, kwargs = jax.tree.unflatten(self._treedef, leaves)
        with setting(scope=scope, recorders=recorders, **self._inherited):
            result = self._body(*args, **kwargs)
            return (result if recorders else unwrap_result(result)), scope, inner

    def open(self, values: Sequence[Any], tape: Any) -> tuple[list, list]:
        """Run again with `tape` recording the inner steps; returns the inner inputs and inner outputs."""
        result, scope, inner = self._run(values, recorders=(tape,))
        leaves = leaves_of((result, list(scope.locals.values())))
        return inner, [leaf for leaf in leaves if isinstance(leaf, Tensor) and is_differentiable(leaf._value)]


def read_raw(value: Tensor | Variable) -> Any:
    """Return the bare array of a Tensor or Variable as the running trace sees it."""
    if isinstance(value, Variable):
        return value.read()
    scope = current.scope
    return value._value if scope is None or not scope.paused else scope.read_tensor(value)
