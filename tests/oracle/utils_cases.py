"""The cases of `record_utils.py`, and the arrays and folders that both sides make of them. NumPy
only.
"""

import pathlib

import numpy as np

PADS = [
    {"sequences": [[1], [2, 3], [4, 5, 6]]},
    {"sequences": [[1], [2, 3], [4, 5, 6]], "padding": "post", "value": -1},
    {"sequences": [[1], [2, 3], [4, 5, 6]], "maxlen": 2},
    {"sequences": [[1], [2, 3], [4, 5, 6]], "maxlen": 2, "truncating": "post", "padding": "post"},
    {"sequences": [[], [1.7, 2.2], []], "maxlen": 4},
    {"sequences": [[1.5], [2.5, 3.5]], "dtype": "float32", "value": 0.25},
    {"sequences": [[[1, 2]], [[3, 4], [5, 6]]], "padding": "post"},
    {"sequences": [["a"], ["bc", "d"]], "dtype": "object", "value": "pad"},
    {"sequences": [["a"], ["bc", "d"]], "dtype": "<U3", "value": "pad", "maxlen": 1},
]
CATEGORICAL = [
    ([0, 1, 2, 3], 4),
    ([0, 2], None),
    ([[0], [1]], 3),
    ([[0, 1], [2, 0]], None),
    ([[[1]], [[0]]], 2),
    (2, 4),
    ([1.0, 0.0], 0),
    ([[1]], None),
]
NORMALIZE = [
    ([[3.0, 4.0], [0.0, 0.0], [1.0, 1.0]], -1, 2),
    ([[3.0, 4.0], [0.0, 0.0], [1.0, 1.0]], 1, 1),
    ([[3.0, 4.0], [0.0, 2.0], [1.0, 1.0]], 0, 2),
    ([3.0, 4.0], -1, 2),
    ([[[1.0, 2.0], [3.0, 4.0]]], 1, 3),
    ([[3, 4], [6, 8]], -1, 2),
]
TIMESERIES = [
    {"steps": 10, "targets": None, "sequence_length": 3, "batch_size": 4},
    {"steps": 10, "targets": 10, "sequence_length": 3, "batch_size": 4},
    {"steps": 10, "targets": 5, "sequence_length": 3, "batch_size": None},
    {
        "steps": 20,
        "targets": 20,
        "sequence_length": 3,
        "sequence_stride": 2,
        "sampling_rate": 3,
        "batch_size": 3,
    },
    {
        "steps": 20,
        "targets": 20,
        "sequence_length": 4,
        "start_index": 3,
        "end_index": 15,
        "batch_size": 5,
    },
    {
        "steps": 20,
        "targets": 20,
        "sequence_length": 2,
        "sequence_stride": 5,
        "start_index": 2,
        "batch_size": 128,
    },
    {"steps": 9, "targets": None, "sequence_length": 9, "batch_size": 2},
]
SPLITS = [
    (10, {"left_size": 0.8}),
    (10, {"left_size": 3}),
    (10, {"right_size": 0.25}),
    (10, {"right_size": 4}),
    (10, {"left_size": 0.3, "right_size": 0.3}),
    (11, {"left_size": 2, "right_size": 0.5}),
    (7, {"left_size": 0.5}),
    (12, {"left_size": 5, "shuffle": True, "seed": 7}),
    (30, {"left_size": 0.9, "right_size": 2, "shuffle": True, "seed": 1337}),
]
TREE = [
    "b/1.png",
    "b/10.png",
    "b/2.PNG",
    "b/deep/3.png",
    "b/note.md",
    "a-b/x.png",
    "a/x.png",
    "a/y.png",
    "c/z.png",
    ".d/w.png",
]
FOLDERS = {
    "sorted": {"shuffle": False},
    "chosen": {"shuffle": False, "class_names": ["c", "a"]},
    "mixed": {"seed": 3},
    "training": {"seed": 3, "validation_split": 0.3, "subset": "training"},
    "validation": {"seed": 3, "validation_split": 0.3, "subset": "validation"},
    "last": {"shuffle": False, "validation_split": 0.3, "subset": "validation"},
    "no labels": {"shuffle": False, "labels": None},
    "no label mode": {"shuffle": False, "label_mode": None},
    "categorical": {"shuffle": False, "label_mode": "categorical"},
    "binary": {"shuffle": False, "label_mode": "binary", "class_names": ["b", "a"]},
    "listed": {"shuffle": False, "labels": [0, 1, 1, 0, 2, 2, 0, 1, 0]},
}
INTERPOLATIONS = (
    "bilinear",
    "nearest",
    "bicubic",
    "area",
    "lanczos3",
    "lanczos5",
    "gaussian",
    "mitchellcubic",
)
SIZES = ((4, 5), (11, 13), (9, 7), (6, 14))


def image(name):
    """Return one of the images that are read from files."""
    randint = np.random.RandomState(0).randint
    return {
        "rgb": randint(0, 256, (9, 7, 3)).astype("uint8"),
        "rgba": randint(0, 256, (5, 6, 4)).astype("uint8"),
        "grey": randint(0, 256, (5, 6, 1)).astype("uint8"),
        "deep": randint(0, 65536, (5, 6, 1)).astype("uint16"),
    }[name]


def series(case):
    """Return the data and targets of a case of TIMESERIES, and the other arguments."""
    options = dict(case)
    steps, targets = options.pop("steps"), options.pop("targets")
    data = np.stack([np.arange(steps), -np.arange(steps)], 1).astype("float32")
    return data, None if targets is None else np.arange(100, 100 + targets), options


def make_tree(root, content):
    """Write the files of TREE."""
    for name in TREE:
        path = pathlib.Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
