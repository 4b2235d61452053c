"""The format of a path of weights, decided as Keras 2's `_detect_save_format` decides it."""

import os
import pathlib
import shutil

import pytest

from podium.saving.internal import (
    contains_saved_model,
    detect_save_format,
    is_hdf5_filepath,
    is_readable_tf_checkpoint,
)

FILES = pathlib.Path(__file__).parent.parent / "oracle" / "fixtures" / "tensorflow_files"


@pytest.mark.parametrize("name", ["w.h5", "w.keras", "w.hdf5", "w.weights.h5"])
def test_suffix_of_hdf5_decides_without_a_file(name, tmp_path):
    assert is_hdf5_filepath(tmp_path / name)
    assert detect_save_format(tmp_path / name) == (str(tmp_path / name), "h5")


def test_checkpoint_is_detected_by_its_index():
    assert not is_hdf5_filepath(FILES / "functional")
    assert is_readable_tf_checkpoint(FILES / "functional")
    assert detect_save_format(FILES / "functional") == (str(FILES / "functional"), "tf")


def test_saved_model_redirects_to_its_variables():
    assert contains_saved_model(FILES / "saved")
    prefix = os.path.join(FILES, "saved", "variables", "variables")
    assert detect_save_format(FILES / "saved") == (prefix, "tf")


def test_saved_model_without_variables_is_rejected(tmp_path):
    shutil.copytree(FILES / "saved", tmp_path / "saved")
    os.unlink(tmp_path / "saved" / "variables" / "variables.index")
    with pytest.raises(ValueError, match=r"Unable to load weights from .*variables\.index"):
        detect_save_format(tmp_path / "saved")


def test_anything_else_is_hdf5(tmp_path):
    (tmp_path / "w.index").write_bytes(b"no table")
    for name in ("w", "missing"):
        assert not is_readable_tf_checkpoint(tmp_path / name)
        assert not contains_saved_model(tmp_path / name)
        assert detect_save_format(tmp_path / name) == (str(tmp_path / name), "h5")
