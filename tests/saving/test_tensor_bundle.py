"""TensorFlow's checkpoints as files: checksums, tables, tensors, and those TensorFlow wrote."""

import itertools
import os
import pathlib
import shutil

import jax.numpy as jnp
import numpy as np
import pytest

from podium.saving.io._errors import InvalidFileError
from podium.saving.tensorflow_files import _tensor_bundle_writer
from podium.saving.tensorflow_files._crc32c import _byte_table, crc32c, mask_crc32c
from podium.saving.tensorflow_files._object_graph import (
    GRAPH_KEY,
    encode_object_graph,
    parse_object_graph,
)
from podium.saving.tensorflow_files._sorted_string_table import encode_table, read_table
from podium.saving.tensorflow_files._tensor_bundle import TensorBundle
from podium.saving.tensorflow_files._tensor_bundle_writer import write_bundle
from podium.saving.tensorflow_files._wire_format import Message, encode_bytes, encode_int

ORACLE = pathlib.Path(__file__).parent.parent / "oracle" / "fixtures"
FILES = ORACLE / "tensorflow_checkpoints"


def bytewise_crc32c(content):
    state, table = 0xFFFFFFFF, _byte_table()
    for byte in content:
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize("size", [0, 1, 127, 256, 257, 4096, 65_541, 140_003])
def test_checksum_equals_the_bytewise_one(size):
    content = np.random.default_rng(size).bytes(size)
    expected = bytewise_crc32c(content)
    assert crc32c(content) == expected
    assert crc32c(content[size // 3 :], crc32c(content[: size // 3])) == expected


def test_checksum_equals_the_published_values():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert mask_crc32c(crc32c(b"foo")) != crc32c(b"foo")


@pytest.mark.parametrize("count", [0, 1, 17, 9000])
def test_table_returns_its_items(count):
    items = [(b"", b"header")] + [
        (f"a/key/{i:05d}".encode(), b"v" * (i % 50)) for i in range(count)
    ]
    assert list(read_table(encode_table(items))) == items


def test_message_keeps_unknown_fields_and_rejects_damage():
    content = encode_int(1, -3) + encode_bytes(7, "unknown") + encode_bytes(2, encode_int(1, 5))
    message = Message(content, "a message")
    assert message.get_signed(1) == -3
    assert message.get_message(2, "inner").get_int(1) == 5
    assert message.get_bytes(9) == b"" and not message.has(9)
    for damaged in (content[:-1], b"\x80", b"\x0b", b"\xff" * 12):
        with pytest.raises(InvalidFileError, match="is damaged: a message has"):
            Message(damaged, "a message")


def test_every_dtype_and_partitioned_variables_of_tensorflow_are_read():
    bundle, expected = TensorBundle(str(FILES / "names")), np.load(FILES / "names.npz")
    for name in expected.files:
        value = bundle.read(name)
        if name.startswith("all/"):
            assert value.dtype == jnp.dtype(name.removeprefix("all/"))
        np.testing.assert_array_equal(value.astype(expected[name].dtype), expected[name])
    assert bundle.read_strings("words") == [b"", b"a", b"b" * 200]
    assert set(bundle.tensors) == {*expected.files, "words"}


def test_several_data_files_are_read():
    bundle, expected = TensorBundle(str(FILES / "shards")), np.load(FILES / "shards.npz")
    assert {tensor.shard for tensor in bundle.tensors.values()} == {0, 1}
    for name in expected.files:
        np.testing.assert_array_equal(bundle.read(name), expected[name])


@pytest.mark.parametrize("name", ["functional", "subclassed"])
def test_object_graph_of_tensorflow_is_encoded_to_the_same_bytes(name):
    bundle = TensorBundle(str(ORACLE / "tensorflow_files" / name))
    (content,) = bundle.read_strings(GRAPH_KEY)
    assert encode_object_graph(parse_object_graph(content)) == content


def tensors(value=1.0):
    return {
        "b/half": np.full((2, 3), value, jnp.bfloat16),
        "a": np.full((100, 400), value, "float32"),
        "c": np.asarray(True),
        "none": np.zeros((0, 2), "int64"),
        "text": b"words",
    }


def assert_has(prefix, expected):
    bundle = TensorBundle(str(prefix))
    assert set(bundle.tensors) == set(expected)
    for name, value in expected.items():
        if isinstance(value, bytes):
            assert bundle.read_strings(name) == [value]
        else:
            read = bundle.read(name)
            assert (read.dtype, read.shape) == (value.dtype, value.shape)
            np.testing.assert_array_equal(read, value)


def test_written_checkpoint_is_read_and_overwritten_under_the_same_names(tmp_path):
    for value in (1.0, 2.0, 3.0):
        write_bundle("save_weights", str(tmp_path / "w"), tensors(value))
        assert_has(tmp_path / "w", tensors(value))
        assert sorted(os.listdir(tmp_path)) == ["w.data-00000-of-00001", "w.index"]
    for path in FILES.glob("shards.[di]*"):
        shutil.copy(path, tmp_path)
    write_bundle("save_weights", str(tmp_path / "shards"), tensors())
    assert_has(tmp_path / "shards", tensors())
    assert len(os.listdir(tmp_path)) == 4


def failing_at(number, calls, original):
    """Return a function that raises KeyboardInterrupt in the call with this number."""

    def call(*args):
        if next(calls) == number:
            raise KeyboardInterrupt
        return original(*args)

    return call


def test_interrupted_overwrite_leaves_a_complete_checkpoint(tmp_path, monkeypatch):
    """Every call that changes a file is made to fail once; the checkpoint is the old or the new."""
    prefix, outcomes = tmp_path / "w", []
    for failing in range(30):
        write_bundle("save_weights", str(prefix), tensors(1.0))
        calls = itertools.count()
        with monkeypatch.context() as patch:
            for name in ("replace", "unlink", "link"):
                patch.setattr(os, name, failing_at(failing, calls, getattr(os, name)))
            try:
                write_bundle("save_weights", str(prefix), tensors(2.0))
            except KeyboardInterrupt:
                outcomes.append("interrupted")
        value = TensorBundle(str(prefix)).read("a")[0, 0]
        assert_has(prefix, tensors(float(value)))
        if next(calls) <= failing:
            break
    assert outcomes == ["interrupted"] * failing and failing > 4


def test_overwriting_works_where_links_are_not_supported(tmp_path, monkeypatch):
    def fail(*args):
        raise OSError("not supported")

    monkeypatch.setattr(_tensor_bundle_writer.os, "link", fail)
    for value in (1.0, 2.0, 3.0):
        write_bundle("save_weights", str(tmp_path / "w"), tensors(value))
        assert_has(tmp_path / "w", tensors(value))
        assert len(os.listdir(tmp_path)) == 2


def test_dtype_without_a_number_in_tensorflow_is_rejected(tmp_path):
    with pytest.raises(ValueError, match="dtype 'int4', which TensorFlow's checkpoints do not"):
        write_bundle("save_weights", str(tmp_path / "w"), {"a": np.zeros(2, jnp.int4)})
    assert not os.listdir(tmp_path)
