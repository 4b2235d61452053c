"""Behavior that all optimizers share: applying gradients, state, options, compiled steps."""

import copy
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import constraints, ops, optimizers
from podium.core import GradientTape, Tensor, Variable

NAMES = [
    "SGD",
    "RMSprop",
    "Adam",
    "AdamW",
    "Adadelta",
    "Adagrad",
    "Adamax",
    "Nadam",
    "Ftrl",
    "Lion",
    "Lamb",
    "Adafactor",
    "Muon",
]


def weights():
    return [Variable([[1.0, 2.0], [3.0, 4.0]], name="kernel"), Variable([1.0, -1.0], name="bias")]


def as_arrays(variables):
    return [np.asarray(variable.numpy(), "float32") for variable in variables]


def gradients(step=0):
    return [Tensor([[0.1, -0.2], [0.3 + step, 0.4]]), Tensor([0.5, 0.6 - step])]


# --- forms of applying gradients


def test_all_forms_of_applying_gradients_agree():
    results = []
    for form in ("apply", "pairs", "built", "tape", "function"):
        variables, optimizer = weights(), optimizers.SGD(0.1, momentum=0.9)

        def loss(variables=variables):
            return sum(ops.sum(ops.square(variable)) for variable in variables)

        with GradientTape() as tape:
            value = loss()
        if form == "function":
            count = optimizer.minimize(loss, variables)
        elif form == "tape":
            count = optimizer.minimize(value, lambda variables=variables: variables, tape=tape)
        else:
            grads = tape.gradient(value, variables)
            if form == "apply":
                assert optimizer.apply(grads, variables) is None
            elif form == "pairs":
                count = optimizer.apply_gradients(
                    zip(grads, variables, strict=True), name="ignored"
                )
            else:
                optimizer.build(variables)
                optimizer.apply(grads)
        assert int(count if form in ("function", "tape", "pairs") else optimizer.iterations) == 1
        results.append(as_arrays(variables))
    for result in results[1:]:
        jax.tree.map(np.testing.assert_array_equal, result, results[0])


def test_minimize_of_a_computed_loss_requires_its_tape():
    with pytest.raises(ValueError, match=r"without the tape that recorded it\. Pass `tape=`"):
        optimizers.SGD().minimize(Tensor(1.0), weights())


def test_apply_accepts_numpy_arrays_jax_arrays_and_lists():
    for gradient in (np.ones(2), jnp.ones(2), [1.0, 1.0]):
        w = Variable([1.0, 2.0])
        optimizers.SGD(0.5).apply([gradient], [w])
        np.testing.assert_array_equal(w.numpy(), [0.5, 1.5])


def test_updates_are_not_recorded_on_open_tapes():
    w, optimizer = Variable(3.0), optimizers.Adam(0.1)
    with GradientTape(persistent=True) as outer:
        with GradientTape() as inner:
            loss = w * w
        optimizer.apply_gradients([(inner.gradient(loss, w), w)])
        after = w * w
    assert float(outer.gradient(after, w)) == pytest.approx(2 * float(w))


# --- missing and wrong gradients


def test_missing_gradients_warn_once_and_leave_variables_unchanged():
    (kernel, bias), optimizer = weights(), optimizers.Adam()
    with pytest.warns(
        UserWarning, match=r"Gradients do not exist for variables \['bias'\]"
    ) as caught:
        optimizer.apply_gradients([(gradients()[0], kernel), (None, bias)])
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.apply_gradients([(gradients()[0], kernel), (None, bias)])
    np.testing.assert_array_equal(bias.numpy(), [1.0, -1.0])


def test_apply_without_any_gradient_raises():
    with pytest.raises(
        ValueError, match=r"No gradients provided for any variable: 'sgd' .* \['kernel', 'bias'\]"
    ):
        optimizers.SGD().apply([None, None], weights())


def test_apply_gradients_without_variables_does_nothing():
    optimizer = optimizers.SGD()
    optimizer.apply_gradients([])
    assert int(optimizer.iterations) == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda o, v: o.apply(gradients()[:1], v),
            ValueError,
            "was given 1 gradients for 2 variables",
        ),
        (
            lambda o, v: o.apply(gradients()[::-1], v),
            ValueError,
            "of shape (2,) for variable 'kernel' of shape (2, 2)",
        ),
        (lambda o, v: o.apply(gradients()), ValueError, "without variables before it was built"),
        (
            lambda o, v: o.apply(gradients(), ["kernel", "bias"]),
            TypeError,
            "was given 'kernel' to train; a Variable",
        ),
        (
            lambda o, v: o.apply_gradients([(1, 2, 3)]),
            ValueError,
            "takes pairs of a gradient and its variable",
        ),
        (lambda o, v: o.set_weights([1]), RuntimeError, "before it has slots"),
        (lambda o, v: o.stateless_apply([], [], v), ValueError, "was given 2 and 0 values"),
    ],
)
def test_invalid_calls_raise(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call(optimizers.SGD(), weights())


# --- state


def test_state_is_created_for_variables_added_later():
    (kernel, bias), optimizer = weights(), optimizers.Adam(0.1)
    optimizer.apply([gradients()[1]], [bias])
    optimizer.apply(gradients(), [kernel, bias])
    optimizer.apply([gradients()[0]], [kernel])
    names = [variable.name for variable in optimizer.variables]
    assert names == [
        "iteration",
        "learning_rate",
        "bias_momentum",
        "bias_velocity",
        "kernel_momentum",
        "kernel_velocity",
    ]


def test_variables_lists_all_state_as_property_and_as_method():
    optimizer = optimizers.SGD(momentum=0.5, name="slow")
    optimizer.build(weights())
    assert [variable.path for variable in optimizer.variables()] == [
        "slow/iteration", "slow/learning_rate", "slow/kernel_momentum", "slow/bias_momentum",
    ]  # fmt: skip
    assert optimizer.weights == optimizer.variables


def test_saved_state_loads_into_another_optimizer():
    first, variables = optimizers.Nadam(0.1), weights()
    for step in range(3):
        first.apply(gradients(step), variables)
    store = {}
    copies = [Variable(variable.numpy(), name=variable.name) for variable in variables]
    first.save_own_variables(store)
    second = optimizers.Nadam()
    second.build(copies)
    second.load_own_variables(store)
    first.apply(gradients(3), variables)
    second.apply(gradients(3), copies)
    jax.tree.map(np.testing.assert_array_equal, as_arrays(copies), as_arrays(variables))
    with pytest.raises(ValueError, match=r"set_weights was given 1 values for 7 Variables"):
        second.set_weights(first.get_weights()[:1])


def test_a_deep_copy_is_independent():
    optimizer, variables = optimizers.Adam(0.1), weights()
    optimizer.apply(gradients(), variables)
    copied, copies = copy.deepcopy((optimizer, variables))
    optimizer.apply(gradients(), variables)
    copied.apply(gradients(), copies)
    jax.tree.map(np.testing.assert_array_equal, as_arrays(copies), as_arrays(variables))
    assert len(copied.variables) == len(optimizer.variables)


def test_stateless_apply_returns_new_values_and_leaves_state_unchanged():
    optimizer, variables = optimizers.Adam(0.1), weights()
    optimizer.build(variables)
    before = optimizer.get_weights()
    raw = [gradient.value for gradient in gradients()]
    values, state = jax.jit(optimizer.stateless_apply)(
        [v.value for v in optimizer.variables], raw, [v.value for v in variables]
    )
    jax.tree.map(np.testing.assert_array_equal, optimizer.get_weights(), before)
    optimizer.apply(gradients(), variables)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), values, as_arrays(variables)
    )
    assert int(state[0]) == 1


# --- compiled steps


@pytest.mark.parametrize("name", NAMES)
def test_compiled_equals_eager_with_state_created_while_tracing(name):
    options = {
        "clipnorm": 0.4,
        "use_ema": True,
        "gradient_accumulation_steps": 2,
        "weight_decay": 0.1,
    }
    eager, compiled = (
        optimizers.deserialize({"class_name": name, "config": options}) for _ in range(2)
    )
    eager_weights, compiled_weights = weights(), weights()

    @podium.function
    def step(kernel, bias):
        compiled.apply_gradients(zip([kernel, bias], compiled_weights, strict=True))

    for count in range(5):
        eager.apply(gradients(count), eager_weights)
        step(*gradients(count))
    assert step.trace_count == 1 and int(eager.iterations) == int(compiled.iterations) == 2
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7),
        as_arrays(compiled_weights),
        as_arrays(eager_weights),
    )


def test_two_optimizers_in_one_step_update_separate_variables():
    (kernel, bias), slow, fast = weights(), optimizers.SGD(0.1), optimizers.Adam(1.0)

    @podium.function
    def step(x):
        with GradientTape(persistent=True) as tape:
            loss = ops.sum(ops.matmul(x, kernel) + bias)
        slow.minimize(loss, [kernel], tape=tape)
        fast.minimize(loss, [bias], tape=tape)
        return loss

    for _ in range(2):
        step(np.ones((1, 2), "float32"))
    np.testing.assert_allclose(kernel.numpy(), [[0.8, 1.8], [2.8, 3.8]], rtol=1e-6)
    np.testing.assert_allclose(bias.numpy(), [-1.0, -3.0], rtol=1e-4)
    assert step.trace_count == 1 and len(slow.variables) == 2 and len(fast.variables) == 4


def test_a_schedule_free_optimizer_starts_from_the_values_before_the_first_trace():
    eager, compiled = optimizers.ScheduleFreeAdamW(0.1), optimizers.ScheduleFreeAdamW(0.1)
    eager_weights, compiled_weights = weights(), weights()
    step = podium.function(lambda kernel, bias: compiled.apply([kernel, bias], compiled_weights))
    for count in range(3):
        eager.apply(gradients(count), eager_weights)
        step(*gradients(count))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6),
        as_arrays(compiled_weights),
        as_arrays(eager_weights),
    )


# --- options


def test_constraints_are_applied_after_updates():
    w = Variable([1.0, 2.0], constraint=constraints.NonNeg())
    optimizers.SGD(1.0).apply([Tensor([5.0, 1.0])], [w])
    np.testing.assert_array_equal(w.numpy(), [0.0, 1.0])


def test_accumulated_gradients_are_applied_as_their_mean_every_nth_call():
    w, optimizer = Variable(1.0), optimizers.SGD(0.5, gradient_accumulation_steps=3)
    values = []
    for gradient in (1.0, 2.0, 6.0, 3.0):
        optimizer.apply([Tensor(gradient)], [w])
        values.append(float(w))
    assert values == [1.0, 1.0, -0.5, -0.5]
    assert int(optimizer.iterations) == 1 and int(optimizer._iterations) == 4


def test_a_loss_scale_factor_cancels_out():
    w, optimizer = Variable(2.0), optimizers.SGD(0.1, loss_scale_factor=64.0)
    with GradientTape() as tape:
        scaled = optimizer.scale_loss(w * w)
    assert float(scaled) == 256.0
    optimizer.apply_gradients([(tape.gradient(scaled, w), w)])
    assert float(w) == pytest.approx(1.6)
    optimizer.minimize(lambda: w * w, [w])
    assert float(w) == pytest.approx(1.28)


def test_weight_decay_skips_excluded_variables():
    kernel, bias, scale = *weights(), Variable([1.0, 1.0], name="scale")
    optimizer = optimizers.SGD(0.5, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_list=[scale], var_names=["bias"])
    zero = [ops.zeros_like(variable) for variable in (kernel, bias, scale)]
    optimizer.apply(zero, [kernel, bias, scale])
    assert (float(kernel[0, 0]), float(bias[0]), float(scale[0])) == (0.75, 1.0, 1.0)
    with pytest.raises(RuntimeError, match="after its first update"):
        optimizer.exclude_from_weight_decay(var_names=["kernel"])


def test_bfloat16_variables_change_although_bfloat16_cannot_represent_the_moments():
    for name in ("Adam", "Nadam", "Lamb"):
        w, optimizer = Variable([1.0, 1.0], dtype="bfloat16"), optimizers.get(name)
        optimizer.learning_rate = 0.05
        for _ in range(3):
            optimizer.apply([jnp.ones(2, "bfloat16")], [w])
        assert w.dtype == optimizer.variables[-1].dtype == "bfloat16" or name == "Nadam"
        np.testing.assert_allclose(w.numpy().astype("float32"), 0.85, atol=0.03)


def test_gradients_replace_variables_marked_overwrite_with_gradient():
    w, scale = Variable(1.0), Variable(1.0)
    scale.overwrite_with_gradient = True
    optimizer = optimizers.Adam(0.5)
    optimizer.apply([Tensor(2.0), Tensor(7.0)], [w, scale])
    assert (
        float(scale) == 7.0
        and float(w) == pytest.approx(0.5, rel=1e-4)
        and len(optimizer.variables) == 4
    )


# --- custom optimizers


class Momentum(optimizers.Optimizer):
    """A custom optimizer in the form that the documentation of Keras 3 shows."""

    def __init__(self, learning_rate=0.1, momentum=0.9, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.momentums = [
            self.add_variable_from_reference(variable, name="momentum") for variable in variables
        ]

    def update_step(self, gradient, variable, learning_rate):
        m = self.momentums[self._get_variable_index(variable)]
        self.assign(
            m, ops.subtract(ops.multiply(m, self.momentum), ops.multiply(gradient, learning_rate))
        )
        self.assign_add(variable, m)

    def get_config(self):
        return {**super().get_config(), "momentum": self.momentum}


@pytest.mark.parametrize(
    "options", [{}, {"gradient_accumulation_steps": 2, "weight_decay": 0.1, "use_ema": True}]
)
def test_a_custom_optimizer_in_the_form_keras_documents(options):
    custom, custom_weights, expected = Momentum(0.1, **options), weights(), weights()
    built_in = optimizers.SGD(0.1, momentum=0.9, **options)
    step = podium.function(lambda kernel, bias: custom.apply([kernel, bias], custom_weights))
    for count in range(4):
        step(*gradients(count))
        built_in.apply(gradients(count), expected)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6),
        as_arrays(custom_weights),
        as_arrays(expected),
    )
    assert [variable.shape for variable in custom.variables] == [
        variable.shape for variable in built_in.variables
    ]
    with pytest.raises(
        ValueError, match="variables that it was not built with, and Momentum creates its state"
    ):
        custom.apply([Tensor(1.0)], [Variable(1.0)])


def test_a_subclass_can_change_the_gradient_of_a_built_in_rule():
    class Doubled(optimizers.Adagrad):
        def update_step(self, gradient, variable, learning_rate):
            super().update_step(2 * gradient, variable, learning_rate)

    custom_weights, expected = weights(), weights()
    Doubled(0.1).apply(gradients(), custom_weights)
    optimizers.Adagrad(0.1).apply([2 * gradient for gradient in gradients()], expected)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6),
        as_arrays(custom_weights),
        as_arrays(expected),
    )


def test_a_custom_optimizer_without_update_step_raises():
    with pytest.raises(NotImplementedError, match="Optimizer has no `update_step`"):
        optimizers.Optimizer(0.1).apply([Tensor(1.0)], [Variable(1.0)])
