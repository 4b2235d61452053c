"""The names of Keras 3, which `import keras` finds: those of `podium.compat.keras`, which are the
same objects that `tf.keras` and `tf_keras` find; and its own version and backend.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from podium.compat import keras
from podium.compat.keras import backend as backend_of_keras_2
from podium.compat.keras import config as config_of_keras_2

__version__ = "3.15.1"
_OWN_MODULES = ("backend", "config")  # Python imports them when they are not found


def version() -> str:
    """Return the version of Keras 3 whose names `import keras` has.

    Example:
        >>> from podium.compat import keras3
        >>> keras3.version()
        '3.15.1'
    """
    return __version__


def backend() -> str:
    """Return the name of Keras 3's backend: "jax".

    Example:
        >>> from podium.compat import keras, keras3
        >>> keras3.backend.backend(), keras3.config.backend(), keras.backend.backend()
        ('jax', 'jax', 'tensorflow')
    """
    return "jax"


def _names_of(module: ModuleType) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a module that has the names of another one."""

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # for `from keras import *`
            return [each for each in dir(module) if not each.startswith("_")]
        if name.startswith("__") or name in _OWN_MODULES:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        return getattr(module, name)

    return __getattr__, lambda: dir(module)


# The functions that Python calls for names that a module lacks, and for `dir()`.
keras_getattr, keras_dir = _names_of(keras)
backend_getattr, backend_dir = _names_of(backend_of_keras_2)
config_getattr, config_dir = _names_of(config_of_keras_2)
