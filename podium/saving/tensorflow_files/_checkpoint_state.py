"""The file `checkpoint` in a directory of TensorFlow checkpoints: it names the latest ones.

It is a protocol buffer as text. Paths that leave the directory, as after it was moved, are looked
up in the directory by their last part.
"""

from __future__ import annotations

import os
import re

from podium.saving.io._atomic_write import atomic_write, open_regular_file
from podium.saving.io._errors import InvalidFileError
from podium.saving.tensorflow_files._detect import INDEX_SUFFIX

STATE_FILE = "checkpoint"
_MAX_BYTES = 16 << 20
_PATH = re.compile(
    rb'^\s*(model_checkpoint_path|all_model_checkpoint_paths)\s*:\s*"((?:[^"\\\n]|\\.)*)"', re.M
)
_ESCAPE = re.compile(rb'\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|["\'\\nrt])')
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def write_state(caller: str, prefix: str, all_prefixes: list[str] | None = None) -> None:
    """Make a checkpoint the latest one of its directory.

    Args:
        caller: The function that the user called, for messages.
        prefix: The path of the checkpoint, without `.index`.
        all_prefixes: The checkpoints that are kept, the latest last; by default this one alone.
    """
    directory, name = os.path.split(prefix)
    names = [os.path.basename(path) for path in all_prefixes or [prefix]]
    lines = [b'model_checkpoint_path: "%s"\n' % _escape(name)]
    lines += [b'all_model_checkpoint_paths: "%s"\n' % _escape(kept) for kept in names]
    with atomic_write(caller, os.path.join(directory, STATE_FILE)) as file:
        file.write(b"".join(lines))


def read_state(caller: str, directory: str, state_file: str = STATE_FILE) -> list[str]:
    """Return the paths of the checkpoints that a directory names, the latest last.

    Args:
        caller: The function that the user called, for messages.
        directory: The directory.
        state_file: The name of the file.

    Raises:
        FileNotFoundError: There is no such file.
        InvalidFileError: The file does not name checkpoints.
    """
    with open_regular_file(caller, os.path.join(directory, state_file)) as file:
        content = file.read(_MAX_BYTES + 1)
    stored = [(kind, _unescape(text)) for kind, text in _PATH.findall(content)]
    latest = [path for kind, path in stored if kind == b"model_checkpoint_path"]
    if len(content) > _MAX_BYTES or len(latest) != 1 or not latest[0]:
        raise InvalidFileError(f"is damaged: its `{state_file}` does not name a checkpoint.")
    others = [path for kind, path in stored if kind != b"model_checkpoint_path"]
    paths = [path for path in others if path != latest[0]] + latest
    return [_inside(directory, path) for path in paths]


def has_checkpoint(prefix: str) -> bool:
    """Return whether a checkpoint has an index at a path."""
    return os.path.isfile(prefix + INDEX_SUFFIX)


def _inside(directory: str, path: str) -> str:
    """Return a stored path as one in the directory."""
    joined = os.path.normpath(os.path.join(directory, path))
    base = os.path.abspath(directory)
    if os.path.commonpath([base, os.path.abspath(joined)]) == base:
        return joined
    return os.path.join(directory, os.path.basename(path))


def _escape(text: str) -> bytes:
    return b"".join(
        bytes([byte]) if 32 <= byte < 127 and byte not in b'"\\' else b"\\%03o" % byte
        for byte in os.fsencode(text)
    )


def _unescape(content: bytes) -> str:
    def replace(match: re.Match[bytes]) -> bytes:
        code = match[1]
        if code[:1].isdigit():
            return bytes([int(code, 8) & 0xFF])
        if code.startswith(b"x"):
            return bytes([int(code[1:], 16)])
        return _PLAIN.get(code, code)

    path = os.fsdecode(_ESCAPE.sub(replace, content))
    if "\0" in path:
        raise InvalidFileError("is damaged: it names a path with a zero byte.")
    return path
