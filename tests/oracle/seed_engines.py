"""Training engines of documents about Keras, unmodified, trained for 20 steps under a strategy.

The text of the engines is in `tests/compat/seeds`. It runs on tf_keras, where
`record_seed_replicas.py` records the weights, and on Podium with any number of replicas
(`check_seed_replicas.py`, and a short version in `tests/compat/test_seed_replicas.py`).
"""

import dataclasses
import pathlib
from typing import Any

import numpy as np

SEEDS = pathlib.Path(__file__).parents[1] / "compat" / "seeds"
STEPS = 20
BATCH_SIZES = {"even": 32, "uneven": 30}
LEARNING_RATES = {"scalar": 0.05, "vector": 0.002}


@dataclasses.dataclass(frozen=True)
class Case:
    """One training run.

    Attributes:
        engine: The document: "000", "001", "002" or "004".
        steps_per_execution: The number of steps of a call of `train_function`.
        loss: "scalar", or "vector" for one value per sample, whose gradients are summed.
        batches: "even" for 20 batches of 32 samples; "uneven" for 19 of 30 and one of 5.
    """

    engine: str
    steps_per_execution: int
    loss: str
    batches: str

    @property
    def name(self):
        return f"{self.engine}/{self.steps_per_execution}/{self.loss}/{self.batches}"


CASES = [
    Case(engine, steps, loss, batches)
    for engine, steps in (
        ("000", 1), ("001", 1), ("001", 3), ("002", 1), ("002", 3), ("004", 1), ("004", 3),
    )
    for loss in ("scalar", "vector")
    for batches in ("even", "uneven")
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Modules:
    """What the engines use of a library: TensorFlow's API, and the modules of Keras 2's engine."""

    tf: Any
    data_adapter: Any
    minimum_control_deps: Any
    reduce_per_replica: Any
    write_scalar_summaries: Any
    is_tensorflow: bool = False


def make_data(batches):
    """Return the samples of 20 batches."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(STEPS * 32, 3)).astype("float32")
    y = (x[:, :1] * x[:, 1:2] + 0.1 * rng.normal(size=(len(x), 1))).astype("float32")
    count = STEPS * 32 if batches == "even" else (STEPS - 1) * 30 + 5
    return x[:count], y[:count]


def train(modules, case, strategy, **compile_options):
    """Train under a strategy; return the weights as one array.

    Raises:
        AssertionError: The engine has not counted 20 steps.
    """
    train_engine = train_fork if case.engine == "004" else train_model
    return train_engine(modules, case, strategy, **compile_options)


def train_model(modules, case, strategy, **compile_options):
    """Train a model with the engine of 000, 001 or 002."""
    tf = modules.tf
    namespace = make_namespace(modules)
    namespace["Model"] = make_vector_model(tf) if case.loss == "vector" else tf.keras.Model
    Engine = run_text(f"engine_{case.engine}", namespace)["Engine"]
    if case.loss == "vector":  # instead of the document's step
        Engine.train_step = namespace["Model"].train_step
    rng = np.random.default_rng(1)
    with strategy.scope():
        inputs = tf.keras.Input((3,))
        regularizer = tf.keras.regularizers.L2(0.01)
        hidden = tf.keras.layers.Dense(4, "tanh", kernel_regularizer=regularizer)(inputs)
        namespace["model"] = model = Engine(inputs, tf.keras.layers.Dense(1)(hidden))
        model.compile(
            tf.keras.optimizers.SGD(LEARNING_RATES[case.loss], momentum=0.9),
            "mse",
            metrics=["mae"],
            steps_per_execution=case.steps_per_execution,
            **compile_options,
        )
        model.set_weights([rng.normal(size=w.shape).astype("float32") for w in model.weights])
    options = {} if case.engine == "000" else {"shuffle": False, "verbose": 0}
    model.fit(*make_data(case.batches), batch_size=BATCH_SIZES[case.batches], **options)
    if case.engine != "000":
        assert int(model._train_counter.numpy()) == STEPS
    return np.concatenate([np.ravel(array) for array in model.get_weights()])


def train_fork(modules, case, strategy):
    """Train the model of 004, which is a fork of Keras's `Model`."""
    tf = modules.tf
    namespace = run_text("walkthrough_final_1", make_namespace(modules))
    with strategy.scope():
        model = namespace["SimplifiedModel"]()
        model.dense.build((None, 3))
        kernel = np.array([[0.5], [-0.3], [0.2]], "float32")
        model.dense.set_weights([kernel, np.ones(1, "float32")])
    reduction = tf.keras.losses.Reduction.SUM
    total = tf.keras.losses.MeanSquaredError(reduction=reduction)
    model.compile(
        tf.keras.optimizers.SGD(LEARNING_RATES["vector"], momentum=0.9),
        loss=total if case.loss == "scalar" else tf.keras.losses.mean_squared_error,
        metrics=[],
        steps_per_execution=case.steps_per_execution,
    )
    if case.loss == "vector" and modules.is_tensorflow:
        # TensorFlow's loops keep shapes, so that a vector cannot replace the initial 0.
        train_step = model.train_step
        model.train_step = lambda data: {"loss": tf.reduce_sum(train_step(data)["loss"])}
    dataset = tf.data.Dataset.from_tensor_slices(make_data(case.batches))
    model.fit(dataset.batch(BATCH_SIZES[case.batches]), verbose=0)
    if not modules.is_tensorflow:  # which also counts the step that found no data
        assert int(model._train_counter.numpy()) == STEPS
    return np.concatenate([np.ravel(array) for array in model.dense.get_weights()])


def make_namespace(modules):
    """Return the names that the documents use without importing them."""
    tf = modules.tf
    return {
        "tf": tf,
        "ops": tf,
        "math_ops": tf,
        "def_function": tf,
        "backprop": tf,
        "optimizers": tf.keras.optimizers,
        "data_adapter": modules.data_adapter,
        "reduce_per_replica": modules.reduce_per_replica,
        "_minimum_control_deps": modules.minimum_control_deps,
        "write_scalar_summaries": modules.write_scalar_summaries,
    }


def run_text(name, namespace):
    """Run the text of an engine in a namespace, and return it."""
    path = SEEDS / f"{name}.txt"
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


def make_vector_model(tf):
    """Return a class of models whose step has one loss per sample."""

    class VectorModel(tf.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = tf.keras.losses.mean_squared_error(y, y_pred)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            self.compiled_metrics.update_state(y, y_pred)
            return {"loss": tf.reduce_sum(loss)}

    return VectorModel
