"""Program: one compiled form of a function, and the transaction of a step.

The Python body becomes a pure, jitted function: Variables it writes are donated and come back as
outputs, Variables it only reads go in. Which those are is found out by tracing the body once
before. `_function.py` decides when a Program is made; scopes and stores are in `_context.py`.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import signal
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import _errors
from podium.core._context import override
from podium.core._dispatch import unwrap_result
from podium.core._tree import preserve_key_order
from podium.core.compile._restore_on_error import restore_on_error
from podium.core.compile._variable_scope import VariableScope
from podium.core.compile._variable_store import VariableStore, state_lock, write_count
from podium.core.tensor._placement import (
    constrained,
    fitted,
    is_cpu,
    several_devices,
    wait_for_previous,
)
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable

_MANY_TRACES = 10  # of one body, each with other Variables than the one before: time to give up


class Program:
    """One compiled form of a function: fixed static arguments, fixed shapes, known Variables.

    Args:
        function: The Python function to run. It may read and write Variables.
        leaves: Its arguments' leaves; arrays among them are traced.
        treedef: How the leaves make the arguments.
        in_loop: Whether the program runs the body several times in one XLA loop: every array then
            is a row of values, one for each turn, and one more array says how many turns to take.
            Results are rows too.
    """

    def __init__(
        self, function: Callable[..., Any], leaves: list, treedef: Any, in_loop: bool = False
    ):
        self._function = function
        self._in_loop = in_loop
        self._name = getattr(function, "__name__", "function")
        # Objects compared by identity are not kept alive; a program dies with them.
        self._leaves = [None if _is_traced(leaf) else static_key(leaf) for leaf in leaves]
        self._is_array = [_is_traced(leaf) for leaf in leaves]
        self._treedef = treedef
        self._written: list[Variable] = []
        self._read: list[Variable] = []
        self._store: VariableStore | None = None
        self._leave_store: Callable | None = None
        self._read_values: list[Any] = []
        self._read_version = -1
        self._jitted: Callable = self._not_discovered
        self._traced: Any = None  # the jaxpr of the body, until it is compiled
        self._donates = True
        self._everywhere: Any = (
            None  # the sharding of what has none of its own, if Variables lie on several devices
        )
        self._waits = False
        self._ran = False
        self._tracing = False
        self._out_treedef: Any = None
        self._out_leaves: list[tuple[bool, Any]] = []  # is it an array? if not, the leaf itself
        self._out_types: list[Any] = []
        self._returns_one_array = False

    # --- the pure form

    def _not_discovered(self, *_: Any) -> Any:
        raise RuntimeError(
            f"The program of `{self._name}` was called before its Variables were found."
        )

    def _body(
        self, variables: Sequence[Variable], scopes: list[VariableScope], *values: Any
    ) -> list[Any]:
        """Run the Python function on tracers: values of `variables`, then arrays.

        Adds the scope in which it ran to `scopes`; returns the arrays of the result, then the
        values of what was written.
        """
        given = zip(variables, map(_for_computing, variables, values), strict=False)
        scope = VariableScope({id(variable): (variable, value) for variable, value in given})
        scope.discovers = True
        scopes.append(scope)
        found = iter(values[len(variables) :])
        filled = [
            wrap(next(found)) if traced else static_value(leaf)
            for traced, leaf in zip(self._is_array, self._leaves, strict=True)
        ]
        args, kwargs = jax.tree.unflatten(self._treedef, filled)
        self._tracing = True
        try:
            with override(scope=scope, tapes=(), autocast_dtype=None, bare_arrays=False):
                result = unwrap_result(self._function(*args, **kwargs))
        except jax.errors.UnexpectedTracerError as error:
            raise _errors.LeakedValueError(_errors.LEAKED_VALUE) from error
        except ValueError as error:
            if "__jax_array__" in str(error):
                raise TypeError(_errors.TENSOR_IN_LAX) from error
            raise
        finally:
            self._tracing = False
            for variable, _ in (
                *scope.writes.values(),
                *scope.reads.values(),
                *scope.inputs.values(),
            ):
                variable.source = None  # a tracer must not outlive its trace
        flat, self._out_treedef = jax.tree.flatten(preserve_key_order(result))
        self._out_leaves = [
            (True, None) if isinstance(leaf, jax.Array) else (False, leaf) for leaf in flat
        ]
        self._returns_one_array = isinstance(result, jax.Array)
        outputs = [leaf for leaf in flat if isinstance(leaf, jax.Array)]
        return outputs + [value for _, value in scope.writes.values()]

    def discover(self, arrays: Sequence[Any]) -> None:
        """Trace the body until the Variables that it reads, writes and creates are known.

        The first trace finds the Variables by use. The next one has them as inputs, and is what
        gets compiled, unless the body took another branch and used other Variables. Nothing is
        computed.

        Args:
            arrays: The arrays of a call; only their shapes and dtypes matter.
        """
        if self._in_loop:
            arrays = [jax.ShapeDtypeStruct(row.shape[1:], row.dtype) for row in arrays[:-1]]
        variables: list[Variable] = []
        written: list[Variable] = []
        known: set[int] = set()  # Variables that earlier traces made
        for attempt in range(_MANY_TRACES):
            scopes: list[VariableScope] = []
            body = functools.partial(self._body, variables, scopes)
            with restore_on_error():
                traced = jax.make_jaxpr(body)(*[variable.stored for variable in variables], *arrays)
            scope = scopes[-1]
            made = [variable for variable in scope.created if id(variable) not in known]
            if attempt and made:
                names = ", ".join(repr(variable.path) for variable in made[:3])
                raise ValueError(_errors.VARIABLE_PER_CALL.format(function=self._name, names=names))
            known.update(map(id, made))
            now_written = [variable for variable, _ in scope.writes.values()]
            touched = {
                key: variable for key, (variable, _) in scope.inputs.items() if key in scope.touched
            }
            touched |= {
                key: variable
                for key, (variable, _) in (*scope.reads.items(), *scope.writes.items())
            }
            same = len(written) == len(now_written) and all(map(operator.is_, written, now_written))
            if attempt and same and touched.keys() == {id(variable) for variable in variables}:
                break
            written = now_written
            taken = {id(variable) for variable in written}
            variables = written + [
                variable for key, variable in touched.items() if key not in taken
            ]
        else:
            raise ValueError(_errors.UNSTABLE_VARIABLES.format(function=self._name, count=_MANY_TRACES))
        self._donates = not (_has_callback(traced.jaxpr) or jax.config.jax_debug_nans)  # type: ignore[attr-defined]
        self._out_types = traced.out_avals[: len(traced.out_avals) - len(written)]
        self._traced = traced
        self._take_variables(written, variables[len(written) :])

    def _take_variables(self, written: list[Variable], read: list[Variable]) -> None:
        """Make the jitted function for these Variables."""
        self._written, self._read = written, read
        self._store, self._read_version, self._ran = None, -1, False

        def step(written_values: list, read_values: list, arrays: list) -> tuple[list, list]:
            results = self._pure()(*written_values, *read_values, *arrays)
            count = len(results) - len(self._written)
            return results[count:], results[:count]

        repeated = self._repeated if self._in_loop else step
        named = functools.wraps(repeated)(lambda *args: repeated(*args))
        named.__name__ = self._name
        placed = next(
            (
                variable.placement
                for variable in (*written, *read)
                if variable.placement is not None
            ),
            None,
        )
        self._everywhere = None if placed is None else placed.everywhere
        self._waits = placed is not None and is_cpu(placed.everywhere)
        spread: dict[str, Any] = {}
        if placed is not None:  # state comes out as it went in, whatever XLA would like
            results = None if placed.everywhere.is_fully_addressable else placed.everywhere
            spread = {
                "out_shardings": ([self._sharding_of(variable) for variable in written], results)
            }
        self._jitted = jax.jit(named, donate_argnums=(0,) if self._donates else (), **spread)

    def _sharding_of(self, variable: Variable) -> Any:
        return self._everywhere if variable.placement is None else variable.placement.sharding

    def _fitted(self, variables: list[Variable], values: list) -> list:
        """Return values of Variables where this program wants them."""
        if not several_devices[0]:
            return values
        places = [variable.placement for variable in variables]
        return [
            fitted(value, place, self._everywhere)
            for value, place in zip(values, places, strict=True)
        ]

    def _pure(self) -> Callable:
        """Return the body as a function of all values: as it was traced, or, when JAX traces once
        more, by running it.
        """
        jaxpr, self._traced = self._traced, None
        if jaxpr is not None:
            return functools.partial(jax.core.eval_jaxpr, jaxpr.jaxpr, jaxpr.consts)

        def again(*values: Any) -> list[Any]:
            scopes: list[VariableScope] = []
            results = self._body(self._written + self._read, scopes, *values)
            wrote = [variable for variable, _ in scopes[0].writes.values()]
            if (
                scopes[0].reads
                or len(wrote) != len(self._written)
                or not all(map(operator.is_, wrote, self._written))
            ):
                raise _OtherVariables
            return results

        return again

    def _repeated(self, written_values: list, read_values: list, arrays: list) -> tuple[list, list]:
        """Step through a row of inputs: as many turns of one XLA loop as the last array says.

        The number of turns is no constant, so that a short row (the end of an epoch) needs no
        program of its own.
        """
        *rows, turns = arrays
        pure = self._pure()
        outputs = [
            jnp.zeros((rows[0].shape[0], *kind.shape), kind.dtype) for kind in self._out_types
        ]

        def turn(index: Any, carry: tuple) -> tuple:
            written_values, outputs = carry
            own = [jax.lax.dynamic_index_in_dim(row, index, keepdims=False) for row in rows]
            results = pure(*written_values, *read_values, *own)
            if self._everywhere is not None:
                new = zip(
                    results[len(outputs) :], map(self._sharding_of, self._written), strict=True
                )
                results = [
                    *results[: len(outputs)],
                    *[constrained(value, sharding) for value, sharding in new],
                ]
            return results[len(outputs) :], [
                jax.lax.dynamic_update_index_in_dim(row, value.astype(row.dtype), index, 0)
                for row, value in zip(outputs, results, strict=False)
            ]

        return jax.lax.fori_loop(0, turns, turn, (written_values, outputs))

    # --- calling

    def __call__(self, arrays: list) -> Any:
        outputs = self.run(arrays)
        if self._returns_one_array:
            return wrap(outputs[0])
        found = iter(outputs)
        flat = [wrap(next(found)) if is_array else leaf for is_array, leaf in self._out_leaves]
        return jax.tree.unflatten(self._out_treedef, flat)

    def run(self, arrays: list) -> list:
        """Take one step and return the bare arrays of its result; `structure` says how they belong
        together.
        """
        with state_lock:
            while True:
                try:
                    return self._step(arrays)
                except _OtherVariables:  # the body took another way than when it was looked at
                    self.discover(arrays)
                except jax.errors.UnexpectedTracerError as error:
                    raise _errors.LeakedValueError(_errors.LEAKED_VALUE) from error

    def compile(self, arrays: list) -> None:
        """Compile what has been discovered, for arrays of these shapes and types, without taking a
        step.

        JAX keeps what it compiled ahead, so the first step finds it.
        """
        with state_lock, restore_on_error():
            while True:
                some = (self._written, self._read)
                written, read = (
                    self._fitted(each, [variable.stored for variable in each]) for each in some
                )
                try:
                    self._jitted.lower(written, read, arrays).compile()  # type: ignore[attr-defined]
                    return
                except _OtherVariables:
                    self.discover(arrays)

    @property
    def structure(self) -> Any:
        """How the result's leaves belong together, as a JAX tree definition."""
        return self._out_treedef

    @property
    def variables(self) -> list[Variable]:
        """What it writes and reads."""
        return self._written + self._read

    @property
    def result_types(self) -> Any:
        """The shapes and types of the result, in its structure; of one turn's result if there are
        several.
        """
        return jax.tree.unflatten(self._out_treedef, self._out_types)

    def _step(self, arrays: list) -> list:
        """Take state, compute, put state back: nothing between can lose it.

        The result goes straight from XLA into `box`, within one C call. An interrupt can come
        before (nothing donated yet) or after it (`box` holds the new state, and `finally` keeps
        it), never between.
        """
        store = self._store
        if store is None or not store.valid:
            store = self._claimed_store()
        if self._read_version != write_count[0]:
            self._read_values = self._fitted(
                self._read, [variable.stored for variable in self._read]
            )
        if store.exposed:
            self._copy_exposed(store)
        box: list[Any] = []
        try:
            if self._ran and self._donates:
                box.extend(map(self._jitted, (store.values,), (self._read_values,), (arrays,)))
            else:
                self._first_step(box, store.values, arrays)
        finally:
            if box:
                store.values, outputs = box[0]
                self._ran = True
                if self._written:
                    write_count[0] += 1
                self._read_version = write_count[0]
        if self._waits:
            wait_for_previous(outputs or jax.block_until_ready(store.values)[:0])
        return outputs

    def _first_step(self, box: list, values: list, arrays: list) -> None:
        """Step through JAX's slower Python path, where an interrupt could fall between donation and
        result.
        """
        with restore_on_error(), _interrupts_deferred(unless=lambda: self._tracing):
            made = self._jitted(values, self._read_values, arrays)
            if not self._donates:
                made = jax.block_until_ready(
                    made
                )  # a failing callback must show before state changes
            box.append(made)

    def _claimed_store(self) -> VariableStore:
        if self._store is None or not self._store.valid:
            if self._leave_store is not None:
                self._leave_store()
            self._store = VariableStore.of(self._written)
            self._leave_store = self._store.hold(self)
            self._store.values = self._fitted(self._written, self._store.values)
        return self._store

    @staticmethod
    def _copy_exposed(store: VariableStore) -> None:
        for slot in store.exposed:
            store.values[slot] = jnp.array(store.values[slot], copy=True)
        store.exposed.clear()


def _for_computing(variable: Variable, value: Any) -> Any:
    """Return a Variable's value as steps read it: one that lies in parts may have to be
    gathered.
    """
    return value if variable.placement is None else constrained(value, variable.placement.gathered)


def _is_traced(leaf: Any) -> bool:
    return isinstance(leaf, (Tensor, jax.Array, np.ndarray, np.generic))


class _OtherVariables(Exception):
    """Tracing once more met other Variables than the program carries; they are looked for again."""


def _has_callback(jaxpr: Any) -> bool:
    """Tell whether a program calls back into Python, which can raise in the middle of it."""
    for equation in jaxpr.eqns:
        if "callback" in equation.primitive.name:
            return True
        for parameter in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda p: hasattr(p, "eqns")
        ):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns") and _has_callback(inner):
                return True
    return False


@contextlib.contextmanager
def _interrupts_deferred(unless: Callable[[], bool]) -> Iterator[None]:
    """Hold Ctrl-C back for the length of the block, except while `unless()` says it may strike."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):
        yield
        return
    held: list[tuple] = []

    def hold(number: int, frame: Any) -> None:
        if unless():
            before(number, frame)
        else:
            held.append((number, frame))

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])


class ByIdentity:
    """A key for an object that is compared by identity; it does not keep the object alive."""

    def __init__(self, target: Any):
        self._id = id(target)
        self._reference = weakref.ref(target)
        self._type = type(target)

    @property
    def target(self) -> Any:
        return self._reference()

    def when_gone(self, callback: Callable[[], None]) -> None:
        target = self._reference()
        if target is not None:
            weakref.finalize(target, callback).atexit = False

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self._id == other._id


def static_key(leaf: Any) -> Any:
    """Return what tells static arguments apart: type and value for plain ones, identity for
    objects.
    """
    if isinstance(leaf, float) and leaf != leaf:
        leaf = math.nan  # always the same one, which equals itself as part of a key
    if isinstance(leaf, (float, complex)):
        return (type(leaf), leaf, repr(leaf))  # tells 0.0 from -0.0
    if isinstance(leaf, (bool, int, str, bytes, type(None))):
        return (type(leaf), leaf)
    if isinstance(leaf, Iterator):
        raise TypeError(
            f"A compiled function was given a {type(leaf).__name__}, which can be read only once, "
            "while its body runs more than once to compile it and not at all afterwards. Pass the "
            "values: `list(values)`, or one batch per call."
        )
    if type(leaf).__hash__ is object.__hash__ or type(leaf).__hash__ is None:
        try:
            return ByIdentity(leaf)
        except TypeError as error:
            raise TypeError(
                f"A compiled function was given {leaf!r} of type {type(leaf).__name__}, which can "
                "neither be traced nor remembered as a constant. Pass arrays, plain Python values "
                "or objects of ordinary classes."
            ) from error
    return (type(leaf), leaf)


def static_value(key: Any) -> Any:
    return key.target if isinstance(key, ByIdentity) else key[1]
