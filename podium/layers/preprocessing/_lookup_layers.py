"""IntegerLookup and StringLookup: indices of integers and of strings in a vocabulary.

Both are IndexLookups, of `_index_lookup.py`, with another dtype of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium._typing import Array, Config, PathLike
from podium.layers.preprocessing._index_lookup import IndexLookup


class IntegerLookup(IndexLookup):
    """Maps integers to their indices in a vocabulary, or to an encoding of these.

    Index 0 is that of integers that are not in the vocabulary; with a `mask_token` that one has
    index 0, and the others follow. Pass the vocabulary, or call `adapt` with data. The layer also
    runs inside compiled steps.

    Args:
        max_tokens: The largest size of the vocabulary; None for no limit.
        num_oov_indices: How many indices are for integers that are not in the vocabulary. If 0,
            they are an error; if more than 1, `oov_method` chooses one of them.
        mask_token: An integer that stands for padding: index 0, and left out of encodings.
        oov_token: What indices of unknown integers are mapped to, if `invert`.
        vocabulary: The integers, or the path of a text file with one for each line.
        vocabulary_dtype: "int64".
        idf_weights: The inverse document frequencies of the vocabulary, for "tf_idf".
        invert: Whether to map indices to integers instead.
        output_mode: "int" for the indices, or an encoding of them: "one_hot", "multi_hot", "count"
            (see `CategoryEncoding`), or "tf_idf" for counts times inverse document frequencies.
        sparse: Must be False: only dense values are supported.
        pad_to_max_tokens: Whether encodings have `max_tokens` entries in any case.
        oov_method: "floormod" for the remainder, or "farmhash" for a hash.
        salt: An int or two, the key of the hash.
        name: The name of the layer.
        **kwargs: `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.IntegerLookup(vocabulary=[12, 36, 1138, 42])
        >>> layer(np.array([[12, 1138, 42], [42, 1000, 36]])).numpy()
        array([[1, 3, 4],
               [4, 0, 2]], dtype=int32)
        >>> layer = podium.layers.IntegerLookup(output_mode="count")
        >>> layer.adapt(np.array([7, 7, 5]))
        >>> layer.get_vocabulary(), layer(np.array([[7, 5, 7, 9]])).numpy()
        ([-1, 7, 5], array([[1., 2., 1.]], dtype=float32))
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: int | None = None,
        oov_token: int = -1,
        vocabulary: Sequence[int] | Array | PathLike | None = None,
        vocabulary_dtype: str = "int64",
        idf_weights: Sequence[float] | Array | None = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        oov_method: str = "floormod",
        salt: int | Sequence[int] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        if vocabulary_dtype != "int64":
            raise ValueError(
                f"IntegerLookup was given vocabulary_dtype={vocabulary_dtype!r}: only "
                "`vocabulary_dtype='int64'` is supported. Omit it."
            )
        super().__init__(
            max_tokens=max_tokens,
            num_oov_indices=num_oov_indices,
            mask_token=mask_token,
            oov_token=oov_token,
            vocabulary_dtype=vocabulary_dtype,
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            invert=invert,
            output_mode=output_mode,
            sparse=sparse,
            pad_to_max_tokens=pad_to_max_tokens,
            oov_method=oov_method,
            salt=salt,
            name=name,
            **kwargs,
        )


class StringLookup(IndexLookup):
    """Maps strings to their indices in a vocabulary, or to an encoding of these, on the host.

    Index 0 is that of strings that are not in the vocabulary; with a `mask_token` that one has
    index 0, and the others follow. Pass the vocabulary, or call `adapt` with data.

    Args:
        max_tokens: The largest size of the vocabulary; None for no limit.
        num_oov_indices: How many indices are for strings that are not in the vocabulary. If 0, they
            are an error; if more than 1, a hash of the string chooses one of them.
        mask_token: A string that stands for padding: index 0, and left out of encodings.
        oov_token: What indices of unknown strings are mapped to, if `invert`.
        vocabulary: The strings, or the path of a text file with one for each line.
        idf_weights: The inverse document frequencies of the vocabulary, for "tf_idf".
        invert: Whether to map indices to strings instead; the result is a NumPy array.
        output_mode: "int" for the indices, or an encoding of them: "one_hot", "multi_hot", "count"
            (see `CategoryEncoding`), or "tf_idf" for counts times inverse document frequencies.
        pad_to_max_tokens: Whether encodings have `max_tokens` entries in any case.
        sparse: Must be False: only dense values are supported.
        encoding: How bytes are decoded.
        name: The name of the layer.
        salt: An int or two, the key of the hash.
        **kwargs: `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.StringLookup(vocabulary=["a", "b", "c"])
        >>> layer([["a", "c"], ["z", "b"]]).numpy()
        array([[1, 3],
               [0, 2]], dtype=int32)
        >>> inverse = podium.layers.StringLookup(vocabulary=["a", "b", "c"], invert=True)
        >>> inverse(np.array([1, 0])).tolist()
        ['a', '[UNK]']
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str = "[UNK]",
        vocabulary: Sequence[str] | Array | PathLike | None = None,
        idf_weights: Sequence[float] | Array | None = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        sparse: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        salt: int | Sequence[int] | None = None,
        **kwargs: Any,
    ):
        self.encoding = encoding
        super().__init__(
            max_tokens=max_tokens,
            num_oov_indices=num_oov_indices,
            mask_token=mask_token,
            oov_token=oov_token,
            vocabulary_dtype="string",
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            invert=invert,
            output_mode=output_mode,
            sparse=sparse,
            pad_to_max_tokens=pad_to_max_tokens,
            name=name,
            salt=salt,
            **kwargs,
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer; an adapted vocabulary is not included."""
        config = super().get_config() | {"encoding": self.encoding}
        del config["vocabulary_dtype"]
        return config
