"""Checkpoints as TensorFlow writes them, and their values: `make oracle-record` runs it.

    python tests/oracle/record_tensorflow_checkpoints.py --out tests/oracle/fixtures

`names` is by TensorFlow 1's Saver, with a partitioned variable and every dtype; `shards` has two
data files.
"""

import argparse
import pathlib
import shutil

import numpy as np
import tensorflow as tf

DTYPES = [
    "float32",
    "float64",
    "int32",
    "uint8",
    "int16",
    "int8",
    "complex64",
    "int64",
    "bool",
    "bfloat16",
    "uint16",
    "complex128",
    "float16",
    "uint32",
    "uint64",
]


def record_names(folder):
    v1, rng, values = tf.compat.v1, np.random.default_rng(0), {}
    with tf.Graph().as_default(), v1.Session() as session:
        for dtype in DTYPES:
            value = tf.cast(rng.uniform(0, 5, (2, 3)).astype("float32"), dtype).eval()
            values[f"all/{dtype}"] = value.astype("float32") if dtype == "bfloat16" else value
            v1.get_variable(f"all/{dtype}", initializer=tf.constant(value, dtype))
        values["scalar"], values["empty"] = np.float32(2.5), np.zeros((0, 3), "float32")
        for name in ("scalar", "empty"):
            v1.get_variable(name, initializer=values[name])
        v1.get_variable("words", initializer=tf.constant([b"", b"a", b"b" * 200]))
        partitioned = {
            name: v1.get_variable(
                name,
                shape,
                initializer=tf.random_normal_initializer(seed=1),
                partitioner=v1.fixed_size_partitioner(2, axis),
            )
            for name, shape, axis in (("rows", (5, 3), 0), ("columns", (2, 200), 1))
        }
        session.run(v1.global_variables_initializer())
        values |= {name: session.run(v.as_tensor()) for name, v in partitioned.items()}
        v1.train.Saver().save(session, str(folder / "names"), write_meta_graph=False)
    np.savez(folder / "names.npz", **values)


def record_shards(folder):
    values = {name: np.arange(4, dtype="float32") + index for index, name in enumerate("ab")}
    parts = [str(folder / f"part-{name}") for name in values]
    for part, (name, value) in zip(parts, values.items(), strict=True):
        tf.raw_ops.SaveV2(
            prefix=part, tensor_names=[name], shape_and_slices=[""], tensors=[tf.constant(value)]
        )
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=parts, destination_prefix=str(folder / "shards")
    )
    np.savez(folder / "shards.npz", **values)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    folder = parser.parse_args().out / "tensorflow_checkpoints"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    record_names(folder)
    record_shards(folder)


if __name__ == "__main__":
    main()
