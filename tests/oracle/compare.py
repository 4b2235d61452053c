"""Compares Podium with the recorded oracle, one case at a time. Used by the test and by the report.

`compare(case)` returns a `Result`: the largest errors, and a sentence for everything that differs.
It owns the two tables of deliberate differences; the fixtures and the cases do not depend on them.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache, partial

import numpy as np
from building import (
    Reader,
    cotangent,
    dtype_name,
    fill_specs,
    flatten,
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
from cases import CASES, EXACT_INITIALIZERS

import podium

# Deliberate differences: pattern of case ids -> (parts not compared, reason). A part is what a
# sentence of `Result.problems` starts with: "weights", "outputs", "gradients", "masks", "state",
# "losses", "shape", "config", ... A deviation that no longer happens fails the test.
DEVIATIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "activation/sparsemax/*": (
        ("outputs", "gradients"),
        "Keras 3.15 takes a wrong threshold, so that its results do not sum to 1; Podium's "
        "are the projection",
    ),
    **dict.fromkeys(
        ("layer/EinsumDense/abc_cd", "layer/EinsumDense/heads", "layer/EinsumDense/combine"),
        (
            ("output_shape", "output_shape_batch_none"),
            "Keras forgets lengths that the equation does not change; Podium keeps them",
        ),
    ),
    "layer/Bidirectional/backward_layer": (
        ("output_shape", "output_shape_batch_none"),
        "Keras takes both directions to be as wide as the forward one; Podium adds up their "
        "real widths",
    ),
    "initializer/Identity/*": (
        ("config[gain]",),
        "Keras loses `gain` in the config; Podium keeps it",
    ),
    "layer/MultiHeadAttention/scores_mask": (
        ("masks[1]",),
        "Keras's scores carry a mask as a side effect of an inner Softmax; Podium's carry none",
    ),
}

# Config keys not compared, in configs of any depth: key -> reason.
CONFIG_KEYS = {
    "module": "names the library, not the object",
    "registered_name": "names the library, not the object",
    "build_config": "written by serialisation around a nested layer; Podium rebuilds from input "
    "shapes",
    "use_cudnn": "a switch for cuDNN kernels",
    "function": "Lambda: Keras stores marshalled bytecode of the function",
    "function_type": "Lambda: see function",
}


@dataclass
class Result:
    """The errors and problems of a comparison."""

    forward: float = 0.0
    gradient: float = 0.0
    problems: list[str] = field(default_factory=list)

    def add_problem(self, part, text):
        """Adds a problem."""
        self.problems.append(f"{part}: {text}")

    def equal(self, part, actual, expected):
        """Adds a problem unless both are the same."""
        if actual != expected:
            self.add_problem(part, f"Podium has {actual!r}, the oracle {expected!r}")

    def close(self, part, actual, expected, tolerance):
        """Adds a problem if arrays differ by more than the tolerance, relative to max(1, largest
        value).
        """
        actual, expected = (
            np.asarray(actual).astype("float64"),
            np.asarray(expected).astype("float64"),
        )
        if actual.shape != expected.shape:
            self.add_problem(part, f"Podium has shape {actual.shape}, the oracle {expected.shape}")
            return 0.0
        error = float(
            np.max(np.abs(actual - expected), initial=0.0)
            / max(1.0, np.max(np.abs(expected), initial=0.0))
        )
        if not error <= tolerance:
            self.add_problem(part, f"differs by {error:.2e}, more than {tolerance:.0e}")
        return error

    def all_close(self, part, actual, expected, tolerance):
        """`close` for two lists; returns the largest error."""
        if len(actual) != len(expected):
            self.add_problem(part, f"Podium has {len(actual)} arrays, the oracle {len(expected)}")
            return 0.0
        pairs = enumerate(zip(actual, expected, strict=True))
        return max(
            [self.close(f"{part}[{i}]", a, b, tolerance) for i, (a, b) in pairs], default=0.0
        )


@cache
def oracle(name="keras3"):
    """The recorded fixtures, read once."""
    return Reader(name)


def compare(case, fixture="keras3"):
    """Runs one case in Podium and compares everything that was recorded."""
    recorded = oracle(fixture)
    return _COMPARISONS[case.kind](case, recorded.cases[case.id], recorded.get)


def deviations(case):
    """The entries of DEVIATIONS that apply to a case: [(parts, reason)]."""
    return [entry for pattern, entry in DEVIATIONS.items() if fnmatch(case.id, pattern)]


def config_without_details(value):
    """A config as JSON, without CONFIG_KEYS; a dtype policy becomes its name, floats keep six
    digits.
    """
    value = to_json_types(value)
    if isinstance(value, dict):
        if value.get("class_name") == "DTypePolicy":
            return value["config"]["name"]
        return {k: config_without_details(v) for k, v in value.items() if k not in CONFIG_KEYS}
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return [config_without_details(v) for v in value] if isinstance(value, list) else value


# The first case of every layer and function runs eagerly, the others as one compiled program each:
# both must equal the oracle.
EAGER = set({(case.kind, case.name): case.id for case in reversed(CASES)}.values())


def _compile_unless_eager(case, call):
    return call if case.id in EAGER else podium.function(call)


# Layers
# ----------------------------------------------------------------------


def _build_layer(case, args, kwargs):
    layer = make_case(podium, case)
    if case.adapt is not None:
        layer.adapt(fill_specs(case, case.adapt, "adapt"))
    call_arguments = [args, {k: v for k, v in kwargs.items() if k != "training"}]
    if case.id not in EAGER:
        call_arguments = map_arrays(
            lambda x: podium.Input(batch_shape=x.shape, dtype=x.dtype.name), call_arguments
        )
    layer(*pass_masking(podium, case, call_arguments[0]), **call_arguments[1])
    return layer


def _set_weights(case, record, layer):
    if case.adapt is None:
        for i, (weight, facts) in enumerate(zip(layer.weights, record["weights"], strict=True)):
            value = weight_value(case, i, facts["name"], facts["shape"], facts["dtype"])
            if value is not None:
                weight.assign(value)
    if hasattr(layer, "finalize_state"):
        layer.finalize_state()
    if case.calls > 1:
        layer.reset_state()


def _weighted_sum(case, out):
    leaves = [o for o in flatten(out) if "float" in dtype_name(o)]
    terms = [
        podium.ops.sum(podium.ops.cast(o, "float32") * cotangent(case, i, tuple(o.shape)))
        for i, o in enumerate(leaves)
    ]
    return sum(terms[1:], terms[0])


def _compare_layer(case, record, get):
    result = Result()
    numpy_args, numpy_kwargs = inputs(case)
    args, kwargs = (
        map_arrays(podium.ops.convert_to_tensor, numpy_args),
        map_arrays(podium.ops.convert_to_tensor, numpy_kwargs),
    )
    layer = _build_layer(case, numpy_args, numpy_kwargs)
    keys = ("name", "shape", "dtype", "trainable")
    facts = [
        [{k: w[k] for k in keys} for w in side] for side in (weight_facts(layer), record["weights"])
    ]
    result.equal("weights", *facts)
    if facts[0] != facts[1]:
        return result  # nothing below would mean anything
    _set_weights(case, record, layer)
    if record["set"] is not None:
        result.all_close(
            "adapted",
            [w.numpy() for w in layer.weights],
            [get(a) for a in record["set"]],
            case.tolerance,
        )
    _compare_calls(case, record, get, layer, args, kwargs, result)
    _compare_shapes(record, layer, numpy_args, result)
    _compare_config(record, layer, result)
    return result


def _call(case, layer, args, kwargs):
    """(outputs, their masks, losses, gradients by float inputs and trainable weights) of one
    call.
    """
    floats = [x for x in flatten([args, kwargs]) if "float" in dtype_name(x)]
    with podium.GradientTape() as tape:
        for x in floats:
            tape.watch(x)
        out = layer(*pass_masking(podium, case, args), **kwargs)
        target = _weighted_sum(case, out) if case.grads else None
    masks, losses = [mask_of(podium, leaf) for leaf in flatten(out)], list(layer.losses)
    sources = floats + list(layer.trainable_variables)
    if not case.grads or not sources:
        return out, masks, losses, []
    return out, masks, losses, tape.gradient(target, sources, unconnected_gradients="zero")


def _compare_calls(case, record, get, layer, args, kwargs, result):
    out, masks, losses, gradients = _compile_unless_eager(case, partial(_call, case, layer))(
        args, kwargs
    )
    leaves = flatten(out)
    result.equal("structure", isinstance(out, (list, tuple)), record["structure"] != "tensor")
    result.equal("dtypes", [dtype_name(o) for o in leaves], record["output_dtypes"])
    result.forward = result.all_close(
        "outputs", leaves, [get(a) for a in record["outputs"]], case.tolerance
    )
    for i, (mask, address) in enumerate(zip(masks, record["output_masks"], strict=False)):
        actual, expected = (
            None if m is None else np.asarray(m).tolist() for m in (mask, address and get(address))
        )
        result.equal(f"masks[{i}]", actual, expected)
    result.all_close("losses", [float(loss) for loss in losses], record["losses"], case.tolerance)
    state = {str(i): w.numpy() for i, w in enumerate(layer.weights) if not w.trainable}
    result.equal("state", sorted(state), sorted(record["state"]))
    for i in set(state) & set(record["state"]):
        result.close(f"state[{i}]", state[i], get(record["state"][i]), case.tolerance)
    if case.grads:
        expected = [get(a) for a in record["input_gradients"] + record["weight_gradients"]]
        result.gradient = result.all_close("gradients", gradients, expected, case.tolerance)
    if case.calls > 1:
        more = [layer(*args, **kwargs) for _ in range(case.calls - 1)]
        layer.reset_state()
        more.append(layer(*args, **kwargs))
        result.all_close(
            "later_outputs",
            flatten(more),
            [get(a) for a in record["later_outputs"]],
            case.tolerance,
        )


def _compare_shapes(record, layer, args, result):
    shapes = shape_arguments(args)
    unknown = [
        [(None, *s[1:]) for s in a] if isinstance(a, list) else (None, *a[1:]) for a in shapes
    ]
    for key, shape_args in (("output_shape", shapes), ("output_shape_batch_none", unknown)):
        if not str(record[key]).startswith("error"):  # Keras itself raises for these
            result.equal(key, to_json_types(layer.compute_output_shape(*shape_args)), record[key])


def _compare_config(record, thing, result):
    actual, expected = (
        config_without_details(thing.get_config()),
        config_without_details(record["config"]),
    )
    before = config_without_details(
        record.get("config_before_build", {})
    )  # some layers of Keras change expected in build
    for key in sorted(set(actual) | set(expected)):
        if key not in before or actual.get(key) != before[key]:
            result.equal(f"config[{key}]", actual.get(key, "absent"), expected.get(key, "absent"))
    if "function" in record["config"]:
        return  # a Lambda's function cannot be restored without custom_objects
    again = type(thing).from_config(thing.get_config())
    if config_without_details(again.get_config()) != actual:
        result.add_problem("from_config", "get_config() of the rebuilt object differs")


# Functions
# ----------------------------------------------------------------------


def _compare_function(case, record, get):
    result = Result()
    fn = make_case(podium, case)
    config = {}
    if case.kind == "activation":
        config = {k: tuple(v) if isinstance(v, list) else v for k, v in case.config.items()}
        result.equal(
            "serialized", to_json_types(podium.activations.serialize(fn)), record["serialized"]
        )
        result.equal("get", podium.activations.get(case.name), fn)
    else:
        _compare_config(record, fn, result)

    def call(x):
        with podium.GradientTape() as tape:
            tape.watch(x)
            out = fn(x, **config)
            target = _weighted_sum(case, out) if case.kind == "activation" else podium.ops.sum(out)
        return out, tape.gradient(
            target, [x], unconnected_gradients="zero"
        ) if "input_gradients" in record else []

    out, gradients = _compile_unless_eager(case, call)(
        podium.ops.convert_to_tensor(inputs(case)[0][0])
    )
    result.forward = result.all_close("outputs", [out], [get(record["outputs"][0])], case.tolerance)
    if "input_gradients" in record:
        result.gradient = result.all_close(
            "gradients", gradients, [get(record["input_gradients"][0])], case.tolerance
        )
    return result


def _compare_initializer(case, record, get):
    result = Result()
    _compare_config(record, make_case(podium, case), result)
    if case.name in EXACT_INITIALIZERS:
        values = make_case(podium, case)(tuple(record["shape"]))
        result.forward = result.all_close(
            "outputs", [values], [get(record["outputs"][0])], case.tolerance
        )
        return result
    for expected in record["statistics"]:
        shape = tuple(expected["shape"])
        draws = [
            np.asarray(getattr(podium.initializers, case.name)(**case.config, seed=i)(shape))
            for i in range(24)
        ]
        _compare_statistics(result, np.concatenate([d.ravel() for d in draws]), expected)
        if case.name == "Orthogonal":
            flat = draws[0].reshape(-1, shape[-1])
            gram = flat.T @ flat if flat.shape[0] >= flat.shape[1] else flat @ flat.T
            result.close(
                "orthogonal", gram, np.eye(len(gram)) * case.config.get("gain", 1.0) ** 2, 1e-4
            )
    return result


def _compare_statistics(result, values, expected):
    """Random draws of different generators: the same mean, spread and (if bounded) limits, up to
    six standard errors.
    """
    result.equal("count", values.size, expected["count"])
    slack = 6 / np.sqrt(values.size)
    if abs(values.mean() - expected["mean"]) > slack * expected["std"] * 1.5:
        result.add_problem(
            "mean", f"{values.mean()} for shape {expected['shape']}, the oracle {expected['mean']}"
        )
    if abs(values.std() / expected["std"] - 1) > slack:
        result.add_problem(
            "std", f"{values.std()} for shape {expected['shape']}, the oracle {expected['std']}"
        )
    bounded = expected["limit"] < 2.5 * expected["std"]
    limit = np.abs(values - values.mean()).max()
    if bounded and abs(limit / expected["limit"] - 1) > 0.05:
        result.add_problem(
            "limit", f"{limit} for shape {expected['shape']}, the oracle {expected['limit']}"
        )


_COMPARISONS = {
    "layer": _compare_layer,
    "activation": _compare_function,
    "regularizer": _compare_function,
    "constraint": _compare_function,
    "initializer": _compare_initializer,
}
