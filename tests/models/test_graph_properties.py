"""Random small functional graphs against the same computation on arrays."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from podium import layers, ops

WIDTH = 3

step = st.one_of(
    st.tuples(
        st.just("dense"), st.integers(0, 30), st.integers(0, 2)
    ),  # one of three shared layers
    st.tuples(st.sampled_from(["relu", "double", "shift", "model"]), st.integers(0, 30)),
    st.tuples(
        st.sampled_from(["add", "multiply", "maximum", "concatenate"]),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
)


def build(program, inputs, shared, inner):
    """Apply the program to symbolic inputs."""
    values = list(inputs)
    for name, *args in program:
        x = values[args[0] % len(values)]
        if name == "dense":
            values.append(shared[args[1]](x))
        elif name == "relu":
            values.append(layers.ReLU()(x))
        elif name == "double":
            values.append(2 * x)
        elif name == "shift":
            values.append(ops.tanh(x) + 1.0)
        elif name == "model":
            values.append(inner(x))
        else:
            y = values[args[1] % len(values)]
            merge = {
                "add": layers.Add(),
                "multiply": layers.Multiply(),
                "maximum": layers.Maximum(),
                "concatenate": lambda pair: (
                    layers.Concatenate()(pair)[:, :WIDTH] if pair[0] is not pair[1] else pair[0] * 1
                ),
            }[name]
            values.append(merge([x, y]))
    return values


def by_hand(program, inputs, weights, inner):
    values = list(inputs)
    for name, *args in program:
        x = values[args[0] % len(values)]
        if name == "dense":
            kernel, bias = weights[args[1]]
            values.append(x @ kernel + bias)
        elif name == "relu":
            values.append(jax.nn.relu(x))
        elif name == "double":
            values.append(2 * x)
        elif name == "shift":
            values.append(jnp.tanh(x) + 1.0)
        elif name == "model":
            values.append(jnp.tanh(x @ inner[0] + inner[1]))
        else:
            y = values[args[1] % len(values)]
            merge = {
                "add": x + y,
                "multiply": x * y,
                "maximum": jnp.maximum(x, y),
                "concatenate": x * 1,
            }[name]
            values.append(merge)
    return values


@settings(max_examples=40)
@given(st.lists(step, min_size=1, max_size=7), st.integers(1, 3), st.booleans())
def test_random_graphs_equal_the_explicit_computation(program, count, compiled):
    inputs = [podium.Input((WIDTH,)) for _ in range(2)]
    shared = [layers.Dense(WIDTH) for _ in range(3)]
    inner = podium.Sequential([podium.Input((WIDTH,)), layers.Dense(WIDTH, activation="tanh")])
    for layer in shared:
        layer(inputs[0])
    values = build(program, inputs, shared, inner)
    model = podium.Model(inputs, values[-count:])
    rng = np.random.default_rng(0)
    data = [rng.normal(size=(4, WIDTH)).astype("float32") for _ in range(2)]
    variables = [v for layer in shared for v in layer.weights] + inner.weights
    raw = [v.value for v in variables]

    def outputs_of(raw):
        pairs = [(raw[2 * i], raw[2 * i + 1]) for i in range(3)]
        return by_hand(program, data, pairs, raw[6:])[-count:]

    def step():
        with podium.GradientTape() as tape:
            outputs = model(data) if count > 1 else [model(data)]
            loss = sum(ops.sum(output * output) for output in outputs)
        return outputs, tape.gradient(loss, variables, unconnected_gradients="zero")

    outputs, gradients = (podium.function(step) if compiled else step)()
    expected = jax.grad(lambda raw: sum(jnp.sum(o * o) for o in outputs_of(raw)))(raw)
    for mine, theirs in zip([*outputs, *gradients], [*outputs_of(raw), *expected], strict=True):
        np.testing.assert_allclose(
            np.asarray(mine), theirs, rtol=1e-4, atol=1e-4 * max(1.0, float(np.abs(theirs).max()))
        )
    used = {id(v) for v in model.weights}
    reached = {
        id(v) for v, g in zip(variables, expected, strict=True) if np.abs(np.asarray(g)).max() > 0
    }
    assert reached <= used
