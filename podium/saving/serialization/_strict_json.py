"""Strict JSON: no infinities on writing; limits of size and depth, no duplicate keys on reading.

Values that JSON does not have are encoded by `_json_codec.py`.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from podium.core.internal import FileBudgetError, charge_file_budget

MAX_TEXT_BYTES = 64 << 20  # of one config
_OTHER_BYTES = bytes(byte for byte in range(256) if byte not in b"[]{}")
_MAX_DEPTH = 200  # nested objects and lists; Keras's configs of nested models stay below 100


class InvalidJsonError(ValueError):
    """A text is not JSON, or exceeds a limit."""


def dump_json(value: object, indent: int | None = None, sort_keys: bool = False) -> str:
    """Return plain data as JSON; raise for a value that JSON does not have, such as infinity."""
    return json.dumps(value, allow_nan=False, indent=indent, sort_keys=sort_keys)


def parse_json(text: bytes | str) -> Any:
    """Parse an untrusted text."""
    if len(text) > MAX_TEXT_BYTES:
        raise InvalidJsonError(
            f"is {len(text)} bytes long, over the limit of {MAX_TEXT_BYTES}: too large for a config"
        )
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
    num_values = sum(map(raw.count, (b",", b"[", b"{")))
    try:
        charge_file_budget("values", num_values, f"has {num_values} values, too many for its size")
    except FileBudgetError as error:
        raise InvalidJsonError(str(error)) from None
    _check_depth(raw, num_values)
    try:
        return json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_reject_duplicates,
            parse_constant=_reject_constant,
        )
    except InvalidJsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidJsonError(f"is invalid JSON ({error})") from None


def _check_depth(raw: bytes, num_values: int) -> None:
    """Count brackets outside of strings, so that the recursion of the parser is limited."""
    unescaped = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if unescaped.count(b'"') > 4 * (num_values + 1):  # a key and a value have two each
        raise InvalidJsonError("is invalid JSON (it has quotes without values)")
    unquoted = unescaped.split(b'"')[::2]
    depth = 0
    for byte in b"".join(unquoted).translate(None, _OTHER_BYTES):
        depth += 1 if byte in b"[{" else -1
        if depth > _MAX_DEPTH:
            raise InvalidJsonError(f"is nested more than {_MAX_DEPTH} levels deep")


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InvalidJsonError(f"has the duplicate key {key!r}")
        result[key] = value
    return result


def _reject_constant(name: str) -> NoReturn:
    raise InvalidJsonError(f"contains {name}, which is not JSON, in its config")
