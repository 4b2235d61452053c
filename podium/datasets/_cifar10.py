"""Small photographs of ten kinds of things: 50,000 to train on and 10,000 to test with."""

from podium.datasets._cifar import Arrays, read_batches

_HASH = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"


def load_data() -> tuple[Arrays, Arrays]:
    """Load the images, fetching them the first time.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 32, 32, 3)`, classes as
        uint8 `(samples, 1)`.

    Example:
        >>> callable(podium.datasets.cifar10.load_data)  # (x_train, y_train), (x_test, y_test) = ...load_data()
        True
    """
    train = read_batches(
        "cifar-10-python", _HASH, [f"data_batch_{i}" for i in range(1, 6)], b"labels"
    )
    return train, read_batches("cifar-10-python", _HASH, ["test_batch"], b"labels")
