"""Recognizes objects of other libraries by their classes, without importing those libraries. Also
builds the errors for their columns.
"""

from __future__ import annotations

from typing import Any, TypeAlias

# An object of a library that Podium does not import, so its type cannot be named.
ForeignObject: TypeAlias = Any

NUMBERS_ONLY = "Podium computes with numbers and booleans only."


def package_names(value: object) -> set[str]:
    """Return the names of the packages that define the classes of an object, such as {"torch"}."""
    return {(cls.__module__ or "").partition(".")[0] for cls in type(value).__mro__}


def is_instance_of(value: object, package: str, *names: str) -> bool:
    """Return whether an object is an instance of a class of one of those names, defined in that
    package.
    """
    return any(
        cls.__name__ in names and (cls.__module__ or "").partition(".")[0] == package
        for cls in type(value).__mro__
    )


def describe_column(column: object, table: str) -> str:
    """Return the description of a column for messages: "column 'city' of `x`"."""
    return f"column {column!r} of `{table}`"


def column_indices(names: list[Any], chosen: list[Any] | None) -> list[int]:
    """Return the indices of the chosen columns of a table, in the order of `chosen`; None chooses
    all.
    """
    if chosen is None:
        return list(range(len(names)))
    indices: dict[Any, list[int]] = {}
    for index, name in enumerate(names):
        indices.setdefault(name, []).append(index)
    return [indices[name].pop(0) for name in chosen]  # a name may occur twice


def missing_values_error(
    column: str, count: int, total: int | str, fix: str, dtype: object = None
) -> ValueError:
    """Return the error for a column with missing values."""
    suffix = "" if dtype is None else f" (dtype {dtype})"
    return ValueError(
        f"{column} has missing values at {count} of {total} places{suffix}. Fill them first: {fix}."
    )


def not_numeric_error(column: str, content: str, dtype: object, fix: str) -> TypeError:
    """Return the error for a column that does not hold numbers."""
    return TypeError(
        f"{column} holds {content} (dtype {dtype}). {NUMBERS_ONLY} {fix}, or leave the column out."
    )
