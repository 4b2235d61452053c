"""Exceptions, message texts and warnings that all packages of Podium share.

A message says what was passed, what was expected and how to fix it. Mistakes of understanding have
a constant with the wrong code next to the right code. Checks of arguments are in `_validation.py`.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from types import FrameType

OPAQUE_CONTAINER = """\
A {name} that holds Tensors was returned or passed as an argument, and {name} is not registered \
as a JAX pytree, so gradients and compiled code would lose its values. Register the class, or use \
a dictionary, tuple or namedtuple.

    @jax.tree_util.register_dataclass      # right, for a dataclass
    @dataclasses.dataclass
    class {name}: ..."""

TAPED_VALUE_IN_JAX = """\
`{function}` was given a value that an open GradientTape is recording. The tape does not record \
raw JAX functions, so the gradient would silently stop there.

    with podium.GradientTape() as tape:
        y = jnp.{example}(x)              # wrong: the tape cannot see this
        y = podium.ops.{example}(x)       # right
        y = podium.lift(jnp.{example})(x) # right, for any JAX function that `ops` does not have

If the gradient is meant to stop there, use `podium.ops.stop_gradient(x)`."""

TENSOR_IN_LAX = """\
A function of `jax.lax` (or an index into a jax.Array) was given a Podium Tensor or Variable, \
which `jax.lax` does not accept.

    y = jax.lax.exp(x)                # wrong
    y = podium.lift(jax.lax.exp)(x)   # right, also under a GradientTape
    y = jax.lax.exp(x.value)          # right, where no gradient is needed"""

LEAKED_VALUE = """\
A value created inside one traced call (a `podium.function`, a layer's call under a tape, \
`jax.jit`) was used outside of it. Such a value is a placeholder in a trace that has ended; it \
has no data.

    @podium.function
    def step(x):
        global kept
        kept = x * 2      # wrong: `kept` outlives the trace
        return x * 2      # right: return it, or store it with `variable.assign(...)`"""

STREAM_IN_CLOSURE = """\
A compiled function called next() on an iterator that is not one of its arguments. Its body runs \
only when it is compiled, so every later call would see the same element.

    @podium.function
    def step():
        x, y = next(iterator)     # wrong: `iterator` comes from outside

    @podium.function
    def step(iterator):           # right: pass it in
        x, y = next(iterator)"""

VARIABLE_PER_CALL = """\
`{function}` creates a new Variable every time its body runs ({names}). A compiled function can \
only use Variables that outlive the call.

    @podium.function
    def step(x):
        total = podium.Variable(0.0)     # wrong: created in every call
        return total.assign_add(x)

    total = podium.Variable(0.0)         # right: created once, outside
    @podium.function
    def step(x):
        return total.assign_add(x)"""

WEIGHT_PER_CALL = """\
{owner} creates a new Variable every time it is called ({names}); it was called {count} times to \
record its gradient, and never read the same ones. Create weights once: in `__init__` or `build`, \
or in `call` if they do not exist yet, and keep them in attributes. The same holds for layers that \
are made in `call`."""

UNSTABLE_VARIABLES = """\
`{function}` was traced {count} times, and each trace read or wrote different Variables than the \
one before, so it cannot be compiled. Its Python code must not choose Variables by something that \
changes from call to call, such as a counter or a random number. Choose between values instead: \
`podium.ops.where(condition, a, b)`."""


class TapedValueError(TypeError):
    """A value recorded by an open tape was passed to a function that the tape cannot record.

    Example:
        >>> import jax.numpy as jnp
        >>> x = podium.Variable(2.0)
        >>> with podium.GradientTape() as tape:
        ...     try:
        ...         jnp.square(x)
        ...     except podium.core.TapedValueError as error:
        ...         print("ops.square" in str(error))
        True
    """


class LeakedValueError(RuntimeError):
    """A value of one trace was used in another, or after its trace had ended.

    Example:
        >>> kept = []
        >>> @podium.function
        ... def step(x):
        ...     kept.append(x * 2)
        ...     return x
        >>> _ = step(podium.ops.ones(()))
        >>> try:
        ...     kept[0] + 1
        ... except podium.core.LeakedValueError as error:
        ...     print("return it" in str(error))
        True
    """


def closest_match(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice whose spelling is closest to `name`, or None if none is close.

    Example:
        >>> podium.core.closest_match("rellu", ["relu", "gelu", "tanh"])
        'relu'
    """
    by_lower_case = {choice.lower(): choice for choice in choices}
    matches = difflib.get_close_matches(str(name).lower(), by_lower_case, n=1, cutoff=0.6)
    return by_lower_case[matches[0]] if matches else None


def unknown_choice(argument: str, value: object, choices: Iterable[object]) -> ValueError:
    """Return the error for a string that is not among the choices; it suggests the closest one.

    Example:
        >>> print(podium.core.unknown_choice("padding", "sane", ["valid", "same"]))
        Unknown padding 'sane'. Did you mean 'same'? Choices: 'same', 'valid'.
    """
    names = sorted({str(choice) for choice in choices})
    suggestion = closest_match(str(value), names)
    hint = f" Did you mean {suggestion!r}?" if suggestion else ""
    listed = ", ".join(repr(name) for name in names)
    return ValueError(f"Unknown {argument} {value!r}.{hint} Choices: {listed}.")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line: that of the first caller outside of Podium and JAX.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     podium.core.warn_user("look here")
        >>> str(caught[0].message)
        'look here'
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_in_library(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def caller_location() -> tuple[str, int]:
    """Return the file and the line of the first caller outside of Podium and JAX, for a warning
    that is given later, such as from a thread.

    Example:
        >>> file, line = podium.core.caller_location()
        >>> line > 0
        True
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_in_library(frame):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _is_in_library(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES


_LIBRARIES = ("podium", "jax", "contextlib")
