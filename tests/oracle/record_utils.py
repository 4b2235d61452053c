"""Records what Keras 3 (on TensorFlow) and tf_keras do with the cases of `utils_cases.py`.

python tests/oracle/record_utils.py --out tests/oracle/fixtures      (in the tf_keras environment,
which has both)
"""

import argparse
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["KERAS_BACKEND"] = "tensorflow"
sys.path.insert(0, str(Path(__file__).parent))

import keras
import numpy as np
import tensorflow as tf
import tf_keras
from utils_cases import (
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


def describe_array(array):
    array = np.asarray(array)
    return {"values": array.tolist(), "dtype": array.dtype.name, "shape": list(array.shape)}


def pads():
    cases = [{**case, "dtype": object} if case.get("dtype") == "object" else case for case in PADS]
    return [
        {
            "keras": describe_array(keras.utils.pad_sequences(**case)),
            "tf_keras": describe_array(tf_keras.utils.pad_sequences(**case)),
        }
        for case in cases
    ]


def timeseries(case):
    data, targets, options = series(case)
    dataset = keras.utils.timeseries_dataset_from_array(data, targets, **options)
    return [
        [part.tolist() for part in (batch if isinstance(batch, tuple) else (batch,))]
        for batch in dataset.as_numpy_iterator()
    ]


def split(count, options):
    return [
        [int(x) for x in part] for part in keras.utils.split_dataset(np.arange(count), **options)
    ]


def folder(options):
    with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()) as stdout:
        make_tree(root, tf.io.encode_png(image("grey")).numpy())
        made = keras.utils.image_dataset_from_directory(
            root, image_size=(2, 2), batch_size=None, **options
        )
        elements = list(made.as_numpy_iterator())
        labels = (
            [np.asarray(e[1]).tolist() for e in elements]
            if isinstance(elements[0], tuple)
            else None
        )
        paths = [os.path.relpath(path, root) for path in made.file_paths]
        return {
            "paths": paths,
            "class_names": made.class_names,
            "labels": labels,
            "said": stdout.getvalue().splitlines(),
        }


def record_images():
    recorded = {}
    with tempfile.TemporaryDirectory() as root:

        def read(name, content, **options):
            Path(root, "one.png").write_bytes(content)
            read_ = keras.utils.image_dataset_from_directory(
                root, labels=None, batch_size=None, verbose=False, **options
            )
            recorded[name] = next(read_.as_numpy_iterator())

        pixels = {
            name: tf.io.encode_png(image(name)).numpy() for name in ("rgb", "rgba", "grey", "deep")
        }
        for method in INTERPOLATIONS:
            for size in SIZES:
                read(f"{method}/{size}", pixels["rgb"], image_size=size, interpolation=method)
                if method in ("bilinear", "nearest"):
                    read(
                        f"{method}/{size}/crop",
                        pixels["rgb"],
                        image_size=size,
                        interpolation=method,
                        crop_to_aspect_ratio=True,
                    )
                    read(
                        f"{method}/{size}/pad",
                        pixels["rgb"],
                        image_size=size,
                        interpolation=method,
                        pad_to_aspect_ratio=True,
                    )
        for name, content in pixels.items():
            for mode in ("rgb", "rgba", "grayscale"):
                read(f"{name}/{mode}", content, image_size=image(name).shape[:2], color_mode=mode)
        smooth = np.add.outer(np.arange(16) * 8, np.arange(24) * 5)[..., None] + np.arange(3) * 20
        jpeg = tf.io.encode_jpeg(smooth.astype("uint8"), quality=90).numpy()
        read("jpeg", jpeg, image_size=(16, 24))
    return recorded, base64.b64encode(jpeg).decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    arrays, jpeg = record_images()
    facts = {
        "pads": pads(),
        "categorical": [
            [
                describe_array(keras.utils.to_categorical(*case)),
                describe_array(tf_keras.utils.to_categorical(*case)),
            ]
            for case in CATEGORICAL
        ],
        "normalize": [
            describe_array(tf_keras.utils.normalize(np.array(x), axis, order))
            for x, axis, order in NORMALIZE
        ],
        "timeseries": [timeseries(case) for case in TIMESERIES],
        "splits": [split(*case) for case in SPLITS],
        "folders": {name: folder(options) for name, options in FOLDERS.items()},
        "jpeg": jpeg,
    }
    (out / "utils.json").write_text(json.dumps(facts, indent=None, separators=(",", ":")) + "\n")
    np.savez_compressed(out / "utils.npz", **arrays)


if __name__ == "__main__":
    main()
