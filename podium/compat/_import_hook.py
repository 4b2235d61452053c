"""The import hook that makes `import tensorflow`, `keras` and `tf_keras` import Podium.

It is installed only by `python -m podium` and by `install()`. While it is installed, the real
packages are imported inside of `real_imports()` alone: elsewhere a name that Podium lacks raises an
ImportError. Which module of Podium a path means is in `_module_paths.py`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Iterator, Sequence
from types import ModuleType

from podium.compat._importers import REPLACED, rules
from podium.compat._module_paths import MODULES, canonical_path, make_module
from podium.core.internal import set_tensorflow_mode

_KERAS_3 = "podium.compat.keras3"
# Private modules that importing Keras imports: other libraries use them without an import.
_ALSO_IMPORTED = ("keras.src.utils.tracking",)
_OWN_IN_KERAS_3 = ("", "backend", "config")
_ROOTS = {"keras": "podium.compat.keras", "tensorflow": "podium.compat.tensorflow"}


class PodiumFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `tensorflow`, `keras`, `tf_keras` and their submodules among Podium's modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for a name that Podium replaces; None for all others."""
        if fullname.partition(".")[0] not in REPLACED:
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


class PodiumSubmoduleFinder(PodiumFinder):
    """Finds private modules of Keras in Podium's packages.

    `from tensorflow.keras.utils import tf_utils` asks for `podium.utils.tf_utils`, since
    `tensorflow.keras.utils` is `podium.utils`. It is the last finder: Podium's own modules are
    found before.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for a path in the table of `_module_paths.py`."""
        if not fullname.startswith("podium.") or canonical_path(fullname) not in MODULES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)


def _resolve(fullname: str) -> ModuleType:
    """Return the module of Podium for a dotted name."""
    path = canonical_path(fullname)
    top, _, rest = fullname.partition(".")
    part = rest.removeprefix("src").removeprefix("api").removeprefix(".")
    if top == "keras" and part in _OWN_IN_KERAS_3:
        return importlib.import_module(f"{_KERAS_3}.{part}".rstrip("."))
    if path in MODULES:
        return make_module(fullname, MODULES[path])
    root, *parts = path.split(".")
    module = importlib.import_module(_ROOTS[root])
    for part in parts:
        inner = getattr(module, part, None)  # also of packages that have the names of others
        if not isinstance(inner, ModuleType):
            inner = _import_submodule(module, part, fullname)
        module = inner
    return module


def _import_submodule(package: ModuleType, part: str, fullname: str) -> ModuleType:
    name = f"{package.__name__}.{part}"
    try:
        if name == fullname:  # it is this import itself, of a module that is not in the table
            raise ModuleNotFoundError(name=name)
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"No module named {fullname!r}: Podium replaces this package and has no {part!r} in "
            f"{package.__name__}. Remove the import, import the real package inside of `with "
            "podium.compat.real_imports():`, or run the script without Podium.",
            name=fullname,
        ) from None


_finder = PodiumFinder()
_submodule_finder = PodiumSubmoduleFinder()


def install() -> None:
    """Make `import tensorflow`, `keras` and `tf_keras` import Podium in this process.

    `python -m podium script.py` does this before it runs the script. Tensors and Variables are
    printed as TensorFlow prints them, and a device that this machine does not have is replaced by
    another one, with a warning. `import keras` is Keras 3.15 with the backend "jax"; `tf.keras` and
    `tf_keras` are Keras 2.15; the names in them are the same objects. Installed packages for which
    TensorFlow is optional do not find it: `_importers.py` has the rules, and the environment
    variables that change them.

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
    real = [name for name in REPLACED if name in sys.modules]
    if real:
        raise RuntimeError(
            f"{', '.join(real)} is already imported. Call `podium.compat.install()` before its "
            "first import."
        )
    sys.meta_path.insert(0, _finder)
    sys.meta_path.append(_submodule_finder)
    rules.install()
    set_tensorflow_mode(True)
    for name in _ALSO_IMPORTED:
        importlib.import_module(name)


def uninstall() -> None:
    """Undo `install`: later imports of TensorFlow and Keras import the real packages again.

    Example:
        >>> podium.compat.uninstall()
    """
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    sys.meta_path.remove(_submodule_finder)
    rules.uninstall()
    set_tensorflow_mode(False)
    for name in sorted(sys.modules, key=len, reverse=True):  # modules before their packages
        is_added = name.startswith("podium.") and canonical_path(name) in MODULES
        if name.partition(".")[0] in REPLACED or (is_added and _is_made(sys.modules[name])):
            _forget_module(name)


_real_modules: dict[str, ModuleType] = {}  # that were imported inside of `real_imports`
_real_imports_lock = threading.RLock()


@contextlib.contextmanager
def real_imports() -> Iterator[None]:
    """Let `import tensorflow`, `keras` and `tf_keras` import the real packages in a `with` block,
    if they are installed.

    Under `python -m podium`, it is how a script reaches the real TensorFlow, as to serve a
    SavedModel. Use the packages inside of such blocks alone: they import parts of themselves while
    they run. Other threads import the real packages too while a block is open.

    Example:
        >>> podium.compat.install()
        >>> import tensorflow as tf
        >>> with podium.compat.real_imports():
        ...     pass  # here, `import tensorflow` imports the real package
        >>> import tensorflow
        >>> tensorflow is tf
        True
        >>> podium.compat.uninstall()
    """
    with _real_imports_lock:
        if _finder not in sys.meta_path:
            yield
            return
        position = sys.meta_path.index(_finder)
        sys.meta_path.remove(_finder)
        rules.is_enabled = False
        replaced = _swap_modules(_real_modules)
        try:
            yield
        finally:
            _real_modules.update(_swap_modules(replaced))
            sys.meta_path.insert(position, _finder)
            rules.is_enabled = True


def _swap_modules(modules: dict[str, ModuleType]) -> dict[str, ModuleType]:
    """Replace the modules of all replaced packages by other ones; return the former."""
    names = [name for name in sys.modules if name.partition(".")[0] in REPLACED]
    former = {name: sys.modules.pop(name) for name in names}
    sys.modules.update(modules)
    return former


def _is_made(module: ModuleType) -> bool:
    """Return whether `make_module` made a module, which has no file."""
    return not hasattr(module, "__file__")


def _forget_module(name: str) -> None:
    """Remove a module from `sys.modules`, and, if it was made, from its package."""
    module = sys.modules.pop(name)
    package, _, part = name.rpartition(".")
    if package in sys.modules and _is_made(module):
        vars(sys.modules[package]).pop(part, None)
