"""function: a Python function that reads and writes Variables, compiled to one XLA program.

`Function` sorts a call's arguments into arrays (traced) and everything else (static), and keeps one
`Program` per combination. This file owns the sorting and what users see; `_program.py` owns
compilation.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core._context import context, override
from podium.core._dispatch import unwrap_result
from podium.core._tree import preserve_key_order
from podium.core._validation import check_int_range, check_numeric
from podium.core.autodiff._stateful_call import record_call
from podium.core.compile._program import ByIdentity, Program, static_key
from podium.core.compile._stream import NeedMoreElements, Place, Stream, TracedIterator
from podium.core.compile._variable_scope import VariableScope
from podium.core.compile._variable_store import state_lock
from podium.core.tensor._dtypes import standardize_dtype
from podium.core.tensor._operators import Operators
from podium.core.tensor._symbolic import KerasTensor
from podium.core.tensor._tensor import Tensor, wrap


class _EagerMode:
    """Whether functions run as plain Python; an attribute, since each step of training reads it."""

    enabled = False


eager_mode = _EagerMode()
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

    def __init__(
        self, shape: Sequence[int | str | None], dtype: Any = "float32", name: str | None = None
    ):
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
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == (
            other.shape,
            other.dtype,
        )

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
    (numbers, strings, None, any object) are constants: one program per value. Variables are found
    by use, wherever they are kept. The Python body runs when a program is made, not on every call:
    printing and appending to lists happen then only. Keep what must change in Variables, and return
    the rest.

    Args:
        func: The function. Without it, `function(...)` is a decorator.
        input_signature: TensorSpecs for the positional arguments; calls that do not fit are
            refused.
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
    eager_mode.enabled = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Tell whether `run_functions_eagerly(True)` is in force.

    Example:
        >>> podium.functions_run_eagerly()
        False
    """
    return eager_mode.enabled


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
        self._plain_programs: dict[
            Any, Program
        ] = {}  # the same, for calls with positional arrays only
        self._bound: dict[int, Function] = {}  # id of an instance -> the function as its method
        self._warned = False
        self._kept_by: Function | None = None  # of a bound method: the one that keeps the programs
        self._fed: Function | None = (
            None  # the same function of elements that were read from Streams
        )
        self._pulls: dict[
            Any, list[int]
        ] = {}  # which arguments are Streams -> how many elements each must give
        self._reading: tuple[list, list] = (
            [],
            [],
        )  # while it is traced: the Streams, and what they gave in addition

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a method: each instance gets programs of its own."""
        if instance is None or isinstance(self.python_function, staticmethod):
            return self
        known = self._bound.get(id(instance))
        if known is None:
            known = self._bound[id(instance)] = Function(
                self._method_of(instance), self.input_signature
            )
        bound = Function.__new__(Function)
        vars(bound).update(
            vars(known), _instance=instance, _kept_by=known
        )  # the same programs, and the instance lives
        return bound

    def _method_of(self, instance: Any) -> Callable:
        """Return the original as a method of `instance`; the programs made of it do not keep the
        instance alive.
        """
        try:
            reference: Callable[[], Any] = weakref.ref(instance)
            weakref.finalize(instance, self._bound.pop, id(instance), None).atexit = False
        except TypeError:  # an instance with __slots__ knows no weak references

            def reference() -> Any:
                return instance

        @functools.wraps(self.python_function)
        def method(*args: Any, **kwargs: Any) -> Any:
            return self.python_function(reference(), *args, **kwargs)

        with contextlib.suppress(TypeError, ValueError):
            signature = inspect.signature(self.python_function)
            own = list(signature.parameters.values())[1:]
            method.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        return method

    @property
    def name(self) -> str:
        """The name of the original."""
        return getattr(self.python_function, "__name__", type(self.python_function).__name__)

    @property
    def trace_count(self) -> int:
        """The number of compiled programs: one per combination of shapes, types and static
        arguments.
        """
        return len(self._programs) + (self._fed.trace_count if self._fed is not None else 0)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and not eager_mode.enabled and context.scope is None and not context.tapes:
            arrays: list[Any] = []
            key: list[Any] = []
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
        """Sort all leaves of the arguments into arrays and constants, and find or make their
        program.
        """
        if eager_mode.enabled:
            return self.python_function(*args, **kwargs)
        leaves, treedef = jax.tree.flatten(
            (args, kwargs)
            if self.input_signature is not None
            else preserve_key_order((args, kwargs)),
            is_leaf=_is_value,
        )
        arrays: list[Any] = []
        signature: list[Any] = [treedef]
        traced = False
        for slot, leaf in enumerate(leaves):
            kind = type(leaf)
            if kind is Tensor:
                leaf = leaf._value
            elif kind is np.ndarray or isinstance(leaf, np.generic):
                check_numeric(leaf, "argument")
                leaf = jnp.asarray(
                    check_int_range(leaf)
                )  # a copy, so that the caller may reuse its buffer
                leaves[slot] = wrap(leaf)
            elif isinstance(leaf, KerasTensor):
                return self.python_function(*args, **kwargs)
            elif isinstance(leaf, Stream):
                if context.scope is not None or context.tapes:
                    return record_call(self.python_function, args, kwargs)
                return self._call_with_streams(leaves, treedef)
            elif not isinstance(leaf, jax.Array):
                signature.append(static_key(leaf))
                continue
            traced = traced or isinstance(leaf, jax.core.Tracer)
            arrays.append(leaf)
            signature.append((leaf.shape, leaf.dtype, leaf.weak_type))
        key = tuple(signature)
        program = self._programs.get(key)
        if program is None and self.input_signature is not None:
            self._check_signature(leaves)
        if traced or context.scope is not None or context.tapes:
            # Within a surrounding trace or tape the Python body becomes part of that.
            args, kwargs = jax.tree.unflatten(treedef, leaves)
            return record_call(self.python_function, args, kwargs)
        if program is None:
            with (
                state_lock
            ):  # threads that come together make one program, and a layer's weights once
                program = self._programs.get(key)
                if program is None:
                    program = Program(self.python_function, leaves, treedef)
                    program.discover(arrays)
                    self._remember(key, program)
        if len(arrays) == len(leaves) == len(args) and not kwargs:
            _array_types.update(map(type, arrays))
            self._plain_programs[tuple(part for spec in key[1:] for part in spec)] = program
        return program(arrays)

    def _call_with_streams(self, leaves: list, treedef: Any) -> Any:
        """Read as many elements as the body asks its Streams for, then run it on them, compiled.

        When a Stream ends before that, the body runs uncompiled on what is left, and meets the end
        itself.
        """
        streams = [leaf for leaf in leaves if isinstance(leaf, Stream)]
        numbers = iter(range(len(streams)))
        places = [Place(next(numbers)) if isinstance(leaf, Stream) else leaf for leaf in leaves]
        args, kwargs = jax.tree.unflatten(treedef, places)
        key = (treedef, tuple(isinstance(leaf, Stream) for leaf in leaves))
        queues: list[list] = [[] for _ in streams]
        more: list[list] = [[] for _ in streams]
        if self._fed is None:
            self._fed = Function(self._run_fed)
        try:
            for stream, queue, count in zip(
                streams, queues, self._pulls.get(key, [0] * len(streams)), strict=True
            ):
                while len(queue) < count:
                    queue.append(stream.next_arrays())
            with state_lock:
                while True:
                    self._reading = streams, more
                    try:
                        return self._fed(queues, args, kwargs)
                    except NeedMoreElements:
                        for queue, found in zip(queues, more, strict=True):
                            queue.extend(found)
                            found.clear()
                        self._pulls[key] = [len(queue) for queue in queues]
                    finally:
                        self._reading = [], []
        except StopIteration:
            for stream, queue, found in zip(streams, queues, more, strict=True):
                stream.unread(queue + found)
        args, kwargs = jax.tree.unflatten(treedef, leaves)
        return self.python_function(*args, **kwargs)

    def _run_fed(self, queues: list, args: tuple, kwargs: dict) -> Any:
        """Run the original with Feeds in the place of Streams."""
        streams, more = self._reading
        feeds = [TracedIterator(*row) for row in zip(queues, streams, more, strict=True)]

        def fill(leaf: Any) -> Any:
            return feeds[leaf.number] if isinstance(leaf, Place) else leaf

        args, kwargs = jax.tree.map(fill, preserve_key_order((args, kwargs)), is_leaf=_is_value)
        result = self.python_function(*args, **kwargs)
        if any(more):
            raise NeedMoreElements
        return result

    def _remember(self, key: tuple, program: Program) -> None:
        self._programs[key] = program
        for part in key:
            if isinstance(part, ByIdentity):
                part.when_gone(functools.partial(_drop, weakref.ref(self._kept_by or self), key))
        if len(self._programs) == 10 and not self._warned:
            self._warned = True
            warnings.warn(
                f"`{self.name}` has been compiled 10 times, once for each new shape, type or "
                "Python value among its arguments. Pad batches to one size, and pass numbers that "
                "change as arrays: `np.float32(0.1)` instead of `0.1`.",
                stacklevel=3,
            )

    def _check_signature(self, given: list) -> None:
        expected = jax.tree.leaves(
            self.input_signature, is_leaf=lambda s: isinstance(s, TensorSpec)
        )
        if len(expected) != len(given):
            raise TypeError(
                f"`{self.name}` was called with {len(given)} values; its input_signature has "
                f"{len(expected)}: {expected}."
            )
        for position, (spec, value) in enumerate(zip(expected, given, strict=True)):
            value = value if hasattr(value, "shape") else np.asarray(value)
            if not spec.accepts(value):
                raise TypeError(
                    f"Argument {position} of `{self.name}` has shape {tuple(value.shape)} and type "
                    f"{value.dtype}; its input_signature asks for {spec}. Convert the value, or "
                    "relax the signature with None."
                )

    def export(self, *specs: Any, platforms: Sequence[str] | None = None) -> jax.export.Exported:
        """Return the program in `jax.export` form, with unknown lengths left symbolic.

        Variables are read now and become constants of the result. The function must not write any.

        Args:
            *specs: TensorSpecs (or arrays) for the arguments; by default the `input_signature`. A
                length of None or a name such as "batch" stays open; equal names mean equal lengths.
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

        def pure(*args: Any) -> Any:
            scope = VariableScope()
            with override(scope=scope, tapes=()):
                result = unwrap_result(self.python_function(*jax.tree.map(wrap, args)))
            if scope.writes:
                names = ", ".join(repr(variable.path) for variable, _ in scope.writes.values())
                raise ValueError(
                    f"`{self.name}` cannot be exported: it writes {names}, and an exported program "
                    "has no state. Export a function that only reads, such as a call with "
                    "`training=False`."
                )
            return result

        return jax.export.export(jax.jit(pure), platforms=platforms)(
            *jax.tree.unflatten(treedef, shapes)
        )

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
    return isinstance(value, Operators) or hasattr(
        type(value), "__next__"
    )  # iterators: `static_key` refuses them


def _drop(function: weakref.ref, key: tuple) -> None:
    owner = function()
    if owner is not None:
        owner._programs.pop(
            key, None
        )  # such a program has a static argument, so it is in no other table
