"""`get_source_inputs`: the inputs from which a symbolic value is computed."""

from __future__ import annotations

from podium._typing import TensorLike
from podium.core import KerasTensor


def get_source_inputs(tensor: TensorLike) -> list[KerasTensor] | TensorLike:
    """List the inputs of a graph that a symbolic value depends on, each once.

    Args:
        tensor: A symbolic value; any other value is returned as it is.

    Example:
        >>> a, b = podium.Input((2,), name="a"), podium.Input((2,), name="b")
        >>> [x.name for x in podium.utils.get_source_inputs(a * 2 + b)]
        ['a', 'b']
    """
    if not isinstance(tensor, KerasTensor):
        return tensor
    sources: dict[int, KerasTensor] = {}
    visited: set[int] = set()
    pending = [tensor]
    while pending:
        symbol = pending.pop()
        if id(symbol) in visited:
            continue
        visited.add(id(symbol))
        if symbol.node is None or not symbol.node.inputs:
            sources[id(symbol)] = symbol
        else:
            pending.extend(reversed(symbol.node.inputs))
    return list(sources.values())
