"""The three products of a convolution, each the gradient of the other two, fast on CPU.

Owns which product is the gradient of which. How each is computed is in `_convolution_cpu.py`;
Keras's arguments and padding names are in `_convolution.py`.

A convolution relates an input `x`, a kernel and an output `y` by one sum of products,

    total = sum of x[n, o*stride + k*dilation - low, c] * kernel[k, c, f] * y[n, o, f],

and there are three ways to differentiate it: `conv_forward` computes y from x and kernel,
`conv_input_grad` computes x from y and kernel (a transposed convolution), `conv_kernel_grad`
computes the kernel from x and y. Each is linear in both arguments and has the other two as its
gradients, so derivatives of every order stay within these three functions and stay fast.

Why not leave it to XLA: its forward convolutions are good on CPU, but its gradients multiply
by inserted zeros (`conv_input_grad`) or use the full image as a window (`conv_kernel_grad`), and
both miss the fast kernels: 3 to 20 times slower alone, 30 times and more inside `lax.scan`.
"""

from __future__ import annotations

from functools import partial

import jax
from jax import Array

from podium.ops.nn._convolution_cpu import (
    conv_forward_on_cpu,
    conv_input_grad_on_cpu,
    conv_kernel_grad_on_cpu,
)
from podium.ops.nn._convolution_geometry import Geometry


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def conv_forward(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """Return y from x and kernel: a convolution."""
    return conv_forward_on_cpu(x, kernel, geometry)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def conv_input_grad(y: Array, kernel: Array, geometry: Geometry) -> Array:
    """Return x from y and kernel: a transposed convolution."""
    return conv_input_grad_on_cpu(y, kernel, geometry)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def conv_kernel_grad(x: Array, y: Array, geometry: Geometry) -> Array:
    """Return the kernel from x and y: the sum over all positions of x's patches times y."""
    return conv_kernel_grad_on_cpu(x, y, geometry)


conv_forward.defvjp(
    lambda x, kernel, geometry: (conv_forward(x, kernel, geometry), (x, kernel)),
    lambda geometry, saved, dy: (
        conv_input_grad(dy, saved[1], geometry),
        conv_kernel_grad(saved[0], dy, geometry),
    ),
)
conv_input_grad.defvjp(
    lambda y, kernel, geometry: (conv_input_grad(y, kernel, geometry), (y, kernel)),
    lambda geometry, saved, dx: (
        conv_forward(dx, saved[1], geometry),
        conv_kernel_grad(dx, saved[0], geometry),
    ),
)
conv_kernel_grad.defvjp(
    lambda x, y, geometry: (conv_kernel_grad(x, y, geometry), (x, y)),
    lambda geometry, saved, dkernel: (
        conv_input_grad(saved[1], dkernel, geometry),
        conv_forward(saved[0], dkernel, geometry),
    ),
)
