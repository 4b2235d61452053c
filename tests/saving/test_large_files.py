"""Arrays large enough for threads and direct writing: the bytes and the errors are the same."""

import errno
import hashlib
import os

import numpy as np
import pytest

import podium
from podium.saving.io import _array_io, _direct_io
from podium.saving.io._digests import CHUNK_BYTES

NAMES = ("m.keras", "m.h5", "w.weights.h5", "w.h5", "w.safetensors")
WIDTH = 1500  # a kernel of 9 MB


def make_model():
    return podium.Sequential(
        [podium.Input((WIDTH,)), podium.layers.Dense(WIDTH, kernel_initializer="zeros", name="d")]
    )


@pytest.fixture(scope="module")
def model():
    made = make_model()
    draw = np.random.default_rng(0)
    made.set_weights([draw.standard_normal(value.shape, "float32") for value in made.get_weights()])
    return made


def refuse_to_open(monkeypatch):
    opened = os.open
    flag = getattr(os, "O_DIRECT", 0)

    def refusing(path, flags, *rest, **more):
        if flags & flag:
            raise OSError(errno.EINVAL, "Invalid argument")
        return opened(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refusing)


def refuse_to_write(monkeypatch):
    written, first = os.pwrite, []

    def refusing(descriptor, content, offset):
        first.append(descriptor)
        if descriptor == first[0]:
            raise OSError(errno.EINVAL, "Invalid argument")
        return written(descriptor, content[:500_000], offset)  # and less than requested

    monkeypatch.setattr(os, "pwrite", refusing)


@pytest.mark.parametrize(
    "hindrance", [None, refuse_to_open, refuse_to_write], ids=["none", "open", "write"]
)
def test_bytes_are_written_at_any_offset_with_and_without_direct_io(
    tmp_path, monkeypatch, hindrance
):
    if hindrance:
        hindrance(monkeypatch)
    content = np.random.default_rng(1).integers(0, 256, 2 * CHUNK_BYTES + 12345, "u1")
    runs = [
        (5, 100),
        (4096, 4096),
        (3 * 4096 + 7, CHUNK_BYTES + 4096),
        (2 * CHUNK_BYTES, CHUNK_BYTES - 1),
        (3 * CHUNK_BYTES + 3, 4090),
    ]
    expected = np.zeros(3 * CHUNK_BYTES + 3 + 4090, "u1")
    with (
        open(tmp_path / "file", "xb") as file,
        _direct_io.LargeWriter(file, 2 * CHUNK_BYTES, len(expected)) as out,
    ):
        for offset, length in runs:
            out.write(offset, content[:length].data)
            expected[offset : offset + length] = content[:length]
    assert (tmp_path / "file").read_bytes() == expected.tobytes()


def test_full_disk_raises_and_closes_descriptors(tmp_path, monkeypatch):
    if not hasattr(os, "O_DIRECT"):
        pytest.skip("no direct writing on this system")

    def full(descriptor, content, offset):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = len(os.listdir("/proc/self/fd"))
    for name in ("pwrite", "posix_fallocate"):
        with monkeypatch.context() as broken, open(tmp_path / name, "xb") as file:
            broken.setattr(os, name, full)
            with (
                pytest.raises(OSError, match="No space left"),
                _direct_io.LargeWriter(file, 2 * CHUNK_BYTES, 2 * CHUNK_BYTES) as out,
            ):
                out.write(0, np.zeros(2 * CHUNK_BYTES, "u1").data)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("name", NAMES)
def test_large_model_is_restored_and_flipped_bits_are_detected(model, tmp_path, name):
    path, other = tmp_path / name, make_model()
    (model.save if name.startswith("m.") else model.save_weights)(path)

    def load():
        if name.startswith("m."):
            return podium.saving.load_model(path)
        other.load_weights(path)
        return other

    for one, two in zip(model.get_weights(), load().get_weights(), strict=True):
        assert one.tobytes() == two.tobytes()
    with open(path, "r+b") as file:
        file.seek(5_000_000)
        byte = file.read(1)[0]
        file.seek(5_000_000)
        file.write(bytes([byte ^ 4]))
    with pytest.raises((ValueError, OSError), match=r"the numbers of '.*' do not fit the checksum"):
        load()


def test_threaded_digests_equal_sequential_ones(tmp_path):
    arrays = [np.arange(size, dtype="float32") for size in (3, 3_000_000, 0, 2_500_001)]
    items, offset = [], 3
    for number, array in enumerate(arrays):
        items.append(_array_io.ArrayToWrite(f"a{number}", array, offset))
        offset += array.nbytes
    with open(tmp_path / "file", "xb") as file:
        results = _array_io.write_arrays(file, items, with_crc32=True)
    for item, result in zip(items, results, strict=True):
        head = f"{item.name} float32 {item.array.shape}\n".encode()
        assert (
            result.sha256
            == hashlib.sha256(head + item.array.tobytes()).hexdigest()
            == _array_io.array_sha256(*item[:2])
        )
