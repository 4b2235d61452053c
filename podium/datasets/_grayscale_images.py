"""Grayscale images of ten classes: `mnist`, `fashion_mnist` and `digits`."""

import gzip
from typing import Any

import numpy as np

from podium.datasets._loading import ORIGIN, Arrays, check_test_split, shuffle_and_split
from podium.utils import get_file

_MNIST_HASH = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"


def load_mnist(path: str = "mnist.npz") -> tuple[Arrays, Arrays]:
    """Load handwritten digits of 28x28 pixels: 60,000 for training and 10,000 for testing.

    The file is downloaded the first time.

    Args:
        path: File name in the cache, `~/.keras/datasets`.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 28, 28)`, digits as
        uint8.

    Example:
        >>> load_data = podium.datasets.mnist.load_data
        >>> callable(load_data)  # (x_train, y_train), (x_test, y_test) = load_data()
        True
    """
    with np.load(
        get_file(path, f"{ORIGIN}mnist.npz", file_hash=_MNIST_HASH), allow_pickle=False
    ) as arrays:
        return (arrays["x_train"], arrays["y_train"]), (arrays["x_test"], arrays["y_test"])


def load_fashion_mnist() -> tuple[Arrays, Arrays]:
    """Load images of clothing of 28x28 pixels: 60,000 for training and 10,000 for testing.

    The files are downloaded the first time.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 28, 28)`, classes as
        uint8.

    Example:
        >>> load_data = podium.datasets.fashion_mnist.load_data
        >>> callable(load_data)  # (x_train, y_train), (x_test, y_test) = load_data()
        True
    """
    return _read_fashion_mnist("train"), _read_fashion_mnist("t10k")


def _read_fashion_mnist(part: str) -> Arrays:
    labels = _read_idx(f"{part}-labels-idx1-ubyte.gz", offset=8)
    images = _read_idx(f"{part}-images-idx3-ubyte.gz", offset=16)
    return images.reshape(len(labels), 28, 28), labels


def _read_idx(name: str, offset: int) -> np.ndarray[Any, Any]:
    with gzip.open(get_file(name, ORIGIN + name, cache_subdir="datasets/fashion-mnist")) as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


def load_digits(test_split: float = 0.2, seed: int = 113) -> tuple[Arrays, Arrays]:
    """Load scikit-learn's handwritten digits of 8x8 pixels: a small MNIST without a download.

    The images are shuffled; by default 1,437 are for training and the other 360 for testing.

    Args:
        test_split: Fraction of the images for testing.
        seed: Seed of the order before the split.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 8, 8)` from 0 to 255
        (scaled from scikit-learn's 0 to 16), digits as uint8.

    Raises:
        ImportError: scikit-learn is not installed.

    Example:
        >>> (x_train, y_train), (x_test, y_test) = podium.datasets.digits.load_data()
        >>> x_train.shape, x_test.shape, x_train.dtype, int(x_train.max())
        ((1437, 8, 8), (360, 8, 8), dtype('uint8'), 255)
    """
    check_test_split(test_split)
    try:
        from sklearn import datasets
    except ImportError as error:
        raise ImportError(
            "datasets.digits reads the images that scikit-learn contains. Install it with `pip "
            "install scikit-learn`."
        ) from error
    digits = datasets.load_digits()
    images = np.round(digits.images * (255 / 16)).astype("uint8")
    return shuffle_and_split(images, digits.target.astype("uint8"), test_split, seed)
