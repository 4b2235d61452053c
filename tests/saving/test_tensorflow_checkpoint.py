"""Weights in TensorFlow's checkpoints and SavedModels, as tf_keras wrote them and as we do."""

import pathlib
import sys

import numpy as np
import pytest

import podium

ORACLE = pathlib.Path(__file__).parent.parent / "oracle"
FILES = ORACLE / "fixtures" / "tensorflow_files"
sys.path.insert(0, str(ORACLE))

from tensorflow_file_models import functional, subclassed  # noqa: E402

MAKE = {
    "functional": functional,
    "wrapped": functional,
    "saved": functional,
    "subclassed": subclassed,
}


@pytest.mark.parametrize("name", list(MAKE))
def test_loaded_weights_reproduce_tf_keras_outputs(name):
    model, x = MAKE[name](podium)
    report = model.load_weights(FILES / name)
    assert len(report.loaded) == len(model.weights) and not report.problems
    expected = np.load(FILES / "outputs.npz")[
        "subclassed" if name == "subclassed" else "functional"
    ]
    np.testing.assert_allclose(model(x).numpy(), expected, rtol=1e-5, atol=1e-5)


def test_mismatches_are_listed_and_weights_are_unchanged():
    L = podium.layers
    model = podium.Sequential([podium.Input((5, 3)), L.LSTM(4, name="lstm"), L.Dense(7, name="d")])
    before = model.get_weights()
    with pytest.raises(
        ValueError, match=r"functional' does not fit.*'d/kernel' \(4, 7\) \(not in the checkpoint\)"
    ):
        model.load_weights(FILES / "functional")
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    with pytest.raises(ValueError, match="Leave `by_name` out"):
        model.load_weights(FILES / "functional", by_name=True)
    own, _ = subclassed(podium)
    with pytest.warns(UserWarning, match=r"left as they were.*not in the checkpoint"):
        report = own.load_weights(FILES / "functional", skip_mismatch=True)
    assert report.loaded == [] and report.missing and report.unexpected


def test_corrupt_checkpoint_raises(tmp_path):
    for suffix in (".index", ".data-00000-of-00001"):
        (tmp_path / f"w{suffix}").write_bytes((FILES / f"functional{suffix}").read_bytes())
    content = bytearray((tmp_path / "w.index").read_bytes())
    content[40] ^= 255
    (tmp_path / "w.index").write_bytes(content)
    model, _ = functional(podium)
    with pytest.raises(ValueError, match=r"w' is damaged: a block of its index"):
        model.load_weights(tmp_path / "w")
