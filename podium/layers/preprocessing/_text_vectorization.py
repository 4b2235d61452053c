"""TextVectorization: texts to indices of their tokens, or to an encoding of these, on the host.

It owns the steps from a text to tokens, which `_text_tokens.py` computes. Its StringLookup owns the
vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from podium._typing import Array, Config, PathLike, SymbolicShape, Tree
from podium.core import KerasTensor, floatx, get_registered_object
from podium.core.internal import as_text_array, check_int
from podium.layers._layer import Layer
from podium.layers.preprocessing._category_encoding import reject_sparse_outputs
from podium.layers.preprocessing._host_layer import HostLayer, host_batch, iterate_batches
from podium.layers.preprocessing._index_lookup import refuse_vocabulary_files
from podium.layers.preprocessing._lookup_layers import StringLookup
from podium.layers.preprocessing._text_tokens import (
    SPLITS,
    STANDARDIZATIONS,
    TextFunction,
    as_token_rows,
    fit_length,
    join_ngrams,
    pad_rows,
    split_text,
    standardize_texts,
)
from podium.layers.preprocessing._vocabulary import UNKNOWN


class TextVectorization(HostLayer):
    """Maps each text to the indices of its words, or to an encoding of these, on the host.

    A text is standardized, split into tokens, the tokens joined to n-grams, and these looked up in
    a vocabulary, as `StringLookup` does: index 0 is padding, 1 stands for unknown tokens. Pass the
    vocabulary, or call `adapt` with texts. Inputs have shape `(batch,)` or `(batch, 1)`.

    In a functional or Sequential model that starts with `Input(shape=(1,), dtype="string")`, the
    layer runs on the host, ahead of the compiled part.

    Args:
        max_tokens: The largest size of the vocabulary, with padding and unknown tokens.
        standardize: "lower_and_strip_punctuation", "lower", "strip_punctuation", None, or a
            function of a NumPy array of strings that returns one.
        split: "whitespace", "character", None, or a function of a NumPy array of strings that
            returns a list of strings for each.
        ngrams: The longest n-grams, or a tuple with the lengths of n-grams; None for single tokens.
        output_mode: "int" for the indices, or "multi_hot", "count" or "tf_idf" for one vector per
            text, see `StringLookup`.
        output_sequence_length: The length to which indices are padded or truncated; by default that
            of the longest text of a batch.
        pad_to_max_tokens: Whether vectors have `max_tokens` entries in any case.
        vocabulary: The tokens, or the path of a text file with one for each line.
        idf_weights: The inverse document frequencies of the vocabulary, for "tf_idf".
        sparse: Must be False: only dense values are supported.
        ragged: Must be False: only rectangular values are supported.
        encoding: How bytes are decoded.
        name: The name of the layer.
        **kwargs: `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.TextVectorization(output_sequence_length=4)
        >>> layer.adapt(["foo bar", "bar baz", "baz bada boom"])
        >>> layer.get_vocabulary()
        ['', '[UNK]', 'baz', 'bar', 'foo', 'boom', 'bada']
        >>> layer(["foo qux bar", "Qux, baz!"]).numpy()
        array([[4, 1, 3, 0],
               [1, 2, 0, 0]], dtype=int32)
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: str | TextFunction | None = "lower_and_strip_punctuation",
        split: str | TextFunction | None = "whitespace",
        ngrams: int | Sequence[int] | None = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: Sequence[str] | Array | PathLike | None = None,
        idf_weights: Sequence[float] | Array | None = None,
        sparse: bool = False,
        ragged: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        has_input_vocabulary: bool | None = None,
        vocabulary_size: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        reject_sparse_outputs(self, sparse)
        if ragged:
            raise ValueError(
                "TextVectorization was given ragged=True; `ragged=True` cannot be used: only "
                "rectangular values are supported. Omit it: rows are padded with 0."
            )
        self._standardize = _check_step(self, "standardize", standardize, STANDARDIZATIONS)
        self._split = _check_step(self, "split", split, SPLITS)
        self._ngrams_arg = ngrams if isinstance(ngrams, int) or ngrams is None else tuple(ngrams)
        self._ngrams = _ngram_widths(self, ngrams)
        self._output_sequence_length = (
            None
            if output_sequence_length is None
            else check_int("output_sequence_length", output_sequence_length, owner=self)
        )
        self.encoding = encoding
        self._lookup_layer = StringLookup(
            max_tokens=max_tokens,
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            pad_to_max_tokens=pad_to_max_tokens,
            mask_token="",
            output_mode=output_mode,
            has_input_vocabulary=has_input_vocabulary,
            encoding=encoding,
            vocabulary_size=vocabulary_size,
        )
        self._lookup_layer.built = True
        self._output_mode = self._lookup_layer.output_mode
        if self._output_mode != "int" and output_sequence_length is not None:
            raise ValueError(
                f"TextVectorization was given output_mode={output_mode!r} and "
                f"output_sequence_length={output_sequence_length}: `output_sequence_length` must "
                "not be set if `output_mode` is not 'int'."
            )

    # --- the vocabulary

    def adapt(self, data: Tree, batch_size: int | None = None, steps: int | None = None) -> None:
        """Make a vocabulary of the most frequent tokens of texts, replacing an earlier one.

        Args:
            data: An array or a list of texts, or an iterable of batches such as a Dataset.
            batch_size: Accepted for Keras's signature.
            steps: The number of batches to read; by default all.
        """
        self.reset_state()
        is_array = hasattr(data, "__array__") or isinstance(data, (list, tuple))
        for batch in iterate_batches(data, steps, self, lists_are_arrays=True):
            array = host_batch(batch, self.encoding)
            self.update_state(array[:, None] if is_array and array.ndim == 1 else array)
        self.finalize_state()

    def update_state(self, data: Tree) -> None:
        """Count the tokens of a batch of texts."""
        texts = host_batch(data, self.encoding)
        rows = self._tokenize(texts if texts.ndim else texts[None])
        self._lookup_layer.update_state(rows)

    def finalize_state(self) -> None:
        """Make the vocabulary of what `update_state` has counted."""
        self._lookup_layer.finalize_state()

    def reset_state(self) -> None:
        """Forget what `update_state` has counted."""
        self._lookup_layer.reset_state()

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        """Return the tokens in the order of their indices.

        Args:
            include_special_tokens: Whether to include those for padding and for unknown tokens.
        """
        return self._lookup_layer.get_vocabulary(include_special_tokens)

    def vocabulary_size(self) -> int:
        """Return the number of tokens, with those for padding and for unknown tokens."""
        return self._lookup_layer.vocabulary_size()

    def set_vocabulary(
        self,
        vocabulary: Sequence[str] | Array | PathLike,
        idf_weights: Sequence[float] | Array | None = None,
    ) -> None:
        """Replace the vocabulary.

        Args:
            vocabulary: The tokens in the order of their indices; or the path of a text file with
                one for each line.
            idf_weights: The inverse document frequencies of the tokens, for the mode "tf_idf".
        """
        self._lookup_layer.set_vocabulary(vocabulary, idf_weights)

    # --- calls

    def _tokenize(self, texts: NDArray[Any]) -> list[list[str]] | NDArray[Any]:
        """Return the tokens of each text; without splitting, an array of tokens."""
        if texts.size and texts.dtype.kind != "O":
            raise TypeError(
                f"Layer {self.name!r} (TextVectorization) was given values of dtype {texts.dtype}; "
                "text was expected."
            )
        if callable(self._standardize):
            result = self._standardize(texts.astype(str))
            texts = as_text_array(result, "the result of `standardize`", self.encoding)
        else:
            texts = standardize_texts(texts, self._standardize)
        if self._split is None:
            return texts if self._ngrams is None else self._join_arrays(texts, self._ngrams)
        if texts.ndim > 1:
            if texts.shape[-1] != 1:
                raise ValueError(
                    "When using `TextVectorization` to tokenize strings, the input rank must be 1 "
                    f"or the last shape dimension must be 1; shape {texts.shape} was given. Pass "
                    "one text per sample."
                )
            texts = texts[..., 0]
        flat = texts.reshape(-1)
        if callable(self._split):
            rows = as_token_rows(self._split(flat.astype(str)), flat.size)
        else:
            rows = [split_text(text, self._split) for text in flat]
        return rows if self._ngrams is None else [join_ngrams(row, self._ngrams) for row in rows]

    def _join_arrays(self, tokens: NDArray[Any], widths: Sequence[int]) -> NDArray[Any]:
        rows = [join_ngrams(row, widths) for row in tokens.reshape(-1, tokens.shape[-1]).tolist()]
        return np.array(rows, object).reshape(*tokens.shape[:-1], -1)

    def call(self, inputs: Tree) -> Tree:
        """Return the indices of the tokens of texts, or their encoding."""
        lookups = super().call(inputs)
        return self._lookup_layer.encode_lookups(lookups)

    def _compute_on_host(self, inputs: NDArray[Any]) -> NDArray[Any]:
        tokens = self._tokenize(inputs)
        length = self._output_sequence_length
        if isinstance(tokens, np.ndarray):
            indices = self._lookup_layer._compute_on_host(tokens)
            return indices if length is None else fit_length(indices, length, 0)
        flat = [token for row in tokens for token in row]
        lengths = np.array([len(row) for row in tokens], "int64")
        indices = self._lookup_layer._compute_on_host(np.array(flat, object))
        # Padding has index 0; encodings leave it out.
        padding = 0 if self._output_mode == "int" else UNKNOWN
        matrix = pad_rows(indices, lengths, length, padding)
        batch_shape = inputs.shape[:-1] if inputs.ndim > 1 else inputs.shape
        return matrix.reshape(*batch_shape, matrix.shape[-1])

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the indices or of their encoding."""
        shape = tuple(input_shape)
        if self._split is not None:
            shape = (*(shape[:-1] if len(shape) > 1 else shape), self._output_sequence_length)
        elif self._output_sequence_length is not None or self._ngrams is not None:
            shape = (*shape[:-1], self._output_sequence_length)
        return self._lookup_layer.compute_output_shape(shape)

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        dtype = "int64" if self._output_mode == "int" else floatx()
        return KerasTensor(self.compute_output_shape(inputs.shape), dtype)

    # --- configs and files

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer; an adapted vocabulary is not included."""
        lookup = self._lookup_layer.get_config()
        shared = ("max_tokens", "pad_to_max_tokens", "vocabulary", "idf_weights", "vocabulary_size")
        return super().get_config() | {
            **{name: lookup[name] for name in shared},
            "standardize": self._standardize,
            "split": self._split,
            "ngrams": self._ngrams_arg,
            "output_mode": self._output_mode,
            "output_sequence_length": self._output_sequence_length,
            "sparse": False,
            "ragged": False,
            "encoding": self.encoding,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Create a layer from the result of `get_config`; functions are looked up by name."""
        refuse_vocabulary_files(cls, config)
        functions = {name: _load_step(name, config.get(name)) for name in ("standardize", "split")}
        return super().from_config({**config, **functions})

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Write the inverse document frequencies, if there are any."""
        self._lookup_layer.save_own_variables(store)

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Read the inverse document frequencies, if there are any."""
        self._lookup_layer.load_own_variables(store)

    def save_assets(self, dir_path: PathLike) -> None:
        """Write the vocabulary to a text file in a directory, unless the config has it."""
        self._lookup_layer.save_assets(dir_path)

    def load_assets(self, dir_path: PathLike) -> None:
        """Read the vocabulary that `save_assets` wrote."""
        self._lookup_layer.load_assets(dir_path)


def _check_step(
    layer: Layer, argument: str, value: str | TextFunction | None, choices: Sequence[str]
) -> str | TextFunction | None:
    if value is None or callable(value) or value in choices:
        return value
    listed = ", ".join(map(repr, choices))
    raise ValueError(
        f"TextVectorization was given {argument}={value!r}; one of {listed}, a function or None "
        "was expected."
    )


def _ngram_widths(layer: Layer, ngrams: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if ngrams is None:
        return None
    widths = [ngrams] if isinstance(ngrams, int) else ngrams
    if not isinstance(widths, (list, tuple)) or not all(
        isinstance(width, int) and width > 0 for width in widths
    ):
        raise ValueError(
            f"TextVectorization was given ngrams={ngrams!r}: `ngrams` must be None, an integer, or "
            "a tuple of integers, all positive."
        )
    return tuple(range(1, ngrams + 1)) if isinstance(ngrams, int) else tuple(ngrams)


def _load_step(argument: str, value: Any) -> str | TextFunction | None:
    """Return a step of a config; a function that the config names must be registered."""
    if not isinstance(value, Mapping):
        return cast(str | TextFunction | None, value)
    function = get_registered_object(str(value.get("config")))
    if not callable(function):
        raise ValueError(
            f"The config of a TextVectorization layer has {argument}={value.get('config')!r}, a "
            "function that is not registered. Decorate it with "
            "`@podium.saving.register_keras_serializable()`, or pass it as `custom_objects`."
        )
    return cast(TextFunction, function)
