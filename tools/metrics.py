"""Prints measurements of the code base, of one commit or of two side by side.

    python tools/metrics.py                              # the working tree
    python tools/metrics.py --ref 539d71f                # a commit
    python tools/metrics.py --compare 539d71f            # a commit and the working tree
    python tools/metrics.py --draw 20 --seed 13          # functions drawn at random

Everything is measured statically, so that any commit can be measured without installing it. Two
measurements run a subprocess with the current interpreter: public functions without a source file
are counted in the imported package, and type errors are counted by mypy.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import random
from collections.abc import Callable

import code_size
import exposure
import names
import type_coverage
import vocabulary
from source_tree import Checkout, checkout_of

Number = float | int | None


@dataclasses.dataclass(frozen=True)
class Metric:
    """A row of the table.

    Attributes:
        title: What is counted.
        target: The value aimed at, as printed.
        measure: Computes the value from a checkout; None where it cannot be measured.
        unit: Printed behind the value.
    """

    title: str
    target: str
    measure: Callable[[Checkout], Number]
    unit: str = ""

    def format(self, checkout: Checkout) -> str:
        value = self.measure(checkout)
        if value is None:
            return "not measured"
        return f"{value:.1f}{self.unit}" if isinstance(value, float) else f"{value:,}{self.unit}"


def _foreign_words(checkout: Checkout) -> float:
    findings, words = vocabulary.rate(checkout)
    return 10_000.0 * findings / words


METRICS = (
    Metric("private names imported across packages", "<= 15", exposure.count_private_imports),
    Metric("bare Any, annotated arguments", "<= 15%", type_coverage.bare_any_arguments, "%"),
    Metric("bare Any, annotated returns", "<= 8%", type_coverage.bare_any_returns, "%"),
    Metric("aliases of Any, annotated arguments", "", type_coverage.alias_arguments, "%"),
    Metric("aliases of Any, annotated returns", "", type_coverage.alias_returns, "%"),
    Metric("type: ignore comments", "falling", type_coverage.count_type_ignores),
    Metric("mypy --strict: core, execution, models", "0", type_coverage.count_strict_errors),
    Metric("public functions without source (exec)", "0", exposure.count_without_source),
    Metric("words outside the vocabulary per 10,000", "< 3", _foreign_words),
    Metric(
        "bare participles as function names",
        "0",
        lambda c: len({f.name for f in names.participles(c)}),
    ),
    Metric("names defined in two packages", "0", lambda c: len(names.duplicates(c))),
    Metric("concrete classes in Model's inheritance", "<= 3", code_size.model_inheritance),
    Metric("modules", "", lambda c: len(c.modules)),
    Metric("median lines of a module", "about 107", code_size.median_lines),
    Metric("modules under 45 lines", "< 15", lambda c: code_size.modules_below(c, 45)),
    Metric("modules over 400 lines of code", "few", lambda c: code_size.modules_above(c, 400)),
    Metric("modules in the largest folder", "<= 25", code_size.largest_folder),
    Metric(
        "functions over 60 lines of code", "few", lambda c: len(code_size.long_functions(c, 60))
    ),
    Metric("classes over 20 methods", "few", lambda c: len(code_size.large_classes(c, 20))),
    Metric("lines over 100 characters", "0", lambda c: code_size.long_lines(c, 100)),
)


def print_table(columns: dict[str, Checkout]) -> None:
    """Print one row per metric and one column per checkout."""
    rows = [["metric", *columns, "target"]]
    for metric in METRICS:
        rows.append(
            [
                metric.title,
                *(metric.format(checkout) for checkout in columns.values()),
                metric.target,
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print(
                "|"
                + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths))
                + "|"
            )


def print_draw(checkout: Checkout, count: int, seed: int) -> None:
    """Print `count` functions drawn at random: name, file and the first line of the docstring."""
    functions = [
        function
        for file in checkout.package_files
        for function in file.functions
        if not function.name.startswith("__")
    ]
    for function in random.Random(seed).sample(functions, count):
        docstring = (ast.get_docstring(function.node) or "(no docstring)").splitlines()[0]
        print(f"{function.qualified_name}  {function.location}\n    {docstring}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ref", metavar="COMMIT", help="measure this commit, not the working tree")
    parser.add_argument("--compare", metavar="COMMIT", help="print a column for this commit first")
    parser.add_argument("--draw", type=int, metavar="N", help="draw N functions instead")
    parser.add_argument("--seed", type=int, default=13, help="seed of --draw (default: 13)")
    options = parser.parse_args()
    with checkout_of(options.ref) as checkout:
        if options.draw:
            print_draw(checkout, options.draw, options.seed)
        elif options.compare:
            with checkout_of(options.compare) as before:
                title = options.ref or "working tree"
                print_table({options.compare: before, title: checkout})
        else:
            print_table({options.ref or "working tree": checkout})


if __name__ == "__main__":
    main()
