"""Random sequences of taped operations have the gradients of `jax.grad`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from podium import ops

# Each operation on Tensors and on arrays.
UNARY = {
    "sin": (ops.sin, jnp.sin),
    "tanh": (ops.tanh, jnp.tanh),
    "square": (ops.square, jnp.square),
    "negate": (lambda x: -x, lambda x: -x),
    "mean": (
        lambda x: ops.mean(x, axis=0, keepdims=True) + 0 * x,
        lambda x: jnp.mean(x, axis=0, keepdims=True) + 0 * x,
    ),
    "stop": (podium.stop_gradient, jax.lax.stop_gradient),
    "flip": (lambda x: x[::-1], lambda x: x[::-1]),
}
BINARY = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "multiply": (lambda a, b: a * b, lambda a, b: a * b),
    "subtract": (lambda a, b: a - b, lambda a, b: a - b),
    "where": (lambda a, b: ops.where(a > 0, a, b), lambda a, b: jnp.where(a > 0, a, b)),
}

step = st.one_of(
    st.tuples(st.sampled_from(sorted(UNARY)), st.integers(0, 50)),
    st.tuples(st.sampled_from(sorted(BINARY)), st.integers(0, 50), st.integers(0, 50)),
    st.tuples(st.just("assign"), st.integers(0, 1), st.integers(0, 50)),
    st.tuples(st.just("call"), st.integers(0, 50), st.integers(0, 50)),
)


def run(program, starts, assign, on_tensors):
    """Interpret a program on a growing list of values and two cells that can be assigned."""
    values = list(starts)
    cells = list(starts)
    for name, *args in program:
        indices = [args[0] % len(values)] + [a % len(values) for a in args[1:]]
        operands = [cells[i] if i < 2 else values[i] for i in indices]
        if name == "assign":
            cells[args[0]] = assign(
                args[0], cells[args[0]], cells[indices[1]] if indices[1] < 2 else values[indices[1]]
            )
        elif name == "call":  # recorded as one entry, with nested operations inside
            values.append(
                podium.core.record_call(lambda a, b: ops.sin(a * b) + a, tuple(operands), {})
                if on_tensors
                else jnp.sin(operands[0] * operands[1]) + operands[0]
            )
        else:
            table = UNARY if name in UNARY else BINARY
            values.append(table[name][0 if on_tensors else 1](*operands))
    return values[-1] * 1.0 if len(values) > 2 else cells[0] * cells[1]


@settings(max_examples=60)
@given(st.lists(step, min_size=1, max_size=8), st.booleans(), st.booleans())
def test_random_sequences_equal_jax_grad(program, compiled, second_order):
    start = [np.array([0.3, -0.7, 1.1], "float32"), np.array([-0.2, 0.9, 0.4], "float32")]
    variables = [podium.Variable(value) for value in start]

    def assign_variable(index, old, new):
        variables[index].assign(0.5 * new + old)
        return variables[index]

    def compute_gradients():
        with podium.GradientTape(persistent=True) as tape:
            target = run(program, variables, assign_variable, on_tensors=True)
        return tape.gradient(target, variables, unconnected_gradients="zero")

    def compute():
        for variable, value in zip(variables, start, strict=True):
            variable.assign(value)
        if not second_order:
            return compute_gradients()
        with podium.GradientTape() as outer:
            gradients = compute_gradients()
            loss = ops.sum(ops.sin(gradients[0])) + ops.sum(gradients[1] ** 2)
        return outer.gradient(loss, variables, unconnected_gradients="zero")

    def function(a, b):
        return jnp.sum(run(program, [a, b], lambda i, old, new: 0.5 * new + old, on_tensors=False))

    expected = jax.grad(function, (0, 1))(*start)
    if second_order:

        def loss(a, b):
            ga, gb = jax.grad(function, (0, 1))(a, b)
            return jnp.sum(jnp.sin(ga)) + jnp.sum(gb**2)

        expected = jax.grad(loss, (0, 1))(*start)
    actual = podium.function(compute)() if compiled else compute()
    for gradient, reference in zip(actual, expected, strict=True):
        atol = 2e-5 * max(1.0, float(np.abs(reference).max()))
        np.testing.assert_allclose(np.asarray(gradient), reference, rtol=2e-5, atol=atol)
