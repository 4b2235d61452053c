"""Comparison with the values that Keras computed for the cases of `tests/oracle/utils_cases.py`.

They were recorded by `tests/oracle/record_utils.py`.
"""

import base64
import io
import json
import os
import pathlib
import sys

import numpy as np
import pytest
from PIL import Image

from podium import utils

ORACLE = pathlib.Path(__file__).parent.parent / "oracle"
sys.path.insert(0, str(ORACLE))

from utils_cases import (  # noqa: E402
    CATEGORICAL,
    FOLDERS,
    INTERPOLATIONS,
    NORMALIZE,
    PADS,
    SIZES,
    SPLITS,
    TIMESERIES,
    image,
    make_tree,
    series,
)

FOUND = json.loads((ORACLE / "fixtures" / "utils.json").read_text())
PICTURES = np.load(ORACLE / "fixtures" / "utils.npz")
# Largest difference from TensorFlow, of 255. It takes the weights of "bicubic" from a table of 1024
# steps.
CLOSE = dict.fromkeys(INTERPOLATIONS, 2e-4) | {"nearest": 0, "bicubic": 0.2}


def png(name):
    file, pixels = io.BytesIO(), image(name)
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(file, "png")
    return file.getvalue()


def read_image(directory, content, **options):
    (directory / "image.png").write_bytes(content)
    options = {"labels": None, "batch_size": None, "verbose": False} | options
    (pixels,) = utils.image_dataset_from_directory(directory, **options).as_numpy_iterator()
    assert pixels.dtype == np.float32
    return pixels


@pytest.mark.parametrize("number", range(len(PADS)))
def test_pad_sequences(number):
    case = PADS[number] | ({"dtype": object} if PADS[number].get("dtype") == "object" else {})
    padded, expected = utils.pad_sequences(**case), FOUND["pads"][number]
    assert expected["keras"] == expected["tf_keras"]
    assert (padded.tolist(), padded.dtype.name) == (
        expected["keras"]["values"],
        expected["keras"]["dtype"],
    )


def test_to_categorical():
    for case, expected in zip(CATEGORICAL, FOUND["categorical"], strict=True):
        hot = utils.to_categorical(*case)
        for answer in expected:
            assert hot.tolist() == answer["values"] and list(hot.shape) == answer["shape"], case
        assert hot.dtype.name == expected[1]["dtype"] == "float32"  # Keras 3 returns float64


def test_normalize():
    for (x, axis, order), expected in zip(NORMALIZE, FOUND["normalize"], strict=True):
        length_one = utils.normalize(np.array(x), axis, order)
        np.testing.assert_allclose(length_one, expected["values"], rtol=1e-12)
        assert (
            length_one.dtype.name == expected["dtype"]
            and list(length_one.shape) == expected["shape"]
        )


def test_timeseries_dataset_from_array():
    for case, expected in zip(TIMESERIES, FOUND["timeseries"], strict=True):
        data, targets, options = series(case)
        batches = utils.timeseries_dataset_from_array(data, targets, **options).as_numpy_iterator()
        rows = [
            [part.tolist() for part in (batch if isinstance(batch, tuple) else (batch,))]
            for batch in batches
        ]
        assert rows == expected, case


def test_split_dataset():
    for (count, options), expected in zip(SPLITS, FOUND["splits"], strict=True):
        parts = utils.split_dataset(np.arange(count), **options)
        assert [[int(x) for x in part] for part in parts] == expected, options


@pytest.mark.parametrize("name", FOLDERS)
def test_files_of_a_directory(name, tmp_path, capsys):
    make_tree(tmp_path, png("grey"))
    options, expected = FOLDERS[name], FOUND["folders"][name]
    made = utils.image_dataset_from_directory(
        tmp_path, image_size=(2, 2), batch_size=None, **options
    )
    assert [os.path.relpath(path, tmp_path) for path in made.file_paths] == expected["paths"]
    assert made.class_names == expected["class_names"]
    assert capsys.readouterr().out.splitlines() == expected["said"]
    elements = list(made.as_numpy_iterator())
    labels = (
        [np.asarray(e[1]).tolist() for e in elements] if isinstance(elements[0], tuple) else None
    )
    if options.get("shuffle", True):  # the order within an epoch differs from TensorFlow's
        labels, expected["labels"] = sorted(labels), sorted(expected["labels"])
    assert labels == expected["labels"]


@pytest.mark.parametrize("method", INTERPOLATIONS)
def test_resizing(method, tmp_path):
    for size in SIZES:
        pixels = read_image(tmp_path, png("rgb"), image_size=size, interpolation=method)
        np.testing.assert_allclose(pixels, PICTURES[f"{method}/{size}"], rtol=0, atol=CLOSE[method])
        for way in ("crop", "pad") if method in ("bilinear", "nearest") else ():
            pixels = read_image(
                tmp_path,
                png("rgb"),
                image_size=size,
                interpolation=method,
                **{f"{way}_to_aspect_ratio": True},
            )
            np.testing.assert_allclose(
                pixels, PICTURES[f"{method}/{size}/{way}"], rtol=0, atol=CLOSE[method]
            )


@pytest.mark.parametrize("name", ["rgb", "rgba", "grey", "deep"])
def test_color_modes(name, tmp_path):
    for mode in ("rgb", "rgba", "grayscale"):
        pixels = read_image(tmp_path, png(name), image_size=image(name).shape[:2], color_mode=mode)
        close = (
            1 if mode == "grayscale" and name.startswith("rgb") else 0
        )  # TensorFlow rounds the weights of colors differently
        np.testing.assert_allclose(pixels, PICTURES[f"{name}/{mode}"], rtol=0, atol=close)


def test_jpeg(tmp_path):
    pixels = read_image(tmp_path, base64.b64decode(FOUND["jpeg"]), image_size=(16, 24))
    np.testing.assert_allclose(
        pixels, PICTURES["jpeg"], rtol=0, atol=3
    )  # two decoders of a lossy format
