"""function: compiles a Python function that reads and writes Variables to one XLA program.

`Function` splits the arguments of a call into arrays, which are traced, and static arguments, and
has one `Program` per combination. `_program.py` owns compilation.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, cast, overload

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import AnyFunction, P, R, Tree, TreeDef
from podium.core._context import context, override
from podium.core._dispatch import unwrap_result
from podium.core._tree import preserve_key_order
from podium.core._validation import check_int_range, check_numeric
from podium.core.autodiff._stateful_call import record_call
from podium.core.compile._program import Program
from podium.core.compile._static_arguments import IdentityKey, static_key
from podium.core.compile._stream import (
    NeedMoreElements,
    Stream,
    StreamPlaceholder,
    TracedIterator,
    TraceSetting,
)
from podium.core.compile._tensor_spec import TensorSpec, symbolic_spec
from podium.core.compile._undo_on_error import undo_on_error
from podium.core.compile._variable_scope import VariableScope
from podium.core.compile._variable_store import state_lock
from podium.core.tensor._operators import Operators
from podium.core.tensor._symbolic import KerasTensor
from podium.core.tensor._tensor import Tensor, is_batch, wrap
from podium.core.tensor._variable import Variable


class _EagerMode:
    """Whether functions run as plain Python; an attribute, since each step of training reads it."""

    enabled = False


eager_mode = _EagerMode()


def is_tracing() -> bool:
    """Return whether the running code is traced, by `function`, `jax.jit` or the like."""
    return context.scope is not None or isinstance(jnp.zeros(()), jax.core.Tracer)


_MethodP = ParamSpec("_MethodP")
_array_types: set[type] = set()  # types of concrete arrays that were passed; never of tracers


@overload
def function(
    func: Callable[P, R],
    input_signature: Sequence[Any] | None = None,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    autograph: bool = True,
    **ignored: Any,
) -> Function[P, R]: ...


@overload
def function(
    func: None = None,
    input_signature: Sequence[Any] | None = None,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    autograph: bool = True,
    **ignored: Any,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...


def function(
    func: AnyFunction | None = None,
    input_signature: Sequence[Any] | None = None,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    autograph: bool = True,
    **ignored: Any,
) -> Function[..., Any] | Callable[[AnyFunction], Function[..., Any]]:
    """Compile a Python function that may read, write and (on its first call) create Variables.

    Arrays and Tensors among the arguments are traced: one program per shape and dtype. Python
    values (numbers, strings, None, any object) are constants: one program per value. Variables are
    found when the function uses them. The Python function runs when a program is traced, not on
    every call, so printing and appending to lists happen only then. Store state that changes in
    Variables, and return other results.

    Args:
        func: The function. Without it, `function(...)` is a decorator.
        input_signature: TensorSpecs for the positional arguments; a mismatch raises a TypeError.
        jit_compile: Accepted for TensorFlow's signature. Everything is compiled by XLA.
        reduce_retracing: Accepted for TensorFlow's signature.
        autograph: Accepted for TensorFlow's signature. Python control flow runs while tracing.
        **ignored: Other arguments of tf.function whose names start with `experimental_`.

    Returns:
        A `Function`: call it like the original.

    Raises:
        ValueError: Raised by a call that creates a new Variable every time.

    Example:
        >>> total = podium.Variable(0.0)
        >>> @podium.function
        ... def add(x):
        ...     return total.assign_add(podium.ops.sum(x))
        >>> float(add(np.ones(3, "float32"))), float(add(np.ones(3, "float32")))
        (3.0, 6.0)
        >>> add.trace_count
        1
    """
    unknown = [name for name in ignored if not name.startswith("experimental_")]
    if unknown:
        raise TypeError(f"function() was given the unknown arguments {unknown}.")

    def decorate(func: AnyFunction) -> Function[..., Any]:
        if not callable(func):
            raise TypeError(f"function() was given {func!r}; a callable was expected.")
        return Function(func, input_signature)

    return decorate if func is None else decorate(func)


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Set whether every `podium.function` runs as plain Python, for debugging.

    Example:
        >>> podium.run_functions_eagerly(True)
        >>> podium.functions_run_eagerly()
        True
        >>> podium.run_functions_eagerly(False)
    """
    eager_mode.enabled = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Return whether `run_functions_eagerly(True)` was called.

    Example:
        >>> podium.functions_run_eagerly()
        False
    """
    return eager_mode.enabled


class Function(Generic[P, R]):
    """A compiled function, as `podium.function` returns it.

    Args:
        python_function: The original function.
        input_signature: TensorSpecs for the positional arguments.

    Attributes:
        python_function: The original function.
        trace_count: The number of compiled programs.

    Example:
        >>> square = podium.function(lambda x: x * x)
        >>> float(square(podium.Tensor(3.0))), square.trace_count
        (9.0, 1)
    """

    def __init__(
        self, python_function: Callable[P, R], input_signature: Sequence[Any] | None = None
    ):
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        functools.update_wrapper(self, python_function)
        self._programs: dict[Any, Program] = {}
        # The same programs by shapes and dtypes alone, for calls with positional arrays only.
        self._programs_by_spec: dict[Any, Program] = {}
        self._bound: dict[int, Function[..., R]] = {}  # id of an instance -> its method
        self._warned = False
        self._owner: Function[..., R] | None = None  # of a bound method: the owner of the programs
        # The same function with elements as arguments instead of Streams.
        self._with_elements: Function[..., R] | None = None
        # Which arguments are Streams -> how many elements are read from each.
        self._num_elements: dict[Any, list[int]] = {}
        # The settings that were read while it was traced with elements.
        self._settings: list[TraceSetting] = []
        # During a trace: the Streams, and the additional elements that were read from them.
        self._traced_streams: tuple[list[Stream], list[list[Tree]]] = ([], [])

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Function[P, R]: ...

    @overload
    def __get__(
        self: Function[Concatenate[Any, _MethodP], R], instance: object, owner: type | None = None
    ) -> Function[_MethodP, R]: ...

    def __get__(self, instance: object, owner: type | None = None) -> Function[..., R]:
        """Bind like a method: each instance has separate programs."""
        if instance is None or isinstance(self.python_function, staticmethod):
            return self
        method = self._bound.get(id(instance))
        if method is None:
            method = self._bound[id(instance)] = Function(
                self._as_method(instance), self.input_signature
            )
        bound: Function[..., R] = Function.__new__(Function)
        # The same programs; the bound method keeps the instance alive.
        vars(bound).update(vars(method), _instance=instance, _owner=method)
        return bound

    def _as_method(self, instance: object) -> Callable[..., R]:
        """Return the original as a method of `instance` that does not keep the instance alive."""
        function: Callable[..., R] = self.python_function
        try:
            reference: Callable[[], Any] = weakref.ref(instance)
            weakref.finalize(instance, self._bound.pop, id(instance), None).atexit = False
        except TypeError:  # an instance with __slots__ does not support weak references

            def reference() -> Any:
                return instance

        @functools.wraps(function)
        def method(*args: Any, **kwargs: Any) -> R:
            return function(reference(), *args, **kwargs)

        with contextlib.suppress(TypeError, ValueError):
            signature = inspect.signature(function)
            parameters = list(signature.parameters.values())[1:]
            method.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return method

    @property
    def name(self) -> str:
        """The name of the original function."""
        function = self.python_function
        return str(getattr(function, "__name__", type(function).__name__))

    @property
    def trace_settings(self) -> tuple[TraceSetting, ...]:
        """The numbers that the function has read while it was traced with elements of Streams."""
        return tuple(self._settings)

    @property
    def trace_count(self) -> int:
        """The number of programs: one per combination of shapes, dtypes and static arguments."""
        with_elements = self._with_elements
        return len(self._programs) + (0 if with_elements is None else with_elements.trace_count)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs and not eager_mode.enabled and context.scope is None and not context.tapes:
            arrays: list[Any] = []
            key: list[Any] = []
            array: Any
            for array in args:
                if type(array) is Tensor:
                    if is_batch(array):
                        break
                    array = array._value
                if type(array) not in _array_types:
                    break
                arrays.append(array)
                key += (array.shape, array.dtype, array.weak_type)
            else:  # only arrays: the common case, without flattening a structure
                program = self._programs_by_spec.get(tuple(key))
                if program is not None:
                    return cast(R, program(arrays))
        return cast(R, self._call_with_structure(args, kwargs))

    def _call_with_structure(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tree:
        """Split all leaves of the arguments into arrays and constants, and run their program."""
        if eager_mode.enabled:
            # Steps before the end of the data are completed.
            with undo_on_error(keep_on=(StopIteration,)):
                return self.python_function(*args, **kwargs)
        leaves, treedef = jax.tree.flatten(
            (args, kwargs)
            if self.input_signature is not None
            else preserve_key_order((args, kwargs)),
            is_leaf=_is_leaf,
        )
        arrays: list[Any] = []
        signature: list[Any] = [treedef]
        is_traced = False
        for slot, leaf in enumerate(leaves):
            kind = type(leaf)
            mark: tuple[str, ...] = ()
            if kind is Tensor:
                mark = ("batch",) if is_batch(leaf) else ()
                leaf = leaf._value
            elif kind is np.ndarray or isinstance(leaf, np.generic):
                check_numeric(leaf, "argument")
                # A copy, so that the caller may reuse its buffer.
                leaf = jnp.asarray(check_int_range(leaf))
                leaves[slot] = wrap(leaf)
            elif isinstance(leaf, KerasTensor):
                return self.python_function(*args, **kwargs)
            elif isinstance(leaf, Stream):
                if context.scope is not None or context.tapes:
                    return record_call(self.python_function, args, kwargs)
                return cast(R, self._call_with_streams(leaves, treedef))
            elif not isinstance(leaf, jax.Array):
                signature.append(static_key(leaf))
                continue
            is_traced = is_traced or isinstance(leaf, jax.core.Tracer)
            arrays.append(leaf)
            signature.append((leaf.shape, leaf.dtype, leaf.weak_type, *mark))
        key = tuple(signature)
        program = self._programs.get(key)
        if program is None and self.input_signature is not None:
            self._check_signature(leaves)
        if is_traced or context.scope is not None or context.tapes:
            # Inside another trace or tape the Python function becomes part of that.
            args, kwargs = jax.tree.unflatten(treedef, leaves)
            return record_call(self.python_function, args, kwargs)
        if program is None:
            with self._record_compilation():
                program = self._create_program(key, leaves, treedef, arrays)
                result = program(arrays)  # XLA compiles it in the first call
        else:
            result = program(arrays)
        if len(arrays) == len(leaves) == len(args) and not kwargs:
            _array_types.update(map(type, arrays))
            self._programs_by_spec[tuple(part for spec in key[1:] for part in spec)] = program
        return result

    def _create_program(
        self, key: tuple[Any, ...], leaves: list[Any], treedef: TreeDef, arrays: list[Any]
    ) -> Program:
        """Return the program for a key; concurrent threads create one, and a layer's weights
        once.
        """
        with state_lock:
            program = self._programs.get(key)
            if program is None:
                program = Program(self.python_function, leaves, treedef)
                program.discover(arrays)
                self._add_program(key, program)
            return program

    def _record_compilation(self) -> contextlib.AbstractContextManager[object]:
        recorder = context.recorder
        return (
            contextlib.nullcontext() if recorder is None else recorder.record_compilation(self.name)
        )

    def trace(self, *args: Any, **kwargs: Any) -> tuple[Program, list[jax.Array]]:
        """Return the program that a call would run, without running it, and the arrays among its
        arguments, elements of Streams first.

        No Variable changes, and the program is not kept. Streams among the arguments are read for
        as many elements as the function reads.

        Example:
            >>> double = podium.function(lambda x: 2 * x)
            >>> program, arrays = double.trace(podium.Tensor(3.0))
            >>> len(arrays), double.trace_count
            (1, 0)
        """
        leaves, treedef = jax.tree.flatten(preserve_key_order((args, kwargs)), is_leaf=_is_leaf)
        if any(isinstance(leaf, Stream) for leaf in leaves):
            traced: tuple[Program, list[jax.Array]] = self._call_with_streams(
                leaves, treedef, is_run=False
            )
            return traced
        leaves = [
            wrap(jnp.asarray(check_int_range(np.asarray(leaf))))
            if isinstance(leaf, (np.ndarray, np.generic))
            else leaf
            for leaf in leaves
        ]
        arrays = [
            leaf._value if isinstance(leaf, Tensor) else leaf
            for leaf in leaves
            if isinstance(leaf, (Tensor, jax.Array))
        ]
        program = Program(self.python_function, leaves, treedef)
        with state_lock:
            program.discover(arrays)
        return program, arrays

    def _call_with_streams(self, leaves: list[Any], treedef: TreeDef, is_run: bool = True) -> Tree:
        """Read the elements that the function needs from its Streams, and run it compiled, or only
        trace it.

        If a Stream ends before that, the function runs eagerly on the remaining elements, and
        handles the end itself.
        """
        streams = [leaf for leaf in leaves if isinstance(leaf, Stream)]
        indices = iter(range(len(streams)))
        placeholders = [
            StreamPlaceholder(next(indices)) if isinstance(leaf, Stream) else leaf
            for leaf in leaves
        ]
        args, kwargs = jax.tree.unflatten(treedef, placeholders)
        key = (treedef, tuple(map(_stream_key, leaves)))
        elements: list[list[Tree]] = [[] for _ in streams]
        additional: list[list[Tree]] = [[] for _ in streams]
        if self._with_elements is None:
            self._with_elements = Function(self._run_with_elements)
        try:
            settings = self._current_settings()
            counts = self._num_elements.get((key, settings), [0] * len(streams))
            for stream, queue, count in zip(streams, elements, counts, strict=True):
                while len(queue) < count:
                    queue.append(stream.next_arrays())
            with state_lock:
                while True:
                    self._traced_streams = streams, additional
                    call = self._with_elements if is_run else self._with_elements.trace
                    try:
                        return call(elements, args, kwargs, settings)
                    except NeedMoreElements:
                        for queue, new_elements in zip(elements, additional, strict=True):
                            queue.extend(new_elements)
                            new_elements.clear()
                        settings = self._current_settings()
                        self._num_elements[key, settings] = [len(queue) for queue in elements]
                    finally:
                        self._traced_streams = [], []
        except StopIteration:
            for stream, queue, new_elements in zip(streams, elements, additional, strict=True):
                stream.unread(queue + new_elements)
        args, kwargs = jax.tree.unflatten(treedef, leaves)
        return self.python_function(*args, **kwargs)

    def _run_with_elements(
        self,
        elements: list[list[Tree]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        settings: tuple[int, ...],
    ) -> R:
        """Run the original function with a TracedIterator for each Stream; `settings` only
        distinguishes programs.
        """
        streams, additional = self._traced_streams
        iterators = list(map(TracedIterator, elements, streams, additional))

        def fill(leaf: object) -> object:
            return iterators[leaf.index] if isinstance(leaf, StreamPlaceholder) else leaf

        args, kwargs = jax.tree.map(fill, preserve_key_order((args, kwargs)), is_leaf=_is_leaf)
        with override(trace_settings=self._settings):
            result = self.python_function(*args, **kwargs)
        if any(additional):
            raise NeedMoreElements
        return result

    def _current_settings(self) -> tuple[int, ...]:
        return tuple(setting.current for setting in self._settings)

    def _add_program(self, key: tuple[Any, ...], program: Program) -> None:
        self._programs[key] = program
        for part in key:
            if isinstance(part, IdentityKey):
                owner = weakref.ref(self._owner or self)
                part.when_gone(functools.partial(_drop_program, owner, key))
        if len(self._programs) == 10 and not self._warned:
            self._warned = True
            warnings.warn(
                f"`{self.name}` has been compiled 10 times, once for each new shape, dtype or "
                "Python value among its arguments. Pad batches to one size, and pass numbers that "
                "change as arrays: `np.float32(0.1)` instead of `0.1`.",
                stacklevel=3,
            )

    def _check_signature(self, values: list[Any]) -> None:
        expected = jax.tree.leaves(
            self.input_signature, is_leaf=lambda s: isinstance(s, TensorSpec)
        )
        if len(expected) != len(values):
            raise TypeError(
                f"`{self.name}` was called with {len(values)} values; its input_signature has "
                f"{len(expected)}: {expected}."
            )
        for position, (spec, value) in enumerate(zip(expected, values, strict=True)):
            value = value if hasattr(value, "shape") else np.asarray(value)
            if not spec.accepts(value):
                raise TypeError(
                    f"Argument {position} of `{self.name}` has shape {tuple(value.shape)} and "
                    f"dtype {value.dtype}; its input_signature expects {spec}. Convert the value, "
                    "or relax the signature with None."
                )

    def export(
        self,
        *specs: Any,
        platforms: Sequence[str] | None = None,
        variables: Sequence[Variable] | None = None,
    ) -> jax.export.Exported:
        """Return the program in `jax.export` form, with symbolic dimensions for unknown sizes.

        The present values of Variables become constants of the result. The function must not write
        any.

        Args:
            *specs: TensorSpecs (or arrays) for the arguments; by default the `input_signature`. A
                size of None or a name such as "batch" is symbolic; equal names mean equal sizes.
            platforms: The platforms to compile for, such as ("cpu", "cuda"); by default the
                present one.
            variables: Variables that do not become constants: a list of their values is the first
                argument of the program.

        Example:
            >>> double = podium.function(lambda x: 2 * x)
            >>> exported = double.export(podium.TensorSpec(("batch", 3)))
            >>> exported.call(np.ones((5, 3), "float32")).shape
            (5, 3)
        """
        structure = specs or self.input_signature
        if structure is None:
            raise TypeError(f"`{self.name}`.export() needs TensorSpecs, or an input_signature.")
        symbols = jax.export.SymbolicScope()
        flat, treedef = jax.tree.flatten(structure, is_leaf=lambda s: isinstance(s, TensorSpec))
        shapes = [symbolic_spec(spec, index, symbols) for index, spec in enumerate(flat)]

        run: AnyFunction = self.python_function

        def pure(values: Sequence[Any], *args: Any) -> Tree:
            pairs = zip(variables or (), values, strict=True)
            scope = VariableScope({id(variable): (variable, value) for variable, value in pairs})
            with override(scope=scope, tapes=()):
                result = unwrap_result(run(*jax.tree.map(wrap, args)))
            if scope.writes:
                names = ", ".join(repr(variable.path) for variable, _ in scope.writes.values())
                raise ValueError(
                    f"`{self.name}` cannot be exported: it writes {names}, and an exported program "
                    "has no state. Export a function that only reads, such as a call with "
                    "`training=False`."
                )
            return result

        args = jax.tree.unflatten(treedef, shapes)
        if variables is None:
            return jax.export.export(jax.jit(lambda *a: pure((), *a)), platforms=platforms)(*args)
        values = [jax.ShapeDtypeStruct(variable.shape, variable.dtype) for variable in variables]
        return jax.export.export(jax.jit(pure), platforms=platforms)(values, *args)

    def __repr__(self) -> str:
        return f"<podium.Function {self.name}, {self.trace_count} programs>"


def _is_leaf(value: object) -> bool:
    # Iterators are leaves, so that `static_key` rejects them.
    return isinstance(value, Operators) or hasattr(type(value), "__next__")


def _stream_key(leaf: object) -> object:
    """Return what determines how many elements are read: the static arguments."""
    if isinstance(leaf, Stream):
        return "stream"
    is_array = isinstance(leaf, (Operators, jax.Array, np.ndarray, np.generic))
    return "array" if is_array else static_key(leaf)


def _drop_program(reference: weakref.ref[Function[..., Any]], key: tuple[Any, ...]) -> None:
    function = reference()
    if function is not None:  # a program with a static argument is in no other dictionary
        function._programs.pop(key, None)
