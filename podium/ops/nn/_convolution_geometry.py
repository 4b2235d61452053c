"""The geometry of a convolution, and its products with `lax` alone.

Owns the static sizes of a convolution. The forms of `lax` are used on GPU and TPU, and for
forward-mode derivatives; those for CPU are in `_convolution_cpu.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array, lax


@dataclass(frozen=True)
class Geometry:
    """The static sizes of one convolution; all tuples have one entry per spatial dimension."""

    size: tuple[int, ...]  # of x
    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]  # of x, (low, high); may be negative
    groups: int = 1

    @property
    def output(self) -> tuple[int, ...]:
        """The spatial size of y."""
        return tuple(
            max(0, (n + low + high - (k - 1) * d - 1) // s + 1)
            for n, (low, high), k, d, s in zip(
                self.size, self.padding, self.window, self.dilation, self.strides, strict=True
            )
        )

    @property
    def taps(self) -> int:
        """The number of elements of the window."""
        return math.prod(self.window)

    @property
    def unit_stride(self) -> bool:
        """Whether all strides are 1."""
        return all(s == 1 for s in self.strides)

    def offsets(self) -> Iterator[tuple[int, ...]]:
        """Iterate over the offsets of the kernel taps in the padded x, in the kernel's order."""
        return itertools.product(
            *(range(0, k * d, d) for k, d in zip(self.window, self.dilation, strict=True))
        )


def lax_conv_forward(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """`conv_forward` with `lax` alone: for GPU and TPU, and for forward-mode derivatives."""
    return lax.conv_general_dilated(
        x,
        kernel,
        geometry.strides,
        geometry.padding,
        rhs_dilation=geometry.dilation,
        dimension_numbers=_layout(geometry),
        feature_group_count=geometry.groups,
    )


def lax_conv_input_grad(y: Array, kernel: Array, geometry: Geometry) -> Array:
    """`conv_input_grad` with `lax` alone: a convolution of y with zeros between its positions."""
    padding = tuple(
        ((k - 1) * d - low, n - 1 + low - (o - 1) * s)
        for n, o, (low, _), k, d, s in zip(
            geometry.size,
            geometry.output,
            geometry.padding,
            geometry.window,
            geometry.dilation,
            geometry.strides,
            strict=True,
        )
    )
    return lax.conv_general_dilated(
        y,
        flip_kernel(kernel, geometry),
        (1,) * len(geometry.size),
        padding,
        lhs_dilation=geometry.strides,
        rhs_dilation=geometry.dilation,
        dimension_numbers=_layout(geometry),
        feature_group_count=geometry.groups,
    )


def _layout(geometry: Geometry) -> tuple[str, str, str]:
    space = "DHW"[-len(geometry.size) :]
    return f"N{space}C", f"{space}IO", f"N{space}C"


def flip_kernel(kernel: Array, geometry: Geometry) -> Array:
    """Reverse the kernel in space, and swap its inputs and outputs within each group."""
    *window, channels, features = kernel.shape
    space = tuple(range(len(window)))
    grouped = kernel.reshape(*window, channels, geometry.groups, features // geometry.groups)
    return (
        jnp.flip(grouped, space).swapaxes(-1, -3).reshape(*window, -1, geometry.groups * channels)
    )
