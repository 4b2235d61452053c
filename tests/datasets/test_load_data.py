"""Public datasets are read from the cache, verified, and without running code in pickles."""

import gzip
import hashlib
import io
import pickle
import tarfile

import numpy as np
import pytest

import podium
from podium.datasets import _cifar, _grayscale_images, _imdb, _loading


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "datasets" / "fashion-mnist").mkdir(parents=True)
    return tmp_path / "datasets"


def store_file(path, content, module, monkeypatch, hash_name="_HASH"):
    path.write_bytes(content)
    monkeypatch.setattr(module, hash_name, hashlib.sha256(content).hexdigest())


def test_load_mnist_from_cache(cache, monkeypatch):
    file = io.BytesIO()
    x, y = np.arange(2 * 28 * 28).reshape(2, 28, 28).astype("uint8"), np.array([3, 4], "uint8")
    np.savez(file, x_train=x, y_train=y, x_test=x[:1], y_test=y[:1])
    store_file(cache / "mnist.npz", file.getvalue(), _grayscale_images, monkeypatch, "_MNIST_HASH")
    (x_train, y_train), (x_test, y_test) = podium.datasets.mnist.load_data()
    np.testing.assert_array_equal(x_train, x)
    assert y_train.tolist() == [3, 4] and x_test.shape == (1, 28, 28) and y_test.tolist() == [3]


def test_corrupt_file_is_not_read(cache, monkeypatch):
    (cache / "mnist.npz").write_bytes(b"corrupt")
    requested_urls = []
    monkeypatch.setattr(
        "urllib.request.urlopen",
        lambda url, timeout: requested_urls.append(url) or io.BytesIO(b"also corrupt"),
    )
    with pytest.raises(ValueError, match=r"mnist\.npz has the hash"):
        podium.datasets.mnist.load_data()
    assert requested_urls == [
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
    ]


def test_load_fashion_mnist_from_cache(cache):
    for part, count in (("train", 3), ("t10k", 2)):
        directory = cache / "fashion-mnist"
        (directory / f"{part}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(bytes(8) + bytes(range(count)))
        )
        (directory / f"{part}-images-idx3-ubyte.gz").write_bytes(
            gzip.compress(bytes(16) + bytes(count * 784))
        )
    (x_train, y_train), (x_test, _) = podium.datasets.fashion_mnist.load_data()
    assert (
        x_train.shape == (3, 28, 28)
        and y_train.tolist() == [0, 1, 2]
        and x_test.shape == (2, 28, 28)
    )


def test_load_cifar10_from_cache(cache, monkeypatch):
    archive = io.BytesIO()
    pixels = np.arange(3072, dtype="int64").astype("uint8")[None]
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for number, name in enumerate([f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]):
            content = pickle.dumps({b"data": pixels, b"labels": [number]}, protocol=2)
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    store_file(
        cache / "cifar-10-python.tar.gz", archive.getvalue(), _cifar, monkeypatch, "_CIFAR10_HASH"
    )
    (x_train, y_train), (x_test, y_test) = podium.datasets.cifar10.load_data()
    assert (
        x_train.shape == (5, 32, 32, 3)
        and y_train.ravel().tolist() == [0, 1, 2, 3, 4]
        and y_test.tolist() == [[5]]
    )
    np.testing.assert_array_equal(x_test[0].transpose(2, 0, 1).ravel(), pixels[0])


def store_reviews(cache, monkeypatch):
    file = io.BytesIO()
    x = np.empty(3, dtype=object)
    x[:] = [[1, 2], [3, 50, 4], [5]]
    np.savez(file, x_train=x, y_train=np.array([0, 1, 0]), x_test=x[:1], y_test=np.array([1]))
    store_file(cache / "imdb.npz", file.getvalue(), _imdb, monkeypatch)


def test_load_imdb_from_cache(cache, monkeypatch):
    store_reviews(cache, monkeypatch)
    (x_train, y_train), (x_test, y_test) = podium.datasets.imdb.load_data(num_words=20)
    assert sorted(map(tuple, x_train)) == [(1, 4, 5), (1, 6, 2, 7), (1, 8)] and y_train.sum() == 1
    assert list(x_test) == [[1, 4, 5]] and y_test.tolist() == [1]
    short, _ = podium.datasets.imdb.load_data(
        maxlen=4, start_char=None, oov_char=None, index_from=0, num_words=20
    )
    assert sorted(map(tuple, short[0])) == [(1, 2), (3, 4), (5,)]


def test_pickle_that_runs_code_raises():
    class Malicious:
        def __reduce__(self):
            return print, ("ran",)

    with pytest.raises(
        pickle.UnpicklingError, match=r"contains .*print; dataset files may contain arrays only"
    ):
        _loading.read_pickle(io.BytesIO(pickle.dumps(Malicious())))


def test_offline_error_names_the_cache_path(cache, monkeypatch):
    import urllib.error

    def raise_offline(*args, **kwargs):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", raise_offline)
    with pytest.raises(
        OSError,
        match=r"cifar-100-python\.tar\.gz could not be downloaded: no route.*put it at "
        rf"{cache}/cifar-100",
    ):
        podium.datasets.cifar100.load_data()
