"""Finds function names that are bare participles, and names that two packages define.

    python tools/names.py                 # participles: `fitted`, `placed_like`
    python tools/names.py --duplicates    # private names that are defined in two packages
    python tools/names.py podium/core     # of some files or folders only

A function is a verb (`validate_batch`) or, for conversions and properties, a noun (`num_samples`).
Reported are functions whose name is one participle, begins with a participle and a preposition
(`placed_like`), or begins with a gerund (`noting_results`). Not reported: properties, and a
participle in front of a noun (`padded_shape`).

A name that two packages define must mean the same in both. Reported are the functions and classes
at the top of modules, and the modules themselves, that occur in two packages below `podium/`. Not
reported: names that each of the packages exports, which follow Keras (`ops.softmax` and
`activations.softmax`); `_roll` in a package that exports `roll`; modules of packages that parallel
the others; and what `names.toml` lists as having been compared.
"""

from __future__ import annotations

import argparse
import ast
import collections
import dataclasses
import functools
import pathlib
import sys
import tomllib
from collections.abc import Iterator

from source_tree import Checkout, Function, SourceFile
from text_segments import split_words


@functools.cache
def _settings() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(pathlib.Path(__file__).with_name("names.toml").read_text())


def is_participle(word: str) -> bool:
    """Whether `word` is a past participle or a gerund, as far as its spelling shows."""
    settings = _settings()["participles"]
    if word in settings["accepted"]:
        return False
    return word in settings["irregular"] or (
        (len(word) > 4 and word.endswith(("ed", "ing"))) or (len(word) > 4 and word.endswith("en"))
    )


def is_bare_participle(name: str) -> bool:
    """Whether the name of a function is a participle without a noun that it describes."""
    words = split_words(name).lower().split()
    if not words or not is_participle(words[0]):
        return False
    prepositions = _settings()["participles"]["prepositions"]
    return len(words) == 1 or words[1] in prepositions or words[0].endswith("ing")


def participles(checkout: Checkout) -> list[Function]:
    """The functions of `podium/` whose names are bare participles."""
    return [
        function
        for file in checkout.package_files
        for function in file.functions
        if not function.is_property and is_bare_participle(function.name)
    ]


@dataclasses.dataclass(frozen=True)
class Duplicate:
    """A name that several packages define.

    Attributes:
        name: The name of a function, a class or a module.
        locations: Where it is defined, for each package.
    """

    name: str
    locations: tuple[str, ...]


def duplicates(checkout: Checkout) -> list[Duplicate]:
    """Names of functions, classes and modules that two packages define, unless each exports it."""
    rows = [*_duplicate_definitions(checkout).items(), *_duplicate_modules(checkout).items()]
    return [Duplicate(name, tuple(places.values())) for name, places in sorted(rows)]


def _duplicate_definitions(checkout: Checkout) -> dict[str, dict[str, str]]:
    """Functions and classes of two packages: name -> package -> location."""
    exported = _exported_names(checkout)
    definitions: dict[str, dict[str, str]] = collections.defaultdict(dict)
    private: set[str] = set()
    for file in checkout.modules:
        for node in _top_level(file):
            # `_roll` next to the exported `roll` is its implementation.
            if node.name.startswith("_") and node.name.lstrip("_") in exported[file.package]:
                continue
            definitions[node.name].setdefault(file.package, f"{file.relative}:{node.lineno}")
            if node.name not in exported[file.package]:
                private.add(node.name)
    private -= set(_settings()["duplicates"]["same_meaning"])
    return {name: definitions[name] for name in private if len(definitions[name]) > 1}


def _duplicate_modules(checkout: Checkout) -> dict[str, dict[str, str]]:
    """Module files of two packages: file name -> package -> location."""
    settings = _settings()["duplicates"]
    modules: dict[str, dict[str, str]] = collections.defaultdict(dict)
    for file in checkout.modules:
        is_parallel = file.package in settings["parallel_packages"]
        if not is_parallel and file.path.stem not in settings["same_modules"]:
            modules[file.path.name].setdefault(file.package, str(file.relative))
    return {name: places for name, places in modules.items() if len(places) > 1}


def _top_level(file: SourceFile) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in file.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("__"):
            yield node


def _exported_names(checkout: Checkout) -> dict[str, set[str]]:
    """For each package the names that its `__init__.py` files import."""
    exported: dict[str, set[str]] = collections.defaultdict(set)
    for file in checkout.package_files:
        if file.path.name == "__init__.py" and "internal" not in file.relative.parts:
            for node in ast.walk(file.tree):
                if isinstance(node, ast.ImportFrom):
                    exported[file.package].update(alias.name for alias in node.names)
    return exported


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files or folders (default: podium)")
    parser.add_argument("--duplicates", action="store_true", help="list names of two packages")
    options = parser.parse_args()
    checkout = Checkout()
    if options.duplicates:
        rows = [f"{each.name}: {', '.join(each.locations)}" for each in duplicates(checkout)]
    else:
        rows = [f"{each.location}: {each.qualified_name}" for each in participles(checkout)]
    wanted = [
        str(pathlib.Path(path).resolve().relative_to(checkout.root)) for path in options.paths
    ]
    rows = [row for row in rows if not wanted or any(path in row for path in wanted)]
    print("\n".join(rows), end="\n" if rows else "")
    print(f"{len(rows)} names", file=sys.stderr)
    return 1 if rows else 0


if __name__ == "__main__":
    sys.exit(main())
