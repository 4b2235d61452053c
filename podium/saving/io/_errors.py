"""How a file is refused: one exception for the rooms of saving, and the path for what goes wrong in
making a model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

_LONGEST = 1500  # characters of a message that a config may have a part in


class Unfit(Exception):
    """The file is not what it should be; becomes a ValueError that names the path."""


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
    """Name the file in the errors of classes and functions that its config asks for."""
    try:
        yield
    except RecursionError:
        raise ValueError(f"{path!r} was refused: its config is nested too deep.") from None
    except (
        ValueError,
        TypeError,
        ArithmeticError,
        LookupError,
        AttributeError,
        NotImplementedError,
    ) as error:
        text = str(error)
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
        raise ValueError(f"{path!r} cannot be loaded: {shown}") from error
