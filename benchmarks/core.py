"""Overhead of a taped, compiled step and of a `function` call, compared with JAX.

Results are ratios from interleaved runs in one process, best of several. Run: make bench-self
"""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import podium
from podium import layers, ops

ROUNDS = 15


def best_times(runs: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Return seconds per repeat for each run, the best over interleaved rounds."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(repeats):
                run()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats)
    return best


def mlp_step() -> None:
    """The MLP 784-512-512-10 at batch 128, hand-written Adam: tape and Variables
    compared with value_and_grad.
    """
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(128, 784)).astype("float32"))
    y = jnp.asarray(rng.integers(0, 10, 128))
    hidden = {"activation": "relu"}
    model = podium.Sequential(
        [
            podium.Input((784,)),
            layers.Dense(512, **hidden),
            layers.Dense(512, **hidden),
            layers.Dense(10),
        ]
    )
    weights = model.trainable_variables
    first = [podium.Variable(np.zeros(w.shape, "float32"), trainable=False) for w in weights]
    second = [podium.Variable(np.zeros(w.shape, "float32"), trainable=False) for w in weights]
    count = podium.Variable(0.0, trainable=False)
    start = [jnp.asarray(w.numpy()) for w in weights]

    def cross_entropy(logits, y):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))

    @podium.function
    def taped(x, y):
        with podium.GradientTape() as tape:
            loss = podium.lift(cross_entropy)(model(x, training=True), y)
        gradients = tape.gradient(loss, weights)
        t = count.assign_add(1.0)
        rate = 1e-3 * ops.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        for w, m, v, g in zip(weights, first, second, gradients, strict=True):
            m.assign(0.9 * m + 0.1 * g)
            v.assign(0.999 * v + 0.001 * g * g)
            w.assign_sub(rate * m / (ops.sqrt(v) + 1e-7))
        return loss

    def jax_step(state, x, y):
        p, m, v, t = state

        def loss_of(p):
            h = jax.nn.relu(x @ p[0] + p[1])
            h = jax.nn.relu(h @ p[2] + p[3])
            return cross_entropy(h @ p[4] + p[5], y)

        loss, g = jax.value_and_grad(loss_of)(p)
        t = t + 1
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g, strict=True)]
        v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g, strict=True)]
        p = [a - rate * b / (jnp.sqrt(c) + 1e-7) for a, b, c in zip(p, m, v, strict=True)]
        return (p, m, v, t), loss

    jitted_step = jax.jit(jax_step, donate_argnums=0)
    zeros = [jnp.zeros_like(p) for p in start]
    state_and_loss = {"state": (start, zeros, [jnp.zeros_like(p) for p in start], jnp.zeros(()))}

    def run_jax():
        state_and_loss["state"], state_and_loss["loss"] = jitted_step(state_and_loss["state"], x, y)

    def run_taped():
        state_and_loss["taped"] = taped(x, y)

    for _ in range(5):  # the two must agree before their times mean anything
        run_jax(), run_taped()
        np.testing.assert_allclose(
            float(state_and_loss["taped"]), float(state_and_loss["loss"]), rtol=1e-5
        )

    def make_blocking(run, key):
        def run_and_wait():
            for _ in range(20):
                run()
            jax.block_until_ready(np.asarray(state_and_loss[key]))

        return run_and_wait

    times = best_times(
        {
            "plain JAX": make_blocking(run_jax, "loss"),
            "Podium, taped": make_blocking(run_taped, "taped"),
        },
        1,
    )
    print(
        "| MLP 784-512-512-10, batch 128, Adam by hand | ms a step | ratio |\n| --- | ---: | ---: |"
    )
    for name, seconds in times.items():
        print(f"| {name} | {seconds / 20 * 1e3:.2f} | {seconds / times['plain JAX']:.3f} |")
    print(f"\ncompiled programs of the taped step: {taped.trace_count}\n")


def call_overhead() -> None:
    """A call of `function` compared with a bare jax.jit call on the same number of arrays."""
    print(
        "| Variables | bare jax.jit, us | podium.function, us | ratio | difference, us |\n| "
        "---: | ---: | ---: | ---: | ---: |"
    )
    for count in (10, 100, 1000):
        values = [podium.Variable(np.zeros(2, "float32"), trainable=False) for _ in range(count)]
        x = jnp.ones(2)

        @podium.function
        def step(x, values=values):
            for v in values:
                v.assign_add(x)
            return x

        bare = jax.jit(lambda state, x: ([s + x for s in state], x), donate_argnums=0)
        state_and_loss = {"state": [jnp.zeros(2) for _ in range(count)]}

        def run_bare(state_and_loss=state_and_loss, bare=bare, x=x):
            state_and_loss["state"], _ = bare(state_and_loss["state"], x)

        def run_step(step=step, x=x):
            step(x)

        run_bare(), run_bare(), run_step(), run_step()
        times = best_times({"bare": run_bare, "step": run_step}, max(20, 2000 // count))
        bare_us, step_us = times["bare"] * 1e6, times["step"] * 1e6
        print(
            f"| {count} | {bare_us:.1f} | {step_us:.1f} | {step_us / bare_us:.2f} | "
            f"{step_us - bare_us:.1f} |"
        )
    print()


if __name__ == "__main__":
    mlp_step()
    call_overhead()
