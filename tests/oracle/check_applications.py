"""Compares `podium.applications` with what `record_applications.py` recorded of Keras.

    python tests/oracle/check_applications.py [--only NAME ...] [--recorded FILE]

For each case: the names of layers and the shapes of their outputs, in order; paths and shapes of
the weights; the number of parameters; and the outputs with equal weights, up to 1e-4 of the
greatest one. Fails if anything differs.
"""

import argparse
import pathlib
import sys
import time

import numpy as np
from application_cases import CASES, build, fill_weights, layer_lines, make_images, weight_lines

import podium
from podium.core.internal import override

FIXTURE = pathlib.Path(__file__).parent / "fixtures" / "applications.npz"
TOLERANCE = 1e-4


def read_lines(recorded, key):
    return bytes(recorded[key]).decode().split("\n")


def compare_structure(name, model, recorded):
    """Return a sentence for each difference in structure."""
    differences = []
    for key, actual in (("layers", layer_lines(model)), ("weights", weight_lines(model))):
        expected = read_lines(recorded, f"{name}/{key}")
        if actual != expected:
            pairs = zip(actual + ["nothing"], expected + ["nothing"], strict=False)
            first = next((pair for pair in pairs if pair[0] != pair[1]), None)
            differences.append(f"{key}: {len(actual)} and {len(expected)}, first {first}")
    if model.count_params() != int(recorded[f"{name}/parameters"]):
        differences.append(f"{model.count_params()} parameters")
    return differences


def compare_outputs(name, model, recorded):
    """Return the greatest difference between outputs, relative to the greatest output."""
    case, expected = CASES[name], recorded[f"{name}/outputs"]
    fill_weights(model, case.gain)
    actual = model.predict(make_images(case), verbose=0)
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of cases")
    parser.add_argument("--recorded", type=pathlib.Path, default=FIXTURE)
    parser.add_argument("--structure", action="store_true", help="do not compare outputs")
    options = parser.parse_args()
    recorded, failed = np.load(options.recorded), []
    for name in options.only or CASES:
        podium.core.reset_names()
        with override(skips_initialization=True):
            model, seconds = build(podium, CASES[name])
        differences = compare_structure(name, model, recorded)
        start, error = time.perf_counter(), 0.0
        if CASES[name].forward and not options.structure and not differences:
            error = compare_outputs(name, model, recorded)
        if error > TOLERANCE:
            differences.append(f"outputs differ by {error:.1e}")
        failed += [name] if differences else []
        print(
            f"{name:30} {len(model.layers):4} layers, built in {seconds:.1f} s, outputs in "
            f"{time.perf_counter() - start:.1f} s, error {error:.1e}",
            *differences,
            sep="\n    ",
            flush=True,
        )
    sys.exit(f"{len(failed)} cases differ: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
