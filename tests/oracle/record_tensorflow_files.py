"""Checkpoints and SavedModels as tf_keras writes them, with predictions: `make oracle-record` runs
it.

python tests/oracle/record_tensorflow_files.py --out tests/oracle/fixtures
"""

import argparse
import pathlib
import shutil

import numpy as np
import tensorflow as tf
import tf_keras as keras
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow_file_models import functional, operations, own, subclassed
from tf_keras.protobuf.saved_metadata_pb2 import SavedMetadata


def randomize_weights(model, seed):
    rng = np.random.default_rng(seed)
    model.set_weights(
        [rng.uniform(0.1, 1.0, weight.shape).astype("float32") for weight in model.get_weights()]
    )
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    folder = parser.parse_args().out / "tensorflow_files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    model, x = functional(keras)
    randomize_weights(model, 1).save_weights(str(folder / "functional"))
    tf.train.Checkpoint(model=model).write(str(folder / "wrapped"))
    model.save(str(folder / "saved"))
    custom, custom_x = subclassed(keras)
    custom.compile("adam", "mse")
    custom.fit(custom_x, np.ones((len(custom_x), 2), "float32"), verbose=0)
    randomize_weights(custom, 2).save_weights(str(folder / "subclassed"))
    compiled, compiled_x, y = operations(keras)
    compiled.fit(compiled_x, y, batch_size=2, epochs=2, shuffle=False, verbose=0)
    compiled.save(str(folder / "operations"))
    outputs = compiled(compiled_x)
    compiled.fit(compiled_x, y, batch_size=2, shuffle=False, verbose=0)
    continued = compiled(compiled_x)
    words, words_x = own(keras)
    words.save(str(folder / "own"))
    np.savez(
        folder / "outputs.npz",
        functional=model(x).numpy(),
        subclassed=custom(custom_x).numpy(),
        own=words(words_x).numpy(),
        **{f"operations_{name}": value.numpy() for name, value in outputs.items()},
        **{f"continued_{name}": value.numpy() for name, value in continued.items()},
    )
    for path in [folder / "checkpoint", folder / "saved" / "keras_metadata.pb"]:
        path.unlink()
    for name in ("saved", "operations", "own"):
        (folder / name / "fingerprint.pb").unlink()
        # It is large; only those of TensorFlow before 2.5 are read.
        (folder / name / "saved_model.pb").write_bytes(b"")
        shutil.rmtree(folder / name / "assets")
    record_functions(folder)
    write_before_2_5(folder / "own", folder / "before_2_5")


def record_functions(folder):
    """Record a model that calls functions of TensorFlow on symbolic values, as JSON."""
    L = keras.layers
    x, z, image = L.Input((4,)), L.Input((4,)), L.Input((4, 3))
    outputs = [
        x + z, x - z, x * 2.0, x / z, 1 - x, 2.0 / x, -x, abs(x), x**2, x // 2.0, x % 2.0,
        x > 0, x >= z, x < 0.5, x <= z, ~(x > 0), (x > 0) & (z > 0), (x > 0) | (z > 0),
        image @ tf.transpose(image, (0, 2, 1)), tf.matmul(x, z, transpose_b=True),
        x[:, 1:3], image[:, 0], image[..., 0], x[:, tf.newaxis], x[:, ::-1],
        tf.reduce_mean(x, axis=1), tf.reduce_sum(x, -1, keepdims=True),
        tf.reduce_max(image, [1, 2]),
        tf.reduce_logsumexp(x, 1), tf.math.reduce_std(x, 1), tf.math.reduce_variance(x, 1),
        tf.concat([x, z], axis=-1), tf.stack([x, z], 1), tf.expand_dims(x, 1), tf.tile(x, [1, 2]),
        tf.squeeze(tf.expand_dims(x, 1), 1), tf.reshape(x, (-1, 2, 2)), tf.repeat(x, 2, axis=1),
        tf.reverse(x, [1]), tf.pad(x, [[0, 0], [1, 1]]), tf.gather(x, [0, 2], axis=1),
        tf.nn.relu(x), tf.nn.elu(x), tf.nn.selu(x), tf.nn.relu6(x), tf.nn.softsign(x),
        tf.nn.leaky_relu(x), tf.nn.softmax(x), tf.nn.log_softmax(x), tf.nn.silu(x), tf.nn.gelu(x),
        tf.sigmoid(x), tf.tanh(x), tf.nn.softplus(x), tf.square(x), tf.sqrt(x * x), tf.exp(x),
        tf.math.log(x * x), tf.math.rsqrt(x * x), tf.sign(x), tf.round(x), tf.floor(x), tf.sin(x),
        tf.cast(x, tf.float16), tf.cast(x, "int32"), tf.clip_by_value(x, -1, 1), tf.maximum(x, 0.0),
        tf.minimum(x, z), tf.argmax(image, axis=1), tf.math.l2_normalize(x, axis=-1),
        tf.one_hot(tf.cast(x, "int32"), 3), tf.where(x > 0, x, z), tf.add_n([x, z]),
        tf.math.cumsum(x, axis=1), tf.identity(x), tf.stop_gradient(x), tf.ones_like(x),
        tf.math.divide_no_nan(x, z), keras.backend.mean(x, axis=1),
    ]  # fmt: skip
    model = keras.Model([x, z, image], outputs)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(2, *symbol.shape[1:])).astype("float32") for symbol in (x, z, image)]
    (folder / "functions.json").write_text(model.to_json())
    recorded = {f"output_{index}": value.numpy() for index, value in enumerate(model(values))}
    np.savez(folder / "functions.npz", x=values[0], z=values[1], image=values[2], **recorded)


def write_before_2_5(source, target):
    """Write a SavedModel as TensorFlow did before 2.5: Keras's description is in its graph."""
    shutil.copytree(source, target)
    described = SavedMetadata.FromString((target / "keras_metadata.pb").read_bytes())
    (target / "keras_metadata.pb").unlink()
    saved = SavedModel()
    nodes = saved.meta_graphs.add().object_graph_def.nodes
    for described_node in described.nodes:
        while len(nodes) <= described_node.node_id:
            nodes.add()
        user_object = nodes[described_node.node_id].user_object
        user_object.identifier = described_node.identifier
        user_object.metadata = described_node.metadata
    (target / "saved_model.pb").write_bytes(saved.SerializeToString())


if __name__ == "__main__":
    main()
