"""Recurrent layers: masks, states, directions, cells of one's own, gradients, errors. Numbers:
`tests/oracle`.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers, ops

X = np.random.default_rng(0).normal(size=(3, 6, 4)).astype("float32")
MASK = np.arange(6)[None] < np.array([[6], [4], [2]])
KINDS = ["SimpleRNN", "GRU", "LSTM"]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "config", [{}, {"return_sequences": True, "go_backwards": True, "use_bias": False}]
)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config):
    check_contract(name, {"units": 5, **config}, (2, 6, 4))


def test_wrappers_satisfy_the_contract():
    for make in (
        lambda: layers.Bidirectional(layers.GRU(3, return_sequences=True), merge_mode="sum"),
        lambda: layers.TimeDistributed(layers.Dense(3)),
        lambda: layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)]),
    ):
        layer = make()
        y = layer(X)
        assert layer.compute_output_shape(X.shape) == y.shape
        assert (
            make()(podium.Input((6, 4))).shape
            == make()(podium.Input((None, 4))).shape[:1] + y.shape[1:]
        )
        np.testing.assert_allclose(podium.function(layer)(X), y, rtol=1e-5, atol=1e-6)
        config = json.loads(json.dumps(layer.get_config()))
        again = type(layer).from_config(config)
        assert json.dumps(again.get_config()) == json.dumps(
            type(layer).from_config(again.get_config()).get_config()
        )
        again(X)
        again.set_weights(layer.get_weights())
        np.testing.assert_array_equal(again(X), y)


@pytest.mark.parametrize("name", KINDS)
def test_a_layer_equals_its_cell_step_by_step(name):
    layer = getattr(layers, name)(5, return_sequences=True, return_state=True)
    outputs, *states = layer(X)
    by_hand, seen = layer.cell.get_initial_state(batch_size=3), []
    for step in range(6):
        output, by_hand = layer.cell(X[:, step], by_hand)
        seen.append(output.numpy())
    np.testing.assert_allclose(outputs, np.stack(seen, 1), rtol=1e-5, atol=1e-6)
    for state, own in zip(states, by_hand, strict=True):
        np.testing.assert_allclose(state, own, rtol=1e-5, atol=1e-6)


def plain_loss(layer, mask=None):
    """The layer as a pure function whose loop is differentiated by JAX, without the layer's own
    backward rule.
    """

    def loss(values, x):
        with podium.core._context.override(forward_mode=True):
            outputs = layer.stateless_call(values, layer.non_trainable_variables, x, mask=mask)[0]
        return sum(jnp.sum(jnp.sin(part)) for part in jax.tree.leaves(outputs))

    return loss


OTHERS = {
    "GRU_before": {"reset_after": False},
    "LSTM_softsign": {"activation": "softsign"},
    "LSTM_bare": {"use_bias": False},
}


@pytest.mark.parametrize("name", [*KINDS, *OTHERS])
@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
def test_gradients_equal_those_of_jax_scan(name, mask):
    extra = OTHERS.get(name, {})
    layer = getattr(layers, name.split("_")[0])(
        5, return_sequences=True, return_state=True, **extra
    )
    layer(X)

    @podium.function
    def taped(x):
        with podium.GradientTape() as tape:
            tape.watch(x)
            total = sum(ops.sum(ops.sin(part)) for part in layer(x, mask=mask))
        return tape.gradient(total, [*layer.trainable_variables, x])

    values = [v.value for v in layer.trainable_variables]
    weights, inputs = jax.jit(jax.grad(plain_loss(layer, mask), argnums=(0, 1)))(values, X)
    for a, b in zip(taped(X), [*weights, inputs], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_custom_pullback_is_used_for_default_activations():
    usual, other = layers.LSTMCell(2), layers.LSTMCell(2, activation="softsign")
    assert usual._step().vjp_with == (usual.activation, usual.recurrent_activation)
    assert other._step().vjp_with != (other.activation, other.recurrent_activation)


def test_second_derivatives_and_forward_mode_work():
    layer = layers.LSTM(3)
    layer(X)

    @podium.function
    def taped(x):
        with podium.GradientTape() as outer:
            outer.watch(x)
            with podium.GradientTape() as inner:
                inner.watch(x)
                y = ops.sum(ops.sin(layer(x)))
            gradient = ops.sum(inner.gradient(y, x) ** 2)
        return outer.gradient(gradient, x)

    values = [v.value for v in layer.trainable_variables]
    first = jax.grad(lambda x: plain_loss(layer)(values, x))
    np.testing.assert_allclose(
        taped(X), jax.jit(jax.grad(lambda x: jnp.sum(first(x) ** 2)))(X), rtol=1e-4, atol=1e-6
    )
    x = podium.convert_to_tensor(X)
    with podium.ForwardAccumulator(x, ops.ones_like(x)) as accumulator:
        y = ops.sum(ops.sin(layer(x)))
    assert float(accumulator.jvp(y)) == pytest.approx(float(jnp.sum(jax.jit(first)(X))), rel=1e-4)


@pytest.mark.parametrize("name", KINDS)
def test_masked_steps_keep_the_states(name):
    layer = getattr(layers, name)(5, return_sequences=True, return_state=True)
    outputs, *states = layer(X, mask=MASK)
    alone, *last = layer(X[2:, :2])
    np.testing.assert_allclose(outputs[2:, :2], alone, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        outputs[2, 2:], np.repeat(alone[:, -1].numpy(), 4, 0), rtol=1e-5, atol=1e-6
    )
    for state, own in zip(states, last, strict=True):
        np.testing.assert_allclose(state[2:], own, rtol=1e-5, atol=1e-6)
    assert outputs._keras_mask.numpy().tolist() == MASK.tolist() and states[0]._keras_mask is None


def test_masking_reaches_rnn_and_zero_output_for_mask_zeros_masked_steps():
    x = np.where(MASK[..., None], X, 0).astype("float32")
    layer = layers.GRU(5, return_sequences=True)
    masked = layer(layers.Masking()(x))
    np.testing.assert_array_equal(masked, layer(x, mask=MASK))
    layer.zero_output_for_mask = True
    np.testing.assert_array_equal(layer(x, mask=MASK), np.where(MASK[..., None], masked, 0))


def test_go_backwards_processes_sequences_in_reverse():
    ahead = layers.LSTM(5, return_sequences=True)
    back = layers.LSTM(5, return_sequences=True, go_backwards=True)
    ahead(X), back(X)
    back.set_weights(ahead.get_weights())
    np.testing.assert_allclose(back(X), ahead(X[:, ::-1].copy()), rtol=1e-6)
    np.testing.assert_allclose(
        back(X, mask=MASK), ahead(X[:, ::-1].copy(), mask=MASK[:, ::-1].copy()), rtol=1e-6
    )


def test_unrolled_equals_rolled():
    for name in KINDS:
        rolled, unrolled = (
            getattr(layers, name)(5, return_sequences=True, unroll=unroll)
            for unroll in (False, True)
        )
        rolled(X), unrolled(X)
        unrolled.set_weights(rolled.get_weights())
        np.testing.assert_allclose(
            unrolled(X, mask=MASK), rolled(X, mask=MASK), rtol=1e-5, atol=1e-6
        )


def test_initial_states_as_argument_or_in_a_list_as_in_keras_2():
    layer = layers.LSTM(5, return_state=True)
    _, *states = layer(X)
    given = layer(X, initial_state=states)
    listed = layer([podium.convert_to_tensor(X), *states])
    np.testing.assert_array_equal(given[0], listed[0])
    whole = layer(np.concatenate([X, X], 1))
    np.testing.assert_allclose(given[0], whole[0], rtol=1e-5, atol=1e-6)
    symbolic = layer(podium.Input((6, 4)), initial_state=[podium.Input((5,)), podium.Input((5,))])
    assert [part.shape for part in symbolic] == [(None, 5)] * 3


@pytest.mark.parametrize("compiled", [False, True])
def test_stateful_layers_continue_from_the_last_states(compiled):
    layer, whole = layers.GRU(5, stateful=True), layers.GRU(5)
    run = podium.function(lambda x: layer(x)) if compiled else layer
    run(X), whole(X)
    whole.set_weights(layer.get_weights())
    layer.reset_state()
    run(X)
    np.testing.assert_allclose(run(X), whole(np.concatenate([X, X], 1)), rtol=1e-5, atol=1e-6)
    layer.reset_states()
    np.testing.assert_allclose(run(X), whole(X), rtol=1e-5, atol=1e-6)
    assert len(layer.weights) == 3 and layer.states[0].shape == (3, 5)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("rates", [{"dropout": 0.5}, {"dropout": 0.3, "recurrent_dropout": 0.3}])
def test_dropout_differs_in_each_call_and_repeats_by_seed(name, rates):
    a, b = (getattr(layers, name)(5, seed=3, **rates) for _ in range(2))
    a(X), b(X)
    b.set_weights(a.get_weights())
    np.testing.assert_array_equal(a(X), b(X))
    step = podium.function(lambda x: b(x, training=True))
    first, second = a(X, training=True), a(X, training=True)
    assert not np.allclose(first, second)
    np.testing.assert_allclose(step(X), first, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(step(X), second, rtol=1e-5, atol=1e-6)


def test_input_dropout_is_the_same_at_every_step():
    layer = layers.SimpleRNN(
        40,
        activation=None,
        dropout=0.5,
        return_sequences=True,
        recurrent_initializer="zeros",
        seed=1,
    )
    layer(np.ones((1, 4, 40), "float32"))
    layer.cell.kernel.assign(np.eye(40, dtype="float32"))
    y = layer(np.ones((1, 4, 40), "float32"), training=True).numpy()[0]
    assert (y == y[0]).all() and set(np.unique(y)) == {0.0, 2.0}


class NoisyCell(layers.Layer):
    """A cell of a user's: its output is wider than its state, and it draws random numbers."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units
        self.output_size = units + 1
        self.mix, self.out, self.drop = (
            layers.Dense(units),
            layers.Dense(units + 1),
            layers.Dropout(0.5, seed=1),
        )

    def build(self, input_shape):
        self.mix.build_from_config({"input_shape": (None, input_shape[-1] + self.units)})
        self.out.build_from_config({"input_shape": (None, self.units)})

    def call(self, inputs, states, training=False):
        state = ops.tanh(self.mix(ops.concatenate([inputs, states[0]], -1)))
        return self.out(self.drop(state, training=training)), [state]


def test_custom_cell_trains_and_draws_at_every_step():
    layer = layers.RNN(NoisyCell(3), return_sequences=True)
    plain = layer(X)
    assert plain.shape == layer.compute_output_shape(X.shape) == (3, 6, 4)
    np.testing.assert_allclose(podium.function(layer)(X), plain, rtol=1e-5, atol=1e-6)
    state, seen = [np.zeros((3, 3), "float32")], []
    for step in range(6):
        output, state = layer.cell(X[:, step], state)
        seen.append(output.numpy())
    np.testing.assert_allclose(plain, np.stack(seen, 1), rtol=1e-5, atol=1e-6)
    drawn = layer(X, training=True)
    assert layer.cell.drop.seed_generator.state.numpy()[1] == 6 and not np.allclose(drawn, plain)
    with podium.GradientTape() as tape:
        loss = ops.sum(layer(X, mask=MASK) ** 2)
    assert all(np.abs(g.numpy()).max() > 0 for g in tape.gradient(loss, layer.trainable_variables))
    held = layer(X, mask=MASK).numpy()
    np.testing.assert_array_equal(held[2, 2:], np.repeat(held[2:, 1], 4, 0))


class Plus:
    """A cell that is not a layer: it sums its inputs."""

    state_size = 4

    def call(self, inputs, states):
        return inputs + states[0], [inputs + states[0]]


def test_a_cell_need_not_be_a_layer():
    np.testing.assert_allclose(layers.RNN(Plus())(X), X.sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        layers.RNN([Plus(), Plus()])(X), X.cumsum(1).sum(1), rtol=1e-4, atol=1e-4
    )


def test_an_activation_that_is_a_layer_is_trained_too():
    layer = layers.SimpleRNN(5, activation=layers.PReLU(alpha_initializer="ones"))
    np.testing.assert_allclose(layer(X), layers_sum(layer, X), rtol=1e-4, atol=1e-5)
    alpha = layer.cell.activation.alpha
    with podium.GradientTape() as tape:
        loss = ops.sum(layer(X))
    assert np.abs(tape.gradient(loss, alpha).numpy()).max() > 0
    before = layer(X).numpy()
    alpha.assign(alpha * 0.5)
    assert not np.allclose(layer(X), before)


def layers_sum(layer, x):
    """The states of a SimpleRNN without any activation (a PReLU whose slopes are all one)."""
    kernel, recurrent, bias = layer.cell.get_weights()[:3]
    state = np.zeros((len(x), 5), "float32")
    for step in range(x.shape[1]):
        state = x[:, step] @ kernel + state @ recurrent + bias
    return state


def test_stacked_cells_equal_stacked_layers():
    stack = layers.RNN(
        [layers.LSTMCell(5), layers.GRUCell(3)], return_sequences=True, return_state=True
    )
    first, second = layers.LSTM(5, return_sequences=True), layers.GRU(3, return_sequences=True)
    outputs, lstm_states, gru_states = stack(X, mask=MASK)
    second(first(X))
    first.set_weights(stack.get_weights()[:3])
    second.set_weights(stack.get_weights()[3:])
    np.testing.assert_allclose(outputs, second(first(X), mask=MASK), rtol=1e-5, atol=1e-6)
    assert [s.shape for s in lstm_states] == [(3, 5)] * 2 and [s.shape for s in gru_states] == [
        (3, 3)
    ]
    one_step, _ = stack.cell(X[:, 0], stack.get_initial_state(3))
    np.testing.assert_allclose(one_step, outputs[:, 0], rtol=1e-5, atol=1e-6)


def test_bidirectional_merges_both_directions():
    inner = layers.LSTM(5, return_sequences=True, return_state=True)
    both = layers.Bidirectional(inner, merge_mode=None)
    ahead, back, *states = both(X)
    np.testing.assert_array_equal(both.forward_layer(X)[0], ahead)
    np.testing.assert_array_equal(both.backward_layer(X)[0].numpy()[:, ::-1], back)
    assert len(states) == 4 and [w.path.split("/")[1] for w in both.weights[::3]] == [
        "forward_lstm",
        "backward_lstm",
    ]
    joined = layers.Bidirectional(layers.GRU(2), backward_layer=layers.LSTM(3, go_backwards=True))
    assert joined(X).shape == joined.compute_output_shape(X.shape) == (3, 5)
    masked = layers.Bidirectional(layers.GRU(2, return_sequences=True))(
        layers.Masking()(np.where(MASK[..., None], X, 0))
    )
    assert (
        masked.numpy()[2, 2:] == 0
    ).all() and masked._keras_mask.numpy().tolist() == MASK.tolist()


def test_time_distributed_applies_the_layer_to_each_step():
    dense = layers.TimeDistributed(layers.Dense(3))
    y = dense(X)
    np.testing.assert_allclose(y[:, 2], dense.layer(X[:, 2]), rtol=1e-5, atol=1e-6)
    norm = layers.TimeDistributed(layers.BatchNormalization(momentum=0.5))
    y = norm(X, training=True).numpy()
    np.testing.assert_allclose(y.mean(0), 0, atol=1e-5)
    average = np.zeros(4)
    for step in range(6):
        average = 0.5 * average + 0.5 * X[:, step].mean(0)
    np.testing.assert_allclose(norm.layer.moving_mean, average, rtol=1e-4, atol=1e-5)
    drop = layers.TimeDistributed(layers.Dropout(0.5, seed=1))
    dropped = drop(np.ones((2, 5, 50), "float32"), training=True).numpy()
    assert not (dropped[:, 0] == dropped[:, 1]).all()
    inner = layers.TimeDistributed(layers.LSTM(3))
    assert inner(np.ones((2, 5, 6, 4), "float32")).shape == (2, 5, 3)
    assert layers.TimeDistributed(layers.Dense(3))(podium.Input((None, 4))).shape == (None, None, 3)


def test_compiled_loops_are_cached_in_eager_mode():
    from podium.layers.rnn import _recurrent_loop

    layer = layers.LSTM(5)
    layer(X)
    before = _recurrent_loop.run_all_steps._cache_size()
    for _ in range(3):
        layer(X)
        layers.LSTM(5)(X)
    assert _recurrent_loop.run_all_steps._cache_size() == before


def test_mixed_precision_keeps_states_in_the_compute_type():
    for name in KINDS:
        output, *states = getattr(layers, name)(5, return_state=True, dtype="mixed_bfloat16")(
            X, mask=MASK
        )
        assert {str(part.dtype) for part in (output, *states)} == {"bfloat16"}


def test_wrong_arguments_raise():
    for make, message in [
        (lambda: layers.LSTM(0), "LSTMCell was given units=0; an int of at least 1"),
        (lambda: layers.GRU(4, dropout=1.5), "dropout=1.5; a number from 0 to 1"),
        (lambda: layers.LSTM(4, implementation=7), "implementation=7"),
        (
            lambda: layers.LSTM(4, time_major=True),
            "time_major=True; inputs of shape .batch, time, features. are expected",
        ),
        (lambda: layers.LSTM(4, use_cudnn="no"), "Unknown use_cudnn 'no'"),
        (lambda: layers.RNN(3), "RNN was given 3 as a cell"),
        (lambda: layers.StackedRNNCells([]), "a list of at least one cell"),
        (lambda: layers.Bidirectional(layers.Dense(3)), "a recurrent layer was expected"),
        (
            lambda: layers.Bidirectional(layers.LSTM(3), merge_mode="add"),
            "Unknown merge_mode 'add'",
        ),
        (
            lambda: layers.Bidirectional(layers.LSTM(3), backward_layer=layers.LSTM(3)),
            "go_backwards=False; they must differ",
        ),
        (
            lambda: layers.Bidirectional(
                layers.LSTM(3),
                backward_layer=layers.LSTM(3, go_backwards=True, return_sequences=True),
            ),
            "return_sequences=False and return_sequences=True",
        ),
        (
            lambda: layers.LSTM(4, stateful=True)(podium.Input((5, 3))),
            "stateful=True and was given shape .None, 5, 3.",
        ),
        (
            lambda: layers.LSTM(4, unroll=True)(podium.Input((None, 3))),
            "unroll=True, and the number of time steps is unknown",
        ),
        (
            lambda: layers.LSTM(4)(X[0]),
            "'lstm.*called with shape .6, 4.: 3 dimensions were expected",
        ),
        (
            lambda: layers.LSTM(4)(X, initial_state=[X[:, 0]]),
            "1 initial states; its cell has 2, of sizes .4, 4.",
        ),
        (
            lambda: layers.TimeDistributed(layers.Dense(3))(X[0]),
            "TimeDistributed. was called with shape .6, 4.",
        ),
        (
            lambda: layers.TimeDistributed(layers.Dense(3))(X, mask=MASK[:, :2]),
            "mask of shape .3, 2. for inputs",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match="does not know the argument 'unit'"):
        layers.LSTM(4, unit=3)
    with pytest.raises(
        ValueError,
        match=r"4 was expected as the size of its last dimension, 2 was given. It was built for",
    ):
        layer = layers.LSTM(4)
        layer(X)
        layer(X[..., :2])
    with pytest.raises(
        ValueError, match=r"has states for 3 samples; it was called with shape .2, 6, 4."
    ):
        layer = layers.LSTM(4, stateful=True)
        layer(X)
        layer(X[:2])
