"""Scaled dot-product attention, over `jax.nn.dot_product_attention`."""

import jax
import jax.numpy as jnp

from podium.ops._promotion import result_type
from podium.ops._table import op


@op("query key value bias mask")
def dot_product_attention(
    query,
    key,
    value,
    bias=None,
    mask=None,
    scale=None,
    is_causal=False,
    flash_attention=None,
    attn_logits_soft_cap=None,
):
    """Attention: an average of values, weighted by how well each key fits the query.

    Args:
        query: Tensor `(batch, targets, heads, size)`.
        key: Tensor `(batch, sources, key_heads, size)`; `heads` must be a multiple of `key_heads`.
        value: Tensor `(batch, sources, key_heads, size)`.
        bias: Added to the logits; broadcast against `(batch, heads, targets, sources)`.
        mask: Boolean, same shape as `bias`: where `False`, a source is ignored.
        scale: Multiplies the logits. `None` means one over the square root of `size`.
        is_causal: Whether a target may only see sources up to its own position.
        flash_attention: Whether to use the fused cuDNN kernel. `None` means no; `True` needs a GPU
            that has it.
        attn_logits_soft_cap: Limit the logits softly: `logits / (1 + abs(logits) / cap)`. `None`
            means no limit.

    Returns:
        Tensor `(batch, targets, heads, size)`.

    Example:
        >>> x = np.ones((1, 2, 1, 4), "float32")
        >>> ops.dot_product_attention(x, x, x).numpy()[0, 0, 0]
        array([1., 1., 1., 1.], dtype=float32)
    """
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
        return _capped(query, key, value, bias, mask, scale, is_causal, attn_logits_soft_cap)
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


def _capped(query, key, value, bias, mask, scale, is_causal, cap):
    """Attention with softly limited logits, which `jax.nn` does not have. Softmax in float32."""
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
