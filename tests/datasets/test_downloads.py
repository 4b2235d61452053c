"""Datasets fetched from a server on this machine: success, every way to fail, and what is left on
the disk.
"""

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
from podium.datasets import _boston_housing, _california_housing, _reuters


class Server(http.server.ThreadingHTTPServer):
    """Serves the bytes in `files`; `answer` says how."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.asked = []
        self.answer = "whole"
        self.half_sent, self.go_on = threading.Event(), threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.lstrip("/")
        self.server.asked.append(name)
        if self.server.answer == "busy":
            return self.send_error(503)
        if name not in self.server.files:
            return self.send_error(404)
        content = self.server.files[name]
        self.send_response(200)
        if self.server.answer != "unmeasured":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        if self.server.answer == "cut":
            return None
        if self.server.answer == "slow":
            self.wfile.flush()
            self.server.half_sent.set()
            self.server.go_on.wait(60)
            return None
        self.wfile.write(content[len(content) // 2 :])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.go_on.set()
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "datasets"


def packed(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.fixture
def houses(server, cache, monkeypatch):
    """A small file in the place of the prices of California."""
    content = packed(
        x=np.arange(8 * 700, dtype="float32").reshape(700, 8), y=np.arange(700, dtype="float32")
    )
    serve(server, monkeypatch, _california_housing, "california_housing.npz", content)
    return server


def serve(server, monkeypatch, module, name, content, hash_name="_HASH"):
    server.files[name] = content
    kind = "sha256" if len(getattr(module, hash_name)) == 64 else "md5"
    monkeypatch.setattr(module, hash_name, hashlib.new(kind, content).hexdigest())
    monkeypatch.setattr(module, "ORIGIN", f"http://127.0.0.1:{server.server_address[1]}/")


def load():
    return podium.datasets.california_housing.load_data()


def kept(cache):
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


# --- success


def test_california_housing_is_fetched_once_mixed_and_split(houses, cache):
    (x_train, y_train), (x_test, y_test) = load()
    assert x_train.shape == (560, 8) and x_test.shape == (140, 8) and x_train.dtype == np.float32
    np.testing.assert_array_equal(x_train[:, 0], y_train * 8)  # rows stay together
    order = np.arange(700)
    np.random.RandomState(113).shuffle(order)
    np.testing.assert_array_equal(np.concatenate([y_train, y_test]), order)
    (small, _), (rest, _) = podium.datasets.california_housing.load_data(
        "small", test_split=0.5, seed=1
    )
    assert len(small) == len(rest) == 300 and small.max() < 600 * 8
    assert houses.asked == ["california_housing.npz"] and kept(cache) == ["california_housing.npz"]


def test_a_file_in_the_cache_needs_no_server(houses, cache):
    before = load()
    houses.answer = "busy"
    np.testing.assert_array_equal(load()[0][0], before[0][0])
    assert len(houses.asked) == 1


def test_boston_housing(server, cache, monkeypatch):
    content = packed(x=np.arange(13.0 * 10).reshape(10, 13), y=np.arange(10.0))
    serve(server, monkeypatch, _boston_housing, "boston_housing.npz", content)
    (x_train, y_train), (x_test, y_test) = podium.datasets.boston_housing.load_data(
        test_split=0.3, seed=2
    )
    assert x_train.shape == (7, 13) and x_test.shape == (3, 13) and x_train.dtype == np.float64
    assert sorted([*y_train, *y_test]) == list(range(10))
    whole, nothing = podium.datasets.boston_housing.load_data(test_split=0)
    assert len(whole[0]) == 10 and len(nothing[0]) == 0


@pytest.fixture
def news(server, cache, monkeypatch):
    x = np.empty(5, dtype=object)
    x[:] = [[1, 2, 3], [4, 90], [5], [6, 7, 8, 9], [10]]
    serve(server, monkeypatch, _reuters, "reuters.npz", packed(x=x, y=np.arange(5)))
    words = json.dumps({"the": 1, "of": 2}).encode()
    serve(server, monkeypatch, _reuters, "reuters_word_index.json", words, "_WORDS_HASH")
    return podium.datasets.reuters


def test_reuters(news):
    (x_train, y_train), (x_test, y_test) = news.load_data()
    order = np.arange(5)
    np.random.RandomState(113).shuffle(order)
    assert [*y_train, *y_test] == order.tolist() and len(y_train) == 4
    assert dict(zip([*y_train, *y_test], [*x_train, *x_test], strict=True))[1] == [1, 7, 93]
    assert news.get_word_index() == {"the": 1, "of": 2}
    assert len(news.get_label_names()) == 46 and news.get_label_names()[3] == "earn"


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
def test_reuters_keeps_the_words_that_were_asked_for(news, options, expected):
    (x, y), (none, _) = news.load_data(test_split=0, **options)
    assert [words for _, words in sorted(zip(y.tolist(), x, strict=True))] == expected and len(
        none
    ) == 0


def test_no_text_is_short_enough(news):
    with pytest.raises(ValueError, match="maxlen=2 was given; no text is shorter"):
        news.load_data(maxlen=2)


# --- failure


def test_the_wrong_file_is_refused_and_not_kept(houses, cache):
    houses.files["california_housing.npz"] = b"something else"
    with pytest.raises(
        ValueError,
        match=r"california_housing\.npz has the hash [0-9a-f]{64}; [0-9a-f]{64} was expected",
    ):
        load()
    assert kept(cache) == []


@pytest.mark.parametrize("answer", ["cut", "busy"])
def test_a_server_that_fails_leaves_nothing_behind(houses, cache, answer):
    houses.answer = answer
    reason = {
        "cut": r"the connection ended after \d+ of \d+ bytes",
        "busy": "the server answered 503 Service Unavailable",
    }
    place = cache / "california_housing.npz"
    with pytest.raises(
        OSError, match=rf"could not be fetched: {reason[answer]}.*put it at {place}"
    ):
        load()
    assert kept(cache) == []
    houses.answer = "unmeasured"  # a server that does not say how long the file is
    assert len(load()[0][0]) == 560 and kept(cache) == [place.name]


def test_a_file_that_is_cut_off_is_refused_even_without_a_hash(houses, cache):
    houses.answer = "cut"
    with pytest.raises(OSError, match="the connection ended after"):
        podium.utils.get_file(origin=f"{_california_housing.ORIGIN}california_housing.npz")
    assert kept(cache) == []


def test_a_file_that_the_server_lacks(houses, cache, monkeypatch):
    del houses.files["california_housing.npz"]
    with pytest.raises(OSError, match="the server answered 404 Not Found"):
        load()


def test_offline(cache, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{free.getsockname()[1]}/"
    for name, module in (
        ("reuters", _reuters),
        ("boston_housing", _boston_housing),
        ("california_housing", _california_housing),
    ):
        monkeypatch.setattr(module, "ORIGIN", origin)
        with pytest.raises(
            OSError, match=rf"could not be fetched: .*refused.*put it at {cache}/{name}\.npz"
        ):
            getattr(podium.datasets, name).load_data()
    assert kept(cache) == []


def test_an_interrupt_leaves_nothing_behind(houses, cache, monkeypatch):
    real = http.client.HTTPResponse.read
    blocks = iter([1000])

    def interrupted(self, amount=None):
        if (size := next(blocks, None)) is None:
            raise KeyboardInterrupt
        return real(self, size)

    monkeypatch.setattr("http.client.HTTPResponse.read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load()
    assert kept(cache) == []


def test_a_process_that_is_killed_leaves_nothing_at_the_final_path(houses, cache):
    houses.answer = "slow"
    origin = f"{_california_housing.ORIGIN}california_housing.npz"
    program = f"import podium; podium.utils.get_file(origin={origin!r})"
    child = subprocess.Popen(
        [sys.executable, "-c", program], env=os.environ | {"JAX_PLATFORMS": "cpu"}
    )
    assert houses.half_sent.wait(60)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert "california_housing.npz" not in kept(cache)
    houses.go_on.set()
    houses.answer = "whole"
    assert len(load()[0][0]) == 560


def test_mistakes_are_told_before_anything_is_fetched(houses):
    with pytest.raises(ValueError, match="test_split=1 was given"):
        podium.datasets.california_housing.load_data(test_split=1)
    with pytest.raises(ValueError, match=r"Unknown version 'lage'\. Did you mean 'large'"):
        podium.datasets.california_housing.load_data("lage")
    assert houses.asked == []
