"""Imports between packages: their direction, what is private, and what an `__init__.py` holds.

CONTRIBUTING.md explains the layout that these tests enforce.
"""

import ast
import functools

import exposure
import pytest
from source_tree import Checkout, SourceFile

pytestmark = pytest.mark.static

# A package imports only from packages before it. The top level (`podium/_typing.py`,
# `podium/_importing.py`) is available to all.
PACKAGES = (
    "core",
    "state",
    "telemetry",
    "ops",
    "random",
    "activations",
    "initializers",
    "regularizers",
    "constraints",
    "quantizers",
    "losses",
    "metrics",
    "layers",
    "optimizers",
    "data",
    "distribute",
    "execution",
    "saving",
    "callbacks",
    "models",
    "utils",
    "visualization",
    "datasets",
    "applications",
    "compat",
    "testing",
)
RANK = {package: rank for rank, package in enumerate(PACKAGES)}

CHECKOUT = Checkout()
FILES = CHECKOUT.package_files
MODULE_NAMES = {file.module for file in FILES}


@functools.cache
def imports_of(file: SourceFile) -> list[tuple[str, int, bool]]:
    """Our own modules that `file` imports: name, line, whether inside a function."""
    in_functions = {
        id(child)
        for node in ast.walk(file.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.walk(node)
        if child is not node
    }
    imports = []
    for node in ast.walk(file.tree):
        for target in imported_modules(node, file):
            if target.split(".")[0] == "podium":
                imports.append((target, node.lineno, id(node) in in_functions))
    return imports


def imported_modules(node: ast.AST, file: SourceFile) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{file.relative}:{node.lineno}: write imports in full"
        full_names = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if name in MODULE_NAMES else str(node.module) for name in full_names]
    return []


def type_checking_lines(file: SourceFile) -> set[int]:
    """The lines inside `if TYPE_CHECKING:`, whose imports do not happen at run time."""
    return {
        line
        for node in file.tree.body
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def package_of(module: str) -> str | None:
    """The package of a module's dotted name; None for the top level."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and not parts[1].startswith("_") else None


def test_imports_are_at_the_top_of_a_file():
    violations = [
        f"{file.relative}:{line} imports {target} inside a function"
        for file in FILES
        for target, line, in_function in imports_of(file)
        if in_function
    ]
    assert not violations, "\n".join(violations)


def test_every_package_has_its_position():
    packages = {package_of(file.module) for file in FILES} - {None}
    assert packages <= set(RANK), "add the package to the list in this file and in CONTRIBUTING.md"


def test_imports_point_down():
    violations = [
        f"{file.relative}:{line}: {problem}"
        for file in FILES
        for target, line, _ in imports_of(file)
        if (problem := wrong_direction(package_of(file.module), target))
    ]
    assert not violations, "\n".join(violations)


def wrong_direction(package: str | None, target: str) -> str | None:
    """What is wrong with an import of `target` in `package`, if anything."""
    imported = package_of(target)
    if package is None or imported == package or target.startswith("podium._"):
        return None
    if imported is None:
        return "imports the top level; name the package instead"
    if RANK[imported] > RANK[package]:
        return f"imports {target}, but {imported} is above {package}"
    return None


def test_modules_have_no_import_cycles():
    graph = {
        file.module: {
            target for target, line, _ in imports_of(file) if line not in type_checking_lines(file)
        }
        for file in FILES
    }
    done, path = set(), []

    def visit(module):
        if module in path:
            cycle = " -> ".join([*path[path.index(module) :], module])
            raise AssertionError(f"import cycle: {cycle}")
        if module in done or module not in graph:
            return
        path.append(module)
        for target in sorted(graph[module]):
            # A package imports its own modules, so a module that imports its package is skipped:
            # it names one of the package's other modules.
            if target != module and not module.startswith(f"{target}."):
                visit(target)
        path.pop()
        done.add(module)

    for module in graph:
        visit(module)


def test_private_names_stay_in_their_package():
    violations = [f"{each.location}: {each.name}" for each in exposure.private_imports(CHECKOUT)]
    assert not violations, (
        "Private names are imported across packages. Export them from the `internal` package of"
        " the package that defines them, or make them public:\n" + "\n".join(violations)
    )


def test_every_module_has_a_docstring():
    missing = [str(file.relative) for file in FILES if not ast.get_docstring(file.tree)]
    assert not missing, f"These files do not say what they are for: {missing}"


def test_init_files_only_reexport():
    violations = [
        f"{file.relative}:{node.lineno}"
        for file in FILES
        if file.path.name == "__init__.py" and file.module != "podium"
        for node in file.tree.body
        if not is_docstring(node) and not isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not violations, f"These `__init__.py` files do more than re-export: {violations}"


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
