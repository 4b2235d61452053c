"""Small private functions of Keras that its tests use as tools, written for them."""

from __future__ import annotations

from typing import Any


def removeprefix(text: str, prefix: str) -> str:
    """Return a text without a prefix."""
    return text.removeprefix(prefix)


def removesuffix(text: str, suffix: str) -> str:
    """Return a text without a suffix."""
    return text.removesuffix(suffix)


def default(method: Any) -> Any:
    """Mark a method as the default of a base class."""
    method._is_default = True
    return method


def is_default(method: Any) -> bool:
    """Return whether a method has the mark of `default`."""
    return getattr(method, "_is_default", False)
