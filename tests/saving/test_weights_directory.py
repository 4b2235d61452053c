"""Weights in a checkpoint directory, `save_weights("dir/")`: complete or absent, strict, and other
files are not changed.
"""

import os

import numpy as np
import pytest

import podium
from podium.saving import CheckpointManager
from podium.saving.checkpoints import _checkpoint_directory


def make_model(width=3, more=False):
    layers = [podium.layers.Dense(width, name="d"), podium.layers.BatchNormalization(name="b")]
    return podium.Sequential(
        [podium.Input((2,)), *layers, *([podium.layers.Dense(1, name="e")] if more else [])]
    )


def assert_same(one, other):
    assert all(
        a.tobytes() == b.tobytes()
        for a, b in zip(one.get_weights(), other.get_weights(), strict=True)
    )


def test_weights_are_restored_and_only_the_last_are_kept(tmp_path):
    first, second, other = make_model(), make_model(), make_model()
    first.save_weights(f"{tmp_path}/w/")
    assert os.listdir(tmp_path / "w") == ["checkpoint-00000000"]
    second.save_weights(tmp_path / "w")  # no slash: it is a checkpoint directory now
    assert os.listdir(tmp_path / "w") == ["checkpoint-00000001"]
    assert other.load_weights(f"{tmp_path}/w/").loaded == [
        variable.path for variable in other.weights
    ]
    assert_same(other, second)
    with pytest.raises(FileExistsError, match="has weights, and overwrite=False"):
        first.save_weights(f"{tmp_path}/w/", overwrite=False)


def test_failed_save_keeps_the_previous_weights(tmp_path, monkeypatch):
    first, second, other = make_model(), make_model(), make_model()
    first.save_weights(f"{tmp_path}/w/")

    def full(folder, files):
        raise OSError(28, "No space left on device", folder)

    monkeypatch.setattr(_checkpoint_directory, "_write_manifest", full)
    with pytest.raises(OSError, match="No space left"):
        second.save_weights(f"{tmp_path}/w/")
    assert os.listdir(tmp_path / "w") == ["checkpoint-00000000"]
    other.load_weights(tmp_path / "w")
    assert_same(other, first)


@pytest.mark.parametrize(
    ("saved", "reason"),
    [(make_model(4), "'layers/dense/vars/0' is float32"), (make_model(more=True), "unexpected")],
    ids=["shape", "more"],
)
def test_mismatched_weights_change_nothing(tmp_path, saved, reason):
    saved.save_weights(f"{tmp_path}/w/")
    model = make_model()
    before = model.get_weights()
    with pytest.raises(
        ValueError, match=rf"does not fit the model, and nothing was restored: .*{reason}"
    ):
        model.load_weights(tmp_path / "w")
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), before, strict=True))
    with pytest.raises(ValueError, match="Leave out `by_name` and `skip_mismatch`"):
        model.load_weights(tmp_path / "w", skip_mismatch=True)


def test_other_files_at_the_path_are_not_replaced(tmp_path):
    model = make_model()
    CheckpointManager(tmp_path / "run").save(3, {"a": np.ones(2)}, state={"a": np.ones(1)})
    for path in (f"{tmp_path}/run/", f"{tmp_path}/run", f"{tmp_path}/run/checkpoint-00000003/"):
        with pytest.raises(ValueError, match="Use another directory for the weights"):
            model.save_weights(path)
    assert os.listdir(tmp_path / "run") == ["checkpoint-00000003"]
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NotADirectoryError, match="For a file leave out the slash"):
        model.save_weights(f"{tmp_path}/file/")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        model.save_weights(f"{tmp_path}/none/w/")
    with pytest.raises(IsADirectoryError, match="the names of a checkpoint's files was expected"):
        model.save_weights(tmp_path)  # a directory with other files, and no slash
    with pytest.raises(ValueError, match="Leave one out"):
        model.save_weights(f"{tmp_path}/w/", save_format="h5")
    with pytest.raises(ValueError, match="which is not built"):
        podium.Sequential([podium.layers.Dense(1)]).save_weights(f"{tmp_path}/w/")
    assert sorted(os.listdir(tmp_path)) == ["file", "run"]
