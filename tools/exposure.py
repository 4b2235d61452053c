"""Counts what crosses package borders: private imports, and public functions that no file defines.

python tools/exposure.py      # lists the private imports
"""

from __future__ import annotations

import ast
import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator

from source_tree import Checkout, SourceFile


@dataclasses.dataclass(frozen=True)
class PrivateImport:
    """An import of a private name of another package, such as `podium.core._tape.Tape`."""

    location: str
    name: str


def private_imports(checkout: Checkout) -> list[PrivateImport]:
    """Imports whose dotted name has a part with an underscore below another package.

    `from podium.core._tape import Tape` in `podium/layers` is one, `from podium.core import _tape`
    too. Not counted are imports from `podium.X.internal`, which is there for this, of modules at
    the top level (`podium._typing`), and in `podium/__init__.py`, which is the top level itself.
    Each imported name counts at each place.
    """
    return [
        each for file in checkout.package_files if file.package for each in _private_imports(file)
    ]


def _private_imports(file: SourceFile) -> Iterator[PrivateImport]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            full_names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            full_names = [alias.name for alias in node.names]
        else:
            continue
        for name in full_names:
            if is_private_for(name, file.package):
                yield PrivateImport(f"{file.relative}:{node.lineno}", name)


def is_private_for(name: str, package: str) -> bool:
    """Whether the dotted `name` is private to a package other than `package`."""
    top, *parts = name.split(".")
    if top != "podium" or len(parts) < 2 or parts[0] == package or parts[0].startswith("_"):
        return False
    return "internal" not in parts and any(part.startswith("_") for part in parts[1:])


def count_private_imports(checkout: Checkout) -> int:
    return len(private_imports(checkout))


_COUNT = """
import importlib, inspect, pkgutil, types
import podium
functions = set()
packages = [podium] + [
    importlib.import_module(info.name)
    for info in pkgutil.walk_packages(podium.__path__, "podium.")
    if info.ispkg and "._" not in info.name
]
for package in packages:
    for name, value in vars(package).items():
        code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
        if not name.startswith("_") and code is not None and code.co_filename.startswith("<"):
            functions.add(id(value))
print(len(functions))
"""


def count_without_source(checkout: Checkout) -> int | None:
    """Public functions that `inspect.getsource` cannot show, because `exec` made them.

    The package is imported in a subprocess; None where that fails.
    """
    environment = {**os.environ, "PYTHONPATH": str(checkout.root), "JAX_PLATFORMS": "cpu"}
    result = subprocess.run(
        [sys.executable, "-c", _COUNT],
        cwd=checkout.root,
        env=environment,
        capture_output=True,
        text=True,
    )
    return int(result.stdout) if result.returncode == 0 else None


if __name__ == "__main__":
    imports = private_imports(Checkout())
    print("\n".join(f"{each.location}: {each.name}" for each in imports))
    print(f"{len(imports)} private imports", file=sys.stderr)
