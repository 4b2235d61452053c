"""The loop of the built-in recurrent cells, as pure compiled functions.

Measured on XLA:CPU (2 cores, JAX 0.10.2, float32, 3 cells x 5 sizes from (32, 200, 16, 32) to (16,
50, 256, 256)), as geometric means against the plain loop:
- Computing `inputs @ kernel` before the loop as one large product is slower: forward 0.7 times the
  speed (LSTM 0.66, GRU 0.47), value and gradient 0.99. The step then reads a slice of a large
  array, and XLA's fusion of that slice with the gates is not vectorized. So the product stays in
  the loop.
- Computing the *gradients of the weights* after the loop is faster. JAX accumulates them step by
  step; as one product over all steps, value and gradient run 1.2 times as fast (0.7 to 1.8). That
  is the backward rule of `_scan_with_deferred_gradients`. It is JAX code, so second derivatives
  work. Forward mode and custom activations, which may read Variables, use the plain loop.
- There, one product of the concatenated inputs and state, and a custom pullback that saves 6 arrays
  per step of an LSTM where JAX saves 11, reduce the time by another tenth.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from podium.core.internal import override, unwrap_result, wrap
from podium.layers._layer import Layer

_scan: Any = jax.lax.scan  # its annotations do not relate the body to the result


class Step(NamedTuple):
    """The pure step of a cell, and its options.

    All functions are module-level functions, because compiled loops are cached by identity.

    Attributes:
        fn: `fn(x + h, states, activations)` returns the new states, for the products `x` of the
            inputs and `h` of the state.
        summed: If False, `fn(x, h, states, activations)`.
        computes_product: If True, `fn(x, recurrent_kernel, state_masks, states, activations)`
            computes the recurrent product itself.
        state_product: If given, the inputs of the loop are products already, and this function
            computes those of the state: `state_product(state, recurrent_kernel, state_masks)`.
        vjp: A replacement of `jax.vjp` of `fn`, with respect to the product and the states, for the
            activations `vjp_with`.
        vjp_with: The activations for which `vjp` is valid.
    """

    fn: Callable[..., Any]
    summed: bool = True
    computes_product: bool = False
    state_product: Callable[..., Any] | None = None
    vjp: Callable[..., Any] | None = None
    vjp_with: tuple[Any, ...] = ()


def gated_matmul(x: jax.Array, kernel: jax.Array, masks: jax.Array | None) -> jax.Array:
    """Multiply by the kernel; with several dropout masks, each gate uses its own."""
    if masks is None:
        return x @ kernel
    kernels = jnp.split(kernel, masks.shape[0], axis=-1)
    return jnp.concatenate(
        [(x * mask) @ part for mask, part in zip(masks, kernels, strict=True)], axis=-1
    )


def where_kept(keep: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    """Return `new` for the samples of the batch where `keep` is True, and `old` for the others."""
    return jnp.where(keep.reshape(keep.shape[0], *[1] * (new.ndim - 1)), new, old)


@functools.partial(jax.jit, static_argnames=("step", "activations"))
def run_step(
    inputs: jax.Array,
    states: list[Any],
    weights: tuple[Any, ...],
    input_masks: jax.Array | None,
    state_masks: jax.Array | None,
    *,
    step: Step,
    activations: tuple[Any, ...],
) -> list[Any]:
    """Compute one step; return the new states, of which the first is the output."""
    return _next_states(
        inputs, states, weights, None, (input_masks, state_masks), step, activations
    )


@functools.partial(
    jax.jit,
    static_argnames=(
        "step",
        "activations",
        "return_sequences",
        "unroll",
        "zero_output_for_mask",
        "autodiff",
    ),
)
def run_all_steps(
    sequences: jax.Array,
    states: list[Any],
    weights: tuple[Any, ...],
    mask: jax.Array | None,
    input_masks: jax.Array | None,
    state_masks: jax.Array | None,
    *,
    step: Step,
    activations: tuple[Any, ...],
    return_sequences: bool,
    unroll: bool,
    zero_output_for_mask: bool,
    autodiff: bool,
) -> tuple[Any, ...]:
    """Run over sequences `(batch, time, features)`, or `(batch, time, ..., channels)`.

    Returns:
        The last output, all outputs (or None) and the last states.
    """
    inputs = jnp.swapaxes(sequences, 0, 1)
    keep = None if mask is None else jnp.swapaxes(mask.astype(bool), 0, 1)
    if input_masks is not None and input_masks.shape[0] == 1:
        inputs, input_masks = inputs * input_masks[0], None
    matmuls = not step.computes_product and step.state_product is None
    if input_masks is None and state_masks is None and matmuls and not autodiff:
        options = _LoopOptions(step, activations, unroll)
        outputs, states = _scan_with_deferred_gradients(options, inputs, states, weights, keep)
    else:
        outputs, states = _scan_steps(
            step, activations, unroll, inputs, states, weights, keep, (input_masks, state_masks)
        )
    last = states[0]
    if keep is not None and zero_output_for_mask:
        kept = keep.reshape(*keep.shape, *[1] * (outputs.ndim - 2))
        outputs = jnp.where(kept, outputs, 0) if return_sequences else None
        last = where_kept(keep[-1], last, jnp.zeros_like(last))
    return last, jnp.swapaxes(outputs, 0, 1) if return_sequences else None, states


def _next_states(
    x: jax.Array,
    states: list[Any],
    weights: tuple[Any, ...],
    keep: jax.Array | None,
    masks: tuple[Any, ...],
    step: Step,
    activations: tuple[Any, ...],
) -> list[Any]:
    """Compute the states after one step; samples where `keep` is False keep theirs."""
    functions = tuple(map(_activation_on_arrays, activations))
    if step.computes_product:
        product = _input_product(x, weights, masks[0])
        new = step.fn(product, weights[1], masks[1], states, functions)
    elif step.state_product is not None:
        product = x + step.state_product(states[0], weights[1], masks[1])
        new = step.fn(product, states, functions)
    else:
        products = _products(x, states[0], weights, masks, step.summed)
        new = step.fn(*products, states, functions)
    return (
        new if keep is None else [where_kept(keep, *pair) for pair in zip(new, states, strict=True)]
    )


def _input_product(x: jax.Array, weights: tuple[Any, ...], masks: jax.Array | None) -> Any:
    kernel, _, bias = weights
    product = gated_matmul(x, kernel, masks)
    return product if bias is None else product + (bias[0] if bias.ndim == 2 else bias)


def _products(
    x: jax.Array, state: jax.Array, weights: tuple[Any, ...], masks: tuple[Any, ...], summed: bool
) -> tuple[Any, ...]:
    product, recurrent = (
        _input_product(x, weights, masks[0]),
        gated_matmul(state, weights[1], masks[1]),
    )
    bias = weights[2]
    recurrent = recurrent + bias[1] if bias is not None and bias.ndim == 2 else recurrent
    return (product + recurrent,) if summed else (product, recurrent)


def _activation_on_arrays(activation: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return an activation as a function of bare arrays."""

    if activation is None:
        return lambda x: x

    def run(x: jax.Array) -> Any:
        takes_tensors = isinstance(activation, Layer)
        with override(bare_arrays=not takes_tensors):
            return unwrap_result(activation(wrap(x) if takes_tensors else x))

    return run


def _scan_steps(
    step: Step,
    activations: tuple[Any, ...],
    unroll: bool,
    inputs: jax.Array,
    states: list[Any],
    weights: tuple[Any, ...],
    keep: jax.Array | None,
    masks: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Scan over the steps, differentiated by JAX."""

    def body(states: list[Any], x_and_keep: tuple[Any, ...]) -> tuple[Any, ...]:
        new = _next_states(x_and_keep[0], states, weights, x_and_keep[1], masks, step, activations)
        return new, new[0]

    last, outputs = _scan(body, states, (inputs, keep), unroll=unroll)
    return outputs, last


# --- the loop that computes the gradients of the weights after it


class _LoopOptions(NamedTuple):
    step: Step
    activations: tuple[Any, ...]
    unroll: bool


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _scan_with_deferred_gradients(
    options: _LoopOptions,
    inputs: jax.Array,
    states: list[Any],
    weights: tuple[Any, ...],
    keep: jax.Array | None,
) -> tuple[Any, ...]:
    return _scan_steps(
        options.step,
        options.activations,
        options.unroll,
        inputs,
        states,
        weights,
        keep,
        (None, None),
    )


def _forward(
    options: _LoopOptions,
    inputs: jax.Array,
    states: list[Any],
    weights: tuple[Any, ...],
    keep: jax.Array | None,
) -> tuple[Any, ...]:
    """Scan, and save from each step the pullback of everything except the products."""
    functions = tuple(map(_activation_on_arrays, options.activations))
    step_vjp = (
        options.step.vjp if keep is None and options.activations == options.step.vjp_with else None
    )
    joint = jnp.concatenate(weights[:2]) if options.step.summed else None

    def body(states: list[Any], x_and_keep: tuple[Any, ...]) -> tuple[Any, ...]:
        x, keep = x_and_keep

        def after_products(products: tuple[Any, ...], states: list[Any]) -> list[Any]:
            new = options.step.fn(*products, states, functions)
            return (
                new
                if keep is None
                else [where_kept(keep, *pair) for pair in zip(new, states, strict=True)]
            )

        if joint is None:
            products = _products(x, states[0], weights, (None, None), summed=False)
        else:
            product = jnp.concatenate([x, states[0]], -1) @ joint
            products = (product if weights[2] is None else product + weights[2],)
        new, pullback = (
            jax.vjp(after_products, products, states)
            if step_vjp is None
            else step_vjp(*products, states)
        )
        return new, (new[0], pullback)

    last, (outputs, pullbacks) = _scan(body, states, (inputs, keep), unroll=options.unroll)
    return (outputs, last), (inputs, states[0], weights, outputs, pullbacks)


def _backward(
    options: _LoopOptions, saved: tuple[Any, ...], gradients: tuple[Any, ...]
) -> tuple[Any, ...]:
    inputs, first, (kernel, recurrent_kernel, bias), outputs, pullbacks = saved
    transposed = recurrent_kernel.T

    def body(states: list[Any], gradient_and_pullback: tuple[Any, ...]) -> tuple[Any, ...]:
        gradient, pullback = gradient_and_pullback
        products, states = pullback([states[0] + gradient, *states[1:]])
        return [states[0] + products[-1] @ transposed, *states[1:]], products

    states, products = _scan(
        body, gradients[1], (gradients[0], pullbacks), reverse=True, unroll=options.unroll
    )
    by_input, by_state = products[0], products[-1]  # the same if the step takes their sum
    previous = jnp.concatenate([first[None], outputs[:-1]])
    batch_and_time = ((0, 1), (0, 1))
    if options.step.summed:
        joint = jnp.tensordot(jnp.concatenate([inputs, previous], -1), by_input, batch_and_time)
        weights = joint[: len(kernel)], joint[len(kernel) :]
    else:
        weights = (
            jnp.tensordot(inputs, by_input, batch_and_time),
            jnp.tensordot(previous, by_state, batch_and_time),
        )
    return by_input @ kernel.T, states, (*weights, _bias_gradient(bias, by_input, by_state)), None


def _bias_gradient(bias: jax.Array | None, by_input: jax.Array, by_state: jax.Array) -> Any:
    if bias is None:
        return None
    sums = [jnp.sum(part, (0, 1)) for part in (by_input, by_state)]
    return jnp.stack(sums) if bias.ndim == 2 else sums[0]


_scan_with_deferred_gradients.defvjp(_forward, _backward)
