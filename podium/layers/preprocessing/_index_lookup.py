"""IndexLookup: the base of IntegerLookup and StringLookup, which map tokens to indices and back.

It owns the options, `adapt`, and the files of a vocabulary. `_vocabulary.py` looks tokens up, and
`_token_counts.py` counts them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium._typing import Array, Config, DTypeLike, PathLike, SymbolicShape, TensorLike, Tree
from podium.core import (
    KerasTensor,
    Tensor,
    check_choice,
    convert_to_tensor,
    dispatch,
    floatx,
    warn_user,
)
from podium.core.internal import check_bool, check_int
from podium.layers._layer import Layer
from podium.layers.preprocessing._category_encoding import (
    check_output_mode,
    encode_indices,
    encoded_shape,
    reject_sparse_outputs,
)
from podium.layers.preprocessing._hashing import check_salt
from podium.layers.preprocessing._host_layer import (
    HostLayer,
    host_batch,
    is_traced,
    iterate_batches,
)
from podium.layers.preprocessing._token_counts import (
    TokenCounts,
    pad_idf_weights,
    read_vocabulary_file,
    write_vocabulary_file,
)
from podium.layers.preprocessing._vocabulary import SpecialTokens, Token, Vocabulary

VocabularyLike: TypeAlias = Sequence[Token] | Array | PathLike

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")
_FILE = "vocabulary.txt"


class IndexLookup(HostLayer):
    """Maps tokens to indices, or indices to tokens if `invert`. See IntegerLookup, StringLookup."""

    def __init__(
        self,
        max_tokens: int | None,
        num_oov_indices: int,
        mask_token: Token | None,
        oov_token: Token | None,
        vocabulary_dtype: str,
        vocabulary: VocabularyLike | None = None,
        idf_weights: Sequence[float] | Array | None = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        oov_method: str = "floormod",
        name: str | None = None,
        salt: int | Sequence[int] | None = None,
        has_input_vocabulary: bool | None = None,
        vocabulary_size: int | None = None,
        trainable: bool = True,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(name=name, trainable=trainable, dtype=dtype)
        self.max_tokens = _check_max_tokens(self, max_tokens, pad_to_max_tokens)
        self.num_oov_indices = check_int("num_oov_indices", num_oov_indices, 0, owner=self)
        self.mask_token = mask_token
        self.oov_token = oov_token
        self.output_mode = check_output_mode(self, output_mode, _MODES)
        self.invert = check_bool("invert", invert, owner=self)
        reject_sparse_outputs(self, sparse)
        self.sparse = False
        self.pad_to_max_tokens = check_bool("pad_to_max_tokens", pad_to_max_tokens, owner=self)
        self.vocabulary_dtype = vocabulary_dtype
        self.oov_method = check_choice("oov_method", oov_method, ("floormod", "farmhash"))
        self.salt = check_salt(self, salt)
        _check_options(self, idf_weights)
        # A vocabulary from a file is written to files of models, not to configs.
        is_file = isinstance(vocabulary, (str, os.PathLike))
        self.input_vocabulary = None if is_file else _to_list(vocabulary)
        self.input_idf_weights = _to_list(idf_weights)
        self._has_input_vocabulary = (
            vocabulary is not None if has_input_vocabulary is None else has_input_vocabulary
        )
        self._frozen_vocabulary_size = vocabulary_size
        special = SpecialTokens(
            mask_token,
            oov_token,
            self.num_oov_indices,
            self.output_mode == "int",
            vocabulary_dtype == "string" or oov_method == "farmhash",
            None if self.salt is None else (self.salt[0], self.salt[1]),
        )
        self._vocabulary = Vocabulary([], special)
        self._has_vocabulary = False
        self._is_compiled = False  # whether a program contains the vocabulary
        self._counts = TokenCounts()
        self.idf_weights: NDArray[np.float32] | None = None
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)

    # --- the vocabulary

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """Return the tokens in the order of their indices.

        Args:
            include_special_tokens: Whether to include the mask token and the OOV tokens.
        """
        special = self._vocabulary.special.tokens if include_special_tokens else []
        return [*special, *self._vocabulary.tokens]

    def vocabulary_size(self) -> int:
        """Return the number of tokens, with the mask token and the OOV tokens."""
        return len(self._vocabulary)

    def set_vocabulary(
        self, vocabulary: VocabularyLike, idf_weights: Sequence[float] | Array | None = None
    ) -> None:
        """Replace the vocabulary.

        Args:
            vocabulary: The tokens in the order of their indices, with or without the mask token and
                the OOV tokens at the start; or the path of a text file with one for each line.
            idf_weights: The inverse document frequencies of the tokens, for the mode "tf_idf".
        """
        if (self.output_mode == "tf_idf") != (idf_weights is not None):
            must = "must be set if" if idf_weights is None else "should only be set if"
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) has "
                f"output_mode={self.output_mode!r}: `idf_weights` {must} output_mode is 'tf_idf'."
            )
        given = _read_tokens(self, vocabulary)
        if not given:
            raise ValueError(f"Cannot set an empty vocabulary on layer {self.name!r}.")
        special = self._vocabulary.special
        has_special = given[: len(special.tokens)] == special.tokens
        tokens = given[len(special.tokens) :] if has_special else given
        special.check_vocabulary(tokens, self.invert, self.max_tokens)
        self._use_vocabulary(tokens)
        if idf_weights is not None:
            num_special = 0 if has_special else len(special.tokens)
            size = self.max_tokens if self.pad_to_max_tokens else None
            self.idf_weights = pad_idf_weights(idf_weights, len(given), num_special, size)

    def _use_vocabulary(self, tokens: Sequence[Token]) -> None:
        vocabulary = Vocabulary(tokens, self._vocabulary.special)
        size, frozen = len(vocabulary), self._frozen_vocabulary_size
        if self.output_mode != "int" and not self.pad_to_max_tokens and frozen not in (None, size):
            raise RuntimeError(
                f"Layer {self.name!r} ({type(self).__name__}) has a vocabulary of size {frozen}, "
                f"and one of size {size} was to replace it. With "
                f"output_mode={self.output_mode!r} and `pad_to_max_tokens=False`, the vocabulary "
                "size cannot be changed, because it is that of the outputs. Create a new layer."
            )
        if self._is_compiled:
            warn_user(
                f"Layer {self.name!r} ({type(self).__name__}) gets another vocabulary after a "
                "program that contains the old one was compiled, which keeps it. Set it first, or "
                "compile the model again."
            )
        self._vocabulary = vocabulary
        self._frozen_vocabulary_size = size
        self._has_vocabulary = True

    # --- adapt

    def adapt(self, data: Tree, steps: int | None = None) -> None:
        """Make a vocabulary of the most frequent tokens of data, replacing an earlier one.

        Args:
            data: An array or a list of tokens, or an iterable of batches such as a Dataset.
            steps: The number of batches to read; by default all.
        """
        self.reset_state()
        is_array = hasattr(data, "__array__") or isinstance(data, (list, tuple))
        for batch in iterate_batches(data, steps, self, lists_are_arrays=True):
            array = host_batch(batch, self.encoding)
            self.update_state(array[:, None] if is_array and array.ndim == 1 else array)
        self.finalize_state()

    def update_state(self, data: Tree) -> None:
        """Count the tokens of a batch; one of rank 1 is a single document."""
        if self._has_input_vocabulary:
            raise ValueError(
                f"Cannot adapt layer {self.name!r} after setting a static vocabulary via "
                "`vocabulary` argument. Omit the argument, or do not call `adapt`."
            )
        if isinstance(data, list) and all(isinstance(row, list) for row in data):
            self._counts.add(data)  # rows of different lengths
            return
        array = _as_tokens(self, data, "data")
        num_documents = array.shape[0] if array.ndim > 1 else 1
        self._counts.add(array.reshape(num_documents, -1).tolist())

    def finalize_state(self) -> None:
        """Make the vocabulary of what `update_state` has counted."""
        if self._has_input_vocabulary or not self._counts.tokens:
            return
        num_special = len(self._vocabulary.special.tokens)
        limit = None if self.max_tokens is None else self.max_tokens - num_special
        tokens = self._counts.most_frequent(limit, (self.mask_token, self.oov_token))
        self._use_vocabulary(tokens)
        if self.output_mode == "tf_idf":
            weights = self._counts.idf_weights(tokens)
            size = self.max_tokens if self.pad_to_max_tokens else None
            self.idf_weights = pad_idf_weights(weights, len(tokens), num_special, size)
        self.reset_state()

    def reset_state(self) -> None:
        """Forget what `update_state` has counted."""
        self._counts = TokenCounts()

    # --- calls

    def call(self, inputs: Tree) -> Tree:
        """Return the indices of tokens, encoded as `output_mode` says; or tokens, if `invert`."""
        self._is_compiled = self._is_compiled or is_traced(inputs)
        return self.encode_lookups(super().call(inputs))

    def encode_lookups(self, lookups: Tree) -> Tree:
        """Return indices of tokens encoded as `output_mode` says."""
        if self.output_mode == "int":
            return lookups
        mode = "count" if self.output_mode == "tf_idf" else self.output_mode
        depth = self.max_tokens if self.pad_to_max_tokens else self._frozen_vocabulary_size
        encoded = encode_indices(lookups, mode, depth or 0, floatx())
        if self.idf_weights is None:
            return encoded
        return encoded * convert_to_tensor(self.idf_weights, floatx())

    def _compute_on_host(self, inputs: NDArray[Any]) -> NDArray[Any]:
        _check_has_vocabulary(self)
        if not self.invert:
            return self._vocabulary.indices_of(_as_tokens(self, inputs, "inputs"))
        if inputs.dtype.kind not in "iu":
            raise TypeError(
                f"Layer {self.name!r} ({type(self).__name__}) has invert=True and was given values "
                f"of dtype {inputs.dtype}; indices of an integer dtype were expected."
            )
        return self._vocabulary.tokens_at(inputs)

    def _compute_traced(self, inputs: Tensor) -> Tensor:
        _check_has_vocabulary(self)
        if self.vocabulary_dtype == "string":
            self._raise_traced()
        if self.num_oov_indices == 0 and not self.invert:
            raise TypeError(
                f"Layer {self.name!r} ({type(self).__name__}) has num_oov_indices=0, and was "
                "called inside a compiled function or step, which cannot raise an error for values "
                "that are not in the vocabulary. Use `num_oov_indices=1`, or call it before, for "
                "example in `Dataset.map`."
            )
        vocabulary = self._vocabulary
        look_up = vocabulary.traced_tokens if self.invert else vocabulary.traced_indices
        lookups: Tensor = dispatch(look_up, inputs)
        return lookups

    # --- shapes and configs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the encoded indices."""
        depth = self.max_tokens if self.pad_to_max_tokens else self._frozen_vocabulary_size
        return encoded_shape(input_shape, self.output_mode, depth)

    def compute_output_spec(self, inputs: KerasTensor) -> KerasTensor:
        """Return the spec of the outputs for a symbolic input."""
        dtype = "int64" if self.output_mode == "int" else floatx()
        dtype = self.vocabulary_dtype if self.invert else dtype
        return KerasTensor(self.compute_output_shape(inputs.shape), dtype)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer; an adapted vocabulary is not included."""
        return super().get_config() | {
            "invert": self.invert,
            "max_tokens": self.max_tokens,
            "num_oov_indices": self.num_oov_indices,
            "oov_token": self.oov_token,
            "mask_token": self.mask_token,
            "output_mode": self.output_mode,
            "sparse": False,
            "pad_to_max_tokens": self.pad_to_max_tokens,
            "vocabulary_dtype": self.vocabulary_dtype,
            "idf_weights": self.input_idf_weights,
            "vocabulary": self.input_vocabulary,
            "vocabulary_size": self._frozen_vocabulary_size,
            "oov_method": self.oov_method,
            "salt": self.salt,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Create a layer from the result of `get_config`."""
        refuse_vocabulary_files(cls, config)
        return super().from_config(config)

    # --- files

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Write the inverse document frequencies, if there are any."""
        if self.idf_weights is not None:
            store["idf_weights"] = self.idf_weights

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Read the inverse document frequencies, if there are any."""
        if self.output_mode == "tf_idf" and "idf_weights" in store:
            self.idf_weights = np.asarray(store["idf_weights"], "float32")

    def save_assets(self, dir_path: PathLike) -> None:
        """Write the vocabulary to a text file in a directory, unless the config has it."""
        if self.input_vocabulary is None and self._has_vocabulary:
            write_vocabulary_file(os.path.join(dir_path, _FILE), self.get_vocabulary())

    def load_assets(self, dir_path: PathLike) -> None:
        """Read the vocabulary that `save_assets` wrote."""
        path = os.path.join(dir_path, _FILE)
        if self.input_vocabulary is None and os.path.exists(path):
            tokens = _read_tokens(self, path)
            self._use_vocabulary(tokens[len(self._vocabulary.special.tokens) :])


def refuse_vocabulary_files(cls: type[Layer], config: Mapping[str, Any]) -> None:
    """Raise if a config names a file: a model from elsewhere could read any."""
    if isinstance(config.get("vocabulary"), str):
        raise ValueError(
            f"The config of a {cls.__name__} names the vocabulary file {config['vocabulary']!r}; "
            "a list of tokens was expected, because a config may not read files. Pass the tokens, "
            "or call `set_vocabulary(path)` on the layer."
        )


def _check_has_vocabulary(layer: IndexLookup) -> None:
    if not layer._has_vocabulary:
        raise RuntimeError(
            f"Layer {layer.name!r} ({type(layer).__name__}) has no vocabulary. Pass the "
            "`vocabulary` argument, or call `adapt(data)` or `set_vocabulary(tokens)` before you "
            "use it."
        )


def _check_max_tokens(layer: Layer, max_tokens: int | None, pads: bool) -> int | None:
    if max_tokens is None:
        if pads:
            raise ValueError(
                f"{type(layer).__name__} was given pad_to_max_tokens=True and no `max_tokens`: if "
                "pad_to_max_tokens is True, must set `max_tokens`."
            )
        return None
    if check_int("max_tokens", max_tokens, None, owner=layer) <= 1:
        raise ValueError(
            f"{type(layer).__name__} was given max_tokens={max_tokens}: if set, `max_tokens` must "
            "be greater than 1."
        )
    return int(max_tokens)


def _check_options(layer: IndexLookup, idf_weights: ArrayLike | None) -> None:
    """Raise for options that exclude each other."""
    given = f"{type(layer).__name__} was given "
    if layer.invert and layer.output_mode != "int":
        raise ValueError(
            f"{given}output_mode={layer.output_mode!r} with invert=True: `output_mode` must be "
            "'int' when `invert` is true."
        )
    if idf_weights is not None and layer.output_mode != "tf_idf":
        raise ValueError(
            f"{given}idf_weights and output_mode={layer.output_mode!r}: `idf_weights` should "
            "only be set if `output_mode` is 'tf_idf'."
        )
    is_text = layer.vocabulary_dtype == "string"
    if layer.salt is not None and not is_text and layer.oov_method != "farmhash":
        raise ValueError(
            f"{given}oov_method={layer.oov_method!r} and a salt: `salt` can only be used when "
            "`oov_method='farmhash'`."
        )


def _read_tokens(layer: IndexLookup, vocabulary: VocabularyLike) -> list[Token]:
    """Return the tokens of a list or of a file."""
    tokens: list[Token]
    if not isinstance(vocabulary, (str, os.PathLike)):
        tokens = _as_tokens(layer, vocabulary, "vocabulary").reshape(-1).tolist()
        return tokens
    lines = read_vocabulary_file(os.fspath(vocabulary))
    tokens = [line if layer.vocabulary_dtype == "string" else int(line) for line in lines]
    return tokens


def _as_tokens(layer: IndexLookup, values: TensorLike, argument: str) -> NDArray[Any]:
    """Return values as an array of tokens of the vocabulary's dtype."""
    array = host_batch(values, layer.encoding)
    is_text = layer.vocabulary_dtype == "string"
    if array.size and array.dtype.kind not in ("O" if is_text else "iufb"):
        expected = ("text was", "IntegerLookup") if is_text else ("integers were", "StringLookup")
        raise TypeError(
            f"Layer {layer.name!r} ({type(layer).__name__}) was given {argument} of dtype "
            f"{array.dtype}; {expected[0]} expected. Use {expected[1]} for such values."
        )
    return array.astype(object if is_text else "int64")


def _to_list(values: VocabularyLike | Sequence[float] | None) -> list[Any] | None:
    """Return an argument in a JSON-compatible form."""
    if values is None:
        return None
    items = np.asarray(values).reshape(-1).tolist()
    return [item.decode() if isinstance(item, bytes) else item for item in items]
