"""JSON with limits: strict text out, and in only what is of a sensible size and depth, without
doubled keys.
"""

from __future__ import annotations

import json
from typing import Any

LARGEST_TEXT = 64 << 20  # bytes of one description
_OTHER_BYTES = bytes(byte for byte in range(256) if byte not in b"[]{}")
_DEEPEST = 200  # nested objects and lists; Keras's own descriptions of nested models stay below 100


class BadJson(ValueError):
    """A text is no JSON, or none that is accepted."""


def dump(value: Any) -> str:
    """Write plain data as JSON; a value that JSON does not have, such as infinity, is refused."""
    return json.dumps(value, allow_nan=False)


def parse(text: bytes | str) -> Any:
    """Read JSON from a text that nobody vouches for."""
    if len(text) > LARGEST_TEXT:
        raise BadJson(
            f"is {len(text)} bytes long, over the limit of {LARGEST_TEXT}: too large for a "
            "description"
        )
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
    _check_depth(raw)
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_without_duplicates, parse_constant=_no_constant
        )
    except BadJson:
        raise
    except (ValueError, RecursionError) as error:
        raise BadJson(f"is invalid JSON ({error})") from None


def _check_depth(raw: bytes) -> None:
    """Count brackets outside of strings, so that a deep text never reaches the parser's own
    recursion.
    """
    unquoted = raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    depth = 0
    for byte in b"".join(unquoted).translate(None, _OTHER_BYTES):
        depth += 1 if byte in b"[{" else -1
        if depth > _DEEPEST:
            raise BadJson(f"is nested more than {_DEEPEST} levels deep")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BadJson(f"has the duplicate key {key!r}")
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise BadJson(f"holds {name}, which is not JSON, in its config")
