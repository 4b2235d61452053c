"""Editors complete names although packages are imported when they are first used."""

import json
import pathlib

import jedi
import pytest
from language_server import LanguageServer

ROOT = pathlib.Path(__file__).parents[2]

EXPECTED = {
    "podium.": {"layers", "ops", "callbacks", "Model", "Sequential", "GradientTape"},
    "podium.layers.": {"Dense", "Conv2D", "LSTM", "MultiHeadAttention"},
    "podium.ops.": {"sin", "matmul", "softmax"},
    "podium.Model().": {"compile", "fit", "evaluate", "predict", "summary"},
    "podium.Sequential([]).": {"compile", "fit", "add"},
    "podium.layers.Dense(3).": {"kernel", "trainable_variables", "get_weights"},
}


@pytest.mark.parametrize(("expression", "expected"), EXPECTED.items())
def test_jedi_completes(expression, expected):
    script = jedi.Script(f"import podium\n{expression}")
    assert expected <= {completion.name for completion in script.complete()}


@pytest.fixture(scope="module")
def pyright(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pyright")
    settings = {"extraPaths": [str(ROOT)], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    with LanguageServer(folder) as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize(("expression", "expected"), EXPECTED.items())
def test_pyright_completes(pyright, expression, expected):
    assert expected <= pyright.complete(f"import podium\n{expression}")
