"""LoRA: what `enable_lora` trains, what files hold, and its errors. Keras's numbers are compared in
`tests/oracle/test_quantize.py`.
"""

import numpy as np
import pytest

import podium
from podium import layers

X = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
Y = X[:, :2] - X[:, 2:]


def make_model(rank=None):
    hidden = layers.Dense(5, activation="tanh", lora_rank=rank, lora_alpha=3, name="hidden")
    return podium.Sequential([podium.Input((4,)), hidden, layers.Dense(2, name="last")])


def fit(model, epochs=2):
    return model.fit(X, Y, epochs=epochs, batch_size=6, verbose=0).history["loss"]


@pytest.fixture
def adapted():
    """A trained model with LoRA in its first layer."""
    model = make_model(rank=2)
    model.compile(podium.optimizers.SGD(0.1), "mse")
    fit(model)
    return model


def test_outputs_do_not_change_until_the_layer_is_trained():
    model = make_model()
    before = model(X)
    model.layers[0].enable_lora(2)
    np.testing.assert_array_equal(model(X), before)


def test_fit_trains_the_matrices_and_not_the_kernel_without_another_compile():
    model = make_model()
    model.compile(podium.optimizers.Adam(0.05), "mse")
    fit(model)
    hidden = model.layers[0]
    kernel = hidden.kernel.numpy()
    hidden.enable_lora(2, lora_alpha=4)
    losses = fit(model, epochs=3)
    assert losses[0] > losses[1] > losses[2]
    np.testing.assert_array_equal(hidden._kernel, kernel)
    delta = 2.0 * hidden.lora_kernel_a.numpy() @ hidden.lora_kernel_b.numpy()
    np.testing.assert_allclose(hidden.kernel.numpy(), kernel + delta, rtol=1e-6)
    assert np.abs(delta).max() > 0


def test_the_kernel_stays_frozen_when_the_layer_is_unfrozen(adapted):
    hidden = adapted.layers[0]
    names = [weight.name for weight in hidden.trainable_weights]
    adapted.trainable = False
    assert not adapted.trainable_weights
    adapted.trainable = True
    assert [weight.name for weight in hidden.trainable_weights] == names
    assert names == ["bias", "lora_kernel_a", "lora_kernel_b"]
    assert [weight.name for weight in hidden.weights] == ["kernel", *names]


def test_lora_in_the_constructor_is_lora_enabled_after_build():
    layer = layers.Dense(3, lora_rank=2, lora_alpha=6)
    assert not layer.lora_enabled and layer.kernel is None
    layer.build((None, 4))
    assert layer.lora_enabled and (layer.lora_rank, layer.lora_alpha) == (2, 6)
    same = layers.Dense.from_config(layer.get_config())
    assert same.get_config() == layer.get_config()
    assert "lora_rank" not in layers.Dense(3).get_config()


def test_penalties_of_the_kernel_apply_to_the_matrices():
    layer = layers.Dense(3, kernel_regularizer=podium.regularizers.L2(0.5))
    layer.build((None, 4))
    layer.enable_lora(1, b_initializer="ones")
    squares = sum(np.sum(np.square(m)) for m in (layer.lora_kernel_a, layer.lora_kernel_b))
    assert sum(map(float, layer.losses)) == pytest.approx(0.5 * squares)


@pytest.mark.parametrize("suffix", [".keras", ".weights.h5"])
def test_files_hold_the_sum_which_loads_with_and_without_lora(adapted, tmp_path, suffix):
    path, expected = tmp_path / f"a{suffix}", adapted.predict(X, verbose=0)
    adapted.save(path) if suffix == ".keras" else adapted.save_weights(path)
    for model in (make_model(rank=2), make_model()):
        model.load_weights(path)
        np.testing.assert_allclose(model.predict(X, verbose=0), expected, rtol=1e-5, atol=1e-6)
        if model.layers[0].lora_enabled:
            assert not np.any(model.layers[0].lora_kernel_a.numpy())


def test_safetensors_hold_the_kernel_and_the_matrices_apart(adapted, tmp_path):
    adapted.save_weights(tmp_path / "a.safetensors")
    model = make_model(rank=2)
    model.load_weights(tmp_path / "a.safetensors")
    for ours, theirs in zip(model.get_weights(), adapted.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_file_with_another_number_of_weights_is_rejected_and_nothing_changes(adapted, tmp_path):
    other = podium.Sequential(
        [podium.Input((4,)), layers.Dense(5, use_bias=False, name="hidden"), layers.Dense(2)]
    )
    other.save_weights(tmp_path / "a.weights.h5")
    before = adapted.get_weights()
    with pytest.raises(ValueError, match=r"loads 2 weights \(kernel, bias\); the file has 1"):
        adapted.load_weights(tmp_path / "a.weights.h5")
    assert all(map(np.array_equal, adapted.get_weights(), before))


def test_an_embedding_with_given_vectors_can_be_adapted():
    table = np.arange(6.0, dtype="float32").reshape(3, 2)
    layer = layers.Embedding(3, 2, weights=[table], lora_rank=1)
    np.testing.assert_array_equal(layer(np.array([2, 0])), table[[2, 0]])
    assert layer.trainable_weights == [layer.lora_embeddings_a, layer.lora_embeddings_b]


def built_dense(**options):
    layer = layers.Dense(2, name="d", **options)
    layer.build((None, 3))
    return layer


@pytest.mark.parametrize(
    ("adapt", "message"),
    [
        (lambda: layers.Dense(2, name="d").enable_lora(1), "Layer 'd' .* is not built"),
        (lambda: built_dense(lora_rank=1).enable_lora(1), "has LoRA of rank 1 already"),
        (lambda: built_dense(kernel_constraint="max_norm").enable_lora(1), "kernel_constraint"),
        (lambda: built_dense().enable_lora(0), "enable_lora was given rank=0"),
        (lambda: built_dense().enable_lora(2, lora_alpha="4"), "lora_alpha='4'"),
        (lambda: layers.Dense(2, lora_rank=0), "Dense was given lora_rank=0"),
        (lambda: layers.Embedding(4, 2, lora_rank=1.5), "Embedding was given lora_rank=1.5"),
    ],
)
def test_wrong_uses_raise(adapt, message):
    with pytest.raises(ValueError, match=message):
        adapt()
