"""Makes arrays, and objects of any library with the Keras API, from the data of `cases.py`.

Shared by the recorders and the test, so both sides see the same inputs, weights and cotangents.
Imports neither Keras nor Podium: the library is the argument `api`. Values are sampled from
`numpy.random.RandomState`, whose stream NumPy has frozen, so fixtures hold results only.
"""

import json
import zlib
from pathlib import Path

import numpy as np

FIXTURES = Path(__file__).parent / "fixtures"


def _random(case, slot):
    return np.random.RandomState(zlib.crc32(f"{case.id}:{case.seed}:{slot}".encode()))


def is_spec(value):
    """Return whether a value of a case specifies an array."""
    return isinstance(value, dict) and "fill" in value


def _lengths(shape):
    return np.arange(shape[1])[None, :] < (shape[1] - np.arange(shape[0]))[:, None]


def array(spec, random):
    """Return the array that a spec of `cases.py` specifies."""
    shape, fill = tuple(spec["shape"]), spec["fill"]
    values = random.normal(size=shape).astype("float32")
    if fill == "normal":
        return values
    if fill == "uniform":
        return random.uniform(size=shape).astype("float32")
    if fill == "ints":
        return random.randint(0, spec["high"], size=shape).astype("int32")
    if fill == "grid":
        return np.linspace(-6, 6, 61, dtype="float64").round(6).astype("float32").reshape(shape)
    if fill == "lengths":
        return _lengths(shape)
    if fill == "gaps":
        mask = values > -0.3
        mask[..., 0] = True
        return mask
    keep = _lengths(shape)
    if fill == "holes":
        keep[0, 1] = False
    return np.where(keep[..., None], values, 0).astype("float32")


def fill_specs(case, value, slot):
    """`value` with every array spec in it replaced by its array."""
    if is_spec(value):
        return array(value, _random(case, slot))
    if isinstance(value, (list, tuple)):
        return [fill_specs(case, item, f"{slot}.{i}") for i, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: fill_specs(case, item, f"{slot}.{key}") for key, item in value.items()}
    return value


def map_arrays(fn, value):
    """`fn` applied to every NumPy array in lists, tuples and dicts."""
    if isinstance(value, np.ndarray):
        return fn(value)
    if isinstance(value, (list, tuple)):
        return [map_arrays(fn, item) for item in value]
    if isinstance(value, dict):
        return {key: map_arrays(fn, item) for key, item in value.items()}
    return value


def flatten(value):
    """The leaves of lists, tuples and dicts (in insertion order), Nones left out."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    return [] if value is None else [value]


def inputs(case):
    """(positional arguments, keyword arguments) as NumPy arrays."""
    return fill_specs(case, list(case.args), "args"), fill_specs(case, case.call, "call")


def float_slots(args, kwargs):
    """The float arrays among the arguments, in the order in which gradients are recorded."""
    return [x for x in flatten([args, kwargs]) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


def weight_value(case, index, name, shape, dtype):
    """What weight number `index` is set to; None leaves it (counters are not floats)."""
    if "float" not in str(dtype):
        return None
    values = (_random(case, f"weight.{index}").normal(size=shape) * 0.3).astype("float32")
    positive = "variance" in name or "stddev" in name
    return np.asarray(np.abs(values) + 0.5 if positive else values, dtype="float32")


def cotangent(case, index, shape):
    """What output number `index` is multiplied with before summing, for gradients."""
    return np.asarray(_random(case, f"cotangent.{index}").normal(size=shape), dtype="float32")


def double(x):
    """The function of the Lambda cases."""
    return x * 2.0


def make(api, value, name=None):
    """Objects of `api` for the `{"module", "class_name", "config"}` entries in a config."""
    if isinstance(value, dict) and "class_name" in value:
        module = value.get("module", "layers")
        config = {key: make(api, item, f"inner_{key}") for key, item in value["config"].items()}
        if module == "layers" and name is not None:
            config.setdefault("name", name)
        return getattr(getattr(api, module), value["class_name"])(**config)
    if isinstance(value, dict) and set(value) == {"function"}:
        return double
    if isinstance(value, list):
        return [make(api, item, f"{name}_{i}") for i, item in enumerate(value)]
    return value


def make_case(api, case):
    """The object under test; layers are named "subject", the objects inside them
    "inner_<argument>".
    """
    module = {"layer": "layers"}.get(case.kind, case.kind + "s")
    if case.kind == "activation":
        return getattr(api.activations, case.name)
    entry = {"module": module, "class_name": case.name, "config": case.config}
    return make(api, entry, "subject" if case.kind == "layer" else None)


def pass_masking(api, case, args):
    """The arguments, those in `case.masking` sent through a Masking layer so that they carry a
    mask.
    """
    if not case.masking:
        return args
    masking = api.layers.Masking()
    return [
        ([masking(x) for x in a] if isinstance(a, list) else masking(a)) if i in case.masking else a
        for i, a in enumerate(args)
    ]


def mask_of(api, tensor):
    """The mask that a layer called on `tensor` would get, or None."""

    class MaskProbe(api.layers.Layer):
        def __init__(self):
            super().__init__()
            self.supports_masking = True

        def call(self, inputs, mask=None):
            seen.append(mask)
            return inputs

    seen = []
    MaskProbe()(tensor)
    return seen[-1]


def shape_arguments(args):
    """Arguments for `compute_output_shape`: shapes for arrays, nested the same way."""
    return [
        [tuple(x.shape) for x in flatten(a)] if isinstance(a, list) else tuple(a.shape)
        for a in args
    ]


def to_json_types(value):
    """Return a config or shape in types of JSON: tuples as lists, arrays and scalars as numbers."""
    if isinstance(value, dict):
        return {str(key): to_json_types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_types(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "name") and not callable(value):
        return value.name
    return f"<{type(value).__name__}>"


def dtype_name(tensor):
    """A tensor's dtype as a to_json_types string, "" if it has none."""
    dtype = getattr(tensor, "dtype", "")
    return str(getattr(dtype, "name", dtype))


def weight_facts(layer):
    """Name (last path segment), path, shape, dtype and trainability of every weight, in
    `layer.weights` order.
    """
    facts = []
    for weight in layer.weights:
        path = getattr(weight, "path", weight.name)
        facts.append(
            {
                "name": path.split("/")[-1],
                "path": path,
                "shape": [int(d) for d in weight.shape],
                "dtype": dtype_name(weight),
                "trainable": bool(weight.trainable),
            }
        )
    return facts


class Writer:
    """Collects arrays in one flat vector per dtype: hundreds of small arrays compress far better
    so.
    """

    def __init__(self):
        self.flat = {}

    def put(self, value):
        """Stores an array and returns its address, `[dtype, offset, shape]`."""
        value = np.asarray(value)
        if value.dtype.name == "bfloat16" or value.dtype == np.float16 or value.dtype == np.float64:
            value = value.astype("float32")
        chunks = self.flat.setdefault(value.dtype.name, [])
        offset = sum(chunk.size for chunk in chunks)
        chunks.append(value.ravel())
        return [value.dtype.name, offset, list(value.shape)]

    def save(self, name, metadata, folder=FIXTURES):
        """Writes `<name>.npz` and `<name>.json`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(
            folder / f"{name}.npz", **{k: np.concatenate(v) for k, v in sorted(self.flat.items())}
        )
        lines = [
            f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in metadata.items()
        ]
        (folder / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


class Reader:
    """The metadata of a fixture file (`.cases[id]`, `.about`), with its arrays by address."""

    def __init__(self, name, folder=FIXTURES):
        self.cases = json.loads((Path(folder) / f"{name}.json").read_text())
        self.about = self.cases.pop("about")
        with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as arrays:
            self.flat = {key: arrays[key] for key in arrays.files}

    def get(self, address):
        """The array stored at an address."""
        dtype, offset, shape = address
        size = int(np.prod(shape, dtype=int))
        return self.flat[dtype][offset : offset + size].reshape(shape)
