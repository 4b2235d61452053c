"""`podium verify`: prints what is verified, and exits with a status for scripts."""

import h5py
import numpy as np
import pytest

import podium
from podium.compat._runner import main


@pytest.fixture
def paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)]).save("model.keras")
    with h5py.File("foreign.h5", "w") as file:
        file["weights"] = np.ones(3)
    return tmp_path


def test_verified_file_exits_with_0(paths, capsys):
    assert main(["verify", "model.keras"]) == 0
    assert capsys.readouterr().out.startswith("model.keras: verified (Keras archive)\n  checked: ")


def test_file_without_checksums_exits_with_3_until_it_has_digests(paths, capsys):
    assert main(["verify", "foreign.h5", "model.keras"]) == 3
    assert "unknown: the structure" in capsys.readouterr().out
    assert main(["verify", "--write-digests", "foreign.h5"]) == 0
    assert "foreign.h5.sha256.json: written" in capsys.readouterr().out


def test_damaged_and_missing_files_exit_with_1(paths, capsys):
    content = bytearray((paths / "model.keras").read_bytes())
    content[len(content) // 2] ^= 1
    (paths / "model.keras").write_bytes(content)
    assert main(["verify", "foreign.h5", "model.keras"]) == 1
    assert "model.keras: damaged" in capsys.readouterr().out
    assert main(["verify", "nothing.h5"]) == 1
    assert "'nothing.h5'; there is no such file" in capsys.readouterr().err


def test_script_of_that_name_is_run(paths, capsys):
    (paths / "verify").write_text("print('ran', __name__)")
    assert main(["verify"]) == 0
    assert capsys.readouterr().out == "ran __main__\n"
