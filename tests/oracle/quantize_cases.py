"""Cases of LoRA and quantization that are written once: Keras runs them when fixtures are recorded,
Podium in the tests.

Each case is a function of the package `keras` that returns JSON-compatible data, see
`name_cases.py`. `record_quantize.py` records them, `tests/oracle/test_quantize.py` compares.
"""

import jax
import jax.numpy as jnp
import numpy as np


def make_layers(keras, dtype=None):
    """Return layers by name, each with inputs for it. All weights have values of a fixed seed."""
    layers, random = keras.layers, np.random.RandomState(1)
    kinds = {
        "dense": (layers.Dense(6, activation="tanh", dtype=dtype), (2, 3, 5)),
        "no_bias": (layers.Dense(3, use_bias=False, dtype=dtype), (2, 5)),
        "heads": (
            layers.EinsumDense("abc,cde->abde", (None, 2, 4), bias_axes="de", dtype=dtype),
            (2, 3, 6),
        ),
        "combine": (
            layers.EinsumDense("abde,dec->abc", (None, 5), bias_axes="c", dtype=dtype),
            (2, 3, 2, 4),
        ),
        "table": (layers.Embedding(9, 7, dtype=dtype), None),
    }
    result = {}
    for name, (layer, shape) in kinds.items():
        inputs = random.randint(0, 9, (2, 3)) if shape is None else random.normal(size=shape)
        inputs = inputs.astype("int32" if shape is None else "float32")
        layer.build(inputs.shape)
        set_values(layer.weights, 7)
        result[name] = (layer, inputs)
    return result


def set_values(variables, seed):
    """Assign values of a seed to the float variables of more than one element."""
    random = np.random.RandomState(seed)
    for variable in variables:
        if "float" in str(variable.dtype):
            variable.assign(random.normal(size=variable.shape).astype("float32"))


def call_and_differentiate(layer, inputs, training=None):
    """Return outputs, and gradients by the trainable weights and by float inputs."""
    weights = [jnp.asarray(np.asarray(v)) for v in layer.trainable_variables]
    others = [jnp.asarray(np.asarray(v)) for v in layer.non_trainable_variables]
    options = {} if training is None else {"training": training}

    def total(weights, inputs):
        outputs = layer.stateless_call(weights, others, inputs, **options)[0]
        factors = np.random.RandomState(3).normal(size=outputs.shape)
        return jnp.sum(outputs.astype("float32") * factors.astype("float32")), outputs

    inputs = jnp.asarray(inputs)
    by_inputs = jnp.issubdtype(inputs.dtype, jnp.floating)
    argnums = (0, 1) if by_inputs else (0,)
    gradients, outputs = jax.grad(total, argnums, has_aux=True)(weights, inputs)
    gradients = [*gradients[0], *gradients[1:]]
    return [np.asarray(outputs.astype("float32"))] + [
        np.asarray(gradient.astype("float32")) for gradient in gradients
    ]


def call(layer, inputs, **options):
    """Return outputs of the ordinary call, which casts to the compute dtype."""
    outputs = layer(inputs, **options)
    return [str(outputs.dtype), np.asarray(outputs).astype("float32")]


def stored(layer):
    """Return what files in Keras's formats hold of a layer, with the dtypes."""
    store = {}
    layer.save_own_variables(store)
    return {key: [np.asarray(value).dtype.name, np.asarray(value)] for key, value in store.items()}


def describe(layer):
    """Return the names, dtypes and shapes of the weights, and which ones are trained."""
    trained = {id(variable) for variable in layer.trainable_weights}
    return [[v.name, str(v.dtype), list(v.shape), id(v) in trained] for v in layer.weights]


def adapted_layers(keras):
    result = {}
    for name, (layer, inputs) in make_layers(keras).items():
        layer.enable_lora(2, lora_alpha=3)
        set_values([v for v in layer.weights if "lora" in v.name], 5)
        config = layer.get_config()
        result[name] = [
            call_and_differentiate(layer, inputs),
            stored(layer),
            describe(layer),
            [config["lora_rank"], config["lora_alpha"]],
        ]
        values = {}
        layer.save_own_variables(values)
        layer.load_own_variables({key: np.asarray(value) for key, value in values.items()})
        result[name].append(call_and_differentiate(layer, inputs)[0])
    return result


def adapted_layers_in_mixed_precision(keras):
    # Without Embedding: Keras rounds its weights first if it is called outside of a model only.
    made, result = make_layers(keras, "mixed_bfloat16"), {}
    for name, (layer, inputs) in made.items():
        if name == "table":
            continue
        layer.enable_lora(2)
        set_values([v for v in layer.weights if "lora" in v.name], 5)
        result[name] = [call(layer, inputs), describe(layer)]
    return result


def adapted_training(keras):
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(5, activation="relu", kernel_regularizer="l2"),
            keras.layers.Dense(1),
        ]
    )
    set_values(model.weights, 2)
    for layer in model.layers:
        layer.enable_lora(2)
        set_values([v for v in layer.weights if "lora" in v.name], 4)
    model.compile(keras.optimizers.Adam(0.01), "mse")
    random = np.random.RandomState(5)
    x, y = random.normal(size=(8, 4)).astype("float32"), random.normal(size=(8, 1))
    history = model.fit(x, y.astype("float32"), epochs=4, verbose=0, shuffle=False)
    return [history.history["loss"], model.get_weights()]


def abs_max(keras):
    random = np.random.RandomState(0)
    x, quantizers = random.normal(size=(5, 4)).astype("float32"), keras.quantizers
    results = []
    for to_numpy in (False, True):
        results += [quantizers.abs_max_quantize(x, axis, to_numpy=to_numpy) for axis in (0, -1)]
        results.append(quantizers.abs_max_quantize(x, (0, 1), (-8, 7), to_numpy=to_numpy))
        for size in (2, 3, 8):
            results.append(
                quantizers.abs_max_quantize_grouped_with_zero_point(x, size, to_numpy=to_numpy)
            )
    quantizer = quantizers.AbsMaxQuantizer(axis=0)
    results += [quantizer(x), quantizer(x, axis=1), quantizers.AbsMaxQuantizer()(x)]
    half = keras.ops.cast(x, "bfloat16")
    results.append([keras.ops.cast(y, "float32") for y in quantizer(half)])
    return [[[str(y.dtype), np.asarray(y)] for y in result] for result in results]


def int4_packing(keras):
    quantizers, results = keras.quantizers, []
    for dtype, low, high in (("int8", -8, 8), ("uint8", 0, 16)):
        x = np.random.RandomState(0).randint(low, high, (5, 3, 4)).astype(dtype)
        for axis in (0, 1, -1):
            packed, shape, size = quantizers.pack_int4(x, axis=axis, dtype=dtype)
            unpacked = quantizers.unpack_int4(packed, size, axis=axis, dtype=dtype)
            assert np.array_equal(unpacked, x)
            results.append([str(packed.dtype), np.asarray(packed), shape, size])
    return results


def float8_helpers(keras):
    quantizers, random = keras.quantizers, np.random.RandomState(0)
    x = random.normal(size=(3, 4)).astype("float32") * 300
    history = np.array([1.0, 5.0, 2.0], "float32")
    amax, scale = np.array([0.0, 3.0, np.inf], "float32"), np.array([2.0, 0.5, 4.0], "float32")
    return [
        np.asarray(value)
        for value in (
            quantizers.compute_float8_scale(amax, scale, np.float32(448.0)),
            quantizers.compute_float8_scale(amax, scale, np.float32(57344.0), margin=2),
            quantizers.compute_float8_amax_history(x, history),
            quantizers.quantize_and_dequantize(x, np.float32(1.5), "float8_e4m3fn", "float32"),
            quantizers.quantize_and_dequantize(x, np.float32(0.01), "float8_e5m2", "float32"),
        )
    ]


def fake_quantization(keras):
    x = np.linspace(-2.0, 2.0, 12, dtype="float32").reshape(4, 3)
    ranges = [
        (np.float32(-1.0), np.float32(1.3), {}),
        (np.float32(0.1), np.float32(1.5), {"num_bits": 3, "narrow_range": True}),
        (np.array([-1.0, -0.5, 0.0], "float32"), np.ones(3, "float32"), {"axis": -1}),
    ]

    def total(*args, **options):
        outputs = keras.quantizers.fake_quant_with_min_max_vars(*args, **options)
        outputs = keras.ops.convert_to_tensor(outputs)
        outputs = getattr(outputs, "value", outputs)
        return jnp.sum(outputs * jnp.asarray(x) ** 2), outputs

    results = []
    for low, high, options in ranges:
        arrays = [jnp.asarray(value) for value in (x, low, high)]
        gradients, outputs = jax.grad(
            lambda *args, options=options: total(*args, **options), (0, 1, 2), has_aux=True
        )(*arrays)
        results.append([np.asarray(value) for value in (outputs, *gradients)])
    return results


def quantizer_configs(keras):
    quantizers = keras.quantizers
    objects = [
        quantizers.AbsMaxQuantizer(axis=0, value_range=(-8, 7)),
        quantizers.Int8QuantizationConfig(),
        quantizers.Int8QuantizationConfig(quantizers.AbsMaxQuantizer(axis=0), None),
        quantizers.Int4QuantizationConfig(),
        quantizers.Int4QuantizationConfig(block_size=None),
        quantizers.Float8QuantizationConfig(),
        quantizers.AWQConfig(["a"], None, group_size=-1),
        quantizers.GPTQConfig(["a"], None, weight_bits=8),
    ]
    configs = [quantizers.serialize(item) for item in objects]
    restored = [quantizers.deserialize(config) for config in configs[:-1]]
    assert [quantizers.serialize(item) for item in restored] == configs[:-1]
    return [configs, [item.mode for item in objects[1:]]]


def quantize_each(keras, config, dtype=None, names=None, lora=True):
    """Quantize layers with and without LoRA, and describe them."""
    result = {}
    for name in names or ("dense", "no_bias", "heads", "combine", "table"):
        for rank in (0, 2) if lora else (0,):
            layer, inputs = make_layers(keras, dtype)[name]
            if rank:
                layer.enable_lora(rank, lora_alpha=3)
                set_values([v for v in layer.weights if "lora" in v.name], 5)
            layer.quantize(config=config)
            mixed = dtype is not None
            outputs = call(layer, inputs) if mixed else call_and_differentiate(layer, inputs)
            result[f"{name}/{rank}"] = [outputs, describe(layer), layer.dtype_policy.name]
            if not mixed:
                values = stored(layer)
                layer.load_own_variables({key: value for key, (_, value) in values.items()})
                result[f"{name}/{rank}"] += [values, call(layer, inputs)]
            assert layer.get_config()["quantization_config"]["class_name"]
    return result


def int8_layers(keras):
    return quantize_each(keras, keras.quantizers.Int8QuantizationConfig())


def int8_weights_only(keras):
    config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    return quantize_each(keras, config, names=("dense", "heads"))


def int8_with_other_quantizers(keras):
    quantizers = keras.quantizers
    config = quantizers.Int8QuantizationConfig(
        quantizers.AbsMaxQuantizer(axis=0, value_range=(-63, 63)),
        quantizers.AbsMaxQuantizer(value_range=(-31, 31)),
    )
    return quantize_each(keras, config, names=("dense", "no_bias", "heads"), lora=False)


def int8_in_mixed_precision(keras):
    config = keras.quantizers.Int8QuantizationConfig()
    return quantize_each(keras, config, "mixed_bfloat16", ("dense", "no_bias", "heads", "combine"))


def int8_model(keras):
    inputs = keras.Input((5,), dtype="int32", name="ids")
    hidden = keras.layers.Embedding(7, 4, name="table")(inputs)
    hidden = keras.layers.MultiHeadAttention(2, 2, name="attention")(hidden, hidden)
    hidden = keras.layers.Dense(3, name="hidden", activation="relu")(hidden)
    hidden = keras.layers.Dense(4, name="float_hidden")(hidden)
    outputs = keras.layers.Dense(1, name="last")(keras.layers.Flatten(name="flat")(hidden))
    model = keras.Model(inputs, outputs)
    set_values(model.weights, 2)
    for variable in model.weights:
        variable.assign(0.3 * np.asarray(variable))
    model.quantize("int8", filters=lambda layer: "float" not in layer.name)
    model.get_layer("hidden").enable_lora(1)
    set_values([v for v in model.weights if "lora" in v.name], 4)
    model.compile(keras.optimizers.SGD(0.01), "mse")
    random = np.random.RandomState(5)
    x, y = random.randint(0, 7, (8, 5)), random.normal(size=(8, 1)).astype("float32")
    before = model.predict(x, verbose=0)
    history = model.fit(x, y, epochs=4, verbose=0, shuffle=False).history["loss"]
    trained = [[v.name, np.asarray(v)] for v in model.trainable_weights]
    return [before, history, trained, describe(model)]


def float8_layers(keras):
    result = {}
    for name, (layer, inputs) in make_layers(keras).items():
        if name not in ("dense", "heads"):
            continue
        layer.quantize("float8")
        scales = [v for v in layer.weights if v.name.endswith("scale")]
        for index, variable in enumerate(scales):
            variable.assign(0.01 * (index + 1))
        for variable in layer.weights:
            if "history" in variable.name:
                variable.assign(np.linspace(3.0, 0.0, 1024, dtype="float32"))
        by_training = [
            [np.ravel(value)[:60] for value in call_and_differentiate(layer, inputs, training)]
            for training in (True, False)
        ]
        values = [[key, dtype, value.shape] for key, (dtype, value) in stored(layer).items()]
        result[name] = [by_training, values, describe(layer), layer.dtype_policy.name]
    return result


def float8_training(keras):
    result = []
    for source in ("float32", "mixed_bfloat16"):
        policy = keras.dtype_policies.QuantizedFloat8DTypePolicy("float8", source, 4)
        layers = [
            keras.layers.EinsumDense("abc,cd->abd", (None, 6), bias_axes="d", dtype=policy),
            keras.layers.Dense(5, activation="relu", dtype=policy),
            keras.layers.Dense(1, dtype=policy),
        ]
        model = keras.Sequential([keras.Input((3, 4)), *layers])
        kernels = [v for v in model.weights if v.name in ("kernel", "bias")]
        set_values(kernels, 2)
        model.compile(keras.optimizers.Adam(0.01), "mse")
        random = np.random.RandomState(5)
        x, y = random.normal(size=(8, 3, 4)), random.normal(size=(8, 3, 1))
        data = x.astype("float32"), y.astype("float32")
        losses = model.fit(*data, epochs=6, verbose=0, shuffle=False).history["loss"]
        result.append([losses, model.get_weights(), describe(model)])
    return result


def int4_layers(keras):
    return quantize_each(keras, keras.quantizers.Int4QuantizationConfig(block_size=None))


def int4_layers_in_blocks(keras):
    return quantize_each(keras, keras.quantizers.Int4QuantizationConfig(block_size=4))


def int4_with_other_quantizers(keras):
    quantizers = keras.quantizers
    config = quantizers.Int4QuantizationConfig(
        quantizers.AbsMaxQuantizer(axis=0, value_range=(-8, 7)),
        quantizers.AbsMaxQuantizer(value_range=(-31, 31)),
        block_size=-1,
    )
    return quantize_each(keras, config, names=("dense", "heads"), lora=False)


def int4_in_mixed_precision(keras):
    config = keras.quantizers.Int4QuantizationConfig(block_size=2)
    return quantize_each(keras, config, "mixed_bfloat16", ("dense", "heads"))


def reversible_embedding(keras):
    result = []
    ids, hidden = np.array([[1, 5, 0], [8, 2, 2]]), np.random.RandomState(4).normal(size=(2, 7))
    configs = [
        None,
        keras.quantizers.Int8QuantizationConfig(),
        keras.quantizers.Int4QuantizationConfig(block_size=None),
        keras.quantizers.Int4QuantizationConfig(block_size=3),
    ]
    for tied in (True, False):
        for config in configs:
            layer = keras.layers.ReversibleEmbedding(9, 7, tied, logit_soft_cap=3.0)
            layer.build((None, 3))
            set_values(layer.weights, 7)
            if config is not None:
                layer.quantize(config=config)
            result.append(
                [
                    call(layer, ids),
                    call(layer, hidden.astype("float32"), reverse=True),
                    stored(layer),
                    describe(layer),
                ]
            )
    return result


CASES = [abs_max, int4_packing, float8_helpers, fake_quantization, quantizer_configs]
CASES += [adapted_layers, adapted_layers_in_mixed_precision, adapted_training]
CASES += [int8_layers, int8_weights_only, int8_with_other_quantizers]
CASES += [int8_in_mixed_precision, int8_model, float8_layers, float8_training]
CASES += [
    reversible_embedding,
    int4_layers,
    int4_layers_in_blocks,
    int4_with_other_quantizers,
    int4_in_mixed_precision,
]
