"""Mutations of bytes, JSON, HDF5, zip archives and safetensors, for `fuzz.py`.

Each takes contents and a random generator, and returns other contents. Payloads are harmless: code
would create the file `CANARY`, and links point to `secret.h5`, whose values are all 7.
"""

import base64
import copy
import inspect
import io
import json
import marshal
import os
import struct
import zipfile
import zlib

import h5py
import numpy as np

import podium

HUGE = (-1, 0, 1 << 14, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 64, 10**40)
CLASSES = {
    module: [
        name
        for name in dir(getattr(podium, module))
        if isinstance(getattr(getattr(podium, module), name), type)
    ]
    for module in ("layers", "metrics", "losses", "optimizers", "initializers", "regularizers")
}
_CODE = compile("lambda x: (open('CANARY', 'w').close(), x)[1]", "<fuzz>", "eval")
LAMBDA = {
    "class_name": "__lambda__",
    "config": {
        "code": base64.b64encode(marshal.dumps(_CODE.co_consts[0])).decode(),
        "defaults": None,
        "closure": None,
    },
}


def choose(rng, items):
    return items[int(rng.integers(len(items)))]


# --- bytes: damage, which leaves checksums as they were


def flip_bits(content, rng):
    damaged = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        damaged[rng.integers(len(damaged))] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def truncate(content, rng):
    return content[: rng.integers(len(content))]


def overwrite_range(content, rng):
    start = int(rng.integers(len(content)))
    size = min(int(rng.integers(1, 64)), len(content) - start)
    values = choose(rng, [rng.bytes(size), bytes(size), b"\xff" * size])
    return content[:start] + values + content[start + size :]


def insert_bytes(content, rng):
    start = int(rng.integers(len(content) + 1))
    return content[:start] + rng.bytes(int(rng.integers(1, 64))) + content[start:]


def delete_range(content, rng):
    start = int(rng.integers(len(content)))
    return content[:start] + content[start + int(rng.integers(1, 64)) :]


def move_range(content, rng):
    source, target = (int(place) for place in rng.integers(len(content), size=2))
    part = content[source : source + int(rng.integers(1, 128))]
    return content[:target] + part + content[target + len(part) :]


def huge_number(content, rng):
    kind = choose(rng, ["<I", "<Q"])
    value = int(choose(rng, [1 << 16, 1 << 24, (1 << 31) - 1, (1 << 32) - 1]))
    start = int(rng.integers(max(1, len(content) - 8)))
    packed = struct.pack(kind, value)
    return content[:start] + packed + content[start + len(packed) :]


DAMAGE = [
    flip_bits,
    truncate,
    overwrite_range,
    insert_bytes,
    delete_range,
    move_range,
    huge_number,
]


# --- JSON


def mutate_json(value, rng):
    """Return plain data with one or two changes."""
    value = copy.deepcopy(value)
    for _ in range(int(choose(rng, [1, 1, 2]))):
        if isinstance(value, (dict, list)):
            value = choose(rng, JSON_MUTATIONS)(value, rng)
    return value


def _places(value):
    """Return all pairs of a container and a key."""
    pending, places = [value], []
    while pending:
        item = pending.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item))
        places += [(item, key) for key in keys]
        pending += [item[key] for key in keys if isinstance(item[key], (dict, list))]
    return places


def _set_value(value, rng):
    places = _places(value)
    if places:
        item, key = choose(rng, places)
        item[key] = choose(rng, JSON_VALUES)(rng)
    return value


def _set_number(value, rng):
    places = [(item, key) for item, key in _places(value) if isinstance(item[key], (int, float))]
    if places:
        item, key = choose(rng, places)
        item[key] = choose(rng, HUGE)
    return value


def _delete_place(value, rng):
    places = _places(value)
    if places:
        item, key = choose(rng, places)
        del item[key]
    return value


def _exchange(value, rng):
    places = _places(value)
    if places:
        (first, key), (second, other) = choose(rng, places), choose(rng, places)
        first[key] = copy.deepcopy(second[other])
    return value


def _repeat(value, rng):
    lists = [item[key] for item, key in _places(value) if isinstance(item[key], list)]
    if lists:
        target = choose(rng, lists)
        target += copy.deepcopy(target) * min(int(rng.integers(3000)), 20_000 // (len(target) + 1))
    return value


def _rename_class(value, rng):
    places = [item for item, key in _places(value) if key == "class_name"]
    if places:
        target = choose(rng, places)
        module = choose(rng, list(CLASSES))
        target["class_name"] = choose(
            rng, [*CLASSES[module], "system", "__lambda__", "function", "__numpy__", "__bytes__"]
        )
        target["module"] = choose(rng, [f"keras.{module}", "os", "builtins", "subprocess", None])
    return value


def _add_lambda(value, rng):
    places = [item for item, key in _places(value) if key in ("activation", "function", "loss")]
    if places:
        target = choose(rng, places)
        key = choose(rng, [key for key in ("activation", "function", "loss") if key in target])
        target[key] = LAMBDA
    return value


def _nest(value, rng):
    item = value
    for _ in range(int(rng.integers(10, 400))):
        item = choose(rng, [[item], {"class_name": "Sequential", "config": {"layers": [item]}}])
    if isinstance(value, dict) and isinstance(value.get("config"), dict):
        return {**value, "config": {**value["config"], "layers": [item]}}
    return item


def _add_layer(value, rng):
    """Append a layer of any class whose arguments are numbers, one of them huge."""
    layers = [item[key] for item, key in _places(value) if key == "layers"]
    layers = [item for item in layers if isinstance(item, list)]
    if layers:
        target = choose(rng, layers)
        added = random_object("layers", rng)
        added["name"] = added["config"]["name"] = "added"
        others = [item for item in target if isinstance(item, dict) and item.get("inbound_nodes")]
        if others:
            added["inbound_nodes"] = copy.deepcopy(choose(rng, others)["inbound_nodes"])
        target.insert(int(rng.integers(1, len(target) + 2)), added)
    return value


def _add_metric(value, rng):
    if isinstance(value, dict) and isinstance(value.get("compile_config"), dict):
        module, key = choose(rng, [("metrics", "metrics"), ("losses", "loss")])
        built = random_object(module, rng)
        value["compile_config"][key] = [built] if key == "metrics" else built
        return value
    return _add_layer(value, rng)


def _replace_initializer(value, rng):
    places = [(item, key) for item, key in _places(value) if str(key).endswith("_initializer")]
    if places:
        item, key = choose(rng, places)
        item[key] = random_object("initializers", rng)
    return value


def random_object(module, rng):
    """Return the config of an object of any class, with random numbers as its arguments."""
    name = choose(rng, CLASSES[module])
    try:
        parameters = inspect.signature(getattr(getattr(podium, module), name)).parameters
    except (TypeError, ValueError):
        parameters = {}
    arguments = {}
    for key, parameter in parameters.items():
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) and (
            parameter.default is parameter.empty or rng.random() < 0.15
        ):
            arguments[key] = choose(rng, ARGUMENTS)(rng)
    return {
        "module": f"keras.{module}",
        "class_name": name,
        "config": arguments,
        "registered_name": None,
    }


ARGUMENTS = [
    lambda rng: int(rng.integers(1, 5)),
    lambda rng: int(rng.integers(1, 5)),
    lambda rng: choose(rng, HUGE),
    lambda rng: choose(rng, HUGE[2:]),
    lambda rng: [choose(rng, HUGE)] * int(rng.integers(1, 4)),
    lambda rng: float(rng.normal()),
    lambda rng: choose(rng, ["relu", "same", "int", "zeros", "float32", "x" * 5000]),
    lambda rng: bool(rng.integers(2)),
]
JSON_VALUES = [
    *ARGUMENTS,
    lambda rng: None,
    lambda rng: {},
    lambda rng: [],
    lambda rng: "x" * int(rng.integers(100_000)),
    lambda rng: [0] * int(rng.integers(200_000)),
    lambda rng: 10.0 ** int(rng.integers(300)),
    lambda rng: {"class_name": "__numpy__", "config": {"value": [1], "dtype": "object"}},
    lambda rng: {"class_name": "__tensor__", "config": {"value": 1, "dtype": "float32"}},
    lambda rng: {"class_name": "system", "module": "os", "config": "touch CANARY"},
    lambda rng: "\ud800",
]
JSON_MUTATIONS = [
    _set_value,
    _set_number,
    _set_number,
    _delete_place,
    _exchange,
    _repeat,
    _rename_class,
    _add_lambda,
    _nest,
    _add_layer,
    _add_layer,
    _add_metric,
    _replace_initializer,
]


def mutate_json_text(content, rng):
    """Return the bytes of JSON, mutated as data or as text."""
    if rng.random() < 0.85:
        return json.dumps(mutate_json(json.loads(content), rng)).encode()
    places = [
        lambda text: b"[" * int(rng.integers(1, 100_000)) + text,
        lambda text: text + b"," + text,
        lambda text: b'{"a":1,"a":' + text + b"}",
        lambda text: text.replace(b"null", choose(rng, [b"NaN", b"Infinity", b"1e999", b"-"])),
        lambda text: text.replace(b"1", b"9" * int(rng.integers(1, 10_000)), 1),
        lambda text: b'"' * int(rng.integers(1, 1_000_000)),
        lambda text: b"[" + b"0," * int(rng.integers(1, 2_000_000)) + b"0]",
        lambda text: b"[" + b'"",' * int(rng.integers(1, 1_000_000)) + b'""]',
        lambda text: b"\xff\xfe" + text,
    ]
    return choose(rng, places)(content)


# --- HDF5, changed with h5py: checksums of the structure are absent then, those of arrays remain


def mutate_hdf5(content, rng):
    file = io.BytesIO(content)
    with h5py.File(file, "r+") as opened:
        for _ in range(int(rng.integers(1, 3))):
            choose(rng, HDF5_MUTATIONS)(opened, rng)
    return file.getvalue()


def _members(file, kind):
    found = []
    file.visititems(lambda name, item: found.append(name) if isinstance(item, kind) else None)
    return found


def _replace_dataset(file, rng, **options):
    names = _members(file, h5py.Dataset)
    if names:
        name = choose(rng, names)
        attributes = dict(file[name].attrs)
        shape = options.pop("shape", file[name].shape)
        del file[name]
        dataset = file.create_dataset(name, shape, **{"dtype": "float32", **options})
        for key, value in attributes.items():
            if rng.random() < 0.5:
                dataset.attrs[key] = value
        return dataset
    return None


def _fill_value(file, rng):
    size = int(choose(rng, [1 << 18, 1 << 24, 1 << 31, 1 << 40, 1 << 60]))
    _replace_dataset(file, rng, shape=(size,), chunks=(min(size, 1 << 16),), fillvalue=3)


def _many_sizes(file, rng):
    _replace_dataset(file, rng, shape=(1,) * int(rng.integers(5, 33)))


def _compressed(file, rng):
    filters = choose(rng, [{"compression": 9}, {"compression": "lzf"}, {"scaleoffset": 3}])
    size = int(choose(rng, [12, 1 << 18, 1 << 22, 1 << 24]))
    dataset = _replace_dataset(file, rng, shape=(size,), chunks=(size,), **filters)
    if dataset is not None:
        dataset[:] = 0


def _chunk_bomb(file, rng):
    """A small dataset whose only chunk is large, or holds more than it declares."""
    names = _members(file, h5py.Dataset)
    if not names:
        return
    shape = file[choose(rng, names)].shape or (2,)
    large = rng.random() < 0.5
    chunks = (1 << 22,) if large else shape
    shape = shape[:1] if large else shape
    dataset = _replace_dataset(
        file, rng, shape=shape, maxshape=(None,) * len(shape), chunks=chunks, compression=1
    )
    if dataset is not None:
        bomb = zlib.compress(bytes(int(choose(rng, [1 << 10, 1 << 25, 1 << 28]))), 9)
        dataset.id.write_direct_chunk((0,) * len(shape), bomb)


def _other_storage(file, rng):
    names = _members(file, h5py.Dataset)
    if names:
        name = choose(rng, names)
        shape = file[name].shape or (1,)
        del file[name]
        if rng.random() < 0.5:
            file.create_dataset(name, shape, "float32", external=[("secret.bin", 0, 1 << 20)])
        else:
            layout = h5py.VirtualLayout(shape, "float32")
            layout[...] = h5py.VirtualSource("secret.h5", "v", shape=shape)
            file.create_virtual_dataset(name, layout)


def _link(file, rng):
    names = _members(file, (h5py.Dataset, h5py.Group))
    if names:
        name, target = choose(rng, names), choose(rng, names)
        links = [
            h5py.SoftLink("/" + target),
            h5py.ExternalLink("secret.h5", "v"),
            file[target],
            file["/"],
        ]
        del file[name]
        if name.rpartition("/")[0] in file or "/" not in name:
            link = choose(rng, links)
            if not isinstance(link, h5py.HLObject) or link:
                file[name] = link


def _many_paths(file, rng):
    group = choose(rng, [file, *[file[name] for name in _members(file, h5py.Group)]])
    for level in range(int(rng.integers(5, 30))):
        inner = group.create_group(f"a{level}x")
        group[f"b{level}x"] = inner
        group = inner
        if level == 3:
            group.create_group("vars").create_dataset("0", data=np.ones(3, "float32"))


def _many_groups(file, rng):
    for index in range(int(rng.integers(10, 3000))):
        file.create_group(f"g{index}")


def _deep_groups(file, rng):
    file.create_group("x/" * int(rng.integers(10, 400)) + "vars")


def _names(file, rng):
    groups = [file, *[file[name] for name in _members(file, h5py.Group)]]
    group = choose(rng, groups)
    key = choose(rng, ["layer_names", "weight_names", "layer_names0", "weight_names0"])
    existing = [name.encode() for name in list(group)[:5]] or [b"dense"]
    values = [
        np.array(existing * int(rng.integers(1, 500))),
        np.array([b"../" * 5, b"/", b"", b"a/b/c"]),
        np.array(existing + [b"x" * 9000]),
        np.zeros((2, 2)),
        np.float64(3),
    ]
    group.attrs[key] = choose(rng, values)


def _vlen_attribute(file, rng):
    """An attribute of many strings that are all stored once would be large in memory."""
    groups = [file, *[file[name] for name in _members(file, (h5py.Group, h5py.Dataset))]]
    key = choose(rng, ["layer_names", "weight_names", "dtype", "sha256", "podium_digests"])
    count = int(choose(rng, [1, 10, 1000]))
    target = choose(rng, groups)
    target.attrs.create(
        key, ["x" * int(rng.integers(1, 60_000))] * count, dtype=h5py.string_dtype()
    )


def _attributes(file, rng):
    groups = [file, *[file[name] for name in _members(file, (h5py.Group, h5py.Dataset))]]
    target = choose(rng, groups)
    for index in range(int(rng.integers(1, 500))):
        target.attrs[f"layer_names{index}"] = np.array([b"dense"])


def _config_attribute(file, rng):
    for key in ("model_config", "training_config"):
        if key in file.attrs and rng.random() < 0.7:
            text = file.attrs[key]
            text = text if isinstance(text, bytes) else text.encode()
            mutated = mutate_json_text(text, rng)
            if len(mutated) < 60_000:
                file.attrs[key] = np.void(mutated) if rng.random() < 0.1 else mutated
            file.attrs.pop("podium_config_sha256", None)


def _dtype(file, rng):
    kinds = ["float64", "int8", "bool", "S8", "complex64", h5py.string_dtype(), h5py.ref_dtype]
    kinds += [np.dtype([("a", "f4"), ("b", "i8")]), h5py.vlen_dtype(np.float32), "V64", ">f4"]
    _replace_dataset(file, rng, dtype=choose(rng, kinds))


def _delete_member(file, rng):
    names = _members(file, (h5py.Dataset, h5py.Group))
    if names:
        del file[choose(rng, names)]


def _delete_attributes(file, rng):
    for name in ["/", *_members(file, (h5py.Dataset, h5py.Group))]:
        for key in list(file[name].attrs):
            if key in ("sha256", "podium_digests") or rng.random() < 0.2:
                del file[name].attrs[key]


HDF5_MUTATIONS = [
    _fill_value,
    _many_sizes,
    _compressed,
    _chunk_bomb,
    _chunk_bomb,
    _other_storage,
    _link,
    _many_paths,
    _many_groups,
    _deep_groups,
    _names,
    _vlen_attribute,
    _attributes,
    _config_attribute,
    _config_attribute,
    _dtype,
    _delete_member,
    _delete_attributes,
]


# --- zip archives


def read_zip(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def write_zip(members, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def mutate_zip(content, rng):
    """Change the members or the headers of an archive; checksums fit where possible."""
    members = read_zip(content)
    name = choose(rng, list(members))
    kind = int(rng.integers(8))
    if kind == 0:
        members[choose(rng, ["../CANARY", "/tmp/CANARY", "a" * 60_000, "C:/x", "x\\..\\y"])] = b"x"
    elif kind == 1:
        count = int(choose(rng, [9, 500, 11_000]))
        members |= {f"assets/{index}": b"" for index in range(count)}
    elif kind == 2:
        members[name] = bytes(int(choose(rng, [1 << 20, 1 << 24, 1 << 26])))
        return write_zip(members, zipfile.ZIP_DEFLATED)
    elif kind == 3:
        members[name] += b" " * int(choose(rng, [1 << 20, 1 << 23]))
        return write_zip(members, choose(rng, [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]))
    elif kind == 4:
        del members[name]
    elif kind == 5:
        return write_zip(members, choose(rng, [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]))
    elif kind == 6:
        return _forge_header(write_zip(members), rng)
    else:
        other = choose(rng, list(members))
        members[name], members[other] = members[other], members[name]
    return write_zip(members)


def _forge_header(content, rng):
    """Change a number in an entry of the directory: sizes, offsets, methods, CRCs."""
    places = [i for i in range(len(content) - 46) if content[i : i + 4] == b"PK\x01\x02"]
    start = choose(rng, places) + int(choose(rng, [8, 10, 16, 20, 24, 28, 30, 32, 38, 42]))
    value = choose(rng, [0, 1, 8, 99, 0xFFFF, 0xFFFFFFFF, 1 << 30])
    return content[:start] + struct.pack("<I", value) + content[start + 4 :]


# --- safetensors


def mutate_safetensors(content, rng):
    length = struct.unpack("<Q", content[:8])[0]
    header, body = json.loads(content[8 : 8 + length]), content[8 + length :]
    if rng.random() < 0.7:
        header.pop("__metadata__", None)
    kind = int(rng.integers(5))
    names = [name for name in header if name != "__metadata__"]
    if kind == 0:
        header = mutate_json(header, rng)
    elif kind == 1 and names:
        entry = header[choose(rng, names)]
        entry["shape"] = [choose(rng, HUGE)] * int(rng.integers(1, 5000))
    elif kind == 2 and names:
        header[choose(rng, names)]["data_offsets"] = [choose(rng, HUGE), choose(rng, HUGE)]
    elif kind == 3:
        for index in range(int(rng.integers(1, 20_000))):
            header[f"empty{index}"] = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    else:
        text = mutate_json_text(json.dumps(header).encode(), rng)
        return struct.pack("<Q", len(text)) + text + body
    text = json.dumps(header).encode()
    return struct.pack("<Q", choose(rng, [len(text)] * 9 + [1 << 40])) + text + body


def write_secrets(folder):
    """Write files outside of what is loaded: their values must never be read."""
    with h5py.File(os.path.join(folder, "secret.h5"), "w") as file:
        file["v"] = np.full((64, 64), 7, "float32")
    with open(os.path.join(folder, "secret.bin"), "wb") as raw:
        raw.write(np.full(1 << 12, 7, "float32").tobytes())
