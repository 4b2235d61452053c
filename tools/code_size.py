"""Measures sizes (of modules, folders, functions, classes, lines) and the depth of `Model`."""

from __future__ import annotations

import ast
import collections
import pathlib
import statistics

from source_tree import Checkout, Function, FunctionNode


def median_lines(checkout: Checkout) -> int:
    return int(statistics.median(len(file.lines) for file in checkout.package_files))


def modules_below(checkout: Checkout, limit: int) -> int:
    return sum(len(file.lines) < limit for file in checkout.modules)


def modules_above(checkout: Checkout, limit: int) -> int:
    """The number of modules with more than `limit` lines of code, docstrings not counted."""
    return sum(file.num_code_lines > limit for file in checkout.modules)


def modules_by_folder(checkout: Checkout) -> collections.Counter[pathlib.PurePath]:
    """The number of modules that are directly in each folder."""
    return collections.Counter(file.relative.parent for file in checkout.modules)


def largest_folder(checkout: Checkout) -> int:
    return max(modules_by_folder(checkout).values())


def long_functions(checkout: Checkout, limit: int) -> list[Function]:
    """Functions with more than `limit` lines of code in their body."""
    return [f for file in checkout.package_files for f in file.functions if f.num_lines > limit]


def large_classes(checkout: Checkout, limit: int) -> list[tuple[str, ast.ClassDef]]:
    """Classes with more than `limit` methods defined in them, dunder methods not counted."""
    return [
        (f"{file.relative}:{node.lineno}", node)
        for file in checkout.package_files
        for node in file.classes
        if _num_methods(node) > limit
    ]


def _num_methods(node: ast.ClassDef) -> int:
    methods = [child.name for child in node.body if isinstance(child, FunctionNode)]
    return len({name for name in methods if not name.startswith("__")})


def long_lines(checkout: Checkout, limit: int) -> int:
    """Lines of Python code with more than `limit` characters, in the whole repository."""
    return sum(
        len(line) > limit
        for path in checkout.paths("*.py")
        for line in path.read_text().splitlines()
    )


def model_inheritance(checkout: Checkout) -> int:
    """The number of concrete classes in the inheritance of `Model`, itself included.

    A class is abstract if it names `ABC` or `Protocol` as a base, or has an abstract method.
    """
    classes = {node.name: node for file in checkout.package_files for node in file.classes}
    # Another file may define a class named Model too (an exported graph): the one in models counts.
    for file in checkout.package_files:
        if file.package == "models":
            classes.update({node.name: node for node in file.classes})
    pending, seen = ["Model"], []
    while pending:
        name = pending.pop()
        if name in classes and name not in seen:
            seen.append(name)
            pending.extend(
                ast.unparse(base).split("[")[0].split(".")[-1] for base in classes[name].bases
            )
    return sum(not _is_abstract(classes[name]) for name in seen)


def _is_abstract(node: ast.ClassDef) -> bool:
    bases = {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
    decorators = {
        ast.unparse(decorator).split(".")[-1]
        for child in node.body
        if isinstance(child, FunctionNode)
        for decorator in child.decorator_list
    }
    return bool(bases & {"ABC", "Protocol"}) or "abstractmethod" in decorators
