"""What a user writes: a layer, a model with its `train_step`, a callback, and their training.

Type checkers must accept it without an error and infer the types that `assert_type` names. It is
also run, so that what they accept is what works.
"""

from typing import Any, assert_type

import numpy as np

import podium
from podium import Tensor, Variable, layers


class Scale(layers.Layer):
    """Multiplies its input by a factor that is trained."""

    def __init__(self, initial: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.initial = initial

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        initializer = podium.initializers.Constant(self.initial)
        self.factor = self.add_weight(shape=(), initializer=initializer, name="factor")
        assert_type(self.factor, Variable)

    def call(self, inputs: Tensor) -> Tensor:
        return assert_type(inputs * self.factor, Tensor)


class ScaledRegression(podium.Model):
    """A model with a custom step."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = Scale(2.0)
        self.dense = layers.Dense(1)

    def call(self, inputs: Tensor) -> Tensor:
        return self.dense(self.scale(inputs))

    def train_step(self, data: tuple[Tensor, Tensor]) -> dict[str, Any]:
        x, y = data
        with podium.GradientTape() as tape:
            loss = podium.ops.mean((self(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


class StopBelow(podium.callbacks.Callback):
    """Stops training when the loss is small enough."""

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self.threshold = threshold

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs and logs["loss"] < self.threshold:
            self.model.stop_training = True


def main() -> None:
    assert_type(layers.Dense(3), layers.Dense)
    assert_type(podium.Sequential([layers.Dense(3)]), podium.Sequential)
    assert_type(podium.ops.sin(1.0), Tensor)
    podium.utils.set_random_seed(0)
    model = ScaledRegression()
    assert_type(model, ScaledRegression)
    model.compile(optimizer=podium.optimizers.Adam(0.1))
    x = np.linspace(-1.0, 1.0, 64, dtype="float32").reshape(64, 1)
    history = model.fit(x, 3.0 * x, epochs=20, verbose=0, callbacks=[StopBelow(1e-3)])
    assert_type(history, podium.callbacks.History)
    assert_type(model.trainable_variables, list[Variable])
    print(f"loss falls: {history.history['loss'][-1] < history.history['loss'][0]}")


if __name__ == "__main__":
    main()
