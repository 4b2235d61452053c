"""Image layers and bounding boxes with Keras's results, which `tests/oracle/record_images.py`
recorded.
"""

import json
import pathlib
import sys

import numpy as np
import pytest
from one_program import evaluate_cases

import podium
from podium import layers

ORACLE = pathlib.Path(__file__).parent.parent / "oracle"
sys.path.insert(0, str(ORACLE))

import image_cases  # noqa: E402

with np.load(ORACLE / "fixtures" / "images.npz") as arrays:
    RECORDED = dict(arrays)
CONFIGS = json.loads((ORACLE / "fixtures" / "images.json").read_text())

# Arguments whose values in configs differ, by layer.
OTHER_CONFIGS = {
    "RandomGrayscale": {"seed"},  # Keras loses it
    "MaxNumBoundingBoxes": {"fill_value"},  # the same
    "RandomSaturation": {"factor"},  # a number x means 0 to x, and -x to x in Keras
    "RandomColorDegeneration": {"factor"},  # the same
}
ABSOLUTE_TOLERANCE = 2e-6  # of the largest value


@pytest.fixture(scope="module")
def results():
    """The results of all cases; most are computed by one program."""
    made = {name: image_cases.make_layer(case, layers) for name, case in image_cases.CASES.items()}
    keys = {}

    def evaluate(name, _=None):
        case = image_cases.CASES[name]
        computed = image_cases.run(case, made[name], podium.convert_to_tensor)
        keys[name] = list(computed)
        return list(computed.values())

    values = evaluate_cases(list(made), evaluate, np.zeros(()))
    return lambda name: dict(
        zip(keys[name], values[name] if name in values else evaluate(name), strict=True)
    )


def check(name, value):
    expected = RECORDED[name]
    assert value.shape == expected.shape
    tolerance = ABSOLUTE_TOLERANCE * max(1, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=tolerance)


@pytest.mark.parametrize("name", image_cases.CASES)
def test_transformations_are_those_of_keras(name, results):
    expected = {key.split(":")[1] for key in RECORDED if key.startswith(f"{name}:")}
    computed = results(name)
    assert expected == set(computed)
    for key, value in computed.items():
        check(f"{name}:{key}", value.numpy())


@pytest.mark.parametrize("name", image_cases.CASES)
def test_configs_are_those_of_keras(name):
    case = image_cases.CASES[name]
    layer = image_cases.make_layer(case, layers)
    config = json.loads(json.dumps(layer.get_config()))
    expected = CONFIGS[name] | {"name": config["name"], "dtype": config["dtype"]}
    for key in OTHER_CONFIGS.get(case.layer, ()):
        expected[key] = config[key]
    assert config == expected
    again = type(layer).from_config(config).get_config()
    assert json.loads(json.dumps(again)) == config


def test_functions_of_bounding_boxes_are_those_of_keras():
    run = podium.function(image_cases.run_box_functions)
    computed = run(podium.utils.bounding_boxes)
    assert {f"boxes:{name}" for name in computed} == {
        key for key in RECORDED if key.startswith("boxes:")
    }
    for name, value in computed.items():
        check(f"boxes:{name}", value.numpy())
