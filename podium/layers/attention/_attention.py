"""Attention and AdditiveAttention: dot-product and additive attention with a single head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import Config, SymbolicShape, Tree
from podium.core import SeedGenerator, Tensor, check_choice, dispatch, draw_seed
from podium.layers._layer import Layer
from podium.layers._layer_arguments import check_rate
from podium.layers.regularization._dropout import drop


class Attention(Layer):
    """Dot-product attention layer, a.k.a. Luong-style attention.

    Called on `[query, value]` or `[query, value, key]`, of shapes `(batch, targets, size)`,
    `(batch, sources, size)` and `(batch, sources, size)`.

    Args:
        use_scale: Whether to learn a factor of the scores.
        score_mode: "dot", or "concat" for `tanh(query + key)` summed over the features.
        dropout: The fraction of the attention weights to drop in training.
        seed: An int that makes dropout deterministic.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> query, value = np.ones((2, 3, 4), "float32"), np.ones((2, 5, 4), "float32")
        >>> layer = podium.layers.Attention()
        >>> outputs, scores = layer([query, value], return_attention_scores=True)
        >>> outputs.shape, scores.shape
        ((2, 3, 4), (2, 3, 5))
    """

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.score_mode = check_choice("score_mode", score_mode, ["dot", "concat"])
        self.dropout = check_rate(self, "dropout", dropout)
        self.seed = seed
        self.seed_generator = SeedGenerator(seed) if dropout > 0 else None
        self.supports_masking = True
        self.scale: Any = None
        self.concat_score_weight: Any = None

    def build(self, input_shape: Sequence[SymbolicShape]) -> None:
        """Create the learned factors."""
        self._check_inputs(input_shape)
        if self.use_scale:
            self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight(
                name="concat_score_weight", shape=(), initializer="ones"
            )

    def _check_inputs(
        self, inputs: Sequence[Any], mask: Sequence[Tensor | None] | None = None
    ) -> None:
        if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
            passed = f"{len(inputs)} values" if isinstance(inputs, (list, tuple)) else "one value"
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was called with {passed}; a list "
                "[query, value] or [query, value, key] was expected."
            )
        if mask is not None and (not isinstance(mask, (list, tuple)) or len(mask) not in (2, 3)):
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was given mask={mask!r}; a list "
                "[query_mask, value_mask] was expected, None for no mask."
            )

    def call(
        self,
        inputs: Sequence[Tensor],
        mask: Sequence[Tensor | None] | None = None,
        training: bool = False,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Tree:
        """Compute attention; `mask` is a list of the masks of query and value."""
        self._check_inputs(inputs, mask)
        query, value = inputs[:2]
        key = inputs[2] if len(inputs) > 2 else value
        query_mask, value_mask = mask[:2] if mask is not None else (None, None)
        seed = (
            draw_seed(self.seed_generator) if training and self.seed_generator is not None else None
        )
        options = {
            "mode": self._score_function(),
            "causal": bool(use_causal_mask),
            "rate": self.dropout,
        }
        weights = (self.scale, self.concat_score_weight)
        outputs, scores = dispatch(
            _attend, query, key, value, query_mask, value_mask, weights, seed, **options
        )
        return (outputs, scores) if return_attention_scores else outputs

    def _score_function(self) -> str:
        return self.score_mode

    def compute_mask(
        self, inputs: Sequence[Tensor], mask: Sequence[Tensor | None] | None = None
    ) -> Tree:
        """Return the mask of the query for the outputs; the scores have none."""
        return None if mask is None or mask[0] is None else mask[0]

    def compute_output_shape(self, input_shape: Sequence[SymbolicShape]) -> SymbolicShape:
        """Return the shape of the outputs."""
        self._check_inputs(input_shape)
        return (*input_shape[0][:-1], input_shape[1][-1])

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        names = ("use_scale", "score_mode", "dropout", "seed")
        return super().get_config() | {name: getattr(self, name) for name in names}


class AdditiveAttention(Attention):
    """Additive attention layer, a.k.a. Bahdanau-style attention.

    The scores are `sum(scale * tanh(query + key))`, with a learned `scale` per feature.

    Args:
        use_scale: Whether to learn `scale`.
        dropout: The fraction of the attention weights to drop in training.
        **kwargs: `seed`, `name`, `dtype`, `trainable`.

    Example:
        >>> query, value = np.ones((2, 3, 4), "float32"), np.ones((2, 5, 4), "float32")
        >>> podium.layers.AdditiveAttention()([query, value]).shape
        (2, 3, 4)
    """

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Any):
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape: Sequence[SymbolicShape]) -> None:
        """Create `scale`."""
        self._check_inputs(input_shape)
        if self.use_scale:
            self.scale = self.add_weight(
                name="scale", shape=(input_shape[0][-1],), initializer="glorot_uniform"
            )

    def _score_function(self) -> str:
        return "additive"

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        config = super().get_config()
        del config["score_mode"]
        return config


def _attend(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    query_mask: jax.Array | None,
    value_mask: jax.Array | None,
    score_weights: Any,
    seed: jax.Array | None,
    *,
    mode: str,
    causal: bool,
    rate: float,
) -> tuple[Any, ...]:
    scores = _attention_scores(query, key, score_weights, mode)
    mask = None if value_mask is None else value_mask.astype(bool)[..., None, :]
    if causal:
        causal_mask = jnp.tril(jnp.ones((1, *scores.shape[-2:]), bool))
        mask = causal_mask if mask is None else mask & causal_mask
    if mask is not None:
        large = jnp.asarray(65504.0 if scores.dtype == jnp.float16 else 1e9, scores.dtype)
        scores = jnp.where(mask, scores, scores - large)
    weights = jax.nn.softmax(scores, axis=-1)
    weights = weights if seed is None else drop(seed, weights, rate)
    outputs = weights @ value
    if query_mask is not None:
        outputs = jnp.where(query_mask.astype(bool)[..., None], outputs, 0)
    return outputs, weights


def _attention_scores(query: jax.Array, key: jax.Array, score_weights: Any, mode: str) -> jax.Array:
    """Return the score of each key for each query: `(batch, targets, sources)`."""
    scale, concat_weight = score_weights
    if mode == "dot":
        scores = query @ jnp.swapaxes(key, -2, -1)
        return scores if scale is None else scores * scale
    pairs = query[..., :, None, :] + key[..., None, :, :]
    if mode == "additive":
        return jnp.sum(jnp.tanh(pairs) if scale is None else scale * jnp.tanh(pairs), axis=-1)
    result: jax.Array = concat_weight * jnp.sum(
        jnp.tanh(pairs if scale is None else scale * pairs), axis=-1
    )
    return result
