"""The three products of a convolution, each the gradient of the other two, fast on CPU.

Owns the geometry of a convolution and how each product is computed for a given shape.
Does not own Keras's arguments or padding names: those are `_convolution.py`.

A convolution ties an input `x`, a kernel and an output `y` together in one sum of products,

    total = sum of x[n, o*stride + k*dilation - low, c] * kernel[k, c, f] * y[n, o, f],

and there are three ways to differentiate it: `correlate` gives y from x and kernel,
`spread` gives x from y and kernel (a transposed convolution), `weigh` gives the kernel from
x and y. Each is linear in both arguments and has the other two as its gradients, so
derivatives of every order stay within these three functions and stay fast.

Why not leave it to XLA: its forward convolutions are good on CPU, but its gradients multiply
by inserted zeros (`spread`) or use the whole image as a window (`weigh`), and both lose the
fast kernels: 3 to 20 times slower alone, 30 times and more inside `lax.scan`.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce

import jax
import jax.numpy as jnp
from jax import Array, lax

from podium.core.internal import context

# Patches are built for so many samples at a time that they take about 5 MB in float32.
BLOCK_ELEMENTS = 1_250_000


@dataclass(frozen=True)
class Geometry:
    """The static numbers of one convolution; all tuples have one entry per spatial dimension."""

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
        return math.prod(self.window)

    @property
    def unit_stride(self) -> bool:
        return all(s == 1 for s in self.strides)

    def offsets(self) -> Iterator[tuple[int, ...]]:
        """Where each kernel tap starts reading the padded x, in the kernel's own order."""
        return itertools.product(
            *(range(0, k * d, d) for k, d in zip(self.window, self.dilation, strict=True))
        )


# The three products ---------------------------------------------------------------------------


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def correlate(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """y from x and kernel: an ordinary convolution."""
    return _correlate(x, kernel, geometry)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def spread(y: Array, kernel: Array, geometry: Geometry) -> Array:
    """x from y and kernel: a transposed convolution."""
    return _spread(y, kernel, geometry)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def weigh(x: Array, y: Array, geometry: Geometry) -> Array:
    """The kernel from x and y: the sum over all positions of x's patches times y."""
    return _weigh(x, y, geometry)


correlate.defvjp(
    lambda x, kernel, geometry: (correlate(x, kernel, geometry), (x, kernel)),
    lambda geometry, saved, dy: (
        spread(dy, saved[1], geometry),
        weigh(saved[0], dy, geometry),
    ),
)
spread.defvjp(
    lambda y, kernel, geometry: (spread(y, kernel, geometry), (y, kernel)),
    lambda geometry, saved, dx: (
        correlate(dx, saved[1], geometry),
        weigh(dx, saved[0], geometry),
    ),
)
weigh.defvjp(
    lambda x, y, geometry: (weigh(x, y, geometry), (x, y)),
    lambda geometry, saved, dkernel: (
        spread(saved[1], dkernel, geometry),
        correlate(saved[0], dkernel, geometry),
    ),
)


# Plain lax ------------------------------------------------------------------------------------


def lax_correlate(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """`correlate` by `lax` alone: for GPU and TPU, and for forward-mode derivatives."""
    return lax.conv_general_dilated(
        x,
        kernel,
        geometry.strides,
        geometry.padding,
        rhs_dilation=geometry.dilation,
        dimension_numbers=_layout(geometry),
        feature_group_count=geometry.groups,
    )


def lax_spread(y: Array, kernel: Array, geometry: Geometry) -> Array:
    """`spread` by `lax` alone: a convolution of y with zeros inserted between its positions."""
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
        _mirror(kernel, geometry),
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


def _mirror(kernel: Array, geometry: Geometry) -> Array:
    """The kernel reversed in space, its inputs and outputs exchanged within each group."""
    *window, channels, features = kernel.shape
    space = tuple(range(len(window)))
    grouped = kernel.reshape(*window, channels, geometry.groups, features // geometry.groups)
    return (
        jnp.flip(grouped, space).swapaxes(-1, -3).reshape(*window, -1, geometry.groups * channels)
    )


# On CPU: which form for which shape -----------------------------------------------------------

# Ratios below: time of the plain `lax` form over time of the chosen one, float32, 2 cores.


def _correlate(x: Array, kernel: Array, geometry: Geometry) -> Array:
    *_, channels, features = kernel.shape
    if geometry.groups > 1:
        if min(channels, features // geometry.groups) == 1:
            # 3x3 on 64 channels, 28x28: 20x.
            return _correlate_depthwise(x, kernel, geometry)
        # 3x3 64->64 in 2 or 8 groups: 4x.
        return _by_group(_correlate, x, kernel, geometry)
    if geometry.unit_stride and geometry.taps > 1 and features <= 4:
        # 7x7 128->1: 2.4x; 3x3 16->1: 2.4x; 64->3: 1.2x; 64->8 would be 0.7x.
        return _dot_then_shift(x, kernel, geometry)
    if len(geometry.size) == 3 and geometry.taps > 1:
        # 3x3x3 16->32 on 12x12x12 and 32->32 on 8x8x8: 2.5x to 3x.
        return _dot_patches(x, kernel, geometry)
    return _lax_correlate_padded(x, kernel, geometry)


def _spread(y: Array, kernel: Array, geometry: Geometry) -> Array:
    """Each phase of x (positions equal modulo the stride) is a stride-1 convolution of y.

    A phase only sees the taps that reach it, so nothing is multiplied by an inserted zero:
    2x for 4x4 128->128 with stride 2 to 28x28, equal for 3x3. (One dot and a shift-add is as
    fast, but needs blocks of the batch to stay in cache.)
    """
    flipped = _mirror(kernel, geometry)
    phases = [_phase(y, flipped, geometry, r) for r in _phase_indices(geometry)]
    if geometry.unit_stride:
        return phases[0]
    return _interleave(phases, geometry)


def _weigh(x: Array, y: Array, geometry: Geometry) -> Array:
    channels, features = x.shape[-1] // geometry.groups, y.shape[-1]
    if geometry.groups > 1:
        if min(channels, features // geometry.groups) == 1:
            return _weigh_depthwise(x, y, geometry)
        return _weigh_by_group(x, y, geometry)
    if geometry.unit_stride and 4 * features <= channels:
        form, columns, positions = _weigh_shifts_of_y, features, geometry.size
    else:
        form, columns, positions = _weigh_patches_of_x, channels, geometry.output
    rows = math.prod(positions) * geometry.taps * columns
    return _sum_over_blocks(partial(form, geometry=geometry), x, y, rows).astype(x.dtype)


# Correlate ------------------------------------------------------------------------------------


def _lax_correlate_padded(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """`lax`, without its slow case: no padding at all at stride 1 (2.5x, 3x3 64->64)."""
    if any(pad < 0 for pads in geometry.padding for pad in pads):
        x, geometry = _pad_ahead(x, geometry)
    slow = geometry.unit_stride and geometry.taps * x.shape[-1] >= 256
    if not slow or any(pad for pads in geometry.padding for pad in pads):
        return lax_correlate(x, kernel, geometry)
    rows, *_ = geometry.output
    padded = replace(geometry, padding=((0, 1), *geometry.padding[1:]))
    return lax.slice_in_dim(lax_correlate(x, kernel, padded), 0, rows, axis=1)


def _dot_then_shift(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """Few features: one dot for all taps, then add the results where they belong."""
    channels, features = kernel.shape[-2:]
    flat = jnp.moveaxis(kernel, -2, 0).reshape(channels, geometry.taps * features)
    products = _pad(_dot(x, flat), geometry.padding)
    parts = [
        lax.slice_in_dim(part, tap * features, (tap + 1) * features, axis=-1)
        for tap, part in enumerate(_reads(products, geometry))
    ]
    return reduce(jnp.add, parts).astype(x.dtype)


def _dot_patches(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """One dot of the kernel with the patch that each output sees, for a block of the batch."""

    def product(x):
        parts = list(_reads(_pad(x, geometry.padding), geometry))
        patches = jnp.concatenate(parts, axis=-1)
        return _dot(patches, kernel.reshape(-1, kernel.shape[-1])).astype(x.dtype)

    elements = math.prod(geometry.output) * geometry.taps * x.shape[-1]
    blocks = _split_batch(x, elements)
    return product(x) if blocks is None else _join_batch(lax.map(product, blocks), x.shape[0])


def _correlate_depthwise(x: Array, kernel: Array, geometry: Geometry) -> Array:
    """Groups of one channel (or one feature): products of shifted arrays, no dot to be had."""
    channels, features = kernel.shape[-2:]
    groups = geometry.groups
    weights = kernel.reshape(geometry.taps, channels, groups, features // groups).swapaxes(1, 2)
    x = _pad(x, geometry.padding).astype(_accumulator(x))
    total = sum(
        (part.reshape(*part.shape[:-1], groups, channels, 1) * weight).sum(-2)
        for part, weight in zip(_reads(x, geometry), weights.astype(x.dtype), strict=True)
    )
    return total.reshape(*total.shape[:-2], features).astype(kernel.dtype)


# Spread ---------------------------------------------------------------------------------------


def _phase_indices(geometry: Geometry) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, geometry.strides))


def _phase(y: Array, flipped: Array, geometry: Geometry, phase: tuple[int, ...]) -> Array:
    """The positions `phase + block * stride` of x, for every block."""
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
        # Tap i reaches position r + b*s from output b + (r + low - i*d) / s, if that is whole.
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
    return _correlate(y, flipped[tuple(taps)], unit)


def _interleave(phases: list[Array], geometry: Geometry) -> Array:
    """Phases (batch, *blocks, channels) to x: blocks and phases alternate in every dimension."""
    rank, strides = len(geometry.size), geometry.strides
    batch, *blocks, channels = phases[0].shape
    x = jnp.stack(phases, axis=1).reshape(batch, *strides, *blocks, channels)
    order = [axis for i in range(rank) for axis in (1 + rank + i, 1 + i)]
    x = x.transpose(0, *order, 1 + 2 * rank)
    x = x.reshape(batch, *(b * s for b, s in zip(blocks, strides, strict=True)), channels)
    return x[(slice(None), *map(slice, geometry.size))]


# Weigh ----------------------------------------------------------------------------------------


def _weigh_patches_of_x(x: Array, y: Array, geometry: Geometry) -> Array:
    """One dot of y with the patch of x that each of its positions saw."""
    parts = _reads(_pad(x, geometry.padding), geometry)
    products = _dot_positions(y, jnp.concatenate(list(parts), axis=-1))
    kernel = products.reshape(y.shape[-1], *geometry.window, x.shape[-1])
    return jnp.moveaxis(kernel, 0, -1)


def _weigh_shifts_of_y(x: Array, y: Array, geometry: Geometry) -> Array:
    """The same with the smaller side repeated: for fewer features than channels, at stride 1."""
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


def _weigh_depthwise(x: Array, y: Array, geometry: Geometry) -> Array:
    """Products of shifted arrays, summed over the batch first and over space in the end.

    Adding whole images keeps the additions wide: 6x against one sum over everything, and 20x
    against `lax` (3x3 on 64 channels, 28x28).
    """
    groups, dtype = geometry.groups, _accumulator(x)
    channels, features = x.shape[-1] // groups, y.shape[-1] // groups
    padded = _pad(x, geometry.padding)
    xs = padded.reshape(*padded.shape[:-1], groups, channels, 1).astype(dtype)
    ys = y.reshape(*y.shape[:-1], groups, 1, features).astype(dtype)

    def add_sample(totals, sample):  # one of each device
        x, y = sample
        return [
            total + part * y for total, part in zip(totals, _reads(x, geometry), strict=True)
        ], None

    count = _parts(x.shape[0]) if isinstance(x.shape[0], int) else 1
    xs, ys = (each.reshape(count, -1, *each.shape[1:]).swapaxes(0, 1) for each in (xs, ys))
    zero = jnp.zeros((count, *geometry.output, groups, channels, features), dtype)
    totals, _ = lax.scan(add_sample, [zero] * geometry.taps, (xs, ys))
    kernel = jnp.stack([total.sum(tuple(range(1 + len(geometry.size)))) for total in totals])
    kernel = kernel.swapaxes(1, 2).reshape(*geometry.window, channels, groups * features)
    return kernel.astype(x.dtype)


def _sum_over_blocks(product: Callable, x: Array, y: Array, elements: int) -> Array:
    """Sums `product` over blocks of the batch; its patches have `elements` a sample."""
    blocks = _split_batch(x, elements), _split_batch(y, elements)
    if blocks[0] is None:
        return product(x, y)
    total = jax.eval_shape(product, x, y)
    zero = jnp.zeros(total.shape, total.dtype)
    return lax.scan(lambda total, pair: (total + product(*pair), None), zero, blocks)[0]


# Small parts ----------------------------------------------------------------------------------


def _split_batch(x: Array, elements: int) -> Array | None:
    """x as (blocks, samples, ...) so that a block's patches stay in cache; None for one block.

    Patches of a whole batch are fresh memory, and touching it costs more than the dots do:
    in blocks the kernel gradient of 3x3 64->64 on 32x32 is 3x faster.
    """
    batch = x.shape[0]
    if not isinstance(batch, int):  # a symbolic size of `jax.export`
        return None
    parts = _parts(batch)
    own = batch // parts
    most = min(own, BLOCK_ELEMENTS // max(1, elements))
    block = next((b for b in range(most, 0, -1) if own % b == 0), 1)
    if block == own:
        return None
    # Each device gives its share to every block: blocks of neighbouring samples would have to be
    # sent around.
    split = x.reshape(parts, own // block, block, *x.shape[1:])
    return split.swapaxes(0, 1).reshape(own // block, parts * block, *x.shape[1:])


def _join_batch(blocks: Array, batch: int) -> Array:
    """What `_split_batch` made of a batch, in the order of the batch."""
    parts = _parts(batch)
    split = blocks.reshape(blocks.shape[0], parts, blocks.shape[1] // parts, *blocks.shape[2:])
    return split.swapaxes(0, 1).reshape(batch, *blocks.shape[2:])


def _parts(batch: int) -> int:
    """Into how many parts a batch is split between devices."""
    layout = context.layout
    if layout is None or context.replica_axes is not None or batch % layout.parts:
        return 1
    return layout.parts


def _by_group(product: Callable, a: Array, kernel: Array, geometry: Geometry) -> Array:
    one = replace(geometry, groups=1)
    pairs = zip(
        jnp.split(a, geometry.groups, -1), jnp.split(kernel, geometry.groups, -1), strict=True
    )
    return jnp.concatenate([product(part, weights, one) for part, weights in pairs], axis=-1)


_weigh_by_group = partial(_by_group, _weigh)


def _reads(padded: Array, geometry: Geometry) -> Iterator[Array]:
    """What each tap reads of the padded x: one array shaped like y per tap."""
    for offset in geometry.offsets():
        stop = [
            a + (o - 1) * s + 1
            for a, o, s in zip(offset, geometry.output, geometry.strides, strict=True)
        ]
        window = (slice(a, b, s) for a, b, s in zip(offset, stop, geometry.strides, strict=True))
        yield padded[(slice(None), *window)]


def _pad(x: Array, padding) -> Array:
    if not any(pad for pads in padding for pad in pads):
        return x
    edges = ((0, 0, 0), *((low, high, 0) for low, high in padding), (0, 0, 0))
    return lax.pad(x, jnp.zeros((), x.dtype), edges)


def _pad_ahead(x: Array, geometry: Geometry) -> tuple[Array, Geometry]:
    x = _pad(x, geometry.padding)
    return x, replace(geometry, size=x.shape[1:-1], padding=((0, 0),) * len(geometry.size))


def _accumulator(x: Array) -> jnp.dtype:
    low = jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize < 4
    return jnp.dtype("float32") if low else x.dtype


def _dot(a: Array, b: Array) -> Array:
    return lax.dot_general(
        a, b, (((a.ndim - 1,), (0,)), ((), ())), preferred_element_type=_accumulator(a)
    )


def _dot_positions(a: Array, b: Array) -> Array:
    """(..., A) and (..., B) to (A, B), summed over batch and space.

    The barrier makes XLA write out the transpose of `a`, which is the smaller operand: left to
    itself it folds the transpose into the dot, which then reads both by columns (1.4x slower).
    """
    a = a.reshape(-1, a.shape[-1])
    return _dot(lax.optimization_barrier(a.T), b.reshape(-1, b.shape[-1]))
