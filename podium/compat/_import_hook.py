"""The import hook that makes `import tensorflow`, `keras` and `tf_keras` import Podium.

It is installed only by `python -m podium` and by `install()`. While it is installed, the real
packages are never imported: a name that Podium lacks raises an ImportError.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

_KERAS = "podium.compat.keras"
# Dotted names in scripts, the longest first, and Podium's module for each.
_MODULES = {
    "tensorflow.python.keras": _KERAS,
    "tensorflow.keras": _KERAS,
    "tensorflow.python": "podium.compat.tensorflow",
    "tensorflow": "podium.compat.tensorflow",
    "tf_keras": _KERAS,
    "keras.src": _KERAS,
    "keras.api": _KERAS,
    "keras": _KERAS,
}


class PodiumFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `tensorflow`, `keras`, `tf_keras` and their submodules among Podium's modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for a name that Podium replaces; None for all others."""
        if fullname.partition(".")[0] not in ("tensorflow", "keras", "tf_keras"):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Return None: Python creates an empty module, which `exec_module` replaces.

        So the real module keeps its own spec.
        """
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module by Podium's module."""
        sys.modules[module.__name__] = _resolve(module.__name__)


def _resolve(fullname: str) -> ModuleType:
    """Return the module of Podium for a dotted name."""
    prefix = next(name for name in _MODULES if fullname == name or fullname.startswith(f"{name}."))
    module = importlib.import_module(_MODULES[prefix])
    for part in fullname[len(prefix) :].split(".")[1:]:
        inner = vars(module).get(part)
        if not isinstance(inner, ModuleType):
            inner = _import_submodule(module, part, fullname)
        module = inner
    return module


def _import_submodule(package: ModuleType, part: str, fullname: str) -> ModuleType:
    name = f"{package.__name__}.{part}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"No module named {fullname!r}: Podium replaces this package and has no {part!r} in "
            f"{package.__name__}. The real package is never imported; remove the import, or run "
            "the script without Podium.",
            name=fullname,
        ) from None


_finder = PodiumFinder()


def install() -> None:
    """Make `import tensorflow`, `keras` and `tf_keras` import Podium in this process.

    `python -m podium script.py` does this before it runs the script.

    Raises:
        RuntimeError: One of the real packages is already imported.

    Example:
        >>> podium.compat.install()
        >>> import tensorflow as tf
        >>> from tensorflow.keras import layers
        >>> layers.Dense is podium.layers.Dense
        True
        >>> podium.compat.uninstall()
    """
    if _finder in sys.meta_path:
        return
    real = [name for name in ("tensorflow", "keras", "tf_keras") if name in sys.modules]
    if real:
        raise RuntimeError(
            f"{', '.join(real)} is already imported. Call `podium.compat.install()` before its "
            "first import."
        )
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Undo `install`: later imports of TensorFlow and Keras import the real packages again.

    Example:
        >>> podium.compat.uninstall()
    """
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    for name in [
        name
        for name in sys.modules
        if name.partition(".")[0] in ("tensorflow", "keras", "tf_keras")
    ]:
        del sys.modules[name]
