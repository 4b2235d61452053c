"""Files from the web, fetched once: `get_file`.

A file arrives under a temporary name beside its place, is checked, and is renamed: what has its
final name is whole.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import pathlib
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from podium.core import check_choice
from podium.utils._extract import extract_archive


def get_file(
    fname: str | None = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str | None = "auto",
    cache_dir: str | os.PathLike | None = None,
    force_download: bool = False,
) -> str:
    """Fetch a file from the web, unless it is in the cache, and return its path.

    The cache is `~/.keras`, or the folder named by the environment variable KERAS_HOME.

    Args:
        fname: Name in the cache; by default the last part of the URL.
        origin: The URL.
        untar: Whether to unpack a tar archive; `extract` is the newer word.
        md5_hash: The file's MD5, if that is what is known; prefer `file_hash`.
        file_hash: The file's SHA-256 or MD5. A file that differs is refused.
        cache_subdir: Folder within the cache.
        hash_algorithm: "sha256", "md5", or "auto" to tell by the length of the hash.
        extract: Whether to unpack a tar or zip archive, into a folder named after it.
        archive_format: "tar", "zip" or "auto" to try both.
        cache_dir: Another cache.
        force_download: Whether to fetch it although it is in the cache.

    Returns:
        The path of the file, or of the folder with what was unpacked.

    Raises:
        OSError: It is not in the cache and could not be fetched; the message says where to put it
            by hand.
        ValueError: It is not the file that the hash belongs to.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "source.txt").write_text("hello")
        >>> path = podium.utils.get_file("copy.txt", (folder / "source.txt").as_uri(), cache_dir=folder)
        >>> pathlib.Path(path).read_text()
        'hello'
    """
    if not origin:
        raise ValueError("get_file() was given no origin; the URL of the file was expected.")
    name = fname or pathlib.PurePosixPath(urllib.parse.urlparse(origin).path).name
    if not name:
        raise ValueError(
            f"origin={origin!r} does not end in the name of a file; give one with fname=."
        )
    root = pathlib.Path(cache_dir or os.environ.get("KERAS_HOME") or pathlib.Path.home() / ".keras")
    target = root / cache_subdir / name
    wanted = file_hash or md5_hash
    fits = target.is_file() and (wanted is None or _hash(target, wanted, hash_algorithm) == wanted)
    if force_download or not fits:
        target.parent.mkdir(parents=True, exist_ok=True)
        _download(origin, target, wanted, hash_algorithm)
    if extract or untar:
        return str(_unpack(target, "tar" if untar else archive_format))
    return str(target)


def _download(origin: str, target: pathlib.Path, wanted: str | None, algorithm: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    part = pathlib.Path(temporary)
    try:
        with (
            os.fdopen(handle, "wb") as file,
            urllib.request.urlopen(origin, timeout=60) as response,
        ):
            while block := response.read(1 << 20):
                file.write(block)
            _check_whole(file.tell(), response)
        if wanted is not None and (found := _hash(part, wanted, algorithm)) != wanted:
            raise ValueError(
                f"{origin} has the hash {found}; {wanted} was expected. The file was damaged on "
                "its way or has been changed; it was not kept."
            )
        os.replace(part, target)
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        ConnectionError,
        TimeoutError,
    ) as error:
        raise OSError(
            f"{origin} could not be fetched: {_reason(error)}. Without a connection, bring the "
            f"file from a machine that has one and put it at {target}"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _check_whole(received: int, response: Any) -> None:
    """Compare with the length that the server announced: a connection that is cut ends like a whole
    file.
    """
    announced = getattr(response, "headers", {}).get("Content-Length")
    if announced is not None and received != int(announced):
        raise ConnectionError(f"the connection ended after {received} of {announced} bytes")


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}"
    return str(getattr(error, "reason", None) or error or type(error).__name__)


def _hash(path: pathlib.Path, wanted: str, algorithm: str) -> str:
    check_choice("hash_algorithm", algorithm, ("auto", "sha256", "md5"))
    kind = ("sha256" if len(wanted) == 64 else "md5") if algorithm == "auto" else algorithm
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _unpack(archive: pathlib.Path, how: Any) -> pathlib.Path:
    """Unpack beside the archive, into a folder with its name and `_extracted`; a folder that is
    there is whole.
    """
    target = archive.with_name(f"{archive.name.split('.')[0]}_extracted")
    if target.is_dir():
        return target
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=f".{target.name}.") as temporary:
        inner = pathlib.Path(temporary) / "whole"
        extract_archive(archive, inner, how)
        os.replace(inner, target)
    return target
