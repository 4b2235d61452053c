"""HDF5 files of weights, read with suspicion: only ordinary files, groups and datasets that hold
their own numbers.

Links to elsewhere, numbers kept in other files, and types that are not numbers are refused; nothing
is unpickled.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from podium.core.internal import empty_array
from podium.saving.formats._hdf5_checksum import check_seal
from podium.saving.formats._hdf5_writer import DIGEST, OWN_TYPES, SEALED
from podium.saving.io._array_io import Feed, Reading, bytes_of, read_at, read_pieces
from podium.saving.io._errors import Unfit

TOP = "top_level_model_weights"  # the group of the weights that a model holds itself

_ATTRIBUTE_BYTES = (
    64512  # HDF5 keeps attributes in headers of 64 KiB; longer lists go in pieces, as in Keras 2
)
_MOST_EXPANSION = 1000  # times the stored size of a dataset
_SPARE = 1 << 20
_DEEPEST = 64  # nested groups
_FILTERS = frozenset(
    {1, 2, 3, 4, 5, 6, 32000}
)  # those that come with h5py: gzip, shuffle, checksum, ..., lzf


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

    def read(self, raw: Any, feed: Feed) -> np.ndarray:
        """Return the numbers, and hand on their bytes; from the file itself if that is given and
        they stand there as they are.
        """
        array = empty_array(self.shape, self.dataset.dtype)
        offset = None if raw is None else _place(self.dataset)
        if offset is None or not read_at(raw, offset, array, feed):
            if array.size:
                self.dataset.read_direct(array)
            feed(bytes_of(array))
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
        group.attrs[f"{attribute}{piece}"] = np.array(
            encoded[start : start + per_piece], f"S{width}"
        )


def seal(group: Any) -> None:
    """Note that every weight below has a digest, so that one without is not taken for a sound
    one.
    """
    group.attrs[SEALED] = np.bytes_(DIGEST)


# --- reading


@contextlib.contextmanager
def reading(path: str, raw: Any) -> Iterator[Any]:
    """Read an open file as HDF5. What goes wrong while it is read is explained with its path."""
    import h5py  # here, because it would add a tenth to the time that `import podium` takes

    try:
        check_seal(raw)
        with h5py.File(raw, "r") as file:
            file.podium_raw = raw
            yield file
    except Unfit as error:
        raise ValueError(f"{path!r} {error}") from None
    except Exception as error:
        raise OSError(
            f"{path!r} cannot be read: it is damaged (corrupt or truncated), or not an HDF5 file "
            f"({error})."
        ) from error


def is_sealed(group: Any) -> bool:
    """Tell whether the weights below have digests."""
    return SEALED in group.attrs


def read_all(
    file: Any, group: Any, stored: dict[str, StoredWeight], wanted: Iterable[str]
) -> dict[str, np.ndarray]:
    """Read the numbers of the wanted weights of a group, and compare them with the digests if there
    are any.
    """
    sealed = is_sealed(group)
    return read_pieces(_reading(file, name, stored[name], sealed) for name in wanted)


def _reading(file: Any, name: str, weight: StoredWeight, sealed: bool) -> Reading:
    digest = _digest_of(weight, sealed)
    raw = (
        file.podium_raw if digest is not None else None
    )  # what HDF5 is not asked for, a digest vouches for
    return Reading(name, weight.dtype, weight.shape, digest, partial(weight.read, raw))


def _place(dataset: Any) -> int | None:
    """Return where the numbers of a large dataset stand in its file, if they do so in one stretch,
    as memory has them.
    """
    import h5py

    kind, size = dataset.id.get_type(), dataset.size * dataset.dtype.itemsize
    plain = (
        dataset.dtype.kind in "iufc"
        and dataset.dtype.isnative
        and kind == h5py.h5t.py_create(dataset.dtype, logical=True)
    )
    whole = (
        dataset.id.get_create_plist().get_layout() == h5py.h5d.CONTIGUOUS
        and dataset.id.get_storage_size() == size
    )
    return dataset.id.get_offset() if plain and whole and size >= _SPARE else None


def _digest_of(weight: StoredWeight, sealed: bool) -> str | None:
    noted = weight.dataset.attrs.get(DIGEST)
    if noted is None and sealed:
        raise Unfit(
            f"is corrupt: {weight.name!r} has no checksum, and all weights of the file should "
            "have one."
        )
    return (
        noted.decode("ascii", "replace")
        if isinstance(noted, bytes)
        else None
        if noted is None
        else str(noted)
    )


def stored_tree(file: Any) -> dict[str, StoredWeight]:
    """List all datasets below the groups `vars` of a file in Keras 3's layout, by path, without
    reading numbers.
    """
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
            if path.rpartition("/")[2] == "vars" and h5py.h5o.get_info(member.id).addr not in (
                *above,
                address,
            ):
                raise Unfit(
                    f"is damaged: its member {inner!r} is a group, where a dataset was expected."
                )
            _walk(member, inner, found, (*above, address))
        elif path.rpartition("/")[2] == "vars":
            found[inner] = StoredWeight(inner, _checked(member, inner))


def numbers_in(weights: Iterable[StoredWeight]) -> int:
    """Return how many numbers weights hold, and some to spare for what a file does not have."""
    return sum(int(weight.dataset.size) for weight in weights) + _SPARE


def is_keras_2(file: Any) -> bool:
    """Tell whether a file lists its layers, as Keras 2 does."""
    return _has_names(file, "layer_names") or _has(file, "model_weights")


def weights_root(file: Any) -> Any:
    """Return the group that lists the layers: the file itself, or within a whole model as Keras 2
    writes it.
    """
    whole = not _has_names(file, "layer_names") and _has(file, "model_weights")
    return _member(file, "model_weights") if whole else file


def stored_parts(file: Any) -> list[StoredPart]:
    """List the layers of a file and their weights, without reading numbers."""
    root = weights_root(file)
    if not _has_names(root, "layer_names"):
        raise Unfit(
            "has no list `layer_names`, so it is not a file of weights in Keras 2's layout."
        )
    names = _names(root, "layer_names")
    if _has(root, TOP) and TOP not in names:
        names.append(TOP)
    parts = []
    for name in names:
        group = _member(root, name)
        weights = [
            StoredWeight(weight, _checked(_member(group, weight), weight))
            for weight in _names(group, "weight_names")
        ]
        parts.append(StoredPart(name, weights))
    return parts


def stored_names(file: Any, name: str) -> list[StoredWeight]:
    """List the weights that one group names, in order; none if there is no such group."""
    if not _has(file, name):
        return []
    group = _member(file, name)
    return [
        StoredWeight(weight, _checked(_member(group, weight), weight))
        for weight in _names(group, "weight_names")
    ]


def _has(group: Any, name: str) -> bool:
    return group.id.links.exists(
        name.encode()
    )  # h5py's `in` and `get` would follow a link, and open another file


def _has_names(group: Any, attribute: str) -> bool:
    return attribute in group.attrs or f"{attribute}0" in group.attrs


def _names(group: Any, attribute: str) -> list[str]:
    if not _has_names(group, attribute):
        raise Unfit(f"is damaged: its group {group.name!r} has no list `{attribute}`.")
    whole = [attribute] if attribute in group.attrs else []
    pieces = whole or [
        f"{attribute}{number}"
        for number in range(len(group.attrs))
        if f"{attribute}{number}" in group.attrs
    ]
    found = [name for piece in pieces for name in np.atleast_1d(group.attrs[piece]).ravel()]
    return [name.decode() if isinstance(name, bytes) else str(name) for name in found]


def _member(group: Any, name: str) -> Any:
    """Go down to a member along hard links only."""
    import h5py

    for part in filter(None, name.split("/")):
        if not isinstance(group, h5py.Group) or not _has(group, part):
            raise Unfit(f"is damaged: it lists {name!r} and has no such member.")
        if group.id.links.get_info(part.encode()).type != h5py.h5l.TYPE_HARD:
            raise Unfit(
                f"was refused: its member {name!r} is a link to elsewhere. External or soft "
                "links are not followed."
            )
        group = group[part]
    return group


def _checked(dataset: Any, name: str) -> Any:
    import h5py

    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
        raise Unfit(f"is damaged: its member {name!r} holds no numbers.")
    if dataset.external or dataset.is_virtual:
        raise Unfit(
            f"was refused: the numbers of {name!r} are kept in another file (external or virtual "
            "storage)."
        )
    settings = dataset.id.get_create_plist()
    if any(
        settings.get_filter(index)[0] not in _FILTERS for index in range(settings.get_nfilters())
    ):
        raise Unfit(f"was refused: {name!r} is packed with a filter that does not come with HDF5.")
    if dataset.size * dataset.dtype.itemsize > _MOST_EXPANSION * dataset.id.get_storage_size() + (
        1 << 20
    ):
        raise Unfit(
            f"was refused: {name!r} declares the shape {dataset.shape}, far larger than the size "
            "of what the file holds for it."
        )
    if _own_type(dataset) is None and dataset.dtype.kind not in "biufc":
        raise Unfit(f"was refused: {name!r} has the type {dataset.dtype}; numbers were expected.")
    return dataset


def _own_type(dataset: Any) -> str | None:
    """Return the type that the dataset holds the bits of, or None."""
    name = dataset.attrs.get("dtype")
    name = name.decode() if isinstance(name, bytes) else name
    known = isinstance(name, str) and name in OWN_TYPES and dataset.dtype.kind in "uV"
    return name if known and jnp.dtype(name).itemsize == dataset.dtype.itemsize else None
