"""What tests import as `conftest`: decorators that skip tests of other backends."""

from __future__ import annotations

from typing import Any

import pytest


def skip_if_backend(name: str, reason: str) -> Any:
    """Return a decorator that skips a test if the backend has a name; here it is "jax"."""
    return pytest.mark.skipif(name == "jax", reason=reason)
