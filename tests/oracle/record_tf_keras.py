"""Runs the same table through tf_keras (Keras 2) and records only where it differs from the Keras 3
fixtures.

    python tests/oracle/record_tf_keras.py --out tests/oracle/fixtures      (after record.py, in the
    tf_keras environment)

`tf_keras.json` then says, case by case: what differs (weights, outputs, gradients, losses, masks),
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
    plain,
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


def in_keras_2_words(case):
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
    found = tape.gradient(target, floats + layer.trainable_weights, unconnected_gradients="zero")
    found = [tf.convert_to_tensor(g).numpy() for g in found]
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
        "input_gradients": found[: len(floats)] if case.grads else [],
        "weight_gradients": found[len(floats) :] if case.grads else [],
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


def distance(ours, theirs):
    """Largest difference, relative to max(1, the largest value); infinite if shapes differ."""
    ours, theirs = np.asarray(ours, "float64"), np.asarray(theirs, "float64")
    if ours.shape != theirs.shape:
        return float("inf")
    return float(
        np.max(np.abs(ours - theirs), initial=0) / max(1.0, np.max(np.abs(theirs), initial=0))
    )


def differences(mine, reader, record, tolerance):
    """What differs from the Keras 3 record: {part: largest difference or a sentence}."""
    found = {}
    if "weights" in mine:
        ours, theirs = (
            [(w["name"], list(w["shape"])) for w in side["weights"]] for side in (mine, record)
        )
        if ours != theirs:
            found["weights"] = {"tf_keras": ours, "keras3": theirs}
    for part in ("outputs", "input_gradients", "weight_gradients"):
        ours, theirs = mine.get(part, []), [reader.get(a) for a in record.get(part, [])]
        if len(ours) != len(theirs):
            found[part] = f"{len(ours)} arrays, Keras 3 has {len(theirs)}"
            continue
        worst = max([distance(a, b) for a, b in zip(ours, theirs, strict=True)], default=0.0)
        if worst > tolerance:
            found[part] = worst
    worst = max(
        [
            distance(v, reader.get(record["state"][i]))
            for i, v in mine.get("state", {}).items()
            if i in record["state"]
        ],
        default=0.0,
    )
    if worst > tolerance:
        found["state"] = worst
    if "losses" in mine and (
        len(mine["losses"]) != len(record["losses"])
        or distance(mine["losses"], record["losses"]) > tolerance
    ):
        found["losses"] = {"tf_keras": mine["losses"], "keras3": record["losses"]}
    if "output_masks" in mine:
        theirs = [None if a is None else reader.get(a) for a in record["output_masks"]]
        same = len(theirs) == len(mine["output_masks"]) and all(
            (a is None) == (b is None) and (a is None or np.array_equal(a, b))
            for a, b in zip(mine["output_masks"], theirs, strict=True)
        )
        if not same:
            found["output_masks"] = {
                "tf_keras": plain(mine["output_masks"]),
                "keras3": plain(theirs),
            }
    return found


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
            mine = plain(make_case(tf_keras, in_keras_2_words(case)).get_config())
        except Exception:
            continue
        for key in sorted(
            (set(mine) | set(config))
            - {"dtype", "batch_input_shape", "name", "layer", "backward_layer", "cell", "cells"}
        ):
            a, b = short(mine.get(key, "absent")), short(config.get(key, "absent"))
            if a != b and key not in case.config and key not in RENAMED.values():
                changed.setdefault(case.name, {})[key] = {"tf_keras": a, "keras3": b}
    return changed


def short(value):
    """A config value without serialisation details."""
    if isinstance(value, dict) and "class_name" in value:
        return {"class_name": value["class_name"], "config": short(value.get("config"))}
    if isinstance(value, dict):
        return {k: short(v) for k, v in value.items() if k not in DETAILS}
    if isinstance(value, list):
        return (
            value[0] if value and all(v == value[0] for v in value) else [short(v) for v in value]
        )
    return value


def run(case):
    if case.kind == "initializer":
        shape = {"Identity": (4, 6)}.get(case.name, (3, 2))
        return {"outputs": [make_case(tf_keras, case)(shape).numpy()]}
    return run_layer(in_keras_2_words(case)) if case.kind == "layer" else run_function(case)


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
            mine = run(case)
        except Exception as error:
            about["unsupported"][case.id] = (
                f"{type(error).__name__}: {str(error).strip().splitlines()[0][:110]}"
            )
            continue
        found = differences(mine, reader, reader.cases[case.id], max(case.tolerance, 1e-5))
        if not found:
            about["same"] += 1
            continue
        stored = {
            part: [writer.put(x) for x in mine.get(part, [])]
            for part in ("outputs", "input_gradients", "weight_gradients")
        }
        metadata[case.id] = {"differs": found, **stored}
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
