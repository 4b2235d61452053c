"""RemoteMonitor against a server on the loopback address."""

import http.server
import json
import threading
import urllib.parse

import numpy as np
import pytest

import podium
from podium.callbacks import RemoteMonitor
from podium.compat import keras

X = np.ones((4, 2), "float32")


@pytest.fixture
def server():
    """A server that keeps requests as path, headers and body, and answers with `status`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.requests.append((self.path, dict(self.headers), body.decode()))
            self.send_response(self.server.status)
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests, server.status = [], 200
        server.root = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def fit(monitor, **options):
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    return model.fit(X, X[:, :1], verbose=0, callbacks=[monitor], **options).history


def test_forms_have_the_logs_of_every_epoch(server):
    assert keras.callbacks.RemoteMonitor is RemoteMonitor
    history = fit(RemoteMonitor(server.root, headers={"X-Run": "7"}), epochs=2)
    assert [path for path, _, _ in server.requests] == ["/publish/epoch/end/"] * 2
    for epoch, (_, headers, body) in enumerate(server.requests):
        assert headers["Content-Type"] == "application/x-www-form-urlencoded"
        assert headers["X-Run"] == "7"
        (data,) = urllib.parse.parse_qs(body)["data"]
        expected = {name: pytest.approx(values[epoch]) for name, values in history.items()}
        assert json.loads(data) == {"epoch": epoch, **expected}


def test_json_at_another_path(server):
    monitor = RemoteMonitor(server.root, path="/other", send_as_json=True)
    monitor.on_epoch_end(3, {"loss": np.float32(0.5), "counts": np.arange(2)})
    ((path, headers, body),) = server.requests
    assert path == "/other" and headers["Content-Type"] == "application/json"
    assert json.loads(body) == {"epoch": 3, "loss": 0.5, "counts": [0, 1]}


def test_errors_of_the_server_are_warnings(server):
    server.status = 500
    with pytest.warns(UserWarning, match=r"epoch 0 to 'http://127.*500.*Training continues"):
        fit(RemoteMonitor(server.root))
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_a_warning(server):
    server.shutdown()
    server.server_close()
    with pytest.warns(UserWarning, match="could not send the logs of epoch 0"):
        history = fit(RemoteMonitor(server.root))
    assert len(history["loss"]) == 1


@pytest.mark.parametrize("root", ["localhost:9000", "file:///etc", "ftp://host"])
def test_only_http_is_accepted(root):
    with pytest.raises(ValueError, match="a URL that starts with http://"):
        RemoteMonitor(root)
