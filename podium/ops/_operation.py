"""What makes a public operation out of a function of arrays.

An operation is a pair of functions: `_sum`, on arrays, decorated with `array_function`; and the
public `sum`, which passes its arguments to `dispatch`. Promotion rules are in `_promotion.py`.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import ParamSpec, Protocol, TypeVar, overload

import jax
import numpy as np
from jax import Array

from podium import core
from podium.core import Tensor, promote_dtypes
from podium.ops._promotion import as_array

P = ParamSpec("P")
R = TypeVar("R")


class Dispatch(Protocol):
    """The type of `podium.core.dispatch` for operations: arrays in the result become Tensors."""

    @overload
    def __call__(self, fn: Callable[..., Array], /, *args: object, **kwargs: object) -> Tensor: ...

    @overload
    def __call__(
        self, fn: Callable[..., tuple[Array, Array]], /, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]: ...

    @overload
    def __call__(
        self, fn: Callable[..., tuple[Array, ...]], /, *args: object, **kwargs: object
    ) -> tuple[Tensor, ...]: ...

    @overload
    def __call__(
        self, fn: Callable[..., list[Array]], /, *args: object, **kwargs: object
    ) -> list[Tensor]: ...

    @overload
    def __call__(
        self, fn: Callable[..., Array | tuple[Array, ...]], /, *args: object, **kwargs: object
    ) -> Tensor | tuple[Tensor, ...]: ...

    @overload
    def __call__(self, fn: Callable[..., int], /, *args: object, **kwargs: object) -> int: ...


dispatch: Dispatch = core.dispatch


def operation(array_version: Callable[..., object]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as the public form of an array function: a decorator without a wrapper.

    The function itself is returned. Its attribute `raw` is the array function, which code that
    works on arrays calls without dispatch, and by which a graph identifies the operation.

    Args:
        array_version: The same operation on arrays, decorated with `array_function`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        function.__module__ = "podium.ops"
        vars(function)["raw"] = array_version
        return function

    return decorate


def array_function(arrays: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a pure JAX function to convert its arguments, promote dtypes and explain errors.

    Args:
        arrays: Names of the parameters to convert to arrays, separated by spaces. Defaults to the
            positional parameters without a default.
    """

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(fn).parameters
        required = {
            name
            for name, parameter in parameters.items()
            if parameter.default is parameter.empty
            and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        }
        converted = required if arrays is None else set(arrays.split())
        first = sum(1 for _ in itertools.takewhile(converted.__contains__, parameters))
        positions = {i for i, name in enumerate(parameters) if i >= first and name in converted}
        compute: Callable[..., R] = promote_dtypes(fn)

        @functools.wraps(fn)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                inputs: Iterable[object] = (*map(as_array, args[:first]), *args[first:])
                if positions:
                    inputs = [as_array(x) if i in positions else x for i, x in enumerate(inputs)]
                if kwargs:
                    named = {k: as_array(v) if k in converted else v for k, v in kwargs.items()}
                    return compute(*inputs, **named)
                return compute(*inputs)
            except (TypeError, ValueError) as error:
                # Subclasses (a tracer converted to a bool) carry their own advice: keep them.
                if type(error) not in (TypeError, ValueError):
                    raise
                kind = ValueError if "shape" in str(error) else type(error)
                raise kind(f"{_describe_call(fn, parameters, args, kwargs)}: {error}") from error

        return run

    return decorate


def _describe_call(
    fn: Callable[..., object],
    parameters: Mapping[str, inspect.Parameter],
    args: Iterable[object],
    kwargs: Mapping[str, object],
) -> str:
    """Return the call as a user would write it: `ops.matmul(x1=float32[2,3], x2=float32[4,5])`.

    Arguments that equal their default are left out.
    """
    names = list(parameters)
    values = [(names[min(i, len(names) - 1)], arg) for i, arg in enumerate(args)]
    described = [
        f"{name}={describe(value)}"
        for name, value in [*values, *kwargs.items()]
        if name not in parameters or value is not parameters[name].default
    ]
    package = "ops.image" if ".image." in fn.__module__ else "ops"
    return f"{package}.{fn.__name__.removeprefix('_')}({', '.join(described)})"


def describe(value: object) -> str:
    """Return a short text for an argument: dtype and shape of arrays, otherwise its `repr`."""
    if isinstance(value, (jax.Array, np.ndarray)):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple)) and any(
        isinstance(item, (jax.Array, np.ndarray)) for item in value
    ):
        return f"[{', '.join(map(describe, value))}]"
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
