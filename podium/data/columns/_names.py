"""Targets and weights given by the names of their columns: `fit(table, y="label")` takes them out
of the table.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from podium.core import unknown_choice
from podium.data.columns._arrow import from_arrow
from podium.data.columns._hugging_face import is_hugging_face_table, opened, table_names
from podium.data.columns._origin import is_a
from podium.data.columns._pandas import from_pandas
from podium.data.columns._polars import from_polars

# (whether an object is such a table, the names of its columns, a function that gives some of them)
_TABLES: tuple[tuple[Any, Any, Any], ...] = (
    (
        lambda x: is_a(x, "pandas", "DataFrame"),
        lambda x: list(x.columns),
        lambda x: partial(from_pandas, x),
    ),
    (
        lambda x: is_a(x, "polars", "DataFrame"),
        lambda x: list(x.columns),
        lambda x: partial(from_polars, x),
    ),
    (
        lambda x: is_a(x, "pyarrow", "Table", "RecordBatch"),
        lambda x: list(x.column_names),
        lambda x: partial(from_arrow, x),
    ),
    (is_hugging_face_table, table_names, opened),
)


def taken_out(
    x: Any, y: Any, sample_weight: Any, words: tuple[str, str, str] = ("x", "y", "sample_weight")
) -> tuple:
    """Return x, y and sample_weight; what of the latter is names of columns of the table x is taken
    out of it.

    Several names stand for one array of those columns; of a Hugging Face dataset, for a list of
    arrays, one for each output.

    Args:
        x: The inputs; anything but a table stays as it is.
        y: The targets, the name of a column, or a list of names.
        sample_weight: The weights, or a name or names too.
        words: How messages call the three.
    """
    kind = next((kind for kind in _TABLES if kind[0](x)), None)
    if kind is None or not (_listed(y) or _listed(sample_weight)):
        return x, y, sample_weight
    _, names_of, table = kind
    known, some = names_of(x), table(x)
    for word, names in zip(words[1:], (_listed(y), _listed(sample_weight)), strict=True):
        for name in names:
            if name not in known:
                raise unknown_choice(f"column in `{word}`:", name, known)
            if known.count(name) > 1:
                raise ValueError(
                    f"`{word}` names the column {name!r}, of which `{words[0]}` has "
                    f"{known.count(name)}. Rename them."
                )
    taken = {*_listed(y), *_listed(sample_weight)}
    rest = [name for name in known if name not in taken]
    if not rest:
        raise ValueError(
            f"`{words[0]}` has no column left for the inputs: `{words[1]}` and `{words[2]}` name "
            f"all of {known}."
        )
    apart = is_hugging_face_table(x)
    targets, weights = (
        _columns(y, words[1], some, apart),
        _columns(sample_weight, words[2], some, apart),
    )
    return some(words[0], rest), targets, weights


def _listed(value: Any) -> list[str]:
    """Return one or several names as a list; an empty one if they are no names."""
    names = [value] if isinstance(value, str) else value
    return (
        list(names)
        if isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
        else []
    )


def _columns(value: Any, word: str, some: Any, apart: bool) -> Any:
    if apart and not isinstance(value, str) and _listed(value):
        return [some(f"{word}[{place}]", [name]) for place, name in enumerate(value)]
    return some(word, _listed(value)) if _listed(value) else value
