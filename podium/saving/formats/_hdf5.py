"""Reads HDF5 files of weights without trusting them: only groups, and datasets that contain their
own data.

Links to other files, external data, and non-numeric dtypes are rejected; nothing is
unpickled. Which datasets belong to which weight is the concern of `_keras_layout.py` and
`_layer_groups.py`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import jax.numpy as jnp
import numpy as np

from podium._typing import Shape
from podium.core.internal import FileBudgetError, charge_file_budget, empty_array
from podium.saving.formats._hdf5_checksum import check_structure
from podium.saving.formats._hdf5_storage import (
    charge_chunks,
    check_filters,
    read_text,
    read_texts,
)
from podium.saving.formats._hdf5_writer import DIGEST, DIGESTS_REQUIRED, EXTENDED_DTYPES
from podium.saving.io._array_io import (
    ArrayToRead,
    ByteSink,
    NumpyArray,
    array_bytes,
    read_arrays,
    read_into,
)
from podium.saving.io._errors import InvalidFileError, name_path

if TYPE_CHECKING:
    import h5py

TOP = "top_level_model_weights"  # the group of the weights that a model owns itself

# HDF5 keeps attributes in headers of 64 KiB; longer lists are split, as in Keras 2.
_ATTRIBUTE_BYTES = 64512
_MAX_EXPANSION = 1000  # times the stored size of a dataset
_SPARE = 1 << 20
_MAX_DEPTH = 64  # nested groups
_MAX_PARTS = 1_000  # of a list of names


class StoredWeight(NamedTuple):
    """One dataset that has been validated, but not read."""

    name: str
    dataset: h5py.Dataset

    @property
    def bare_name(self) -> str:
        """The name without TensorFlow's `:0`."""
        return self.name.removesuffix(":0")

    @property
    def shape(self) -> Shape:
        """The shape that the file declares."""
        return tuple(self.dataset.shape)

    @property
    def dtype(self) -> str:
        """The dtype of the values."""
        return _extended_dtype(self.dataset) or str(self.dataset.dtype.name)

    @property
    def is_float(self) -> bool:
        """Whether the dtype is a float."""
        return bool(jnp.issubdtype(jnp.dtype(self.dtype), np.floating))

    @property
    def checksum(self) -> str | None:
        """The kind of checksum that the values have, or None."""
        if DIGEST in self.dataset.attrs:
            return "SHA-256"
        return "Fletcher-32" if self.dataset.fletcher32 else None

    def read(self, raw: BinaryIO | None, sink: ByteSink) -> NumpyArray:
        """Return the values, and pass their bytes to a sink.

        Args:
            raw: The file, to read contiguous data from without HDF5; or None.
            sink: Receives the bytes.
        """
        array = empty_array(self.shape, self.dataset.dtype)
        offset = None if raw is None else _contiguous_offset(self.dataset)
        if raw is None or offset is None or not read_into(raw, offset, array, sink):
            if array.size:
                with charge_chunks(self.dataset, self.name):
                    self.dataset.read_direct(array)
            sink(array_bytes(array))
        extended = _extended_dtype(self.dataset)
        return array if extended is None else array.view(jnp.dtype(extended))


class StoredLayer(NamedTuple):
    """The weights of one layer."""

    name: str
    weights: list[StoredWeight]


# --- writing


def write_names(group: h5py.Group, attribute: str, names: Sequence[str]) -> None:
    """Write a list of names as an attribute of a group."""
    encoded_names = [name.encode() for name in names]
    width = max(map(len, encoded_names), default=1)
    per_part = max(1, _ATTRIBUTE_BYTES // width)
    if len(encoded_names) <= per_part:
        group.attrs[attribute] = np.array(encoded_names, f"S{width}")
        return
    for part, start in enumerate(range(0, len(encoded_names), per_part)):
        group.attrs[f"{attribute}{part}"] = np.array(
            encoded_names[start : start + per_part], f"S{width}"
        )


def require_digests(group: h5py.Group) -> None:
    """Record that every weight in a group has a digest, so that one without is recognized as
    damaged.
    """
    group.attrs[DIGESTS_REQUIRED] = np.bytes_(DIGEST)


# --- reading


@contextlib.contextmanager
def open_hdf5(path: str, raw: BinaryIO) -> Iterator[Any]:
    """Open a file as HDF5. Errors inside the block name the path."""
    import h5py  # here, because it would add a tenth to the time that `import podium` takes

    try:
        check_structure(raw)
        with h5py.File(raw, "r") as file:
            file.podium_raw = raw
            yield file
    except (InvalidFileError, FileBudgetError) as error:
        raise ValueError(name_path(path, error)) from None
    except Exception as error:
        text = "cannot be read: it is damaged (corrupt or truncated), or not an HDF5 file"
        raise OSError(name_path(path, f"{text} ({error}).")) from error


def read_all(
    file: Any, group: h5py.Group, stored: Mapping[str, StoredWeight], names: Iterable[str]
) -> dict[str, NumpyArray]:
    """Read weights of a group by name, and compare them with their digests if there are any."""
    digests_required = DIGESTS_REQUIRED in group.attrs
    return read_arrays(_array_to_read(file, name, stored[name], digests_required) for name in names)


def _array_to_read(
    file: Any, name: str, weight: StoredWeight, digests_required: bool
) -> ArrayToRead:
    _charge_bytes(weight.dataset.size * weight.dataset.dtype.itemsize, name)
    digest = _digest_of(weight, digests_required)
    raw = file.podium_raw if digest is not None else None  # past HDF5 only if a digest verifies it
    return ArrayToRead(name, weight.dtype, weight.shape, digest, partial(weight.read, raw))


def _charge_bytes(num_bytes: int, name: str) -> None:
    charge_file_budget(
        "bytes",
        num_bytes,
        f"was rejected: with {name!r}, its arrays declare a size far larger than the size of the "
        "file.",
    )


def _charge_node(name: str) -> None:
    charge_file_budget(
        "nodes",
        1,
        f"was rejected: at {name!r}, it lists more groups and datasets than a file of its "
        "size can have.",
    )


def _contiguous_offset(dataset: h5py.Dataset) -> int | None:
    """Return the offset of a large dataset in its file, if its bytes are contiguous and as in
    memory.
    """
    import h5py

    dtype, size = dataset.id.get_type(), dataset.size * dataset.dtype.itemsize
    is_plain = (
        dataset.dtype.kind in "iufc"
        and dataset.dtype.isnative
        and dtype == h5py.h5t.py_create(dataset.dtype, logical=True)
    )
    is_contiguous = (
        dataset.id.get_create_plist().get_layout() == h5py.h5d.CONTIGUOUS
        and dataset.id.get_storage_size() == size
    )
    if not is_plain or not is_contiguous or size < _SPARE:
        return None
    offset: int | None = dataset.id.get_offset()
    return offset


def _digest_of(weight: StoredWeight, required: bool) -> str | None:
    digest = read_text(weight.dataset, DIGEST)
    if digest is None and required:
        raise InvalidFileError(
            f"is corrupt: {weight.name!r} has no checksum, and all weights of the file should "
            "have one."
        )
    return digest


def list_weights(file: h5py.File) -> dict[str, StoredWeight]:
    """List all datasets in groups named `vars` of a file in Keras 3's layout, by path, without
    reading values.
    """
    weights: dict[str, StoredWeight] = {}
    _collect(file, "", weights, (), set())
    return weights


def list_datasets(file: h5py.File) -> dict[str, StoredWeight]:
    """List all datasets of a file by path, without reading values."""
    datasets: dict[str, StoredWeight] = {}
    _collect(file, "", datasets, (), set(), everywhere=True)
    return datasets


def _collect(
    group: h5py.Group,
    path: str,
    weights: dict[str, StoredWeight],
    ancestors: tuple[int, ...],
    visited: set[int],
    everywhere: bool = False,
) -> None:
    import h5py

    is_leaf_group = path.rpartition("/")[2] == "vars"

    address = h5py.h5o.get_info(group.id).addr
    if address in ancestors or len(ancestors) > _MAX_DEPTH:
        raise InvalidFileError(
            f"was rejected: its groups form a cycle, or are nested too deep, at {path!r}."
        )
    if address in visited:
        raise InvalidFileError(
            f"was rejected: its group {path!r} can be reached by several paths (hard links)."
        )
    visited.add(address)
    for key in group:
        _charge_node(path)
        inner = f"{path}/{key}" if path else key
        member = _get_member(group, key)
        if isinstance(member, h5py.Group):
            if is_leaf_group and h5py.h5o.get_info(member.id).addr not in (
                *ancestors,
                address,
            ):
                raise InvalidFileError(
                    f"is damaged: its member {inner!r} is a group, where a dataset was expected."
                )
            _collect(member, inner, weights, (*ancestors, address), visited, everywhere)
        elif is_leaf_group or everywhere:
            weights[inner] = StoredWeight(inner, _check_dataset(member, inner))


def max_elements(weights: Iterable[StoredWeight]) -> int:
    """Return how many elements a model for these weights may have, with some to spare for variables
    that the file does not have.
    """
    import h5py

    sizes = {h5py.h5o.get_info(weight.dataset.id).addr: weight.dataset.size for weight in weights}
    return sum(map(int, sizes.values())) + _SPARE


def is_keras_2(file: h5py.File) -> bool:
    """Return whether a file lists its layers, as Keras 2 does."""
    return _has_names(file, "layer_names") or _has_member(file, "model_weights")


def weights_root(file: h5py.File) -> h5py.Group:
    """Return the group that lists the layers: the file itself, or a group of it if Keras 2 wrote a
    whole model.
    """
    is_model = not _has_names(file, "layer_names") and _has_member(file, "model_weights")
    return _get_member(file, "model_weights") if is_model else file


def list_layers(file: h5py.File) -> list[StoredLayer]:
    """List the layers of a file and their weights, without reading values."""
    root = weights_root(file)
    if not _has_names(root, "layer_names"):
        raise InvalidFileError(
            "has no list `layer_names`, so it is not a file of weights in Keras 2's layout."
        )
    raw = file.podium_raw
    names = _read_names(root, "layer_names", raw)
    if _has_member(root, TOP) and TOP not in names:
        names.append(TOP)
    return [StoredLayer(name, _group_weights(_get_member(root, name), raw)) for name in names]


def list_group_weights(file: h5py.File, name: str) -> list[StoredWeight]:
    """List the weights that one group names, in order; none if there is no such group."""
    if not _has_member(file, name):
        return []
    return _group_weights(_get_member(file, name), file.podium_raw)


def _group_weights(group: h5py.Group, raw: BinaryIO) -> list[StoredWeight]:
    return [
        StoredWeight(name, _check_dataset(_get_member(group, name), name))
        for name in _read_names(group, "weight_names", raw)
    ]


def _has_member(group: h5py.Group, name: str) -> bool:
    # h5py's `in` and `get` would follow a link, and open another file.
    return bool(group.id.links.exists(name.encode()))


def _has_names(group: h5py.Group, attribute: str) -> bool:
    return attribute in group.attrs or f"{attribute}0" in group.attrs


def _read_names(group: h5py.Group, attribute: str, raw: BinaryIO) -> list[str]:
    if not _has_names(group, attribute):
        raise InvalidFileError(f"is damaged: its group {group.name!r} has no list `{attribute}`.")
    if attribute in group.attrs:
        keys = [attribute]
    else:
        numbered = (f"{attribute}{number}" for number in range(_MAX_PARTS))
        keys = list(itertools.takewhile(group.attrs.__contains__, numbered))
    texts = [name for key in keys for name in read_texts(group, key, raw)]
    seen: set[str] = set()
    for name in texts:
        if name in seen:
            raise InvalidFileError(
                f"was rejected: the list `{attribute}` of its group {group.name!r} has the entry "
                f"{name!r} more than once."
            )
        seen.add(name)
    return texts


def _get_member(group: Any, name: str) -> Any:
    """Return a member of a group, reached along hard links only."""
    import h5py

    for part in filter(None, name.split("/")):
        _charge_node(name)
        if not isinstance(group, h5py.Group) or not _has_member(group, part):
            raise InvalidFileError(f"is damaged: it lists {name!r} and has no such member.")
        if group.id.links.get_info(part.encode()).type != h5py.h5l.TYPE_HARD:
            raise InvalidFileError(
                f"was rejected: its member {name!r} is a link to elsewhere. External or soft "
                "links are not followed."
            )
        group = group[part]
    return group


def _check_dataset(dataset: Any, name: str) -> h5py.Dataset:
    import h5py

    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
        raise InvalidFileError(f"is damaged: its member {name!r} holds no numbers.")
    if dataset.external or dataset.is_virtual:
        raise InvalidFileError(
            f"was rejected: the numbers of {name!r} are kept in another file (external or virtual "
            "storage)."
        )
    check_filters(dataset, name)
    max_bytes = _MAX_EXPANSION * dataset.id.get_storage_size() + (1 << 20)
    if dataset.size * dataset.dtype.itemsize > max_bytes:
        raise InvalidFileError(
            f"was rejected: {name!r} declares the shape {dataset.shape}, far larger than the size "
            "of what the file holds for it."
        )
    if _extended_dtype(dataset) is None and dataset.dtype.kind not in "biufc":
        raise InvalidFileError(
            f"was rejected: {name!r} has the type {dataset.dtype}; numbers were expected."
        )
    return dataset


def _extended_dtype(dataset: h5py.Dataset) -> str | None:
    """Return the dtype whose bits the dataset stores as integers, or None."""
    name = read_text(dataset, "dtype")
    if name is None or name not in EXTENDED_DTYPES or dataset.dtype.kind not in "uV":
        return None
    return name if jnp.dtype(name).itemsize == dataset.dtype.itemsize else None
