"""Attention and AdditiveAttention: one query attends to one sequence of values, without heads."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium.core import SeedGenerator, check_choice, dispatch, draw_seed
from podium.layers._argument_checks import fraction
from podium.layers._layer import Layer
from podium.layers.regularization._dropout import drop


class Attention(Layer):
    """Averages values, weighted by how well their keys fit each query (dot product or a learned
    sum).

    Called on `[query, value]` or `[query, value, key]`, of shapes `(batch, targets, size)`,
    `(batch, sources, size)` and `(batch, sources, size)`.

    Args:
        use_scale: Whether to learn a factor of the scores.
        score_mode: "dot", or "concat" for `tanh(query + key)` summed over the features.
        dropout: The share of the weights to drop in training.
        seed: A whole number for repeatable dropout.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> query, value = np.ones((2, 3, 4), "float32"), np.ones((2, 5, 4), "float32")
        >>> outputs, scores = podium.layers.Attention()([query, value], return_attention_scores=True)
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
        self.dropout = fraction(self, "dropout", dropout)
        self.seed = seed
        self.seed_generator = SeedGenerator(seed) if dropout > 0 else None
        self.supports_masking = True
        self.scale: Any = None
        self.concat_score_weight: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the factors that are learned."""
        self._check_inputs(input_shape)
        if self.use_scale:
            self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight(
                name="concat_score_weight", shape=(), initializer="ones"
            )

    def _check_inputs(self, inputs: Any, mask: Any = None) -> None:
        if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
            given = f"{len(inputs)} values" if isinstance(inputs, (list, tuple)) else "one value"
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was called with {given}; a list "
                "[query, value] or [query, value, key] was expected."
            )
        if mask is not None and (not isinstance(mask, (list, tuple)) or len(mask) not in (2, 3)):
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was given mask={mask!r}; a list "
                "[query_mask, value_mask] was expected, None for no mask."
            )

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: bool = False,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        """Attend; `mask` is a list of the query's and the value's mask."""
        self._check_inputs(inputs, mask)
        query, value = inputs[:2]
        key = inputs[2] if len(inputs) > 2 else value
        query_mask, value_mask = mask[:2] if mask is not None else (None, None)
        seed = (
            draw_seed(self.seed_generator) if training and self.seed_generator is not None else None
        )
        options = {"mode": self._mode(), "causal": bool(use_causal_mask), "rate": self.dropout}
        weights = (self.scale, self.concat_score_weight)
        outputs, scores = dispatch(
            _attend, query, key, value, query_mask, value_mask, weights, seed, **options
        )
        return (outputs, scores) if return_attention_scores else outputs

    def _mode(self) -> str:
        return self.score_mode

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return the query's mask for the outputs; the scores have none."""
        return None if previous_mask is None else [previous_mask[0], None]

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs."""
        self._check_inputs(input_shape)
        return (*input_shape[0][:-1], input_shape[1][-1])

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        names = ("use_scale", "score_mode", "dropout", "seed")
        return super().get_config() | {name: getattr(self, name) for name in names}


class AdditiveAttention(Attention):
    """Averages values, weighted by `sum(scale * tanh(query + key))`, with a learned `scale` per
    feature.

    Args:
        use_scale: Whether to learn `scale`.
        dropout: The share of the weights to drop in training.
        **kwargs: `seed`, `name`, `dtype`, `trainable`.

    Example:
        >>> query, value = np.ones((2, 3, 4), "float32"), np.ones((2, 5, 4), "float32")
        >>> podium.layers.AdditiveAttention()([query, value]).shape
        (2, 3, 4)
    """

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Any):
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Make `scale`."""
        self._check_inputs(input_shape)
        if self.use_scale:
            self.scale = self.add_weight(
                name="scale", shape=(input_shape[0][-1],), initializer="glorot_uniform"
            )

    def _mode(self) -> str:
        return "additive"

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        config = super().get_config()
        del config["score_mode"]
        return config


def _attend(
    query: Any,
    key: Any,
    value: Any,
    query_mask: Any,
    value_mask: Any,
    weights: Any,
    seed: Any,
    *,
    mode: str,
    causal: bool,
    rate: float,
) -> tuple:
    scores = _scores(query, key, weights, mode)
    mask = None if value_mask is None else value_mask.astype(bool)[..., None, :]
    if causal:
        seen = jnp.tril(jnp.ones((1, *scores.shape[-2:]), bool))
        mask = seen if mask is None else mask & seen
    if mask is not None:
        far = jnp.asarray(65504.0 if scores.dtype == jnp.float16 else 1e9, scores.dtype)
        scores = jnp.where(mask, scores, scores - far)
    shares = jax.nn.softmax(scores, axis=-1)
    shares = shares if seed is None else drop(seed, shares, rate)
    outputs = shares @ value
    if query_mask is not None:
        outputs = jnp.where(query_mask.astype(bool)[..., None], outputs, 0)
    return outputs, shares


def _scores(query: Any, key: Any, weights: Any, mode: str) -> Any:
    """Return how well each key fits each query: `(batch, targets, sources)`."""
    scale, concat_weight = weights
    if mode == "dot":
        scores = query @ jnp.swapaxes(key, -2, -1)
        return scores if scale is None else scores * scale
    pairs = query[..., :, None, :] + key[..., None, :, :]
    if mode == "additive":
        return jnp.sum(jnp.tanh(pairs) if scale is None else scale * jnp.tanh(pairs), axis=-1)
    return concat_weight * jnp.sum(jnp.tanh(pairs if scale is None else scale * pairs), axis=-1)
