"""Automatic names (`dense`, `dense_1`) and name scopes, which give Variables their paths."""

from __future__ import annotations

import collections
import contextlib
import re

from podium.core._context import context, override

_counts: collections.Counter[str] = collections.Counter()


def snake_case(name: str) -> str:
    """Return a class name in snake case, as automatic names begin.

    Example:
        >>> podium.core.snake_case("LayerNormalization"), podium.core.snake_case("Conv2D")
        ('layer_normalization', 'conv2d')
    """
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def auto_name(stem: str) -> str:
    """Return `stem` the first time, then `stem_1`, `stem_2`, ...

    Example:
        >>> podium.core.reset_names()
        >>> podium.core.auto_name("dense"), podium.core.auto_name("dense")
        ('dense', 'dense_1')
    """
    count = _counts[stem]
    _counts[stem] += 1
    return stem if count == 0 else f"{stem}_{count}"


def reset_names() -> None:
    """Restart the numbering of automatic names.

    Example:
        >>> podium.core.reset_names()
    """
    _counts.clear()


def name_scope(name: str) -> contextlib.AbstractContextManager[str]:
    """Prefix the paths of Variables created inside the `with` block with `name`.

    Example:
        >>> with podium.name_scope("encoder"):
        ...     podium.Variable(0.0, name="scale").path
        'encoder/scale'
    """
    if not isinstance(name, str) or not name or "/" in name:
        raise ValueError(
            f"name_scope was given {name!r}; a non-empty string without '/' was expected."
        )
    return override(enter_result=name, name_scopes=(*context.name_scopes, name))


def layer_name_scope(name: str) -> contextlib.AbstractContextManager[str | None]:
    """Open the name scope of a layer, unless it is the innermost one already."""
    return contextlib.nullcontext() if context.name_scopes[-1:] == (name,) else name_scope(name)


def current_path(name: str) -> str:
    """Return `name` prefixed with the names of all open scopes."""
    return "/".join((*context.name_scopes, name))
