"""Which loss, metric, target or weight belongs to which output of a model.

What users give per output (one thing for all, a list, a dictionary by name) is spread here over the flat list of
outputs; names that no output has, and lists of the wrong length, are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core import leaves_of, nearest


def output_names(structure: Any, known: list[str] | None = None) -> list[str]:
    """Name the outputs: the model's own names, the keys of a dictionary, or `output_1`, `output_2`, ..."""
    if isinstance(structure, Mapping) and all(len(leaves_of(value)) == 1 for value in structure.values()):
        return [str(key) for key in structure]
    count = len(leaves_of(structure))
    if known and len(known) == count:
        return unique_names(known)
    return [f"output_{index + 1}" for index in range(count)]


def unique_names(names: list[str]) -> list[str]:
    """Add `_1`, `_2`, ... to names that come again, as when one layer makes two outputs."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        made.append(name if count == 0 else f"{name}_{count}")
    return made


def spread(argument: str, given: Any, names: list[str], aliases: list[str] | None = None) -> list[Any]:
    """Return one entry per output from what was given for `argument`: a dictionary or a list; None where nothing was said.

    Args:
        argument: The argument's name, for messages.
        given: A dictionary by output name, or a list in the outputs' order.
        names: The outputs' names.
        aliases: Other names for the outputs, in the same order.

    Raises:
        ValueError: A name that no output has, or a list of the wrong length.
    """
    if given is None:
        return [None] * len(names)
    if isinstance(given, Mapping):
        use_aliases = aliases is not None and len(aliases) == len(names) and not any(key in names for key in given)
        keys = aliases if use_aliases and aliases and any(key in aliases for key in given) else names
        for key in given:
            if key not in keys:
                close = nearest(str(key), keys)
                hint = f" Did you mean {close!r}?" if close else ""
                raise ValueError(
                    f"`{argument}` has an entry for {key!r}, which is no output of the model.{hint} Its outputs are "
                    f"{', '.join(repr(name) for name in keys)}."
                )
        return [given.get(key) for key in keys]
    given = list(given)
    if len(given) != len(names):
        raise ValueError(
            f"`{argument}` is a list of length {len(given)}; the model has {len(names)} output{'s' * (len(names) != 1)} "
            f"({', '.join(repr(name) for name in names)}). Give one entry per output, or a dictionary by output name."
        )
    return given


def flat_targets(argument: str, given: Any, y_pred: Any, names: list[str]) -> list[Any]:
    """Return one target (or weight) per output, None where there is none.

    Raises:
        ValueError: The number of targets, or their names, do not fit the outputs.
    """
    count = len(names)
    if given is None:
        return [None] * count
    if isinstance(given, Mapping):
        if isinstance(y_pred, Mapping):
            return spread(argument, given, [str(key) for key in y_pred])
        return spread(argument, given, names)
    flat = leaves_of(given) if isinstance(given, (list, tuple)) else [given]
    if isinstance(given, (list, tuple)) and len(given) == count and any(part is None for part in given):
        flat = list(given)  # None is no leaf, but says that an output has no target
    if len(flat) != count:
        raise ValueError(
            f"The model has {count} output{'s' * (count != 1)} ({', '.join(repr(name) for name in names)}) and was given "
            f"{len(flat)} arrays as `{argument}`. Give one per output, in a list or in a dictionary by output name."
        )
    return flat
