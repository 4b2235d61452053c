"""Scaled dot-product attention, over `jax.nn.dot_product_attention`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import result_type


def _attention_with_soft_cap(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None,
    mask: Array | None,
    scale: float | None,
    is_causal: bool,
    cap: float,
) -> Array:
    """Attention with softly capped logits, which `jax.nn` does not have. Softmax in float32."""
    groups = query.shape[2] // key.shape[2]
    key, value = (jnp.repeat(x, groups, axis=2) for x in (key, value))
    logits = jnp.einsum("btnh,bsnh->bnts", query, key, preferred_element_type=jnp.float32)
    logits = logits * (query.shape[-1] ** -0.5 if scale is None else scale)
    logits = logits if bias is None else logits + bias
    logits = logits / (1.0 + jnp.abs(logits) / cap)
    if is_causal:
        causal = jnp.tril(jnp.ones(logits.shape[-2:], bool))
        mask = causal if mask is None else mask & causal
    if mask is not None:
        logits = jnp.where(mask, logits, -0.7 * jnp.finfo(logits.dtype).max)
    weights = jax.nn.softmax(logits, axis=-1).astype(value.dtype)
    return jnp.einsum("bnts,bsnh->btnh", weights, value)


@array_function("query key value bias mask")
def _dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None = None,
    mask: Array | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Array:
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(
            f"expected 4D inputs (batch, time, heads, size) and got shapes {query.shape}, "
            f"{key.shape} and {value.shape}."
        )
    dtype = result_type(query.dtype, key.dtype, value.dtype)
    query, key, value = (x.astype(dtype) for x in (query, key, value))
    bias = None if bias is None else bias.astype(dtype)
    mask = None if mask is None else mask.astype(bool)
    if attn_logits_soft_cap is not None:
        return _attention_with_soft_cap(
            query, key, value, bias, mask, scale, is_causal, attn_logits_soft_cap
        )
    return jax.nn.dot_product_attention(
        query,
        key,
        value,
        bias=bias,
        mask=mask,
        scale=scale,
        is_causal=is_causal,
        implementation="cudnn" if flash_attention else "xla",
    )


@operation(_dot_product_attention)
def dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    bias: TensorLike | None = None,
    mask: TensorLike | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Tensor:
    """Scaled dot-product attention.

    Args:
        query: Tensor `(batch, targets, heads, size)`.
        key: Tensor `(batch, sources, key_heads, size)`; `heads` must be a multiple of `key_heads`.
        value: Tensor `(batch, sources, key_heads, size)`.
        bias: Bias of the logits, broadcast against `(batch, heads, targets, sources)`.
        mask: Boolean tensor, shaped like `bias`: sources with `False` are ignored.
        scale: Factor of the logits. `None` means one over the square root of `size`.
        is_causal: Whether a target attends only to sources up to its own position.
        flash_attention: Whether to use the fused cuDNN kernel. `None` means no; `True` requires a
            GPU that supports it.
        attn_logits_soft_cap: Soft limit of the logits: `logits / (1 + abs(logits) / cap)`. `None`
            means no limit.

    Returns:
        Tensor `(batch, targets, heads, size)`.

    Example:
        >>> x = np.ones((1, 2, 1, 4), "float32")
        >>> ops.dot_product_attention(x, x, x).numpy()[0, 0, 0]
        array([1., 1., 1., 1.], dtype=float32)
    """
    return dispatch(
        _dot_product_attention,
        query,
        key,
        value,
        bias,
        mask,
        scale,
        is_causal,
        flash_attention,
        attn_logits_soft_cap,
    )
