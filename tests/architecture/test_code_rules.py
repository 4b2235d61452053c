"""What the code of the package does not do, and how large its functions and classes may be."""

import ast

import code_size
import names
import pytest
from source_tree import Checkout

pytestmark = pytest.mark.static

CHECKOUT = Checkout()
FILES = CHECKOUT.package_files

# `python -m podium script.py` runs a user's script, which is what `exec` is for.
MAY_EXEC = {"podium/compat/_runner.py"}
# The import hook of `python -m podium` registers modules under other names.
MAY_LOOK_UP_MODULES = {
    "podium/compat/_import_hook.py",
    "podium/compat/_missing_names.py",
    "podium/compat/_runner.py",
}

MAX_FUNCTION_LINES = 60  # of code, without signature and docstring
MAX_METHODS = 20  # without dunder methods
MAX_MODULE_LINES = 400  # of code, without docstrings
MAX_MODULES_IN_FOLDER = 25

# What may be larger, each with the reason.
LONG_FUNCTIONS = {
    "Execution.run": "a function around a step would be a frame in its traceback and a call more",
    "Model.fit": "the training loop reads from top to bottom, with the checks of its arguments",
    "ReplicaRunner._trace": "the closures that `shard_map` traces share its variables",
}
LARGE_CLASSES = {
    "Callback": "one method for every hook of Keras",
    "CallbackList": "one method for every hook of Keras",
    "DataHandler": "Keras's public methods, and the position in the data",
    "Dataset": "the methods of tf.data",
    "Layer": "Keras's public methods",
    "LossScaleOptimizer": "the public methods of both Keras versions",
    "Model": "Keras's public methods",
    "Optimizer": "Keras's public methods",
    "TrainingRun": "one method for every event of a run",
    "Variable": "the methods of Keras's and TensorFlow's variables",
}
LONG_MODULES = {
    "podium/layers/_layer.py": "Keras's public methods of one class",
    "podium/layers/attention/_multi_head_attention.py": "two layers that share their projections",
    "podium/models/_model.py": "Keras's public methods of one class",
    "podium/optimizers/_optimizer.py": "Keras's public methods of one class",
}


def check(violations: list[str], advice: str) -> None:
    """Fail with the list of violations."""
    assert not violations, advice + "\n" + "\n".join(violations)


def test_no_function_is_made_from_a_string():
    violations = [
        f"{file.relative}:{node.lineno}"
        for file in FILES
        if str(file.relative) not in MAY_EXEC
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("exec", "eval")
    ]
    check(
        violations,
        "exec and eval are called. Write functions that an editor can open.",
    )


def test_own_packages_are_imported_and_not_looked_up():
    violations = [
        f"{file.relative}:{node.lineno}"
        for file in FILES
        if str(file.relative) not in MAY_LOOK_UP_MODULES
        for node in ast.walk(file.tree)
        if _looks_up_own_module(node)
    ]
    check(violations, "sys.modules is searched for podium. Import it, or pass it.")


def _looks_up_own_module(node: ast.AST) -> bool:
    """Whether `node` is `sys.modules[key]` or `sys.modules.get(key)` with a key of ours.

    A key that is not a literal may be ours, too.
    """
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
        key = node.slice
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.modules.get":
        key = node.args[0]
    else:
        return False
    return not isinstance(key, ast.Constant) or str(key.value).split(".")[0] == "podium"


def test_functions_are_short():
    violations = [
        f"{function.location}: {function.qualified_name} has {function.num_lines} lines"
        for function in code_size.long_functions(CHECKOUT, MAX_FUNCTION_LINES)
        if function.qualified_name not in LONG_FUNCTIONS
    ]
    check(violations, f"Functions over {MAX_FUNCTION_LINES} lines of code:")


def test_classes_have_few_methods():
    violations = [
        f"{location}: {node.name}"
        for location, node in code_size.large_classes(CHECKOUT, MAX_METHODS)
        if node.name not in LARGE_CLASSES
    ]
    check(violations, f"Classes with more than {MAX_METHODS} methods:")


def test_modules_are_short():
    violations = [
        f"{file.relative}: {file.num_code_lines} lines"
        for file in CHECKOUT.modules
        if file.num_code_lines > MAX_MODULE_LINES and str(file.relative) not in LONG_MODULES
    ]
    check(violations, f"Modules over {MAX_MODULE_LINES} lines of code:")


def test_named_exceptions_are_still_needed():
    long = {f.qualified_name for f in code_size.long_functions(CHECKOUT, MAX_FUNCTION_LINES)}
    large = {node.name for _, node in code_size.large_classes(CHECKOUT, MAX_METHODS)}
    modules = {str(f.relative) for f in CHECKOUT.modules if f.num_code_lines > MAX_MODULE_LINES}
    unused = (set(LONG_FUNCTIONS) - long) | (set(LARGE_CLASSES) - large)
    unused |= set(LONG_MODULES) - modules
    assert not unused, f"Remove these exceptions, they are within the limits: {sorted(unused)}"
    for path in sorted(MAY_EXEC | MAY_LOOK_UP_MODULES):
        assert (CHECKOUT.root / path).exists(), f"{path} is excepted from a rule, but is gone"


def test_folders_hold_few_modules():
    counts = code_size.modules_by_folder(CHECKOUT)
    violations = [f"{folder}: {n}" for folder, n in counts.items() if n > MAX_MODULES_IN_FOLDER]
    check(violations, f"Folders with more than {MAX_MODULES_IN_FOLDER} modules:")


def test_functions_are_verbs_or_nouns():
    violations = [f"{f.location}: {f.qualified_name}" for f in names.participles(CHECKOUT)]
    check(violations, "Functions named by a participle:")


def test_names_mean_the_same_in_all_packages():
    violations = [
        f"{each.name}: {', '.join(each.locations)}" for each in names.duplicates(CHECKOUT)
    ]
    check(
        violations,
        "Private names that two packages define. Rename one; or, where both mean the same, share"
        " the definition or add it to tools/names.toml:",
    )
