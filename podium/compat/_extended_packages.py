"""Packages of `keras` that have all names of one of Podium's packages, and some of Keras 2 besides.

Such a package defines the names of Keras 2 itself. Python calls its `__getattr__` and `__dir__`,
which are made here, for all others. So `tf.keras.utils.get_file` is `podium.utils.get_file`, and
Podium's own packages have none of the old names.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from podium import callbacks, constraints, layers, models, optimizers, utils


def extend(
    package: ModuleType, own_names: str, submodules: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package that has the names of another one.

    Args:
        package: The package of Podium.
        own_names: The names that the new package defines, for `dir()`.
        submodules: The packages inside of the new one, which Python imports if it lacks them.
    """
    shown_name = package.__name__.replace("podium", "keras", 1)
    own = own_names.split()

    def __getattr__(name: str) -> Any:
        if name.startswith("_") or name in submodules.split():
            raise AttributeError(f"module {shown_name!r} has no attribute {name!r}")
        try:
            return getattr(package, name)
        except AttributeError:
            close = difflib.get_close_matches(name, [*dir(package), *own], n=3, cutoff=0.6)
            nearest = ", ".join(f"{shown_name}.{match}" for match in close)
            hint = f" Nearest: {nearest}." if close else ""
            raise AttributeError(
                f"module {shown_name!r} of Podium has no attribute {name!r}.{hint}"
            ) from None

    return __getattr__, lambda: sorted({*dir(package), *own})


utils_getattr, utils_dir = extend(
    utils,
    "GeneratorEnqueuer OrderedEnqueuer SequenceEnqueuer load_img to_ordinal "
    "warmstart_embedding_matrix",
)
layers_getattr, layers_dir = extend(
    layers,
    "AbstractRNNCell LocallyConnected1D LocallyConnected2D ThresholdedReLU experimental",
    "experimental",
)
constraints_getattr, constraints_dir = extend(constraints, "RadialConstraint radial_constraint")
optimizers_getattr, optimizers_dir = extend(optimizers, "experimental", "experimental")
callbacks_getattr, callbacks_dir = extend(callbacks, "experimental", "experimental")
models_getattr, models_dir = extend(models, "model_from_config model_from_yaml")
