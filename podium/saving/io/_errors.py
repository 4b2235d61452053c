"""Errors about files: one exception that all of `saving` raises, and the path added to others.

Messages continue the sentence "'path' ...", so that the functions users call add the path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

_MAX_MESSAGE = 1500  # characters of a message that may quote a config


class InvalidFileError(Exception):
    """The file is not what it should be. Becomes a ValueError that names the path."""


@contextlib.contextmanager
def add_path_to_errors(path: str) -> Iterator[None]:
    """Name the file in errors of the classes and functions that its config refers to."""
    try:
        yield
    except RecursionError:
        raise ValueError(f"{path!r} was rejected: its config is nested too deep.") from None
    except (
        ValueError,
        TypeError,
        ArithmeticError,
        LookupError,
        AttributeError,
        NotImplementedError,
    ) as error:
        text = str(error)
        shown = text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]} ..."
        raise ValueError(f"{path!r} cannot be loaded: {shown}") from error
