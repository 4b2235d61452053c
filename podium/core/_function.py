"""function: a Python function that reads and writes Variables, compiled to one XLA program.

`Function` sorts a call's arguments into arrays (traced) and everything else (static), and keeps one
`Program` per combination. A Program is the pure, jitted form: Variables it writes are donated and come
back as outputs, Variables it only reads go in. Which Variables those are is found out by running the body
once without computing. This file owns compilation and the step's transaction; scopes are in `_state.py`.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core import _errors
from podium.core._dispatch import record_call, unwrap_result
from podium.core._dtypes import standardize_dtype
from podium.core._operators import Operators
from podium.core._state import Scope, Store, current, lock, setting, writes
from podium.core._symbolic import KerasTensor
from podium.core._tensor import Tensor, wrap
from podium.core._variable import Variable

_run_eagerly = [False]
_array_types: set[type] = set()  # the types of real arrays met so far; tracers are never among them


class TensorSpec:
    """What a compiled function accepts in one place: shape, type and a name.

    Args:
        shape: Lengths; None (or a name such as "batch") for any length.
        dtype: The type, float32 by default.
        name: A name for messages.

    Example:
        >>> podium.TensorSpec((None, 3), "float32")
        TensorSpec(shape=(None, 3), dtype=float32)
    """

    def __init__(self, shape: Sequence[int | str | None], dtype: Any = "float32", name: str | None = None):
        self.shape = tuple(shape)
        self.dtype = jnp.dtype(standardize_dtype(dtype))
        self.name = name

    def accepts(self, value: Any) -> bool:
        """Tell whether an array has a shape and type that fit."""
        same_rank = len(value.shape) == len(self.shape)
        return same_rank and value.dtype == self.dtype and all(
            not isinstance(want, int) or want == have for want, have in zip(self.shape, value.shape, strict=True)
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype.name})"


def function(
    func: Callable | None = None,
    input_signature: Sequence[Any] | None = None,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    autograph: bool = True,
    **ignored: Any,
) -> Any:
    """Compile a Python function that may read, write and (on its first call) make Variables.

    Arrays and Tensors among the arguments are traced: one program per shape and type. Python values
    (numbers, strings, None, any object) are constants: one program per value. Variables are found by
    use, wherever they are kept. The Python body runs when a program is made, not on every call: printing
    and appending to lists happen then only. Keep what must change in Variables, and return the rest.

    Args:
        func: The function. Without it, `function(...)` is a decorator.
        input_signature: TensorSpecs for the positional arguments; calls that do not fit are refused.
        jit_compile: Accepted for TensorFlow's signature. Everything is compiled by XLA.
        reduce_retracing: Accepted for TensorFlow's signature.
        autograph: Accepted for TensorFlow's signature. Python control flow runs while tracing.
        **ignored: Other arguments of tf.function whose names start with `experimental_`.

    Returns:
        A `Function`: call it like the original.

    Raises:
        ValueError: From a call whose body makes a new Variable every time.

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
        raise TypeError(f"function() does not know the arguments {unknown}.")

    def decorate(func: Callable) -> Function:
        if not callable(func):
            raise TypeError(f"function() was given {func!r}; a callable was expected.")
        return Function(func, input_signature)

    return decorate if func is None else decorate(func)


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run every `podium.function` as plain Python, for debugging, or compile again.

    Example:
        >>> podium.run_functions_eagerly(True)
        >>> podium.functions_run_eagerly()
        True
        >>> podium.run_functions_eagerly(False)
    """
    _run_eagerly[0] = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Tell whether `run_functions_eagerly(True)` is in force.

    Example:
        >>> podium.functions_run_eagerly()
        False
    """
    return _run_eagerly[0]


class Function:
    """A compiled function; made by `podium.function`.

    Attributes:
        python_function: The original.
        trace_count: How many programs have been made.

    Example:
        >>> square = podium.function(lambda x: x * x)
        >>> float(square(podium.Tensor(3.0))), square.trace_count
        (9.0, 1)
    """

    def __init__(self, python_function: Callable, input_signature: Sequence[Any] | None = None):
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        functools.update_wrapper(self, python_function)
        self._programs: dict[Any, Program] = {}
        self._plain_programs: dict[Any, Program] = {}  # the same, for calls with positional arrays only
        self._bound: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._warned = False

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a method: each instance gets programs of its own."""
        if instance is None:
            return self
        if instance not in self._bound:
            reference = weakref.ref(instance)  # the cache must not keep the instance alive

            @functools.wraps(self.python_function)
            def method(*args: Any, **kwargs: Any) -> Any:
                return self.python_function(reference(), *args, **kwargs)

            self._bound[instance] = Function(method, self.input_signature)
        return self._bound[instance]

    @property
    def name(self) -> str:
        """The name of the original."""
        return getattr(self.python_function, "__name__", type(self.python_function).__name__)

    @property
    def trace_count(self) -> int:
        """The number of compiled programs: one per combination of shapes, types and static arguments."""
        return len(self._programs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and not _run_eagerly[0] and current.scope is None and not current.recorders:
            arrays, key = [], []
            for arg in args:
                if type(arg) is Tensor:
                    arg = arg._value
                if type(arg) not in _array_types:
                    break
                arrays.append(arg)
                key += (arg.shape, arg.dtype, arg.weak_type)
            else:  # nothing but arrays: the common case, without flattening a structure
                program = self._plain_programs.get(tuple(key))
                if program is not None:
                    return program(arrays)
        return self._call_with_structure(args, kwargs)

    def _call_with_structure(self, args: tuple, kwargs: dict) -> Any:
        """Sort all leaves of the arguments into arrays and constants, and find or make their program."""
        if _run_eagerly[0]:
            return self.python_function(*args, **kwargs)
        leaves, treedef = jax.tree.flatten((args, kwargs), is_leaf=_is_value)
        arrays: list[Any] = []
        signature: list[Any] = [treedef]
        traced = False
        for slot, leaf in enumerate(leaves):
            kind = type(leaf)
            if kind is Tensor:
                leaf = leaf._value
            elif kind is np.ndarray or isinstance(leaf, np.generic):
                _errors.check_numeric(leaf, "argument")
                leaf = jnp.asarray(leaf)  # a copy, so that the caller may reuse its buffer
                leaves[slot] = wrap(leaf)
            elif isinstance(leaf, KerasTensor):
                return self.python_function(*args, **kwargs)
            elif not isinstance(leaf, jax.Array):
                signature.append(_static_key(leaf))
                continue
            traced = traced or isinstance(leaf, jax.core.Tracer)
            arrays.append(leaf)
            signature.append((leaf.shape, leaf.dtype, leaf.weak_type))
        key = tuple(signature)
        program = self._programs.get(key)
        if program is None and self.input_signature is not None:
            self._check_signature(leaves)
        if traced or current.scope is not None or current.recorders:
            # Within a surrounding trace or tape the Python body becomes part of that.
            args, kwargs = jax.tree.unflatten(treedef, leaves)
            return record_call(self.python_function, args, kwargs)
        if program is None:
            program = Program(self.python_function, leaves, treedef)
            program.discover(arrays)
            self._remember(key, program)
        if len(arrays) == len(leaves) == len(args) and not kwargs:
            _array_types.update(map(type, arrays))
            self._plain_programs[tuple(part for spec in key[1:] for part in spec)] = program
        return program(arrays)

    def _remember(self, key: tuple, program: Program) -> None:
        self._programs[key] = program
        for part in key:
            if isinstance(part, _ByIdentity):
                part.when_gone(functools.partial(_drop, weakref.ref(self), key))
        if len(self._programs) == 10 and not self._warned:
            self._warned = True
            warnings.warn(
                f"`{self.name}` has been compiled 10 times, once for each new shape, type or Python value among its "
                "arguments. Pad batches to one size, and pass numbers that change as arrays: `np.float32(0.1)` instead of `0.1`.",
                stacklevel=3,
            )

    def _check_signature(self, given: list) -> None:
        expected = jax.tree.leaves(self.input_signature, is_leaf=lambda s: isinstance(s, TensorSpec))
        if len(expected) != len(given):
            raise TypeError(
                f"`{self.name}` was called with {len(given)} values; its input_signature has {len(expected)}: {expected}."
            )
        for position, (spec, value) in enumerate(zip(expected, given, strict=True)):
            value = value if hasattr(value, "shape") else np.asarray(value)
            if not spec.accepts(value):
                raise TypeError(
                    f"Argument {position} of `{self.name}` has shape {tuple(value.shape)} and type {value.dtype}; its "
                    f"input_signature asks for {spec}. Convert the value, or relax the signature with None."
                )

    def export(self, *specs: Any, platforms: Sequence[str] | None = None) -> jax.export.Exported:
        """Return the program in `jax.export` form, with unknown lengths left symbolic.

        Variables are read now and become constants of the result. The function must not write any.

        Args:
            *specs: TensorSpecs (or arrays) for the arguments; by default the `input_signature`. A length
                of None or a name such as "batch" stays open; equal names mean equal lengths.
            platforms: Where it shall run, such as ("cpu", "cuda"); by default here.

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
        shapes = [_symbolic_spec(spec, index, symbols) for index, spec in enumerate(flat)]

        def pure(*arrays: Any) -> Any:
            args = jax.tree.unflatten(treedef, [wrap(array) for array in arrays])
            scope = Scope()
            with setting(scope=scope, recorders=()):
                result = unwrap_result(self.python_function(*args))
            if scope.writes:
                names = ", ".join(repr(variable.path) for variable, _ in scope.writes.values())
                raise ValueError(
                    f"`{self.name}` cannot be exported: it writes {names}, and an exported program has no state. "
                    "Export a function that only reads, such as a call with `training=False`."
                )
            return result

        return jax.export.export(jax.jit(pure), platforms=platforms)(*shapes)

    def __repr__(self) -> str:
        return f"<podium.Function {self.name}, {self.trace_count} programs>"


def _symbolic_spec(spec: Any, index: int, symbols: Any) -> jax.ShapeDtypeStruct:
    names = []
    for axis, length in enumerate(spec.shape):
        open_name = "batch" if axis == 0 else f"d{index}_{axis}"
        names.append(str(open_name if length is None else length))
    shape = jax.export.symbolic_shape(",".join(names), scope=symbols) if names else ()
    return jax.ShapeDtypeStruct(shape, spec.dtype)


def _is_value(value: Any) -> bool:
    return isinstance(value, Operators)


def _drop(function: weakref.ref, key: tuple) -> None:
    owner = function()
    if owner is not None:
        owner._programs.pop(key, None)  # such a program has a static argument, so it is in no other table


class _ByIdentity:
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
        return isinstance(other, _ByIdentity) and self._id == other._id


def _static_key(leaf: Any) -> Any:
    """Return what tells static arguments apart: type and value for plain ones, identity for objects."""
    if isinstance(leaf, (bool, int, float, complex, str, bytes, type(None))):
        return (type(leaf), leaf)
    if type(leaf).__hash__ is object.__hash__ or type(leaf).__hash__ is None:
        try:
            return _ByIdentity(leaf)
        except TypeError as error:
            raise TypeError(
                f"A compiled function was given {leaf!r} of type {type(leaf).__name__}, which can neither be traced nor "
                "remembered as a constant. Pass arrays, plain Python values or objects of ordinary classes."
            ) from error
    return (type(leaf), leaf)


def _static_value(key: Any) -> Any:
    return key.target if isinstance(key, _ByIdentity) else key[1]


class Program:
    """One compiled form of a function: fixed static arguments, fixed shapes, known Variables."""

    def __init__(self, python_function: Callable, leaves: list, treedef: Any):
        self._python = python_function
        self._name = getattr(python_function, "__name__", "function")
        # Objects compared by identity are not kept alive; a program dies with them.
        self._leaves = [None if _is_traced(leaf) else _static_key(leaf) for leaf in leaves]
        self._is_array = [_is_traced(leaf) for leaf in leaves]
        self._treedef = treedef
        self._written: list[Variable] = []
        self._read: list[Variable] = []
        self._store: Store | None = None
        self._read_values: list[Any] = []
        self._read_version = -1
        self._jitted: Callable = self._not_discovered
        self._donates = True
        self._ran = False
        self._tracing = False
        self._out_treedef: Any = None
        self._out_leaves: list[tuple[bool, Any]] = []  # is it an array? if not, the leaf itself
        self._returns_one_array = False

    # --- the pure form

    def _not_discovered(self, *_: Any) -> Any:
        raise RuntimeError(f"The program of `{self._name}` was called before its Variables were found.")

    def _body(self, arrays: Sequence[Any], scope: Scope) -> list[Any]:
        """Run the Python function on tracers inside `scope`; returns the arrays of its result."""
        found = iter(arrays)
        filled = [
            wrap(next(found)) if traced else _static_value(leaf)
            for traced, leaf in zip(self._is_array, self._leaves, strict=True)
        ]
        args, kwargs = jax.tree.unflatten(self._treedef, filled)
        self._tracing = True
        try:
            with setting(scope=scope, recorders=(), autocast=None, arrays=False):
                result = unwrap_result(self._python(*args, **kwargs))
        except jax.errors.UnexpectedTracerError as error:
            raise _errors.LeakedValueError(_errors.LEAKED_VALUE) from error
        finally:
            self._tracing = False
            for variable, _ in (*scope.writes.values(), *scope.reads.values(), *scope.inputs.values()):
                variable.source = None  # a tracer must not outlive its trace
        flat, self._out_treedef = jax.tree.flatten(result)
        self._out_leaves = [(True, None) if isinstance(leaf, jax.Array) else (False, leaf) for leaf in flat]
        self._returns_one_array = isinstance(result, jax.Array)
        return [leaf for leaf in flat if isinstance(leaf, jax.Array)]

    def discover(self, arrays: Sequence[Any]) -> None:
        """Find out which Variables the body reads, writes and makes, without computing anything."""
        known_before: set[int] = set()
        for attempt in range(2):
            scope = Scope()

            def probe(*values: Any, scope: Scope = scope) -> list[Any]:
                outputs = self._body(values, scope)
                return outputs + [value for _, value in scope.writes.values()]

            closed = jax.make_jaxpr(probe)(*arrays)
            if not scope.created:
                break
            if attempt == 1 and any(id(v) not in known_before for v in scope.created):
                names = ", ".join(repr(variable.path) for variable in scope.created[:3])
                raise ValueError(_errors.VARIABLE_PER_CALL.format(function=self._name, names=names))
            known_before.update(id(variable) for variable in scope.created)
        self._donates = not (_has_callback(closed.jaxpr) or jax.config.jax_debug_nans)  # type: ignore[attr-defined]
        self._take_variables(scope)

    def _take_variables(self, scope: Scope) -> None:
        written = {id(v): v for v in self._written} | {key: v for key, (v, _) in scope.writes.items()}
        read = {id(v): v for v in self._read} | {key: v for key, (v, _) in scope.reads.items()}
        self._written = list(written.values())
        self._read = [v for key, v in read.items() if key not in written]
        self._store, self._read_version, self._ran = None, -1, False

        def step(written_values: list, read_values: list, arrays: list) -> tuple[list, list]:
            pairs = zip(self._written + self._read, written_values + read_values, strict=True)
            scope = Scope({id(variable): (variable, value) for variable, value in pairs})
            outputs = self._body(arrays, scope)
            if scope.reads or any(key not in scope.inputs for key in scope.writes):
                raise _MoreVariables(scope)
            return [scope.read(variable) for variable in self._written], outputs

        step.__name__ = self._name
        self._jitted = jax.jit(step, donate_argnums=(0,) if self._donates else ())

    # --- calling

    def __call__(self, arrays: list) -> Any:
        with lock:
            while True:
                try:
                    outputs = self._step(arrays)
                    break
                except _MoreVariables as more:  # the body took another way than when it was looked at
                    self._take_variables(more.scope)
                except jax.errors.UnexpectedTracerError as error:
                    raise _errors.LeakedValueError(_errors.LEAKED_VALUE) from error
        if self._returns_one_array:
            return wrap(outputs[0])
        found = iter(outputs)
        flat = [wrap(next(found)) if is_array else leaf for is_array, leaf in self._out_leaves]
        return jax.tree.unflatten(self._out_treedef, flat)

    def _step(self, arrays: list) -> list:
        """Take state, compute, put state back: nothing between can lose it.

        The result goes straight from XLA into `box`, within one C call. An interrupt can come before
        (nothing donated yet) or after it (`box` holds the new state, and `finally` keeps it), never between.
        """
        store = self._store
        if store is None or not store.valid:
            store = self._claimed_store()
        if self._read_version != writes[0]:
            self._read_values = [variable.stored for variable in self._read]
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
                    writes[0] += 1
                self._read_version = writes[0]
        return outputs

    def _first_step(self, box: list, values: list, arrays: list) -> None:
        """Step through JAX's slower Python path, where an interrupt could fall between donation and result."""
        with _interrupts_deferred(unless=lambda: self._tracing):
            made = self._jitted(values, self._read_values, arrays)
            if not self._donates:
                made = jax.block_until_ready(made)  # a failing callback must show before state changes
            box.append(made)

    def _claimed_store(self) -> Store:
        if self._store is None or not self._store.valid:
            self._store = Store(self._written)
            weakref.finalize(self, self._store.dissolve).atexit = False
        return self._store

    @staticmethod
    def _copy_exposed(store: Store) -> None:
        for slot in store.exposed:
            store.values[slot] = jnp.array(store.values[slot], copy=True)
        store.exposed.clear()


def _is_traced(leaf: Any) -> bool:
    return isinstance(leaf, (Tensor, jax.Array, np.ndarray, np.generic))


class _MoreVariables(Exception):
    """Tracing met Variables that the program does not carry yet; it is traced again with them."""

    def __init__(self, scope: Scope):
        super().__init__("more Variables")
        self.scope = scope


def _has_callback(jaxpr: Any) -> bool:
    """Tell whether a program calls back into Python, which can raise in the middle of it."""
    for equation in jaxpr.eqns:
        if "callback" in equation.primitive.name:
            return True
        for parameter in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda p: hasattr(p, "eqns")):
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
