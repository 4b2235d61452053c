"""The three products of a convolution on CPU: which algorithm for which shape.

Owns the algorithms. Which product is the gradient of which, and why they are not left to XLA, is in
`_convolution_gradients.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from podium.core.internal import context
from podium.ops.nn._convolution_geometry import Geometry, flip_kernel, lax_conv_forward

# Patches are built for blocks of samples that take about 5 MB in float32.
BLOCK_ELEMENTS = 1_250_000

# Ratios below: time of plain `lax` over time of the chosen algorithm, float32, 2 cores.


def conv_forward_on_cpu(x: Array, kernel: Array, geometry: Geometry) -> Array:
    *_, channels, features = kernel.shape
    if geometry.groups > 1:
        if min(channels, features // geometry.groups) == 1:
            # 3x3 on 64 channels, 28x28: 20x.
            return _forward_depthwise(x, kernel, geometry)
        # 3x3 64->64 in 2 or 8 groups: 4x.
        return _by_group(conv_forward_on_cpu, x, kernel, geometry)
    if geometry.unit_stride and geometry.taps > 1 and features <= 4:
        # 7x7 128->1: 2.4x; 3x3 16->1: 2.4x; 64->3: 1.2x; 64->8 would be 0.7x.
        return _dot_then_shift(x, kernel, geometry)
    if len(geometry.size) == 3 and geometry.taps > 1:
        # 3x3x3 16->32 on 12x12x12 and 32->32 on 8x8x8: 2.5x to 3x.
        return _dot_patches(x, kernel, geometry)
    return _lax_forward_padded(x, kernel, geometry)


def conv_input_grad_on_cpu(y: Array, kernel: Array, geometry: Geometry) -> Array:
    """Compute each phase of x (positions equal modulo the stride) as a stride-1 convolution of y.

    A phase only uses the taps that reach it, so nothing is multiplied by an inserted zero:
    2x for 4x4 128->128 with stride 2 to 28x28, equal for 3x3. (One dot and a shift-add is as
    fast, but needs blocks of the batch to stay in cache.)
    """
    flipped = flip_kernel(kernel, geometry)
    phases = [_phase(y, flipped, geometry, r) for r in _phase_indices(geometry)]
    if geometry.unit_stride:
        return phases[0]
    return _interleave(phases, geometry)


def conv_kernel_grad_on_cpu(x: Array, y: Array, geometry: Geometry) -> Array:
    channels, features = x.shape[-1] // geometry.groups, y.shape[-1]
    if geometry.groups > 1:
        if min(channels, features // geometry.groups) == 1:
            return _kernel_grad_depthwise(x, y, geometry)
        return _kernel_grad_by_group(x, y, geometry)
    if geometry.unit_stride and 4 * features <= channels:
        algorithm, columns, positions = _kernel_grad_from_shifts, features, geometry.size
    else:
        algorithm, columns, positions = _kernel_grad_from_patches, channels, geometry.output
    rows = math.prod(positions) * geometry.taps * columns
    return _sum_over_blocks(partial(algorithm, geometry=geometry), x, y, rows).astype(x.dtype)


# The output -----------------------------------------------------------------------------------


def _lax_forward_padded(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """Use `lax`, avoiding its slow case: stride 1 without padding (2.5x, 3x3 64->64)."""
    if any(pad < 0 for pads in geometry.padding for pad in pads):
        x, geometry = _apply_padding(x, geometry)
    slow = geometry.unit_stride and geometry.taps * x.shape[-1] >= 256
    if not slow or any(pad for pads in geometry.padding for pad in pads):
        return lax_conv_forward(x, kernel, geometry)
    rows, *_ = geometry.output
    padded = replace(geometry, padding=((0, 1), *geometry.padding[1:]))
    return lax.slice_in_dim(lax_conv_forward(x, kernel, padded), 0, rows, axis=1)


def _dot_then_shift(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """For few features: one dot for all taps, then a shifted sum of the results."""
    channels, features = kernel.shape[-2:]
    flat = jnp.moveaxis(kernel, -2, 0).reshape(channels, geometry.taps * features)
    products = _pad(_dot(x, flat), geometry.padding)
    parts = [
        lax.slice_in_dim(part, tap * features, (tap + 1) * features, axis=-1)
        for tap, part in enumerate(_tap_slices(products, geometry))
    ]
    return reduce(jnp.add, parts).astype(x.dtype)


def _dot_patches(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """One dot of the kernel with the patch of each output, for a block of the batch."""

    def multiply_patches(x: Array) -> Array:
        parts = list(_tap_slices(_pad(x, geometry.padding), geometry))
        patches = jnp.concatenate(parts, axis=-1)
        return _dot(patches, kernel.reshape(-1, kernel.shape[-1])).astype(x.dtype)

    elements = math.prod(geometry.output) * geometry.taps * x.shape[-1]
    blocks = _split_batch(x, elements)
    if blocks is None:
        return multiply_patches(x)
    return _join_batch(lax.map(multiply_patches, blocks), x.shape[0])


def _forward_depthwise(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """For groups of one channel (or one feature): sums of products of shifted arrays."""
    channels, features = kernel.shape[-2:]
    groups = geometry.groups
    weights = kernel.reshape(geometry.taps, channels, groups, features // groups).swapaxes(1, 2)
    x = _pad(x, geometry.padding).astype(_accumulator_dtype(x))
    total: Array = sum(
        (part.reshape(*part.shape[:-1], groups, channels, 1) * weight).sum(-2)
        for part, weight in zip(_tap_slices(x, geometry), weights.astype(x.dtype), strict=True)
    )
    return total.reshape(*total.shape[:-2], features).astype(kernel.dtype)


# The gradient of the input --------------------------------------------------------------------


def _phase_indices(geometry: Geometry) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, geometry.strides))


def _phase(y: Array, flipped: Array, geometry: Geometry, phase: tuple[int, ...]) -> Array:
    """Return the positions `phase + block * stride` of x, for every block."""
    taps, window, dilation, padding = [], [], [], []
    for n, o, (low, _), k, d, s, r in zip(
        geometry.size,
        geometry.output,
        geometry.padding,
        geometry.window,
        geometry.dilation,
        geometry.strides,
        phase,
        strict=True,
    ):
        # Tap i reaches position r + b*s from output b + (r + low - i*d) / s, if that is integral.
        reach = [i for i in range(k) if (r + low - i * d) % s == 0]
        if not reach:
            blocks = tuple(-(-n // s) for n, s in zip(geometry.size, geometry.strides, strict=True))
            return jnp.zeros((y.shape[0], *blocks, flipped.shape[-1]), y.dtype)
        step = s // math.gcd(s, d)
        first, last = ((r + low - i * d) // s for i in (reach[-1], reach[0]))
        taps.append(slice(k - 1 - reach[-1], k - reach[0], step))
        window.append(len(reach))
        dilation.append(step * d // s)
        padding.append((-first, -(-n // s) + last - o))
    unit = Geometry(
        geometry.output,
        tuple(window),
        (1,) * len(window),
        tuple(dilation),
        tuple(padding),
        geometry.groups,
    )
    return conv_forward_on_cpu(y, flipped[tuple(taps)], unit)


def _interleave(phases: list[Array], geometry: Geometry) -> Array:
    """Return x from phases (batch, *blocks, channels): both alternate in every dimension."""
    rank, strides = len(geometry.size), geometry.strides
    batch, *blocks, channels = phases[0].shape
    x = jnp.stack(phases, axis=1).reshape(batch, *strides, *blocks, channels)
    order = [axis for i in range(rank) for axis in (1 + rank + i, 1 + i)]
    x = x.transpose(0, *order, 1 + 2 * rank)
    x = x.reshape(batch, *(b * s for b, s in zip(blocks, strides, strict=True)), channels)
    return x[(slice(None), *map(slice, geometry.size))]


# The gradient of the kernel -------------------------------------------------------------------


def _kernel_grad_from_patches(x: Array, y: Array, geometry: Geometry) -> Array:
    """One dot of y with the patch of x at each of its positions."""
    parts = _tap_slices(_pad(x, geometry.padding), geometry)
    products = _dot_positions(y, jnp.concatenate(list(parts), axis=-1))
    kernel = products.reshape(y.shape[-1], *geometry.window, x.shape[-1])
    return jnp.moveaxis(kernel, 0, -1)


def _kernel_grad_from_shifts(x: Array, y: Array, geometry: Geometry) -> Array:
    """The same with shifts of y: for fewer features than channels, at stride 1."""
    shifts = [
        _pad(
            y,
            [
                (at - low, n + low - at - o)
                for at, n, o, (low, _) in zip(
                    offset, geometry.size, geometry.output, geometry.padding, strict=True
                )
            ],
        )
        for offset in geometry.offsets()
    ]
    products = _dot_positions(x, jnp.concatenate(shifts, axis=-1))
    kernel = products.reshape(x.shape[-1], *geometry.window, y.shape[-1])
    return jnp.moveaxis(kernel, 0, -2)


def _kernel_grad_depthwise(x: Array, y: Array, geometry: Geometry) -> Array:
    """Products of shifted arrays, summed over the batch first and over space last.

    Adding full images keeps the additions wide: 6x against one sum over everything, and 20x
    against `lax` (3x3 on 64 channels, 28x28).
    """
    groups, dtype = geometry.groups, _accumulator_dtype(x)
    channels, features = x.shape[-1] // groups, y.shape[-1] // groups
    padded = _pad(x, geometry.padding)
    xs = padded.reshape(*padded.shape[:-1], groups, channels, 1).astype(dtype)
    ys = y.reshape(*y.shape[:-1], groups, 1, features).astype(dtype)

    def add_sample(
        totals: list[Array], sample: tuple[Array, Array]
    ) -> tuple[list[Array], None]:  # one sample per device
        x, y = sample
        return [
            total + part * y for total, part in zip(totals, _tap_slices(x, geometry), strict=True)
        ], None

    count = _batch_shards(x.shape[0]) if isinstance(x.shape[0], int) else 1
    xs, ys = (z.reshape(count, -1, *z.shape[1:]).swapaxes(0, 1) for z in (xs, ys))
    zero = jnp.zeros((count, *geometry.output, groups, channels, features), dtype)
    totals, _ = lax.scan(add_sample, [zero] * geometry.taps, (xs, ys))
    kernel = jnp.stack([total.sum(tuple(range(1 + len(geometry.size)))) for total in totals])
    kernel = kernel.swapaxes(1, 2).reshape(*geometry.window, channels, groups * features)
    return kernel.astype(x.dtype)


def _sum_over_blocks(
    product: Callable[[Array, Array], Array], x: Array, y: Array, elements: int
) -> Array:
    """Sum `product` over blocks of the batch; its patches have `elements` per sample."""
    x_blocks, y_blocks = _split_batch(x, elements), _split_batch(y, elements)
    if x_blocks is None or y_blocks is None:
        return product(x, y)
    spec = jax.eval_shape(product, x, y)
    zero = jnp.zeros(spec.shape, spec.dtype)
    total, _ = lax.scan(
        lambda total, pair: (total + product(*pair), None), zero, (x_blocks, y_blocks)
    )
    return total


# Helpers --------------------------------------------------------------------------------------


def _split_batch(x: Array, elements: int) -> Array | None:
    """Split x into (blocks, samples, ...) whose patches fit into the cache; None for one block.

    Patches of the full batch are newly allocated memory, and touching it costs more than the
    dots: in blocks the kernel gradient of 3x3 64->64 on 32x32 is 3x faster.
    """
    batch = x.shape[0]
    if not isinstance(batch, int):  # a symbolic size of `jax.export`
        return None
    shards = _batch_shards(batch)
    shard_size = batch // shards
    max_size = min(shard_size, BLOCK_ELEMENTS // max(1, elements))
    size = next((n for n in range(max_size, 0, -1) if shard_size % n == 0), 1)
    if size == shard_size:
        return None
    # Every block takes samples from each shard: a block of consecutive samples would have to be
    # sent between devices.
    split = x.reshape(shards, shard_size // size, size, *x.shape[1:])
    return split.swapaxes(0, 1).reshape(shard_size // size, shards * size, *x.shape[1:])


def _join_batch(blocks: Array, batch: int) -> Array:
    """Undo `_split_batch`: return the samples in the order of the batch."""
    shards = _batch_shards(batch)
    split = blocks.reshape(blocks.shape[0], shards, blocks.shape[1] // shards, *blocks.shape[2:])
    return split.swapaxes(0, 1).reshape(batch, *blocks.shape[2:])


def _batch_shards(batch: int) -> int:
    """Return the number of shards that a batch is split into between devices."""
    layout = context.layout
    if layout is None or context.replica_axes is not None or batch % layout.parts:
        return 1
    return int(layout.parts)


def _by_group(
    product: Callable[[Array, Array, Geometry], Array], a: Array, kernel: Array, geometry: Geometry
) -> Array:
    """Apply `product` to each group, and concatenate the results."""
    single = replace(geometry, groups=1)
    pairs = zip(
        jnp.split(a, geometry.groups, -1), jnp.split(kernel, geometry.groups, -1), strict=True
    )
    return jnp.concatenate([product(part, weights, single) for part, weights in pairs], axis=-1)


_kernel_grad_by_group = partial(_by_group, conv_kernel_grad_on_cpu)


def _tap_slices(padded: Array, geometry: Geometry) -> Iterator[Array]:
    """Iterate over the elements of the padded x at each tap: one array shaped like y per tap."""
    for offset in geometry.offsets():
        stop = [
            a + (o - 1) * s + 1
            for a, o, s in zip(offset, geometry.output, geometry.strides, strict=True)
        ]
        window = (slice(a, b, s) for a, b, s in zip(offset, stop, geometry.strides, strict=True))
        yield padded[(slice(None), *window)]


def _pad(x: Array, padding: Sequence[tuple[int, int]]) -> Array:
    if not any(pad for pads in padding for pad in pads):
        return x
    edges = ((0, 0, 0), *((low, high, 0) for low, high in padding), (0, 0, 0))
    return lax.pad(x, jnp.zeros((), x.dtype), edges)


def _apply_padding(x: Array, geometry: Geometry) -> tuple[Array, Geometry]:
    """Pad x, and return it with the geometry of a convolution without padding."""
    x = _pad(x, geometry.padding)
    return x, replace(geometry, size=x.shape[1:-1], padding=((0, 0),) * len(geometry.size))


def _accumulator_dtype(x: Array) -> np.dtype[Any]:
    is_half = jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize < 4
    return np.dtype("float32") if is_half else x.dtype


def _dot(a: Array, b: Array) -> Array:
    return lax.dot_general(
        a, b, (((a.ndim - 1,), (0,)), ((), ())), preferred_element_type=_accumulator_dtype(a)
    )


def _dot_positions(a: Array, b: Array) -> Array:
    """Return the product (A, B) of (..., A) and (..., B), summed over batch and space.

    The barrier makes XLA materialize the transpose of `a`, the smaller operand: without it, XLA
    folds the transpose into the dot, which then reads both by columns (1.4x slower).
    """
    a = a.reshape(-1, a.shape[-1])
    return _dot(lax.optimization_barrier(a.T), b.reshape(-1, b.shape[-1]))
