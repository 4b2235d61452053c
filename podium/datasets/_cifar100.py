"""Small photographs of a hundred kinds of things: 50,000 to train on and 10,000 to test with."""

from podium.core import check_choice
from podium.datasets._cifar import Arrays, read_batches

_HASH = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"


def load_data(label_mode: str = "fine") -> tuple[Arrays, Arrays]:
    """Load the images, fetching them the first time.

    Args:
        label_mode: "fine" for the hundred kinds, "coarse" for the twenty groups they belong to.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 32, 32, 3)`, classes as
        uint8 `(samples, 1)`.

    Example:
        >>> podium.datasets.cifar100.load_data("rough")
        Traceback (most recent call last):
        ValueError: Unknown label_mode 'rough'. Choices: 'coarse', 'fine'.
    """
    key = f"{check_choice('label_mode', label_mode, ('fine', 'coarse'))}_labels".encode()
    train = read_batches("cifar-100-python", _HASH, ["train"], key)
    return train, read_batches("cifar-100-python", _HASH, ["test"], key)
