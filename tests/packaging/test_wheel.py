"""The wheel holds all that a user needs: it is built, installed elsewhere and imported."""

import json
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

import podium

ROOT = pathlib.Path(__file__).parents[2]

# Printed by a Python that sees the installed wheel only: the working directory is not searched.
REPORT = """
import importlib.metadata, json
import podium
podium.layers.Dense(1)
podium.Sequential
print(json.dumps({
    "file": podium.__file__,
    "version": podium.__version__,
    "metadata": importlib.metadata.version("podium"),
}))
"""


def run(*command: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of the working tree, built without network access."""
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "-q", "-w", str(folder))
    (path,) = folder.glob("podium-*.whl")
    return path


@pytest.mark.slow
def test_wheel_holds_every_module_and_the_type_marker(wheel):
    files = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("podium/")}
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "podium").rglob("*.py")}
    assert modules <= files
    assert "podium/py.typed" in files
    assert not [name for name in files if name.endswith(".pyc")]


@pytest.mark.slow
def test_podium_is_imported_from_the_installed_wheel(wheel, tmp_path):
    run("-m", "pip", "install", "--no-deps", "-q", "--target", str(tmp_path), str(wheel))
    report = json.loads(run("-P", "-c", REPORT, PYTHONPATH=str(tmp_path)))
    assert pathlib.Path(report["file"]).is_relative_to(tmp_path)
    assert report["version"] == report["metadata"] == podium.__version__
    assert wheel.name == f"podium-{podium.__version__}-py3-none-any.whl"
