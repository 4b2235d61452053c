"""The rooms of the house and who may import whom; see CONTRIBUTING.md."""

import ast
import functools
import pathlib

import pytest

import podium

ROOT = pathlib.Path(podium.__file__).parent

# Lower rooms know nothing of the rooms above them; rooms of one floor may not import each other
# unless they stand in order within the floor's tuple (a later one may use an earlier one).
FLOORS = (
    ("core",),
    ("state",),
    ("ops", "random"),
    ("activations", "initializers", "regularizers", "constraints", "losses", "metrics"),
    ("layers",),
    ("optimizers",),
    ("data", "distribute", "execution", "saving", "callbacks"),
    ("models",),
    ("utils", "datasets", "compat", "testing"),
)
RANK = {
    room: (floor, place) for floor, rooms in enumerate(FLOORS) for place, room in enumerate(rooms)
}


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = list(modules())
KNOWN = {name for name, _ in MODULES}


@functools.cache
def parsed(path):
    return ast.parse(path.read_text())


@functools.cache
def imports_of(name, path):
    """A list of `(imported module, line, whether inside a function)` for our own imports."""
    tree, imports = parsed(path), []
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            inside.update(id(child) for child in ast.walk(node) if child is not node)
    for node in ast.walk(tree):
        found = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} line {node.lineno}: write imports in full"
            found = [
                f"{node.module}.{a.name}" if f"{node.module}.{a.name}" in KNOWN else node.module
                for a in node.names
            ]
        for target in found:
            if target.split(".")[0] == "podium":
                imports.append((target, node.lineno, id(node) in inside))
    return imports


def room_of(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and not parts[1].startswith("_") else None


@pytest.mark.parametrize(("name", "path"), MODULES, ids=[name for name, _ in MODULES])
def test_imports_point_down(name, path):
    room = room_of(name)
    for target, line, inside_function in imports_of(name, path):
        assert not inside_function, f"{name} line {line} imports {target} inside a function"
        if target == "podium._typing":
            continue
        other = room_of(target)
        if room is None or other is None or other == room:
            assert room is None or other is not None, f"{name} line {line} imports the front door"
            continue
        assert room in RANK and other in RANK, (
            f"{name} line {line}: the room of {target} has no floor"
        )
        assert RANK[other] < RANK[room], (
            f"{name} line {line} imports {target}, which is not below it"
        )


def test_modules_have_no_import_cycles():
    graph = {name: {target for target, _, _ in imports_of(name, path)} for name, path in MODULES}
    done, path = set(), []

    def visit(module):
        if module in path:
            cycle = " -> ".join([*path[path.index(module) :], module])
            raise AssertionError(f"import cycle: {cycle}")
        if module in done or module not in graph:
            return
        path.append(module)
        for target in sorted(graph[module]):
            # A package imports its own modules; a module may name its package's other modules only.
            if target != module and not module.startswith(f"{target}."):
                visit(target)
        path.pop()
        done.add(module)

    for module in graph:
        visit(module)


@pytest.mark.parametrize(("name", "path"), MODULES, ids=[name for name, _ in MODULES])
def test_every_module_says_what_it_is_for(name, path):
    assert ast.get_docstring(parsed(path)), f"{name} has no docstring"


@pytest.mark.parametrize(
    ("name", "path"), [m for m in MODULES if m[1].name == "__init__.py" and m[0] != "podium"]
)
def test_doors_only_reexport(name, path):
    for node in parsed(path).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        assert is_docstring or isinstance(node, (ast.Import, ast.ImportFrom)), (
            f"{name} line {node.lineno} does more than re-export"
        )
