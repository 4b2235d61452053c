"""Hashes of text and of integers, as TensorFlow's hash buckets and crosses of features have them.

An integer is hashed as the text of its decimal digits, on the host with NumPy, and with the same
result in a compiled program. The hash functions themselves are in `_fingerprints.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from podium._typing import Array
from podium.layers.preprocessing._fingerprints import (
    concatenate_fingerprints,
    fingerprint64,
    siphash,
)

Salt: TypeAlias = tuple[int, int] | None

# The key with which TensorFlow starts the hash of a cross.
_CROSS_KEY = np.uint64(0xDECAFCAFFE)


def hash_on_host(values: NDArray[Any], salt: Salt = None) -> NDArray[np.uint64]:
    """Return the hash of each string of an array, or of each number as the text of an integer.

    Args:
        values: Strings, numbers or booleans; floats are rounded towards 0.
        salt: The key of SipHash; None for FarmHash.
    """
    flat = values.reshape(-1)
    if values.dtype.kind == "O":
        texts = [text.encode("utf-8", "surrogateescape") for text in flat.tolist()]
    elif values.dtype.kind == "b":
        texts = [b"true" if value else b"false" for value in flat.tolist()]
    else:
        integers = flat.astype("int64") if flat.dtype.kind == "f" else flat
        texts = [b"%d" % number for number in integers.tolist()]
    return _hash_bytes(texts, _hash_function(salt)).reshape(values.shape)


def _hash_bytes(texts: Sequence[bytes], hash_rows: Callable[[Array], Array]) -> NDArray[np.uint64]:
    """Return the hashes of byte strings, computed for all of one length at once."""
    lengths = np.fromiter(map(len, texts), "int64", len(texts))
    hashes = np.empty(len(texts), "uint64")
    for length in np.unique(lengths):
        indices = np.flatnonzero(lengths == length)
        joined = b"".join(texts[index] for index in indices.tolist())
        rows = np.frombuffer(joined, "uint8").reshape(len(indices), length)
        hashes[indices] = hash_rows(rows)
    return hashes


def _hash_function(salt: Salt) -> Callable[[Array], Array]:
    return fingerprint64 if salt is None else lambda rows: siphash(rows, salt)


def traced_buckets(x: jax.Array, num_buckets: int, salt: Salt = None) -> jax.Array:
    """Return `hash_on_host(x, salt) % num_buckets` in a program that is being compiled."""
    hash_rows = _hash_function(salt)
    with jax.enable_x64(True):
        numbers = x.reshape(-1)
        if jnp.issubdtype(x.dtype, jnp.floating):
            numbers = numbers.astype("int64")
        num_digits = 10 if numbers.dtype.itemsize <= 4 else 20
        is_negative = numbers < 0
        wide = numbers.astype("uint64")
        magnitude = jnp.where(is_negative, jnp.zeros_like(wide) - wide, wide)
        powers = np.array([10**power for power in reversed(range(num_digits))], "uint64")
        digits = jax.lax.rem(magnitude[:, None] // powers, jnp.full((1, 1), 10, "uint64"))
        codes = (digits + np.uint64(ord("0"))).astype("uint8")
        lengths = 1 + jnp.sum(magnitude[:, None] >= powers[:-1], axis=1)
        lengths = lengths + is_negative.astype(lengths.dtype)
        signs = jnp.full((codes.shape[0], 1), ord("-"), "uint8")
        hashes = jnp.zeros_like(wide)
        for length in range(1, num_digits + 2):
            unsigned = codes[:, max(num_digits - length, 0) :]
            signed = jnp.concatenate([signs, codes[:, num_digits - length + 1 :]], axis=1)
            rows = (
                signed if length > num_digits else jnp.where(is_negative[:, None], signed, unsigned)
            )
            hashes = jnp.where(lengths == length, hash_rows(rows), hashes)
        return _remainder(hashes, num_buckets).reshape(x.shape)


def _remainder(hashes: jax.Array, num_buckets: int) -> jax.Array:
    divisor = jnp.full((1,) * hashes.ndim, num_buckets, "uint64")
    return (hashes % divisor).astype("int32")


def cross_on_host(features: Sequence[NDArray[Any]], num_buckets: int) -> NDArray[np.int64]:
    """Return the bucket of each combination of values: the features have one shape."""
    result: Array = np.full(features[0].size, _CROSS_KEY)
    for feature in features:
        is_text, flat = feature.dtype.kind == "O", feature.reshape(-1)
        values = hash_on_host(flat) if is_text else flat.astype("int64").view("uint64")
        result = concatenate_fingerprints(result, values)
    return np.asarray(result % np.uint64(num_buckets), "int64").reshape(features[0].shape)


def traced_cross(features: Sequence[jax.Array], num_buckets: int) -> jax.Array:
    """Return `cross_on_host(features, num_buckets)` in a program that is being compiled."""
    with jax.enable_x64(True):
        result: Array = jnp.full(features[0].shape, _CROSS_KEY)
        for feature in features:
            result = concatenate_fingerprints(result, feature.astype("int64").astype("uint64"))
        return _remainder(jnp.asarray(result), num_buckets)
