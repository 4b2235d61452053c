"""What tests import as `keras.src.backend.common.global_state`."""

from __future__ import annotations

from typing import Any

import podium

_attributes: dict[str, Any] = {}


def get_global_attribute(name: str, default: Any = None, set_to_default: bool = False) -> Any:
    """Return a global value of the test that runs."""
    if name not in _attributes and set_to_default:
        _attributes[name] = default
    return _attributes.get(name, default)


def set_global_attribute(name: str, value: Any) -> None:
    """Set a global value of the test that runs."""
    _attributes[name] = value


def clear_session(free_memory: bool = True) -> None:
    """Reset automatic names and settings, as before every test."""
    _attributes.clear()
    podium.utils.clear_session()
