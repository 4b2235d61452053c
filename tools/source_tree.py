"""The files of a checkout, parsed once: what every tool in this folder reads.

Only `ast`, `tokenize` and git are used, so any commit can be examined without installing it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import pathlib
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from typing import IO, cast

ROOT = pathlib.Path(__file__).resolve().parents[1]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class SourceFile:
    """A Python file: its path relative to the checkout, its text, its syntax tree."""

    def __init__(self, root: pathlib.Path, path: pathlib.Path) -> None:
        self.path = path
        self.relative = path.relative_to(root)
        self.text = path.read_text()

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.relative))

    @functools.cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @functools.cached_property
    def num_code_lines(self) -> int:
        """Lines without docstrings and empty lines."""
        documented = [self.tree, *self.classes, *(function.node for function in self.functions)]
        return _count_nonempty(self.lines) - sum(_docstring_lines(self, n) for n in documented)

    @property
    def module(self) -> str:
        """The dotted name under which it is imported."""
        parts = self.relative.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def package(self) -> str:
        """The first level below `podium`, such as `core`; empty for the top level."""
        parts = self.relative.parts
        return parts[1] if len(parts) > 2 and parts[0] == "podium" else ""

    @functools.cached_property
    def functions(self) -> list[Function]:
        """All functions and methods, with nested ones, in the order of the file."""
        return list(_functions(self, self.tree, None, ""))

    @functools.cached_property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]


class Function:
    """A function or method with the class that defines it directly, if one does."""

    def __init__(
        self, file: SourceFile, node: FunctionNode, owner: ast.ClassDef | None, qualified_name: str
    ) -> None:
        self.file = file
        self.node = node
        self.owner = owner
        self.qualified_name = qualified_name

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def location(self) -> str:
        return f"{self.file.relative}:{self.node.lineno}"

    @property
    def is_property(self) -> bool:
        """Whether a decorator makes it an attribute (`property`, `cached_property`, `x.setter`)."""
        names = [ast.unparse(decorator).split("(")[0] for decorator in self.node.decorator_list]
        return any(name.endswith(("property", ".setter", ".getter")) for name in names)

    @property
    def num_lines(self) -> int:
        """Lines of code of the body: without signature, docstring and empty lines."""
        first, last = self.node.body[0], self.node.body[-1]
        lines = self.file.lines[first.lineno - 1 : last.end_lineno]
        return _count_nonempty(lines) - _docstring_lines(self.file, self.node)


def _count_nonempty(lines: list[str]) -> int:
    return sum(bool(line.strip()) for line in lines)


def _docstring_lines(file: SourceFile, node: ast.Module | ast.ClassDef | FunctionNode) -> int:
    if ast.get_docstring(node) is None:
        return 0
    docstring = node.body[0]
    return _count_nonempty(file.lines[docstring.lineno - 1 : docstring.end_lineno])


def _functions(
    file: SourceFile, parent: ast.AST, owner: ast.ClassDef | None, prefix: str
) -> Iterator[Function]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, FunctionNode):
            yield Function(file, node, owner, prefix + node.name)
            yield from _functions(file, node, None, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from _functions(file, node, node, f"{prefix}{node.name}.")
        else:
            yield from _functions(file, node, owner, prefix)


class Checkout:
    """A directory with the repository's files, at any commit."""

    def __init__(self, root: pathlib.Path = ROOT) -> None:
        self.root = root

    @functools.cached_property
    def package_files(self) -> list[SourceFile]:
        """The Python files of `podium/`."""
        return [SourceFile(self.root, path) for path in self.paths("*.py", "podium")]

    @functools.cached_property
    def modules(self) -> list[SourceFile]:
        """The Python files of `podium/` other than `__init__.py`."""
        return [file for file in self.package_files if file.path.name != "__init__.py"]

    def paths(self, pattern: str, *folders: str) -> list[pathlib.Path]:
        """Files that match `pattern` in the given folders (default: everywhere), sorted.

        Hidden folders (environments, caches) and build directories are left out.
        """
        starts = [self.root / folder for folder in folders] or [self.root]
        paths = [path for start in starts for path in start.rglob(pattern)]
        return sorted(path for path in paths if not self._ignores(path))

    def _ignores(self, path: pathlib.Path) -> bool:
        folders = path.relative_to(self.root).parts[:-1]
        return any(
            (part.startswith(".") and part not in (".ci", ".github"))
            or part in ("build", "dist", "__pycache__", "node_modules")
            for part in folders
        )


@contextlib.contextmanager
def checkout_of(commit: str | None) -> Iterator[Checkout]:
    """The checkout this script is in, or with a commit a temporary copy of that commit."""
    if commit is None:
        yield Checkout()
        return
    with tempfile.TemporaryDirectory(prefix="podium-metrics-") as directory:
        archive = subprocess.Popen(
            ["git", "archive", "--format=tar", commit], cwd=ROOT, stdout=subprocess.PIPE
        )
        with tarfile.open(fileobj=cast(IO[bytes], archive.stdout), mode="r|") as tar:
            tar.extractall(directory, filter="data")
        if archive.wait() != 0:
            raise SystemExit(f"git archive could not read the commit {commit!r}.")
        yield Checkout(pathlib.Path(directory).resolve())
