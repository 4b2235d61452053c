"""The import finder that answers `import tensorflow`, `import keras` and `import tf_keras` with
Podium.

It is installed only by `python -m podium` and by `install()`. While it is, the real packages are
never imported: a name that Podium lacks is an ImportError that says so.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_KERAS = "podium.compat.keras"
# Dotted names as scripts write them, the longest first, and the module that stands for each.
_STANDS_FOR = {
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
    """Finds `tensorflow`, `keras`, `tf_keras` and everything below them among Podium's modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Claim a name that Podium stands for; leave all others to the finders behind."""
        if fullname.partition(".")[0] not in ("tensorflow", "keras", "tf_keras"):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Let Python make an empty module, which `exec_module` replaces: the real one keeps its own
        spec.
        """
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put Podium's module in the place of the empty one."""
        sys.modules[module.__name__] = _resolve(module.__name__)


def _resolve(fullname: str) -> ModuleType:
    """Return the module of Podium that stands for a dotted name."""
    known = next(
        name for name in _STANDS_FOR if fullname == name or fullname.startswith(f"{name}.")
    )
    found: Any = importlib.import_module(_STANDS_FOR[known])
    for part in fullname[len(known) :].split(".")[1:]:
        inner = vars(found).get(part)
        if not isinstance(inner, ModuleType):
            inner = _below(found, part, fullname)
        found = inner
    return found


def _below(found: ModuleType, part: str, fullname: str) -> ModuleType:
    name = f"{found.__name__}.{part}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"No module named {fullname!r}: Podium stands for this package and has no {part!r} in "
            f"{found.__name__}. The real package is never imported; leave the import out, or run "
            "the script without Podium.",
            name=fullname,
        ) from None


_finder = PodiumFinder()


def install() -> None:
    """Make `import tensorflow`, `import keras` and `import tf_keras` mean Podium, from now on in
    this process.

    `python -m podium script.py` does this before it runs the script.

    Raises:
        RuntimeError: One of the real packages has been imported already.

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
            f"{', '.join(real)} is imported already. Call `podium.compat.install()` before the "
            "first import of it."
        )
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Undo `install`: later imports of TensorFlow and Keras mean the real ones again.

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
