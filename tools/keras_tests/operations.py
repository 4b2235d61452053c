"""Keras's classes of operations, such as `ops.numpy.Add`, made from Podium's functions.

The classes are private to Keras and have no counterpart in Podium. The tests call both forms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podium.core import name_scope
from podium.core.internal import symbolic_outputs


def find_operation(name: str, functions: Mapping[str, Any]) -> type | None:
    """Return the class of an operation, or None if there is no function of that name.

    Args:
        name: A name in capitals, such as "LogicalAnd" or "FFT2".
        functions: The functions by name.
    """
    if not name[:1].isupper():
        return None
    for key, function in functions.items():
        if key.replace("_", "") == name.lower() and callable(function):
            return _make_class(name, function)
    return None


def _make_class(name: str, function: Callable[..., Any]) -> type:
    class Operation:
        """Keeps further arguments of a function; a call adds the tensors, which come first."""

        def __init__(self, *args: Any, name: str | None = None, **kwargs: Any) -> None:
            self.name = name
            self._arguments, self._keywords = args, kwargs

        def call(self, *tensors: Any, **keywords: Any) -> Any:
            with name_scope(self.name or function.__name__):
                return function(*tensors, *self._arguments, **{**self._keywords, **keywords})

        __call__ = symbolic_call = call

        def compute_output_spec(self, *tensors: Any, **keywords: Any) -> Any:
            return symbolic_outputs(self.call, tensors, keywords)

    return type(name, (Operation,), {})
