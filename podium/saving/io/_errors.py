"""Errors about files: one exception that all of `saving` raises, and the path added to others.

Messages continue the sentence "'path' ...", so that the functions users call add the path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

_MAX_MESSAGE = 2000  # characters, with the path
_MAX_PATH = 1000


class InvalidFileError(Exception):
    """The file is not what it should be. Becomes a ValueError that names the path."""


def name_path(path: str, text: object) -> str:
    """Return the message of a refusal, "'path' ...", of limited length."""
    return shorten(f"{_show(path)} {text}")


def _show(path: str) -> str:
    return repr(path) if len(path) <= _MAX_PATH else f"{path[:_MAX_PATH]!r}..."


def shorten(message: str) -> str:
    """Return a message of limited length."""
    return message if len(message) <= _MAX_MESSAGE else f"{message[: _MAX_MESSAGE - 4]} ..."


def add_path_to_errors(path: str) -> contextlib.AbstractContextManager[None]:
    """Name the file in errors of the classes and functions that its config refers to."""
    return add_subject_to_errors(_show(path))


@contextlib.contextmanager
def add_subject_to_errors(subject: str) -> Iterator[None]:
    """Name what a config is from in errors of the classes and functions that it refers to."""
    try:
        yield
    except RecursionError:
        message = f"{subject} was rejected: its config is nested too deep."
        raise ValueError(shorten(message)) from None
    except (
        ValueError,
        TypeError,
        ArithmeticError,
        LookupError,
        AttributeError,
        NotImplementedError,
    ) as error:
        raise ValueError(shorten(f"{subject} cannot be loaded: {error}")) from error
