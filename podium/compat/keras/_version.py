"""The version of Keras whose names these are."""

__version__ = "2.15.0"


def version() -> str:
    """Return the version of Keras whose names these are.

    Example:
        >>> from podium.compat import keras
        >>> keras.version()
        '2.15.0'
    """
    return __version__
