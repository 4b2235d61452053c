"""`keras.backend.rnn`: a step function, called for each step of sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from podium import ops
from podium._typing import TensorLike, Tree
from podium.core import Tensor, map_structure, tree_leaves


def rnn(
    step_function: Callable[[Tree, Any], tuple[Tree, Any]],
    inputs: Tree,
    initial_states: Sequence[Tree],
    go_backwards: bool = False,
    mask: TensorLike | None = None,
    constants: Sequence[TensorLike] | None = None,
    unroll: bool = False,
    input_length: TensorLike | None = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Tree, Tree, list[Tree]]:
    """Call a function for each step of sequences, with the states that it returned before.

    The loop is one XLA loop, of which the function is traced.

    Args:
        step_function: Called with the inputs `(batch, ...)` of a step and a tuple of the states and
            `constants`; returns an output and the new states.
        inputs: Sequences `(batch, steps, ...)`, or a structure of them.
        initial_states: The states before the first step.
        go_backwards: Whether to begin at the last step; the outputs are in the order of the calls.
        mask: `(batch, steps)`, or with a third dimension of size 1: False for steps that keep the
            states.
        constants: Values that every call gets after the states.
        unroll: Whether to write the loop out.
        input_length: The steps of each sequence, if there is no mask; or the steps of all of them.
        time_major: Whether inputs and outputs are `(steps, batch, ...)`.
        zero_output_for_mask: Whether the outputs of masked steps are 0; by default they are those
            of the step before.
        return_all_outputs: Whether to return the outputs of all steps, or of the last one.

    Returns:
        The last output, the outputs `(batch, steps, ...)`, and the states.

    Example:
        >>> from podium.compat import keras
        >>> last, outputs, states = keras.backend.rnn(
        ...     lambda x, states: (x + states[0], [x + states[0]]),
        ...     np.array([[[1.0], [2.0], [3.0]]], "float32"),
        ...     [np.zeros((1, 1), "float32")],
        ... )
        >>> outputs.numpy().ravel(), float(states[0][0, 0])
        (array([1., 3., 6.], dtype=float32), 6.0)
    """
    if not time_major:
        inputs = map_structure(_swap_batch_and_steps, inputs)
    steps = ops.shape(tree_leaves(inputs)[0])[0]
    keep = _steps_to_keep(mask, input_length, steps, go_backwards, time_major)
    if keep is not None and not list(initial_states):
        raise ValueError("rnn was given a mask and no initial_states. Pass at least one state.")
    fixed = tuple(constants or ())
    if go_backwards:
        inputs = map_structure(lambda x: ops.flip(x, axis=0), inputs)
    states = [map_structure(ops.convert_to_tensor, state) for state in initial_states]

    def call_step(x: Tree, states: list[Tree]) -> tuple[Tree, list[Tree]]:
        output, new_states = step_function(x, (*states, *fixed))
        return output, list(new_states)

    def body(carry: Tree, x_and_keep: Tree) -> tuple[Tree, Tree]:
        states, previous = carry
        x, is_kept = x_and_keep
        output, new_states = call_step(x, states)
        if keep is None:
            return (new_states, previous), output
        masked = map_structure(ops.zeros_like, output) if zero_output_for_mask else previous
        output = map_structure(lambda new, old: _select(is_kept, new, old), output, masked)
        new_states = map_structure(lambda new, old: _select(is_kept, new, old), new_states, states)
        return (new_states, 0 if zero_output_for_mask else output), output

    previous: Tree = 0
    if keep is not None and not zero_output_for_mask:
        output, _ = call_step(map_structure(lambda x: x[0], inputs), states)
        previous = map_structure(ops.zeros_like, output)
    xs = (inputs, ops.zeros((steps,)) if keep is None else keep)
    (states, _), outputs = ops.scan(body, (states, previous), xs, unroll=unroll or 1)
    last = map_structure(lambda x: x[-1], outputs)
    if not return_all_outputs:
        outputs = map_structure(lambda x: ops.expand_dims(x, 0), last)
    if not time_major:
        outputs = map_structure(_swap_batch_and_steps, outputs)
    return last, outputs, list(states)


def _swap_batch_and_steps(x: TensorLike) -> Tensor:
    if len(ops.shape(x)) < 2:
        raise ValueError(
            f"rnn was given inputs of shape {ops.shape(x)}; `(batch, steps, ...)` was expected."
        )
    return ops.swapaxes(x, 0, 1)


def _steps_to_keep(
    mask: TensorLike | None,
    input_length: TensorLike | None,
    steps: int,
    go_backwards: bool,
    time_major: bool,
) -> Tensor | None:
    """Return `(steps, batch)`, in the order of the calls: True for steps that change the states."""
    if mask is not None:
        keep = ops.cast(mask, "bool")
        if len(ops.shape(keep)) == 3:
            keep = ops.squeeze(keep, -1)
        if not time_major:
            keep = ops.swapaxes(keep, 0, 1)
        return ops.flip(keep, axis=0) if go_backwards else keep
    if input_length is None:
        return None
    if not ops.shape(input_length):
        if int(np.asarray(input_length)) != steps:
            raise ValueError(
                f"rnn was given input_length={input_length} for sequences of {steps} steps. Pass "
                "the length of each sequence, or a mask."
            )
        return None
    times = ops.expand_dims(ops.arange(steps), 1)
    lengths = ops.expand_dims(ops.cast(input_length, "int32"), 0)
    if go_backwards:
        return ops.greater(times, ops.subtract(ops.subtract(ops.max(lengths), 1), lengths))
    return ops.less(times, lengths)


def _select(is_kept: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """Return the elements of the samples that are kept, and those of `old` elsewhere."""
    added = (1,) * (len(ops.shape(new)) - 1)
    return ops.where(ops.reshape(is_kept, (-1, *added)), new, old)
