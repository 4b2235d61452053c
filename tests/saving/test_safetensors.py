"""Weights as safetensors: loaded equals saved, other libraries read them, and malformed files are
rejected.
"""

import json
import struct

import numpy as np
import pytest
import safetensors.numpy
from small_models import Subclassed, randomized, same, sequential

import podium


def saved(tmp_path, model, name="w.safetensors"):
    path = tmp_path / name
    model.save_weights(path)
    return path


def rewritten(path, change):
    """Change the header of a file: a function of the object, or bytes."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    changed = change(header)
    text = json.dumps(header if changed is None else changed).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    return path


def test_weights_are_restored_and_reported(tmp_path):
    model, other = randomized(sequential()), sequential()
    report = other.load_weights(saved(tmp_path, model))
    assert same(model.get_weights(), other.get_weights())
    assert report == (["a/kernel", "a/bias", "b/kernel", "b/bias"], [], [], [])


def test_names_do_not_depend_on_automatic_names(tmp_path):
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2), podium.layers.Dense(2)])
    path = saved(tmp_path, model)
    found = safetensors.numpy.load_file(path)
    assert sorted(found) == [
        "layers/dense/bias",
        "layers/dense/kernel",
        "layers/dense_1/bias",
        "layers/dense_1/kernel",
    ]
    assert np.array_equal(found["layers/dense_1/kernel"], model.get_weights()[2])
    podium.Sequential(
        [podium.Input((3,)), podium.layers.Dense(2), podium.layers.Dense(2)]
    ).load_weights(path)


def test_files_of_the_safetensors_library_are_read(tmp_path):
    values = {
        "layers/dense/kernel": np.ones((3, 4), "float32"),
        "layers/dense/bias": np.zeros(4, "float32"),
    }
    values |= {
        "layers/dense_1/kernel": np.full((4, 4), 2, "float32"),
        "layers/dense_1/bias": np.ones(4, "float32"),
    }
    safetensors.numpy.save_file(values, tmp_path / "w.safetensors", {"format": "np"})
    model = sequential()
    model.load_weights(tmp_path / "w.safetensors")
    assert same(model.get_weights(), list(values.values()))


def test_weights_of_the_model_itself_and_any_file_name(tmp_path):
    model, other = Subclassed(), Subclassed()
    for one in (model, other):
        one(np.ones((1, 3), "float32"))
    randomized(model).save_weights(tmp_path / "weights", save_format="safetensors")
    other.load_weights(tmp_path / "weights")
    assert same(model.get_weights(), other.get_weights())


def test_unusual_dtypes_and_shapes_are_restored(tmp_path):
    class Holder(podium.Model):
        def __init__(self):
            super().__init__()
            for dtype in ("bfloat16", "float16", "int32", "bool", "float8_e4m3fn"):
                setattr(
                    self, dtype, self.add_weight((3,), "ones", dtype, trainable=False, name="same")
                )
            self.scalar = self.add_weight((), "ones", name="scalar")
            self.none = self.add_weight((0, 2), "ones", name="none")
            self.built = True

    model, other = Holder(), Holder()
    for variable in model.weights:
        variable.assign(np.zeros(variable.shape, variable.dtype))
    other.load_weights(saved(tmp_path, model))
    for one, another in zip(model.get_weights(), other.get_weights(), strict=True):
        assert one.dtype == another.dtype and one.tobytes() == another.tobytes()


def test_mismatches_are_listed_and_nothing_changes(tmp_path):
    path = saved(tmp_path, randomized(sequential(width=5)))
    model = sequential()
    before = model.get_weights()
    with pytest.raises(
        ValueError,
        match=r"safetensors' does not fit.*has shape \(4, 4\), and 'layers/dense_1/kernel'",
    ):
        model.load_weights(path)
    assert same(model.get_weights(), before)
    with pytest.warns(UserWarning, match="left as they were.*'b/bias'"):
        report = model.load_weights(path, skip_mismatch=True)
    assert report.loaded == ["a/kernel", "a/bias"] and len(report.mismatched) == 2
    rewritten(
        path,
        lambda header: {
            key.replace("dense/kernel", "dense/weight"): value for key, value in header.items()
        },
    )
    with pytest.raises(ValueError, match="checksum"):
        model.load_weights(path)
    with pytest.raises(ValueError, match="Leave `by_name` out"):
        model.load_weights(saved(tmp_path, model), by_name=True)
    with pytest.raises(ValueError, match=r"suffix `.safetensors` is for weights alone"):
        model.save(tmp_path / "m.safetensors")


def moved(header):
    header["layers/dense/bias"]["data_offsets"] = [0, 16]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda h: h["layers/dense/kernel"].update(dtype="F64"), "offsets"),
        (lambda h: h["layers/dense/kernel"].update(shape=[4, 3]), "do not fit the checksum"),
        (lambda h: h["layers/dense/kernel"].update(shape=[1 << 62, 1 << 62]), "size of"),
        (lambda h: h["layers/dense/kernel"].update(shape=[3.0, 4]), "shape of .* is invalid"),
        (lambda h: h["layers/dense/kernel"].update(shape=[True, 12]), "shape of .* is invalid"),
        (lambda h: h["layers/dense/kernel"].update(extra=1), "exactly `dtype`, `shape`"),
        (lambda h: h["layers/dense/kernel"].update(dtype=["F32"]), "unknown dtype"),
        (moved, "overlaps another tensor"),
        (
            lambda h: h.__delitem__("layers/dense/bias"),
            "checksum for 'layers/dense/bias', and no such tensor",
        ),
        (
            lambda h: h["__metadata__"].__delitem__("sha256 layers/dense/bias"),
            "no checksum in the header",
        ),
        (lambda h: h["__metadata__"].update(more=1), "__metadata__"),
        (lambda h: list(h), "an object of names was expected"),
    ],
)
def test_malformed_headers_are_rejected(tmp_path, change, match):
    path = rewritten(saved(tmp_path, sequential()), change)
    model = (
        podium.Sequential([podium.Input((4,)), podium.layers.Dense(3), podium.layers.Dense(4)])
        if "fit" in match
        else None
    )
    with pytest.raises(ValueError, match=match):
        (model or sequential()).load_weights(path, skip_mismatch=model is not None)


def test_flipped_bit_is_detected(tmp_path):
    path = saved(tmp_path, sequential())
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"corrupt: the numbers of 'layers/dense.*' do not fit the checksum"
    ):
        sequential().load_weights(path)
