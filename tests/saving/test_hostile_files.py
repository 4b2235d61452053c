"""Malicious files of every format: each is rejected with a reason, without side effects.

The files are built here. Links to other files point to a file of the test.
"""

import io
import json
import os
import resource
import struct
import warnings
import zipfile

import h5py
import numpy as np
import pytest

import podium


def small_model():
    return podium.Sequential(
        [podium.Input((4,)), podium.layers.Dense(3, name="d"), podium.layers.Dense(2, name="e")],
        name="small",
    )


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of valid files, by suffix."""
    folder = tmp_path_factory.mktemp("good")
    model = small_model()
    model.compile("sgd", "mse")
    for name in ("m.keras", "m.h5"):
        model.save(folder / name)
    for name in ("w.weights.h5", "w.h5", "w.safetensors"):
        model.save_weights(folder / name)
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def assert_rejected(path, match, load=podium.saving.load_model):
    """Check that loading raises a matching error of readable length, without using much memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((ValueError, OSError), match=match) as caught:
        load(path)
    assert str(path) in str(caught.value) and len(str(caught.value)) < 2500
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10  # KiB


def load_weights(path):
    model = small_model()
    before = model.get_weights()
    try:
        model.load_weights(path)
    finally:
        assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))


# --- configs


def with_config(good, path, change):
    """Write an archive with another config: bytes, or a function that changes the config or returns
    another.
    """
    with zipfile.ZipFile(io.BytesIO(good["m.keras"])) as archive, zipfile.ZipFile(path, "w") as new:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "config.json":
                config = json.loads(content)
                changed = change(config)
                content = (
                    changed
                    if isinstance(changed, bytes)
                    else json.dumps(config if changed is None else changed).encode()
                )
            new.writestr(name, content)
    return path


def layer(config, place=1):
    return config["config"]["layers"][place]


def add(class_name, module="keras.layers", **config):
    described = {
        "module": module,
        "class_name": class_name,
        "registered_name": None,
        "config": config,
    }
    return lambda whole: whole["config"]["layers"].append(described)


CODE = {
    "class_name": "__lambda__",
    "config": {"code": "4wEAAAA=", "defaults": None, "closure": None},
}
NESTED = {
    "class_name": "Lambda",
    "module": "keras.layers",
    "config": {"name": "l", "function": CODE},
}
FUNCTION = {
    "module": "os",
    "class_name": "function",
    "config": "system",
    "registered_name": "system",
}


def deep(config):
    inner = {}
    layer(config)["config"]["kernel_regularizer"] = inner
    for _ in range(800):
        inner["a"] = inner = {}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (add("Lambda", name="l", function=CODE), "contains the code of a function.*not safe"),
        (add("TimeDistributed", name="t", layer=NESTED), "not safe"),
        (
            add("Lambda", name="l", function=["code", None, None], function_type="lambda"),
            "not safe",
        ),
        (add("Lambda", name="l", function=FUNCTION), "'system'.*not registered|Lambda.*system"),
        (lambda c: c["compile_config"].update(loss=CODE), "not safe"),
        (lambda c: c["compile_config"].update(loss=FUNCTION), "'system'.*not registered"),
        (lambda c: layer(c)["config"].update(activation=FUNCTION), "Unknown activation 'system'"),
        (
            lambda c: layer(c)["config"].update(
                kernel_initializer=FUNCTION | {"class_name": "system"}
            ),
            "Unknown initializer 'system'",
        ),
        (
            add("X", module="hostile_module"),
            "'X' of module 'hostile_module', which is not registered",
        ),
        (add("Dense.__init__.__globals__"), "not registered"),
        (add("podium.layers.Dense"), "not registered"),
        (add("__import__", module="builtins"), "'__import__'.*not registered"),
        (add("PACKAGES", module="podium.saving.serialization._packages"), "not registered"),
        (
            add("Unheard", module="keras.layers"),
            "'Unheard' of module 'keras.layers', which is not registered",
        ),
        (lambda c: c.update(class_name=["Sequential"]), "class_name"),
        (lambda c: layer(c)["config"].update(name="../../x"), "without '/'"),
        (deep, "deep"),
        (lambda c: b"[" * 100_000 + b"]" * 100_000, "levels deep"),
        (
            lambda c: json.dumps(c).replace('"units": 3', '"units": 7, "units": 3').encode(),
            "duplicate key 'units'",
        ),
        (lambda c: json.dumps(c).replace('"units": 3', '"units": NaN').encode(), "NaN"),
        (
            lambda c: json.dumps(c).replace('"units": 3', '"units": 1' + "0" * 5000).encode(),
            "invalid JSON|units",
        ),
        (lambda c: json.dumps(c).encode()[:-40], "invalid JSON"),
        (lambda c: b"\xff\xfe{}", "invalid JSON"),
        (lambda c: [1, 2], "an object with `class_name`"),
        (lambda c: c["config"].update(layers="abc"), "layers"),
        (lambda c: layer(c)["config"].update(units=10**12), "far larger than the size"),
        (lambda c: layer(c)["config"].update(units=-5), "units=-5"),
        (lambda c: layer(c)["config"].update(units="abc"), "units='abc'"),
        (lambda c: layer(c)["config"].update(units=5), "does not fit"),
        (
            lambda c: layer(c)["config"].update(activation="relu"),
            "config.json' does not fit the checksum",
        ),
    ],
)
def test_hostile_configs_are_rejected(good, tmp_path, monkeypatch, change, match):
    (tmp_path / "hostile_module.py").write_text(
        f"open({str(tmp_path / 'CANARY')!r}, 'w').close()\nclass X: pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert_rejected(with_config(good, tmp_path / "m.keras", change), match)
    assert not (tmp_path / "CANARY").exists()


def test_hostile_configs_are_rejected_as_json_and_as_objects():
    config = json.loads(small_model().to_json())
    add("Lambda", name="l", function=CODE)(config)
    with pytest.raises(ValueError, match=r"not safe"):
        podium.models.model_from_json(json.dumps(config))
    for described in (NESTED, FUNCTION):
        with pytest.raises(ValueError, match=r"not safe|not registered"):
            podium.saving.deserialize_keras_object(described, safe_mode=False)


# --- archives


def zipped(good, path, extra=(), method=zipfile.ZIP_STORED):
    with (
        zipfile.ZipFile(io.BytesIO(good["m.keras"])) as archive,
        zipfile.ZipFile(path, "w", method) as new,
    ):
        for name in archive.namelist():
            new.writestr(name, archive.read(name))
        for name, content in extra:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of duplicate members
                new.writestr(name, content)
    return path


def link(name):
    member = zipfile.ZipInfo(name)
    member.external_attr = 0o120777 << 16
    return member


@pytest.mark.parametrize(
    ("extra", "match"),
    [
        ([("../CANARY", b"x")], r"'\.\./CANARY' has an unsafe path"),
        ([("/tmp/CANARY", b"x")], "unsafe path"),
        ([("assets/../../CANARY", b"x")], "unsafe path"),
        ([("..\\CANARY", b"x")], "unsafe path"),
        ([("C:/CANARY", b"x")], "unsafe path"),
        ([(link("assets/link"), b"/etc/passwd")], "is a link or a device"),
        ([("config.json", b"{}")], "duplicate member 'config.json'"),
        ([("CONFIG.json", b"{}")], "duplicate member 'CONFIG.json'"),
        ([("assets/zeros", bytes(200 << 20))], "a zip bomb"),
        ([("assets/x.json", bytes(65 << 20))], "over the limit"),
    ],
)
def test_hostile_archive_members_are_rejected(good, tmp_path, extra, match):
    path = zipped(
        good,
        tmp_path / "m.keras",
        extra,
        zipfile.ZIP_DEFLATED if "bomb" in match else zipfile.ZIP_STORED,
    )
    assert_rejected(path, match)
    assert_rejected(path, match, load_weights)
    assert os.listdir(tmp_path) == ["m.keras"]


def test_too_many_archive_members_are_rejected(good, tmp_path):
    assert_rejected(
        zipped(good, tmp_path / "m.keras", [(f"assets/{place}", b"") for place in range(10_001)]),
        "10004 members",
    )


def directory_entries(content):
    place = -1
    while (place := content.find(b"PK\x01\x02", place + 1)) >= 0:
        yield place


def overlapping(content):
    for place in directory_entries(content):
        content[place + 42 : place + 46] = bytes(4)


def other_method(content):
    for place in directory_entries(content):
        content[place + 10 : place + 12] = struct.pack("<H", 97)


def encrypted(content):
    for place in directory_entries(content):
        content[place + 8] |= 1


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda content: b"#!/bin/sh\n" * 50 + content, "leading|not a model"),
        (lambda content: content + b"PK" + os.urandom(2000), "trailing|corrupt"),
        (lambda content: content + content, "leading or trailing"),
        (lambda content: content[: len(content) // 2], "corrupt"),
        (lambda content: b"", "is empty"),
        (lambda content: b"\x89PNG" * 30, "is not a model"),
        (overlapping, "corrupt"),
        (other_method, "corrupt|compression"),
        (encrypted, "encrypted"),
    ],
)
def test_malformed_archives_are_rejected(good, tmp_path, change, match):
    content = bytearray(good["m.keras"])
    changed = change(content)
    (tmp_path / "m.keras").write_bytes(content if changed is None else changed)
    assert_rejected(tmp_path / "m.keras", match)


@pytest.mark.parametrize("name", ["config.json", "model.weights.h5"])
def test_missing_archive_members_are_reported(good, tmp_path, name):
    with (
        zipfile.ZipFile(io.BytesIO(good["m.keras"])) as archive,
        zipfile.ZipFile(tmp_path / "m.keras", "w") as new,
    ):
        for one in archive.namelist():
            if one != name:
                new.writestr(one, archive.read(one))
    assert_rejected(tmp_path / "m.keras", f"missing.*{name}")


@pytest.mark.parametrize("load", [podium.saving.load_model, load_weights])
def test_devices_and_pipes_are_rejected_without_waiting(tmp_path, load):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        assert_rejected(tmp_path / name, "a directory, a device or a pipe", load)


# --- HDF5


def first_of(file):
    """The path of the first matrix."""
    found = []
    file.visititems(
        lambda name, item: (
            found.append(name) if isinstance(item, h5py.Dataset) and item.ndim == 2 else None
        )
    )
    return sorted(found)[0]


def instead(make):
    """Replace a matrix: by a function of its group, its key and a folder."""

    def change(file, folder):
        group, _, key = first_of(file).rpartition("/")
        del file[group][key]
        make(file[group], key, folder)

    return change


def other_file(folder):
    with h5py.File(folder / "other.h5", "w") as file:
        file["x"] = np.full((4, 3), 7, "float32")
    return str(folder / "other.h5")


def virtual(group, key, folder):
    layout = h5py.VirtualLayout((4, 3), "float32")
    layout[:] = h5py.VirtualSource(other_file(folder), "x", (4, 3))
    group.create_virtual_dataset(key, layout)


def foreign_filter(group, key, folder):
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_chunk((4, 3))
    settings.set_filter(32099, h5py.h5z.FLAG_OPTIONAL, (0,))
    space = h5py.h5s.create_simple((4, 3))
    h5py.h5d.create(
        group.id, key.encode(), h5py.h5t.IEEE_F32LE, space, dcpl=settings
    ).write_direct_chunk((0, 0), bytes(48), 0)


def outside(group, key, folder):
    (folder / "secret").write_bytes(b"TOPSECRET" * 10)
    group.create_dataset(key, (4, 3), "float32", external=[(str(folder / "secret"), 0, 48)])


def linked_group(file, folder):
    group = first_of(file).rpartition("/")[0]
    above, _, key = group.rpartition("/")
    del file[above][key]
    file[above][key] = h5py.ExternalLink(other_file(folder), "/")


def huge(shape):
    return lambda group, key, folder: group.create_dataset(
        key, shape, "float32", chunks=True, compression="gzip"
    )


def holding(value):
    return lambda group, key, folder: group.create_dataset(key, data=value)


HDF5 = [
    (
        instead(
            lambda group, key, folder: group.__setitem__(
                key, h5py.ExternalLink(other_file(folder), "/x")
            )
        ),
        "External",
    ),
    (
        instead(lambda group, key, folder: group.__setitem__(key, h5py.SoftLink("/elsewhere"))),
        "soft links",
    ),
    (linked_group, "External"),
    (instead(outside), "external or virtual storage"),
    (instead(virtual), "external or virtual storage"),
    (instead(foreign_filter), "filter"),
    (instead(huge((1 << 20, 1 << 18))), "declares the shape"),
    (instead(huge((400 << 20,))), "declares the shape"),
    (instead(holding(np.full((4, 3), b"1.5", "S8"))), "has the type"),
    (
        instead(lambda g, key, folder: g.create_dataset(key, (4, 3), h5py.string_dtype())),
        "has the type",
    ),
    (instead(lambda g, key, folder: g.create_dataset(key, (4, 3), h5py.ref_dtype)), "has the type"),
    (
        instead(lambda g, key, folder: g.create_dataset(key, (4, 3), h5py.vlen_dtype("float32"))),
        "has the type",
    ),
    (instead(holding(np.zeros((4, 3), [("a", "f4"), ("b", "f4")]))), "has the type"),
    (
        instead(lambda g, key, folder: g.create_dataset(key, data=h5py.Empty("float32"))),
        "holds no numbers",
    ),
    (
        instead(lambda g, key, folder: g.create_group(key)),
        "a dataset was expected|holds no numbers",
    ),
    (
        instead(holding(np.zeros((3, 4), "float32"))),
        r"has shape \(4, 3\), and .* in the file has \(3, 4\)",
    ),
    (instead(holding(np.zeros((4, 3), "float32"))), "has no checksum"),
    (instead(lambda g, key, folder: None), "missing|no such member"),
]


@pytest.mark.parametrize("name", ["w.weights.h5", "w.h5", "m.h5", "m.keras"])
@pytest.mark.parametrize(("change", "match"), HDF5)
def test_hostile_hdf5_files_are_rejected(good, tmp_path, name, change, match):
    path, inner = tmp_path / name, tmp_path / "inner.h5"
    if name == "m.keras":
        with zipfile.ZipFile(io.BytesIO(good[name])) as archive:
            members = {one: archive.read(one) for one in archive.namelist()}
        inner.write_bytes(members["model.weights.h5"])
    else:
        inner.write_bytes(good[name])
    with h5py.File(inner, "r+") as file:
        change(file, tmp_path)
    if name == "m.keras":
        with zipfile.ZipFile(path, "w") as archive:
            for one, content in (members | {"model.weights.h5": inner.read_bytes()}).items():
                archive.writestr(one, content)
    else:
        inner.rename(path)
    assert_rejected(
        path, match, podium.saving.load_model if name.startswith("m.") else load_weights
    )


def test_cyclic_groups_are_rejected(good, tmp_path):
    path = tmp_path / "w.weights.h5"
    path.write_bytes(good[path.name])
    with h5py.File(path, "r+") as file:
        file["layers/loop"] = file["/"]
    assert_rejected(path, "cycle", load_weights)
    path.write_bytes(good[path.name])
    with h5py.File(path, "r+") as file:
        file.create_group("/".join("x" * 100))
    assert_rejected(path, "nested too deep", load_weights)


@pytest.mark.parametrize("attribute", [b"{bad", b"[" * 60_000, b"[]", b"\xff\xfe", np.zeros(4)])
def test_hostile_configs_in_hdf5_are_rejected(good, tmp_path, attribute):
    path = tmp_path / "m.h5"
    path.write_bytes(good[path.name])
    with h5py.File(path, "r+") as file:
        file.attrs["model_config"] = attribute
    assert_rejected(path, "config|damaged")


# --- safetensors


def tensors(header, payload=bytes(48), length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + payload


def entry(shape=(12,), offsets=(0, 48), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "empty or too small"),
        (tensors({"a": entry()}, length=1 << 62), "header claims a size"),
        (tensors({"a": entry()}, length=200), "header claims a size"),
        (tensors(b"{" * 40_000), "levels deep"),
        (tensors(b"{\xff\xfe}"), "invalid JSON"),
        (tensors(b'{"a": 1, "a": 2}'), "duplicate key"),
        (tensors({"a": entry(), "b": entry((6,), (0, 24))}), "overlaps"),
        (tensors({"a": entry((1,), (0, 4)), "b": entry((1,), (44, 48))}), "hole"),
        (tensors({"a": entry((100,))}), "size of 400 bytes"),
        (tensors({"a": entry((1 << 62, 16))}), "size of"),
        (tensors({"a": entry((-12,))}), "a list of ints"),
        (tensors({"a": entry((12,), (48, 0))}), "offsets"),
        (tensors({"a": entry(dtype="PICKLE")}), "unknown dtype 'PICKLE'"),
        (tensors({"a": entry((1000,), (0, 4000))}), "truncated"),
        (tensors({"a": entry()}, bytes(80)), "trailing bytes"),
        (tensors({"__metadata__": {"a": {"b": 1}}, "a": entry()}), "strings were expected"),
        (
            tensors({f"layers/x{place}/kernel": entry((0,), (0, 0)) for place in range(3000)}, b""),
            "unexpected",
        ),
    ],
)
def test_hostile_safetensors_are_rejected(tmp_path, content, match):
    (tmp_path / "w.safetensors").write_bytes(content)
    assert_rejected(tmp_path / "w.safetensors", match, load_weights)
