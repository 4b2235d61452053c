"""Quantized layers: what `quantize` changes, what files hold, and its errors. Keras's numbers are
compared in `tests/oracle/test_quantize.py`.
"""

import re

import numpy as np
import pytest

import podium
from podium import layers, quantizers

X = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
Y = X[:, :2] - X[:, 2:]


def built(layer, shape=(None, 4)):
    layer.build(shape)
    return layer


def dense(**options):
    return built(layers.Dense(2, name="d", **options))


def make_model(dtype=None, **options):
    hidden = layers.Dense(5, activation="tanh", name="hidden", dtype=dtype, **options)
    return podium.Sequential([podium.Input((4,)), hidden, layers.Dense(2, name="last")])


def compiled(model):
    model.compile(podium.optimizers.SGD(0.1), "mse")
    return model


def fit(model, epochs=1):
    return model.fit(X, Y, epochs=epochs, batch_size=6, verbose=0, shuffle=False).history["loss"]


# --- int8


def test_quantize_replaces_the_kernel_and_names_the_mode_in_the_policy():
    layer = dense()
    expected = layer(X).numpy()
    layer.quantize("int8")
    assert [(w.name, str(w.dtype)) for w in layer.weights] == [
        ("bias", "float32"),
        ("kernel", "int8"),
        ("kernel_scale", "float32"),
    ]
    assert layer.quantization_mode == "int8" and layer.dtype_policy.name == "int8_from_float32"
    assert np.abs(layer(X) - expected).max() < 0.02
    assert layer.trainable_weights == [layer.bias]


def test_setting_a_quantized_policy_quantizes_a_built_layer():
    layer, same = dense(), dense()
    same.set_weights(layer.get_weights())
    layer.quantize("int8")
    same.dtype_policy = "int8_from_float32"
    np.testing.assert_array_equal(layer(X), same(X))


def test_a_layer_of_a_quantized_policy_is_built_with_quantized_variables():
    layer = built(layers.Dense(2, dtype="int8_from_float32"))
    assert [w.name for w in layer.weights] == ["bias", "kernel", "kernel_scale"]
    assert str(layer.kernel.dtype) == "int8" and not layer(X).numpy().any()


def test_gradients_of_inputs_use_the_quantized_kernel():
    layer, x = dense(use_bias=False), podium.Variable(X)
    layer.quantize("int8")
    with podium.GradientTape() as tape:
        y = podium.ops.sum(layer(x))
    floats = layer._kernel.numpy() / layer.kernel_scale.numpy()
    expected = np.broadcast_to(floats.sum(axis=1), X.shape)
    np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-5)


def test_equations_with_an_ellipsis_can_be_quantized():
    layer = built(layers.EinsumDense("...x,xyz->...yz", (2, 3), bias_axes="z"), (None, 5, 4))
    x = np.random.default_rng(1).normal(size=(2, 5, 4)).astype("float32")
    expected = layer(x).numpy()
    layer.quantize("int8")
    assert layer.kernel_scale.shape == (1, 1, 2, 3)
    assert np.abs(layer(x) - expected).max() < 0.05


def test_a_compiled_model_predicts_and_trains_with_quantized_layers():
    model = compiled(make_model())
    fit(model)
    expected = model.predict(X, verbose=0)
    model.quantize("int8")
    quantized = model.predict(X, verbose=0)
    assert 0 < np.abs(quantized - expected).max() < 0.05
    kernel = model.layers[0]._kernel.numpy()
    model.layers[0].enable_lora(2)
    losses = fit(compiled(model), epochs=3)
    assert losses[2] < losses[0]
    np.testing.assert_array_equal(model.layers[0]._kernel, kernel)


def test_a_subclassed_model_is_quantized():
    class Mine(podium.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [layers.Dense(4, name="a"), layers.Dense(2, name="b")]

        def call(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    model = Mine()
    expected = model(X).numpy()
    model.quantize(config=quantizers.Int8QuantizationConfig(activation_quantizer=None))
    assert [block.quantization_mode for block in model.blocks] == ["int8", "int8"]
    assert 0 < np.abs(model(X) - expected).max() < 0.05


@pytest.mark.parametrize("filters", ["hid", ["x", "^hidden$"], lambda x: x.name == "hidden"])
def test_filters_select_the_layers_of_a_model(filters):
    model = make_model()
    model.quantize("int8", filters=filters)
    assert [layer.quantization_mode for layer in model.layers] == ["int8", None]


def test_a_warning_names_layers_with_weights_that_stay_as_they_are():
    class Twice(layers.Dense):
        def call(self, inputs):
            return 2 * super().call(inputs)

    stack = [layers.Dense(3), layers.BatchNormalization(name="norm"), Twice(2, name="twice")]
    model = podium.Sequential([podium.Input((4,)), *stack, layers.Dropout(0.1)])
    message = r"left these layers as they are: 'norm' \(BatchNormalization\), 'twice' \(Twice\)\."
    with pytest.warns(UserWarning, match=message):
        model.quantize("int8")
    assert model.layers[2].quantization_mode is None
    built(twice := Twice(2))
    twice.quantize("int8", type_check=False)
    assert twice.quantization_mode == "int8"


def test_an_own_layer_can_define_its_quantization():
    class Sign(layers.Layer):
        def build(self, input_shape):
            self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones")

        def quantize(self, mode=None, type_check=True, config=None):
            self._is_quantized = True
            self.dtype_policy = f"{mode}_from_{self.dtype_policy.name}"

        def call(self, inputs):
            return inputs * self.scale

        def _int8_call(self, inputs):
            return podium.ops.sign(inputs)

    layer = built(Sign())
    layer.quantize("int8")
    np.testing.assert_array_equal(layer(X), np.sign(X))


# --- int4


@pytest.mark.parametrize(("block_size", "name"), [(None, "int4/-1"), (3, "int4/3")])
def test_int4_weights_take_half_a_byte(block_size, name):
    config = quantizers.Int4QuantizationConfig(block_size=block_size)
    layer = built(layers.Dense(6), (None, 4))
    table = built(layers.Embedding(5, 4))
    ids = np.array([[1, 4], [0, 2]])
    expected, vectors = layer(X).numpy(), table(ids).numpy()
    for quantized in (layer, table):
        quantized.quantize(config=config)
        assert quantized.dtype_policy.name == f"{name}_from_float32"
    assert layer._kernel.shape == (4, 3) and layer.kernel.shape == (4, 6)
    assert np.abs(layer(X) - expected).max() < 0.4
    assert table._embeddings.shape == (5, 2) and table.embeddings.shape == (5, 4)
    assert np.abs(table(ids) - vectors).max() < 0.01


def test_lora_trains_over_int4_weights():
    model = make_model()
    model.quantize("int4")
    for layer in model.layers:
        layer.enable_lora(2)
    packed = model.layers[0]._kernel.numpy()
    losses = fit(compiled(model), epochs=4)
    assert losses[3] < losses[0]
    np.testing.assert_array_equal(model.layers[0]._kernel, packed)


# --- float8


def test_training_in_float8_updates_scales_and_evaluation_does_not():
    model = compiled(make_model())
    model.quantize("float8")
    compiled(model)
    hidden = model.layers[0]
    model.evaluate(X, Y, verbose=0)
    assert not hidden.inputs_amax_history.numpy().any() and float(hidden.inputs_scale) == 1
    losses = fit(model, epochs=8)
    assert losses[-1] < losses[0]
    assert float(hidden.inputs_scale) == pytest.approx(np.abs(X).max() / 448)
    assert np.count_nonzero(hidden.outputs_grad_amax_history) == 8


def test_fused_steps_in_float8_are_the_single_steps():
    weights = []
    for steps in (1, 4):
        model = make_model(
            podium.dtype_policies.QuantizedFloat8DTypePolicy("float8", "float32", 4),
            kernel_initializer="ones",
        )
        model.layers[1].kernel.assign(np.ones((5, 2)))
        model.compile(podium.optimizers.Adam(0.01), "mse", steps_per_execution=steps)
        model.fit(X[:4], Y[:4], epochs=2, batch_size=1, verbose=0, shuffle=False)
        weights.append(model.get_weights())
    for single, fused in zip(*weights, strict=True):
        np.testing.assert_allclose(single, fused, rtol=1e-5, atol=1e-6)


# --- configs and files


@pytest.mark.parametrize("mode", ["int8", "int4", "float8"])
@pytest.mark.parametrize("suffix", [".keras", ".weights.h5", ".safetensors"])
def test_saved_models_predict_the_same(mode, suffix, tmp_path):
    model, path = make_model(), tmp_path / f"a{suffix}"
    model.quantize(mode, filters="hidden")
    if suffix == ".keras":
        model.save(path)
        same = podium.saving.load_model(path)
    else:
        model.save_weights(path)
        same = make_model(dtype=model.layers[0].dtype_policy)
        same.load_weights(path)
    np.testing.assert_array_equal(same.predict(X, verbose=0), model.predict(X, verbose=0))
    assert same.layers[0].quantization_mode == mode


def test_files_hold_lora_merged_into_the_quantized_kernel(tmp_path):
    model = make_model()
    model.layers[0].enable_lora(2, b_initializer="ones")
    model.quantize("int8", filters="hidden")
    model.save_weights(tmp_path / "a.weights.h5")
    same = make_model(dtype="int8_from_float32")
    same.load_weights(tmp_path / "a.weights.h5")
    assert np.abs(same.predict(X, verbose=0) - model.predict(X, verbose=0)).max() < 0.05


def test_float_weights_are_not_loaded_into_a_quantized_layer(tmp_path):
    model = podium.Sequential([podium.Input((4,)), layers.Dense(2, use_bias=False, name="d")])
    store = {"0": np.ones((4, 2), "float32"), "1": np.ones(2, "float32")}
    model.quantize("int8")
    with pytest.raises(ValueError, match="has 'kernel' of dtype int8, and the file has float32"):
        model.layers[0].load_own_variables(store)


def test_quantized_layers_are_recreated_from_their_config():
    layer = dense(lora_rank=1)
    quantizer = quantizers.AbsMaxQuantizer(axis=0, value_range=(-100, 100))
    layer.quantize(config=quantizers.Int8QuantizationConfig(quantizer, None))
    same = built(layers.Dense.from_config(layer.get_config()))
    assert same.get_config() == layer.get_config()
    assert same.inputs_quantizer is None and same.lora_enabled
    assert same.quantization_config.weight_quantizer.value_range == (-100, 100)


# --- errors


def quantized(mode="int8", **options):
    layer = dense(**options)
    layer.quantize(mode)
    return layer


@pytest.mark.parametrize(
    ("quantize", "error", "message"),
    [
        (
            lambda: layers.Dense(2).quantize("int8"),
            ValueError,
            "Cannot quantize a layer that isn't",
        ),
        (lambda: quantized().quantize("int8"), ValueError, "'d' .* is already quantized"),
        (lambda: dense().quantize("int7"), ValueError, "Unknown quantization mode 'int7'"),
        (lambda: dense().quantize(), ValueError, "You must provide either `mode` or"),
        (lambda: dense().quantize("int8", config=3), ValueError, "must be an instance of"),
        (
            lambda: dense().quantize("float8", quantizers.Int8QuantizationConfig()),
            ValueError,
            "Contradictory arguments",
        ),
        (lambda: dense(dtype="float16").quantize("int8"), ValueError, "doesn't work well with"),
        (
            lambda: dense().quantize(
                config=quantizers.Int8QuantizationConfig(quantizers.AbsMaxQuantizer(axis=1))
            ),
            ValueError,
            r"one scale for each output, of shape \(2,\)",
        ),
        (lambda: layers.Dense(2, quantization_config="x"), ValueError, "Unknown quantizer 'x'"),
        (
            lambda: built(layers.Embedding(4, 2)).quantize("float8"),
            NotImplementedError,
            "Unknown quantization mode 'float8'",
        ),
        (lambda: dense(lora_rank=1).quantize("float8"), NotImplementedError, "has LoRA"),
        (lambda: quantized("float8").enable_lora(1), NotImplementedError, "LoRA does not support"),
        (
            lambda: built(layers.LayerNormalization()).quantize("int8"),
            NotImplementedError,
            "LayerNormalization does not have a `quantize` method",
        ),
        (
            lambda: layers.LayerNormalization(dtype="int8_from_float32")(X),
            NotImplementedError,
            "does not have a `_int8_call` method",
        ),
        (lambda: dense().quantize("gptq"), ValueError, re.escape("GPTQConfig(dataset")),
        (
            lambda: make_model().quantize(config=quantizers.GPTQConfig([[1]], None)),
            NotImplementedError,
            r"Podium has no GPTQ: .* Use `quantize\('int4'\)`",
        ),
        (
            lambda: dense().quantize(config=quantizers.AWQConfig([[1]], None)),
            NotImplementedError,
            "Dense 'd' was given the quantization mode 'awq'. Podium has no AWQ",
        ),
        (
            lambda: built(layers.Dense(2, dtype="gptq/4/128_from_float32")),
            NotImplementedError,
            "Podium has no GPTQ",
        ),
        (lambda: make_model().quantize("int8", filters=3), ValueError, "`filters` argument must"),
    ],
)
def test_wrong_uses_raise(quantize, error, message):
    with pytest.raises(error, match=message):
        quantize()


def test_a_failed_quantization_leaves_the_layer_as_it_was():
    layer = dense()
    expected = layer(X).numpy()
    wrong = quantizers.Int8QuantizationConfig(quantizers.AbsMaxQuantizer(axis=1))
    with pytest.raises(ValueError, match="one scale for each output"):
        layer.quantize(config=wrong)
    np.testing.assert_array_equal(layer(X), expected)
    layer.quantize("int8")
