"""ConvLSTM layers: cells by hand, dropout, masks, unknown sizes, errors. Numbers:
`tests/oracle/test_conv_lstm.py`.
"""

import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers

VIDEO = np.random.default_rng(0).normal(size=(2, 3, 5, 4, 2)).astype("float32")


@pytest.mark.parametrize(
    ("rank", "shape"), [(1, (2, 3, 6, 2)), (2, (2, 3, 5, 4, 2)), (3, (2, 3, 3, 3, 3, 2))]
)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(rank, shape):
    config = {"filters": 3, "kernel_size": 2, "return_sequences": True}
    check_contract(f"ConvLSTM{rank}D", config, shape)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_a_layer_equals_its_cell_step_by_step(data_format):
    layer = layers.ConvLSTM2D(3, 2, strides=2, data_format=data_format, return_state=True)
    x = VIDEO if data_format == "channels_last" else np.moveaxis(VIDEO, -1, 2)
    output, *states = layer(x)
    by_hand = layer.cell.get_initial_state(batch_size=2)
    for step in range(3):
        last, by_hand = layer.cell(x[:, step], by_hand)
    np.testing.assert_allclose(output, last, rtol=1e-5, atol=1e-6)
    for state, expected in zip(states, by_hand, strict=True):
        np.testing.assert_allclose(state, expected, rtol=1e-5, atol=1e-6)


def test_dropout_repeats_by_seed_and_uses_one_mask_for_all_steps():
    def run(seed):
        layer = layers.ConvLSTM2D(3, 2, dropout=0.5, recurrent_dropout=0.5, seed=seed)
        layer.build(VIDEO.shape)
        layer.set_weights([np.full(w.shape, 0.1, "float32") for w in layer.weights])
        return layer, layer(VIDEO, training=True).numpy()

    layer, first = run(1)
    np.testing.assert_array_equal(first, run(1)[1])
    assert np.abs(first - run(2)[1]).max() > 1e-3
    assert np.abs(first - layer(VIDEO).numpy()).max() > 1e-3
    input_masks, state_masks = layer.cell.draw_masks(VIDEO[:, 0], True)
    assert input_masks.shape == (4, 2, 5, 4, 2) and state_masks.shape == (4, 2, 4, 3, 3)


@pytest.mark.parametrize("zero_output", [False, True])
def test_masked_steps_keep_the_states(zero_output):
    layer = layers.ConvLSTM2D(
        3, 2, return_sequences=True, return_state=True, zero_output_for_mask=zero_output
    )
    mask = np.array([[True, True, False], [True, False, False]])
    outputs, state, _ = layer(VIDEO, mask=mask)
    full = layer(VIDEO)[0].numpy()
    expected = np.stack([full[0, [0, 1, 1]], full[1, [0, 0, 0]]])
    np.testing.assert_allclose(state, expected[:, -1], rtol=1e-5, atol=1e-6)
    expected = np.where(mask[..., None, None, None], expected, 0) if zero_output else expected
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-6)


def test_trains_inside_a_model_and_is_saved(tmp_path):
    podium.utils.set_random_seed(0)
    model = podium.Sequential(
        [
            podium.Input((3, 5, 4, 2)),
            layers.ConvLSTM2D(2, 3, padding="same", return_sequences=True),
            layers.Bidirectional(layers.ConvLSTM2D(2, 2)),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    history = model.fit(VIDEO, np.ones((2, 1), "float32"), epochs=4, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    model.save(tmp_path / "model.keras")
    again = podium.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(VIDEO, verbose=0), model.predict(VIDEO, verbose=0))


def test_an_activation_that_is_a_layer_is_trained_too():
    layer = layers.ConvLSTM1D(2, 2, activation=layers.PReLU())
    with podium.GradientTape() as tape:
        loss = podium.ops.sum(layer(VIDEO[:, :, 0]))
    assert len(layer.trainable_variables) == 4
    assert all(gradient is not None for gradient in tape.gradient(loss, layer.trainable_variables))


def test_wrong_arguments_raise():
    with pytest.raises(ValueError, match="only one of them may be above 1"):
        layers.ConvLSTM2D(2, 2, strides=2, dilation_rate=2)
    with pytest.raises(ValueError, match=r"padding=.causal.; one of"):
        layers.ConvLSTM1D(2, 2, padding="causal")
    with pytest.raises(ValueError, match="all sizes but the batch must be known"):
        layers.ConvLSTM2D(2, 2)(podium.Input((3, None, 4, 2)))
    with pytest.raises(ValueError, match="nothing is left of it"):
        layers.ConvLSTM2D(2, 9)(VIDEO)
    with pytest.raises(RuntimeError, match="has no states before it is built"):
        layers.ConvLSTM2D(2, 2).get_initial_state(2)
    with pytest.raises(ValueError, match="5 dimensions were expected, 4 were given"):
        layers.ConvLSTM2D(2, 2)(VIDEO[:, 0])
