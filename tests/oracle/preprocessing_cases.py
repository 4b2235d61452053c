"""The cases of `record_preprocessing.py`: layers of structured data and text, what they are adapted
to, and their inputs. NumPy only.

A case has the `layer`, its `config`, `adapt` (data, or None), `inputs` (nested lists; a list of
several inputs for a layer that takes several) and their `dtype`, or dtypes.
"""

import numpy as np

WORDS = ["omar", "stringer", "marlo", "wire", "skywalker", "", "ü", "日本語", "a b"]
LONG_WORDS = ["x" * n + "yz" for n in (1, 5, 6, 10, 14, 15, 20, 30, 31, 62, 63, 126, 127, 200)]
NUMBERS = [0, 1, -1, 7, 10, 99, 100, -100, 12345, -98765, 2**31 - 1, -(2**31)]
TEXTS = [
    "the quick brown fox jumped over the lazy dog",
    "The Fox, and the dog!",
    "a dog's life: 100% (really) fun_times",
    "",
    "  spaces \t and\nlines  ",
    "日本語 ÜBER straße É",
]


def case(layer, inputs, dtype="string", adapt=None, **config):
    return {
        "layer": layer,
        "config": config,
        "adapt": adapt,
        "inputs": inputs,
        "dtype": dtype,
    }


def arrays_of(inputs, dtype):
    """The inputs of a case as arrays; text as arrays of strings."""
    if isinstance(dtype, (list, tuple)):
        return [arrays_of(*pair) for pair in zip(inputs, dtype, strict=True)]
    return np.array(inputs) if dtype == "string" else np.array(inputs, dtype)


def uniform(*shape):
    return np.random.default_rng(0).normal(size=shape).round(4).tolist()


ENCODED = [("one_hot", [[3], [0]]), ("one_hot", [3, 0]), ("one_hot", [[3, 0], [1, 1]])]
ENCODED += [(mode, x) for mode in ("multi_hot", "count") for x in ([3, 0, 3], [[3, 0], [1, 1]])]
ENCODED += [(mode, [[[3, 0], [1, 1]]]) for mode in ("one_hot", "multi_hot", "count")]

NUMERIC = [
    *(case("CategoryEncoding", x, "int32", num_tokens=4, output_mode=mode) for mode, x in ENCODED),
    case("CategoryEncoding", [[1.0, 2.0]], "float32", num_tokens=3, output_mode="count"),
    case("Discretization", uniform(3, 4), "float32", bin_boundaries=[-1.0, 0.0, 0.5]),
    case("Discretization", [[-1.0, 0.0, 0.5, 0.4999]], "float32", bin_boundaries=[-1.0, 0.0, 0.5]),
    case("Discretization", [[-1, 0, 1, 2]], "int32", bin_boundaries=[0.0, 1.0, 1.5]),
    *(
        case("Discretization", uniform(*shape), "float32", bin_boundaries=[0.0], output_mode=mode)
        for mode in ("one_hot", "multi_hot", "count")
        for shape in ((3,), (2, 1), (2, 3), (2, 3, 2))
    ),
    case("Discretization", uniform(4), "float32", adapt=uniform(50, 3), num_bins=4),
    case("Discretization", uniform(4), "float32", adapt=uniform(50, 3), num_bins=7, epsilon=0.2),
    case("Discretization", uniform(4), "float32", adapt=uniform(1000), num_bins=5),
    case("Discretization", uniform(4), "float32", adapt=[0.0, 1.0, 5.0], num_bins=5),
    case("Discretization", uniform(4), "float32", adapt=[2.0, 2.0, 2.0, 2.0], num_bins=3),
]

HASHES = [
    *(
        case("Hashing", inputs, dtype, num_bins=10**6, **config)
        for inputs, dtype in ((WORDS, "string"), (LONG_WORDS, "string"), (NUMBERS, "int64"))
        for config in ({}, {"salt": 133}, {"salt": [133, 137]})
    ),
    case("Hashing", [[2**40, -(2**62)]], "int64", num_bins=10**6),
    case("Hashing", [1.7, -1.7, 300.0], "float32", num_bins=10**6),
    case("Hashing", [True, False], "bool", num_bins=10**6),
    case("Hashing", WORDS, num_bins=5, mask_value=""),
    case("Hashing", WORDS, num_bins=1, mask_value=""),
    case("Hashing", NUMBERS, "int32", num_bins=5, mask_value=7),
    *(
        case("Hashing", [[w] for w in WORDS[:3]], num_bins=4, output_mode=mode)
        for mode in ("one_hot", "multi_hot", "count")
    ),
    *(
        case("Hashing", [WORDS[:3], WORDS[3:6]], num_bins=4, output_mode=mode)
        for mode in ("one_hot", "multi_hot", "count")
    ),
    case("HashedCrossing", [WORDS, WORDS[::-1]], ["string", "string"], num_bins=10**6),
    case("HashedCrossing", [WORDS, NUMBERS[:9]], ["string", "int32"], num_bins=10**6),
    case(
        "HashedCrossing",
        [NUMBERS, NUMBERS, WORDS + WORDS[:3]],
        ["int32", "int64", "string"],
        num_bins=10**6,
    ),
    case("HashedCrossing", [[[1], [2]], [[3], [4]]], ["int32", "int32"], num_bins=7),
    case(
        "HashedCrossing",
        [[1, 2], ["a", "b"]],
        ["int32", "string"],
        num_bins=3,
        output_mode="one_hot",
    ),
]

LETTERS = ["a", "b", "c", "d"]
INTEGERS = [12, 36, 1138, 42]
TOKENS = [["a", "c", "d", "d"], ["d", "z", "b", ""]]
IDS = [[12, 1138, 42, 42], [42, 7, 36, 0]]
FREQUENT = ["b", "a", "b", "c", "a", "b", "d", "", "[UNK]"]
DOCUMENTS = [["a", "b", "a"], ["b", "c", "d"], ["", "e", "b"]]
ID_DOCUMENTS = [[3, 5, 3], [5, 7, 9], [0, 11, 5]]
WEIGHTS = [0.25, 0.75, 0.6, 0.4]
MODES = ("one_hot", "multi_hot", "count")

STRINGS = [
    case("StringLookup", TOKENS, vocabulary=LETTERS),
    case("StringLookup", "c", vocabulary=LETTERS),
    case("StringLookup", TOKENS, vocabulary=LETTERS, mask_token=""),
    case("StringLookup", TOKENS, vocabulary=["", "[UNK]", *LETTERS], mask_token=""),
    case("StringLookup", TOKENS, vocabulary=["[UNK]", *LETTERS]),
    case("StringLookup", TOKENS, vocabulary=["a", "[UNK]", "b"]),
    case("StringLookup", [["a", "d"]], vocabulary=LETTERS, num_oov_indices=0),
    case("StringLookup", TOKENS, vocabulary=LETTERS, num_oov_indices=0),
    case("StringLookup", [WORDS], vocabulary=LETTERS, num_oov_indices=3),
    case("StringLookup", [WORDS], vocabulary=LETTERS, num_oov_indices=3, mask_token="", salt=7),
    *(case("StringLookup", TOKENS, vocabulary=LETTERS, output_mode=mode) for mode in MODES),
    *(
        case("StringLookup", TOKENS, vocabulary=LETTERS, output_mode=mode, mask_token="")
        for mode in MODES
    ),
    *(
        case(
            "StringLookup",
            ["a", "z", "a"],
            vocabulary=LETTERS,
            output_mode=mode,
            max_tokens=8,
            pad_to_max_tokens=True,
        )
        for mode in MODES
    ),
    case("StringLookup", TOKENS, vocabulary=LETTERS, idf_weights=WEIGHTS, output_mode="tf_idf"),
    case(
        "StringLookup",
        TOKENS,
        vocabulary=["[UNK]", *LETTERS],
        idf_weights=[0.9, *WEIGHTS],
        output_mode="tf_idf",
    ),
    case("StringLookup", [[1, 3, 4], [4, 0, 9]], "int64", vocabulary=LETTERS, invert=True),
    case("StringLookup", [0, 1, 2, 5], "int64", vocabulary=LETTERS, invert=True, mask_token="m"),
    case("StringLookup", TOKENS, adapt=FREQUENT),
    case("StringLookup", TOKENS, adapt=FREQUENT, mask_token="", max_tokens=4),
    case("StringLookup", TOKENS, adapt=FREQUENT, num_oov_indices=2),
    case("StringLookup", TOKENS, adapt=DOCUMENTS, output_mode="tf_idf"),
    case(
        "StringLookup",
        TOKENS,
        adapt=DOCUMENTS,
        output_mode="tf_idf",
        mask_token="",
        max_tokens=7,
        pad_to_max_tokens=True,
    ),
    case("StringLookup", TOKENS, adapt=DOCUMENTS, output_mode="count", max_tokens=3),
]

INTEGER = [
    case("IntegerLookup", IDS, "int64", vocabulary=INTEGERS),
    case("IntegerLookup", 42, "int64", vocabulary=INTEGERS),
    case("IntegerLookup", IDS, "int32", vocabulary=INTEGERS, mask_token=0),
    case("IntegerLookup", IDS, "int64", vocabulary=[0, -1, *INTEGERS], mask_token=0),
    case("IntegerLookup", [[12, 42]], "int64", vocabulary=INTEGERS, num_oov_indices=0),
    case("IntegerLookup", IDS, "int64", vocabulary=INTEGERS, num_oov_indices=0),
    *(
        case("IntegerLookup", NUMBERS, "int64", vocabulary=[10, 20], num_oov_indices=4, **config)
        for config in ({}, {"oov_method": "farmhash"}, {"oov_method": "farmhash", "salt": 5})
    ),
    *(case("IntegerLookup", IDS, "int64", vocabulary=INTEGERS, output_mode=m) for m in MODES),
    *(
        case("IntegerLookup", IDS, "int64", vocabulary=INTEGERS, output_mode=m, mask_token=0)
        for m in MODES
    ),
    case(
        "IntegerLookup",
        IDS,
        "int64",
        vocabulary=INTEGERS,
        idf_weights=WEIGHTS,
        output_mode="tf_idf",
    ),
    case("IntegerLookup", [[1, 3, 4], [4, 0, 9]], "int64", vocabulary=INTEGERS, invert=True),
    case(
        "IntegerLookup",
        [0, 1, 2, 5],
        "int64",
        vocabulary=INTEGERS,
        invert=True,
        mask_token=7,
        oov_token=-2,
    ),
    case("IntegerLookup", IDS, "int64", adapt=[12, 7, 7, 42, -1, 0, 12, 7]),
    case(
        "IntegerLookup",
        IDS,
        "int64",
        adapt=[12, 7, 7, 42, -1, 0, 12, 7],
        mask_token=0,
        max_tokens=4,
    ),
    case("IntegerLookup", [[3, 5, 0]], "int64", adapt=ID_DOCUMENTS, output_mode="tf_idf"),
]

VOCABULARY = ["the", "dog", "fox", "fun", "dogs", "a", "quick brown", "o", "d"]
STEPS = [None, "lower_and_strip_punctuation", "lower", "strip_punctuation"]

TEXT = [
    *(
        case("TextVectorization", TEXTS, adapt=TEXTS, standardize=standardize, split=split)
        for standardize in STEPS
        for split in (None, "whitespace", "character")
    ),
    case("TextVectorization", TEXTS, vocabulary=VOCABULARY),
    case("TextVectorization", [[text] for text in TEXTS], vocabulary=VOCABULARY),
    case("TextVectorization", [[[text]] for text in TEXTS], vocabulary=VOCABULARY),
    case("TextVectorization", "the quick dog", vocabulary=VOCABULARY),
    case("TextVectorization", [["a", "b"]], vocabulary=VOCABULARY),
    case("TextVectorization", [["a", "dog!"]], vocabulary=VOCABULARY, split=None),
    case("TextVectorization", TEXTS, vocabulary=["", "[UNK]", *VOCABULARY]),
    *(
        case("TextVectorization", TEXTS, vocabulary=VOCABULARY, output_sequence_length=length)
        for length in (1, 4, 12)
    ),
    case(
        "TextVectorization",
        [["a", "dog!"]],
        vocabulary=VOCABULARY,
        split=None,
        output_sequence_length=3,
    ),
    case("TextVectorization", TEXTS, adapt=TEXTS, max_tokens=6),
    case("TextVectorization", TEXTS, adapt=[[text] for text in TEXTS], max_tokens=6),
    case("TextVectorization", TEXTS, adapt=TEXTS, ngrams=2),
    case("TextVectorization", TEXTS, adapt=TEXTS, ngrams=3, split="character"),
    case("TextVectorization", [["a", "b", "c"]], adapt=[["a", "b", "c"]], ngrams=2, split=None),
    *(
        case("TextVectorization", TEXTS, adapt=TEXTS, output_mode=mode, **config)
        for mode in ("multi_hot", "count", "tf_idf")
        for config in ({}, {"max_tokens": 5}, {"max_tokens": 90, "pad_to_max_tokens": True})
    ),
    case(
        "TextVectorization",
        TEXTS,
        vocabulary=["the", "dog"],
        idf_weights=[0.5, 2.0],
        output_mode="tf_idf",
    ),
    case(
        "TextVectorization", [[text] for text in TEXTS], vocabulary=VOCABULARY, output_mode="count"
    ),
]

MEL = {"fft_length": 32, "sequence_stride": 8, "num_mel_bins": 6, "sampling_rate": 4000}
FRAMES = {"frame_length": 16, "frame_step": 6, "fft_length": 16}

AUDIO = [
    case("MelSpectrogram", uniform(2, 60), "float32", **MEL),
    case("MelSpectrogram", uniform(63), "float32", **MEL),
    case("MelSpectrogram", uniform(2, 60), "float32", **MEL, sequence_length=20, window="hamming"),
    case("MelSpectrogram", uniform(2, 60), "float32", **MEL, window=None, power_to_db=False),
    case(
        "MelSpectrogram",
        uniform(2, 60),
        "float32",
        **MEL,
        top_db=10.0,
        mag_exp=1.0,
        ref_power=0.5,
        min_freq=100.0,
        max_freq=1500.0,
    ),
    *(
        case("STFTSpectrogram", uniform(2, 40, 2), "float32", **FRAMES, mode=mode, expand_dims=e)
        for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft")
        for e in (False, True)
    ),
    case("STFTSpectrogram", uniform(2, 40, 1), "float32", **FRAMES, padding="same"),
    case(
        "STFTSpectrogram",
        uniform(2, 40, 1),
        "float32",
        frame_length=12,
        window="hamming",
        periodic=True,
        scaling="spectrum",
        mode="magnitude",
    ),
    case(
        "STFTSpectrogram",
        uniform(2, 40, 1),
        "float32",
        frame_length=12,
        window=None,
        scaling=None,
        mode="magnitude",
    ),
    *(
        case(
            "STFTSpectrogram",
            uniform(2, 2, 40),
            "float32",
            **FRAMES,
            mode="psd",
            data_format="channels_first",
            expand_dims=expand,
        )
        for expand in (False, True)
    ),
]

CASES = {
    "numeric": NUMERIC,
    "hashes": HASHES,
    "strings": STRINGS,
    "integers": INTEGER,
    "text": TEXT,
    "audio": AUDIO,
}

COLUMNS = {
    "float": [-0.1, 0.2, 0.3, 0.4],
    "normalized": [1.0, 2.0, 3.0, 5.0],
    "rescaled": [0.0, 1.0, 2.0, 3.0],
    "discretized": [1.0, 2.0, 3.0, 4.0],
    "word": ["zero", "one", "two", "zero"],
    "number": [3, 1, 2, 3],
    "hashed_word": ["a", "b", "c", "d"],
    "hashed_number": [10, 20, 30, 40],
}
NEW_COLUMNS = {
    "float": [1.0, 2.0],
    "normalized": [0.0, 9.0],
    "rescaled": [1.5, -1.0],
    "discretized": [0.0, 9.0],
    "word": ["two", "nine"],
    "number": [1, 9],
    "hashed_word": ["x", "a"],
    "hashed_number": [10, -1],
}


def standard_types(space):
    return {
        "float": "float",
        "normalized": "float_normalized",
        "rescaled": "float_rescaled",
        "discretized": "float_discretized",
        "word": "string_categorical",
        "number": "integer_categorical",
        "hashed_word": "string_hashed",
        "hashed_number": "integer_hashed",
    }


def custom_types(space):
    return {
        "float": space.float(),
        "normalized": space.float_normalized(),
        "rescaled": space.float_rescaled(scale=2.0, offset=1.0),
        "discretized": space.float_discretized(num_bins=3, output_mode="int"),
        "word": space.string_categorical(max_tokens=3, output_mode="int"),
        "number": space.integer_categorical(num_oov_indices=2, output_mode="int"),
        "hashed_word": space.string_hashed(num_bins=7, output_mode="int"),
        "hashed_number": space.integer_hashed(num_bins=7),
    }


# Each makes a FeatureSpace, of Keras or of Podium.
FEATURE_SPACES = [
    lambda space: space(standard_types(space), num_discretization_bins=3, hashing_dim=5),
    lambda space: space(
        standard_types(space),
        crosses=[("word", "number"), ("word", "hashed_number")],
        crossing_dim=6,
    ),
    lambda space: space(
        custom_types(space),
        output_mode="dict",
        crosses=[
            space.cross(("word", "number"), crossing_dim=9, output_mode="int"),
            space.cross(("hashed_word", "number"), crossing_dim=4),
        ],
    ),
    lambda space: space({"word": "string_categorical"}),
]
