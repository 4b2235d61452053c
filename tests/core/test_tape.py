"""GradientTape and ForwardAccumulator: results, nesting and errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import ops


def run_eagerly_and_compiled(fn, *args):
    """Check that a function returns the same eagerly and compiled; return the eager result."""
    eager = podium.core.map_structure(np.asarray, fn(*args))
    compiled = podium.core.map_structure(np.asarray, podium.function(fn)(*args))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6), eager, compiled
    )
    return eager


def test_vector_target_is_summed():
    x = podium.Variable([1.0, 2.0, 3.0])

    def run():
        with podium.GradientTape() as tape:
            y = x * x
        return tape.gradient(y, x)

    assert run_eagerly_and_compiled(run).tolist() == [2.0, 4.0, 6.0]


def test_sources_keep_their_structure():
    a, b = podium.Variable(2.0), podium.Variable(3.0)
    with podium.GradientTape() as tape:
        y = a * a * b
    gradients = tape.gradient(y, {"a": a, "rest": [b, (a,)]})
    assert (
        float(gradients["a"]) == 12.0
        and float(gradients["rest"][0]) == 4.0
        and float(gradients["rest"][1][0]) == 12.0
    )


def test_several_targets_are_summed():
    x = podium.Variable(3.0)
    with podium.GradientTape() as tape:
        targets = [x * x, {"cube": x * x * x}]
    assert float(tape.gradient(targets, x)) == 6.0 + 27.0


def test_output_gradients_weight_the_target():
    x = podium.Variable([1.0, 2.0])
    with podium.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x, output_gradients=podium.Tensor([10.0, 1.0])).numpy().tolist() == [
        20.0,
        4.0,
    ]


def test_gradient_of_unconnected_sources_is_none_or_zero():
    x, unconnected = podium.Variable(1.0), podium.Variable([1.0, 2.0])
    with podium.GradientTape(persistent=True) as tape:
        y = x * 2
    assert tape.gradient(y, [x, unconnected])[1] is None
    zeros = tape.gradient(y, unconnected, unconnected_gradients="zero")
    assert zeros.numpy().tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"unconnected_gradients 'nothing'.*'none', 'zero'"):
        tape.gradient(y, x, unconnected_gradients="nothing")


def test_second_gradient_raises_unless_persistent():
    x = podium.Variable(2.0)
    with podium.GradientTape() as tape:
        y = x * x
    assert float(tape.gradient(y, x)) == 4.0
    with pytest.raises(RuntimeError, match=r"second time.*persistent=True"):
        tape.gradient(y, x)
    with podium.GradientTape(persistent=True) as tape:
        y, z = x * x, x * x * x
    assert [float(tape.gradient(t, x)) for t in (y, z, y)] == [4.0, 12.0, 4.0]


def test_target_that_was_not_recorded_raises():
    x = podium.Variable(2.0)
    before = x * x
    with podium.GradientTape(persistent=True) as tape:
        y = x * 3
        integer = ops.cast(y, "int32")
    with pytest.raises(ValueError, match="did not record"):
        tape.gradient(before, x)
    with pytest.raises(ValueError, match="did not record"):
        tape.gradient(jnp.ones(()), x)
    with pytest.raises(ValueError, match=r"type int32, which has no gradient"):
        tape.gradient(integer, x)
    with pytest.raises(TypeError, match=r"source of type ndarray.*convert_to_tensor"):
        tape.gradient(y, np.ones(3))


def test_tensors_must_be_watched_and_trainable_variables_need_not():
    x, frozen = podium.Tensor(3.0), podium.Variable(3.0, trainable=False)
    with podium.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = frozen * x
    assert float(tape.gradient(y, x)) == 6.0 and tape.gradient(z, frozen) is None
    with podium.GradientTape() as tape:
        tape.watch(frozen)
        z = frozen * 2
    assert float(tape.gradient(z, frozen)) == 2.0
    with (
        pytest.raises(TypeError, match=r"tape.watch was given a ndarray"),
        podium.GradientTape() as tape,
    ):
        tape.watch(np.ones(3))
    with (
        pytest.raises(TypeError, match="type int32, which have no gradient"),
        podium.GradientTape() as tape,
    ):
        tape.watch(podium.Tensor(3))


def test_watch_accessed_variables_false_records_watched_ones_only():
    a, b = podium.Variable(2.0), podium.Variable(3.0)
    with podium.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(a)
        y = a * b
    assert [g if g is None else float(g) for g in tape.gradient(y, [a, b])] == [3.0, None]
    assert tape.watched_variables() == (a,)


def test_stop_recording_and_reset_drop_operations():
    x = podium.Variable(2.0)
    with podium.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            scale = x * 100
        y = y * scale
    assert float(tape.gradient(y, x)) == 4.0 * 200.0
    with podium.GradientTape() as tape:
        y = x * x
        tape.reset()
        z = x * 5
    assert float(tape.gradient(z, x)) == 5.0
    with pytest.raises(RuntimeError, match="open tape"), podium.GradientTape().stop_recording():
        pass


def test_raw_jax_on_a_recorded_value_raises_and_names_the_function():
    x = podium.Variable([1.0, 2.0])
    with podium.GradientTape() as tape:
        y = x * 2
        for call, name in (
            (lambda: jnp.sum(y), "ops.sum"),
            (lambda: jnp.square(x), "ops.square"),
            (lambda: jax.nn.relu(y), "ops.relu"),
            (lambda: jnp.concatenate([y, y]), "ops.concatenate"),
            (lambda: jax.tree.map(lambda v: v, {"y": y}), "lift"),
            (lambda: y.value, "stop_gradient"),
        ):
            with pytest.raises(podium.core.TapedValueError, match=name):
                call()
        z = podium.lift(jnp.sum)(y)
    assert float(jnp.sum(y)) == 6.0
    assert tape.gradient(z, x).numpy().tolist() == [2.0, 2.0]


@pytest.mark.parametrize("left", ["numpy", "jax", "numpy scalar"])
def test_products_with_arrays_on_the_left_are_recorded(left):
    x = podium.Variable([1.0, 2.0])
    factor = {
        "numpy": np.float32([3, 4]),
        "jax": jnp.float32([3, 4]),
        "numpy scalar": np.float32(3),
    }[left]
    with podium.GradientTape() as tape:
        y = factor * x
    np.testing.assert_allclose(
        tape.gradient(y, x).numpy(), np.broadcast_to(np.asarray(factor), (2,))
    )


def test_nested_tapes_compute_higher_derivatives():
    x = podium.Variable(1.5)

    def run():
        with podium.GradientTape() as t3:
            with podium.GradientTape() as t2:
                with podium.GradientTape() as t1:
                    y = ops.sin(x) * x * x
                first = t1.gradient(y, x)
            second = t2.gradient(first, x)
        return first, second, t3.gradient(second, x)

    f = lambda v: jnp.sin(v) * v * v
    expected = [
        d(1.5) for d in (jax.grad(f), jax.grad(jax.grad(f)), jax.grad(jax.grad(jax.grad(f))))
    ]
    np.testing.assert_allclose(run_eagerly_and_compiled(run), expected, rtol=1e-5)


def test_persistent_tape_differentiates_its_gradient():
    x = podium.Variable(2.0)
    with podium.GradientTape(persistent=True) as tape:
        y = x * x * x
        dy = tape.gradient(y, x)
    assert float(tape.gradient(dy, x)) == 12.0


def test_jacobian_and_batch_jacobian_equal_jax():
    x = podium.Variable(np.random.default_rng(0).normal(size=(3, 2)).astype("float32"))
    w = podium.Variable(np.random.default_rng(1).normal(size=(2, 4)).astype("float32"))
    f = lambda x, w: jnp.tanh(x @ w)

    def run():
        with podium.GradientTape(persistent=True) as tape:
            y = ops.tanh(x @ w)
        return tape.jacobian(y, [x, w]), tape.batch_jacobian(y, x)

    (jx, jw), batched = run_eagerly_and_compiled(run)
    np.testing.assert_allclose(jx, jax.jacrev(f, 0)(x.value, w.value), atol=1e-6)
    np.testing.assert_allclose(jw, jax.jacrev(f, 1)(x.value, w.value), atol=1e-6)
    np.testing.assert_allclose(
        batched, jax.vmap(jax.jacrev(f), (0, None))(x.value, w.value), atol=1e-6
    )


def test_outer_tape_differentiates_a_jacobian():
    x = podium.Variable([1.0, 2.0])
    with podium.GradientTape() as outer:
        with podium.GradientTape() as tape:
            y = x * x * x
        jacobian = tape.jacobian(y, x)
        total = ops.sum(jacobian)
    assert outer.gradient(total, x).numpy().tolist() == [6.0, 12.0]


def test_stop_gradient_and_custom_gradient_change_gradients():
    x = podium.Variable(3.0)

    @podium.custom_gradient
    def scaled(a, b):
        return a * b, lambda upstream: (upstream * 100.0, upstream * 1000.0)

    def run():
        with podium.GradientTape(persistent=True) as tape:
            y = x * podium.stop_gradient(x)
            z = scaled(x, 2 * x)
        return tape.gradient(y, x), tape.gradient(z, x)

    assert run_eagerly_and_compiled(run) == (3.0, 2100.0)
    with podium.GradientTape() as tape:
        y = podium.stop_gradient(x * 2)
        z = y + x
    assert tape.gradient(z, [x, y])[0].numpy() == 1.0


def test_integer_inputs_and_outputs_are_allowed_among_floats():
    table = podium.Variable(np.arange(12.0, dtype="float32").reshape(4, 3))
    ids = podium.Tensor([1, 1, 3])
    with podium.GradientTape() as tape:
        rows = ops.take(table, ids, axis=0)
        biggest = ops.argmax(rows, axis=-1)
        y = ops.sum(rows * ops.cast(biggest, "float32")[:, None])
    assert tape.gradient(y, table).numpy()[:, 0].tolist() == [0.0, 4.0, 0.0, 2.0]


def test_gradients_pass_through_state_updates():
    x0, x1 = podium.Variable(3.0), podium.Variable(1.0)

    def run():
        x1.assign(1.0)
        with podium.GradientTape(persistent=True) as tape:
            x1.assign_add(x0 * 2)
            y = x1 * x1
            x1.assign(5.0)
            z = x1 * x1
        return (
            tape.gradient(y, x0),
            tape.gradient(y, x1),
            tape.gradient(z, x1),
            tape.gradient([y, z], x1),
        )

    assert run_eagerly_and_compiled(run) == (28.0, 14.0, 10.0, 24.0)


def test_unrolled_inner_updates_match_the_functional_form():
    w = podium.Variable(0.5)

    def run():
        w.assign(0.5)
        with podium.GradientTape() as outer:
            for _ in range(3):
                with podium.GradientTape() as inner:
                    loss = ops.sin(w) * w
                w.assign_sub(0.1 * inner.gradient(loss, w))
            final = ops.sin(w) * w
        return outer.gradient(final, w)

    def functional(v):
        f = lambda u: jnp.sin(u) * u
        for _ in range(3):
            v = v - 0.1 * jax.grad(f)(v)
        return f(v)

    np.testing.assert_allclose(run_eagerly_and_compiled(run), jax.grad(functional)(0.5), rtol=1e-5)


def test_tape_records_across_python_control_flow():
    w = podium.Variable([0.1, 0.2])
    with podium.GradientTape() as tape:
        losses, state = [], 1.0
        for _ in range(5):
            probabilities = ops.softmax(w * state)
            choice = int(np.argmax(np.squeeze(probabilities)))
            losses.append(-ops.log(probabilities[choice]))
            state = state + choice
        total = sum(losses)
    assert tape.gradient(total, w).shape == (2,)


def test_forward_mode_equals_jvp_and_computes_hessian_vector_products():
    x = podium.Variable([1.0, 2.0, 3.0])
    v = podium.Tensor([1.0, 0.0, -1.0])

    def run():
        with podium.ForwardAccumulator(x, v) as accumulator:
            with podium.GradientTape() as tape:
                y = ops.sum(ops.exp(x) * x)
            gradient = tape.gradient(y, x)
        return accumulator.jvp(y), accumulator.jvp(gradient)

    f = lambda u: jnp.sum(jnp.exp(u) * u)
    jvp, hvp = run_eagerly_and_compiled(run)
    np.testing.assert_allclose(jvp, jax.jvp(f, (x.value,), (v.value,))[1], rtol=1e-6)
    np.testing.assert_allclose(hvp, jax.jvp(jax.grad(f), (x.value,), (v.value,))[1], rtol=1e-5)
    with podium.ForwardAccumulator(x, v) as accumulator:
        unconnected = podium.Tensor(1.0) * 2
    assert accumulator.jvp(unconnected) is None
    assert float(accumulator.jvp(unconnected, unconnected_gradients="zero")) == 0.0
    with pytest.raises(
        ValueError, match=r"primal of shape \(3,\) was given a tangent of shape \(2,\)"
    ):
        podium.ForwardAccumulator(x, podium.Tensor([1.0, 2.0]))


def test_opening_an_open_tape_raises():
    with podium.GradientTape() as tape, pytest.raises(RuntimeError, match="already open"), tape:
        pass


def test_tape_can_be_opened_again_to_record_more():
    x = podium.Variable(2.0)
    tape = podium.GradientTape()
    with tape:
        y = x * x
    with tape:
        z = y * x
    assert float(tape.gradient(z, x)) == 12.0


def test_exception_inside_a_tape_closes_it():
    with pytest.raises(KeyError), podium.GradientTape():
        raise KeyError
    assert float(jnp.sum(podium.Variable(1.0))) == 1.0
