"""The workloads as hand-written JAX training loops, without Podium.

Each has a jitted step, called in a Python loop (`jax-loop`) or in one `lax.scan` per epoch
(`jax-scan`). Model, optimizer, batches, shuffling and metrics are those of `workloads.py`; the data
is on the device, and losses are read once per epoch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from workloads import LATENT, WORKLOADS, Workload, batches

NO_SCAN = "gradients of lax convolutions take 30 times as long in a scan"

# --- optimizers, as Keras defines them


def initial_adam_state(weights: list) -> tuple:
    """Return the initial state of Adam."""
    return (
        [jnp.zeros_like(w) for w in weights],
        [jnp.zeros_like(w) for w in weights],
        jnp.zeros((), jnp.int32),
    )


def adam(weights: list, gradients: list, state: tuple, rate: float = 1e-3) -> tuple:
    """Return the weights and the state after a step."""
    first, second, count = state
    count = count + 1
    t = count.astype(jnp.float32)
    rate = rate * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    first = [m + (g - m) * 0.1 for m, g in zip(first, gradients, strict=True)]
    second = [v + (g * g - v) * 0.001 for v, g in zip(second, gradients, strict=True)]
    weights = [
        w - rate * m / (jnp.sqrt(v) + 1e-7) for w, m, v in zip(weights, first, second, strict=True)
    ]
    return weights, (first, second, count)


def sgd(weights: list, gradients: list, state: tuple) -> tuple:
    """Return the weights and the state after a step."""
    return [w - 0.01 * g for w, g in zip(weights, gradients, strict=True)], state


# --- losses, each with its metric


def squares(y: Any, outputs: Any) -> tuple:
    """Mean squared and mean absolute error."""
    return jnp.mean((y - outputs) ** 2), jnp.mean(jnp.abs(y - outputs))


def summed_squares(y: Any, outputs: Any) -> tuple:
    """The sum of squares, and the percentage error."""
    return jnp.sum((y - outputs) ** 2), 100 * jnp.mean(
        jnp.abs((y - outputs) / jnp.maximum(jnp.abs(y), 1e-7))
    )


def cross_entropy(y: Any, logits: Any) -> tuple:
    """Cross-entropy of classes, and the accuracy."""
    log_probabilities = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
    return -jnp.mean(log_probabilities), jnp.mean((jnp.argmax(logits, -1) == y).astype(jnp.float32))


# --- models: `(weights, state, x)` to the outputs and the new state, which only batch normalization
# has


def mlp(weights: list, state: list, x: Any) -> tuple:
    """Dense layers with ReLU between them."""
    for number in range(0, len(weights) - 2, 2):
        x = jax.nn.relu(x @ weights[number] + weights[number + 1])
    return x @ weights[-2] + weights[-1], state


def convolution(x: Any, kernel: Any, stride: int = 1) -> Any:
    """A convolution by `lax`."""
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def max_pool(x: Any) -> Any:
    """Max pooling over 2 x 2 pixels."""
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def cnn(weights: list, state: list, x: Any) -> tuple:
    """Two convolutions with pooling."""
    for number in (0, 2):
        x = max_pool(jax.nn.relu(convolution(x, weights[number]) + weights[number + 1]))
    return x.reshape(x.shape[0], -1) @ weights[4] + weights[5], state


# Keras orders weights by depth: the indices of kernel, gamma and beta of each convolution. The
# running moments of convolution i are at 2 i.
WEIGHT_INDICES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11), (12, 14, 15), (13, 16, 17))


def residual(weights: list, state: list, x: Any) -> tuple:
    """Two blocks of two convolutions with batch normalization."""
    state = list(state)

    def convolve(x: Any, index: int, stride: int = 1) -> Any:
        kernel, gamma, beta = (weights[slot] for slot in WEIGHT_INDICES[index])
        x = convolution(x, kernel, stride)
        moments = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
        for slot, moment in enumerate(moments, 2 * index):
            state[slot] = 0.99 * state[slot] + 0.01 * moment
        return (x - moments[0]) * (gamma * jax.lax.rsqrt(moments[1] + 1e-3)) + beta

    x = jax.nn.relu(convolve(x, 0))
    x = jax.nn.relu(convolve(jax.nn.relu(convolve(x, 1)), 2) + x)
    main, shortcut = convolve(jax.nn.relu(convolve(x, 3, 2)), 4), convolve(x, 5, 2)
    x = jax.nn.relu(main + shortcut)
    return jnp.mean(x, (1, 2)) @ weights[-2] + weights[-1], state


def layer_normalization(x: Any, gamma: Any, beta: Any) -> Any:
    """Layer normalization."""
    mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-6) * gamma + beta


def transformer(weights: list, state: list, tokens: Any) -> tuple:
    """Two blocks of attention and a small MLP."""
    weights = iter(weights)
    take = partial(next, weights)
    x = take()[tokens] + take()
    for _ in range(2):
        h = layer_normalization(x, take(), take())
        query, key, value = (jnp.einsum("btd,dhk->bthk", h, take()) + take() for _ in range(3))
        scores = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", query / 4.0, key))
        x = (
            x
            + jnp.einsum("bqhk,hkd->bqd", jnp.einsum("bhqs,bshk->bqhk", scores, value), take())
            + take()
        )
        h = layer_normalization(x, take(), take())
        x = x + jax.nn.gelu(h @ take() + take(), approximate=False) @ take() + take()
    return jnp.mean(x, 1) @ take() + take(), state


def lstm(weights: list, state: list, x: Any) -> tuple:
    """An LSTM over the rows of an image."""
    kernel, recurrent, bias, out, out_bias = weights

    def step(carry: tuple, x: Any) -> tuple:
        h, c = carry
        i, f, g, o = jnp.split(x @ kernel + h @ recurrent + bias, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((x.shape[0], recurrent.shape[0]))
    (h, _), _ = jax.lax.scan(step, (zeros, zeros), jnp.swapaxes(x, 0, 1))
    return h @ out + out_bias, state


# --- shapes of the weights, in Keras's order


def dense_shapes(*sizes: int) -> list:
    """Shapes of dense layers."""
    return [shape for a, b in itertools.pairwise(sizes) for shape in ((a, b), (b,))]


RESIDUAL_SHAPES = [
    *[
        (3, 3, 3, 16),
        (16,),
        (16,),
        (3, 3, 16, 16),
        (16,),
        (16,),
        (3, 3, 16, 16),
        (16,),
        (16,),
        (3, 3, 16, 32),
        (32,),
        (32,),
    ],
    *[(3, 3, 32, 32), (1, 1, 16, 32), (32,), (32,), (32,), (32,)],
]
BLOCK_SHAPES = [
    (64,),
    (64,),
    *[(64, 4, 16), (4, 16)] * 3,
    (4, 16, 64),
    (64,),
    (64,),
    (64,),
    *dense_shapes(64, 128, 64),
]


class JaxWorkload(NamedTuple):
    """The functions and shapes of a workload in JAX."""

    forward: Callable
    loss: Callable
    shapes: list
    optimizer: Callable = adam
    state: list = []  # noqa: RUF012 - shapes of non-trainable weights
    scan: bool = True


JAX_WORKLOADS = {
    "dense": JaxWorkload(mlp, squares, dense_shapes(32, 1)),
    "dense_long": JaxWorkload(mlp, squares, dense_shapes(32, 1)),
    "five": JaxWorkload(mlp, summed_squares, dense_shapes(10, 1), sgd),
    "mlp": JaxWorkload(mlp, cross_entropy, dense_shapes(784, 512, 512, 10)),
    "cnn": JaxWorkload(
        cnn,
        cross_entropy,
        [(3, 3, 1, 16), (16,), (3, 3, 16, 32), (32,), *dense_shapes(1568, 10)],
        scan=False,
    ),
    "residual": JaxWorkload(
        residual,
        cross_entropy,
        RESIDUAL_SHAPES + dense_shapes(32, 10),
        state=[(16,)] * 6 + [(32,)] * 6,
        scan=False,
    ),
    "transformer": JaxWorkload(
        transformer,
        cross_entropy,
        [(1000, 64), (32, 64), *BLOCK_SHAPES, *BLOCK_SHAPES, *dense_shapes(64, 10)],
    ),
    "lstm": JaxWorkload(
        lstm, cross_entropy, [(28, 512), (128, 512), (512,), *dense_shapes(128, 10)]
    ),
    "predict": JaxWorkload(mlp, squares, dense_shapes(32, 64, 1)),
    "generator": JaxWorkload(mlp, squares, dense_shapes(32, 64, 1), scan=False),
}


def initial_weights(shapes: list) -> list:
    """Return initial weights: random matrices, and vectors of ones."""
    rng = np.random.default_rng(1)
    return [
        jnp.asarray(rng.normal(size=shape) / math.sqrt(math.prod(shape[:-1])), jnp.float32)
        if len(shape) > 1
        else jnp.ones(shape)
        for shape in shapes
    ]


class JaxTrainer:
    """A hand-written training loop in JAX; `run()` does what `Workload.run` does with a model.

    Args:
        name: The name of the workload.
        scan: Whether an epoch is one `lax.scan`; otherwise each step is a call.
        workload: The sizes, if they are not those of the measured workload.
        weights: Initial trainable weights; by default random ones.
        state: Initial non-trainable weights.
    """

    def __init__(
        self,
        name: str,
        scan: bool,
        workload: Workload | None = None,
        weights: list | None = None,
        state: list | None = None,
    ):
        self.workload = workload or WORKLOADS[name]
        self.definition = JAX_WORKLOADS[name]
        if scan and not self.definition.scan:
            raise NotImplementedError(
                NO_SCAN if name != "generator" else "a generator runs on the host"
            )
        self.scan = scan
        weights = (
            [jnp.array(w) for w in weights] if weights else initial_weights(self.definition.shapes)
        )
        state = [jnp.array(s) for s in state] if state else initial_weights(self.definition.state)
        self.carry = (
            weights,
            state,
            initial_adam_state(weights) if self.definition.optimizer is adam else (),
        )
        self.history: list = []
        self.order = np.random.default_rng(2)
        self.host = self.workload.data()
        self.x, self.y = map(jnp.asarray, self.host)
        self.step = jax.jit(self._gathered_step, donate_argnums=0)
        self.step_on_batch = jax.jit(self._step, donate_argnums=0)
        self.epoch = jax.jit(self._epoch, donate_argnums=0)
        self.forward = jax.jit(lambda carry, x: self.definition.forward(carry[0], carry[1], x)[0])
        self.forward_all = jax.jit(
            lambda carry, x: jax.lax.map(lambda batch: self.forward(carry, batch), x)
        )

    def _step(self, carry_and_sums: tuple, x: Any, y: Any) -> tuple:
        (weights, state, optimizer), sums = carry_and_sums

        def loss_of(weights: list) -> tuple:
            outputs, new_state = self.definition.forward(weights, state, x)
            loss, metric = self.definition.loss(y, outputs)
            return loss, (metric, new_state)

        (loss, (metric, state)), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
        weights, optimizer = self.definition.optimizer(weights, gradients, optimizer)
        count = x.shape[0]
        return (weights, state, optimizer), sums + jnp.stack([loss * count, metric * count])

    def _gathered_step(self, carry_and_sums: tuple, x: Any, y: Any, rows: Any) -> tuple:
        return self._step(carry_and_sums, x[rows], y[rows])

    def _epoch(self, carry_and_sums: tuple, x: Any, y: Any, order: Any) -> tuple:
        batch = self.workload.batch
        num_in_full_batches = len(order) // batch * batch
        body = lambda carry, rows: (self._gathered_step(carry, x, y, rows), None)  # noqa: E731
        carry_and_sums, _ = jax.lax.scan(
            body, carry_and_sums, order[:num_in_full_batches].reshape(-1, batch)
        )
        if num_in_full_batches == len(order):
            return carry_and_sums
        return body(carry_and_sums, order[num_in_full_batches:])[0]

    def run(self) -> Any:
        """Run the workload once."""
        if self.workload.kind == "predict":
            return self.predict()
        self.history = []
        source = batches(*self.host, self.workload.batch)
        for _ in range(self.workload.epochs):
            carry_and_sums = self.carry, jnp.zeros(2)
            self.carry, sums = (
                self.train_on_generator(carry_and_sums, source)
                if self.workload.kind == "generator"
                else self.train_on_arrays(carry_and_sums)
            )
            # The host waits here, once per epoch.
            self.history.append(np.asarray(sums) / self.workload.samples)
        return self.history

    def train_on_arrays(self, carry_and_sums: tuple) -> tuple:
        """Train for an epoch on the arrays."""
        count, batch = self.workload.samples, self.workload.batch
        order = (
            self.order.permutation(count) if self.workload.shuffle else np.arange(count)
        ).astype(np.int32)
        if self.scan:
            return self.epoch(carry_and_sums, self.x, self.y, order)
        for first in range(0, count, batch):
            rows = order[first : first + batch]
            carry_and_sums = self.step(carry_and_sums, self.x, self.y, rows)
        return carry_and_sums

    def train_on_generator(self, carry_and_sums: tuple, source: Iterator) -> tuple:
        """Train for an epoch on the batches of a generator."""
        for _ in range(self.workload.samples // self.workload.batch):
            carry_and_sums = self.step_on_batch(carry_and_sums, *next(source))
        return carry_and_sums

    def predict(self) -> np.ndarray:
        """Compute the outputs for all inputs, in one array on the host."""
        x, batch = self.host[0], self.workload.batch
        if self.scan:
            return np.asarray(
                self.forward_all(self.carry, x.reshape(-1, batch, *x.shape[1:]))
            ).reshape(len(x), -1)
        return np.concatenate(
            [
                self.forward(self.carry, x[first : first + batch])
                for first in range(0, len(x), batch)
            ]
        )


# --- the GAN


def leaky_relu(x: Any) -> Any:
    """LeakyReLU(0.2)."""
    return jnp.where(x > 0, x, 0.2 * x)


def conv_transpose(x: Any, kernel: Any) -> Any:
    """A transposed convolution of stride 2."""
    return jax.lax.conv_transpose(
        x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def discriminate(w: list, x: Any) -> Any:
    """Return the logits of images being generated."""
    x = leaky_relu(convolution(x, w[0], 2) + w[1])
    x = leaky_relu(convolution(x, w[2], 2) + w[3])
    return jnp.max(x, (1, 2)) @ w[4] + w[5]


def generate(w: list, z: Any) -> Any:
    """Return images."""
    x = leaky_relu(z @ w[0] + w[1]).reshape(-1, 7, 7, 128)
    x = leaky_relu(conv_transpose(x, w[2]) + w[3])
    x = leaky_relu(conv_transpose(x, w[4]) + w[5])
    return jax.nn.sigmoid(convolution(x, w[6]) + w[7])


def binary_cross_entropy(labels: Any, logits: Any) -> Any:
    """Binary cross-entropy."""
    return jnp.mean(jnp.maximum(logits, 0) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits))))


class JaxGanTrainer:
    """The seed's GAN in plain JAX."""

    def __init__(self) -> None:
        self.workload = WORKLOADS["gan"]
        self.images = jnp.asarray(self.workload.data()[0])
        kernels = (4, 4, 128, 128), (128,)
        d = initial_weights([(3, 3, 1, 64), (64,), (3, 3, 64, 128), (128,), (128, 1), (1,)])
        g = initial_weights([(LATENT, 6272), (6272,), *kernels, *kernels, (7, 7, 128, 1), (1,)])
        self.carry = d, g, initial_adam_state(d), initial_adam_state(g), jax.random.key(0)
        self.step = jax.jit(self._step, donate_argnums=0)
        self.order = np.random.default_rng(2)

    def _step(self, carry: tuple, images: Any, rows: Any) -> tuple:
        d, g, d_state, g_state, key = carry
        key, *keys = jax.random.split(key, 4)
        count = rows.shape[0]
        images_of_both = jnp.concatenate(
            [generate(g, jax.random.normal(keys[0], (count, LATENT))), images[rows]]
        )
        labels = jnp.concatenate([jnp.ones((count, 1)), jnp.zeros((count, 1))])
        labels += 0.05 * jax.random.uniform(keys[1], labels.shape)
        d_loss, gradients = jax.value_and_grad(
            lambda d: binary_cross_entropy(labels, discriminate(d, images_of_both))
        )(d)
        d, d_state = adam(d, gradients, d_state, 3e-4)
        latent = jax.random.normal(keys[2], (count, LATENT))
        g_loss, gradients = jax.value_and_grad(
            lambda g: binary_cross_entropy(0.0, discriminate(d, generate(g, latent)))
        )(g)
        g, g_state = adam(g, gradients, g_state, 3e-4)
        return (d, g, d_state, g_state, key), jnp.stack([d_loss, g_loss])

    def run(self) -> np.ndarray:
        """Train for an epoch."""
        order = self.order.permutation(self.workload.samples).astype(np.int32)
        for first in range(0, self.workload.samples, self.workload.batch):
            self.carry, losses = self.step(
                self.carry, self.images, order[first : first + self.workload.batch]
            )
        return np.asarray(losses)


def make_trainer(name: str, scan: bool) -> JaxTrainer | JaxGanTrainer:
    """Return the object whose `run()` runs the workload."""
    if name != "gan":
        return JaxTrainer(name, scan)
    if scan:
        raise NotImplementedError(NO_SCAN)
    return JaxGanTrainer()
