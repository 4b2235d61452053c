"""TensorFlow checkpoints that are damaged or forged: `make soak-checkpoints`.

    python tests/reliability/mutate_checkpoints.py --count 500

Each is loaded into a model. It must be rejected with an error that names it, or the model must have
the weights that were saved; in bounded memory and time. Forged ones have correct checksums.
"""

import argparse
import collections
import pathlib
import shutil
import sys
import tempfile
import time
import tracemalloc
import warnings

import numpy as np

import podium
from podium.saving.tensorflow_files._bundle_entry import encode_entry, encode_header, parse_entry
from podium.saving.tensorflow_files._object_graph import (
    GRAPH_KEY,
    encode_object_graph,
    parse_object_graph,
)
from podium.saving.tensorflow_files._sorted_string_table import encode_table, read_table
from podium.saving.tensorflow_files._tensor_bundle import TensorBundle
from podium.saving.tensorflow_files._tensor_bundle_writer import write_bundle
from podium.saving.tensorflow_files._wire_format import encode_bytes, encode_int

MAX_BYTES = 32 << 20
MAX_SECONDS = 5.0
HUGE = (1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1, (1 << 64) - 1)


def make_model():
    L = podium.layers
    layers = [podium.Input((3,)), L.Dense(8), L.BatchNormalization(), L.Dense(2)]
    model = podium.Sequential(layers)
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    return model


def files_of(prefix):
    return [prefix.with_name(prefix.name + end) for end in (".index", ".data-00000-of-00001")]


# --- damage


def flip_bit(prefix, rng):
    path = files_of(prefix)[rng.integers(2)]
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    path.write_bytes(content)


def truncate(prefix, rng):
    path = files_of(prefix)[rng.integers(2)]
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(len(content))])


def overwrite_bytes(prefix, rng):
    path = files_of(prefix)[rng.integers(2)]
    content = bytearray(path.read_bytes())
    start = int(rng.integers(len(content)))
    content[start : start + 16] = rng.bytes(min(16, len(content) - start))
    path.write_bytes(content)


def append_bytes(prefix, rng):
    path = files_of(prefix)[rng.integers(2)]
    path.write_bytes(path.read_bytes() + rng.bytes(int(rng.integers(1, 100))))


def delete_file(prefix, rng):
    files_of(prefix)[1].unlink()


# --- forgery, with correct checksums


def forge_index(prefix, change):
    index = files_of(prefix)[0]
    items = list(read_table(index.read_bytes()))
    index.write_bytes(encode_table(change(items)))


def forge_entry(prefix, rng, **changes):
    def change(items):
        place = int(rng.integers(1, len(items)))
        key, content = items[place]
        entry = parse_entry(key.decode(), content)
        items[place] = key, encode_entry(entry._replace(**changes))
        return items

    forge_index(prefix, change)


def huge_shape(prefix, rng):
    sizes = tuple(int(size) for size in rng.choice(HUGE[:3], int(rng.integers(1, 4))))
    forge_entry(prefix, rng, shape=sizes)


def huge_size(prefix, rng):
    forge_entry(prefix, rng, size=HUGE[rng.integers(len(HUGE))])


def fitting_huge_shape(prefix, rng):
    forge_entry(prefix, rng, shape=(1 << 40,), size=4 << 40, dtype="float32")


def far_offset(prefix, rng):
    forge_entry(prefix, rng, offset=HUGE[rng.integers(len(HUGE))])


def shifted_offset(prefix, rng):
    forge_entry(prefix, rng, offset=int(rng.integers(1, 64)) * 4)


def other_shard(prefix, rng):
    forge_entry(prefix, rng, shard=int(rng.integers(1, 1 << 40)))


def other_dtype(prefix, rng):
    forge_entry(prefix, rng, dtype=str(rng.choice(["float64", "int32", "string", "bool"])))


def negative_shape(prefix, rng):
    forge_entry(prefix, rng, shape=(-1, int(rng.integers(-9, 9))))


def many_dimensions(prefix, rng):
    forge_entry(prefix, rng, shape=(1,) * int(rng.integers(33, 10_000)))


def duplicate_key(prefix, rng):
    def change(items):
        place = int(rng.integers(1, len(items)))
        return [*items[:place], items[place], *items[place:]]

    forge_index(prefix, change)


def unsorted_keys(prefix, rng):
    forge_index(prefix, lambda items: [items[0], *reversed(items[1:])])


def drop_entry(prefix, rng):
    def change(items):
        del items[int(rng.integers(len(items)))]
        return items

    forge_index(prefix, change)


def shards_of_other_directories(prefix, rng):
    def change(items):
        name = b"../" * int(rng.integers(1, 5)) + b"w"
        return [items[0], (name, items[1][1]), *items[2:]]

    forge_index(prefix, change)


def number_of_shards(prefix, rng):
    count = int(rng.choice([0, 2, 99_999, 100_000, 1 << 40]))
    forge_index(prefix, lambda items: [(b"", encode_header(count)), *items[1:]])


def garbage_entry(prefix, rng):
    def change(items):
        place = int(rng.integers(len(items)))
        items[place] = items[place][0], rng.bytes(int(rng.integers(40)))
        return items

    forge_index(prefix, change)


def forge_graph(prefix, change):
    bundle = TensorBundle(str(prefix))
    (graph,) = bundle.read_strings(GRAPH_KEY)
    tensors = {name: bundle.read(name) for name in bundle.tensors if name != GRAPH_KEY}
    write_bundle("forge", str(prefix), tensors | {GRAPH_KEY: change(graph)})


def absent_node(prefix, rng):
    def change(graph):
        nodes = parse_object_graph(graph)
        node = nodes[int(rng.integers(len(nodes)))]
        node.children["kernel"] = int(rng.choice([len(nodes), 1 << 31, -1]))
        return encode_object_graph(nodes)

    forge_graph(prefix, change)


def absent_tensor(prefix, rng):
    def change(graph):
        nodes = parse_object_graph(graph)
        with_keys = [node for node in nodes if node.keys]
        node = with_keys[int(rng.integers(len(with_keys)))]
        node.keys["VARIABLE_VALUE"] = str(rng.choice(["../w", "nothing", "", GRAPH_KEY]))
        return encode_object_graph(nodes)

    forge_graph(prefix, change)


def cycles(prefix, rng):
    def change(graph):
        nodes = parse_object_graph(graph)
        for node in nodes:
            node.children["again"] = 0
        return encode_object_graph(nodes)

    forge_graph(prefix, change)


def garbage_graph(prefix, rng):
    def change(graph):
        content = bytearray(graph)
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        return bytes(content[: rng.integers(1, len(content))])

    forge_graph(prefix, change)


def deep_graph(prefix, rng):
    forge_graph(prefix, lambda graph: encode_bytes(1, encode_bytes(1, encode_int(1, 1) * 50_000)))


MUTATIONS = [
    flip_bit,
    truncate,
    overwrite_bytes,
    append_bytes,
    delete_file,
    huge_shape,
    huge_size,
    fitting_huge_shape,
    far_offset,
    shifted_offset,
    other_shard,
    other_dtype,
    negative_shape,
    many_dimensions,
    duplicate_key,
    unsorted_keys,
    drop_entry,
    shards_of_other_directories,
    number_of_shards,
    garbage_entry,
    absent_node,
    absent_tensor,
    cycles,
    garbage_graph,
    deep_graph,
]


def run(count, seed=0):
    """Return the number of outcomes by mutation; raise if a value is wrong."""
    outcomes = collections.Counter()
    model = make_model()
    rng = np.random.default_rng(seed)
    model.set_weights([rng.uniform(size=w.shape).astype(w.dtype) for w in model.get_weights()])
    state = [*model.weights, *model.optimizer.variables]
    saved = [variable.numpy() for variable in state]
    with tempfile.TemporaryDirectory() as folder:
        original, prefix = pathlib.Path(folder, "original"), pathlib.Path(folder, "w")
        model.save_weights(original)
        for number in range(count):
            mutate = MUTATIONS[number % len(MUTATIONS)]
            for source, target in zip(files_of(original), files_of(prefix), strict=True):
                shutil.copyfile(source, target)
            mutate(prefix, rng)
            outcome = load(model, state, saved, prefix, mutate.__name__)
            outcomes[mutate.__name__, outcome] += 1
    return outcomes


def load(model, state, saved, prefix, name):
    for variable in state:
        variable.assign(np.zeros(variable.shape, variable.dtype))
    start = time.process_time()
    tracemalloc.start()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.load_weights(prefix)
        outcome = "same"
        if caught:
            assert "The state of optimizer" in str(caught[0].message)
            outcome = "without optimizer"
    except (ValueError, OSError) as error:
        assert "/w" in str(error), f"{name}: the error does not name the file: {error}"
        outcome = "rejected"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    seconds = time.process_time() - start
    assert peak < MAX_BYTES, f"{name}: {peak} bytes"
    assert seconds < MAX_SECONDS, f"{name}: {seconds:.1f} s"
    num_loaded = {"same": len(saved), "without optimizer": len(model.weights), "rejected": 0}
    expected = [
        value if index < num_loaded[outcome] else np.zeros_like(value)
        for index, value in enumerate(saved)
    ]
    for variable, value in zip(state, expected, strict=True):
        assert np.array_equal(variable.numpy(), value), f"{name}: {variable.path} is wrong"
    return outcome


# --- descriptions of models in SavedModels

SAVED_MODEL = pathlib.Path(__file__).parents[1] / "oracle/fixtures/tensorflow_files/operations"


def run_saved_models(count, seed=0):
    """Load a SavedModel whose `keras_metadata.pb` is damaged; return the number of outcomes.

    It has no checksum, so a model with other settings is possible; other weights are not.
    """
    outcomes = collections.Counter()
    rng = np.random.default_rng(seed)
    expected = podium.models.load_model(SAVED_MODEL, compile=False).get_weights()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(shutil.copytree(SAVED_MODEL, pathlib.Path(folder, "w")))
        for _ in range(count):
            content = bytearray((SAVED_MODEL / "keras_metadata.pb").read_bytes())
            place = int(rng.integers(len(content)))
            kind = rng.integers(3)
            if kind == 0:
                content[place] ^= 1 << int(rng.integers(8))
            elif kind == 1:
                del content[place:]
            else:
                content[place : place + 8] = rng.bytes(8)
            (path / "keras_metadata.pb").write_bytes(content)
            outcomes[load_saved_model(path, expected)] += 1
    return outcomes


def load_saved_model(path, expected):
    start = time.process_time()
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weights = podium.models.load_model(path).get_weights()
        assert len(weights) == len(expected)
        assert all(np.array_equal(a, b) for a, b in zip(weights, expected, strict=True))
        outcome = "same"
    except (ValueError, OSError) as error:
        assert "/w" in str(error), f"the error does not name the SavedModel: {error}"
        outcome = "rejected"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MAX_BYTES, f"{peak} bytes"
    seconds = time.process_time() - start
    assert seconds < 4 * MAX_SECONDS, f"{seconds:.1f} s"  # a model is built and compiled
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    outcomes = run(arguments.count, arguments.seed)
    for mutate in MUTATIONS:
        name = mutate.__name__
        counts = [outcomes[name, key] for key in ("rejected", "without optimizer", "same")]
        print(
            "{:28} rejected {:3}   same weights, no optimizer {:3}   same {:3}".format(
                name, *counts
            )
        )
    rejected = sum(n for (_, outcome), n in outcomes.items() if outcome == "rejected")
    print(
        f"{arguments.count} checkpoints: {rejected} rejected, {arguments.count - rejected} with "
        "the same weights, none with others"
    )
    saved = run_saved_models(arguments.count // 2, arguments.seed)
    print(
        f"{arguments.count // 2} SavedModels: {saved['rejected']} rejected, {saved['same']} with "
        "the same weights, none with others"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
