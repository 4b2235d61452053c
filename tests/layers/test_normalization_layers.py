"""Normalization layers: statistics, masks, modes, errors. Numbers: `tests/oracle`."""

import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers, ops

X = np.random.default_rng(1).normal(2.0, 3.0, size=(64, 4)).astype("float32")

CASES = [
    ("BatchNormalization", {}, (4, 3)),
    ("BatchNormalization", {"axis": 1, "center": False}, (2, 3, 4, 5)),
    ("LayerNormalization", {}, (2, 3, 4)),
    ("LayerNormalization", {"axis": [1, 2], "scale": False}, (2, 3, 4)),
    ("RMSNormalization", {}, (2, 3, 4)),
    ("RMSNormalization", {"axis": 1}, (2, 3, 4)),
    ("GroupNormalization", {"groups": 2}, (2, 3, 4)),
    ("GroupNormalization", {"groups": -1, "axis": 1}, (2, 4, 3)),
    ("UnitNormalization", {"axis": [1, 2]}, (2, 3, 4)),
    ("Normalization", {"mean": [1.0, 2.0], "variance": [4.0, 9.0]}, (3, 2)),
    ("Normalization", {"axis": None}, (3, 2)),
]


@pytest.mark.parametrize("name, config, shape", CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config, shape):
    check_contract(name, config, shape)


def test_moving_statistics_change_in_training_only():
    layer = layers.BatchNormalization(momentum=0.75)
    layer(X)
    assert layer.moving_mean.numpy().tolist() == [0] * 4
    outputs = layer(X, training=True).numpy()
    np.testing.assert_allclose(outputs.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(outputs.std(0), 1, atol=1e-3)
    np.testing.assert_allclose(layer.moving_mean, 0.25 * X.mean(0), rtol=1e-5)
    np.testing.assert_allclose(layer.moving_variance, 0.75 + 0.25 * X.var(0), rtol=1e-5)
    kept = layer.get_weights()
    layer(X, training=False)
    assert all(map(np.array_equal, layer.get_weights(), kept))


def test_frozen_batch_normalization_runs_in_inference_mode():
    layer = layers.BatchNormalization(trainable=False)
    np.testing.assert_array_equal(layer(X, training=True), layer(X))
    assert layer.moving_mean.numpy().tolist() == [0] * 4 and not layer.trainable_variables


def test_eager_and_compiled_training_leave_the_same_statistics():
    eager, compiled = layers.BatchNormalization(), layers.BatchNormalization()
    step = podium.function(lambda x: compiled(x, training=True))
    for _ in range(3):
        np.testing.assert_allclose(step(X), eager(X, training=True), rtol=1e-5, atol=1e-6)
    for a, b in zip(eager.get_weights(), compiled.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_statistics_carry_no_gradient():
    layer = layers.BatchNormalization()
    layer(X)
    with podium.GradientTape() as tape:
        layer(X, training=True)
        loss = ops.sum(layer.moving_mean) + ops.sum(layer.gamma)
    assert tape.gradient(loss, [layer.gamma, layer.beta])[1] is None


def test_masked_entries_are_ignored():
    x = np.concatenate([X.reshape(8, 8, 4), 1000 * np.ones((8, 3, 4), "float32")], 1)
    mask = np.arange(11)[None] < np.full((8, 1), 8)
    layer = layers.BatchNormalization(momentum=0.0)
    outputs = layer(x, training=True, mask=mask)
    np.testing.assert_allclose(layer.moving_mean, X.mean(0), rtol=1e-4)
    assert outputs._keras_mask.numpy().tolist() == mask.tolist()


def test_renormalization_approaches_its_long_term_statistics():
    layer = layers.BatchNormalization(
        renorm=True, renorm_momentum=0.0, renorm_clipping={"rmax": 3.0, "dmax": 5.0}
    )
    for _ in range(2):
        outputs = layer(X, training=True).numpy()
    np.testing.assert_allclose(outputs.mean(0), 0, atol=1e-4)
    with pytest.raises(
        ValueError, match=r"Unknown key of renorm_clipping 'rmox'. Did you mean 'rmax'"
    ):
        layers.BatchNormalization(renorm=True, renorm_clipping={"rmox": 1})


def test_half_precision_sums_in_float32():
    layer = layers.BatchNormalization(dtype="mixed_bfloat16")
    outputs = layer(X + 100, training=True)
    assert str(outputs.dtype) == "bfloat16" and layer.moving_mean.dtype == "float32"
    normed = layers.LayerNormalization(dtype="mixed_float16")(X)
    assert str(normed.dtype) == "float16"


def test_groups_are_normalized_separately():
    x = np.random.default_rng(0).normal(size=(2, 5, 6)).astype("float32")
    outputs = layers.GroupNormalization(groups=3, epsilon=0.0)(x).numpy().reshape(2, 5, 3, 2)
    np.testing.assert_allclose(outputs.mean((1, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(outputs.std((1, 3)), 1, atol=1e-4)


def test_spectral_normalization_brings_the_norm_to_one():
    layer = layers.SpectralNormalization(layers.Dense(5), power_iterations=50)
    layer(X)
    layer.layer.kernel.assign(layer.layer.kernel * 7)
    layer(X, training=True)
    assert np.linalg.svd(layer.layer.kernel.numpy())[1][0] == pytest.approx(1, abs=1e-4)
    layer.layer.kernel.assign(np.zeros((4, 5), "float32"))
    assert np.isfinite(layer(X, training=True).numpy()).all()
    again = layers.SpectralNormalization.from_config(layer.get_config())
    assert again.power_iterations == 50 and again.layer.units == 5
    with pytest.raises(ValueError, match="neither `kernel` nor `embeddings`"):
        layers.SpectralNormalization(layers.Identity())(X)


def test_adapt_combines_batches_exactly():
    whole, parts, pairs = (layers.Normalization() for _ in range(3))
    whole.adapt(X)
    parts.adapt([X[:10], X[10:11], X[11:]])
    pairs.adapt((x, None) for x in (X[:30], X[30:]))
    for layer in (parts, pairs):
        np.testing.assert_allclose(layer.mean, whole.mean, rtol=1e-6)
        np.testing.assert_allclose(layer.variance, whole.variance, rtol=1e-5)
    np.testing.assert_allclose(whole(X).numpy().mean(0), 0, atol=1e-5)
    undo = layers.Normalization(invert=True)
    undo.adapt(X)
    np.testing.assert_allclose(undo(whole(X)), X, rtol=1e-4, atol=1e-4)
    assert whole.mean.shape == (1, 4)


def test_wrong_arguments_raise():
    with pytest.raises(ValueError, match=r"axis=.0, 1.; one axis was expected"):
        layers.BatchNormalization(axis=[0, 1])
    with pytest.raises(TypeError, match="axis='x'"):
        layers.LayerNormalization(axis="x")
    with pytest.raises(ValueError, match="momentum=2"):
        layers.BatchNormalization(momentum=2)
    with pytest.raises(ValueError, match="groups=0"):
        layers.GroupNormalization(groups=0)
    with pytest.raises(
        ValueError, match=r"groups=3 and was given inputs of shape .2, 4., with 4 channels"
    ):
        layers.GroupNormalization(groups=3)(np.ones((2, 4), "float32"))
    with pytest.raises(ValueError, match=r"works on axis 3, and its input of shape \(2, 4\)"):
        layers.LayerNormalization(axis=3)(np.ones((2, 4), "float32"))
    with pytest.raises(ValueError, match=r"mask of shape .64, 4. for inputs of shape .64, 4."):
        layers.BatchNormalization()(X, mask=np.ones((64, 4), bool))
    with pytest.raises(ValueError, match="pass both or neither"):
        layers.Normalization(mean=1.0)
    with pytest.raises(ValueError, match="nothing to adapt"):
        layers.Normalization(mean=[1.0], variance=[1.0]).adapt(X)
    with pytest.raises(ValueError, match="adapt was given no batches"):
        layers.Normalization().adapt([])
    with pytest.raises(
        ValueError, match="4 was expected as the size of its last dimension, 3 was given"
    ):
        layer = layers.BatchNormalization()
        layer(X)
        layer(np.ones((2, 3), "float32"))
    with pytest.warns(UserWarning, match="RMSNormalization"):
        layers.LayerNormalization(rms_scaling=True)
