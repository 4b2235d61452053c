"""KerasFileEditor: the weights of a file as nested dictionaries that can be changed and saved.

Files are read as the loaders read them: nothing is trusted, nothing is unpickled, no code of the
file is run, and what reading may cost is bounded by the size of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from podium._typing import PathLike, TensorLike
from podium.core.internal import FileBudgetError, PublicRepr, file_budget
from podium.saving._savable_model import SavableModel
from podium.saving.formats._archive import CONFIG, METADATA, open_weights, read_texts
from podium.saving.formats._detect_format import detect_contents
from podium.saving.formats._file_comparison import compare_weights
from podium.saving.formats._hdf5 import (
    is_keras_2,
    list_weights,
    open_hdf5,
    read_all,
    require_digests,
)
from podium.saving.formats._hdf5_storage import read_text
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.formats._model_texts import parse_member
from podium.saving.io._array_io import NumpyArray
from podium.saving.io._atomic_write import atomic_write, open_regular_file, resolve_target
from podium.saving.io._errors import InvalidFileError, name_path
from podium.saving.io._sidecar import check_sidecar

if TYPE_CHECKING:
    import rich.console
    import rich.tree

_SUFFIX = ".weights.h5"


class KerasFileEditor(PublicRepr):
    """Shows, compares and changes the weights in a `.keras` or `.weights.h5` file.

    Use it to adapt a file to a model whose architecture has changed. The file itself stays as it
    is; `save` writes a new one.

    Args:
        filepath: The file, of Keras 3 or Podium.

    Attributes:
        weights_dict: The weights: a dictionary for each object by its name, with an array for each
            weight by its key ("0", "1", ...).
        object_metadata: What the file says of objects, by path: their names.
        metadata: What a `.keras` file says of itself; None for weights.
        config: The config of the model in a `.keras` file; None for weights.

    Raises:
        ValueError: The file is rejected: it is not one of weights in Keras 3's layout.
        OSError: The file is missing or damaged.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> path = os.path.join(tempfile.mkdtemp(), "model.weights.h5")
        >>> model.save_weights(path)
        >>> editor = podium.saving.KerasFileEditor(path)  # doctest: +ELLIPSIS
        Keras model file ...
        >>> editor.rename_object("dense", "dense_1")
        >>> editor.add_object("layers/dense", {"0": np.ones((3, 3)), "1": np.ones(3)})
        >>> sorted(editor.weights_dict["layers"])
        ['dense', 'dense_1']
        >>> editor.save(path)
    """

    def __init__(self, filepath: PathLike):
        import rich.console  # imported here: it takes a tenth of the time of `import podium`

        self.filepath = os.fsdecode(filepath)
        self.metadata: dict[str, Any] | None = None
        self.config: dict[str, Any] | None = None
        self.weights_dict: dict[str, Any] = {}
        self.object_metadata: dict[str, dict[str, str]] = {}
        self.console: rich.console.Console = rich.console.Console(
            highlight=False, markup=False, soft_wrap=True
        )
        self._read()
        self.console.print(f"Keras model file {self.filepath!r}")
        if self.metadata is not None:
            version = self.metadata.get("keras_version", "(unknown version)")
            date = self.metadata.get("date_saved")
            self.console.print(f"Saved with Keras {version}" + (f" - date: {date}" if date else ""))

    def _read(self) -> None:
        with (
            open_regular_file("KerasFileEditor", self.filepath) as raw,
            file_budget(os.fstat(raw.fileno()).st_size),
        ):
            try:
                check_sidecar(self.filepath, raw)
                self._read_file(raw)
            except (InvalidFileError, FileBudgetError) as error:
                raise ValueError(name_path(self.filepath, error)) from None

    def _read_file(self, raw: BinaryIO) -> None:
        kind = detect_contents(self.filepath, raw)
        if kind == "safetensors":
            raise InvalidFileError(
                "is a safetensors file; a `.keras` or `.weights.h5` file was expected. Load it "
                "into a model and use `model.save_weights('name.weights.h5')`."
            )
        if kind == "keras":
            texts = read_texts(raw, (CONFIG,), (METADATA,))
            self.config = _check_mapping(CONFIG, parse_member(texts, CONFIG))
            metadata = parse_member(texts, METADATA) if METADATA in texts else {}
            self.metadata = _check_mapping(METADATA, metadata)
            raw = open_weights(raw)
        with open_hdf5(self.filepath, raw) as file:
            if is_keras_2(file):
                raise InvalidFileError(
                    "has Keras 2's layout; that of Keras 3 was expected. Load it into a model and "
                    "use `model.save_weights('name.weights.h5')`."
                )
            stored = list_weights(file)
            arrays = read_all(file, file, stored, list(stored))
            for path, weight in stored.items():
                owner, key = _split_weight_path(path)
                self._group(owner)[key] = arrays[path]
                name = read_text(weight.dataset.parent, "name")
                if name is not None:
                    self.object_metadata[owner] = {"name": name}

    def _group(self, path: str) -> dict[str, Any]:
        """Return the dictionary at a path, which is created if need be."""
        group = self.weights_dict
        for part in filter(None, path.split("/")):
            group = group.setdefault(part, {})
            if not isinstance(group, dict):
                raise InvalidFileError(f"is damaged: {path!r} is a weight and an object.")
        return group

    def summary(self) -> None:
        """Print the objects and weights as a tree, with shapes and dtypes."""
        import rich.tree

        tree = rich.tree.Tree("Weights structure")
        self._add_to_tree(tree, self.weights_dict, "")
        self.console.print(tree)

    def _add_to_tree(self, tree: rich.tree.Tree, group: Mapping[str, Any], path: str) -> None:
        import rich.text

        for key, value in group.items():
            inner = f"{path}/{key}" if path else key
            if isinstance(value, dict):
                name = self.object_metadata.get(inner, {}).get("name")
                label = key if name is None else f"{key} ({name!r})"
                self._add_to_tree(tree.add(rich.text.Text(label, style="bold")), value, inner)
            else:
                text = f"{key}: shape={value.shape}, dtype={value.dtype.name}"
                tree.add(rich.text.Text(text))

    def compare(self, reference_model: SavableModel) -> dict[str, Any]:
        """Print which weights of a model the file lacks, has in addition, or in another shape.

        The state of an optimizer is compared if both have one.

        Args:
            reference_model: A model whose weights exist.

        Returns:
            A dictionary with "status" ("success" or "error"), "error_count" and "match_count". An
            object that one side lacks is one error.
        """
        self.console.print("Running comparison")
        differences, match_count = compare_weights(self.weights_dict, reference_model)
        for difference in differences:
            self.console.print(f"...{difference}")
        if differences:
            self.console.print(
                f"Found {len(differences)} error{'s' * (len(differences) != 1)}: the file is not "
                "compatible with the reference model"
            )
        else:
            self.console.print(
                "Comparison successful: the file is compatible with the reference model. Found "
                f"{match_count} matching weight{'s' * (match_count != 1)}"
            )
        status = "error" if differences else "success"
        return {"status": status, "error_count": len(differences), "match_count": match_count}

    def rename_object(self, object_name: str, new_name: str) -> None:
        """Rename an object, such as a layer, in the place where it is.

        Args:
            object_name: Its name ("dense_2"), if only one object has it, or its path
                ("layers/dense_2").
            new_name: The new name, without a path.
        """
        group, key = self._find(object_name)
        _check_key("new_name", new_name)
        if new_name in group and new_name != key:
            raise ValueError(
                f"rename_object was given new_name={new_name!r}; there already is "
                f"{new_name!r} beside {key!r}. Rename or delete that first."
            )
        group[new_name] = group.pop(key)
        self._forget(object_name)

    def delete_object(self, object_name: str) -> None:
        """Remove an object, such as a layer, with everything in it.

        Args:
            object_name: Its name, if only one object has it, or its path.
        """
        group, key = self._find(object_name)
        del group[key]
        self._forget(object_name)

    def add_object(self, object_path: str, weights: Mapping[str, TensorLike]) -> None:
        """Add an object, such as a layer.

        Args:
            object_path: The path of the new object ("layers/dense_2"). Its parent must exist.
            weights: Its weights by key: `{"0": kernel, "1": bias}`. A value may be a dictionary: an
                object inside of the new one.
        """
        parent, _, name = object_path.rpartition("/")
        _check_key("object_path", name)
        group = self.weights_dict
        for part in filter(None, parent.split("/")):
            if not isinstance(group.get(part), dict):
                raise self._unknown_object("add_object", parent)
            group = group[part]
        if name in group:
            raise ValueError(
                f"add_object was given {object_path!r}, which exists. Use `add_weights` to change "
                "it, or delete it first."
            )
        group[name] = _check_weight_arrays("add_object", weights)

    def delete_weight(self, object_name: str, weight_name: str) -> None:
        """Remove a weight of an object.

        Args:
            object_name: The object's name, if only one has it, or its path.
            weight_name: The key of the weight, such as "0".
        """
        group, key = self._find(object_name)
        weights = group[key]
        if not isinstance(weights, dict) or weight_name not in weights:
            keys = list(weights) if isinstance(weights, dict) else []
            raise ValueError(
                f"delete_weight was given weight_name={weight_name!r}; {object_name!r} has {keys}."
            )
        del weights[weight_name]

    def add_weights(self, object_name: str, weights: Mapping[str, TensorLike]) -> None:
        """Add weights to an object, or replace those with the same keys.

        Args:
            object_name: The object's name, if only one has it, or its path.
            weights: The weights by key: `{"0": kernel, "1": bias}`.
        """
        group, key = self._find(object_name)
        if not isinstance(group[key], dict):
            raise ValueError(
                f"add_weights was given {object_name!r}, which is a weight; an object was expected."
            )
        group[key].update(_check_weight_arrays("add_weights", weights))

    def save(self, filepath: PathLike) -> None:
        """Write the weights to a new file, which replaces one of that name completely or not at
        all.

        Args:
            filepath: The path, which ends in `.weights.h5`.
        """
        target = os.fsdecode(filepath)
        if not target.endswith(_SUFFIX):
            raise ValueError(
                f"KerasFileEditor.save was given {target!r}; a name that ends in {_SUFFIX} was "
                "expected."
            )
        path = resolve_target("KerasFileEditor.save", target, overwrite=True)
        image = Hdf5Image()
        require_digests(image.file)
        for owner, weights in _owners(self.weights_dict, ""):
            group = image.file.create_group(f"{owner}/vars" if owner else "vars")
            name = self.object_metadata.get(owner, {}).get("name")
            if name is not None:
                group.attrs["name"] = name
            for key, array in weights.items():
                image.add_dataset(group, key, f"{group.name[1:]}/{key}", array)
        with atomic_write("KerasFileEditor.save", path) as file:
            image.write(file)

    def resave_weights(self, filepath: PathLike) -> None:
        """Write the weights to a new file; the same as `save`."""
        self.save(filepath)

    def _find(self, object_name: str) -> tuple[dict[str, Any], str]:
        """Return the dictionary that has an object, and the key of the object in it."""
        *parents, key = object_name.split("/")
        if parents:
            group = self.weights_dict
            for part in parents:
                group = group.get(part, {}) if isinstance(group, dict) else {}
            places = [group] if isinstance(group, dict) and key in group else []
        else:
            places = [group for group in _groups(self.weights_dict) if key in group]
        if len(places) > 1:
            raise ValueError(
                f"{object_name!r} was given, the name of {len(places)} objects. Pass the path of "
                "one, such as 'layers/dense_2'; `summary()` shows them."
            )
        if not places:
            raise self._unknown_object("KerasFileEditor", object_name)
        return places[0], key

    def _unknown_object(self, caller: str, name: str) -> ValueError:
        return ValueError(
            f"{caller} was given {name!r}, and the file has no such object. `summary()` shows the "
            "names of all."
        )

    def _forget(self, object_name: str) -> None:
        """Remove what the file says of an object that is no longer there."""
        for path in list(self.object_metadata):
            if path == object_name or f"/{path}".endswith(f"/{object_name}"):
                del self.object_metadata[path]


def _check_mapping(name: str, content: object) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise InvalidFileError(f"was rejected: its {name!r} is not an object of JSON.")
    return content


def _split_weight_path(path: str) -> tuple[str, str]:
    owner, _, key = path.rpartition("/")
    return owner.removesuffix("vars").rstrip("/"), key


def _groups(group: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield group
    for value in group.values():
        if isinstance(value, dict):
            yield from _groups(value)


def _owners(group: Mapping[str, Any], path: str) -> Iterator[tuple[str, dict[str, NumpyArray]]]:
    """Iterate over all objects that have weights of their own, with their paths."""
    weights = {key: value for key, value in group.items() if not isinstance(value, dict)}
    if weights:
        yield path, weights
    for key, value in group.items():
        if isinstance(value, dict):
            yield from _owners(value, f"{path}/{key}" if path else key)


def _check_key(argument: str, key: str) -> None:
    if not isinstance(key, str) or not key or "/" in key or key in (".", "..", "vars"):
        raise ValueError(
            f"{argument}={key!r} was given; a name without '/' was expected, such as 'dense_2'."
        )


def _check_weight_arrays(caller: str, weights: Mapping[str, TensorLike]) -> dict[str, Any]:
    if not isinstance(weights, Mapping):
        raise ValueError(
            f"{caller} was given weights of type {type(weights).__name__}; a dictionary was "
            "expected: {'0': kernel, '1': bias}."
        )
    checked: dict[str, Any] = {}
    for key, value in weights.items():
        _check_key("the key of a weight", key)
        if isinstance(value, Mapping):
            checked[key] = _check_weight_arrays(caller, value)
            continue
        array = np.asarray(value)
        if array.dtype.kind not in "biufcV":
            raise ValueError(
                f"{caller} was given {key!r} of dtype {array.dtype}; an array of numbers was "
                "expected."
            )
        checked[key] = array
    return checked
