"""Records what Keras 3 (on TensorFlow) does with the cases of `preprocessing_cases.py`.

python tests/oracle/record_preprocessing.py --out tests/oracle/fixtures      (in the tf_keras
environment, which has Keras 3 and TensorFlow; with KERAS_BACKEND=jax and --audio in the keras
environment, which has scipy)
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
sys.path.insert(0, str(Path(__file__).parent))

import keras
import numpy as np
from preprocessing_cases import (
    CASES,
    COLUMNS,
    FEATURE_SPACES,
    NEW_COLUMNS,
    TEXTS,
    arrays_of,
)


def as_input(array):
    if isinstance(array, list):
        return [as_input(a) for a in array]
    if array.dtype.kind == "f":
        return array
    import tensorflow as tf  # not needed for audio

    return tf.constant(array)


def plain(value):
    """A value without bytes and NumPy's types."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    value = value.item() if isinstance(value, np.generic) else value
    return float(f"{value:.7g}") if isinstance(value, float) else value


def run(case):
    keras.utils.clear_session()
    layer = getattr(keras.layers, case["layer"])(**case["config"])
    if case["adapt"] is not None:
        dtype = case["dtype"] if isinstance(case["dtype"], str) else case["dtype"][0]
        layer.adapt(arrays_of(case["adapt"], dtype))
    try:
        output = layer(as_input(arrays_of(case["inputs"], case["dtype"])))
    except Exception as error:
        return {"error": type(error).__name__}
    array = np.asarray(output)
    recorded = {
        "output": plain(array.tolist()),
        "dtype": array.dtype.name if array.dtype.kind != "O" else "string",
        "shape": list(array.shape),
        "config": plain(layer.get_config()),
    }
    if hasattr(layer, "get_vocabulary"):
        recorded["vocabulary"] = plain(layer.get_vocabulary())
    return recorded


def run_feature_space(make):
    keras.utils.clear_session()
    space = make(keras.utils.FeatureSpace)
    names = list(space.features)
    space.adapt({name: COLUMNS[name] for name in names})
    output = space({name: NEW_COLUMNS[name] for name in names})
    parts = output if isinstance(output, dict) else {"": output}
    return {name: plain(np.asarray(value).tolist()) for name, value in parts.items()}


def save_text_model(path):
    """Save a model with three vocabularies; return its outputs."""
    import tensorflow as tf

    keras.utils.clear_session()
    keras.utils.set_random_seed(0)
    layers = keras.layers
    tokens = layers.TextVectorization(output_sequence_length=4)
    scores = layers.TextVectorization(output_mode="tf_idf")
    ids = layers.IntegerLookup(mask_token=0)
    for layer, data in ((tokens, TEXTS), (scores, TEXTS), (ids, np.array([3, 4, 3]))):
        layer.adapt(data)
    text = layers.Input((), dtype="string", name="text")
    number = layers.Input((1,), dtype="int32", name="number")
    parts = [
        layers.GlobalAveragePooling1D()(layers.Embedding(30, 3)(tokens(text))),
        scores(text),
        layers.Flatten()(layers.Embedding(6, 2)(ids(number))),
    ]
    model = keras.Model(
        {"text": text, "number": number}, layers.Dense(2)(layers.concatenate(parts))
    )
    model.save(path)
    numbers = np.arange(len(TEXTS))[:, None]
    return plain(
        model({"text": tf.constant(TEXTS), "number": tf.constant(numbers)}).numpy().tolist()
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--audio", action="store_true")
    args = parser.parse_args()
    groups = [group for group in CASES if (group == "audio") == args.audio]
    facts = {group: [run(case) for case in CASES[group]] for group in groups}
    if not args.audio:
        facts["text_model"] = save_text_model(args.out / "text_model.keras")
        facts["feature_spaces"] = [run_feature_space(make) for make in FEATURE_SPACES]
    text = json.dumps(facts, indent=None, separators=(",", ":"))
    name = "preprocessing_audio.json" if args.audio else "preprocessing.json"
    (args.out / name).write_text(text + "\n")


if __name__ == "__main__":
    main()
