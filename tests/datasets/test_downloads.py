"""Downloads of datasets from a local server: success, failures, and the files left on disk."""

import hashlib
import http.client
import http.server
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import podium
from podium.datasets import _housing, _reuters


class Server(http.server.ThreadingHTTPServer):
    """Serves the bytes in `files`; `mode` selects a failure."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.requested = []
        self.mode = "complete"
        self.half_sent, self.resume = threading.Event(), threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.lstrip("/")
        self.server.requested.append(name)
        if self.server.mode == "busy":
            return self.send_error(503)
        if name not in self.server.files:
            return self.send_error(404)
        content = self.server.files[name]
        self.send_response(200)
        if self.server.mode != "no_length":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        if self.server.mode == "truncated":
            return None
        if self.server.mode == "slow":
            self.wfile.flush()
            self.server.half_sent.set()
            self.server.resume.wait(60)
            return None
        self.wfile.write(content[len(content) // 2 :])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    local_server = Server()
    thread = threading.Thread(target=local_server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield local_server
    local_server.resume.set()
    local_server.shutdown()
    local_server.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "datasets"


def npz_bytes(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.fixture
def housing_server(server, cache, monkeypatch):
    """A server with a small file instead of the California housing data."""
    content = npz_bytes(
        x=np.arange(8 * 700, dtype="float32").reshape(700, 8), y=np.arange(700, dtype="float32")
    )
    serve(server, monkeypatch, _housing, "california_housing.npz", content, "_CALIFORNIA_HASH")
    return server


def serve(server, monkeypatch, module, name, content, hash_name="_HASH"):
    server.files[name] = content
    algorithm = "sha256" if len(getattr(module, hash_name)) == 64 else "md5"
    monkeypatch.setattr(module, hash_name, hashlib.new(algorithm, content).hexdigest())
    monkeypatch.setattr(module, "ORIGIN", f"http://127.0.0.1:{server.server_address[1]}/")


def load_california():
    return podium.datasets.california_housing.load_data()


def cached_files(cache):
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


# --- success


def test_california_housing_is_downloaded_once_shuffled_and_split(housing_server, cache):
    (x_train, y_train), (x_test, y_test) = load_california()
    assert x_train.shape == (560, 8) and x_test.shape == (140, 8) and x_train.dtype == np.float32
    np.testing.assert_array_equal(x_train[:, 0], y_train * 8)  # rows stay together
    order = np.arange(700)
    np.random.RandomState(113).shuffle(order)
    np.testing.assert_array_equal(np.concatenate([y_train, y_test]), order)
    (small_train, _), (small_test, _) = podium.datasets.california_housing.load_data(
        "small", test_split=0.5, seed=1
    )
    assert len(small_train) == len(small_test) == 300 and small_train.max() < 600 * 8
    assert housing_server.requested == ["california_housing.npz"] and cached_files(cache) == [
        "california_housing.npz"
    ]


def test_cached_file_needs_no_server(housing_server, cache):
    first = load_california()
    housing_server.mode = "busy"
    np.testing.assert_array_equal(load_california()[0][0], first[0][0])
    assert len(housing_server.requested) == 1


def test_load_boston_housing(server, cache, monkeypatch):
    content = npz_bytes(x=np.arange(13.0 * 10).reshape(10, 13), y=np.arange(10.0))
    serve(server, monkeypatch, _housing, "boston_housing.npz", content, "_BOSTON_HASH")
    (x_train, y_train), (x_test, y_test) = podium.datasets.boston_housing.load_data(
        test_split=0.3, seed=2
    )
    assert x_train.shape == (7, 13) and x_test.shape == (3, 13) and x_train.dtype == np.float64
    assert sorted([*y_train, *y_test]) == list(range(10))
    train, test = podium.datasets.boston_housing.load_data(test_split=0)
    assert len(train[0]) == 10 and len(test[0]) == 0


@pytest.fixture
def reuters(server, cache, monkeypatch):
    x = np.empty(5, dtype=object)
    x[:] = [[1, 2, 3], [4, 90], [5], [6, 7, 8, 9], [10]]
    serve(server, monkeypatch, _reuters, "reuters.npz", npz_bytes(x=x, y=np.arange(5)))
    words = json.dumps({"the": 1, "of": 2}).encode()
    serve(server, monkeypatch, _reuters, "reuters_word_index.json", words, "_WORD_INDEX_HASH")
    return podium.datasets.reuters


def test_load_reuters(reuters):
    (x_train, y_train), (x_test, y_test) = reuters.load_data()
    order = np.arange(5)
    np.random.RandomState(113).shuffle(order)
    assert [*y_train, *y_test] == order.tolist() and len(y_train) == 4
    assert dict(zip([*y_train, *y_test], [*x_train, *x_test], strict=True))[1] == [1, 7, 93]
    assert reuters.get_word_index() == {"the": 1, "of": 2}
    assert len(reuters.get_label_names()) == 46 and reuters.get_label_names()[3] == "earn"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"num_words": 10}, [[1, 4, 5, 6], [1, 7, 2], [1, 8], [1, 9, 2, 2, 2], [1, 2]]),
        ({"skip_top": 6}, [[2, 2, 2, 6], [2, 7, 93], [2, 8], [2, 9, 10, 11, 12], [2, 13]]),
        ({"maxlen": 4}, [[1, 7, 93], [1, 8], [1, 13]]),
        (
            {"maxlen": 4, "num_words": 10, "oov_char": None},
            [[1, 7], [1, 8], [1]],
        ),  # lengths before words are dropped
        ({"start_char": None, "index_from": 0}, [[1, 2, 3], [4, 90], [5], [6, 7, 8, 9], [10]]),
    ],
)
def test_reuters_filters_words_and_texts(reuters, options, expected):
    (x, y), (x_test, _) = reuters.load_data(test_split=0, **options)
    assert [words for _, words in sorted(zip(y.tolist(), x, strict=True))] == expected and len(
        x_test
    ) == 0


def test_maxlen_shorter_than_every_text_raises(reuters):
    with pytest.raises(ValueError, match="maxlen=2 was given; no text is shorter"):
        reuters.load_data(maxlen=2)


# --- failure


def test_file_with_wrong_hash_raises_and_is_not_stored(housing_server, cache):
    housing_server.files["california_housing.npz"] = b"something else"
    with pytest.raises(
        ValueError,
        match=r"california_housing\.npz has the hash [0-9a-f]{64}; [0-9a-f]{64} was expected",
    ):
        load_california()
    assert cached_files(cache) == []


@pytest.mark.parametrize("mode", ["truncated", "busy"])
def test_failed_download_leaves_no_file(housing_server, cache, mode):
    housing_server.mode = mode
    reason = {
        "truncated": r"the connection ended after \d+ of \d+ bytes",
        "busy": "the server answered 503 Service Unavailable",
    }
    path = cache / "california_housing.npz"
    with pytest.raises(
        OSError, match=rf"could not be downloaded: {reason[mode]}.*put it at {path}"
    ):
        load_california()
    assert cached_files(cache) == []
    housing_server.mode = "no_length"  # a server that sends no Content-Length
    assert len(load_california()[0][0]) == 560 and cached_files(cache) == [path.name]


def test_truncated_file_raises_also_without_a_hash(housing_server, cache):
    housing_server.mode = "truncated"
    with pytest.raises(OSError, match="the connection ended after"):
        podium.utils.get_file(origin=f"{_housing.ORIGIN}california_housing.npz")
    assert cached_files(cache) == []


def test_file_missing_on_the_server_raises(housing_server, cache, monkeypatch):
    del housing_server.files["california_housing.npz"]
    with pytest.raises(OSError, match="the server answered 404 Not Found"):
        load_california()


def test_offline_error_names_the_cache_path(cache, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{free.getsockname()[1]}/"
    for name, module in (
        ("reuters", _reuters),
        ("boston_housing", _housing),
        ("california_housing", _housing),
    ):
        monkeypatch.setattr(module, "ORIGIN", origin)
        with pytest.raises(
            OSError, match=rf"could not be downloaded: .*refused.*put it at {cache}/{name}\.npz"
        ):
            getattr(podium.datasets, name).load_data()
    assert cached_files(cache) == []


def test_interrupt_leaves_no_file(housing_server, cache, monkeypatch):
    original_read = http.client.HTTPResponse.read
    blocks = iter([1000])

    def read_then_interrupt(self, amount=None):
        if (size := next(blocks, None)) is None:
            raise KeyboardInterrupt
        return original_read(self, size)

    monkeypatch.setattr("http.client.HTTPResponse.read", read_then_interrupt)
    with pytest.raises(KeyboardInterrupt):
        load_california()
    assert cached_files(cache) == []


def test_killed_process_leaves_no_file_at_the_final_path(housing_server, cache):
    housing_server.mode = "slow"
    origin = f"{_housing.ORIGIN}california_housing.npz"
    program = f"import podium; podium.utils.get_file(origin={origin!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=os.environ | {"JAX_PLATFORMS": "cpu"}
    )
    assert housing_server.half_sent.wait(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert "california_housing.npz" not in cached_files(cache)
    housing_server.resume.set()
    housing_server.mode = "complete"
    assert len(load_california()[0][0]) == 560


def test_arguments_are_validated_before_the_download(housing_server):
    with pytest.raises(ValueError, match="test_split=1 was given"):
        podium.datasets.california_housing.load_data(test_split=1)
    with pytest.raises(ValueError, match=r"Unknown version 'lage'\. Did you mean 'large'"):
        podium.datasets.california_housing.load_data("lage")
    assert housing_server.requested == []
