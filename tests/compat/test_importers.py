"""Installed packages for which TensorFlow is optional do not find Podium as TensorFlow."""

import importlib
import subprocess
import sys
import textwrap

import pytest

from podium import compat
from podium.compat import _importers

TRY = """
try:
    import tensorflow as tf
    from keras import layers
except ImportError as error:
    tf, message = None, str(error)
"""
ASK = """
import importlib, importlib.util
spec = importlib.util.find_spec("tensorflow")
def load():
    return importlib.import_module("tensorflow.keras")
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A directory of installed packages."""

    def add(package, text, requires=None):
        path = tmp_path.joinpath(*package.split("."))
        path.mkdir(parents=True)
        for folder in (path, *path.parents):
            if tmp_path in folder.parents:
                (folder / "__init__.py").touch()
        (path / "__init__.py").write_text(text)
        if requires is not None:
            info = tmp_path / f"{package}_dist-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {package}-dist\nVersion: 1.0\n{requires}\n"
            )
            (info / "top_level.txt").write_text(package + "\n")

    monkeypatch.setattr(_importers, "_installed_directories", lambda: (f"{tmp_path}/",))
    monkeypatch.syspath_prepend(tmp_path)
    _importers._is_made_for_keras.cache_clear()
    compat.install()
    yield add
    compat.uninstall()
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("package", "requires", "finds"),
    [
        ("trackers", "Requires-Dist: numpy\nRequires-Dist: tensorflow ; extra == 'tf'", False),
        ("unknown", None, False),
        ("built_on_it", "Requires-Dist: tensorflow-cpu (>=2.8) ; python_version > '3'", True),
        ("models", "Requires-Dist: numpy\nRequires-Dist: keras>=3.1", True),
        ("models_of_hub", "Requires-Dist: keras-hub", True),
        ("keras_things", None, True),
        ("trackers.integration.keras", None, True),
    ],
)
def test_package_finds_podium_if_it_is_made_for_keras(site, package, requires, finds):
    site(package, TRY, requires)
    import tensorflow

    module = importlib.import_module(package)
    assert (module.tf is tensorflow) == finds
    if not finds:
        assert f"does not show it to {package!r}, for which it is optional" in module.message
        assert f"PODIUM_TENSORFLOW_VISIBLE_TO={package}" in module.message


def test_questions_and_imports_by_name_follow_the_same_rules(site, monkeypatch):
    site("trackers", ASK)
    trackers = importlib.import_module("trackers")
    assert trackers.spec is None
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow\.keras"):
        trackers.load()
    monkeypatch.setenv("PODIUM_TENSORFLOW_VISIBLE_TO", "others, trackers")
    assert importlib.reload(trackers).spec is not None
    assert trackers.load() is compat.keras
    assert importlib.util.find_spec("tensorflow") is not None  # this file is not installed


def test_package_can_be_hidden_from(site, monkeypatch):
    monkeypatch.setenv("PODIUM_TENSORFLOW_HIDDEN_FROM", "keras_things")
    site("keras_things", TRY)
    assert importlib.import_module("keras_things").tf is None


def test_python_imports_as_before_afterwards():
    before = (__import__, importlib.import_module, importlib.util.find_spec)
    compat.install()
    assert __import__ != before[0]
    with compat.real_imports():
        assert not _importers.rules.is_enabled
    assert _importers.rules.is_enabled
    compat.uninstall()
    assert (__import__, importlib.import_module, importlib.util.find_spec) == before


def test_traceback_of_an_import_shows_the_program_alone(tmp_path):
    (tmp_path / "broken.py").write_text("def fail():\n    import missing_module\nfail()\n")
    (tmp_path / "program.py").write_text(
        textwrap.dedent(
            """
            try:
                import broken
            except ImportError as error:
                raise ValueError("no") from error
            """
        )
    )
    result = subprocess.run(
        [sys.executable, "-m", "podium", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 1 and "_importers" not in result.stderr
    assert "No module named 'missing_module'" in result.stderr and "in fail" in result.stderr
