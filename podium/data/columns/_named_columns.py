"""Targets and weights given by the names of their columns: `fit(table, y="label")` takes them out
of the table.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from podium.core import unknown_choice
from podium.data.columns._arrow import from_arrow
from podium.data.columns._foreign_types import is_instance_of
from podium.data.columns._hugging_face import is_hugging_face_table, opened, table_names
from podium.data.columns._pandas import from_pandas
from podium.data.columns._polars import from_polars

# (whether an object is such a table, the names of its columns, a function that gives some of them)
_TABLES: tuple[tuple[Any, Any, Any], ...] = (
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
    (is_hugging_face_table, table_names, opened),
)


def split_named_columns(
    x: Any,
    y: Any,
    sample_weight: Any,
    argument_names: tuple[str, str, str] = ("x", "y", "sample_weight"),
) -> tuple:
    """Return x, y and sample_weight; what of the latter is names of columns of the table x is taken
    out of it.

    Several names stand for one array of those columns; of a Hugging Face dataset, for a list of
    arrays, one for each output.

    Args:
        x: The inputs; anything but a table stays as it is.
        y: The targets, the name of a column, or a list of names.
        sample_weight: The weights, or a name or names too.
        argument_names: How messages call the three.
    """
    kind = next((kind for kind in _TABLES if kind[0](x)), None)
    if kind is None or not (_listed(y) or _listed(sample_weight)):
        return x, y, sample_weight
    _, names_of, table = kind
    known, some = names_of(x), table(x)
    for argument, names in zip(
        argument_names[1:], (_listed(y), _listed(sample_weight)), strict=True
    ):
        for name in names:
            if name not in known:
                raise unknown_choice(f"column in `{argument}`:", name, known)
            if known.count(name) > 1:
                raise ValueError(
                    f"`{argument}` names the column {name!r}, of which `{argument_names[0]}` has "
                    f"{known.count(name)}. Rename them."
                )
    taken = {*_listed(y), *_listed(sample_weight)}
    rest = [name for name in known if name not in taken]
    if not rest:
        raise ValueError(
            f"`{argument_names[0]}` has no column left for the inputs: `{argument_names[1]}` and "
            f"`{argument_names[2]}` name all of {known}."
        )
    apart = is_hugging_face_table(x)
    targets, weights = (
        _columns(y, argument_names[1], some, apart),
        _columns(sample_weight, argument_names[2], some, apart),
    )
    return some(argument_names[0], rest), targets, weights


def _listed(value: Any) -> list[str]:
    """Return one or several names as a list; an empty one if they are no names."""
    names = [value] if isinstance(value, str) else value
    return (
        list(names)
        if isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
        else []
    )


def _columns(value: Any, argument: str, some: Any, apart: bool) -> Any:
    if apart and not isinstance(value, str) and _listed(value):
        return [some(f"{argument}[{place}]", [name]) for place, name in enumerate(value)]
    return some(argument, _listed(value)) if _listed(value) else value
