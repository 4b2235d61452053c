"""Files from the web, downloaded once: `get_file`.

A file is downloaded under a temporary name next to its final path, verified, and renamed: a file
with its final name is complete.
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

from podium._typing import PathLike
from podium.core import check_choice
from podium.utils._extract_archive import extract_archive


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
    cache_dir: PathLike | None = None,
    force_download: bool = False,
) -> str:
    """Download a file, unless it is in the cache, and return its path.

    The cache is `~/.keras`, or the directory in the environment variable KERAS_HOME.

    Args:
        fname: File name in the cache, not a path; by default the last part of the URL.
        origin: The URL.
        untar: Whether to extract a tar archive; prefer `extract`.
        md5_hash: The file's MD5; prefer `file_hash`.
        file_hash: The file's SHA-256 or MD5. A file with another hash raises ValueError.
        cache_subdir: Directory within the cache.
        hash_algorithm: "sha256", "md5", or "auto" to choose by the length of the hash.
        extract: Whether to extract a tar or zip archive, into a directory named after it.
        archive_format: "tar", "zip" or "auto" to try both.
        cache_dir: Cache directory instead of the default.
        force_download: Whether to download the file although it is in the cache.

    Returns:
        The path of the file, or of the directory with the extracted files.

    Raises:
        OSError: The file is not in the cache and could not be downloaded; the message names the
            path to copy it to.
        ValueError: The file does not have the expected hash, or `fname` is a path.

    Example:
        >>> import tempfile, pathlib
        >>> directory = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (directory / "source.txt").write_text("hello")
        >>> origin = (directory / "source.txt").as_uri()
        >>> path = podium.utils.get_file("copy.txt", origin, cache_dir=directory)
        >>> pathlib.Path(path).read_text()
        'hello'
    """
    if not origin:
        raise ValueError("get_file() was given no origin; the URL of the file was expected.")
    name = fname or pathlib.PurePosixPath(urllib.parse.urlparse(origin).path).name
    if not name:
        raise ValueError(f"origin={origin!r} does not end in a file name; pass one as fname.")
    if name in (".", "..") or "/" in name or "\\" in name:
        raise ValueError(
            f"get_file() was given fname={name!r}, which is a path; the name of a file was "
            "expected. Its directory is cache_dir/cache_subdir: pass "
            "`cache_dir=` or `cache_subdir=`."
        )
    root = pathlib.Path(cache_dir or os.environ.get("KERAS_HOME") or pathlib.Path.home() / ".keras")
    target = root / cache_subdir / name
    expected = file_hash or md5_hash
    is_cached = target.is_file() and (
        expected is None or _hash(target, expected, hash_algorithm) == expected
    )
    if force_download or not is_cached:
        target.parent.mkdir(parents=True, exist_ok=True)
        _download(origin, target, expected, hash_algorithm)
    if extract or untar:
        return str(_extract(target, "tar" if untar else archive_format))
    return str(target)


def _download(origin: str, target: pathlib.Path, expected: str | None, algorithm: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    partial = pathlib.Path(temporary)
    try:
        with (
            os.fdopen(handle, "wb") as file,
            urllib.request.urlopen(origin, timeout=60) as response,
        ):
            while block := response.read(1 << 20):
                file.write(block)
            _check_length(file.tell(), response)
        if expected is not None and (actual := _hash(partial, expected, algorithm)) != expected:
            raise ValueError(
                f"{origin} has the hash {actual}; {expected} was expected. The file is corrupt or "
                "has changed; it was not stored."
            )
        os.replace(partial, target)
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        ConnectionError,
        TimeoutError,
    ) as error:
        raise OSError(
            f"{origin} could not be downloaded: {_reason(error)}. Without a connection, copy the "
            f"file from another machine and put it at {target}"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def _check_length(received: int, response: Any) -> None:
    """Compare with the Content-Length: a closed connection looks like the end of the file."""
    announced = getattr(response, "headers", {}).get("Content-Length")
    if announced is not None and received != int(announced):
        raise ConnectionError(f"the connection ended after {received} of {announced} bytes")


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}"
    return str(getattr(error, "reason", None) or error or type(error).__name__)


def _hash(path: pathlib.Path, expected: str, algorithm: str) -> str:
    check_choice("hash_algorithm", algorithm, ("auto", "sha256", "md5"))
    if algorithm == "auto":
        algorithm = "sha256" if len(expected) == 64 else "md5"
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _extract(archive: pathlib.Path, archive_format: str | None) -> pathlib.Path:
    """Extract next to the archive, into `<name>_extracted`; an existing directory is complete."""
    target = archive.with_name(f"{archive.name.split('.')[0]}_extracted")
    if target.is_dir():
        return target
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=f".{target.name}.") as temporary:
        extracted = pathlib.Path(temporary) / "complete"
        extract_archive(archive, extracted, archive_format)
        os.replace(extracted, target)
    return target
