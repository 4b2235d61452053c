"""Resetting the global state of a process, as notebooks do."""

from podium.core import reset_names, run_functions_eagerly, set_dtype_policy


def clear_session(free_memory: bool = True) -> None:
    """Reset automatic names and global settings to their initial state.

    Models and Variables that are still referenced are unchanged; Python frees the others.

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
