"""Weights from files, from the cache and from a server on loopback."""

import hashlib
import http.server
import json
import pathlib
import sys
import threading

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "oracle"))

from application_cases import fill_weights

import podium
from podium import applications
from podium.applications import _class_names, _weights_files
from podium.core.internal import override

SMALL = {"input_shape": (128, 128, 3), "alpha": 0.25, "include_top": False, "pooling": "avg"}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requested.append(self.path)
        content = self.server.files.get(self.path)
        if content is None:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    local_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    local_server.files, local_server.requested = {}, []
    thread = threading.Thread(target=local_server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    origin = f"http://127.0.0.1:{local_server.server_address[1]}/"
    monkeypatch.setattr(_weights_files, "ORIGIN", origin)
    yield local_server
    local_server.shutdown()
    local_server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model, and files with its weights in all formats."""
    podium.core.reset_names()
    with override(skips_initialization=True):
        model = applications.MobileNet(**SMALL, weights=None)
    fill_weights(model, 1.0)
    folder = tmp_path_factory.mktemp("weights")
    model.save(folder / "model.h5")
    model.save(folder / "model.keras")
    model.save_weights(folder / "model.weights.h5")
    return model, folder


def assert_equal_weights(model, other):
    for weight, expected in zip(model.weights, other.weights, strict=True):
        np.testing.assert_array_equal(weight.numpy(), expected.numpy(), err_msg=weight.path)


@pytest.mark.parametrize("name", ["model.h5", "model.keras", "model.weights.h5"])
def test_weights_are_read_from_a_file(name, trained):
    model, folder = trained
    assert_equal_weights(applications.MobileNet(**SMALL, weights=folder / name), model)


def test_file_of_another_architecture_raises(trained):
    with pytest.raises(ValueError, match="shape"):
        applications.MobileNet(**{**SMALL, "alpha": 0.5}, weights=trained[1] / "model.weights.h5")


def test_imagenet_downloads_once_to_the_cache(server, trained, tmp_path):
    model, folder = trained
    path = "/tensorflow/keras-applications/mobilenet/mobilenet_2_5_128_tf_no_top.h5"
    server.files[path] = (folder / "model.h5").read_bytes()
    assert_equal_weights(applications.MobileNet(**SMALL), model)
    assert (tmp_path / "cache" / "models" / "mobilenet_2_5_128_tf_no_top.h5").is_file()
    applications.MobileNet(**SMALL)
    assert server.requested == [path]


def test_missing_file_raises_before_the_model_is_built(server):
    with pytest.raises(OSError, match=r"NASNet-mobile-no-top.h5 could not be downloaded.*nasnet_m"):
        applications.NASNetMobile(include_top=False)


def test_file_with_another_hash_is_rejected(server, tmp_path):
    path = "/tensorflow/keras-applications/convnext/convnext_tiny.h5"
    server.files[path] = b"something else"
    with pytest.raises(ValueError, match="has the hash"):
        applications.ConvNeXtTiny()
    assert not list((tmp_path / "cache" / "models").iterdir())


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (lambda a: a.VGG19(), "vgg19/vgg19_weights_tf_dim_ordering_tf_kernels.h5"),
        (
            lambda a: a.ResNet101V2(include_top=False),
            "resnet/resnet101v2_weights_tf_dim_ordering_tf_kernels_notop.h5",
        ),
        (
            lambda a: a.MobileNetV2(alpha=1.4),
            "mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.4_224.h5",
        ),
        (
            lambda a: a.MobileNetV3Large(minimalistic=True, include_top=False),
            "mobilenet_v3/weights_mobilenet_v3_large_minimalistic_224_1.0_float_no_top_v2.h5",
        ),
        (lambda a: a.EfficientNetV2S(name="x"), "efficientnet_v2/efficientnetv2-s.h5"),
        (lambda a: a.NASNetLarge(), "nasnet/NASNet-large.h5"),
    ],
)
def test_files_of_imagenet_have_keras_s_names(call, path, server):
    with pytest.raises(OSError, match="could not be downloaded"):
        call(applications)
    assert server.requested == [f"/tensorflow/keras-applications/{path}"]


def test_size_without_weights_of_imagenet_warns(server):
    with (
        pytest.warns(UserWarning, match=r"input_shape=\(100, 100, 3\) was given, and weights of"),
        pytest.raises(OSError, match=r"mobilenet_1_0_224_tf_no_top\.h5"),
    ):
        applications.MobileNet((100, 100, 3), include_top=False)


# --- names of classes


@pytest.fixture
def class_index(server, monkeypatch):
    index = {str(i): [f"n{i:08}", f"class {i}"] for i in range(1000)}
    content = json.dumps(index).encode()
    server.files["/download.tensorflow.org/data/imagenet_class_index.json"] = content
    monkeypatch.setattr(_class_names, "_HASH", hashlib.md5(content).hexdigest())
    return server


def test_predictions_are_decoded_the_most_probable_first(class_index):
    probabilities = np.zeros((2, 1000), "float32")
    probabilities[0, [7, 9]] = 0.75, 0.25
    probabilities[1, [999, 0]] = 0.5, 0.375
    decode = applications.resnet50.decode_predictions
    expected = [
        [("n00000007", "class 7", 0.75), ("n00000009", "class 9", 0.25)],
        [("n00000999", "class 999", 0.5), ("n00000000", "class 0", 0.375)],
    ]
    assert decode(probabilities, top=2) == expected
    assert decode(podium.convert_to_tensor(probabilities), top=2) == expected
    assert len(decode(probabilities)[0]) == 5
    assert len(class_index.requested) == 1


def test_decode_predictions_rejects_other_shapes():
    with pytest.raises(ValueError, match=r"values of shape \(1, 10\); \(samples, 1000\) was"):
        applications.vgg16.decode_predictions(np.zeros((1, 10)))
    with pytest.raises(ValueError, match="top=0 was given; an int of at least 1"):
        applications.vgg16.decode_predictions(np.zeros((1, 1000)), top=0)
