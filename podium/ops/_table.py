"""Turns raw JAX functions into public operations: `row` for one-liners (the tables), `op` for
written-out ones.

Both end the same way: arguments become arrays, dtypes mix as in Keras, the call goes through
`dispatch`, and an error says what was given. A row also writes its own docstring, with the meaning
of each argument taken from `ARGUMENTS`.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from textwrap import indent
from typing import Any, Protocol

import jax
import numpy as np

from podium.core import dispatch, promote_dtypes
from podium.ops._promotion import as_array

ARGUMENTS = {
    "N": "Number of rows.",
    "M": "Number of columns. Defaults to `N`.",
    "a": "Input tensor.",
    "alpha": "Scale of the negative part.",
    "approximate": "Whether to use the faster tanh approximation.",
    "assume_unique": "Promise that both inputs hold no duplicates, which is faster.",
    "atol": "Absolute tolerance.",
    "axis": "Axis, or axes where that makes sense, to work along. `None` means over all elements.",
    "axis1": "First axis.",
    "axis2": "Second axis.",
    "axisa": "Axis of `x1` that holds the vectors.",
    "axisb": "Axis of `x2` that holds the vectors.",
    "axisc": "Axis of the result that holds the vectors.",
    "b": "Right-hand side, a vector or a matrix.",
    "base": "Base of the exponent.",
    "beta": "Shape of the window: larger is narrower.",
    "compute_uv": "Whether to return the vectors too.",
    "data": "Input tensor.",
    "default_value": "Value used at and below the threshold.",
    "destination": "Where those axes go.",
    "dtype": "Dtype of the result. `None` means the default float, or the dtype of the input "
    "where there is one.",
    "dx": "Distance between samples when `x` is `None`.",
    "endpoint": "Whether `stop` is included.",
    "equal_nan": "Whether two NaNs count as equal.",
    "fft_length": "Length of the transform. `None` means that of the input.",
    "fill_value": "Value of every element.",
    "full_matrices": "Whether to return square matrices of vectors.",
    "indices": "Integer tensor of positions.",
    "indices_or_sections": "Number of equal parts, or the positions to cut at.",
    "initial": "A value to start from, also the answer for an empty input.",
    "invert": "Whether to negate the answer.",
    "k": "Which diagonal: 0 is the main one, positive is above.",
    "keepdims": "Whether reduced axes stay, with size 1.",
    "kth": "Position that ends up sorted.",
    "lower": "Whether `a` is lower triangular.",
    "method": "How to interpolate: `linear`, `lower`, `higher`, `midpoint` or `nearest`.",
    "n": "How many times.",
    "nan": "What replaces NaN.",
    "negative_slope": "Slope of the negative part.",
    "neginf": "What replaces minus infinity. `None` means the smallest number.",
    "num": "Number of samples.",
    "offset": "Which diagonal: 0 is the main one, positive is above.",
    "posinf": "What replaces infinity. `None` means the largest number.",
    "q": "Probabilities or percentages to compute, scalar or 1D.",
    "rcond": "Singular values below `rcond` times the largest count as zero.",
    "repeats": "How often to repeat.",
    "retstep": "Whether to return the step too.",
    "rtol": "Relative tolerance.",
    "segment_ids": "1D integer tensor: the segment of each row of `data`.",
    "shape": "Shape of the result.",
    "shift": "How many places to move.",
    "source": "Axes to move.",
    "start": "First value.",
    "stop": "End of the interval.",
    "threshold": "Where the function changes.",
    "tol": "Singular values below `tol` times the largest count as zero.",
    "upper": "Whether the factor is upper triangular.",
    "x": "Input tensor.",
    "x1": "First tensor.",
    "x2": "Second tensor, broadcast against the first.",
    "xs": "List of tensors.",
    "y": "Second tensor.",
}


class Operation(Protocol):
    """A public operation; `raw` is the same on bare arrays, without dispatch, for use inside other
    operations.
    """

    raw: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def row(
    signature: str,
    fn: Callable,
    summary: str,
    example: str,
    output: str,
    arrays: str | None = None,
    **notes: str,
) -> Operation:
    """One operation as a row of a table.

    Args:
        signature: Name and parameters as in Keras: `"sum(x, axis=None, keepdims=False)"`.
        fn: A pure JAX function that takes those parameters by position.
        summary: One line that says what the operation does.
        example: An expression that shows it; one that starts with `ops.` is shown as a NumPy array.
        output: What Python prints for it.
        arrays: Names of the parameters that are tensors. Defaults to those without a default.
        notes: What a parameter means, where `ARGUMENTS` does not say it well.
    """
    name, _, rest = signature.partition("(")
    namespace: dict[str, Any] = {"fn": fn, "__name__": __name__}
    names = [part.split("=")[0].strip() for part in rest.rstrip(")").split(",")]
    exec(
        f"def {signature}: return fn({', '.join(names)})", namespace
    )  # a real signature costs nothing at call time
    raw = namespace[name]
    meanings = "\n".join(f"    {each}: {notes.get(each) or ARGUMENTS[each]}" for each in names)
    shown = f"{example}.numpy()" if example.startswith("ops.") else example
    doctest = indent(f">>> {shown}\n{output}", "    ")
    raw.__doc__ = f"{summary}\n\nArgs:\n{meanings}\n\nExample:\n{doctest}\n"
    return op(arrays)(raw)


def op(arrays: str | None = None) -> Callable[[Callable], Operation]:
    """Decorate a pure JAX function so that it is a public operation on Tensors.

    Args:
        arrays: Names of the parameters to turn into arrays, separated by spaces. Defaults to those
            without a default.
    """

    def decorate(fn: Callable) -> Operation:
        raw = _guarded(fn, arrays)

        @functools.wraps(fn)
        def public(*args: Any, **kwargs: Any) -> Any:
            return dispatch(raw, *args, **kwargs)

        public.__module__ = "podium.ops"
        public.__qualname__ = fn.__name__
        public.raw = raw  # type: ignore[attr-defined]
        return public  # type: ignore[return-value]

    return decorate


def _guarded(fn: Callable, arrays: str | None) -> Callable:
    """`fn` on arrays, with Keras's promotion, and with errors that open with the call as given."""
    parameters = inspect.signature(fn).parameters
    names = tuple(parameters)
    wanted = {
        n
        for n, p in parameters.items()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    }
    wanted = wanted if arrays is None else set(arrays.split())
    is_array = tuple(name in wanted for name in names)
    compute = promote_dtypes(fn)

    @functools.wraps(fn)
    def raw(*args: Any, **kwargs: Any) -> Any:
        try:
            inputs = [
                as_array(a) if i < len(is_array) and is_array[i] else a for i, a in enumerate(args)
            ]
            return compute(
                *inputs, **{k: as_array(v) if k in wanted else v for k, v in kwargs.items()}
            )
        except (TypeError, ValueError) as error:
            # Subclasses (a tracer turned into a bool) carry advice of their own: leave those alone.
            if type(error) not in (TypeError, ValueError):
                raise
            kind = ValueError if "shape" in str(error) else type(error)
            raise kind(f"{_describe_call(fn, names, args, kwargs)}: {error}") from error

    return raw


def _describe_call(
    fn: Callable, names: tuple[str, ...], args: Iterable[Any], kwargs: dict[str, Any]
) -> str:
    """The call as the user would recognise it: `ops.matmul(x1=float32[2,3], x2=float32[4,5])`."""
    given = [f"{names[min(i, len(names) - 1)]}={describe(a)}" for i, a in enumerate(args)]
    given += [f"{k}={describe(v)}" for k, v in kwargs.items()]
    room = "ops.image" if "._image" in fn.__module__ else "ops"
    return f"{room}.{fn.__name__}({', '.join(given)})"


def describe(value: Any) -> str:
    """A short text for an argument: arrays by dtype and shape, the rest as typed."""
    if isinstance(value, (jax.Array, np.ndarray)):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple)) and any(
        isinstance(v, (jax.Array, np.ndarray)) for v in value
    ):
        return f"[{', '.join(map(describe, value))}]"
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
