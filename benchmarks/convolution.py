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


def random_array(*shape):
    return jnp.asarray(np.random.default_rng(len(shape)).standard_normal(shape), jnp.float32)


def convolution_step(convolution, stride, x, kernel):
    """Value and both gradients of one convolution."""

    def loss(x, kernel):
        y = convolution(x, kernel, strides=(stride, stride), padding="same", dilation=(1, 1))
        return jnp.sum(jnp.square(y))

    return jax.value_and_grad(loss, argnums=(0, 1))(x, kernel)


def train_step(x, kernels):
    """One training step of two 3x3 convolutions."""

    def loss(kernels):
        y = x
        for kernel in kernels:
            y = jax.nn.relu(convolve(y, kernel, strides=(1, 1), padding="same", dilation=(1, 1)))
        return jnp.mean(jnp.square(y))

    return jax.tree.map(lambda kernel, d: kernel - 1e-3 * d, kernels, jax.grad(loss)(kernels))


def run_in_scan(x, kernels):
    step = lambda kernels, _: (train_step(x, kernels), None)  # noqa: E731
    return lax.scan(step, kernels, length=SCANNED_STEPS)[0]


def run_in_python_loop(x, kernels):
    for _ in range(SCANNED_STEPS):
        kernels = train_step(x, kernels)
    return kernels


strided = partial(convolution_step, convolve, 2)
unstrided = partial(convolution_step, convolve, 1)
transposed = partial(convolution_step, convolve_transpose, 2)
small_network = random_array(BATCH, 16, 16, 32), [0.05 * random_array(3, 3, 32, 32)] * 2

# name, function, arguments, steps per call
CASES = [
    (
        "3x3 64->128, stride 2, 28x28",
        strided,
        (random_array(BATCH, 28, 28, 64), random_array(3, 3, 64, 128)),
        1,
    ),
    (
        "4x4 128->128, stride 2 transposed, 7x7",
        transposed,
        (random_array(BATCH, 7, 7, 128), random_array(4, 4, 128, 128)),
        1,
    ),
    (
        "4x4 128->128, stride 2 transposed, 14x14",
        transposed,
        (random_array(BATCH, 14, 14, 128), random_array(4, 4, 128, 128)),
        1,
    ),
    (
        "7x7 128->1, 28x28",
        unstrided,
        (random_array(BATCH, 28, 28, 128), random_array(7, 7, 128, 1)),
        1,
    ),
    (
        "3x3 64->64, 32x32",
        unstrided,
        (random_array(BATCH, 32, 32, 64), random_array(3, 3, 64, 64)),
        1,
    ),
    ("two 3x3 32->32, 16x16, unrolled steps", run_in_python_loop, small_network, SCANNED_STEPS),
    ("two 3x3 32->32, 16x16, steps in lax.scan", run_in_scan, small_network, SCANNED_STEPS),
]


def compile_with_lax(f, arguments):
    with lax_convolutions():
        return jax.jit(lambda *arguments: f(*arguments)).lower(*arguments).compile()


def best_times(functions, arguments):
    """Milliseconds of each function, the best of interleaved rounds (after one to warm up)."""
    times = [[] for _ in functions]
    for _ in range(ROUNDS + 1):
        for f, durations in zip(functions, times, strict=True):
            start = time.perf_counter()
            jax.block_until_ready(f(*arguments))
            durations.append(1e3 * (time.perf_counter() - start))
    return [min(durations[1:]) for durations in times]


def main():
    print("| value and gradients, batch 64 | lax, ms | Podium, ms | lax / Podium |")
    print("| --- | ---: | ---: | ---: |")
    ratios = []
    for name, f, arguments, steps in CASES:
        compiled = jax.jit(f).lower(*arguments).compile()
        times = best_times([compile_with_lax(f, arguments), compiled], arguments)
        lax_ms, podium_ms = (milliseconds / steps for milliseconds in times)
        ratios.append(lax_ms / podium_ms)
        cells = f"{lax_ms:,.1f} | {podium_ms:,.1f} | {lax_ms / podium_ms:.1f}"
        print(f"| {name} | {cells} |", flush=True)
    print(f"| geometric mean | | | {math.prod(ratios) ** (1 / len(ratios)):.1f} |")


if __name__ == "__main__":
    main()
