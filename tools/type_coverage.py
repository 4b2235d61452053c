"""Measures how specific the annotations are: bare `Any`, and `type: ignore` comments.

python tools/type_coverage.py                # bare `Any` per package
python tools/type_coverage.py podium/core    # where they are
"""

import ast
import collections
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from source_tree import Checkout, SourceFile

_ALIAS = re.compile(r"^(\w+): TypeAlias = Any$", re.MULTILINE)
BARE = frozenset(["Any", "typing.Any", "_typing.Any", "Any | None", "None | Any", "Optional[Any]"])


@dataclasses.dataclass(frozen=True)
class Annotation:
    """One annotation of a signature.

    Attributes:
        location: File and line.
        name: The function, with the argument for an argument.
        kind: `argument` or `return`.
        text: The annotation.
    """

    location: str
    name: str
    kind: str
    text: str

    @property
    def is_bare(self) -> bool:
        """Whether it is `Any` and nothing else."""
        return self.text in BARE


def signature_annotations(file: SourceFile) -> Iterator[Annotation]:
    """The annotations of all signatures in a file.

    `*args` and `**kwargs` are left out: where they pass arguments on, `Any` is what they hold.
    """
    for function in file.functions:
        arguments = function.node.args
        for arg in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if arg.annotation is not None:
                name = f"{function.qualified_name}({arg.arg})"
                text = ast.unparse(arg.annotation)
                yield Annotation(f"{file.relative}:{arg.lineno}", name, "argument", text)
        if function.node.returns is not None:
            text = ast.unparse(function.node.returns)
            yield Annotation(function.location, f"{function.qualified_name} ->", "return", text)


def _percentage(files: list[SourceFile], kind: str, texts: frozenset[str] = BARE) -> float:
    signatures = [
        each for file in files for each in signature_annotations(file) if each.kind == kind
    ]
    return 100 * sum(each.text in texts for each in signatures) / max(1, len(signatures))


def bare_any_arguments(checkout: Checkout) -> float:
    """Percentage of annotated arguments in `podium/` that are bare `Any`."""
    return _percentage(checkout.package_files, "argument")


def bare_any_returns(checkout: Checkout) -> float:
    """Percentage of annotated returns in `podium/` that are bare `Any`."""
    return _percentage(checkout.package_files, "return")


def _aliases_of_any(files: list[SourceFile]) -> frozenset[str]:
    """The named aliases of `Any`, such as `Tree`, alone and with `| None`."""
    names = {name for file in files for name in _ALIAS.findall(file.text)}
    return frozenset(names | {f"{name} | None" for name in names})


def alias_arguments(checkout: Checkout) -> float:
    """Percentage of annotated arguments in `podium/` that are a named alias of `Any`."""
    files = checkout.package_files
    return _percentage(files, "argument", _aliases_of_any(files))


def alias_returns(checkout: Checkout) -> float:
    """Percentage of annotated returns in `podium/` that are a named alias of `Any`."""
    files = checkout.package_files
    return _percentage(files, "return", _aliases_of_any(files))


def count_type_ignores(checkout: Checkout) -> int:
    return sum(file.text.count("# type: ignore") for file in checkout.package_files)


STRICT_PACKAGES = ("podium/core", "podium/execution", "podium/models")


def count_strict_errors(checkout: Checkout) -> int | None:
    """Errors of `mypy --strict` in the packages that are checked strictly.

    Calls of JAX's functions without annotations are not counted. None where mypy is not installed
    or cannot run.
    """
    options = ["--strict", "--untyped-calls-exclude=jax", "--ignore-missing-imports"]
    options += ["--config-file=", "--no-error-summary"]
    with tempfile.TemporaryDirectory() as cache:
        result = subprocess.run(
            [sys.executable, "-m", "mypy", *options, f"--cache-dir={cache}", *STRICT_PACKAGES],
            cwd=checkout.root,
            capture_output=True,
            text=True,
        )
    if result.returncode not in (0, 1) or result.stderr:
        return None
    errors = [line for line in result.stdout.splitlines() if ": error: " in line]
    return sum(line.startswith(STRICT_PACKAGES) for line in errors)


def main() -> None:
    checkout = Checkout()
    if len(sys.argv) > 1:
        chosen = [pathlib.Path(path).resolve() for path in sys.argv[1:]]
        for file in checkout.package_files:
            if any(path == file.path or path in file.path.parents for path in chosen):
                for each in signature_annotations(file):
                    if each.is_bare:
                        print(f"{each.location}: {each.name}")
        return
    packages: dict[str, list[SourceFile]] = collections.defaultdict(list)
    for file in checkout.package_files:
        packages[file.package].append(file)
    for package, files in sorted(packages.items()):
        arguments, returns = _percentage(files, "argument"), _percentage(files, "return")
        print(f"{package or '(top level)':14} arguments {arguments:5.1f}%  returns {returns:5.1f}%")


if __name__ == "__main__":
    main()
