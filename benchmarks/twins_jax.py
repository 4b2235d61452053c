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


def adam_start(weights: list) -> tuple:
    """Return the first state of Adam."""
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


# --- losses, each with the metric that is shown beside it


def squares(y: Any, outputs: Any) -> tuple:
    """Mean squared and mean absolute error."""
    return jnp.mean((y - outputs) ** 2), jnp.mean(jnp.abs(y - outputs))


def summed_squares(y: Any, outputs: Any) -> tuple:
    """The sum of squares, and the error in per cent."""
    return jnp.sum((y - outputs) ** 2), 100 * jnp.mean(
        jnp.abs((y - outputs) / jnp.maximum(jnp.abs(y), 1e-7))
    )


def cross_entropy(y: Any, logits: Any) -> tuple:
    """Cross-entropy of classes, and the share of right ones."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
    return -jnp.mean(chosen), jnp.mean((jnp.argmax(logits, -1) == y).astype(jnp.float32))


# --- models: `(weights, state, x)` to the outputs and the new state, which only batch normalization
# has


def mlp(weights: list, state: list, x: Any) -> tuple:
    """Dense layers with ReLU between them."""
    for number in range(0, len(weights) - 2, 2):
        x = jax.nn.relu(x @ weights[number] + weights[number + 1])
    return x @ weights[-2] + weights[-1], state


def convolution(x: Any, kernel: Any, stride: int = 1) -> Any:
    """A convolution as `lax` has it."""
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def pool(x: Any) -> Any:
    """The largest of 2 x 2 pixels."""
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def cnn(weights: list, state: list, x: Any) -> tuple:
    """Two convolutions with pooling."""
    for number in (0, 2):
        x = pool(jax.nn.relu(convolution(x, weights[number]) + weights[number + 1]))
    return x.reshape(x.shape[0], -1) @ weights[4] + weights[5], state


# Keras orders weights by depth: kernel, gamma and beta of each convolution are found here, its
# running moments at 2 x position.
PLACES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11), (12, 14, 15), (13, 16, 17))


def residual(weights: list, state: list, x: Any) -> tuple:
    """Two blocks of two convolutions with batch normalization."""
    state = list(state)

    def convolved(x: Any, place: int, stride: int = 1) -> Any:
        kernel, gamma, beta = (weights[slot] for slot in PLACES[place])
        x = convolution(x, kernel, stride)
        moments = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
        for slot, moment in enumerate(moments, 2 * place):
            state[slot] = 0.99 * state[slot] + 0.01 * moment
        return (x - moments[0]) * (gamma * jax.lax.rsqrt(moments[1] + 1e-3)) + beta

    x = jax.nn.relu(convolved(x, 0))
    x = jax.nn.relu(convolved(jax.nn.relu(convolved(x, 1)), 2) + x)
    inside, around = convolved(jax.nn.relu(convolved(x, 3, 2)), 4), convolved(x, 5, 2)
    x = jax.nn.relu(inside + around)
    return jnp.mean(x, (1, 2)) @ weights[-2] + weights[-1], state


def normalized(x: Any, gamma: Any, beta: Any) -> Any:
    """Layer normalization."""
    mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-6) * gamma + beta


def transformer(weights: list, state: list, words: Any) -> tuple:
    """Two blocks of attention and a small MLP."""
    weights = iter(weights)
    take = partial(next, weights)
    x = take()[words] + take()
    for _ in range(2):
        h = normalized(x, take(), take())
        query, key, value = (jnp.einsum("btd,dhk->bthk", h, take()) + take() for _ in range(3))
        scores = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", query / 4.0, key))
        x = (
            x
            + jnp.einsum("bqhk,hkd->bqd", jnp.einsum("bhqs,bshk->bqhk", scores, value), take())
            + take()
        )
        h = normalized(x, take(), take())
        x = x + jax.nn.gelu(h @ take() + take(), approximate=False) @ take() + take()
    return jnp.mean(x, 1) @ take() + take(), state


def lstm(weights: list, state: list, x: Any) -> tuple:
    """An LSTM over the lines of an image."""
    kernel, recurrent, bias, out, out_bias = weights

    def step(carry: tuple, x: Any) -> tuple:
        h, c = carry
        i, f, g, o = jnp.split(x @ kernel + h @ recurrent + bias, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((x.shape[0], recurrent.shape[0]))
    (h, _), _ = jax.lax.scan(step, (zeros, zeros), jnp.swapaxes(x, 0, 1))
    return h @ out + out_bias, state


# --- what they start from: shapes in Keras's order; a letter says what a value other than a random
# one is


def layers_of(*sizes: int) -> list:
    """Shapes of dense layers."""
    return [shape for a, b in itertools.pairwise(sizes) for shape in ((a, b), (b,))]


RESIDUAL = [
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
BLOCK = [
    (64,),
    (64,),
    *[(64, 4, 16), (4, 16)] * 3,
    (4, 16, 64),
    (64,),
    (64,),
    (64,),
    *layers_of(64, 128, 64),
]


class Twin(NamedTuple):
    """How a workload is computed."""

    forward: Callable
    loss: Callable
    shapes: list
    optimizer: Callable = adam
    state: list = []  # noqa: RUF012 - shapes of what training changes but gradients do not
    scan: bool = True


TWINS = {
    "dense": Twin(mlp, squares, layers_of(32, 1)),
    "dense_long": Twin(mlp, squares, layers_of(32, 1)),
    "five": Twin(mlp, summed_squares, layers_of(10, 1), sgd),
    "mlp": Twin(mlp, cross_entropy, layers_of(784, 512, 512, 10)),
    "cnn": Twin(
        cnn,
        cross_entropy,
        [(3, 3, 1, 16), (16,), (3, 3, 16, 32), (32,), *layers_of(1568, 10)],
        scan=False,
    ),
    "residual": Twin(
        residual,
        cross_entropy,
        RESIDUAL + layers_of(32, 10),
        state=[(16,)] * 6 + [(32,)] * 6,
        scan=False,
    ),
    "transformer": Twin(
        transformer, cross_entropy, [(1000, 64), (32, 64), *BLOCK, *BLOCK, *layers_of(64, 10)]
    ),
    "lstm": Twin(lstm, cross_entropy, [(28, 512), (128, 512), (512,), *layers_of(128, 10)]),
    "predict": Twin(mlp, squares, layers_of(32, 64, 1)),
    "generator": Twin(mlp, squares, layers_of(32, 64, 1), scan=False),
}


def start(shapes: list) -> list:
    """Return weights to begin with: random matrices, and vectors of ones and zeros, which cost the
    same as any.
    """
    rng = np.random.default_rng(1)
    return [
        jnp.asarray(rng.normal(size=shape) / math.sqrt(math.prod(shape[:-1])), jnp.float32)
        if len(shape) > 1
        else jnp.ones(shape)
        for shape in shapes
    ]


class ByHand:
    """A loop written by hand around a twin; `run()` is what `Workload.run` does with a model.

    Args:
        name: Of the twin.
        scan: Whether an epoch is one `lax.scan`; otherwise each step is a call.
        workload: How much there is to do, if not what is measured.
        weights: To begin with; by default some of the right shapes.
        state: The same for what gradients do not change.
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
        self.twin = TWINS[name]
        if scan and not self.twin.scan:
            raise NotImplementedError(
                NO_SCAN if name != "generator" else "a generator runs on the host"
            )
        self.scan = scan
        weights = [jnp.array(w) for w in weights] if weights else start(self.twin.shapes)
        state = [jnp.array(s) for s in state] if state else start(self.twin.state)
        self.carry = weights, state, adam_start(weights) if self.twin.optimizer is adam else ()
        self.history: list = []
        self.order = np.random.default_rng(2)
        self.host = self.workload.data()
        self.x, self.y = map(jnp.asarray, self.host)
        self.step = jax.jit(self._gathered_step, donate_argnums=0)
        self.given_step = jax.jit(self._step, donate_argnums=0)
        self.epoch = jax.jit(self._epoch, donate_argnums=0)
        self.forward = jax.jit(lambda carry, x: self.twin.forward(carry[0], carry[1], x)[0])
        self.forward_all = jax.jit(
            lambda carry, x: jax.lax.map(lambda one: self.forward(carry, one), x)
        )

    def _step(self, carry_and_sums: tuple, x: Any, y: Any) -> tuple:
        (weights, state, optimizer), sums = carry_and_sums

        def loss_of(weights: list) -> tuple:
            outputs, new_state = self.twin.forward(weights, state, x)
            loss, metric = self.twin.loss(y, outputs)
            return loss, (metric, new_state)

        (loss, (metric, state)), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
        weights, optimizer = self.twin.optimizer(weights, gradients, optimizer)
        count = x.shape[0]
        return (weights, state, optimizer), sums + jnp.stack([loss * count, metric * count])

    def _gathered_step(self, carry_and_sums: tuple, x: Any, y: Any, rows: Any) -> tuple:
        return self._step(carry_and_sums, x[rows], y[rows])

    def _epoch(self, carry_and_sums: tuple, x: Any, y: Any, order: Any) -> tuple:
        batch = self.workload.batch
        whole = len(order) // batch * batch
        body = lambda carry, rows: (self._gathered_step(carry, x, y, rows), None)  # noqa: E731
        carry_and_sums, _ = jax.lax.scan(body, carry_and_sums, order[:whole].reshape(-1, batch))
        return carry_and_sums if whole == len(order) else body(carry_and_sums, order[whole:])[0]

    def run(self) -> Any:
        """Do once what is measured."""
        if self.workload.kind == "predict":
            return self.predict()
        self.history = []
        source = batches(*self.host, self.workload.batch)
        for _ in range(self.workload.epochs):
            both = self.carry, jnp.zeros(2)
            self.carry, sums = (
                self.generated(both, source)
                if self.workload.kind == "generator"
                else self.trained(both)
            )
            self.history.append(
                np.asarray(sums) / self.workload.samples
            )  # here the host waits, once an epoch
        return self.history

    def trained(self, both: tuple) -> tuple:
        """Train for an epoch on the arrays."""
        count, batch = self.workload.samples, self.workload.batch
        order = (
            self.order.permutation(count) if self.workload.shuffle else np.arange(count)
        ).astype(np.int32)
        if self.scan:
            return self.epoch(both, self.x, self.y, order)
        for first in range(0, count, batch):
            both = self.step(both, self.x, self.y, order[first : first + batch])
        return both

    def generated(self, both: tuple, source: Iterator) -> tuple:
        """Train for an epoch on what a generator yields."""
        for _ in range(self.workload.samples // self.workload.batch):
            both = self.given_step(both, *next(source))
        return both

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


def leaky(x: Any) -> Any:
    """LeakyReLU(0.2)."""
    return jnp.where(x > 0, x, 0.2 * x)


def upsampled(x: Any, kernel: Any) -> Any:
    """A transposed convolution of stride 2."""
    return jax.lax.conv_transpose(
        x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def discriminate(w: list, x: Any) -> Any:
    """Return logits: is an image generated?"""
    x = leaky(convolution(x, w[0], 2) + w[1])
    x = leaky(convolution(x, w[2], 2) + w[3])
    return jnp.max(x, (1, 2)) @ w[4] + w[5]


def generate(w: list, z: Any) -> Any:
    """Return images."""
    x = leaky(z @ w[0] + w[1]).reshape(-1, 7, 7, 128)
    x = leaky(upsampled(x, w[2]) + w[3])
    x = leaky(upsampled(x, w[4]) + w[5])
    return jax.nn.sigmoid(convolution(x, w[6]) + w[7])


def binary(labels: Any, logits: Any) -> Any:
    """Binary cross-entropy."""
    return jnp.mean(jnp.maximum(logits, 0) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits))))


class GANByHand:
    """The seed's GAN in plain JAX."""

    def __init__(self) -> None:
        self.workload = WORKLOADS["gan"]
        self.images = jnp.asarray(self.workload.data()[0])
        kernels = (4, 4, 128, 128), (128,)
        d = start([(3, 3, 1, 64), (64,), (3, 3, 64, 128), (128,), (128, 1), (1,)])
        g = start([(LATENT, 6272), (6272,), *kernels, *kernels, (7, 7, 128, 1), (1,)])
        self.carry = d, g, adam_start(d), adam_start(g), jax.random.key(0)
        self.step = jax.jit(self._step, donate_argnums=0)
        self.order = np.random.default_rng(2)

    def _step(self, carry: tuple, images: Any, rows: Any) -> tuple:
        d, g, d_state, g_state, key = carry
        key, *keys = jax.random.split(key, 4)
        count = rows.shape[0]
        both = jnp.concatenate(
            [generate(g, jax.random.normal(keys[0], (count, LATENT))), images[rows]]
        )
        labels = jnp.concatenate([jnp.ones((count, 1)), jnp.zeros((count, 1))])
        labels += 0.05 * jax.random.uniform(keys[1], labels.shape)
        d_loss, gradients = jax.value_and_grad(lambda d: binary(labels, discriminate(d, both)))(d)
        d, d_state = adam(d, gradients, d_state, 3e-4)
        latent = jax.random.normal(keys[2], (count, LATENT))
        g_loss, gradients = jax.value_and_grad(
            lambda g: binary(0.0, discriminate(d, generate(g, latent)))
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


def by_hand(name: str, scan: bool) -> Any:
    """Return something whose `run()` does what the workload does."""
    if name != "gan":
        return ByHand(name, scan)
    if scan:
        raise NotImplementedError(NO_SCAN)
    return GANByHand()
