"""MultiHeadAttention and GroupedQueryAttention: projections, masks and attention by several heads.

Both share one base: it owns masks, dropout and the attention itself. The layers own their
projections.
"""

from __future__ import annotations

import string
from typing import Any

import jax.numpy as jnp

from podium import ops
from podium.core import SeedGenerator, dispatch, draw_seed
from podium.layers._argument_checks import (
    fraction,
    set_weight_options,
    weight_options_config,
    whole_number,
)
from podium.layers._layer import Layer
from podium.layers.activations._activation_layers import masked_softmax
from podium.layers.core._einsum_dense import EinsumDense
from podium.layers.regularization._dropout import drop


class _HeadAttention(Layer):
    """The base: `call`, masks, dropout, and options for the projections, which subclasses make in
    `build`.
    """

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
        self._dropout = fraction(self, "dropout", dropout)
        self._use_bias = use_bias
        self._use_gate = use_gate
        self._sliding_window = (
            None if sliding_window is None else whole_number(self, "sliding_window", sliding_window)
        )
        if flash_attention and dropout > 0:
            raise ValueError(
                f"{type(self).__name__} was given flash_attention=True and dropout={dropout}; the "
                "fused kernel has no dropout. Set dropout=0, or leave `flash_attention` out."
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

    def _projection(
        self, name: str, equation: str, output_shape: Any, shape: Any, activation: Any = None
    ) -> EinsumDense:
        """Make and build a projection; its bias has all letters of the output that the inputs do
        not have.
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
                f"{weight}_{kind}": _fresh(getattr(self, f"{weight}_{kind}"))
                for weight in ("kernel", "bias")
                for kind in ("initializer", "regularizer", "constraint")
            },
        )
        layer.build_from_config({"input_shape": tuple(shape)})
        return layer

    def _check_lengths(self, value_shape: Any, key_shape: Any) -> None:
        if tuple(value_shape[1:-1]) != tuple(key_shape[1:-1]):
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was given a value of shape "
                f"{tuple(value_shape)} and a key of shape "
                f"{tuple(key_shape)}. All lengths between batch and features must be equal: each "
                "value has one key."
            )

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ) -> Any:
        """Attend from queries to values.

        Args:
            query: `(batch, targets, features)`.
            value: `(batch, sources, features)`.
            key: Like `value`; by default `value` itself.
            query_mask: `(batch, targets)`: which queries count. By default the mask that `query`
                carries.
            value_mask: `(batch, sources)`: which values count. By default the mask that `value`
                carries.
            key_mask: `(batch, sources)`: which keys count. By default the mask that `key` carries.
            attention_mask: `(batch, targets, sources)`: who may see whom.
            return_attention_scores: Return the weights too.
            training: Whether to use dropout.
            use_causal_mask: Let a target see only sources up to its own position.
        """
        if self._flash_attention and return_attention_scores:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was made with "
                "flash_attention=True, which computes no scores. "
                "Leave `flash_attention` or `return_attention_scores` out."
            )
        key = value if key is None else key
        masks = (self._mask_of_query(query, query_mask), value_mask, key_mask, attention_mask)
        options = {"causal": bool(use_causal_mask), "window": self._sliding_window}
        mask = None
        if (
            any(one is not None for one in masks)
            or use_causal_mask
            or self._sliding_window is not None
        ):
            mask = dispatch(_joined_mask, *masks, query.shape[1], value.shape[1], **options)
        gate = self._gate_dense(query) if self._use_gate else None
        projected = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        outputs, scores = self._attend(*projected, mask, return_attention_scores, training)
        outputs = self._output_dense(outputs if gate is None else outputs * gate)
        return (outputs, scores) if return_attention_scores else outputs

    def _mask_of_query(self, query: Any, given: Any) -> Any:
        return given

    def _attend(
        self, query: Any, key: Any, value: Any, mask: Any, with_scores: bool, training: Any
    ) -> tuple:
        size = query.shape[-1]
        scale = size**-0.5
        if (
            not with_scores
            and self._dropout == 0
            and len(query.shape) == 4
            and value.shape[-1] == size
        ):
            mask = None if mask is None else dispatch(_with_heads, mask, 4)
            options = {"scale": scale, "flash_attention": self._flash_attention}
            return ops.dot_product_attention(query, key, value, mask=mask, **options), None
        seed = (
            draw_seed(self.seed_generator) if training and self.seed_generator is not None else None
        )
        options = {"scale": scale, "axes": self._attention_axes_of(query), "rate": self._dropout}
        return dispatch(_attend_heads, query, key, value, mask, seed, **options)

    def _attention_axes_of(self, query: Any) -> tuple[int, ...]:
        return (1,)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return the query's mask for the outputs; the scores have none."""
        return [previous_mask, None]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        names = ("dropout", "use_bias", "use_gate", "sliding_window")
        own = {name: getattr(self, f"_{name}") for name in names} | {"seed": self.seed}
        return (
            {"activity_regularizer": None}
            | super().get_config()
            | own
            | weight_options_config(self, "kernel", "bias")
        )


class MultiHeadAttention(_HeadAttention):
    """Attention by several heads, each with projections of its own, as in "Attention Is All You
    Need".

    Args:
        num_heads: How many heads.
        key_dim: The size of each head's queries and keys.
        value_dim: The size of each head's values; by default `key_dim`.
        dropout: The share of the attention weights to drop in training.
        use_bias: Whether the projections have biases.
        output_shape: The shape of an output's features; by default the size of the query's.
        attention_axes: The axes over which attention goes; by default all between batch and
            features.
        sliding_window: Let a target see only sources less than this many steps away.
        flash_attention: Whether to use the fused kernel of a GPU; None for no.
        kernel_initializer: How kernels start.
        bias_initializer: How biases start.
        kernel_regularizer: A penalty on kernels.
        bias_regularizer: A penalty on biases.
        activity_regularizer: A penalty on the outputs of projections.
        kernel_constraint: Applied to kernels after updates.
        bias_constraint: Applied to biases after updates.
        use_gate: Whether to multiply the heads' outputs by a learned gate of the query.
        seed: A whole number for repeatable dropout.
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
        output_shape: Any = None,
        attention_axes: Any = None,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
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
        self.num_heads = whole_number(self, "num_heads", num_heads)
        self.key_dim = whole_number(self, "key_dim", key_dim)
        self.value_dim = (
            self.key_dim if value_dim is None else whole_number(self, "value_dim", value_dim)
        )
        self._output_shape = (
            (output_shape,) if isinstance(output_shape, int) else tuple(output_shape or ()) or None
        )
        if attention_axes is not None and not isinstance(attention_axes, (int, list, tuple)):
            raise ValueError(
                f"MultiHeadAttention was given attention_axes={attention_axes!r}; a whole number "
                "or a list of them was expected."
            )
        self._attention_axes = (
            (attention_axes,) if isinstance(attention_axes, int) else attention_axes
        )

    @property
    def dropout(self) -> float:
        """The share of the attention weights to drop in training."""
        return self._dropout

    @property
    def use_bias(self) -> bool:
        """Whether the projections have biases."""
        return self._use_bias

    @property
    def attention_axes(self) -> Any:
        """The axes over which attention goes; None for all between batch and features."""
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
    def query_dense(self) -> Any:
        """The projection of queries."""
        return self._query_dense

    @property
    def key_dense(self) -> Any:
        """The projection of keys."""
        return self._key_dense

    @property
    def value_dense(self) -> Any:
        """The projection of values."""
        return self._value_dense

    @property
    def output_dense(self) -> Any:
        """The projection of the outputs."""
        return self._output_dense

    def build(self, query_shape: Any, value_shape: Any, key_shape: Any = None) -> None:  # type: ignore[override]
        """Make the projections."""
        key_shape = value_shape if key_shape is None else key_shape
        self._check_lengths(value_shape, key_shape)
        self._query_dense = self._into_heads("query", query_shape, self.key_dim)
        self._key_dense = self._into_heads("key", key_shape, self.key_dim)
        if self._use_gate:
            self._gate_dense = self._into_heads(
                "gate", query_shape, self.value_dim, activation="sigmoid"
            )
        self._value_dense = self._into_heads("value", value_shape, self.value_dim)
        sizes = self._output_shape or (query_shape[-1],)
        free = string.ascii_lowercase[: len(query_shape) - 1]
        out = string.ascii_lowercase[len(free) + 2 : len(free) + 2 + len(sizes)]
        heads = string.ascii_lowercase[len(free) : len(free) + 2]
        shape = (*query_shape[:-1], self.num_heads, self.value_dim)
        output_shape = [None] * (len(free) - 1) + list(sizes)
        self._output_dense = self._projection(
            "attention_output", f"{free}{heads},{heads}{out}->{free}{out}", output_shape, shape
        )

    def _into_heads(self, name: str, shape: Any, size: int, activation: Any = None) -> EinsumDense:
        letters = string.ascii_lowercase
        free, last = letters[: len(shape) - 1], letters[len(shape) - 1]
        heads = letters[len(shape) : len(shape) + 2]
        output_shape = [None] * (len(free) - 1) + [self.num_heads, size]
        return self._projection(
            name, f"{free}{last},{last}{heads}->{free}{heads}", output_shape, shape, activation
        )

    def _mask_of_query(self, query: Any, given: Any) -> Any:
        return (
            query._keras_mask
        )  # Keras goes by the mask that travels with the query, and by nothing else

    def _attention_axes_of(self, query: Any) -> tuple[int, ...]:
        rank = len(query.shape)
        if self._attention_axes is None:
            return tuple(range(1, rank - 2))
        return tuple(axis if axis >= 0 else rank - 1 + axis for axis in self._attention_axes)

    def compute_output_shape(
        self, query_shape: Any, value_shape: Any, key_shape: Any = None
    ) -> tuple:
        """Return the shape of the outputs."""
        self._check_lengths(value_shape, value_shape if key_shape is None else key_shape)
        return (*query_shape[:-1], *(self._output_shape or (query_shape[-1],)))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        own = {name: getattr(self, name) for name in ("num_heads", "key_dim", "value_dim")}
        return (
            super().get_config()
            | own
            | {"output_shape": self._output_shape, "attention_axes": self._attention_axes}
        )


class GroupedQueryAttention(_HeadAttention):
    """Attention in which several query heads share one head of keys and values.

    Args:
        head_dim: The size of each head.
        num_query_heads: How many query heads.
        num_key_value_heads: How many heads of keys and values; it must divide `num_query_heads`.
        dropout: The share of the attention weights to drop in training.
        use_bias: Whether the projections have biases.
        sliding_window: Let a target see only sources less than this many steps away.
        flash_attention: Whether to use the fused kernel of a GPU; None for no.
        kernel_initializer: How kernels start.
        bias_initializer: How biases start.
        kernel_regularizer: A penalty on kernels.
        bias_regularizer: A penalty on biases.
        activity_regularizer: A penalty on the outputs of projections.
        kernel_constraint: Applied to kernels after updates.
        bias_constraint: Applied to biases after updates.
        use_gate: Whether to multiply the heads' outputs by a learned gate of the query.
        seed: A whole number for repeatable dropout.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.GroupQueryAttention(head_dim=8, num_query_heads=4, num_key_value_heads=2)
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
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
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
        self.head_dim = whole_number(self, "head_dim", head_dim)
        self.num_query_heads = whole_number(self, "num_query_heads", num_query_heads)
        self.num_key_value_heads = whole_number(self, "num_key_value_heads", num_key_value_heads)
        if num_query_heads % num_key_value_heads:
            raise ValueError(
                f"GroupedQueryAttention was given num_query_heads={num_query_heads} and "
                f"num_key_value_heads={num_key_value_heads}; the first must be a multiple of the "
                "second."
            )

    def build(self, query_shape: Any, value_shape: Any, key_shape: Any = None) -> None:  # type: ignore[override]
        """Make the projections."""
        key_shape = value_shape if key_shape is None else key_shape
        self._check_lengths(value_shape, key_shape)
        queries, pairs = (
            (None, self.num_query_heads, self.head_dim),
            (None, self.num_key_value_heads, self.head_dim),
        )
        self._query_dense = self._projection("query", "bqm,muh->bquh", queries, query_shape)
        self._key_dense = self._projection("key", "bkm,mvh->bkvh", pairs, key_shape)
        if self._use_gate:
            self._gate_dense = self._projection(
                "gate", "bqm,muh->bquh", queries, query_shape, "sigmoid"
            )
        self._value_dense = self._projection("value", "bkm,mvh->bkvh", pairs, value_shape)
        shape = (None, None, self.num_query_heads, self.head_dim)
        self._output_dense = self._projection(
            "attention_output", "bquh,uhm->bqm", (None, query_shape[-1]), shape
        )

    def _attend(
        self, query: Any, key: Any, value: Any, mask: Any, with_scores: bool, training: Any
    ) -> tuple:
        repeats = self.num_query_heads // self.num_key_value_heads
        key, value = (dispatch(jnp.repeat, x, repeats, axis=2) for x in (key, value))
        return super()._attend(query, key, value, mask, with_scores, training)

    def compute_output_shape(
        self, query_shape: Any, value_shape: Any, key_shape: Any = None
    ) -> tuple:
        """Return the shape of the outputs, that of the query."""
        self._check_lengths(value_shape, value_shape if key_shape is None else key_shape)
        return tuple(query_shape)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        names = ("head_dim", "num_query_heads", "num_key_value_heads")
        return super().get_config() | {name: getattr(self, name) for name in names}


GroupQueryAttention = GroupedQueryAttention  # the name that Keras exports


def _fresh(option: Any) -> Any:
    """Return a copy of an initializer, so that each projection draws for itself; other options can
    be shared.
    """
    has_config = hasattr(option, "get_config") and hasattr(type(option), "from_config")
    return type(option).from_config(option.get_config()) if has_config else option


def _joined_mask(
    query_mask: Any,
    value_mask: Any,
    key_mask: Any,
    attention_mask: Any,
    targets: Any,
    sources: Any,
    *,
    causal: bool,
    window: int | None,
) -> Any:
    """Return who may see whom, `(batch, targets, sources)`: where all masks agree."""
    parts = [] if attention_mask is None else [attention_mask.astype(bool)]
    parts += [] if query_mask is None else [query_mask.astype(bool)[..., None]]
    parts += [
        mask.astype(bool)[..., None, :] for mask in (value_mask, key_mask) if mask is not None
    ]
    row, column = jnp.arange(targets)[None, :, None], jnp.arange(sources)[None, None, :]
    parts += [row >= column] if causal else []
    parts += [] if window is None else [jnp.abs(row - column) < window]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined & part
    return joined


def _with_heads(mask: Any, rank: int, attended: int = 1) -> Any:
    """Add dimensions to a mask where the scores have heads (and further axes that attention does
    not go over).
    """
    while mask.ndim < rank:
        mask = jnp.expand_dims(mask, -2 * attended - 1)
    return mask


def _attend_heads(
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    seed: Any,
    *,
    scale: float,
    axes: tuple[int, ...],
    rate: float,
) -> tuple:
    """Attend over any axes, with dropout; returns the heads' outputs and the weights."""
    scores_equation, combine_equation = _equations(query.ndim, axes)
    scores = jnp.einsum(scores_equation, key, query * jnp.asarray(scale, query.dtype))
    mask = None if mask is None else _with_heads(mask, scores.ndim, len(axes))
    shares = masked_softmax(scores, mask, tuple(range(scores.ndim - len(axes), scores.ndim)))
    kept = shares if seed is None else drop(seed, shares, rate)
    return jnp.einsum(combine_equation, kept, value), shares


def _equations(rank: int, axes: tuple[int, ...]) -> tuple[str, str]:
    """Return the einsum equations for the scores and for the weighted sum of values."""
    targets = string.ascii_lowercase[:rank]
    fresh = iter(string.ascii_lowercase[rank:])
    sources = "".join(next(fresh) if i in axes else letter for i, letter in enumerate(targets))
    batch = "".join(targets[i] for i in range(rank - 1) if i not in axes)
    product = batch + "".join(targets[i] for i in axes) + "".join(sources[i] for i in axes)
    return f"{sources},{targets}->{product}", f"{product},{sources}->{targets}"
