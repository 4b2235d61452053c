"""HDF5 files of weights, read with suspicion: only ordinary files, groups and datasets that hold their own numbers.

Links to elsewhere, numbers kept in other files, and types that are not numbers are refused; nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

TOP = "top_level_model_weights"  # the group of the weights that a model holds itself

_ATTRIBUTE_BYTES = 64512  # HDF5 keeps attributes in headers of 64 KiB; longer lists go in pieces, as in Keras 2
_OWN_TYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4")  # not known to HDF5: their bits are stored
_DIGEST = "podium_sha256"  # over names, types, shapes and numbers: a flipped bit is noticed
_MOST_EXPANSION = 1000  # times the stored size of a dataset
_SPARE = 1 << 20
_DEEPEST = 64  # nested groups
_FILTERS = frozenset({1, 2, 3, 4, 5, 6, 32000})  # those that come with h5py: gzip, shuffle, checksum, ..., lzf


class Unfit(Exception):
    """The file is not what it should be; `opened` turns it into a ValueError that names the path."""


class StoredWeight(NamedTuple):
    """One dataset, looked at but not read."""

    name: str
    dataset: Any

    @property
    def plain_name(self) -> str:
        """The name without TensorFlow's `:0`."""
        return self.name.removesuffix(":0")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the file claims."""
        return tuple(self.dataset.shape)

    @property
    def dtype(self) -> str:
        """The type of the numbers."""
        return _own_type(self.dataset) or self.dataset.dtype.name

    @property
    def is_float(self) -> bool:
        """Whether the numbers are floats."""
        return bool(jnp.issubdtype(jnp.dtype(self.dtype), np.floating))

    def read(self) -> np.ndarray:
        """Return the numbers."""
        array = np.asarray(self.dataset[()])
        kind = _own_type(self.dataset)
        return array if kind is None else array.view(jnp.dtype(kind))


class StoredPart(NamedTuple):
    """The weights of one layer."""

    name: str
    weights: list[StoredWeight]


# --- writing


def write_names(group: Any, attribute: str, names: Sequence[str]) -> None:
    """Write a list of names as an attribute of a group."""
    encoded = [name.encode() for name in names]
    width = max(map(len, encoded), default=1)
    per_piece = max(1, _ATTRIBUTE_BYTES // width)
    if len(encoded) <= per_piece:
        group.attrs[attribute] = np.array(encoded, f"S{width}")
        return
    for piece, start in enumerate(range(0, len(encoded), per_piece)):
        group.attrs[f"{attribute}{piece}"] = np.array(encoded[start : start + per_piece], f"S{width}")


def write_weight(group: Any, name: str, array: np.ndarray) -> None:
    """Write one array; the bits of a type that HDF5 does not know, with a note."""
    if array.dtype.name in _OWN_TYPES:
        dataset = group.create_dataset(name, data=array.view(f"u{array.dtype.itemsize}"))
        dataset.attrs["dtype"] = array.dtype.name
    else:
        group.create_dataset(name, data=array)


def seal(file: Any, weights: Iterable[tuple[str, np.ndarray]]) -> None:
    """Note a digest of all numbers, so that a damaged file is not taken for a sound one."""
    file.attrs[_DIGEST] = _digest(weights).encode()


def _digest(weights: Iterable[tuple[str, np.ndarray]]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(weights, key=lambda pair: pair[0]):
        digest.update(f"{name} {array.dtype.name} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view("u1").data)
    return digest.hexdigest()


# --- reading


@contextlib.contextmanager
def reading(path: str, raw: Any) -> Iterator[Any]:
    """Read an open file as HDF5. What goes wrong while it is read is explained with its path."""
    import h5py  # here, because it would add a tenth to the time that `import podium` takes

    try:
        with h5py.File(raw, "r") as file:
            yield file
    except Unfit as error:
        raise ValueError(f"{path!r} {error}") from None
    except Exception as error:
        raise OSError(f"{path!r} cannot be read: it is damaged (corrupt or truncated), or not an HDF5 file ({error}).") from error


def read_all(file: Any, stored: dict[str, StoredWeight], wanted: Iterable[str]) -> dict[str, np.ndarray]:
    """Read the numbers of the wanted weights; of a file with a digest all of them, to compare."""
    if _DIGEST not in file.attrs:
        return {name: stored[name].read() for name in wanted}
    arrays = {name: weight.read() for name, weight in stored.items()}
    noted = file.attrs[_DIGEST]
    if (noted.decode() if isinstance(noted, bytes) else str(noted)) != _digest(arrays.items()):
        raise Unfit("is corrupt: its numbers do not fit the checksum that was written with them, and nothing was loaded.")
    return arrays


def stored_tree(file: Any) -> dict[str, StoredWeight]:
    """List all datasets below the groups `vars` of a file in Keras 3's layout, by path, without reading numbers."""
    found: dict[str, StoredWeight] = {}
    _walk(file, "", found, ())
    return found


def _walk(group: Any, path: str, found: dict[str, StoredWeight], above: tuple[Any, ...]) -> None:
    import h5py

    address = h5py.h5o.get_info(group.id).addr
    if address in above or len(above) > _DEEPEST:
        raise Unfit(f"was refused: its groups form a cycle, or are nested too deep, at {path!r}.")
    for key in group:
        inner = f"{path}/{key}" if path else key
        member = _member(group, key)
        if isinstance(member, h5py.Group):
            if path.rpartition("/")[2] == "vars" and h5py.h5o.get_info(member.id).addr not in (*above, address):
                raise Unfit(f"is damaged: its member {inner!r} is a group, where a dataset was expected.")
            _walk(member, inner, found, (*above, address))
        elif path.rpartition("/")[2] == "vars":
            found[inner] = StoredWeight(inner, _checked(member, inner))


def numbers_in(weights: Iterable[StoredWeight]) -> int:
    """Return how many numbers weights hold, and some to spare for what a file does not have."""
    return sum(int(weight.dataset.size) for weight in weights) + _SPARE


def is_keras_2(file: Any) -> bool:
    """Tell whether a file lists its layers, as Keras 2 does."""
    return _has_names(file, "layer_names") or _has(file, "model_weights")


def stored_parts(file: Any) -> list[StoredPart]:
    """List the layers of a file and their weights, without reading numbers."""
    root = file
    if not _has_names(root, "layer_names") and _has(file, "model_weights"):
        root = _member(file, "model_weights")  # a whole model, as Keras 2 writes it
    if not _has_names(root, "layer_names"):
        raise Unfit("has no list `layer_names`, so it is not a file of weights in Keras 2's layout.")
    names = _names(root, "layer_names")
    if _has(root, TOP) and TOP not in names:
        names.append(TOP)
    parts = []
    for name in names:
        group = _member(root, name)
        weights = [StoredWeight(weight, _checked(_member(group, weight), weight)) for weight in _names(group, "weight_names")]
        parts.append(StoredPart(name, weights))
    return parts


def stored_names(file: Any, name: str) -> list[StoredWeight]:
    """List the weights that one group names, in order; none if there is no such group."""
    if not _has(file, name):
        return []
    group = _member(file, name)
    return [StoredWeight(weight, _checked(_member(group, weight), weight)) for weight in _names(group, "weight_names")]


def _has(group: Any, name: str) -> bool:
    return group.id.links.exists(name.encode())  # h5py's `in` and `get` would follow a link, and open another file


def _has_names(group: Any, attribute: str) -> bool:
    return attribute in group.attrs or f"{attribute}0" in group.attrs


def _names(group: Any, attribute: str) -> list[str]:
    if not _has_names(group, attribute):
        raise Unfit(f"is damaged: its group {group.name!r} has no list `{attribute}`.")
    whole = [attribute] if attribute in group.attrs else []
    pieces = whole or [f"{attribute}{number}" for number in range(len(group.attrs)) if f"{attribute}{number}" in group.attrs]
    found = [name for piece in pieces for name in np.atleast_1d(group.attrs[piece]).ravel()]
    return [name.decode() if isinstance(name, bytes) else str(name) for name in found]


def _member(group: Any, name: str) -> Any:
    """Go down to a member along hard links only."""
    import h5py

    for part in filter(None, name.split("/")):
        if not isinstance(group, h5py.Group) or not _has(group, part):
            raise Unfit(f"is damaged: it lists {name!r} and has no such member.")
        if group.id.links.get_info(part.encode()).type != h5py.h5l.TYPE_HARD:
            raise Unfit(f"was refused: its member {name!r} is a link to elsewhere. External or soft links are not followed.")
        group = group[part]
    return group


def _checked(dataset: Any, name: str) -> Any:
    import h5py

    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
        raise Unfit(f"is damaged: its member {name!r} holds no numbers.")
    if dataset.external or dataset.is_virtual:
        raise Unfit(f"was refused: the numbers of {name!r} are kept in another file (external or virtual storage).")
    settings = dataset.id.get_create_plist()
    if any(settings.get_filter(index)[0] not in _FILTERS for index in range(settings.get_nfilters())):
        raise Unfit(f"was refused: {name!r} is packed with a filter that does not come with HDF5.")
    if dataset.size * dataset.dtype.itemsize > _MOST_EXPANSION * dataset.id.get_storage_size() + (1 << 20):
        raise Unfit(
            f"was refused: {name!r} declares the shape {dataset.shape}, far larger than the size of what the file holds for it."
        )
    if _own_type(dataset) is None and dataset.dtype.kind not in "biufc":
        raise Unfit(f"was refused: {name!r} has the type {dataset.dtype}; numbers were expected.")
    return dataset


def _own_type(dataset: Any) -> str | None:
    """Return the type that the dataset holds the bits of, or None."""
    name = dataset.attrs.get("dtype")
    name = name.decode() if isinstance(name, bytes) else name
    known = isinstance(name, str) and name in _OWN_TYPES and dataset.dtype.kind in "uV"
    return name if known and jnp.dtype(name).itemsize == dataset.dtype.itemsize else None
