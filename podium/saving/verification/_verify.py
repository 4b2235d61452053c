"""`verify` and `write_digests`: files compared with checksums, without building a model.

What each format has checksums for is in `_contents.py`; sidecars are in `io/_sidecar.py`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator

from podium._typing import PathLike
from podium.core.internal import file_budget
from podium.saving.checkpoints._weights_directory import holds_checkpoints
from podium.saving.formats._detect_format import HDF5_MAGIC, detect_tensorflow
from podium.saving.formats._hdf5 import StoredWeight, list_datasets, open_hdf5
from podium.saving.io._array_io import array_bytes
from podium.saving.io._atomic_write import open_regular_file
from podium.saving.io._errors import InvalidFileError, name_path, shorten
from podium.saving.io._sidecar import (
    Sidecar,
    digest_files,
    find_changes,
    read_sidecar,
    sidecar_path,
    write_sidecar,
)
from podium.saving.tensorflow_files._tensor_bundle import bundle_paths
from podium.saving.verification._contents import (
    Finding,
    detect_format,
    verify_checkpoints,
    verify_file,
    verify_saved_model,
    verify_tensorflow,
)
from podium.saving.verification._report import VerifyReport

_MAX_FILES = 100_000  # of a directory


def verify(filepath: PathLike) -> VerifyReport:
    """Compare a file with every checksum that it has. No model is needed, and nothing changes.

    Files that Podium writes have checksums of everything. For files of other programs the report
    says what has no checksum, so that damage in it cannot be found; `write_digests` adds digests
    for the future. Checksums find accidents: a person who can change a file can also change the
    checksums in it. Against that, keep a copy of the file of `write_digests` elsewhere.

    Args:
        filepath: A model, weights, an exported program, a checkpoint, a directory of checkpoints, a
            TensorFlow checkpoint (its path without `.index`) or a SavedModel.

    Returns:
        A report, which is true if everything was compared with a checksum and fits.

    Raises:
        FileNotFoundError: There is nothing at this path.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.keras")
        ...     model.save(path)
        ...     report = podium.saving.verify(path)
        >>> report.status
        'verified'
    """
    path = os.fsdecode(filepath)
    format, check = _choose_check("verify", path)
    findings: list[Finding] = []
    _collect(check, findings)
    covered: set[str] = set()
    _collect(lambda: _verify_sidecar(path, covered), findings)
    if covered:  # every byte was compared, whatever the format has checksums for
        findings = [finding for finding in findings if finding.kind != "unknown"]
    by_kind = {
        kind: [finding.text for finding in findings if finding.kind == kind]
        for kind in ("checked", "unknown", "problem")
    }
    return VerifyReport(path, format, by_kind["checked"], by_kind["unknown"], by_kind["problem"])


def write_digests(filepath: PathLike) -> str:
    """Write the digests of a file that has none, to a file beside it: `model.h5.sha256.json`.

    From then on, `verify` and loading compare the file with them. They are standard: the SHA-256 of
    each file, as `sha256sum` prints it, and of the values of each dataset of an HDF5 file. Saving
    to the same path deletes them.

    Args:
        filepath: A file, a TensorFlow checkpoint (its path without `.index`), or a SavedModel.

    Returns:
        The path of the digests.

    Raises:
        FileNotFoundError: There is nothing at this path.
        ValueError: It is a directory of Podium's checkpoints, which have digests; or it is damaged
            already, by its own checksums.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.weights.h5")
        ...     model.save_weights(path)
        ...     os.path.basename(podium.saving.write_digests(path))
        'model.weights.h5.sha256.json'
    """
    path = os.fsdecode(filepath)
    if os.path.isdir(path) and holds_checkpoints(path):
        raise ValueError(
            f"write_digests was given {path!r}, a directory of checkpoints, which have digests of "
            "everything. Use `podium.saving.verify`."
        )
    _, check = _choose_check("write_digests", path)
    findings: list[Finding] = []
    _collect(check, findings)
    problems = [finding.text for finding in findings if finding.kind == "problem"]
    if problems:
        raise ValueError(
            name_path(path, f"was given to write_digests, and is damaged: {problems[0]}")
        )
    digests = digest_files("write_digests", path, _file_names(path))
    return write_sidecar("write_digests", path, Sidecar(digests, _dataset_digests(path)))


def _choose_check(caller: str, path: str) -> tuple[str, Callable[[], Iterator[Finding]]]:
    """Return the format of a path, and a function that compares it with its checksums."""
    if os.path.isdir(path):
        if holds_checkpoints(path):
            return "Podium checkpoints", lambda: verify_checkpoints(path)
        if os.path.isfile(os.path.join(path, "saved_model.pb")):
            return "SavedModel", lambda: verify_saved_model(path)
    try:
        prefix = detect_tensorflow(path)
    except ValueError as error:
        message = str(error)
        return "SavedModel", lambda: iter([Finding("problem", message)])
    if prefix is not None:
        return "TensorFlow checkpoint", lambda: verify_tensorflow(prefix)
    if os.path.isdir(path):
        return "directory", lambda: iter(
            [Finding("unknown", "there is no file of a known format in it")]
        )
    with open_regular_file(caller, path) as raw:
        format = detect_format(path, raw)
    return format, lambda: _verify_opened(caller, path, format)


def _verify_opened(caller: str, path: str, format: str) -> Iterator[Finding]:
    with (
        open_regular_file(caller, path) as raw,
        file_budget(os.fstat(raw.fileno()).st_size),
    ):
        yield from verify_file(path, raw, format)


def _collect(check: Callable[[], Iterator[Finding]], findings: list[Finding]) -> None:
    """Add the findings of a check; an error that ends it is a problem."""
    try:
        for finding in check():
            findings.append(finding)  # so that those before an error are kept
    except (InvalidFileError, ValueError, OSError) as error:
        findings.append(Finding("problem", shorten(str(error))))


def _verify_sidecar(path: str, covered: set[str]) -> Iterator[Finding]:
    sidecar = read_sidecar(path)
    if sidecar is None:
        return
    label = os.path.basename(sidecar_path(path))
    changes = list(find_changes(sidecar, path))
    names = set(_file_names(path))
    for name in sorted(names - set(sidecar.files)):
        changes.append(f"{name!r} is not in it")
    if not changes:
        covered.add(path)
        yield Finding("checked", f"{len(sidecar.files)} files (SHA-256, in {label})")
        return
    for change in changes:
        yield Finding("problem", f"by the digests in {label}: {change}")
    if sidecar.datasets:
        actual = _dataset_digests(path)
        for name in sorted(sidecar.datasets.keys() | actual.keys()):
            if sidecar.datasets.get(name) != actual.get(name):
                yield Finding("problem", f"by the digests in {label}: the dataset {name!r} differs")


def _file_names(path: str) -> list[str]:
    """Return the files that belong to a path, relative to the directory that it is in."""
    real = os.path.realpath(path)
    directory = os.path.dirname(real)
    if os.path.isdir(real):
        paths = [os.path.join(root, name) for root, _, names in os.walk(real) for name in names]
    else:
        paths = [real] if detect_tensorflow(path) is None else bundle_paths(real)
    if len(paths) > _MAX_FILES:
        raise ValueError(f"The directory has {len(paths)} files, over the limit of {_MAX_FILES}.")
    return sorted(os.path.relpath(name, directory).replace(os.sep, "/") for name in paths)


def _dataset_digests(path: str) -> dict[str, str]:
    """Return the digests of the values in an HDF5 file; none for other formats."""
    if not os.path.isfile(path):
        return {}
    with open_regular_file("write_digests", path) as raw:
        if raw.read(len(HDF5_MAGIC)) != HDF5_MAGIC:
            return {}
        with file_budget(os.fstat(raw.fileno()).st_size), open_hdf5(path, raw) as file:
            return {name: _sha256(weight) for name, weight in list_datasets(file).items()}


def _sha256(dataset: StoredWeight) -> str:
    values = dataset.read(None, lambda chunk: None)
    return hashlib.sha256(array_bytes(values)).hexdigest()
