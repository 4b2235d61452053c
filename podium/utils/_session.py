"""Starting over in a running process, as notebooks do."""

from podium.core import reset_names, run_functions_eagerly, set_dtype_policy


def clear_session(free_memory: bool = True) -> None:
    """Start over: automatic names count from the beginning and global settings are as at first.

    Models and Variables that are still in use stay as they are; Python frees the others by itself.

    Args:
        free_memory: Accepted for Keras's signature.

    Example:
        >>> podium.utils.clear_session()
        >>> podium.layers.Dense(1).name
        'dense'
    """
    reset_names()
    set_dtype_policy(None)
    run_functions_eagerly(False)
