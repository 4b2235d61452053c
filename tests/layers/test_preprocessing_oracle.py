"""Comparison with what Keras computed for the cases of `tests/oracle/preprocessing_cases.py`.

`tests/oracle/record_preprocessing.py` recorded it. 64-bit integers are 32-bit ones here.
"""

import json
import pathlib
import sys

import numpy as np
import pytest

import podium

ORACLE = pathlib.Path(__file__).parents[1] / "oracle"
sys.path.insert(0, str(ORACLE))

from preprocessing_cases import CASES, TEXTS, arrays_of  # noqa: E402

RECORDED = {
    group: recorded
    for name in ("preprocessing.json", "preprocessing_audio.json")
    for group, recorded in json.loads((ORACLE / "fixtures" / name).read_text()).items()
}
PAIRS = [
    pytest.param(case, recorded, id=f"{group}-{index}-{case['layer']}")
    for group, cases in CASES.items()
    for index, (case, recorded) in enumerate(zip(cases, RECORDED[group], strict=True))
]
NARROW = {"int64": "int32", "float64": "float32"}
# Recorded names and dtypes differ in form, and Keras leaves out the arguments of `Layer`.
COMMON = {"name", "dtype", "trainable"}


def make_layer(case):
    layer = getattr(podium.layers, case["layer"])(**case["config"])
    if case["adapt"] is not None:
        dtype = case["dtype"] if isinstance(case["dtype"], str) else case["dtype"][0]
        layer.adapt(arrays_of(case["adapt"], dtype))
    return layer


def compare(output, recorded, tolerance):
    array = np.asarray(output)
    assert list(array.shape) == recorded["shape"]
    if recorded["dtype"] == "string":
        assert array.tolist() == recorded["output"]
    else:
        dtype = NARROW.get(recorded["dtype"], recorded["dtype"])
        # Keras declares float32 for encodings of lookups, and returns int64.
        is_encoded_lookup = "vocabulary" in recorded and recorded["config"]["output_mode"] != "int"
        assert array.dtype.name == ("float32" if is_encoded_lookup else dtype)
        expected = np.array(recorded["output"])
        if recorded["config"].get("mode") == "angle":  # pi is as good as -pi
            array, expected = np.exp(1j * array), np.exp(1j * expected)
        np.testing.assert_allclose(array, expected, rtol=1e-6, atol=tolerance)


def test_a_file_of_keras_has_the_vocabularies_and_the_outputs(tmp_path):
    model = podium.saving.load_model(ORACLE / "fixtures" / "text_model.keras")
    data = {"text": np.array(TEXTS), "number": np.arange(len(TEXTS))[:, None]}
    np.testing.assert_allclose(
        model.predict(data, verbose=0), RECORDED["text_model"], rtol=1e-5, atol=1e-6
    )
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(data, verbose=0), model.predict(data, verbose=0))


@pytest.mark.parametrize("case, recorded", PAIRS)
def test_outputs_and_configs_equal_those_of_keras(case, recorded):
    if "error" in recorded:
        with pytest.raises((ValueError, TypeError)):
            make_layer(case)(arrays_of(case["inputs"], case["dtype"]))
        return
    layer = make_layer(case)
    inputs = arrays_of(case["inputs"], case["dtype"])
    compare(layer(inputs), recorded, 2e-5 if "Spectrogram" in case["layer"] else 0)
    config = layer.get_config()
    assert config.keys() - COMMON == recorded["config"].keys() - COMMON
    for name in config.keys() - COMMON:
        assert config[name] == recorded["config"][name], name
    if "vocabulary" in recorded:
        assert layer.get_vocabulary() == recorded["vocabulary"]
    copy = type(layer).from_config(json.loads(json.dumps(config)))
    assert copy.get_config() == config
