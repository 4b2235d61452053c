"""The loop of the built-in recurrent cells, as pure compiled functions.

Measured on XLA:CPU (2 cores, JAX 0.10.2, float32, 3 cells x 5 sizes from (32, 200, 16, 32) to (16,
50, 256, 256)), as geometric means against the plain loop:
- Taking `inputs @ kernel` out of the loop as one large product does not pay: forward 0.7 times the
    speed (LSTM 0.66, GRU
  0.47), value and gradient 0.99. The step then reads a slice of a large array, and XLA's fusion of
  that slice with the gates is not vectorised. So the product stays in the loop.
- Taking the *gradients of the weights* out of the loop does pay. JAX adds them up step by step; as
    one product over all
  steps, after the loop, value and gradient run 1.2 times as fast (0.7 to 1.8). That is
  `_deferred`'s backward rule. It is JAX code itself, so second derivatives work. Forward mode uses
  the plain loop, and so do activations of the user's, which may read Variables.
- There, one product of inputs and state side by side, and a pullback by hand that keeps 6 arrays of
    each step of an LSTM
  where JAX keeps 11, save another tenth.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from podium.core.internal import override, unwrap_result, wrap
from podium.layers._layer import Layer

_scan: Any = jax.lax.scan  # its types cannot tell what a body returns


class Step(NamedTuple):
    """A cell's pure step, and what it takes. Functions of modules only: compiled loops are found
    again by them.

    Attributes:
        fn: `fn(x + h, states, activations)` returns the new states, for the products `x` of the
            inputs and `h` of the state.
        summed: If False, `fn(x, h, states, activations)`.
        own_product: If True, `fn(x, recurrent_kernel, state_masks, states, activations)` makes its
            product itself.
        vjp: Does what `jax.vjp` does with `fn`, of the product and the states, for the activations
            of `vjp_with`.
        vjp_with: The activations it is for.
    """

    fn: Callable
    summed: bool = True
    own_product: bool = False
    vjp: Callable | None = None
    vjp_with: tuple = ()


def gated_matmul(x: Any, kernel: Any, masks: Any) -> Any:
    """Multiply by the kernel; with several masks, each gate sees its own part of `x`."""
    if masks is None:
        return x @ kernel
    kernels = jnp.split(kernel, masks.shape[0], axis=-1)
    return jnp.concatenate(
        [(x * mask) @ part for mask, part in zip(masks, kernels, strict=True)], axis=-1
    )


def hold(keep: Any, new: Any, old: Any) -> Any:
    """Return `new` for the samples of the batch where `keep` is True, and `old` for the others."""
    return jnp.where(keep.reshape(keep.shape[0], *[1] * (new.ndim - 1)), new, old)


@functools.partial(jax.jit, static_argnames=("step", "activations"))
def one_step(
    inputs: Any,
    states: list,
    weights: tuple,
    input_masks: Any,
    state_masks: Any,
    *,
    step: Step,
    activations: tuple,
) -> list:
    """Compute one step: returns the new states, of which the first is the output."""
    return _advance(inputs, states, weights, None, (input_masks, state_masks), step, activations)


@functools.partial(
    jax.jit,
    static_argnames=(
        "step",
        "activations",
        "return_sequences",
        "unroll",
        "zero_output_for_mask",
        "plain",
    ),
)
def all_steps(
    sequences: Any,
    states: list,
    weights: tuple,
    mask: Any,
    input_masks: Any,
    state_masks: Any,
    *,
    step: Step,
    activations: tuple,
    return_sequences: bool,
    unroll: bool,
    zero_output_for_mask: bool,
    plain: bool,
) -> tuple:
    """Run over `(batch, time, features)`: returns the last output, all outputs (or None) and the
    last states.
    """
    inputs = jnp.swapaxes(sequences, 0, 1)
    keep = None if mask is None else jnp.swapaxes(mask.astype(bool), 0, 1)
    if input_masks is not None and input_masks.shape[0] == 1:
        inputs, input_masks = inputs * input_masks[0], None
    if input_masks is None and state_masks is None and not step.own_product and not plain:
        settings = _Settings(step, activations, unroll)
        outputs, states = _deferred(settings, inputs, states, weights, keep)
    else:
        outputs, states = _plain(
            step, activations, unroll, inputs, states, weights, keep, (input_masks, state_masks)
        )
    last = states[0]
    if keep is not None and zero_output_for_mask:
        outputs = jnp.where(keep[..., None], outputs, 0) if return_sequences else None
        last = hold(keep[-1], last, jnp.zeros_like(last))
    return last, jnp.swapaxes(outputs, 0, 1) if return_sequences else None, states


def _advance(
    x: Any, states: list, weights: tuple, keep: Any, masks: tuple, step: Step, activations: tuple
) -> list:
    """Compute the states after one step; samples where `keep` is False hold still."""
    functions = tuple(map(_on_arrays, activations))
    if step.own_product:
        product = _input_product(x, weights, masks[0])
        new = step.fn(product, weights[1], masks[1], states, functions)
    else:
        products = _products(x, states[0], weights, masks, step.summed)
        new = step.fn(*products, states, functions)
    return (
        new
        if keep is None
        else [hold(keep, fresh, old) for fresh, old in zip(new, states, strict=True)]
    )


def _input_product(x: Any, weights: tuple, masks: Any) -> Any:
    kernel, _, bias = weights
    product = gated_matmul(x, kernel, masks)
    return product if bias is None else product + (bias[0] if bias.ndim == 2 else bias)


def _products(x: Any, state: Any, weights: tuple, masks: tuple, summed: bool) -> tuple:
    product, recurrent = (
        _input_product(x, weights, masks[0]),
        gated_matmul(state, weights[1], masks[1]),
    )
    bias = weights[2]
    recurrent = recurrent + bias[1] if bias is not None and bias.ndim == 2 else recurrent
    return (product + recurrent,) if summed else (product, recurrent)


def _on_arrays(activation: Any) -> Callable:
    """Return an activation as a function of bare arrays."""

    if activation is None:
        return lambda x: x

    def run(x: Any) -> Any:
        takes_tensors = isinstance(activation, Layer)
        with override(bare_arrays=not takes_tensors):
            return unwrap_result(activation(wrap(x) if takes_tensors else x))

    return run


def _plain(
    step: Step,
    activations: tuple,
    unroll: bool,
    inputs: Any,
    states: list,
    weights: tuple,
    keep: Any,
    masks: tuple,
) -> tuple:
    """Loop, and let JAX differentiate it."""

    def body(states: list, x_and_keep: tuple) -> tuple:
        new = _advance(x_and_keep[0], states, weights, x_and_keep[1], masks, step, activations)
        return new, new[0]

    last, outputs = _scan(body, states, (inputs, keep), unroll=unroll)
    return outputs, last


# --- the loop whose weights get their gradients after it


class _Settings(NamedTuple):
    step: Step
    activations: tuple
    unroll: bool


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _deferred(settings: _Settings, inputs: Any, states: list, weights: tuple, keep: Any) -> tuple:
    return _plain(
        settings.step,
        settings.activations,
        settings.unroll,
        inputs,
        states,
        weights,
        keep,
        (None, None),
    )


def _forward(settings: _Settings, inputs: Any, states: list, weights: tuple, keep: Any) -> tuple:
    """Loop, and keep from each step the pullback of everything but the products."""
    functions = tuple(map(_on_arrays, settings.activations))
    by_hand = (
        settings.step.vjp
        if keep is None and settings.activations == settings.step.vjp_with
        else None
    )
    joint = jnp.concatenate(weights[:2]) if settings.step.summed else None

    def body(states: list, x_and_keep: tuple) -> tuple:
        x, keep = x_and_keep

        def after_products(products: tuple, states: list) -> list:
            new = settings.step.fn(*products, states, functions)
            return (
                new
                if keep is None
                else [hold(keep, fresh, old) for fresh, old in zip(new, states, strict=True)]
            )

        if joint is None:
            products = _products(x, states[0], weights, (None, None), summed=False)
        else:
            product = jnp.concatenate([x, states[0]], -1) @ joint
            products = (product if weights[2] is None else product + weights[2],)
        new, pull = (
            jax.vjp(after_products, products, states)
            if by_hand is None
            else by_hand(*products, states)
        )
        return new, (new[0], pull)

    last, (outputs, pulls) = _scan(body, states, (inputs, keep), unroll=settings.unroll)
    return (outputs, last), (inputs, states[0], weights, outputs, pulls)


def _backward(settings: _Settings, saved: tuple, gradients: tuple) -> tuple:
    inputs, first, (kernel, recurrent_kernel, bias), outputs, pulls = saved
    transposed = recurrent_kernel.T

    def body(states: list, gradient_and_pull: tuple) -> tuple:
        gradient, pull = gradient_and_pull
        products, states = pull([states[0] + gradient, *states[1:]])
        return [states[0] + products[-1] @ transposed, *states[1:]], products

    states, products = _scan(
        body, gradients[1], (gradients[0], pulls), reverse=True, unroll=settings.unroll
    )
    by_input, by_state = products[0], products[-1]  # one and the same if the step takes their sum
    before = jnp.concatenate([first[None], outputs[:-1]])
    both = ((0, 1), (0, 1))
    if settings.step.summed:
        joint = jnp.tensordot(jnp.concatenate([inputs, before], -1), by_input, both)
        weights = joint[: len(kernel)], joint[len(kernel) :]
    else:
        weights = jnp.tensordot(inputs, by_input, both), jnp.tensordot(before, by_state, both)
    return by_input @ kernel.T, states, (*weights, _bias_gradient(bias, by_input, by_state)), None


def _bias_gradient(bias: Any, by_input: Any, by_state: Any) -> Any:
    if bias is None:
        return None
    sums = [jnp.sum(part, (0, 1)) for part in (by_input, by_state)]
    return jnp.stack(sums) if bias.ndim == 2 else sums[0]


_deferred.defvjp(_forward, _backward)
