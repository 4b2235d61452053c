"""Who finds Podium as TensorFlow and Keras while the import hook is installed.

Programs do, and packages that are made for TensorFlow or Keras. Other installed packages, for which
TensorFlow is one library of several (TensorBoard, MLflow, Datasets, Transformers ...), do not: they
would call what only the real one has. In this order:

1. The environment variables `PODIUM_TENSORFLOW_VISIBLE_TO` and `PODIUM_TENSORFLOW_HIDDEN_FROM` name
   packages, separated by commas.
2. Code that is not in a directory of installed packages finds Podium.
3. A package finds Podium whose distribution requires TensorFlow, Keras or a package whose name
   begins with theirs, other than as an extra; and one whose own name begins so (`keras_hub`).
4. A module finds Podium whose path has a part "keras", "tensorflow" or "tf_keras"
   (`mlflow.keras.callback`).
5. All others do not.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import re
import site
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any

REPLACED = ("tensorflow", "keras", "tf_keras")
VISIBLE_VARIABLE = "PODIUM_TENSORFLOW_VISIBLE_TO"
HIDDEN_VARIABLE = "PODIUM_TENSORFLOW_HIDDEN_FROM"
_MADE_FOR = re.compile(r"(tensorflow|keras|tf[-_])", re.IGNORECASE)
_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")
_MACHINERY = ("importlib", "runpy", "pkgutil", __name__)  # imports on behalf of its caller


class ImporterRules:
    """Makes `import`, `importlib.import_module` and `importlib.util.find_spec` refuse the replaced
    packages to importers that are not to find Podium.

    Python keeps imported modules by name alone, so each import statement has to be seen.
    """

    def __init__(self) -> None:
        self.is_enabled = False
        self._import = builtins.__import__
        self._import_module = importlib.import_module
        self._find_spec = importlib.util.find_spec

    def install(self) -> None:
        """Begin to apply the rules."""
        self.is_enabled = True
        builtins.__import__ = self._on_import
        importlib.import_module = self._on_import_module
        importlib.util.find_spec = self._on_find_spec

    def uninstall(self) -> None:
        """Put Python's own functions back."""
        self.is_enabled = False
        builtins.__import__ = self._import
        importlib.import_module = self._import_module
        importlib.util.find_spec = self._find_spec

    def _on_import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level == 0 and self._is_hidden(name, globals):
            raise _not_found(name, globals)
        return self._import(name, globals, locals, fromlist or (), level)

    def _on_import_module(self, name: str, package: str | None = None) -> ModuleType:
        caller = _caller(sys._getframe(1))
        if self._is_hidden(name, caller):
            raise _not_found(name, caller)
        return self._import_module(name, package)

    def _on_find_spec(self, name: str, package: str | None = None) -> Any:
        if self._is_hidden(name, _caller(sys._getframe(1))):
            return None
        return self._find_spec(name, package)

    def _is_hidden(self, name: str, importer: Mapping[str, object] | None) -> bool:
        is_replaced = name.partition(".")[0] in REPLACED
        return is_replaced and self.is_enabled and not finds_podium(importer or {})


def finds_podium(importer: Mapping[str, object]) -> bool:
    """Return whether a module finds Podium as TensorFlow and Keras.

    Args:
        importer: The global names of the module that imports.
    """
    name, file = str(importer.get("__name__", "")), str(importer.get("__file__", ""))
    top = name.partition(".")[0]
    if top in _packages_in(VISIBLE_VARIABLE):
        return True
    if top in _packages_in(HIDDEN_VARIABLE):
        return False
    if top == "podium" or not file.startswith(_installed_directories()):
        return True
    return not set(name.split(".")).isdisjoint(REPLACED) or _is_made_for_keras(top)


def _packages_in(variable: str) -> set[str]:
    return {name.strip() for name in os.environ.get(variable, "").split(",")} - {""}


@functools.cache
def _installed_directories() -> tuple[str, ...]:
    """Return the directories of installed packages, with a separator at the end."""
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    folders.update(site.getsitepackages())
    folders.add(site.getusersitepackages())
    return tuple(os.path.join(folder, "") for folder in folders)


@functools.cache
def _is_made_for_keras(package: str) -> bool:
    """Return whether an installed package requires TensorFlow or Keras, or has a name like them."""
    if _MADE_FOR.match(package):
        return True
    for distribution in importlib.metadata.packages_distributions().get(package, ()):
        for line in importlib.metadata.requires(distribution) or ():
            required = _REQUIREMENT.match(line)
            if required is not None and _MADE_FOR.match(required[0]) and "extra ==" not in line:
                return True
    return False


def _caller(frame: FrameType | None) -> Mapping[str, object]:
    """Return the global names of the code that asks for a module."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in _MACHINERY and name != __name__:
            return frame.f_globals
        frame = frame.f_back
    return {}


def _not_found(name: str, importer: Mapping[str, object] | None) -> ModuleNotFoundError:
    package = str((importer or {}).get("__name__", "")).partition(".")[0]
    return ModuleNotFoundError(
        f"No module named {name!r}: Podium, which replaces it in this process, does not show it to "
        f"{package!r}, for which it is optional. Set {VISIBLE_VARIABLE}={package} to show it.",
        name=name,
    )


rules = ImporterRules()


def hide_frames(error: BaseException | None, hidden: Callable[[str], bool]) -> None:
    """Remove the frames of some files from the traceback of an error and of its causes.

    Args:
        error: The error.
        hidden: Called with the path of a file; returns whether its frames are removed.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = error.__traceback__
        while frames is not None and frames.tb_next is not None:
            if hidden(frames.tb_next.tb_frame.f_code.co_filename):
                frames.tb_next = frames.tb_next.tb_next
            else:
                frames = frames.tb_next
        error = error.__cause__ or error.__context__
