"""What every optimizer does around its rule: gradients in, state beside variables, options,
compiled steps.
"""

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


def numbers(variables):
    return [np.asarray(variable.numpy(), "float32") for variable in variables]


def gradients(step=0):
    return [Tensor([[0.1, -0.2], [0.3 + step, 0.4]]), Tensor([0.5, 0.6 - step])]


# --- the ways to apply gradients


def test_all_ways_to_apply_give_the_same():
    results = []
    for way in ("apply", "pairs", "built", "tape", "function"):
        variables, optimizer = weights(), optimizers.SGD(0.1, momentum=0.9)

        def loss(variables=variables):
            return sum(ops.sum(ops.square(variable)) for variable in variables)

        with GradientTape() as tape:
            value = loss()
        if way == "function":
            count = optimizer.minimize(loss, variables)
        elif way == "tape":
            count = optimizer.minimize(value, lambda variables=variables: variables, tape=tape)
        else:
            found = tape.gradient(value, variables)
            if way == "apply":
                assert optimizer.apply(found, variables) is None
            elif way == "pairs":
                count = optimizer.apply_gradients(
                    zip(found, variables, strict=True), name="ignored"
                )
            else:
                optimizer.build(variables)
                optimizer.apply(found)
        assert int(count if way in ("function", "tape", "pairs") else optimizer.iterations) == 1
        results.append(numbers(variables))
    for result in results[1:]:
        jax.tree.map(np.testing.assert_array_equal, result, results[0])


def test_minimize_needs_the_tape_of_a_loss_that_is_a_value():
    with pytest.raises(ValueError, match=r"without the tape that recorded it\. Pass `tape=`"):
        optimizers.SGD().minimize(Tensor(1.0), weights())


def test_numpy_and_jax_gradients_are_taken():
    for gradient in (np.ones(2), jnp.ones(2), [1.0, 1.0]):
        w = Variable([1.0, 2.0])
        optimizers.SGD(0.5).apply([gradient], [w])
        np.testing.assert_array_equal(w.numpy(), [0.5, 1.5])


def test_an_update_is_not_recorded_on_open_tapes():
    w, optimizer = Variable(3.0), optimizers.Adam(0.1)
    with GradientTape(persistent=True) as outer:
        with GradientTape() as inner:
            loss = w * w
        optimizer.apply_gradients([(inner.gradient(loss, w), w)])
        after = w * w
    assert float(outer.gradient(after, w)) == pytest.approx(2 * float(w))


# --- missing and wrong gradients


def test_missing_gradients_are_mentioned_once_and_their_variables_stay():
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


def test_no_gradient_at_all_is_an_error():
    with pytest.raises(
        ValueError, match=r"No gradients provided for any variable: 'sgd' .* \['kernel', 'bias'\]"
    ):
        optimizers.SGD().apply([None, None], weights())


def test_no_variables_is_nothing_to_do():
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
        (lambda o, v: o.apply(gradients()), ValueError, "without variables before it knows any"),
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
def test_wrong_calls_are_explained(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call(optimizers.SGD(), weights())


# --- state


def test_variables_met_later_get_state_then():
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


def test_variables_lists_all_state_and_may_be_called_as_in_keras_2():
    optimizer = optimizers.SGD(momentum=0.5, name="slow")
    optimizer.build(weights())
    assert [variable.path for variable in optimizer.variables()] == [
        "slow/iteration", "slow/learning_rate", "slow/kernel_momentum", "slow/bias_momentum",
    ]  # fmt: skip
    assert optimizer.weights == optimizer.variables


def test_state_goes_out_and_in_again():
    first, variables = optimizers.Nadam(0.1), weights()
    for step in range(3):
        first.apply(gradients(step), variables)
    store, others = {}, [Variable(variable.numpy(), name=variable.name) for variable in variables]
    first.save_own_variables(store)
    second = optimizers.Nadam()
    second.build(others)
    second.load_own_variables(store)
    first.apply(gradients(3), variables)
    second.apply(gradients(3), others)
    jax.tree.map(np.testing.assert_array_equal, numbers(others), numbers(variables))
    with pytest.raises(ValueError, match=r"set_weights was given 1 values for 7 Variables"):
        second.set_weights(first.get_weights()[:1])


def test_a_deep_copy_goes_its_own_way():
    optimizer, variables = optimizers.Adam(0.1), weights()
    optimizer.apply(gradients(), variables)
    other, copies = copy.deepcopy((optimizer, variables))
    optimizer.apply(gradients(), variables)
    other.apply(gradients(), copies)
    jax.tree.map(np.testing.assert_array_equal, numbers(copies), numbers(variables))
    assert len(other.variables) == len(optimizer.variables)


def test_stateless_apply_gives_the_new_values_and_changes_nothing():
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
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), values, numbers(variables)
    )
    assert int(state[0]) == 1


# --- compiled steps


@pytest.mark.parametrize("name", NAMES)
def test_compiled_equals_eager_with_state_made_in_the_first_trace(name):
    options = {
        "clipnorm": 0.4,
        "use_ema": True,
        "gradient_accumulation_steps": 2,
        "weight_decay": 0.1,
    }
    eager, compiled = (
        optimizers.deserialize({"class_name": name, "config": options}) for _ in range(2)
    )
    ours, theirs = weights(), weights()

    @podium.function
    def step(kernel, bias):
        compiled.apply_gradients(zip([kernel, bias], theirs, strict=True))

    for count in range(5):
        eager.apply(gradients(count), ours)
        step(*gradients(count))
    assert step.trace_count == 1 and int(eager.iterations) == int(compiled.iterations) == 2
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7),
        numbers(theirs),
        numbers(ours),
    )


def test_two_optimizers_in_one_step_change_their_own_variables():
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


def test_a_schedule_free_first_trace_starts_from_the_values_before_it():
    eager, compiled = optimizers.ScheduleFreeAdamW(0.1), optimizers.ScheduleFreeAdamW(0.1)
    ours, theirs = weights(), weights()
    step = podium.function(lambda kernel, bias: compiled.apply([kernel, bias], theirs))
    for count in range(3):
        eager.apply(gradients(count), ours)
        step(*gradients(count))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6), numbers(theirs), numbers(ours)
    )


# --- options


def test_constraints_hold_after_updates():
    w = Variable([1.0, 2.0], constraint=constraints.NonNeg())
    optimizers.SGD(1.0).apply([Tensor([5.0, 1.0])], [w])
    np.testing.assert_array_equal(w.numpy(), [0.0, 1.0])


def test_accumulated_gradients_change_weights_every_nth_call_by_their_mean():
    w, optimizer = Variable(1.0), optimizers.SGD(0.5, gradient_accumulation_steps=3)
    seen = []
    for gradient in (1.0, 2.0, 6.0, 3.0):
        optimizer.apply([Tensor(gradient)], [w])
        seen.append(float(w))
    assert seen == [1.0, 1.0, -0.5, -0.5]
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


def test_weight_decay_leaves_out_what_is_excluded():
    kernel, bias, scale = *weights(), Variable([1.0, 1.0], name="scale")
    optimizer = optimizers.SGD(0.5, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_list=[scale], var_names=["bias"])
    zero = [ops.zeros_like(variable) for variable in (kernel, bias, scale)]
    optimizer.apply(zero, [kernel, bias, scale])
    assert (float(kernel[0, 0]), float(bias[0]), float(scale[0])) == (0.75, 1.0, 1.0)
    with pytest.raises(RuntimeError, match="after its first update"):
        optimizer.exclude_from_weight_decay(var_names=["kernel"])


def test_bfloat16_variables_move_although_adams_numbers_do_not_fit_into_the_type():
    for name in ("Adam", "Nadam", "Lamb"):
        w, optimizer = Variable([1.0, 1.0], dtype="bfloat16"), optimizers.get(name)
        optimizer.learning_rate = 0.05
        for _ in range(3):
            optimizer.apply([jnp.ones(2, "bfloat16")], [w])
        assert w.dtype == optimizer.variables[-1].dtype == "bfloat16" or name == "Nadam"
        np.testing.assert_allclose(w.numpy().astype("float32"), 0.85, atol=0.03)


def test_variables_overwritten_by_their_gradients():
    w, scale = Variable(1.0), Variable(1.0)
    scale.overwrite_with_gradient = True
    optimizer = optimizers.Adam(0.5)
    optimizer.apply([Tensor(2.0), Tensor(7.0)], [w, scale])
    assert (
        float(scale) == 7.0
        and float(w) == pytest.approx(0.5, rel=1e-4)
        and len(optimizer.variables) == 4
    )


# --- optimizers of users


class Momentum(optimizers.Optimizer):
    """Written the way Keras 3 documents it."""

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
def test_an_optimizer_written_as_keras_documents_it(options):
    own, ours, theirs = Momentum(0.1, **options), weights(), weights()
    built_in = optimizers.SGD(0.1, momentum=0.9, **options)
    step = podium.function(lambda kernel, bias: own.apply([kernel, bias], ours))
    for count in range(4):
        step(*gradients(count))
        built_in.apply(gradients(count), theirs)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), numbers(ours), numbers(theirs)
    )
    assert [variable.shape for variable in own.variables] == [
        variable.shape for variable in built_in.variables
    ]
    with pytest.raises(
        ValueError, match="variables that it was not built with, and Momentum makes its state"
    ):
        own.apply([Tensor(1.0)], [Variable(1.0)])


def test_a_subclass_may_change_the_gradient_of_a_built_in_rule():
    class Doubled(optimizers.Adagrad):
        def update_step(self, gradient, variable, learning_rate):
            super().update_step(2 * gradient, variable, learning_rate)

    ours, theirs = weights(), weights()
    Doubled(0.1).apply(gradients(), ours)
    optimizers.Adagrad(0.1).apply([2 * gradient for gradient in gradients()], theirs)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), numbers(ours), numbers(theirs)
    )


def test_a_base_without_a_rule_says_what_is_missing():
    with pytest.raises(NotImplementedError, match="Optimizer has no `update_step`"):
        optimizers.Optimizer(0.1).apply([Tensor(1.0)], [Variable(1.0)])
