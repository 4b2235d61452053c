"""Vocabulary: tokens and their indices, and the indices that are reserved.

Index 0 is that of the mask token, if it has one; then follow those of values that are out of the
vocabulary (OOV), then the tokens: Python strings or ints. Lookups run on the host, and for ints in
compiled programs too.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from podium.layers.preprocessing._hash_values import Salt, hash_on_host, traced_buckets

Token: TypeAlias = str | int

UNKNOWN = -1  # the index of a value without one; it is encoded as zeros

_INT32 = np.iinfo("int32")


@dataclasses.dataclass(frozen=True)
class SpecialTokens:
    """What has reserved indices.

    Attributes:
        mask_token: A token that stands for padding, or None.
        oov_token: What stands for values out of the vocabulary.
        num_oov_indices: How many indices these values have.
        mask_has_index: Whether the mask token has index 0; otherwise its index is `UNKNOWN`.
        hashes_oov: Whether one of the OOV indices is chosen by a hash, and not by the remainder.
        salt: The key of the hash.
    """

    mask_token: Token | None
    oov_token: Token | None
    num_oov_indices: int
    mask_has_index: bool
    hashes_oov: bool
    salt: Salt

    @property
    def oov_start(self) -> int:
        """The first index of values out of the vocabulary."""
        return int(self.mask_token is not None and self.mask_has_index)

    @property
    def tokens(self) -> list[Token | None]:
        """The tokens at the reserved indices."""
        return [self.mask_token] * self.oov_start + [self.oov_token] * self.num_oov_indices

    def check_vocabulary(self, tokens: Sequence[Token], invert: bool, limit: int | None) -> None:
        """Raise for repeated or reserved tokens in a vocabulary, or too many."""
        repeated = [str(token) for token, n in collections.Counter(tokens).items() if n > 1]
        if repeated:
            raise ValueError(
                "The passed vocabulary has at least one repeated term: "
                f"{', '.join(repeated[:10])}. Pass each token once."
            )
        reserved = {"mask token": self.mask_token}
        if invert:  # otherwise it is not used
            reserved["OOV token"] = self.oov_token
        for kind, token in reserved.items():
            if token is not None and token in tokens:
                raise ValueError(
                    f"Found reserved {kind} at unexpected location in `vocabulary`: {token!r}. "
                    "Remove all mask and OOV tokens, or include them only at the start of the "
                    f"vocabulary in precisely this order: {self.tokens}."
                )
        size = len(self.tokens) + len(tokens)
        if limit is not None and size > limit:
            raise ValueError(
                "Attempted to set a vocabulary larger than the maximum vocab size: its size is "
                f"{size}, with special tokens, and `max_tokens` is {limit}."
            )


class Vocabulary:
    """Tokens with consecutive indices, after the reserved ones."""

    def __init__(self, tokens: Sequence[Token], special: SpecialTokens):
        self.tokens = list(tokens)
        self.special = special
        self._start = len(special.tokens)
        self._indices = {token: self._start + index for index, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return self._start + len(self.tokens)

    def indices_of(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each value."""
        find = self._indices.get
        flat = values.reshape(-1).tolist()
        indices = np.fromiter((find(value, UNKNOWN) for value in flat), "int64", len(flat))
        indices = indices.reshape(values.shape)
        unknown = indices == UNKNOWN
        mask = self.special.mask_token
        if mask is not None:
            is_mask = np.equal(values, mask)
            unknown &= ~is_mask
        if unknown.any():
            indices[unknown] = self._oov_indices(values[unknown])
        if mask is not None:
            indices[is_mask] = 0 if self.special.mask_has_index else UNKNOWN
        return indices

    def _oov_indices(self, values: NDArray[Any]) -> NDArray[Any] | int:
        special = self.special
        if special.num_oov_indices == 0:
            raise ValueError(
                "When `num_oov_indices=0` all inputs should be in vocabulary, found OOV values "
                f"{values.reshape(-1)[:10].tolist()}, consider setting `num_oov_indices=1`."
            )
        if special.num_oov_indices == 1:
            return special.oov_start
        if not special.hashes_oov:
            return np.asarray(special.oov_start + values % special.num_oov_indices, "int64")
        buckets = hash_on_host(values, special.salt) % np.uint64(special.num_oov_indices)
        return special.oov_start + buckets.astype("int64")

    def tokens_at(self, indices: NDArray[Any]) -> NDArray[Any]:
        """Return the token of each index."""
        table = self._inverse_table()
        positions = np.where((indices >= 0) & (indices < len(self)), indices, len(self))
        tokens: NDArray[Any] = table[positions]
        return tokens

    def _inverse_table(self) -> NDArray[Any]:
        """Return the tokens by index; the last entry is for indices without a token."""
        is_text = any(isinstance(token, str) for token in [self.special.oov_token, *self.tokens])
        nothing = "" if is_text else 0
        unknown = nothing if self.special.oov_token is None else self.special.oov_token
        start = [unknown if token is None else token for token in self.special.tokens]
        return np.array([*start, *self.tokens, unknown], object if is_text else "int64")

    def traced_indices(self, values: jax.Array) -> jax.Array:
        """Return what `indices_of` returns for ints, in a program that is being compiled."""
        special, values = self.special, values.astype("int32")
        known = [t for t in self.tokens if isinstance(t, int) and _INT32.min <= t <= _INT32.max]
        if special.num_oov_indices == 1:
            indices = jnp.full_like(values, special.oov_start)
        elif special.hashes_oov:
            buckets = traced_buckets(values, special.num_oov_indices, special.salt)
            indices = special.oov_start + buckets
        else:
            indices = special.oov_start + values % special.num_oov_indices
        if known:
            tokens = jnp.asarray(np.sort(np.array(known, "int32")))
            table = jnp.asarray(
                np.array([self._indices[token] for token in sorted(known)], "int32")
            )
            positions = jnp.searchsorted(tokens, values).clip(0, len(known) - 1)
            indices = jnp.where(tokens[positions] == values, table[positions], indices)
        if special.mask_token is None:
            return indices
        mask_index = jnp.int32(0 if special.mask_has_index else UNKNOWN)
        return jnp.where(values == int(special.mask_token), mask_index, indices)

    def traced_tokens(self, indices: jax.Array) -> jax.Array:
        """Return what `tokens_at` returns for ints, in a program that is being compiled."""
        table = self._inverse_table()
        if table.min() < _INT32.min or table.max() > _INT32.max:
            raise OverflowError(
                f"The vocabulary holds integers from {table.min()} to {table.max()}, beyond the 32 "
                "bits of a compiled program. Look them up on the host."
            )
        indices = indices.astype("int32")
        positions = jnp.where((indices >= 0) & (indices < len(self)), indices, len(self))
        return jnp.asarray(table.astype("int32"))[positions]
