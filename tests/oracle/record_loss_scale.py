"""Record training in mixed float16 by tf_keras and Keras 3: weights, loss scale and counter.

Run it with each oracle's Python, `record_loss_scale.py tf_keras` and `record_loss_scale.py keras`;
results are merged into `fixtures/loss_scale.json`.
"""

import json
import os
import pathlib
import sys

import numpy as np

FIXTURE = pathlib.Path(__file__).parent / "fixtures" / "loss_scale.json"
STEPS = 14


def batch():
    x = np.arange(-12, 12, dtype="float32").reshape(8, 3) / 8
    return x, (x[:, :1] - 2 * x[:, 1:2]).astype("float32")


def make_model(keras, model_class=None):
    ramp = keras.initializers.Constant(0.25)
    start = keras.Input((3,))
    hidden = keras.layers.Dense(4, activation="tanh", kernel_initializer=ramp)(start)
    output = keras.layers.Dense(1, kernel_initializer=ramp, dtype="float32")(hidden)
    return (model_class or keras.Model)(start, output)


def make_optimizer(keras, tiny):
    """Return SGD; its rate offsets losses that are multiplied by a tiny number."""
    return keras.optimizers.SGD(0.0625 / tiny, momentum=0.5)


def summarize(model):
    return [np.asarray(weight).tolist() for weight in model.get_weights()]


def train_default(keras, tiny):
    model = make_model(keras)
    model.compile(
        make_optimizer(keras, tiny), lambda y, p: tiny * keras.losses.mean_squared_error(y, p)
    )
    x, y = batch()
    model.fit(x, y, batch_size=8, epochs=STEPS, shuffle=False, verbose=0)
    return model


OPTIONS = {
    "accumulating": {"gradient_accumulation_steps": 2},
    "clipping by value": {"clipvalue": 2.0**-21},
    "clipping by norm": {"clipnorm": 2.0**-21},
    "clipping by global norm": {"global_clipnorm": 2.0**-21},
    "averaging": {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 4},
}


def train_with_options(keras, tiny, options):
    """Train with a scale that overflows at first and grows again, and options of the optimizer."""
    model = make_model(keras)
    inner = keras.optimizers.SGD(0.0625 / tiny / 8, momentum=0.5, **options)
    optimizer = keras.optimizers.LossScaleOptimizer(inner, 2.0**30, 3)
    model.compile(optimizer, lambda y, p: tiny * keras.losses.mean_squared_error(y, p))
    x, y = batch()
    for _ in range(STEPS):
        model.train_on_batch(x, y)
    return model


def train_keras_2_step(keras, tiny, tape_class):
    """Scale and unscale in a `train_step`, with a scale that overflows and grows again."""

    class Custom(keras.Model):
        def train_step(self, data):
            x, y = data
            with tape_class() as tape:
                y_pred = self(x, training=True)
                loss = tiny * keras.losses.mean_squared_error(y, y_pred)
                loss = self.optimizer.get_scaled_loss(loss)
            gradients = tape.gradient(loss, self.trainable_variables)
            gradients = self.optimizer.get_unscaled_gradients(gradients)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {}

    model = make_model(keras, Custom)
    model.compile(
        keras.mixed_precision.LossScaleOptimizer(
            make_optimizer(keras, 8 * tiny), initial_scale=2.0**30, dynamic_growth_steps=3
        )
    )
    x, y = batch()
    for _ in range(STEPS):
        model.train_on_batch(x, y)
    return model


def train_keras_3_step(keras, tiny, tape_class):
    """Scale the loss, and let `apply_gradients` unscale."""

    class Custom(keras.Model):
        def train_step(self, data):
            x, y = data
            with tape_class() as tape:
                y_pred = self(x, training=True)
                loss = tiny * keras.losses.mean_squared_error(y, y_pred)
                loss = self.optimizer.scale_loss(loss)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {}

    model = make_model(keras, Custom)
    model.compile(make_optimizer(keras, 8 * tiny))
    x, y = batch()
    for _ in range(STEPS):
        model.train_on_batch(x, y)
    return model


def train_unscaled_step(keras, tape_class):
    """Apply a tape's gradients of a loss that is not scaled, as seeds do."""

    class Custom(keras.Model):
        def train_step(self, data):
            x, y = data
            with tape_class() as tape:
                loss = keras.losses.mean_squared_error(y, self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {}

    model = make_model(keras, Custom)
    model.compile(make_optimizer(keras, 8.0))
    x, y = batch()
    for _ in range(STEPS):
        model.train_on_batch(x, y)
    return model


if __name__ == "__main__":
    library = sys.argv[1]
    recorded = json.loads(FIXTURE.read_text()) if FIXTURE.exists() else {}
    if library == "tf_keras":
        import tensorflow as tf
        import tf_keras

        tf_keras.mixed_precision.set_global_policy("mixed_float16")
        model = train_default(tf_keras, 2.0**-20)
        recorded["tf_keras default"] = {
            "weights": summarize(model),
            "scale": float(model.optimizer.loss_scale),
            "counter": int(model.optimizer.dynamic_counter),
        }
        model = train_keras_2_step(tf_keras, 2.0**-20, tf.GradientTape)
        recorded["tf_keras step"] = {
            "weights": summarize(model),
            "scale": float(model.optimizer.loss_scale),
            "counter": int(model.optimizer.dynamic_counter),
        }
        model = train_unscaled_step(tf_keras, tf.GradientTape)
        recorded["tf_keras unscaled"] = {"weights": summarize(model)}
    else:
        os.environ["KERAS_BACKEND"] = "jax"
        import keras

        keras.config.set_dtype_policy("mixed_float16")
        model = train_default(keras, 2.0**-20)
        recorded["keras default"] = {
            "weights": summarize(model),
            "scale": float(model.optimizer.dynamic_scale),
            "counter": int(model.optimizer.step_counter),
        }
        for name, options in OPTIONS.items():
            model = train_with_options(keras, 2.0**-20, options)
            recorded[f"keras {name}"] = {
                "weights": summarize(model),
                "scale": float(model.optimizer.dynamic_scale),
                "counter": int(model.optimizer.step_counter),
            }
    FIXTURE.write_text(json.dumps(recorded, indent=1) + "\n")
    for name, values in recorded.items():
        print(name, {key: value for key, value in values.items() if key != "weights"})
        print("   ", np.round(np.ravel(values["weights"][0]), 4)[:4])
