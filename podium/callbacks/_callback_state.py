"""What a callback remembers, as plain data for a checkpoint: its attributes, unless the constructor
was given them.
"""

from __future__ import annotations

import inspect
from typing import Any

from podium.saving.internal import is_encodable

_NOT_STATE = frozenset({"params", "every_batch", "_model", "_ended_by", "_is_resuming"})


def plain_attributes(callback: Any) -> dict[str, Any]:
    """Return the attributes that hold plain data and are not arguments of the constructor under
    their own names.

    Arguments are left out, so that a run may be continued with another `patience`.
    """
    arguments = {
        name
        for cls in type(callback).__mro__
        if "__init__" in vars(cls) and cls is not object
        for name in inspect.signature(vars(cls)["__init__"]).parameters
    }
    return {
        name: value
        for name, value in vars(callback).items()
        if name not in arguments and name not in _NOT_STATE and is_encodable(value)
    }
