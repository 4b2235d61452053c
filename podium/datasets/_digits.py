"""Handwritten digits that come with scikit-learn: 1,797 images, 8x8 grey. Nothing is fetched."""

import numpy as np

from podium.datasets._tables import Arrays, check_test_split, split


def load_data(test_split: float = 0.2, seed: int = 113) -> tuple[Arrays, Arrays]:
    """Load the digits from scikit-learn's own files: a small MNIST that needs no connection.

    The images are mixed with the seed; the first 1,437 are for training and the other 360 for
    testing.

    Args:
        test_split: Fraction of the images to test with.
        seed: Fixes the order before the split.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 8, 8)` from 0 to 255
        (scikit-learn's 0 to 16, stretched), digits as uint8.

    Raises:
        ImportError: scikit-learn is missing.

    Example:
        >>> (x_train, y_train), (x_test, y_test) = podium.datasets.digits.load_data()
        >>> x_train.shape, x_test.shape, x_train.dtype, int(x_train.max())
        ((1437, 8, 8), (360, 8, 8), dtype('uint8'), 255)
    """
    check_test_split(test_split)
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(
            "datasets.digits reads the images that come with scikit-learn. Install it with `pip "
            "install scikit-learn`."
        ) from error
    found = load_digits()
    images = np.round(found.images * (255 / 16)).astype("uint8")
    return split(images, found.target.astype("uint8"), test_split, seed)
