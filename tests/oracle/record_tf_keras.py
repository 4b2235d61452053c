"""Runs the same table through tf_keras (Keras 2) and records only where it differs from the Keras 3
fixtures.

    python tests/oracle/record_tf_keras.py --out tests/oracle/fixtures      (after record.py, in the
    tf_keras environment)

`tf_keras.json` then lists, case by case: what differs (weights, outputs, gradients, losses, masks),
the largest difference, and which arguments Keras 2 does not take. `defaults` lists constructor
defaults that changed.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import tensorflow as tf
import tf_keras
from building import (
    FIXTURES,
    Reader,
    Writer,
    cotangent,
    fill_specs,
    flatten,
    inputs,
    make_case,
    map_arrays,
    mask_of,
    pass_masking,
    to_json_types,
    weight_value,
)
from cases import CASES, EXACT_INITIALIZERS

DETAILS = {
    "name",
    "dtype",
    "module",
    "registered_name",
    "build_config",
    "input_axes",
    "output_axes",
}  # not defaults
RENAMED = {("LeakyReLU", "negative_slope"): "alpha"}  # Keras 2's word for the argument


def with_keras_2_names(case):
    config = {RENAMED.get((case.name, key), key): value for key, value in case.config.items()}
    return type(case)(**{**case.__dict__, "config": config})


def weight_names(layer):
    return [w.name.split("/")[-1].split(":")[0] for w in layer.weights]


def run_layer(case):
    args, kwargs = (
        map_arrays(tf.constant, inputs(case)[0]),
        map_arrays(tf.constant, inputs(case)[1]),
    )
    layer = make_case(tf_keras, case)
    if case.adapt is not None:
        layer.adapt(fill_specs(case, case.adapt, "adapt"))
    layer(
        *pass_masking(tf_keras, case, args), **{k: v for k, v in kwargs.items() if k != "training"}
    )
    if case.adapt is None:
        for i, (weight, name) in enumerate(zip(layer.weights, weight_names(layer), strict=True)):
            value = weight_value(case, i, name, tuple(weight.shape), weight.dtype.name)
            if value is not None and "rnn_state" not in name:
                weight.assign(value)
    if case.calls > 1:
        layer.reset_states()
    floats = [x for x in flatten([args, kwargs]) if tf.is_tensor(x) and x.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(floats)
        out = layer(*pass_masking(tf_keras, case, args), **kwargs)
        leaves = flatten(out)
        target = tf.add_n(
            [
                tf.reduce_sum(tf.cast(o, "float32") * cotangent(case, i, o.shape))
                for i, o in enumerate(leaves)
            ]
        )
    gradients = tape.gradient(
        target, floats + layer.trainable_weights, unconnected_gradients="zero"
    )
    gradients = [tf.convert_to_tensor(gradient).numpy() for gradient in gradients]
    return {
        "weights": [
            {"name": n, "shape": list(w.shape)}
            for n, w in zip(weight_names(layer), layer.weights, strict=True)
        ],
        "outputs": [np.asarray(o) for o in leaves],
        "output_masks": [
            None if mask is None else np.asarray(mask)
            for mask in (mask_of(tf_keras, leaf) for leaf in leaves)
        ],
        "input_gradients": gradients[: len(floats)] if case.grads else [],
        "weight_gradients": gradients[len(floats) :] if case.grads else [],
        "losses": [float(x) for x in layer.losses],
        "state": {str(i): w.numpy() for i, w in enumerate(layer.weights) if not w.trainable},
    }


def run_function(case):
    fn = make_case(tf_keras, case)
    x = tf.constant(inputs(case)[0][0])
    config = case.config if case.kind == "activation" else {}
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = fn(x, **config)
        weighted = (
            tf.reduce_sum(out * cotangent(case, 0, out.shape))
            if case.kind == "activation"
            else tf.reduce_sum(out)
        )
    result = {"outputs": [np.asarray(out)]}
    if case.grads and case.kind != "constraint":
        result["input_gradients"] = [
            np.asarray(tape.gradient(weighted, x, unconnected_gradients="zero"))
        ]
    return result


def distance(actual, expected):
    """Largest difference, relative to max(1, the largest value); infinite if shapes differ."""
    actual, expected = np.asarray(actual, "float64"), np.asarray(expected, "float64")
    if actual.shape != expected.shape:
        return float("inf")
    return float(
        np.max(np.abs(actual - expected), initial=0) / max(1.0, np.max(np.abs(expected), initial=0))
    )


def differences(results, reader, record, tolerance):
    """What differs from the Keras 3 record: {part: largest difference or a sentence}."""
    differing = {}
    if "weights" in results:
        actual, expected = (
            [(w["name"], list(w["shape"])) for w in side["weights"]] for side in (results, record)
        )
        if actual != expected:
            differing["weights"] = {"tf_keras": actual, "keras3": expected}
    for part in ("outputs", "input_gradients", "weight_gradients"):
        actual, expected = results.get(part, []), [reader.get(a) for a in record.get(part, [])]
        if len(actual) != len(expected):
            differing[part] = f"{len(actual)} arrays, Keras 3 has {len(expected)}"
            continue
        worst = max([distance(a, b) for a, b in zip(actual, expected, strict=True)], default=0.0)
        if worst > tolerance:
            differing[part] = worst
    worst = max(
        [
            distance(v, reader.get(record["state"][i]))
            for i, v in results.get("state", {}).items()
            if i in record["state"]
        ],
        default=0.0,
    )
    if worst > tolerance:
        differing["state"] = worst
    if "losses" in results and (
        len(results["losses"]) != len(record["losses"])
        or distance(results["losses"], record["losses"]) > tolerance
    ):
        differing["losses"] = {"tf_keras": results["losses"], "keras3": record["losses"]}
    if "output_masks" in results:
        expected = [None if a is None else reader.get(a) for a in record["output_masks"]]
        same = len(expected) == len(results["output_masks"]) and all(
            (a is None) == (b is None) and (a is None or np.array_equal(a, b))
            for a, b in zip(results["output_masks"], expected, strict=True)
        )
        if not same:
            differing["output_masks"] = {
                "tf_keras": to_json_types(results["output_masks"]),
                "keras3": to_json_types(expected),
            }
    return differing


def changed_defaults(config_of_keras_3):
    """Constructor defaults of Keras 2 whose counterpart in Keras 3's recorded config differs."""
    changed = {}
    for case in CASES:
        if (
            case.kind != "layer"
            or case.name == "Lambda"
            or not hasattr(tf_keras.layers, case.name)
            or case.id not in config_of_keras_3
        ):
            continue
        config = config_of_keras_3[case.id]
        try:
            results = to_json_types(make_case(tf_keras, with_keras_2_names(case)).get_config())
        except Exception:
            continue
        for key in sorted(
            (set(results) | set(config))
            - {"dtype", "batch_input_shape", "name", "layer", "backward_layer", "cell", "cells"}
        ):
            a, b = (
                without_details(results.get(key, "absent")),
                without_details(config.get(key, "absent")),
            )
            if a != b and key not in case.config and key not in RENAMED.values():
                changed.setdefault(case.name, {})[key] = {"tf_keras": a, "keras3": b}
    return changed


def without_details(value):
    """A config value without serialisation details."""
    if isinstance(value, dict) and "class_name" in value:
        return {"class_name": value["class_name"], "config": without_details(value.get("config"))}
    if isinstance(value, dict):
        return {k: without_details(v) for k, v in value.items() if k not in DETAILS}
    if isinstance(value, list):
        return (
            value[0]
            if value and all(v == value[0] for v in value)
            else [without_details(v) for v in value]
        )
    return value


def run(case):
    if case.kind == "initializer":
        shape = {"Identity": (4, 6)}.get(case.name, (3, 2))
        return {"outputs": [make_case(tf_keras, case)(shape).numpy()]}
    return run_layer(with_keras_2_names(case)) if case.kind == "layer" else run_function(case)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=str(FIXTURES))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    reader, writer = Reader("keras3", options.out), Writer()
    about = {
        "oracle": f"tf_keras {tf_keras.__version__} on tensorflow {tf.__version__}",
        "same": 0,
        "unsupported": {},
    }
    metadata = {"about": about}
    for case in CASES:
        random = case.kind == "initializer" and case.name not in EXACT_INITIALIZERS
        if options.only not in case.id or random or case.id not in reader.cases:
            continue
        try:
            results = run(case)
        except Exception as error:
            about["unsupported"][case.id] = (
                f"{type(error).__name__}: {str(error).strip().splitlines()[0][:110]}"
            )
            continue
        differing = differences(results, reader, reader.cases[case.id], max(case.tolerance, 1e-5))
        if not differing:
            about["same"] += 1
            continue
        stored = {
            part: [writer.put(x) for x in results.get(part, [])]
            for part in ("outputs", "input_gradients", "weight_gradients")
        }
        metadata[case.id] = {"differs": differing, **stored}
    about["defaults"] = changed_defaults(
        {key: record["config"] for key, record in reader.cases.items() if "config" in record}
    )
    if options.only:
        print(metadata)
        return
    writer.save("tf_keras", metadata, options.out)
    print(
        f"{about['same']} the same, {len(metadata) - 1} differ, {len(about['unsupported'])} "
        "not in tf_keras"
    )


if __name__ == "__main__":
    main()
