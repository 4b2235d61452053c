"""Records what Keras 3 (on JAX) makes of fixed gradients, for every optimizer and schedule. Runs in
the Keras environment only:

KERAS_BACKEND=jax python tests/oracle/record_optimizers.py --out tests/oracle/fixtures
"""

import argparse
import json
import os
import pathlib

os.environ["KERAS_BACKEND"] = "jax"

import jax
import jax.numpy as jnp
import keras
import numpy as np

STEPS = 50
RECORDED = (1, 2, 7, 20, 50)  # the steps after which values are kept
SHAPES = {"kernel": (4, 2), "wide": (2, 3), "bias": (2,)}


def schedule(name, **config):
    return {"class_name": name, "config": config}


FALLING = schedule("ExponentialDecay", initial_learning_rate=0.1, decay_steps=10, decay_rate=0.5)
WARMUP = schedule(
    "CosineDecay", initial_learning_rate=0.0, decay_steps=30, warmup_target=0.1, warmup_steps=10
)

# (optimizer, arguments, further settings of the case)
CASES = [
    *[
        (name, {}, {})
        for name in (
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
            "ScheduleFreeAdamW",
        )
    ],
    *[
        (name, {"learning_rate": 0.01}, {"scale": 1e-6})
        for name in (
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
            "ScheduleFreeAdamW",
        )
    ],
    *[
        (name, {"learning_rate": FALLING}, {})
        for name in (
            "SGD",
            "RMSprop",
            "Adam",
            "Adamax",
            "Nadam",
            "Ftrl",
            "Lamb",
            "Adafactor",
            "Muon",
            "ScheduleFreeAdamW",
        )
    ],
    ("SGD", {"learning_rate": 0.05, "momentum": 0.9}, {}),
    ("SGD", {"learning_rate": 0.05, "momentum": 0.9, "nesterov": True}, {}),
    ("SGD", {"learning_rate": FALLING, "momentum": 0.9}, {}),
    ("SGD", {"learning_rate": FALLING, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {}),
    ("SGD", {"learning_rate": 0.1, "clipnorm": 0.3}, {}),
    ("SGD", {"learning_rate": 0.1, "clipnorm": 0.3}, {"scale": 0.0}),
    ("SGD", {"learning_rate": 0.1, "clipvalue": 0.1}, {}),
    ("SGD", {"learning_rate": 0.1, "global_clipnorm": 0.5}, {}),
    ("SGD", {"learning_rate": 0.1, "global_clipnorm": 50.0}, {}),
    ("SGD", {"learning_rate": 0.1, "use_ema": True, "ema_momentum": 0.8}, {}),
    (
        "SGD",
        {"learning_rate": 0.1, "use_ema": True, "ema_momentum": 0.8, "ema_overwrite_frequency": 7},
        {},
    ),
    ("SGD", {"learning_rate": 0.1, "gradient_accumulation_steps": 4}, {}),
    (
        "SGD",
        {
            "learning_rate": FALLING,
            "momentum": 0.9,
            "gradient_accumulation_steps": 3,
            "global_clipnorm": 0.2,
        },
        {},
    ),
    ("SGD", {"learning_rate": 0.1, "loss_scale_factor": 128.0}, {}),
    ("SGD", {"learning_rate": 0.1, "weight_decay": 0.2}, {"exclude": ["bias"]}),
    ("RMSprop", {"learning_rate": 0.01, "momentum": 0.9}, {}),
    ("RMSprop", {"learning_rate": 0.01, "centered": True, "rho": 0.8}, {}),
    ("RMSprop", {"learning_rate": FALLING, "momentum": 0.5, "centered": True}, {}),
    (
        "RMSprop",
        {"gradient_accumulation_steps": 2, "use_ema": True, "momentum": 0.9, "centered": True},
        {},
    ),
    ("Adam", {"learning_rate": 0.05, "amsgrad": True}, {}),
    ("Adam", {"learning_rate": 0.05, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-3}, {}),
    ("Adam", {"learning_rate": 0.05, "weight_decay": 0.1, "clipnorm": 0.2}, {}),
    ("Adam", {"learning_rate": 0.05, "global_clipnorm": 0.2}, {}),
    ("Adam", {"learning_rate": 0.05, "clipvalue": 0.2, "amsgrad": True}, {}),
    ("Adam", {"learning_rate": 0.05, "gradient_accumulation_steps": 3}, {}),
    (
        "Adam",
        {"learning_rate": 0.05, "use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 5},
        {},
    ),
    (
        "Adam",
        {
            "learning_rate": 0.05,
            "gradient_accumulation_steps": 4,
            "use_ema": True,
            "ema_overwrite_frequency": 2,
            "weight_decay": 0.1,
            "clipnorm": 0.5,
            "loss_scale_factor": 16.0,
        },
        {},
    ),
    ("Adam", {"learning_rate": WARMUP}, {}),
    ("AdamW", {"learning_rate": 0.05, "weight_decay": 0.2}, {"exclude": ["bias"]}),
    ("AdamW", {"learning_rate": WARMUP, "weight_decay": 0.2, "amsgrad": True}, {}),
    ("Adadelta", {"learning_rate": 1.0, "rho": 0.9, "epsilon": 1e-6}, {}),
    ("Adagrad", {"learning_rate": 0.1, "initial_accumulator_value": 0.5}, {}),
    ("Nadam", {"learning_rate": 0.05, "gradient_accumulation_steps": 3}, {}),
    (
        "Ftrl",
        {
            "learning_rate": 0.1,
            "l1_regularization_strength": 0.5,
            "l2_regularization_strength": 0.1,
        },
        {},
    ),
    (
        "Ftrl",
        {
            "learning_rate": 0.1,
            "l2_shrinkage_regularization_strength": 0.2,
            "beta": 0.3,
            "learning_rate_power": -0.7,
            "initial_accumulator_value": 0.3,
        },
        {},
    ),
    ("Lion", {"learning_rate": 0.01, "beta_1": 0.8, "beta_2": 0.95, "weight_decay": 0.1}, {}),
    ("Lamb", {"learning_rate": 0.01, "weight_decay": 0.1}, {}),
    (
        "Adafactor",
        {
            "learning_rate": 0.05,
            "relative_step": False,
            "clip_threshold": 0.5,
            "beta_2_decay": -0.5,
        },
        {},
    ),
    ("Muon", {"learning_rate": 0.05, "exclude_layers": ["wide"], "adam_lr_ratio": 0.5}, {}),
    (
        "Muon",
        {
            "learning_rate": 0.05,
            "nesterov": False,
            "rms_rate": None,
            "ns_steps": 3,
            "weight_decay": None,
        },
        {},
    ),
    ("ScheduleFreeAdamW", {"learning_rate": 0.05, "warmup_steps": 10, "weight_decay": 0.1}, {}),
    (
        "LossScaleOptimizer",
        {
            "inner_optimizer": {
                "class_name": "SGD",
                "config": {"learning_rate": 0.1, "momentum": 0.9},
            },
            "initial_scale": 64.0,
            "dynamic_growth_steps": 5,
        },
        {"infinite": [3, 20, 21]},
    ),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.5}, {"dtype": "bfloat16"}),
    ("RMSprop", {"learning_rate": 0.05}, {"dtype": "bfloat16"}),
    ("Adam", {"learning_rate": 0.05}, {"dtype": "float16"}),
]

SCHEDULES = [
    FALLING,
    WARMUP,
    schedule(
        "ExponentialDecay", initial_learning_rate=0.5, decay_steps=7, decay_rate=0.9, staircase=True
    ),
    schedule("InverseTimeDecay", initial_learning_rate=0.5, decay_steps=7, decay_rate=0.9),
    schedule(
        "InverseTimeDecay", initial_learning_rate=0.5, decay_steps=7, decay_rate=0.9, staircase=True
    ),
    schedule("PiecewiseConstantDecay", boundaries=[5, 20, 100], values=[1.0, 0.5, 0.1, 0.05]),
    schedule("PolynomialDecay", initial_learning_rate=0.5, decay_steps=40),
    schedule(
        "PolynomialDecay",
        initial_learning_rate=0.5,
        decay_steps=40,
        end_learning_rate=0.1,
        power=2.0,
    ),
    schedule(
        "PolynomialDecay",
        initial_learning_rate=0.5,
        decay_steps=15,
        end_learning_rate=0.1,
        power=0.5,
        cycle=True,
    ),
    schedule("CosineDecay", initial_learning_rate=0.5, decay_steps=40),
    schedule("CosineDecay", initial_learning_rate=0.5, decay_steps=40, alpha=0.2),
    schedule(
        "CosineDecay",
        initial_learning_rate=0.1,
        decay_steps=40,
        alpha=0.1,
        warmup_target=0.7,
        warmup_steps=13,
    ),
    schedule("CosineDecayRestarts", initial_learning_rate=0.5, first_decay_steps=9),
    schedule(
        "CosineDecayRestarts", initial_learning_rate=0.5, first_decay_steps=9, t_mul=1.0, m_mul=0.8
    ),
    schedule(
        "CosineDecayRestarts",
        initial_learning_rate=0.5,
        first_decay_steps=9,
        t_mul=1.5,
        m_mul=0.9,
        alpha=0.1,
    ),
]
SCHEDULE_STEPS = [*range(0, 60, 3), 5, 6, 20, 21, 40, 41, 99, 100, 101, 1000]


def initial_variables():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype("float32") for name, shape in SHAPES.items()}


def gradients(case):
    """The gradients of each step, as the test makes them too."""
    rng = np.random.default_rng(1)
    for step in range(STEPS):
        made = [
            (rng.normal(size=shape) * case.get("scale", 0.5)).astype("float32")
            for shape in SHAPES.values()
        ]
        if step in case.get("infinite", ()):
            made[0][0, 0] = np.inf
        yield made


def to_list(value):
    return np.asarray(keras.ops.convert_to_numpy(keras.ops.cast(value, "float32"))).ravel().tolist()


def make(name, arguments):
    arguments = dict(arguments)
    if isinstance(arguments.get("learning_rate"), dict):
        arguments["learning_rate"] = keras.optimizers.schedules.deserialize(
            arguments["learning_rate"]
        )
    if "inner_optimizer" in arguments:
        inner = arguments["inner_optimizer"]
        arguments["inner_optimizer"] = make(inner["class_name"], inner["config"])
    return getattr(keras.optimizers, name)(**arguments)


def record(name, arguments, settings):
    case = {"optimizer": name, "arguments": arguments, **settings}
    optimizer = make(name, arguments)
    if "exclude" in settings:
        optimizer.exclude_from_weight_decay(var_names=settings["exclude"])
    dtype = settings.get("dtype", "float32")
    variables = [
        keras.Variable(value, name=key, dtype=dtype) for key, value in initial_variables().items()
    ]
    optimizer.build(variables)
    update = jax.jit(
        optimizer.stateless_apply
    )  # what Keras runs in `fit`; LossScaleOptimizer has no other way
    values, state = [v.value for v in variables], [v.value for v in optimizer.variables]
    case["values"] = {}
    for step, made in enumerate(gradients(case), start=1):
        values, state = update(state, [jnp.asarray(gradient, dtype) for gradient in made], values)
        if step in RECORDED:
            case["values"][step] = [to_list(value) for value in values]
    for variable, value in zip([*variables, *optimizer.variables], [*values, *state], strict=True):
        variable.assign(value)
    if arguments.get("use_ema"):
        optimizer.finalize_variable_values(variables)
        case["values"]["final"] = [to_list(variable) for variable in variables]
    case["state"] = [[list(variable.shape), to_list(variable)] for variable in optimizer.variables]
    case["names"] = [variable.path.rsplit("/", 1)[-1] for variable in optimizer.variables]
    case["config"] = keras.optimizers.serialize(optimizer)["config"]
    return case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True, type=pathlib.Path)
    cases = [record(*case) for case in CASES]
    steps = [
        {
            **config,
            "rates": [
                float(keras.optimizers.schedules.deserialize(config)(step))
                for step in SCHEDULE_STEPS
            ],
        }
        for config in SCHEDULES
    ]
    made = {
        "keras": keras.__version__,
        "cases": cases,
        "schedule_steps": SCHEDULE_STEPS,
        "schedules": steps,
    }
    text = json.dumps(round_floats(made), separators=(",", ":"))
    (parser.parse_args().out / "optimizers.json").write_text(
        text.replace('{"optimizer"', '\n{"optimizer"') + "\n"
    )


def round_floats(value):
    """Keep the digits that a float32 has."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: round_floats(item) for key, item in value.items()}
    return [round_floats(item) for item in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    main()
