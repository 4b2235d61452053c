"""Targets and weights passed by the names of their columns: `fit(table, y="label")` splits the
table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from podium._typing import Tree
from podium.core import unknown_choice
from podium.data.columns._arrow import from_arrow
from podium.data.columns._foreign_types import is_instance_of
from podium.data.columns._hugging_face import (
    hugging_face_columns,
    is_hugging_face_table,
    table_names,
)
from podium.data.columns._pandas import from_pandas
from podium.data.columns._polars import from_polars

# Returns columns of a table as arrays: a function of an argument's name and the columns' names.
ReadColumns = Callable[[str, list[str]], Any]

# (whether an object is such a table, its column names, a function that returns some columns)
_TABLES: tuple[
    tuple[Callable[[Any], bool], Callable[[Any], list[Any]], Callable[[Any], ReadColumns]], ...
] = (
    (
        lambda x: is_instance_of(x, "pandas", "DataFrame"),
        lambda x: list(x.columns),
        lambda x: partial(from_pandas, x),
    ),
    (
        lambda x: is_instance_of(x, "polars", "DataFrame"),
        lambda x: list(x.columns),
        lambda x: partial(from_polars, x),
    ),
    (
        lambda x: is_instance_of(x, "pyarrow", "Table", "RecordBatch"),
        lambda x: list(x.column_names),
        lambda x: partial(from_arrow, x),
    ),
    (is_hugging_face_table, table_names, hugging_face_columns),
)


def split_named_columns(
    x: Tree,
    y: Tree,
    sample_weight: Tree,
    argument_names: tuple[str, str, str] = ("x", "y", "sample_weight"),
) -> tuple[Tree, Tree, Tree]:
    """Return x, y and sample_weight; if y and sample_weight name columns of the table x, those
    columns are removed from x and returned in their place.

    Several names become one array of those columns; of a Hugging Face dataset, a list of arrays,
    one for each output.

    Args:
        x: The inputs; values other than tables are returned as they are.
        y: The targets, the name of a column, or a list of names.
        sample_weight: The weights, or the name or names of their columns.
        argument_names: The names of the three arguments, for messages.
    """
    table_type = next((row for row in _TABLES if row[0](x)), None)
    if table_type is None or not (_as_name_list(y) or _as_name_list(sample_weight)):
        return x, y, sample_weight
    _, names_of, columns_of = table_type
    known, read_columns = names_of(x), columns_of(x)
    for argument, names in zip(
        argument_names[1:], (_as_name_list(y), _as_name_list(sample_weight)), strict=True
    ):
        for name in names:
            if name not in known:
                raise unknown_choice(f"column in `{argument}`:", name, known)
            if known.count(name) > 1:
                raise ValueError(
                    f"`{argument}` names the column {name!r}, of which `{argument_names[0]}` has "
                    f"{known.count(name)}. Rename them."
                )
    used = {*_as_name_list(y), *_as_name_list(sample_weight)}
    remaining = [name for name in known if name not in used]
    if not remaining:
        raise ValueError(
            f"`{argument_names[0]}` has no column left for the inputs: `{argument_names[1]}` and "
            f"`{argument_names[2]}` name all of {known}."
        )
    as_list = is_hugging_face_table(x)
    targets, weights = (
        _columns(y, argument_names[1], read_columns, as_list),
        _columns(sample_weight, argument_names[2], read_columns, as_list),
    )
    return read_columns(argument_names[0], remaining), targets, weights


def _as_name_list(value: object) -> list[str]:
    """Return one or several names as a list; an empty list for other values."""
    names = [value] if isinstance(value, str) else value
    return (
        list(names)
        if isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
        else []
    )


def _columns(value: Tree, argument: str, read_columns: ReadColumns, as_list: bool) -> Tree:
    if as_list and not isinstance(value, str) and _as_name_list(value):
        return [read_columns(f"{argument}[{index}]", [name]) for index, name in enumerate(value)]
    return read_columns(argument, _as_name_list(value)) if _as_name_list(value) else value
