"""Connectionist temporal classification: the loss, and greedy and beam-search decoding.

Sequences are padded; `*_length` is the number of valid entries. Class `mask_index` is the blank.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor, check_choice
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import result_type

_NEVER = -1e5  # log of a probability that is effectively zero, and still adds without NaN
_EMPTY = -1  # fills paths after their end


@array_function()
def _ctc_loss(
    target: Array, output: Array, target_length: Array, output_length: Array, mask_index: int = 0
) -> Array:
    target, target_length, output_length = (
        x.astype("int32") for x in (target, target_length, output_length)
    )
    dtype = result_type(output.dtype, jnp.float32)
    log_probs = jax.nn.log_softmax(output.astype(dtype))
    batch, steps, _ = output.shape
    labels = target.shape[1]
    blank = jnp.moveaxis(log_probs[:, :, mask_index], 1, 0)[:, :, None]  # (time, batch, 1)
    emit = jnp.moveaxis(
        jnp.take_along_axis(log_probs, target[:, None, :], axis=2), 1, 0
    )  # (time, batch, labels)
    padded = (jnp.arange(steps)[:, None] >= output_length[None, :])[:, :, None]  # (time, batch, 1)
    # A blank is required between two equal labels.
    repeats = jnp.pad(target[:, :-1] == target[:, 1:], ((0, 0), (0, 1))).astype(dtype)

    def advance_to_blank(at_blank: Array, score: Array) -> Array:
        return jnp.concatenate([at_blank[:, :1], jnp.logaddexp(at_blank[:, 1:], score)], axis=1)

    def step(
        state: tuple[Array, Array], inputs: tuple[Array, Array, Array]
    ) -> tuple[tuple[Array, Array], None]:
        at_blank, at_label = state
        emit, blank, padded = inputs
        reachable = advance_to_blank(at_blank, at_label + _NEVER * repeats)
        next_label = jnp.logaddexp(reachable[:, :-1], at_label) + emit
        next_blank = advance_to_blank(
            reachable + blank, at_label + blank + _NEVER * (1.0 - repeats)
        )
        return (
            jnp.where(padded, at_blank, next_blank),
            jnp.where(padded, at_label, next_label),
        ), None

    start = (
        jnp.full((batch, labels + 1), _NEVER, dtype).at[:, 0].set(0.0),
        jnp.full((batch, labels), _NEVER, dtype),
    )
    (at_blank, at_label), _ = jax.lax.scan(step, start, (emit, blank, padded))
    total = advance_to_blank(at_blank, at_label)
    return -jnp.take_along_axis(total, target_length[:, None], axis=1)[:, 0]


@operation(_ctc_loss)
def ctc_loss(
    target: TensorLike,
    output: TensorLike,
    target_length: TensorLike,
    output_length: TensorLike,
    mask_index: int = 0,
) -> Tensor:
    """CTC loss: negative log-likelihood of label sequences, summed over all alignments.

    Args:
        target: Integer tensor `(batch, labels)`.
        output: Logits `(batch, time, classes)`.
        target_length: Integer tensor `(batch,)`: number of valid labels.
        output_length: Integer tensor `(batch,)`: number of valid time steps.
        mask_index: Index of the blank class.

    Returns:
        The negative log-likelihood of each sample, `(batch,)`.

    Example:
        >>> logits = np.zeros((1, 3, 2), "float32")
        >>> ops.ctc_loss([[1]], logits, [1], [3]).numpy().round(4)
        array([0.2877], dtype=float32)
    """
    return dispatch(_ctc_loss, target, output, target_length, output_length, mask_index)


@array_function("inputs sequence_lengths")
def _ctc_decode(
    inputs: Array,
    sequence_lengths: Array,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int | None = 0,
) -> tuple[Array, Array]:
    check_choice("strategy", strategy, ("greedy", "beam_search"))
    inputs = inputs.astype(result_type(inputs.dtype, jnp.float32))
    sequence_lengths = sequence_lengths.astype("int32")
    mask_index = inputs.shape[-1] - 1 if mask_index is None else mask_index
    past_end = jnp.arange(inputs.shape[1])[None, :] >= sequence_lengths[:, None]
    if strategy == "greedy":
        return _decode_greedy(inputs, past_end, merge_repeated, mask_index)
    return _decode_beams(inputs, past_end, beam_width, top_paths, mask_index)


@operation(_ctc_decode)
def ctc_decode(
    inputs: TensorLike,
    sequence_lengths: TensorLike,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int | None = 0,
) -> tuple[Tensor, Tensor]:
    """Decode CTC outputs into the most likely label sequences.

    Args:
        inputs: Logits (or any scores, for `greedy`) `(batch, time, classes)`.
        sequence_lengths: Integer tensor `(batch,)`: number of valid time steps.
        strategy: `greedy` (best class at each step) or `beam_search`.
        beam_width: Number of candidates kept by beam search.
        top_paths: Number of sequences to return from beam search.
        merge_repeated: Whether greedy decoding merges repeated labels.
        mask_index: Index of the blank class.

    Returns:
        The paths `(top_paths, batch, time)`, padded with -1, and their scores
        `(batch, top_paths)`.

    Example:
        >>> scores = np.array([[[0.1, 0.9], [0.1, 0.9], [0.8, 0.2]]])
        >>> paths, _ = ops.ctc_decode(scores, [3])
        >>> paths.numpy()
        array([[[ 1, -1, -1]]], dtype=int32)
    """
    return dispatch(
        _ctc_decode,
        inputs,
        sequence_lengths,
        strategy,
        beam_width,
        top_paths,
        merge_repeated,
        mask_index,
    )


def _decode_greedy(
    scores: Array, past_end: Array, merge_repeated: bool, mask_index: int
) -> tuple[Array, Array]:
    steps = scores.shape[1]
    best = jnp.where(past_end, mask_index, jnp.argmax(scores, axis=-1)).astype("int32")
    total = -jnp.sum(jnp.where(past_end, 0.0, jnp.max(scores, axis=-1)), axis=1, keepdims=True)
    if merge_repeated:
        best = jnp.where(jnp.pad(best[:, 1:] == best[:, :-1], ((0, 0), (1, 0))), mask_index, best)
    blank = best == mask_index
    order = jnp.argsort(jnp.where(blank, steps, jnp.arange(steps)[None, :]), axis=-1)
    return jnp.take_along_axis(jnp.where(blank, _EMPTY, best), order, axis=-1)[None], total


def _decode_beams(
    logits: Array, past_end: Array, beam_width: int, top_paths: int, mask_index: int
) -> tuple[Array, Array]:
    classes = logits.shape[2]
    # The last of equal scores is kept: reversing the classes breaks ties as TensorFlow does.
    log_probs = jnp.flip(jax.nn.log_softmax(logits), axis=2)

    def decode(log_probs: Array, past_end: Array) -> tuple[Array, Array]:
        blank = classes - mask_index - 1
        return _decode_sequence(log_probs, past_end, beam_width, top_paths, blank)

    paths, scores = jax.vmap(decode)(log_probs, past_end)
    paths = jnp.where(paths == _EMPTY, _EMPTY, classes - paths - 1)
    return jnp.swapaxes(paths, 0, 1), scores


def _decode_sequence(
    log_probs: Array, past_end: Array, beam_width: int, top_paths: int, blank: int
) -> tuple[Array, Array]:
    """Decode one sequence by beam search.

    The beam contains each path twice: ending in its label, and ending in a blank.
    """
    steps, classes = log_probs.shape
    width = 2 * beam_width

    def extend(
        paths: Array, scores: Array, ends_blank: Array, x: Array
    ) -> tuple[Array, Array, Array]:
        paths = jnp.repeat(paths, classes, axis=0)
        scores = jnp.repeat(scores, classes) + jnp.tile(x, width)
        ended_blank = jnp.repeat(ends_blank, classes)
        labels = jnp.tile(jnp.arange(classes).at[blank].set(_EMPTY), width)
        end = jnp.argmax(paths == _EMPTY, axis=1)
        rows = jnp.arange(width * classes)
        last = jnp.where(end == 0, _EMPTY, paths[rows, end - 1])
        # A repeated label without a blank between does not extend the path.
        appended = jnp.where(~ended_blank & (last == labels), _EMPTY, labels)
        return paths.at[rows, end].set(appended), scores, labels == _EMPTY

    def merge_scores(scores: Array, groups: Array) -> Array:
        top = jnp.max(scores)
        return jnp.log(jnp.zeros_like(scores).at[groups].add(jnp.exp(scores - top))) + top

    def unique_paths(paths: Array, size: int) -> tuple[Array, Array]:
        paths, groups = jnp.unique(paths, return_inverse=True, size=size, axis=0, fill_value=_EMPTY)
        return paths, groups.reshape(-1)

    def prune(paths: Array, scores: Array, ends_blank: Array) -> tuple[Array, Array, Array]:
        paths, groups = unique_paths(paths, width * classes)
        in_label = merge_scores(jnp.where(ends_blank, -jnp.inf, scores), groups)
        in_blank = merge_scores(jnp.where(ends_blank, scores, -jnp.inf), groups)
        best = jnp.argsort(jnp.logaddexp(in_label, in_blank))[-beam_width:]
        scores = jnp.concatenate([in_label[best], in_blank[best]])
        return jnp.tile(paths[best], (2, 1)), scores, jnp.arange(width) >= beam_width

    def step(
        beam: tuple[Array, Array, Array], inputs: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array, Array], None]:
        x, ended = inputs
        return jax.lax.cond(
            ended,
            lambda *beam: beam,
            lambda paths, scores, ends: prune(*extend(paths, scores, ends, x)),
            *beam,
        ), None

    count = min(classes, beam_width)
    first = jnp.argsort(log_probs[0])[-count:]
    paths = (
        jnp.full((width, steps), _EMPTY, "int32")
        .at[:count, 0]
        .set(jnp.where(first == blank, _EMPTY, first))
    )
    scores = jnp.full(width, -jnp.inf, log_probs.dtype).at[:count].set(log_probs[0][first])
    (paths, scores, _), _ = jax.lax.scan(
        step, (paths, scores, paths[:, 0] == _EMPTY), (log_probs[1:], past_end[1:])
    )
    paths, groups = unique_paths(paths, width)
    scores = merge_scores(scores, groups)
    best = jnp.argsort(scores)[-top_paths:][::-1]
    return paths[best], scores[best]
