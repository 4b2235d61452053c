"""What a thread is doing right now, and where Variables live while a trace runs.

`current` is the thread's own record: the open scope, the open tapes, the casting rule. A `Scope` is
a private view of all Variables: reads come through it, writes stay in it, until whoever opened it
takes the writes out as values. That is the one way state moves in and out of compiled or
differentiated code. A `Store` keeps the values of many Variables in one list, so that a compiled
step can take and give all of them at a cost that does not grow with their number.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from typing import Any, ClassVar


class _Current(threading.local):
    """The thread's own settings; every attribute has its resting value here."""

    scope: Scope | None = None
    recorders: tuple = ()  # open tapes and accumulators, outermost first
    autocast: str | None = None  # the type in which the running layer wants to see float Variables
    arrays: bool = False  # the running layer's `call` asked for bare jax.Arrays
    names: tuple[str, ...] = ()  # open name scopes
    marked: dict[int, Any] | None = (
        None  # values from metrics' results, and values computed from those alone
    )
    forward_mode: bool = (
        False  # derivatives are taken forwards: custom backward rules must step aside
    )
    layout: Any = (
        None  # of the strategy whose scope is open, if it has several devices: where new values go
    )
    alone: str | None = (
        None  # the callback that runs on one of several processes, which the others do not wait for
    )
    replica: tuple[str, ...] | None = (
        None  # the mesh axes along which the running code is one of several replicas
    )


current = _Current()
lock = threading.RLock()  # held while a compiled step takes and gives state
writes = [
    0
]  # counts changes of stored Variables; a compiled step compares it to keep its list of reads


class changed(contextlib.ContextDecorator):
    """Change some of a thread's settings for the length of a `with` block, which gets `gives` as
    its value.

    This is no generator: one that Ctrl-C leaves half done would put old settings back when it is
    collected, at some later moment.
    """

    def __init__(self, settings: threading.local, values: dict[str, Any], gives: Any = None):
        self._settings, self._values, self._gives = settings, values, gives

    def __enter__(self) -> Any:
        settings = self._settings
        self._before = {name: getattr(settings, name) for name in self._values}
        settings.__dict__.update(self._values)
        return self._gives

    def __exit__(self, *_: Any) -> None:
        self._settings.__dict__.update(self._before)

    def _recreate_cm(self) -> changed:  # as a decorator, for each call
        return changed(self._settings, self._values, self._gives)


def setting(**values: Any) -> changed:
    """Change some of what this thread is doing right now, for the length of a `with` block."""
    return changed(current, values)


class Scope:
    """A private view of Variables for the length of one traced call.

    Attributes:
        inputs: id -> (variable, value) handed in by the opener, usually tracers.
        touched: ids of those inputs that were read or written.
        reads: id -> (variable, value) of what was read through to the parent.
        writes: id -> (variable, value) written inside; the opener takes them out.
        created: Variables made while this scope was open.
        locals: other values that must not outlive the call, such as the losses of layers.
        discovers: whether it only finds out what is read, and keeps no value.
        paused: tapes outside that must hear of recorded Tensors met inside by closure.
    """

    def __init__(
        self,
        inputs: dict[int, tuple] | None = None,
        parent: Scope | None = None,
        reads: dict[int, tuple] | None = None,
        paused: tuple = (),
    ):
        self.inputs = inputs or {}
        self.parent = parent
        self.paused = paused
        self.discovers = False
        self.watches_tensors: bool = bool(paused) or (parent is not None and parent.watches_tensors)
        self.touched: set[int] = set()
        self.reads: dict[int, tuple] = reads if reads is not None else {}
        self.writes: dict[int, tuple] = {}
        self.created: list[Any] = []
        self.locals: dict[Any, Any] = {}

    def read(self, variable: Any) -> Any:
        """Return the variable's value as this scope sees it."""
        key = id(variable)
        if key in self.writes:
            return self.writes[key][1]
        if key in self.inputs:
            self.touched.add(key)
            return self.inputs[key][1]
        if key in self.reads:
            return self.reads[key][1]
        if self.parent is not None:
            value = self.parent.read(variable)
        else:
            value = variable.stored if self.discovers else variable.expose()
        self.reads[key] = (variable, value)
        return value

    def read_tensor(self, tensor: Any) -> Any:
        """Return a Tensor's array as this scope sees it: one that a paused tape tracks may be an
        input.
        """
        key = id(tensor)
        if key in self.inputs:
            return self.inputs[key][1]
        if key in self.reads:
            return self.reads[key][1]
        value = self.parent.read_tensor(tensor) if self.parent is not None else tensor._value
        if any(tape.tracks(tensor) for tape in self.paused):
            self.reads[key] = (tensor, value)
        return value

    def write(self, variable: Any, value: Any) -> None:
        """Keep a new value in this scope."""
        self.touched.add(id(variable))
        self.writes[id(variable)] = (variable, value)

    def note_created(self, variable: Any) -> None:
        """Remember a Variable made inside; every enclosing scope hears of it too."""
        scope: Scope | None = self
        while scope is not None:
            scope.created.append(variable)
            scope = scope.parent

    def commit(self) -> None:
        """Pass all writes and locals on to the parent, or to the Variables themselves."""
        for variable, value in self.writes.values():
            if self.parent is not None:
                self.parent.write(variable, value)
            else:
                variable.stored = value
        if self.parent is not None:
            self.parent.locals.update(self.locals)
        else:
            for key, value in self.locals.items():
                key.keep(value)

    def commit_as(self, values: list[Any]) -> None:
        """Pass other values than were written here on to the scope around the caller: what a
        transformed call gave for them.
        """
        for (variable, _), value in zip(self.writes.values(), values, strict=True):
            if current.scope is not None:
                current.scope.write(variable, value)
            else:
                variable.stored = value
            variable.source = None


class TraceLocal:
    """A value that belongs to the running trace: each scope has its own, and none outlives its
    scope.

    Layers keep the values of `add_loss` in one of these, so that a loss made inside a compiled step
    can never be met outside of it.
    """

    def __init__(self, empty: Any):
        self._empty = empty
        self._kept = empty

    def get(self) -> Any:
        """Return the value as the innermost scope sees it."""
        scope = current.scope
        while scope is not None:
            if self in scope.locals:
                return scope.locals[self]
            scope = scope.parent
        return self._kept

    def set(self, value: Any) -> None:
        """Set the value for the innermost scope, or for good when no scope is open."""
        if current.scope is not None:
            current.scope.locals[self] = value
        else:
            self._kept = value

    def keep(self, value: Any) -> None:
        """Set the value outside of all scopes."""
        self._kept = value


class Store:
    """The values of many Variables in one list, given to a compiled step whole.

    A Variable lives in one Store at most. When another step wants a different grouping, the Store
    is dissolved and each of its Variables takes its own value back. So it is when no step uses it
    any more, but not at once: garbage is collected at any moment, also in the middle of a step, or
    of another Variable's assignment.
    """

    _abandoned: ClassVar[deque[weakref.ref[Store]]] = (
        deque()
    )  # that no step uses; the next new Store dissolves them

    def __init__(self, variables: list[Any]):
        for variable in variables:
            if variable.home is not None:
                variable.home.dissolve()
        self._variables = [weakref.ref(variable) for variable in variables]
        self.values = [variable.held for variable in variables]
        self.exposed: set[int] = (
            set()
        )  # slots whose array somebody outside holds: never donate those
        self.valid = True
        self._users: set[int] = set()
        for slot, variable in enumerate(variables):
            if variable.exposed:
                self.exposed.add(slot)
            variable.home, variable.slot = self, slot

    @classmethod
    def of(cls, variables: list[Any]) -> Store:
        """Return the Store of just these Variables: the one they live in, or a new one."""
        cls._dissolve_abandoned()
        home = variables[0].home if variables else None
        if home is not None and len(home._variables) == len(variables):
            places = zip(variables, range(len(variables)), strict=True)
            if all(variable.home is home and variable.slot == slot for variable, slot in places):
                return home
        return cls(variables)

    def hold(self, user: Any) -> weakref.finalize:
        """Keep the Store together for as long as `user` lives; returns what ends that earlier when
        it is called.
        """
        self._users.add(id(user))
        ending = weakref.finalize(user, self._release, weakref.ref(self), id(user))
        ending.atexit = False
        return ending

    @classmethod
    def _release(cls, reference: weakref.ref[Store], user: int) -> None:
        store = reference()
        if store is not None:
            store._users.discard(user)
            if not store._users:
                cls._abandoned.append(reference)

    @classmethod
    def _dissolve_abandoned(cls) -> None:
        while cls._abandoned:
            store = cls._abandoned.popleft()()
            if store is not None and not store._users:
                store.dissolve()

    def dissolve(self) -> None:
        """Give every Variable its value back; this Store is finished."""
        if not self.valid:
            return
        self.valid = False
        for slot, reference in enumerate(self._variables):
            variable = reference()
            if variable is not None:
                variable.leave_home(self.values[slot], exposed=slot in self.exposed)
        self.values = []
