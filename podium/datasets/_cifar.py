"""What the two CIFAR datasets have in common: 32x32 colour images in pickles inside a tar
archive.
"""

import pathlib

import numpy as np

from podium.core import image_data_format
from podium.datasets._reading import read_pickle
from podium.utils import get_file

Arrays = tuple[np.ndarray, np.ndarray]


def read_batches(name: str, file_hash: str, batches: list[str], label_key: bytes) -> Arrays:
    """Fetch the archive the first time, and join some of its files."""
    origin = f"https://www.cs.toronto.edu/~kriz/{name}.tar.gz"
    folder = pathlib.Path(get_file(f"{name}.tar.gz", origin, file_hash=file_hash, extract=True))
    images, labels = [], []
    for batch in batches:
        (path,) = folder.rglob(batch)
        with open(path, "rb") as file:
            content = read_pickle(file)
        images.append(content[b"data"].reshape(-1, 3, 32, 32))
        labels.append(np.asarray(content[label_key], "uint8").reshape(-1, 1))
    x = np.concatenate(images)
    return (
        x.transpose(0, 2, 3, 1) if image_data_format() == "channels_last" else x
    ), np.concatenate(labels)
