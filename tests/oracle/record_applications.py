"""Records the structure and outputs of Keras 3's applications: see `application_cases.py`.

KERAS_BACKEND=jax python tests/oracle/record_applications.py --out tests/oracle/fixtures

`applications.npz` holds for each case the lists of layers and of weights as text, the number of
parameters, and the outputs. Cases that are recorded already are skipped unless `--again`.
"""

import argparse
import os
import pathlib
import time

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from application_cases import (
    CASES,
    build,
    fill_weights,
    layer_lines,
    make_images,
    make_pixels,
    weight_lines,
)


def return_zeros(initializer, shape, dtype=None):
    """Replace random initialization, which takes most of the time; weights are filled anyway."""
    return np.zeros(shape, dtype)


keras.initializers.VarianceScaling.__call__ = return_zeros


def record(case):
    keras.utils.clear_session()
    model, seconds = build(keras, case)
    recorded = {
        "layers": np.frombuffer("\n".join(layer_lines(model)).encode(), "uint8"),
        "weights": np.frombuffer("\n".join(weight_lines(model)).encode(), "uint8"),
        "parameters": np.int64(model.count_params()),
    }
    start = time.perf_counter()
    if case.forward:
        fill_weights(model, case.gain)
        recorded["outputs"] = model.predict(make_images(case), verbose=0)
    return recorded, seconds, time.perf_counter() - start


def record_preprocessing():
    """Record `preprocess_input` of arrays, for all modes and data formats."""
    images = make_pixels()
    return {
        f"preprocessing/{mode}/{data_format}": keras.applications.imagenet_utils.preprocess_input(
            images.copy(), data_format, mode
        )
        for mode in ("caffe", "tf", "torch")
        for data_format in ("channels_first", "channels_last")
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="*", help="names of cases")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    path = options.out / "applications.npz"
    recorded = dict(np.load(path)) if path.exists() else {}
    recorded |= record_preprocessing()
    for name in options.only or CASES:
        if f"{name}/parameters" in recorded and not options.again:
            continue
        values, seconds, forward_seconds = record(CASES[name])
        recorded |= {f"{name}/{key}": value for key, value in values.items()}
        np.savez_compressed(path, **recorded)
        outputs = values.get("outputs", np.zeros((2, 1)))
        print(
            f"{name:30} {int(values['parameters']):12,} parameters, built in {seconds:.1f} s, "
            f"outputs in {forward_seconds:.1f} s, deviation {outputs.std():.2e}, between images "
            f"{np.abs(outputs[0] - outputs[1]).mean():.2e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
