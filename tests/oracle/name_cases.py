"""Cases that are written once: Keras runs them when fixtures are recorded, Podium in the tests.

Each case is a function of the package `keras` that returns JSON-compatible data; floats are
compared up to rounding. `record_names.py` records them, `tests/oracle/test_names.py`
compares.
"""

import numpy as np

POLICIES = [
    "float32",
    "mixed_bfloat16",
    "int8_from_float32",
    "int8_from_mixed_bfloat16",
    "float8_from_mixed_bfloat16",
    "int4_from_bfloat16",
    "int4/128_from_float32",
    "gptq/4/64_from_float32",
    "awq/4/-1_from_float32",
]
DTYPES = ["bool", "int8", "uint8", "int32", "bfloat16", "float16", "float32", "complex64", int]


def dtype_policies(keras):
    policies = [keras.dtype_policies.get(name) for name in POLICIES]
    restored = [
        keras.dtype_policies.deserialize(keras.dtype_policies.serialize(policy))
        for policy in policies
    ]
    return [
        [
            type(policy).__name__,
            policy.name,
            policy.compute_dtype,
            policy.variable_dtype,
            policy.quantization_mode,
            keras.dtype_policies.serialize(policy),
            policy == same,
        ]
        for policy, same in zip(policies, restored, strict=True)
    ]


def dtype_policy_map(keras):
    policies = keras.dtype_policies.DTypePolicyMap("float32", {"a": keras.DTypePolicy("float16")})
    policies["b/.*"] = "bfloat16"
    restored = keras.dtype_policies.deserialize(keras.dtype_policies.serialize(policies))
    return [
        [found[path].name for path in ("a", "a/c", "b/c")] + [found.name, len(found), "a" in found]
        for found in (policies, restored)
    ]


def result_types(keras):
    pairs = [[keras.backend.result_type(a, b) for a in DTYPES] for b in DTYPES]
    return [*pairs, keras.backend.result_type(), keras.backend.result_type(None, "int8")]


def dtype_kinds(keras):
    names = ["float8_e5m2", "bfloat16", "uint8", "int32", "bool"]
    return [[keras.backend.is_float_dtype(n), keras.backend.is_int_dtype(n)] for n in names]


def legacy_configs(keras):
    serialize = keras.legacy.saving.serialize_keras_object
    return [
        serialize(keras.layers.Dropout(0.5, name="d")),
        serialize(keras.losses.Huber(0.5, name="h"))["class_name"],
        serialize(None),
    ]


def source_inputs(keras):
    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    hidden = keras.layers.Dense(2)(a)
    sources = keras.utils.get_source_inputs
    return [[x.name for x in sources(value)] for value in (hidden, keras.ops.add(hidden, b) + a)]


def distillation(keras):
    def make_model(seed):
        kernels = np.random.RandomState(seed)
        model = keras.Sequential(
            [
                keras.Input((3,)),
                keras.layers.Dense(4, activation="tanh", name="hidden"),
                keras.layers.Dense(2, name="logits"),
            ]
        )
        model.set_weights([kernels.normal(size=w.shape) for w in model.get_weights()])
        return model

    losses = [
        keras.distillation.LogitsDistillation(2.0, keras.losses.KLDivergence()),
        keras.distillation.FeatureDistillation("mae", "hidden", "hidden"),
    ]
    distiller = keras.distillation.Distiller(make_model(1), make_model(2), losses, [1.0, 0.5], 0.3)
    distiller.compile(keras.optimizers.SGD(0.1), keras.losses.MeanSquaredError())
    random = np.random.RandomState(3)
    x, y = random.normal(size=(8, 3)).astype("float32"), random.normal(size=(8, 2))
    history = distiller.fit(x, y.astype("float32"), epochs=3, verbose=0, shuffle=False).history
    assert not distiller.teacher.trainable_weights
    names = ("loss", "student_loss", "distillation_loss", "total_loss")
    return [[history[name] for name in names], distiller.student.get_weights()]


CASES = [
    distillation,
    dtype_policies,
    dtype_policy_map,
    result_types,
    dtype_kinds,
    legacy_configs,
    source_inputs,
]


def run(case, keras):
    """Return the result of a case as plain lists, dictionaries and numbers."""
    return _plain(case(keras))


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "dtype"):
        array = np.asarray(value)
        return (array.astype("float32") if array.dtype.name == "bfloat16" else array).tolist()
    return value
