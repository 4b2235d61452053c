"""Matching of losses, metrics, targets and weights with the outputs of a model.

What users pass per output (one object for all, a list, a dictionary by name, or the structure of
the outputs) is distributed here over the flat list of outputs, in the order in which they were
written.
Names that no output has and lists of the wrong length raise an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podium._typing import Tree
from podium.core import closest_match


def flatten_outputs(structure: Tree) -> list[Any]:
    """List the leaves of nested outputs in the order in which they were written; JAX would sort the
    keys of dictionaries.
    """
    if isinstance(structure, Mapping):
        return [leaf for part in structure.values() for leaf in flatten_outputs(part)]
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flatten_outputs(part)]
    return [structure]


def output_names(structure: Tree, known: list[str] | None = None) -> list[str]:
    """Return the names of outputs: the keys of a dictionary, the names of layers if they are known,
    or `output_1`, `output_2`, ...
    """
    if isinstance(structure, Mapping) and not _is_nested(structure):
        return [str(key) for key in structure]
    count = len(flatten_outputs(structure))
    if known and len(known) == count:
        return known
    return [f"output_{index + 1}" for index in range(count)]


def layer_names(outputs: Tree) -> list[str]:
    """Return the names of the layers that symbolic outputs come from, with `_1`, `_2`, ... for
    further outputs of a layer.
    """
    counts: dict[str, int] = {}
    names = []
    for symbol in flatten_outputs(outputs):
        name = symbol.node.name if symbol.node is not None else symbol.name
        count = counts.get(name, 0)
        counts[name] = count + 1
        names.append(name if count == 0 else f"{name}_{count}")
    return names


def to_outputs(
    argument: str,
    value: Tree,
    structure: Tree,
    names: list[str],
    aliases: list[str] | None = None,
) -> list[Any]:
    """Return one entry per output from a dictionary or a list; None for an output without.

    Args:
        argument: The name of the argument, for messages.
        value: A dictionary by output name, a list in the order of the outputs, or either in the
            structure of the outputs.
        structure: The outputs if they are known, otherwise None.
        names: The names of the outputs.
        aliases: Other names of the outputs, in the same order.

    Raises:
        ValueError: No output has one of the names, or a list has the wrong length.
    """
    if value is None:
        return [None] * len(names)
    if _is_nested(structure) and isinstance(value, (Mapping, list, tuple)):
        return _by_structure(argument, value, structure)
    if isinstance(value, Mapping):
        return _by_name(argument, value, names, aliases)
    entries = list(value)
    if len(entries) != len(names):
        raise ValueError(
            f"`{argument}` is a list of length {len(entries)}; the model has {len(names)} "
            f"output{'s' * (len(names) != 1)} ({_quote(names)}). Give one entry per output, or a "
            "dictionary by output name."
        )
    return entries


def flatten_targets(
    argument: str,
    targets: Tree,
    structure: Tree,
    names: list[str],
    is_used: Sequence[bool] | None = None,
) -> list[Any]:
    """Return one target (or weight) per output, None for an output without.

    Args:
        argument: The name of the argument, for messages.
        targets: The targets in the structure of the outputs; without those of the outputs that
            are not used, if there are as many as used ones.
        structure: The outputs.
        names: The names of the outputs.
        is_used: Whether each output has a loss or a metric; None for all.

    Raises:
        ValueError: The number of targets, or their names, do not match the outputs.
    """
    count = len(names)
    if targets is None:
        return [None] * count
    if isinstance(targets, Mapping):
        return to_outputs(argument, targets, structure, names)
    flat = flatten_outputs(targets) if isinstance(targets, (list, tuple)) else [targets]
    if len(flat) != count and is_used is not None and len(flat) == sum(is_used):
        remaining = iter(flat)
        return [next(remaining) if used else None for used in is_used]
    if len(flat) != count:
        raise ValueError(
            f"The model has {count} output{'s' * (count != 1)} ({_quote(names)}) and was given "
            f"{len(flat)} arrays as `{argument}`. Give one per output, in a list or in a "
            "dictionary by output name."
        )
    return flat


def _is_nested(structure: Tree) -> bool:
    """Return whether outputs are containers of containers."""
    if isinstance(structure, Mapping):
        structure = list(structure.values())
    if not isinstance(structure, (list, tuple)):
        return False
    return any(isinstance(part, (Mapping, list, tuple)) for part in structure)


def _by_structure(argument: str, value: Tree, structure: Tree) -> list[Any]:
    """Return one entry per output from a value in the structure of the outputs; what is not a
    container is used for all outputs below it.
    """
    if value is None or not isinstance(value, (Mapping, list, tuple)):
        return [value] * len(flatten_outputs(structure))
    if isinstance(structure, Mapping) and isinstance(value, Mapping):
        unknown = [key for key in value if key not in structure]
        if unknown:
            raise ValueError(
                f"`{argument}` has an entry for {unknown[0]!r}; the outputs have the keys "
                f"{_quote(structure)}."
            )
        return [
            leaf
            for key, part in structure.items()
            for leaf in _by_structure(argument, value.get(key), part)
        ]
    if (
        isinstance(structure, (list, tuple))
        and isinstance(value, (list, tuple))
        and len(value) == len(structure)
    ):
        return [
            leaf
            for item, part in zip(value, structure, strict=True)
            for leaf in _by_structure(argument, item, part)
        ]
    if not isinstance(structure, (Mapping, list, tuple)):
        return [value]
    raise ValueError(
        f"`{argument}` does not have the nesting of the outputs: {value!r} was given for "
        f"{len(flatten_outputs(structure))} outputs."
    )


def _by_name(
    argument: str, value: Mapping[Any, Any], names: list[str], aliases: list[str] | None
) -> list[Any]:
    use_aliases = (
        aliases is not None
        and len(aliases) == len(names)
        and not any(key in names for key in value)
        and any(key in aliases for key in value)
    )
    keys = aliases if use_aliases and aliases else names
    for key in value:
        if key not in keys:
            close = closest_match(str(key), keys)
            hint = f" Did you mean {close!r}?" if close else ""
            raise ValueError(
                f"`{argument}` has an entry for {key!r}, which is not an output of the "
                f"model.{hint} Its outputs are {_quote(keys)}."
            )
    return [value.get(key) for key in keys]


def _quote(names: Iterable[object]) -> str:
    return ", ".join(repr(name) for name in names)
