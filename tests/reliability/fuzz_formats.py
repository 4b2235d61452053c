"""The formats that `fuzz.py` mutates. To add one, add a `Format` to `FORMATS`."""

import hashlib
import io
import json
import os
import pathlib
import shutil
import struct
import tarfile
import zipfile
from collections.abc import Callable
from typing import NamedTuple

import fuzz_mutations as mutations
import fuzz_saved_models as saved_models
import h5py
import mutate_checkpoints
import numpy as np
from fuzz_mutations import choose

import podium
from podium.saving.checkpoints._checkpoint_directory import _digest_of
from podium.saving.formats._export import _DIGEST_MARK, _DIGEST_SIZE
from podium.saving.formats._hdf5_checksum import _END, _MAGIC
from podium.saving.formats._hdf5_writer import DIGEST, DIGESTS_REQUIRED
from podium.utils._extract_archive import extract_archive


class Format(NamedTuple):
    """One kind of file.

    Attributes:
        name: For reports.
        make: Writes a valid one to a folder, and returns its path.
        load: Loads a path; returns arrays to compare, or None.
        forge: Changes it, with checksums that fit where possible.
        has_checksums: Whether damage must never result in other arrays.
    """

    name: str
    make: Callable
    load: Callable
    forge: Callable
    has_checksums: bool = True


def small_model():
    L = podium.layers
    layers = [podium.Input((3,)), L.Dense(8, name="d"), L.BatchNormalization(), L.Dense(2)]
    model = podium.Sequential(layers, name="small")
    model.compile("adam", "mse", metrics=["mae", "AUC"])
    model.optimizer.build(model.trainable_variables)
    return model


def graph_model():
    L = podium.layers
    tokens, image = podium.Input((6,), dtype="int32"), podium.Input((4, 4, 1))
    x = L.Embedding(5, 4)(tokens)
    x = L.MultiHeadAttention(2, 2)(x, x) + x
    x = L.GRU(3, unroll=True)(x)
    y = L.GlobalAveragePooling2D()(L.Conv2D(2, 3, activation="relu")(image))
    outputs = L.Dense(2, kernel_regularizer="l2")(L.Concatenate()([x, y]) * 2.0)
    model = podium.Model([tokens, image], outputs, name="graph")
    optimizer = podium.optimizers.SGD(podium.optimizers.schedules.CosineDecay(0.1, 10), 0.9)
    model.compile(optimizer, "huber", metrics=["accuracy"])
    return model


class _Shared:
    """Models that are made once in a process."""

    model = None

    @classmethod
    def get(cls):
        if cls.model is None:
            cls.model = small_model()
        return cls.model


def saved_values(model):
    state = [*model.weights, *model.optimizer.variables]
    rng = np.random.default_rng(5)
    for variable in state:
        if variable.dtype == "float32":
            variable.assign(rng.uniform(size=variable.shape).astype("float32"))


def _save_model(name, make_model):
    def make(folder):
        podium.utils.set_random_seed(1)
        model = make_model()
        if make_model is small_model:
            saved_values(model)
        model.save(folder / name)
        return folder / name

    return make


def _save_weights(name, **options):
    def make(folder):
        model = _Shared.get()
        saved_values(model)
        model.save_weights(os.path.join(folder, name), **options)
        return folder / name.rstrip("/")

    return make


def load_model(path):
    return podium.saving.load_model(path).get_weights()


def load_weights(path):
    model = _Shared.get()
    for variable in model.weights:
        variable.assign(np.zeros(variable.shape, variable.dtype))
    model.load_weights(path)
    return model.get_weights()


def write_file(forge):
    """Return a function of a path from one of contents."""

    def change(path, rng):
        path.write_bytes(forge(path.read_bytes(), rng))

    return change


# --- forgery with correct checksums


def forge_archive(content, rng):
    kind = rng.random()
    if kind < 0.15:
        return mutations.mutate_zip(content, rng)
    members = mutations.read_zip(content)
    weights = "model.weights.h5"
    if kind < 0.75:
        config = mutations.mutate_json_text(members["config.json"], rng)
        metadata = json.loads(members["metadata.json"])
        metadata["config_sha256"] = hashlib.sha256(config).hexdigest()
        members |= {"config.json": config, "metadata.json": json.dumps(metadata).encode()}
    elif kind < 0.9:
        members[weights] = mutations.mutate_hdf5(members[weights], rng)
    else:
        members[weights] = forge_structure(members[weights], rng)
    compression = choose(rng, [zipfile.ZIP_STORED] * 3 + [zipfile.ZIP_DEFLATED])
    return mutations.write_zip(members, compression)


def forge_hdf5(content, rng):
    if rng.random() < 0.75:
        return mutations.mutate_hdf5(content, rng)
    return forge_structure(content, rng)


def forge_structure(content, rng):
    """Damage the structure of an HDF5 file that Podium wrote, and compute its checksum again."""
    if not content.endswith(_MAGIC):
        return choose(rng, mutations.DAMAGE)(content, rng)
    count, _, _ = _END.unpack(content[-_END.size :])
    stop = len(content) - _END.size - 16 * count
    table = content[stop : stop + 16 * count]
    damage = choose(rng, [mutations.flip_bits, mutations.overwrite_range, mutations.huge_number])
    damaged = bytearray(damage(content[:stop], rng)[:stop].ljust(stop, b"\0"))
    digest, position = hashlib.sha256(), 0
    for offset, length in [*struct.iter_unpack("<QQ", table), (stop, 0)]:
        damaged[offset : offset + length] = content[offset : offset + length]  # arrays are kept
        digest.update(damaged[position:offset])
        position = offset + length
    digest.update(table)
    return bytes(damaged) + table + _END.pack(count, digest.digest(), _MAGIC)


def forge_program(content, rng):
    damaged = choose(rng, mutations.DAMAGE)(content[:-_DIGEST_SIZE], rng)
    return damaged + _DIGEST_MARK + hashlib.sha256(damaged).digest()


def forge_checkpoint(path, rng):
    """Change a file of a checkpoint directory, and write a manifest that fits."""
    (checkpoint,) = path.glob("checkpoint-*")
    paths = sorted(item for item in checkpoint.rglob("*") if item.is_file())
    target = choose(rng, paths)
    content = target.read_bytes()
    if target.name == "manifest.json":
        manifest = mutations.mutate_json(json.loads(content), rng)
        if isinstance(manifest, dict):
            manifest.pop("sha256", None)
            manifest["sha256"] = _digest_of(manifest)
        target.write_text(json.dumps(manifest))
        return
    if target.suffix == ".json" or target.name in ("_METADATA", "_CHECKPOINT_METADATA"):
        content = mutations.mutate_json_text(content, rng)
    elif target.suffix == ".safetensors":
        content = mutations.mutate_safetensors(content, rng)
    else:
        content = choose(rng, mutations.DAMAGE)(content, rng)
    target.write_bytes(content)
    manifest = json.loads((checkpoint / "manifest.json").read_bytes())
    name = str(target.relative_to(checkpoint)).replace(os.sep, "/")
    entry = [len(content), hashlib.sha256(content).hexdigest()]
    if target.suffix == ".safetensors":
        size = 8 + min(struct.unpack("<Q", content[:8])[0], len(content) - 8)
        entry = [len(content), hashlib.sha256(content[:size]).hexdigest(), size]
    manifest["files"][name] = entry
    manifest.pop("sha256")
    manifest["sha256"] = _digest_of(manifest)
    (checkpoint / "manifest.json").write_text(json.dumps(manifest))


def forge_tensorflow(path, rng):
    choose(rng, mutate_checkpoints.MUTATIONS[5:])(path, rng)


def forge_sidecar(path, rng):
    sidecar = path.with_name(path.name + ".sha256.json")
    contents = mutations.mutate_json(json.loads(sidecar.read_text()), rng)
    if isinstance(contents, dict):
        contents.pop("sha256", None)
        text = json.dumps(contents, sort_keys=True)
        contents["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    sidecar.write_text(json.dumps(contents))


# --- formats


def _make_foreign_hdf5(folder):
    """A file as another program writes it: without any checksum."""
    path = _save_weights("w.h5")(folder)
    with h5py.File(path, "r") as old, h5py.File(folder / "copy.h5", "w") as new:
        for key, value in old.attrs.items():
            new.attrs[key] = value
        for name in old:
            old.copy(name, new)
        for name in ["/", *_all_names(new)]:
            for key in (DIGEST, DIGESTS_REQUIRED):
                new[name].attrs.pop(key, None)
    os.replace(folder / "copy.h5", path)
    return path


def _all_names(file):
    names = []
    file.visit(names.append)
    return names


def _make_with_sidecar(folder):
    path = _make_foreign_hdf5(folder)
    podium.saving.write_digests(path)
    return path


def _make_program(folder):
    model = _Shared.get()
    saved_values(model)
    model.export(folder / "m.jax")
    return folder / "m.jax"


def _load_program(path):
    podium.saving.load_exported(path)


def _make_json(make_model):
    def make(folder):
        (folder / "m.json").write_text(make_model().to_json())
        return folder / "m.json"

    return make


def _load_json(path):
    podium.models.model_from_json(path.read_text("utf-8", "surrogateescape"))


def _make_orbax(folder):
    model = _Shared.get()
    saved_values(model)
    manager = podium.saving.CheckpointManager(folder / "run", format="orbax")
    manager.save(1, model)
    manager.wait()
    return folder / "run"


def _make_keras(folder):
    """A file that Keras 3 wrote."""
    fixtures = pathlib.Path(__file__).parent.parent / "oracle" / "fixtures"
    return shutil.copyfile(fixtures / "saving" / "branches.keras", folder / "m.keras")


def _make_tar(folder):
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        for index in range(3):
            info = tarfile.TarInfo(f"data/{index}")
            info.size = 1000
            archive.addfile(info, io.BytesIO(bytes(1000)))
    return folder / "a.tar.gz"


def _make_data_zip(folder):
    content = mutations.write_zip({f"data/{index}": bytes(1000) for index in range(3)})
    (folder / "a.zip").write_bytes(content)
    return folder / "a.zip"


def _extract(path):
    shutil.rmtree(path.parent / "extracted", ignore_errors=True)
    extract_archive(path, path.parent / "extracted")


def forge_tar(content, rng):
    """A valid tar file with hostile members."""
    out = io.BytesIO()
    names = ["../CANARY", "/tmp/CANARY", "link/CANARY", "x" * 3000, "a/b", "link"]
    kinds = [tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for _ in range(int(rng.integers(1, 30))):
            info = tarfile.TarInfo(choose(rng, names))
            info.type, info.linkname = choose(rng, kinds), choose(rng, ["..", "/tmp", "CANARY"])
            info.size = int(choose(rng, [0, 10, 1 << 22])) if info.type == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(bytes(info.size)))
    return out.getvalue()


FORMATS = [
    Format("archive", _save_model("m.keras", small_model), load_model, write_file(forge_archive)),
    Format("graph", _save_model("m.keras", graph_model), load_model, write_file(forge_archive)),
    Format("keras archive", _make_keras, load_model, write_file(forge_archive)),
    Format("legacy", _save_model("m.h5", small_model), load_model, write_file(forge_hdf5)),
    Format("weights", _save_weights("w.weights.h5"), load_weights, write_file(forge_hdf5)),
    Format("groups", _save_weights("w.h5"), load_weights, write_file(forge_hdf5)),
    Format("hdf5", _make_foreign_hdf5, load_weights, write_file(forge_hdf5), False),
    Format("sidecar", _make_with_sidecar, load_weights, forge_sidecar),
    Format(
        "safetensors",
        _save_weights("w.safetensors"),
        load_weights,
        write_file(mutations.mutate_safetensors),
    ),
    Format("checkpoint", _save_weights("run/"), load_weights, forge_checkpoint),
    Format("orbax", _make_orbax, load_weights, forge_checkpoint),
    Format("tensorflow", _save_weights("w"), load_weights, forge_tensorflow),
    Format(
        "keras saved model",
        saved_models.make_keras_saved_model,
        saved_models.load_saved_model,
        saved_models.forge_keras_saved_model,
    ),
    Format(
        "saved model",
        saved_models.make_saved_model_of(small_model),
        saved_models.load_saved_model,
        saved_models.forge_saved_model,
    ),
    Format("program", _make_program, _load_program, write_file(forge_program)),
    Format(
        "json", _make_json(small_model), _load_json, write_file(mutations.mutate_json_text), False
    ),
    Format(
        "graph json",
        _make_json(graph_model),
        _load_json,
        write_file(mutations.mutate_json_text),
        False,
    ),
    Format("tar", _make_tar, _extract, write_file(forge_tar), False),
    Format("zip", _make_data_zip, _extract, write_file(mutations.mutate_zip), False),
]
