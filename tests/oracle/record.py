"""Records what Keras 3 (on JAX) computes for every case. Runs in the Keras environment only:

KERAS_BACKEND=jax python tests/oracle/record.py --out tests/oracle/fixtures
"""

import argparse
import os
import sys
import traceback
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
sys.path.insert(0, str(Path(__file__).parent))

import jax
import jax.numpy as jnp
import keras
import numpy as np
from building import (
    FIXTURES,
    Writer,
    cotangent,
    fill_specs,
    flatten,
    float_slots,
    inputs,
    make_case,
    map_arrays,
    mask_of,
    pass_masking,
    shape_arguments,
    to_json_types,
    weight_facts,
    weight_value,
)
from cases import CASES, EXACT_INITIALIZERS, INITIALIZER_SHAPES


def build_layer(case, args, kwargs):
    """The built layer with seeded weights, its state reset."""
    layer = make_case(keras, case)
    if case.adapt is not None:
        layer.adapt(fill_specs(case, case.adapt, "adapt"))
    layer(*pass_masking(keras, case, args), **{k: v for k, v in kwargs.items() if k != "training"})
    if case.adapt is None:
        for i, (weight, facts) in enumerate(zip(layer.weights, weight_facts(layer), strict=True)):
            value = weight_value(case, i, facts["name"], facts["shape"], facts["dtype"])
            if value is not None:
                weight.assign(value)
    if hasattr(layer, "finalize_state"):
        layer.finalize_state()
    if case.calls > 1:
        layer.reset_state()
    return layer


def weighted_sum(case, out):
    leaves = [o for o in flatten(out) if jnp.issubdtype(o.dtype, jnp.floating)]
    return sum(
        jnp.sum(o.astype("float32") * cotangent(case, i, o.shape)) for i, o in enumerate(leaves)
    )


def gradients(case, layer, args, kwargs):
    """(value, gradients by float inputs, by trainable weights) of sum(output * cotangent).

    Not by `stateless_call`: for a single layer it skips `__call__`, and with it masks and
    autocasting.
    """

    def scalar(floats, weights):
        left = list(floats)
        refill = lambda x: left.pop(0) if x.dtype.kind == "f" else jnp.asarray(x)
        new_args, new_kwargs = map_arrays(refill, args), map_arrays(refill, kwargs)
        with keras.StatelessScope(
            state_mapping=list(zip(layer.trainable_variables, weights, strict=True))
        ):
            return weighted_sum(case, layer(*pass_masking(keras, case, new_args), **new_kwargs))

    weights = [v.value for v in layer.trainable_variables]
    value, (by_input, by_weight) = jax.value_and_grad(scalar, argnums=(0, 1))(
        float_slots(args, kwargs), weights
    )
    return value, by_input, by_weight


def outer(value):
    return type(value).__name__ if isinstance(value, (list, tuple, dict)) else "tensor"


def record_layer(case, put):
    args, kwargs = inputs(case)
    unbuilt = to_json_types(make_case(keras, case).get_config())
    layer = build_layer(case, args, kwargs)
    record = {"weights": weight_facts(layer), "config": to_json_types(layer.get_config())}
    record["config_before_build"] = {
        k: unbuilt[k] for k in unbuilt if unbuilt[k] != record["config"].get(k)
    }
    record["set"] = [put(w.value) for w in layer.weights] if case.adapt is not None else None
    if case.grads:
        value, by_input, by_weight = gradients(case, layer, args, kwargs)
        record["input_gradients"] = [put(g) for g in by_input]
        record["weight_gradients"] = [put(g) for g in by_weight]
    out = layer(*pass_masking(keras, case, args), **kwargs)
    if case.grads and not np.allclose(value, weighted_sum(case, out), rtol=1e-4, atol=1e-4):
        raise AssertionError("the differentiated call computes something else than the direct call")
    record["structure"] = outer(out)
    record["outputs"] = [put(o) for o in flatten(out)]
    record["output_dtypes"] = [str(o.dtype) for o in flatten(out)]
    record["output_masks"] = []
    for mask in (mask_of(keras, leaf) for leaf in flatten(out)):
        record["output_masks"].append(None if mask is None else put(mask))
    record["losses"] = [float(loss) for loss in layer.losses]
    record["state"] = {str(i): put(w.value) for i, w in enumerate(layer.weights) if not w.trainable}
    record["more_variables"] = [
        v.path for v in layer.variables if not any(v is w for w in layer.weights)
    ]
    if case.calls > 1:
        more = [layer(*args, **kwargs) for _ in range(case.calls - 1)]
        layer.reset_state()
        more.append(layer(*args, **kwargs))
        record["later_outputs"] = [put(o) for o in flatten(more)]
    shapes = shape_arguments(args)
    for key, batch in (("output_shape", None), ("output_shape_batch_none", "none")):
        if batch:
            shapes = [
                [(None, *s[1:]) for s in a] if isinstance(a, list) else (None, *a[1:])
                for a in shapes
            ]
        try:
            record[key] = to_json_types(layer.compute_output_shape(*shapes))
        except Exception as error:  # some layers have none: recorded as such
            record[key] = f"error: {type(error).__name__}"
    return record


def record_activation(case, put):
    fn = make_case(keras, case)
    (x,), _ = inputs(case)
    config = {k: tuple(v) if isinstance(v, list) else v for k, v in case.config.items()}
    out = fn(x, **config)
    record = {"outputs": [put(out)], "serialized": to_json_types(keras.activations.serialize(fn))}
    if case.grads:
        c = cotangent(case, 0, out.shape)
        record["input_gradients"] = [put(jax.grad(lambda x: jnp.sum(fn(x, **config) * c))(x))]
    return record


def record_function(case, put):
    fn = make_case(keras, case)
    (x,), _ = inputs(case)
    out = fn(jnp.asarray(x))
    record = {"outputs": [put(out)], "config": to_json_types(fn.get_config())}
    if case.kind == "regularizer":
        record["input_gradients"] = [put(jax.grad(lambda x: jnp.sum(fn(x)))(x))]
    return record


def pooled_facts(draws):
    """Statistics of all draws together; `limit` is the largest distance from the mean."""
    values = np.concatenate([np.asarray(d).ravel() for d in draws])
    return {
        "count": values.size,
        "mean": float(values.mean()),
        "std": float(values.std()),
        "limit": float(np.abs(values - values.mean()).max()),
    }


def record_initializer(case, put):
    initializer = make_case(keras, case)
    record = {"config": to_json_types(initializer.get_config())}
    if case.name in EXACT_INITIALIZERS:
        shape = {"Identity": (4, 6), "STFT": (16, 1, 9)}.get(case.name, (3, 2))
        return record | {"shape": shape, "outputs": [put(initializer(shape))]}
    shapes = [s for s in INITIALIZER_SHAPES if not (case.name == "Orthogonal" and len(s) == 1)]
    record["statistics"] = []
    for shape in shapes:
        draws = [
            getattr(keras.initializers, case.name)(**case.config, seed=i)(shape) for i in range(24)
        ]
        record["statistics"].append({"shape": shape, **pooled_facts(draws)})
    return record


RECORDERS = {
    "layer": record_layer,
    "activation": record_activation,
    "initializer": record_initializer,
    "regularizer": record_function,
    "constraint": record_function,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=str(FIXTURES))
    parser.add_argument(
        "--only", default="", help="record ids containing this, print, save nothing"
    )
    options = parser.parse_args()
    writer, failures = Writer(), []
    metadata = {
        "about": {
            "oracle": f"keras {keras.__version__} on jax {jax.__version__}",
            "numpy": np.__version__,
        }
    }
    for case in CASES:
        if options.only not in case.id:
            continue
        try:
            metadata[case.id] = RECORDERS[case.kind](case, writer.put)
        except Exception:
            failures.append(case.id)
            print("FAILED", case.id, file=sys.stderr)
            traceback.print_exc(limit=-3)
        if options.only:
            print(case.id, metadata.get(case.id))
    if not options.only and not failures:
        writer.save("keras3", metadata, options.out)
    print(f"{len(metadata) - 1} cases recorded, {len(failures)} failed: {failures}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
