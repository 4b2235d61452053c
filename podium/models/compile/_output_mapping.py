"""Which loss, metric, target or weight belongs to which output of a model.

What users give per output (one thing for all, a list, a dictionary by name, or the outputs' own
nesting) is spread here over the flat list of outputs, in the order in which they were written;
names that no output has, and lists of the wrong length, are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core import closest_match


def flat(structure: Any) -> list[Any]:
    """List the leaves of nested outputs in the order in which they were written; JAX would sort the
    keys of dictionaries.
    """
    if isinstance(structure, Mapping):
        return [leaf for part in structure.values() for leaf in flat(part)]
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flat(part)]
    return [structure]


def output_names(structure: Any, known: list[str] | None = None) -> list[str]:
    """Name the outputs: the keys of a dictionary, the layers' names if they are known, or
    `output_1`, `output_2`, ...
    """
    if isinstance(structure, Mapping) and not _is_nested(structure):
        return [str(key) for key in structure]
    count = len(flat(structure))
    if known and len(known) == count:
        return known
    return [f"output_{index + 1}" for index in range(count)]


def layer_names(outputs: Any) -> list[str]:
    """Name symbolic outputs by the layers they come from, with `_1`, `_2`, ... where a layer made
    several.
    """
    seen: dict[str, int] = {}
    made = []
    for symbol in flat(outputs):
        name = symbol.node.name if symbol.node is not None else symbol.name
        count = seen.get(name, 0)
        seen[name] = count + 1
        made.append(name if count == 0 else f"{name}_{count}")
    return made


def spread(
    argument: str, given: Any, structure: Any, names: list[str], aliases: list[str] | None = None
) -> list[Any]:
    """Return one entry per output from a dictionary or a list; None where nothing was said.

    Args:
        argument: The argument's name, for messages.
        given: A dictionary by output name, a list in the outputs' order, or either in the outputs'
            own nesting.
        structure: The outputs, where they are known; otherwise None.
        names: The outputs' names.
        aliases: Other names for the outputs, in the same order.

    Raises:
        ValueError: A name that no output has, or a list of the wrong length.
    """
    if given is None:
        return [None] * len(names)
    if _is_nested(structure) and isinstance(given, (Mapping, list, tuple)):
        return _along(argument, given, structure)
    if isinstance(given, Mapping):
        return _by_name(argument, given, names, aliases)
    given = list(given)
    if len(given) != len(names):
        raise ValueError(
            f"`{argument}` is a list of length {len(given)}; the model has {len(names)} "
            f"output{'s' * (len(names) != 1)} ({_listed(names)}). Give one entry per output, or a "
            "dictionary by output name."
        )
    return given


def flat_targets(argument: str, given: Any, structure: Any, names: list[str]) -> list[Any]:
    """Return one target (or weight) per output, None where there is none.

    Raises:
        ValueError: The number of targets, or their names, do not fit the outputs.
    """
    count = len(names)
    if given is None:
        return [None] * count
    if isinstance(given, Mapping):
        return spread(argument, given, structure, names)
    found = flat(given) if isinstance(given, (list, tuple)) else [given]
    if len(found) != count:
        raise ValueError(
            f"The model has {count} output{'s' * (count != 1)} ({_listed(names)}) and was given "
            f"{len(found)} arrays as `{argument}`. Give one per output, in a list or in a "
            "dictionary by output name."
        )
    return found


def _is_nested(structure: Any) -> bool:
    """Tell whether outputs are containers of containers."""
    parts = (
        structure.values()
        if isinstance(structure, Mapping)
        else structure
        if isinstance(structure, (list, tuple))
        else ()
    )
    return any(isinstance(part, (Mapping, list, tuple)) for part in parts)


def _along(argument: str, given: Any, structure: Any) -> list[Any]:
    """Take `given` apart along the nesting of the outputs; what is no container counts for
    everything below it.
    """
    if given is None or not isinstance(given, (Mapping, list, tuple)):
        return [given] * len(flat(structure))
    if isinstance(structure, Mapping) and isinstance(given, Mapping):
        unknown = [key for key in given if key not in structure]
        if unknown:
            raise ValueError(
                f"`{argument}` has an entry for {unknown[0]!r}; the outputs have the keys "
                f"{_listed(structure)}."
            )
        return [
            leaf
            for key, part in structure.items()
            for leaf in _along(argument, given.get(key), part)
        ]
    if (
        isinstance(structure, (list, tuple))
        and isinstance(given, (list, tuple))
        and len(given) == len(structure)
    ):
        return [
            leaf
            for own, part in zip(given, structure, strict=True)
            for leaf in _along(argument, own, part)
        ]
    if not isinstance(structure, (Mapping, list, tuple)):
        return [given]
    raise ValueError(
        f"`{argument}` does not have the nesting of the outputs: {given!r} was given for "
        f"{len(flat(structure))} outputs."
    )


def _by_name(
    argument: str, given: Mapping, names: list[str], aliases: list[str] | None
) -> list[Any]:
    use_aliases = (
        aliases is not None
        and len(aliases) == len(names)
        and not any(key in names for key in given)
    )
    keys = aliases if use_aliases and aliases and any(key in aliases for key in given) else names
    for key in given:
        if key not in keys:
            close = closest_match(str(key), keys)
            hint = f" Did you mean {close!r}?" if close else ""
            raise ValueError(
                f"`{argument}` has an entry for {key!r}, which is no output of the model.{hint} "
                f"Its outputs are {_listed(keys)}."
            )
    return [given.get(key) for key in keys]


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names)
