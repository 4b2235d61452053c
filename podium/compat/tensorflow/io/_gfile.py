"""Files in `tf.io.gfile` (local ones only), and string conversions of `tf.compat`."""

import glob as _glob
import os
import shutil
from collections.abc import Iterator, Sequence
from typing import IO, Any


def GFile(name: str, mode: str = "r") -> IO[Any]:
    """Open a file.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> import os
        >>> with tf.io.gfile.GFile(os.devnull) as file:
        ...     file.read()
        ''
    """
    return open(name, mode)


def exists(path: str) -> bool:
    """Return whether a path exists.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.io.gfile.exists("/surely/not/here")
        False
    """
    return os.path.exists(path)


def isdir(path: str) -> bool:
    """Return whether a path is a directory.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.io.gfile.isdir(".")
        True
    """
    return os.path.isdir(path)


def listdir(path: str) -> list[str]:
    """List the names in a directory.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> isinstance(tf.io.gfile.listdir("."), list)
        True
    """
    return os.listdir(path)


def glob(pattern: str | Sequence[str]) -> list[str]:
    """List the paths that match a pattern, or one of several, sorted.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.io.gfile.glob("/surely/not/here/*")
        []
    """
    patterns = [pattern] if isinstance(pattern, str) else pattern
    return sorted(path for pattern in patterns for path in _glob.glob(pattern))


def makedirs(path: str) -> None:
    """Create a directory and its parents, unless they exist.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.io.gfile.makedirs(".")
    """
    os.makedirs(path, exist_ok=True)


def copy(src: str, dst: str, overwrite: bool = False) -> None:
    """Copy a file. An existing file is replaced only with `overwrite=True`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.io.gfile.copy("here", ".")
        Traceback (most recent call last):
        FileExistsError: '.' exists; pass overwrite=True to replace it.
    """
    if os.path.exists(dst) and not overwrite:
        raise FileExistsError(f"{dst!r} exists; pass overwrite=True to replace it.")
    shutil.copy(src, dst)


def remove(path: str) -> None:
    """Delete a file.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.io.gfile.remove("/surely/not/here")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: '/surely/not/here'
    """
    os.remove(path)


def rename(src: str, dst: str, overwrite: bool = False) -> None:
    """Rename a file. An existing file is replaced only with `overwrite=True`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.io.gfile.rename("here", ".")
        Traceback (most recent call last):
        FileExistsError: '.' exists; pass overwrite=True to replace it.
    """
    if os.path.exists(dst) and not overwrite:
        raise FileExistsError(f"{dst!r} exists; pass overwrite=True to replace it.")
    os.replace(src, dst)


def walk(top: str, topdown: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Iterate over a directory tree, as `os.walk` does.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> list(tf.io.gfile.walk("/surely/not/here"))
        []
    """
    return os.walk(top, topdown)


def as_bytes(bytes_or_text: str | bytes, encoding: str = "utf-8") -> bytes:
    """Encode a string as bytes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.compat.as_bytes("text")
        b'text'
    """
    return (
        bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)
    )


def as_str(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Decode bytes as a string.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.compat.as_str(b"text")
        'text'
    """
    return (
        bytes_or_text if isinstance(bytes_or_text, str) else bytes(bytes_or_text).decode(encoding)
    )
