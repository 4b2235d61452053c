"""Which package an object comes from, told by its class: Podium imports none of them unless the
user did.
"""

from __future__ import annotations

from typing import Any

NUMBERS_ONLY = "Podium computes with numbers and booleans only."


def origin(value: Any) -> set[str]:
    """Return the names of the packages that the classes of an object come from, such as
    {"torch"}.
    """
    return {(cls.__module__ or "").partition(".")[0] for cls in type(value).__mro__}


def is_instance_of(value: Any, package: str, *names: str) -> bool:
    """Tell whether an object is an instance of a class of one of those names, defined in that
    package.
    """
    return any(
        cls.__name__ in names and (cls.__module__ or "").partition(".")[0] == package
        for cls in type(value).__mro__
    )


def place(column: Any, table: str) -> str:
    """Write where a column is: "column 'city' of `x`"."""
    return f"column {column!r} of `{table}`"


def column_indices(names: list[Any], chosen: list[Any] | None) -> list[int]:
    """Return where the chosen columns of a table stand, in the order in which they were chosen;
    None chooses all.
    """
    if chosen is None:
        return list(range(len(names)))
    places: dict[Any, list[int]] = {}
    for at, name in enumerate(names):
        places.setdefault(name, []).append(at)
    return [places[name].pop(0) for name in chosen]  # a name may stand there twice


def missing(where: str, count: int, total: Any, fix: str, dtype: Any = None) -> ValueError:
    """Build the error for a column with missing values."""
    kind = "" if dtype is None else f" (dtype {dtype})"
    return ValueError(
        f"{where} has missing values at {count} of {total} places{kind}. Fill them first: {fix}."
    )


def not_numeric_error(where: str, what: str, dtype: Any, fix: str) -> TypeError:
    """Build the error for a column that holds something else than numbers."""
    return TypeError(
        f"{where} holds {what} (dtype {dtype}). {NUMBERS_ONLY} {fix}, or leave the column out."
    )
