"""Convolutions with their gradients, `lax` compared with Podium.

Prints a Markdown table of the best of five interleaved runs at batch 64, float32. Compare the
ratios between machines; on a busy machine the milliseconds mean little.

Run: python benchmarks/convolution.py
"""

import math
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from podium.ops.nn._convolution import convolve, convolve_transpose, lax_convolutions

BATCH, ROUNDS, SCANNED_STEPS = 64, 5, 4


def draw(*shape):
    return jnp.asarray(np.random.default_rng(len(shape)).standard_normal(shape), jnp.float32)


def single(convolution, stride, x, kernel):
    """Value and both gradients of one convolution."""

    def loss(x, kernel):
        y = convolution(x, kernel, strides=(stride, stride), padding="same", dilation=(1, 1))
        return jnp.sum(jnp.square(y))

    return jax.value_and_grad(loss, argnums=(0, 1))(x, kernel)


def two_layers(x, kernels):
    """One training step of two 3x3 convolutions."""

    def loss(kernels):
        y = x
        for kernel in kernels:
            y = jax.nn.relu(convolve(y, kernel, strides=(1, 1), padding="same", dilation=(1, 1)))
        return jnp.mean(jnp.square(y))

    return jax.tree.map(lambda kernel, d: kernel - 1e-3 * d, kernels, jax.grad(loss)(kernels))


def scanned(x, kernels):
    step = lambda kernels, _: (two_layers(x, kernels), None)  # noqa: E731
    return lax.scan(step, kernels, length=SCANNED_STEPS)[0]


def looped(x, kernels):
    for _ in range(SCANNED_STEPS):
        kernels = two_layers(x, kernels)
    return kernels


down = partial(single, convolve, 2)
flat = partial(single, convolve, 1)
up = partial(single, convolve_transpose, 2)
small = draw(BATCH, 16, 16, 32), [0.05 * draw(3, 3, 32, 32)] * 2

# name, function, arguments, steps per call
CASES = [
    ("3x3 64->128, stride 2, 28x28", down, (draw(BATCH, 28, 28, 64), draw(3, 3, 64, 128)), 1),
    (
        "4x4 128->128, stride 2 transposed, 7x7",
        up,
        (draw(BATCH, 7, 7, 128), draw(4, 4, 128, 128)),
        1,
    ),
    (
        "4x4 128->128, stride 2 transposed, 14x14",
        up,
        (draw(BATCH, 14, 14, 128), draw(4, 4, 128, 128)),
        1,
    ),
    ("7x7 128->1, 28x28", flat, (draw(BATCH, 28, 28, 128), draw(7, 7, 128, 1)), 1),
    ("3x3 64->64, 32x32", flat, (draw(BATCH, 32, 32, 64), draw(3, 3, 64, 64)), 1),
    ("two 3x3 32->32, 16x16, unrolled steps", looped, small, SCANNED_STEPS),
    ("two 3x3 32->32, 16x16, steps in lax.scan", scanned, small, SCANNED_STEPS),
]


def compile_plain(f, arguments):
    with lax_convolutions():
        return jax.jit(lambda *arguments: f(*arguments)).lower(*arguments).compile()


def best_times(functions, arguments):
    """Milliseconds of each function, the best of interleaved rounds (after one to warm up)."""
    times = [[] for _ in functions]
    for _ in range(ROUNDS + 1):
        for f, spent in zip(functions, times, strict=True):
            start = time.perf_counter()
            jax.block_until_ready(f(*arguments))
            spent.append(1e3 * (time.perf_counter() - start))
    return [min(spent[1:]) for spent in times]


def main():
    print("| value and gradients, batch 64 | lax, ms | ours, ms | lax / ours |")
    print("| --- | ---: | ---: | ---: |")
    ratios = []
    for name, f, arguments, steps in CASES:
        ours = jax.jit(f).lower(*arguments).compile()
        times = best_times([compile_plain(f, arguments), ours], arguments)
        plain, fast = (t / steps for t in times)
        ratios.append(plain / fast)
        print(f"| {name} | {plain:,.1f} | {fast:,.1f} | {plain / fast:.1f} |", flush=True)
    print(f"| geometric mean | | | {math.prod(ratios) ** (1 / len(ratios)):.1f} |")


if __name__ == "__main__":
    main()
