"""Program: one compiled form of a function, and the transaction of a step.

The Python function becomes a pure, jitted function: Variables that it writes are donated and
returned, Variables that it only reads are inputs. A first trace finds them. `_function.py` decides
when a Program is created; `_variable_scope.py` and `_variable_store.py` hold the state.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding

from podium._typing import AnyFunction, Tree, TreeDef
from podium.core import _errors
from podium.core._context import context, override
from podium.core._dispatch import unwrap_result
from podium.core._forked_process import ThisProcess, check_not_forked
from podium.core._jax_config import jax_config
from podium.core._metric_marks import MetricMarks
from podium.core._tree import preserve_key_order
from podium.core.compile._first_step import copy_state, may_exhaust_memory
from podium.core.compile._interrupts import defer_interrupts
from podium.core.compile._restore_on_error import find_top_trace, restore_on_error
from podium.core.compile._static_arguments import static_key, static_value
from podium.core.compile._variable_scope import VariableScope
from podium.core.compile._variable_store import VariableStore, state_lock, write_count
from podium.core.tensor._placement import (
    constrain_sharding,
    is_cpu,
    multiple_devices,
    place_for_program,
    wait_for_previous,
)
from podium.core.tensor._tensor import Tensor, is_batch, mark_batch, wrap
from podium.core.tensor._variable import Variable

if TYPE_CHECKING:
    import jax.extend.core

_Arrays: TypeAlias = list[jax.Array]
_StepResult: TypeAlias = tuple[_Arrays, _Arrays]  # the new state, and the arrays of the result

_MAX_TRACES = 10  # of one function that each use other Variables than the one before


class Program:
    """One compiled form of a function: fixed static arguments, fixed shapes, known Variables.

    Args:
        function: The Python function to run. It may read and write Variables.
        leaves: The leaves of its arguments; arrays among them are traced.
        treedef: The structure of the arguments.
        in_loop: Whether the program calls the function several times in one XLA loop. Every array
            then has a leading axis with one value for each iteration, and one more array has the
            number of iterations. Results have that axis too.
    """

    def __init__(
        self, function: AnyFunction, leaves: list[Any], treedef: TreeDef, in_loop: bool = False
    ):
        self._function = function
        self._in_loop = in_loop
        self._name = getattr(function, "__name__", "function")
        # Objects compared by identity are not kept alive; the program is dropped with them.
        self._leaves = [None if _is_traced(leaf) else static_key(leaf) for leaf in leaves]
        self._is_array = [_is_traced(leaf) for leaf in leaves]
        self._is_batch = [is_batch(leaf) for leaf in leaves]
        self._treedef = treedef
        self._written: list[Variable] = []
        self._read: list[Variable] = []
        self._store: VariableStore | None = None
        self._release_store: Callable[[], object] | None = None
        self._read_values: list[Any] = []
        self._read_version = -1
        self._jitted: AnyFunction = functools.partial(_raise_not_discovered, self._name)
        self._array_specs: list[jax.ShapeDtypeStruct] = []  # of its latest trace
        self._traced: jax.extend.core.ClosedJaxpr | None = None  # until it is compiled
        self._donates = True
        # The sharding of values without a placement, if Variables are on several devices.
        self._replicated: Sharding | None = None
        self._waits = False  # whether each step waits for the previous one
        self._has_run = False
        self._is_tracing = False
        self._out_treedef: TreeDef | None = None
        self._out_leaves: list[tuple[bool, Any]] = []  # is it an array? if not, the leaf itself
        self._out_specs: list[Any] = []
        self._returns_one_array = False
        self._epoch_outputs: list[int] = []  # the leaves of the result that metrics returned

    # --- the pure form

    def _run_function(
        self, variables: Sequence[Variable], scopes: list[VariableScope], *values: jax.Array
    ) -> list[jax.Array]:
        """Run the Python function on tracers.

        Args:
            variables: Variables that are inputs.
            scopes: The scope in which the function ran is appended to it.
            *values: The values of `variables`, then the arrays among the arguments.

        Returns:
            The arrays of the result, then the values that were written.
        """
        inputs = zip(variables, map(_gather_for_compute, variables, values), strict=False)
        scope = VariableScope({id(variable): (variable, value) for variable, value in inputs})
        scope.discovery_trace = find_top_trace(())
        scopes.append(scope)
        arrays = iter(values[len(variables) :])
        filled = [
            wrap(next(arrays)) if traced else static_value(leaf)
            for traced, leaf in zip(self._is_array, self._leaves, strict=True)
        ]
        for leaf in itertools.compress(filled, self._is_batch):
            mark_batch(leaf)
        args, kwargs = jax.tree.unflatten(self._treedef, filled)
        self._is_tracing = True
        try:
            # A step marks its own results; those of a step around this call are of another trace.
            marks = MetricMarks()
            with override(
                scope=scope, tapes=(), autocast_dtype=None, bare_arrays=False, metric_values=marks
            ):
                result = unwrap_result(self._function(*args, **kwargs))
        except jax.errors.UnexpectedTracerError as error:
            raise _errors.LeakedValueError(_errors.LEAKED_VALUE) from error
        except ValueError as error:
            if "__jax_array__" in str(error):
                raise TypeError(_errors.TENSOR_IN_LAX) from error
            raise
        finally:
            self._is_tracing = False
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
        marked = marks.array_ids()
        self._epoch_outputs = [index for index, leaf in enumerate(flat) if id(leaf) in marked]
        return outputs + [value for _, value in scope.writes.values()]

    def discover(self, arrays: Sequence[Any]) -> None:
        """Trace the function until the Variables that it reads, writes and creates are known.

        The first trace finds the Variables. The next one has them as inputs and is compiled, unless
        the function took another branch and used other Variables. Nothing is computed.

        Args:
            arrays: The arrays of a call; only their shapes and dtypes matter.
        """
        check_not_forked()
        self._array_specs = [
            jax.ShapeDtypeStruct(np.shape(array), jnp.result_type(array)) for array in arrays
        ]
        if self._in_loop:
            arrays = [jax.ShapeDtypeStruct(a.shape[1:], a.dtype) for a in arrays[:-1]]
        variables: list[Variable] = []
        written: list[Variable] = []
        created_ids: set[int] = set()  # of Variables that were created in earlier traces
        for attempt in range(_MAX_TRACES):
            scopes: list[VariableScope] = []
            body = functools.partial(self._run_function, variables, scopes)
            with restore_on_error():
                traced = jax.make_jaxpr(body)(*[variable.stored for variable in variables], *arrays)
            scope = scopes[-1]
            created = [variable for variable in scope.created if id(variable) not in created_ids]
            if attempt and created:
                names = ", ".join(repr(variable.path) for variable in created[:3])
                raise ValueError(_errors.VARIABLE_PER_CALL.format(function=self._name, names=names))
            created_ids.update(map(id, created))
            now_written = [variable for variable, _ in scope.writes.values()]
            touched = {
                key: variable for key, (variable, _) in scope.inputs.items() if key in scope.touched
            }
            touched |= {
                key: variable
                for key, (variable, _) in (*scope.reads.items(), *scope.writes.items())
            }
            is_same = _are_same(written, now_written)
            if attempt and is_same and touched.keys() == {id(variable) for variable in variables}:
                break
            written = now_written
            written_ids = {id(variable) for variable in written}
            variables = written + [
                variable for key, variable in touched.items() if key not in written_ids
            ]
        else:
            message = _errors.UNSTABLE_VARIABLES.format(function=self._name, count=_MAX_TRACES)
            raise ValueError(message)
        self._donates = not (_has_callback(traced.jaxpr) or jax_config.jax_debug_nans)
        self._out_specs = traced.out_avals[: len(traced.out_avals) - len(written)]
        self._traced = traced
        self._jit_for(written, variables[len(written) :])

    def _jit_for(self, written: list[Variable], read: list[Variable]) -> None:
        """Create the jitted function for these Variables."""
        self._written, self._read = written, read
        self._store, self._read_version, self._has_run = None, -1, False

        run = self.pure_step
        named = functools.wraps(run)(lambda *args: run(*args))
        named.__name__ = self._name
        placement = next(
            (
                variable.placement
                for variable in (*written, *read)
                if variable.placement is not None
            ),
            None,
        )
        self._replicated = None if placement is None else placement.replicated
        self._waits = placement is not None and is_cpu(placement.replicated)
        shardings: dict[str, Any] = {}
        if placement is not None:  # state is returned in the sharding in which it was passed
            replicated = placement.replicated
            results = None if replicated.is_fully_addressable else replicated
            state = [self._sharding_of(variable) for variable in written]
            shardings = {"out_shardings": (state, results)}
        self._jitted = jax.jit(named, donate_argnums=(0,) if self._donates else (), **shardings)

    def _sharding_of(self, variable: Variable) -> Sharding | None:
        return self._replicated if variable.placement is None else variable.placement.sharding

    def _place(self, variables: list[Variable], values: list[Any]) -> list[Any]:
        """Return values of Variables where this program takes them."""
        if not multiple_devices[0]:
            return values
        return [
            place_for_program(value, variable.placement, self._replicated)
            for variable, value in zip(variables, values, strict=True)
        ]

    def _pure_function(self) -> AnyFunction:
        """Return the function of all values: the trace, or the function when JAX traces again."""
        jaxpr, self._traced = self._traced, None
        if jaxpr is not None:
            return functools.partial(jax.core.eval_jaxpr, jaxpr.jaxpr, jaxpr.consts)

        def trace_again(*values: jax.Array) -> list[jax.Array]:
            scopes: list[VariableScope] = []
            results = self._run_function(self._written + self._read, scopes, *values)
            now_written = [variable for variable, _ in scopes[0].writes.values()]
            if scopes[0].reads or not _are_same(now_written, self._written):
                raise _VariablesChanged
            return results

        return trace_again

    @property
    def pure_step(self) -> Callable[[_Arrays, _Arrays, _Arrays], _StepResult]:
        """The step as a pure function of the values that it writes, those that it only reads (see
        `variables` and `written`) and the arrays of a call. It returns the values written, and the
        arrays of the result.
        """

        def run_step(written_values: _Arrays, read_values: _Arrays, arrays: _Arrays) -> _StepResult:
            results = self._pure_function()(*written_values, *read_values, *arrays)
            count = len(results) - len(self._written)
            return results[count:], results[:count]

        return self._run_loop if self._in_loop else run_step

    def _run_loop(
        self, written_values: _Arrays, read_values: _Arrays, arrays: _Arrays
    ) -> _StepResult:
        """Run several steps in one XLA loop; the last array has their number.

        The number of steps is not a constant, so that fewer steps (the end of an epoch) use the
        same program.
        """
        *stacked, num_steps = arrays
        pure = self._pure_function()
        outputs = [
            jnp.zeros((stacked[0].shape[0], *spec.shape), spec.dtype) for spec in self._out_specs
        ]

        def run_step(index: jax.Array, carry: _StepResult) -> _StepResult:
            written_values, outputs = carry
            inputs = [jax.lax.dynamic_index_in_dim(a, index, keepdims=False) for a in stacked]
            results = pure(*written_values, *read_values, *inputs)
            values, new_state = results[: len(outputs)], results[len(outputs) :]
            if self._replicated is not None:
                new_state = list(
                    map(constrain_sharding, new_state, map(self._sharding_of, self._written))
                )
            return new_state, [
                jax.lax.dynamic_update_index_in_dim(output, value.astype(output.dtype), index, 0)
                for output, value in zip(outputs, values, strict=True)
            ]

        result: _StepResult = jax.lax.fori_loop(0, num_steps, run_step, (written_values, outputs))
        return result

    # --- calling

    def __call__(self, arrays: _Arrays) -> Tree:
        return self.wrap_outputs(self.run(arrays))

    def wrap_outputs(self, outputs: _Arrays) -> Tree:
        """Return the result of the function, with Tensors, from the arrays that `run` returned."""
        if self._returns_one_array and not self._epoch_outputs:
            return wrap(outputs[0])
        remaining = iter(outputs)
        flat = [wrap(next(remaining)) if is_array else leaf for is_array, leaf in self._out_leaves]
        result = jax.tree.unflatten(self.structure, flat)
        if self._epoch_outputs and context.metric_values is not None:
            marked = {id(flat[index]._value) for index in self._epoch_outputs}
            context.metric_values.mark_leaves(result, marked)
        return result

    def run(self, arrays: Sequence[Any]) -> _Arrays:
        """Run one step and return the arrays of its result, which `structure` relates."""
        if ThisProcess.is_broken:  # without a call: this is part of every step
            check_not_forked()
        with state_lock:
            while True:
                try:
                    return self._run_transaction(arrays)
                except _VariablesChanged:  # the function took another branch
                    self.discover(arrays)
                except jax.errors.UnexpectedTracerError as error:
                    raise _errors.LeakedValueError(_errors.LEAKED_VALUE) from error

    def compile(self, arrays: Sequence[Any]) -> None:
        """Compile for arrays of these shapes and dtypes, without running a step.

        JAX caches the result, so the first step does not compile again.
        """
        with state_lock, restore_on_error():
            while True:
                written, read = (
                    self._place(variables, [variable.stored for variable in variables])
                    for variables in (self._written, self._read)
                )
                try:
                    self._compile_for(written, read, arrays)
                    return
                except _VariablesChanged:
                    self.discover(arrays)

    def _compile_for(self, *values: Any) -> Any:
        return self._jitted.lower(*values).compile()  # type: ignore[attr-defined]

    def memory_sizes(self) -> dict[str, int]:
        """Return how many bytes the compiled program needs, by purpose, as XLA plans them."""
        with state_lock, restore_on_error():
            written, read = (
                [jax.ShapeDtypeStruct(v.stored.shape, v.stored.dtype) for v in variables]
                for variables in (self._written, self._read)
            )
            analysis = self._compile_for(written, read, self._array_specs).memory_analysis()
        return {
            "weights, optimizer slots and the batch": analysis.argument_size_in_bytes,
            "results": analysis.output_size_in_bytes - analysis.alias_size_in_bytes,
            "intermediate values": analysis.temp_size_in_bytes,
        }

    @property
    def structure(self) -> TreeDef:
        """The structure of the result."""
        assert self._out_treedef is not None, "the program has not been traced"
        return self._out_treedef

    @property
    def variables(self) -> list[Variable]:
        """The Variables that it writes, then those that it only reads."""
        return self._written + self._read

    @property
    def written(self) -> list[Variable]:
        """The Variables that it writes."""
        return self._written

    @property
    def result_specs(self) -> Tree:
        """The shapes and dtypes of one step's result, in its structure."""
        return jax.tree.unflatten(self.structure, self._out_specs)

    def _run_transaction(self, arrays: Sequence[Any]) -> _Arrays:
        """Take the state, run one step and store the new state.

        Invariant: an interrupt never loses state. The result goes from XLA into `box` within one C
        call, so an interrupt occurs either before it (nothing has been donated) or after it (`box`
        has the new state, which `finally` stores). See tests/reliability.
        """
        store = self._store
        if store is None or not store.valid:
            store = self._claim_store()
        if self._read_version != write_count[0]:
            values = [variable.stored for variable in self._read]
            self._read_values = self._place(self._read, values)
        if context.undo is not None:  # an eager step calls this function
            context.undo.remember_store(store)
        if store.exposed:
            _copy_exposed(store)
        box: list[_StepResult] = []
        try:
            if self._has_run and self._donates:
                box.extend(map(self._jitted, (store.values,), (self._read_values,), (arrays,)))
            else:
                self._run_first_step(box, store, arrays)
        finally:
            if box:
                store.values, outputs = box[0]
                self._has_run = True
                if self._written:
                    write_count[0] += 1
                self._read_version = write_count[0]
        if self._waits:
            wait_for_previous(outputs or jax.block_until_ready(store.values)[:0])
        return outputs

    def _run_first_step(
        self, box: list[_StepResult], store: VariableStore, arrays: Sequence[Any]
    ) -> None:
        """Run a step on JAX's slower Python path, where an interrupt could occur between donation
        and result; interrupts are deferred.
        """
        with restore_on_error(), defer_interrupts(unless=lambda: self._is_tracing):
            values = store.values
            compile_step = functools.partial(self._compile_for, values, self._read_values, arrays)
            keeps_state = self._donates and may_exhaust_memory(values, compile_step)
            if keeps_state:
                store.values = copy_state(values)
            result = self._jitted(values, self._read_values, arrays)
            # A callback or an allocation that fails must raise before the state changes.
            if keeps_state or not self._donates:
                result = jax.block_until_ready(result)
            box.append(result)

    def _claim_store(self) -> VariableStore:
        if self._store is None or not self._store.valid:
            if self._release_store is not None:
                self._release_store()
            self._store = VariableStore.for_variables(self._written)
            self._release_store = self._store.add_user(self)
            self._store.values = self._place(self._written, self._store.values)
        return self._store


def _raise_not_discovered(name: str, *_: object) -> NoReturn:
    raise RuntimeError(f"The program of `{name}` was called before its Variables were discovered.")


def _copy_exposed(store: VariableStore) -> None:
    for slot in store.exposed:
        store.values[slot] = jnp.array(store.values[slot], copy=True)
    store.exposed.clear()


def _gather_for_compute(variable: Variable, value: jax.Array) -> jax.Array:
    """Return a Variable's value in the sharding in which steps compute with it."""
    if variable.placement is None:
        return value
    return constrain_sharding(value, variable.placement.compute_sharding)


def _are_same(left: list[Variable], right: list[Variable]) -> bool:
    return len(left) == len(right) and all(map(operator.is_, left, right))


def _is_traced(leaf: object) -> bool:
    return isinstance(leaf, (Tensor, jax.Array, np.ndarray, np.generic))


class _VariablesChanged(Exception):
    """A new trace used other Variables than the program has; they must be discovered again."""


def _has_callback(jaxpr: Any) -> bool:
    """Return whether a program calls back into Python, which can raise while it runs."""
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
