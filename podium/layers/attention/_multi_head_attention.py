"""MultiHeadAttention and GroupedQueryAttention: attention with several heads.

Their base class owns masks, dropout and the attention itself; the layers own their projections.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import (
    ActivationLike,
    Config,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    ShapeLike,
    SymbolicShape,
    Tree,
)
from podium.core import SeedGenerator, Tensor, dispatch, draw_seed
from podium.core.internal import check_int
from podium.layers._layer import Layer
from podium.layers._layer_arguments import (
    check_rate,
    set_weight_options,
    weight_options_config,
)
from podium.layers.activations._softmax import masked_softmax
from podium.layers.core._einsum_dense import EinsumDense
from podium.layers.regularization._dropout import drop


class _HeadAttention(Layer):
    """Attention with masks and dropout; subclasses create the projections in `build`."""

    def __init__(
        self,
        dropout: float,
        use_bias: bool,
        sliding_window: int | None,
        flash_attention: bool | None,
        use_gate: bool,
        seed: int | None,
        weights: dict[str, Any],
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._dropout = check_rate(self, "dropout", dropout)
        self._use_bias = use_bias
        self._use_gate = use_gate
        self._sliding_window = (
            None
            if sliding_window is None
            else check_int("sliding_window", sliding_window, owner=self, type_error=ValueError)
        )
        if flash_attention and dropout > 0:
            raise ValueError(
                f"{type(self).__name__} was given flash_attention=True and dropout={dropout}; the "
                "fused kernel has no dropout. Set dropout=0, or omit `flash_attention`."
            )
        self._flash_attention = flash_attention
        set_weight_options(self, **weights)
        self.seed = seed
        self.seed_generator = SeedGenerator(seed) if dropout > 0 else None
        self.supports_masking = True
        self._query_dense: Any = None
        self._key_dense: Any = None
        self._gate_dense: Any = None
        self._value_dense: Any = None
        self._output_dense: Any = None

    @property
    def sliding_window(self) -> int | None:
        """How many steps away the sources are from which attention is cut off; None for all."""
        return self._sliding_window

    def _projection(
        self,
        name: str,
        equation: str,
        output_shape: ShapeLike,
        shape: SymbolicShape,
        activation: ActivationLike = None,
    ) -> EinsumDense:
        """Create and build a projection.

        Its bias has the letters of the output that the inputs do not have.
        """
        inputs, outputs = equation.split(",")[0], equation.split("->")[1]
        layer = EinsumDense(
            equation,
            output_shape,
            bias_axes="".join(letter for letter in outputs if letter not in inputs)
            if self._use_bias
            else None,
            activation=activation,
            activity_regularizer=self.activity_regularizer,
            dtype=self.dtype_policy,
            name=name,
            **{
                f"{weight}_{kind}": _copy_initializer(getattr(self, f"{weight}_{kind}"))
                for weight in ("kernel", "bias")
                for kind in ("initializer", "regularizer", "constraint")
            },
        )
        layer.build_from_config({"input_shape": tuple(shape)})
        return layer

    def _check_sizes(self, value_shape: SymbolicShape, key_shape: SymbolicShape) -> None:
        if tuple(value_shape[1:-1]) != tuple(key_shape[1:-1]):
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was given a value of shape "
                f"{tuple(value_shape)} and a key of shape "
                f"{tuple(key_shape)}. All sizes between batch and features must be equal: each "
                "value has one key."
            )

    def call(
        self,
        query: Tensor,
        value: Tensor,
        key: Tensor | None = None,
        query_mask: Tensor | None = None,
        value_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ) -> Tree:
        """Compute attention from queries to values.

        Args:
            query: `(batch, targets, features)`.
            value: `(batch, sources, features)`.
            key: Like `value`; by default `value` itself.
            query_mask: `(batch, targets)`: which queries to use. By default the mask of
                `query`.
            value_mask: `(batch, sources)`: which values to use. By default the mask of
                `value`.
            key_mask: `(batch, sources)`: which keys to use. By default the mask of `key`.
            attention_mask: `(batch, targets, sources)`: which sources a target attends to.
            return_attention_scores: Whether to return the attention weights too.
            training: Whether to use dropout.
            use_causal_mask: Whether a target attends only to sources up to its own position.
        """
        if self._flash_attention and return_attention_scores:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was created with "
                "flash_attention=True, which computes no scores. "
                "Omit `flash_attention` or `return_attention_scores`."
            )
        key = value if key is None else key
        masks = (self._query_mask(query, query_mask), value_mask, key_mask, attention_mask)
        options = {"causal": bool(use_causal_mask), "window": self._sliding_window}
        mask = None
        if (
            any(each is not None for each in masks)
            or use_causal_mask
            or self._sliding_window is not None
        ):
            mask = dispatch(_combine_masks, *masks, query.shape[1], value.shape[1], **options)
        gate = self._gate_dense(query) if self._use_gate else None
        projected = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        outputs, scores = self._compute_attention(
            *projected,
            attention_mask=mask,
            training=training,
            return_attention_scores=return_attention_scores,
        )
        outputs = self._output_dense(outputs if gate is None else outputs * gate)
        return (outputs, scores) if return_attention_scores else outputs

    def _query_mask(self, query: Tensor, query_mask: Tensor | None) -> Tensor | None:
        return query_mask

    def _compute_attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ) -> tuple[Any, ...]:
        """Compute the outputs, and the attention weights or None, from projected values of
        `(batch, time, heads, size)`. It has Keras's name: subclasses call and override it.
        """
        size = query.shape[-1]
        scale = size**-0.5
        if (
            not return_attention_scores
            and self._dropout == 0
            and len(query.shape) == 4
            and value.shape[-1] == size
        ):
            mask = None if attention_mask is None else dispatch(_expand_mask, attention_mask, 4)
            options = {"scale": scale, "flash_attention": self._flash_attention}
            return ops.dot_product_attention(query, key, value, mask=mask, **options), None
        seed = (
            draw_seed(self.seed_generator) if training and self.seed_generator is not None else None
        )
        options = {
            "scale": scale,
            "axes": self._resolve_attention_axes(query),
            "rate": self._dropout,
        }
        result: tuple[Any, ...] = dispatch(
            _attend_heads, query, key, value, attention_mask, seed, **options
        )
        return result

    def _resolve_attention_axes(self, query: Tensor) -> tuple[int, ...]:
        return (1,)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tree:
        """Return the mask of the query for the outputs; the scores have none."""
        return [mask, None]

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        names = ("dropout", "use_bias", "use_gate", "sliding_window")
        options = {name: getattr(self, f"_{name}") for name in names} | {"seed": self.seed}
        return (
            {"activity_regularizer": None}
            | super().get_config()
            | options
            | weight_options_config(self, "kernel", "bias")
        )


class MultiHeadAttention(_HeadAttention):
    """Multi-head attention layer, as described in "Attention Is All You Need".

    Args:
        num_heads: The number of attention heads.
        key_dim: The size of each attention head for queries and keys.
        value_dim: The size of each attention head for values; by default `key_dim`.
        dropout: The fraction of the attention weights to drop in training.
        use_bias: Whether the projections have biases.
        output_shape: The shape of the features of the outputs; by default that of the query.
        attention_axes: The axes over which attention is applied; by default all axes between batch
            and features.
        sliding_window: Restrict attention to sources less than this many steps away.
        flash_attention: Whether to use the fused kernel of a GPU; None for no.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        bias_regularizer: Regularizer of the biases.
        activity_regularizer: Regularizer of the outputs of the projections.
        kernel_constraint: Constraint of the kernels, applied after updates.
        bias_constraint: Constraint of the biases, applied after updates.
        use_gate: Whether to multiply the outputs of the heads by a learned gate of the query.
        seed: An int that makes dropout deterministic.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.MultiHeadAttention(num_heads=2, key_dim=8)
        >>> query, value = np.ones((3, 4, 16), "float32"), np.ones((3, 6, 16), "float32")
        >>> outputs, scores = layer(query, value, return_attention_scores=True)
        >>> outputs.shape, scores.shape
        ((3, 4, 16), (3, 2, 4, 6))
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: ShapeLike | None = None,
        attention_axes: int | Sequence[int] | None = None,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        use_gate: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ):
        weights = {
            "kernel_initializer": kernel_initializer,
            "bias_initializer": bias_initializer,
            "kernel_regularizer": kernel_regularizer,
            "bias_regularizer": bias_regularizer,
            "kernel_constraint": kernel_constraint,
            "bias_constraint": bias_constraint,
        }
        kwargs["activity_regularizer"] = activity_regularizer
        super().__init__(
            dropout, use_bias, sliding_window, flash_attention, use_gate, seed, weights, **kwargs
        )
        self.num_heads = check_int("num_heads", num_heads, owner=self, type_error=ValueError)
        self.key_dim = check_int("key_dim", key_dim, owner=self, type_error=ValueError)
        self.value_dim = (
            self.key_dim
            if value_dim is None
            else check_int("value_dim", value_dim, owner=self, type_error=ValueError)
        )
        self._output_shape = (
            (output_shape,) if isinstance(output_shape, int) else tuple(output_shape or ()) or None
        )
        if attention_axes is not None and not isinstance(attention_axes, (int, list, tuple)):
            raise ValueError(
                f"MultiHeadAttention was given attention_axes={attention_axes!r}; an int "
                "or a list of ints was expected."
            )
        self._attention_axes = (
            (attention_axes,) if isinstance(attention_axes, int) else attention_axes
        )

    @property
    def dropout(self) -> float:
        """The fraction of the attention weights to drop in training."""
        return self._dropout

    @property
    def use_bias(self) -> bool:
        """Whether the projections have biases."""
        return self._use_bias

    @property
    def attention_axes(self) -> Sequence[int] | None:
        """The axes over which attention is applied; None for all between batch and features."""
        return self._attention_axes

    def _state_attributes(self) -> dict[str, object]:
        """Name the projections as Keras's files do: `query_dense` for `_query_dense`."""
        attributes = super()._state_attributes()
        if type(self) is not MultiHeadAttention:
            return attributes
        return {
            name.removeprefix("_") if name.endswith("_dense") else name: value
            for name, value in attributes.items()
        }

    @property
    def query_dense(self) -> EinsumDense:
        """The projection of queries."""
        dense: EinsumDense = self._query_dense
        return dense

    @property
    def key_dense(self) -> EinsumDense:
        """The projection of keys."""
        dense: EinsumDense = self._key_dense
        return dense

    @property
    def value_dense(self) -> EinsumDense:
        """The projection of values."""
        dense: EinsumDense = self._value_dense
        return dense

    @property
    def output_dense(self) -> EinsumDense:
        """The projection of the outputs."""
        dense: EinsumDense = self._output_dense
        return dense

    def build(  # type: ignore[override]
        self,
        query_shape: SymbolicShape,
        value_shape: SymbolicShape,
        key_shape: SymbolicShape | None = None,
    ) -> None:
        """Create the projections."""
        key_shape = value_shape if key_shape is None else key_shape
        self._check_sizes(value_shape, key_shape)
        self._query_dense = self._head_projection("query", query_shape, self.key_dim)
        self._key_dense = self._head_projection("key", key_shape, self.key_dim)
        if self._use_gate:
            self._gate_dense = self._head_projection(
                "gate", query_shape, self.value_dim, activation="sigmoid"
            )
        self._value_dense = self._head_projection("value", value_shape, self.value_dim)
        sizes = self._output_shape or (query_shape[-1],)
        batch = string.ascii_lowercase[: len(query_shape) - 1]
        out = string.ascii_lowercase[len(batch) + 2 : len(batch) + 2 + len(sizes)]
        heads = string.ascii_lowercase[len(batch) : len(batch) + 2]
        shape = (*query_shape[:-1], self.num_heads, self.value_dim)
        output_shape = [None] * (len(batch) - 1) + list(sizes)
        self._output_dense = self._projection(
            "attention_output", f"{batch}{heads},{heads}{out}->{batch}{out}", output_shape, shape
        )

    def _head_projection(
        self, name: str, shape: SymbolicShape, size: int, activation: ActivationLike = None
    ) -> EinsumDense:
        letters = string.ascii_lowercase
        batch, last = letters[: len(shape) - 1], letters[len(shape) - 1]
        heads = letters[len(shape) : len(shape) + 2]
        output_shape = [None] * (len(batch) - 1) + [self.num_heads, size]
        return self._projection(
            name, f"{batch}{last},{last}{heads}->{batch}{heads}", output_shape, shape, activation
        )

    def _query_mask(self, query: Tensor, query_mask: Tensor | None) -> Tensor | None:
        return query._keras_mask  # as in Keras, which ignores the argument

    def _resolve_attention_axes(self, query: Tensor) -> tuple[int, ...]:
        rank = len(query.shape)
        if self._attention_axes is None:
            return tuple(range(1, rank - 2))
        return tuple(axis if axis >= 0 else rank - 1 + axis for axis in self._attention_axes)

    def compute_output_shape(
        self,
        query_shape: SymbolicShape,
        value_shape: SymbolicShape,
        key_shape: SymbolicShape | None = None,
    ) -> SymbolicShape:
        """Return the shape of the outputs."""
        self._check_sizes(value_shape, value_shape if key_shape is None else key_shape)
        return (*query_shape[:-1], *(self._output_shape or (query_shape[-1],)))

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        sizes = {name: getattr(self, name) for name in ("num_heads", "key_dim", "value_dim")}
        return (
            super().get_config()
            | sizes
            | {"output_shape": self._output_shape, "attention_axes": self._attention_axes}
        )


class GroupedQueryAttention(_HeadAttention):
    """Grouped query attention layer: several query heads share one head of keys and values.

    Args:
        head_dim: The size of each attention head.
        num_query_heads: The number of query heads.
        num_key_value_heads: The number of key and value heads; it must divide `num_query_heads`.
        dropout: The fraction of the attention weights to drop in training.
        use_bias: Whether the projections have biases.
        sliding_window: Restrict attention to sources less than this many steps away.
        flash_attention: Whether to use the fused kernel of a GPU; None for no.
        kernel_initializer: Initializer of the kernels.
        bias_initializer: Initializer of the biases.
        kernel_regularizer: Regularizer of the kernels.
        bias_regularizer: Regularizer of the biases.
        activity_regularizer: Regularizer of the outputs of the projections.
        kernel_constraint: Constraint of the kernels, applied after updates.
        bias_constraint: Constraint of the biases, applied after updates.
        use_gate: Whether to multiply the outputs of the heads by a learned gate of the query.
        seed: An int that makes dropout deterministic.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.GroupQueryAttention(
        ...     head_dim=8, num_query_heads=4, num_key_value_heads=2
        ... )
        >>> x = np.ones((3, 5, 16), "float32")
        >>> layer(x, x, use_causal_mask=True).shape
        (3, 5, 16)
    """

    def __init__(
        self,
        head_dim: int,
        num_query_heads: int,
        num_key_value_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        use_gate: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ):
        weights = {
            "kernel_initializer": kernel_initializer,
            "bias_initializer": bias_initializer,
            "kernel_regularizer": kernel_regularizer,
            "bias_regularizer": bias_regularizer,
            "kernel_constraint": kernel_constraint,
            "bias_constraint": bias_constraint,
        }
        kwargs["activity_regularizer"] = activity_regularizer
        super().__init__(
            dropout, use_bias, sliding_window, flash_attention, use_gate, seed, weights, **kwargs
        )
        self.head_dim = check_int("head_dim", head_dim, owner=self, type_error=ValueError)
        self.num_query_heads = check_int(
            "num_query_heads", num_query_heads, owner=self, type_error=ValueError
        )
        self.num_key_value_heads = check_int(
            "num_key_value_heads", num_key_value_heads, owner=self, type_error=ValueError
        )
        if num_query_heads % num_key_value_heads:
            raise ValueError(
                f"GroupedQueryAttention was given num_query_heads={num_query_heads} and "
                f"num_key_value_heads={num_key_value_heads}; the first must be a multiple of the "
                "second."
            )

    def build(  # type: ignore[override]
        self,
        query_shape: SymbolicShape,
        value_shape: SymbolicShape,
        key_shape: SymbolicShape | None = None,
    ) -> None:
        """Create the projections."""
        key_shape = value_shape if key_shape is None else key_shape
        self._check_sizes(value_shape, key_shape)
        query_output = (None, self.num_query_heads, self.head_dim)
        key_value_output = (None, self.num_key_value_heads, self.head_dim)
        self._query_dense = self._projection("query", "bqm,muh->bquh", query_output, query_shape)
        self._key_dense = self._projection("key", "bkm,mvh->bkvh", key_value_output, key_shape)
        if self._use_gate:
            self._gate_dense = self._projection(
                "gate", "bqm,muh->bquh", query_output, query_shape, "sigmoid"
            )
        self._value_dense = self._projection(
            "value", "bkm,mvh->bkvh", key_value_output, value_shape
        )
        shape = (None, None, self.num_query_heads, self.head_dim)
        self._output_dense = self._projection(
            "attention_output", "bquh,uhm->bqm", (None, query_shape[-1]), shape
        )

    def _compute_attention(
        self, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Any, ...]:
        repeats = self.num_query_heads // self.num_key_value_heads
        key, value = (dispatch(jnp.repeat, x, repeats, axis=2) for x in (key, value))
        return super()._compute_attention(query, key, value, *args, **kwargs)

    def compute_output_shape(
        self,
        query_shape: SymbolicShape,
        value_shape: SymbolicShape,
        key_shape: SymbolicShape | None = None,
    ) -> SymbolicShape:
        """Return the shape of the outputs, that of the query."""
        self._check_sizes(value_shape, value_shape if key_shape is None else key_shape)
        return tuple(query_shape)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        names = ("head_dim", "num_query_heads", "num_key_value_heads")
        return super().get_config() | {name: getattr(self, name) for name in names}


GroupQueryAttention = GroupedQueryAttention  # the name in Keras


def _copy_initializer(option: Any) -> Any:
    """Return a copy of an initializer, so that each projection gets its own values.

    Other options are shared.
    """
    has_config = hasattr(option, "get_config") and hasattr(type(option), "from_config")
    return type(option).from_config(option.get_config()) if has_config else option


def _combine_masks(
    query_mask: jax.Array | None,
    value_mask: jax.Array | None,
    key_mask: jax.Array | None,
    attention_mask: jax.Array | None,
    targets: Any,
    sources: Any,
    *,
    causal: bool,
    window: int | None,
) -> jax.Array:
    """Return the logical AND of all masks, `(batch, targets, sources)`."""
    parts = [] if attention_mask is None else [attention_mask.astype(bool)]
    parts += [] if query_mask is None else [query_mask.astype(bool)[..., None]]
    parts += [
        mask.astype(bool)[..., None, :] for mask in (value_mask, key_mask) if mask is not None
    ]
    row, column = jnp.arange(targets)[None, :, None], jnp.arange(sources)[None, None, :]
    parts += [row >= column] if causal else []
    parts += [] if window is None else [jnp.abs(row - column) < window]
    return functools.reduce(jnp.logical_and, parts)


def _expand_mask(mask: jax.Array, rank: int, num_axes: int = 1) -> jax.Array:
    """Add dimensions for the heads, and for axes over which attention is not applied."""
    while mask.ndim < rank:
        mask = jnp.expand_dims(mask, -2 * num_axes - 1)
    return mask


def _attend_heads(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: jax.Array | None,
    seed: jax.Array | None,
    *,
    scale: float,
    axes: tuple[int, ...],
    rate: float,
) -> tuple[Any, ...]:
    """Compute attention over any axes, with dropout; return the outputs and the weights."""
    scores_equation, combine_equation = _equations(query.ndim, axes)
    scores = jnp.einsum(scores_equation, key, query * jnp.asarray(scale, query.dtype))
    mask = None if mask is None else _expand_mask(mask, scores.ndim, len(axes))
    weights = masked_softmax(scores, mask, tuple(range(scores.ndim - len(axes), scores.ndim)))
    dropped = weights if seed is None else drop(seed, weights, rate)
    return jnp.einsum(combine_equation, dropped, value), weights


def _equations(rank: int, axes: tuple[int, ...]) -> tuple[str, str]:
    """Return the einsum equations for the scores and for the weighted sum of values."""
    targets = string.ascii_lowercase[:rank]
    unused = iter(string.ascii_lowercase[rank:])
    sources = "".join(next(unused) if i in axes else letter for i, letter in enumerate(targets))
    batch = "".join(targets[i] for i in range(rank - 1) if i not in axes)
    product = batch + "".join(targets[i] for i in axes) + "".join(sources[i] for i in axes)
    return f"{sources},{targets}->{product}", f"{product},{sources}->{targets}"
