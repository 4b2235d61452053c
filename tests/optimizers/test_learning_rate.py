"""The learning rate as a number, a schedule or a function; validation of arguments; `get`."""

import math
import re

import numpy as np
import pytest

import podium
from podium import ops, optimizers
from podium.core import Tensor, Variable, custom_object_scope, register_keras_serializable
from podium.optimizers import schedules


def value_after_step(optimizer, variable=None):
    w = Variable(1.0) if variable is None else variable
    optimizer.apply([Tensor(1.0)], [w])
    return float(w)


@pytest.mark.parametrize("change", ["set", "assign", "lr", "lr_assign", "numpy", "tensor"])
def test_setting_the_learning_rate_does_not_recompile_the_step(change):
    optimizer, w = optimizers.SGD(0.5), Variable(1.0)

    @podium.function
    def step():
        optimizer.apply([Tensor(1.0)], [w])

    step()
    if change == "set":
        optimizer.learning_rate = 0.25
    elif change == "assign":
        optimizer.learning_rate.assign(0.25)
    elif change == "lr":
        optimizer.lr = 0.25
    elif change == "lr_assign":
        optimizer.lr.assign(0.25)
    else:
        optimizer.learning_rate = np.float32(0.25) if change == "numpy" else Tensor(0.25)
    step()
    assert float(w) == 0.25 and step.trace_count == 1 and float(optimizer.lr) == 0.25


def test_learning_rate_can_be_set_inside_a_compiled_step():
    optimizer, w = optimizers.SGD(0.5), Variable(1.0)

    @podium.function
    def step(x):
        optimizer.learning_rate = optimizer.learning_rate * 0.5
        optimizer.apply([x], [w])

    step(Tensor(1.0))
    step(Tensor(1.0))
    assert float(w) == 0.625 and float(optimizer.learning_rate) == 0.125


@pytest.mark.parametrize("value", [1, 0, 0.0, np.float64(0.5), Tensor(0.25)])
def test_learning_rate_accepts_ints_floats_numpy_scalars_and_tensors(value):
    assert float(optimizers.Adam(value).learning_rate) == float(value)


def test_a_variable_as_learning_rate_is_shared():
    rate = Variable(0.5)
    assert value_after_step(optimizers.SGD(rate)) == 0.5
    assert optimizers.SGD(rate).learning_rate is rate


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (
            math.nan,
            ValueError,
            "learning_rate=nan was given; a finite number of at least 0 was expected",
        ),
        (-0.1, ValueError, "learning_rate=-0.1 was given"),
        (math.inf, ValueError, "learning_rate=inf was given"),
        (
            "fast",
            TypeError,
            "learning_rate='fast' was given; a number of at least 0, a LearningRateSchedule or "
            "a function",
        ),
        (None, TypeError, "learning_rate=None was given"),
        (True, TypeError, "learning_rate=True was given"),
    ],
)
def test_invalid_learning_rates_raise(value, error, message):
    with pytest.raises(error, match=re.escape(message)):
        optimizers.Adam(value)
    optimizer = optimizers.Adam()
    with pytest.raises(error, match=re.escape(message)):
        optimizer.learning_rate = value
    assert float(optimizer.learning_rate) == pytest.approx(0.001)


def test_learning_rate_as_function_without_arguments_or_of_the_step():
    assert value_after_step(optimizers.SGD(lambda: 0.5)) == 0.5
    optimizer, w = optimizers.SGD(lambda step: 0.5 / (1.0 + step)), Variable(1.0)
    value_after_step(optimizer, w)
    assert value_after_step(optimizer, w) == 0.25
    import optax

    assert value_after_step(optimizers.SGD(optax.constant_schedule(0.5))) == 0.5


def test_a_schedule_counts_steps_inside_a_compiled_step():
    optimizer, w = (
        optimizers.SGD(schedules.PiecewiseConstantDecay([0, 1], [0.5, 0.25, 0.125])),
        Variable(1.0),
    )
    step = podium.function(lambda: optimizer.apply([Tensor(1.0)], [w]))
    values = []
    for _ in range(4):
        step()
        values.append(float(w))
    assert values == [0.5, 0.25, 0.125, 0.0] and step.trace_count == 1
    assert float(optimizer.learning_rate) == 0.125 and float(optimizer.lr) == 0.125


@pytest.mark.parametrize("rate", [schedules.CosineDecay(0.1, 10), lambda: 0.1])
def test_replacing_a_schedule_by_a_number_raises(rate):
    optimizer = optimizers.SGD(rate)
    with pytest.raises(
        TypeError,
        match=r"learning_rate=0\.5 was set on an optimizer whose learning rate follows a "
        r".*schedule",
    ):
        optimizer.learning_rate = 0.5


def test_a_schedule_can_replace_a_number():
    optimizer = optimizers.SGD(0.5)
    optimizer.learning_rate = schedules.InverseTimeDecay(0.25, 1, 1.0)
    assert value_after_step(optimizer) == 0.75
    assert [variable.name for variable in optimizer.variables] == ["iteration"]


def test_keras_2_argument_names():
    assert float(optimizers.legacy.Adam(lr=0.5).lr) == 0.5
    optimizer, w = optimizers.legacy.SGD(lr=1.0, decay=1.0), Variable(1.0)
    values = [value_after_step(optimizer, w) for _ in range(3)]
    np.testing.assert_allclose(values, [0.0, -0.5, -0.5 - 1 / 3], rtol=1e-6)
    optimizer.lr = 0.0
    assert value_after_step(optimizer, w) == values[-1]
    assert optimizers.deserialize(optimizers.serialize(optimizer)).decay == 1.0
    assert (
        optimizers.deserialize({"class_name": "SGD", "config": {"lr": 0.5, "jit_compile": True}}).lr
        == 0.5
    )


# --- schedules as configs


@register_keras_serializable("test")
class Halving(schedules.LearningRateSchedule):
    """A custom schedule."""

    def __init__(self, first):
        self.first = first

    def __call__(self, step):
        return self.first * 0.5 ** ops.cast(step, "float32")

    def get_config(self):
        return {"first": self.first}


def constant():
    return 0.5


def test_schedules_and_functions_are_restored_from_configs():
    optimizer = optimizers.SGD(Halving(0.5))
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    w = Variable(1.0)
    assert (value_after_step(again, w), value_after_step(again, w)) == (0.5, 0.25)
    config = optimizers.serialize(optimizers.SGD(constant))
    with custom_object_scope({"constant": constant}):
        assert value_after_step(optimizers.deserialize(config)) == 0.5
    assert (
        value_after_step(optimizers.deserialize(config, custom_objects={"constant": constant}))
        == 0.5
    )
    with pytest.raises(
        ValueError, match=r"is the function 'constant', which is not registered\. Register it"
    ):
        optimizers.deserialize(config)


def test_a_schedule_without_required_methods_raises():
    class Empty(schedules.LearningRateSchedule):
        pass

    with pytest.raises(NotImplementedError, match="Empty has no `__call__`"):
        optimizers.SGD(Empty()).learning_rate  # noqa: B018
    with pytest.raises(NotImplementedError, match="Empty has no `get_config`"):
        optimizers.SGD(Empty()).get_config()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: schedules.CosineDecay(0.1, 0),
            "decay_steps=0 was given to a schedule; a number of steps above 0",
        ),
        (lambda: schedules.CosineDecayRestarts(0.1, -1), "first_decay_steps=-1"),
        (lambda: schedules.PiecewiseConstantDecay([1], [0.1]), "1 boundaries and 1 values"),
        (lambda: schedules.PiecewiseConstantDecay([2, 1], [0.1, 0.2, 0.3]), "ascending"),
        (
            lambda: schedules.deserialize({"class_name": "CosineDekay"}),
            "Did you mean 'cosine_decay'",
        ),
    ],
)
def test_invalid_schedules_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- other arguments


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: optimizers.Adam(beta_1=1.0),
            ValueError,
            "beta_1=1.0 was given; a number from 0 to below 1 was expected",
        ),
        (lambda: optimizers.Adam(beta_2=-0.1), ValueError, "beta_2=-0.1 was given"),
        (lambda: optimizers.Adam(epsilon="small"), TypeError, "epsilon='small' was given"),
        (
            lambda: optimizers.SGD(momentum=1.5),
            ValueError,
            "momentum=1.5 was given; a number from 0 to 1 was expected",
        ),
        (lambda: optimizers.Lion(beta_1=0), ValueError, "beta_1=0.0 was given to Lion"),
        (
            lambda: optimizers.Ftrl(learning_rate_power=0.5),
            ValueError,
            "power=0.5 was given; a finite number of at most 0",
        ),
        (
            lambda: optimizers.SGD(clipnorm=1.0, clipvalue=1.0),
            ValueError,
            "clipnorm=1.0 and clipvalue=1.0 were given; only one",
        ),
        (lambda: optimizers.SGD(clipnorm=-1.0), ValueError, "clipnorm=-1.0 was given"),
        (
            lambda: optimizers.SGD(use_ema=True, ema_momentum=2),
            ValueError,
            "ema_momentum=2 was given",
        ),
        (
            lambda: optimizers.SGD(ema_overwrite_frequency=0),
            ValueError,
            "ema_overwrite_frequency=0 was given",
        ),
        (
            lambda: optimizers.SGD(gradient_accumulation_steps=1),
            ValueError,
            "steps=1 was given; an int of at least 2",
        ),
        (lambda: optimizers.AdamW(weight_decay=None), TypeError, "use Adam"),
        (
            lambda: optimizers.Adam(beta1=0.5),
            TypeError,
            "was given beta1=0.5, which is not one of its arguments. Did you mean 'beta_1'?",
        ),
    ],
)
def test_invalid_arguments_raise(make, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make()


# --- the argument `optimizer`


def test_get_accepts_names_configs_classes_and_instances():
    adam = optimizers.Adam()
    assert optimizers.get(adam) is adam and optimizers.get(None) is None
    for identifier in (
        "adam",
        "Adam",
        "ADAM",
        {"class_name": "Adam", "config": {}},
        optimizers.Adam,
    ):
        assert type(optimizers.get(identifier)) is optimizers.Adam
    with custom_object_scope({"Custom": optimizers.SGD}):
        assert type(optimizers.get("Custom")) is optimizers.SGD


@pytest.mark.parametrize("value", [3, 0.001, [optimizers.Adam], constant, int])
def test_get_rejects_other_values(value):
    with pytest.raises(
        TypeError, match=re.escape(f"optimizer={value!r} was given; a name such as 'adam'")
    ):
        optimizers.get(value)


def test_unknown_names_raise_with_the_closest_name():
    with pytest.raises(ValueError, match=r"Unknown optimizer 'adamm'\. Did you mean 'adam'\?"):
        optimizers.get("Adamm")
