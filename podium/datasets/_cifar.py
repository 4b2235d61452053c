"""Color images of 32x32 pixels: `cifar10` and `cifar100`."""

import pathlib

import numpy as np

from podium.core import check_choice, image_data_format
from podium.datasets._loading import Arrays, read_pickle
from podium.utils import get_file

_CIFAR10_HASH = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"
_CIFAR100_HASH = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"


def load_cifar10() -> tuple[Arrays, Arrays]:
    """Load photographs of ten classes: 50,000 for training and 10,000 for testing.

    The files are downloaded the first time.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 32, 32, 3)`, classes as
        uint8 `(samples, 1)`.

    Example:
        >>> load_data = podium.datasets.cifar10.load_data
        >>> callable(load_data)  # (x_train, y_train), (x_test, y_test) = load_data()
        True
    """
    train_files = [f"data_batch_{i}" for i in range(1, 6)]
    train = _read_batches("cifar-10-python", _CIFAR10_HASH, train_files, b"labels")
    return train, _read_batches("cifar-10-python", _CIFAR10_HASH, ["test_batch"], b"labels")


def load_cifar100(label_mode: str = "fine") -> tuple[Arrays, Arrays]:
    """Load photographs of a hundred classes: 50,000 for training and 10,000 for testing.

    The files are downloaded the first time.

    Args:
        label_mode: "fine" for the hundred classes, "coarse" for their twenty superclasses.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 32, 32, 3)`, classes as
        uint8 `(samples, 1)`.

    Example:
        >>> podium.datasets.cifar100.load_data("rough")
        Traceback (most recent call last):
        ValueError: Unknown label_mode 'rough'. Choices: 'coarse', 'fine'.
    """
    key = f"{check_choice('label_mode', label_mode, ('fine', 'coarse'))}_labels".encode()
    train = _read_batches("cifar-100-python", _CIFAR100_HASH, ["train"], key)
    return train, _read_batches("cifar-100-python", _CIFAR100_HASH, ["test"], key)


def _read_batches(name: str, file_hash: str, file_names: list[str], label_key: bytes) -> Arrays:
    """Download the archive the first time, and concatenate some of its pickled batches."""
    origin = f"https://www.cs.toronto.edu/~kriz/{name}.tar.gz"
    directory = pathlib.Path(get_file(f"{name}.tar.gz", origin, file_hash=file_hash, extract=True))
    images, labels = [], []
    for file_name in file_names:
        (path,) = directory.rglob(file_name)
        with open(path, "rb") as file:
            batch = read_pickle(file)
        images.append(batch[b"data"].reshape(-1, 3, 32, 32))
        labels.append(np.asarray(batch[label_key], "uint8").reshape(-1, 1))
    x = np.concatenate(images)
    if image_data_format() == "channels_last":
        x = x.transpose(0, 2, 3, 1)
    return x, np.concatenate(labels)
