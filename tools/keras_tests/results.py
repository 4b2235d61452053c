"""The result of each test, and what it means: passed, failed, a deviation, or not applicable.

The rules are in `deviations.toml`.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import pathlib
import re
import tomllib
from typing import Any

RULES_FILE = pathlib.Path(__file__).with_name("deviations.toml")
PASSED, WORDS, DEVIATION, FAILED, NOT_APPLICABLE, NOT_YET = (
    "passed",
    "other words",
    "deviation",
    "failed",
    "not applicable",
    "not yet run",
)
_MISSING_NAME = re.compile(r"(?:MissingNameError|_MissingAttributeError): ([\w.]+)")
_PRIVATE_ATTRIBUTE = re.compile(r"AttributeError: .* has no attribute '(_[a-z]\w*)'")
_MISSING_PACKAGE = re.compile(r"(?:ModuleNotFoundError|ImportError): .*No module named '([\w.]+)'")
_OTHER_WORDS = re.compile(
    r"AssertionError: (\".*\" does not (match|start with)|Regex pattern did not match)", re.S
)
OTHER_ERROR = "Where an error is expected, "  # the plugin writes it before the one that is raised
SKIPPED = "the test skips itself: another backend, hardware, sparse tensors or libraries"


@dataclasses.dataclass(frozen=True)
class Result:
    """What one test showed.

    Attributes:
        test: Its file and name, relative to `keras/src`.
        kind: One of the constants of this module.
        error: The type and the text of the error.
        reason: Why the test is a deviation or not applicable.
    """

    test: str
    kind: str
    error: str = ""
    reason: str = ""

    @property
    def family(self) -> str:
        """The first folder of the path."""
        return self.test.partition("/")[0]


@dataclasses.dataclass(frozen=True)
class Rule:
    """An entry of `deviations.toml`: which tests, with which errors, and the reason.

    Attributes:
        kind: What tests that fail so are.
        tests: Patterns of file and name, of which one must match.
        error: A regular expression that is searched in the error.
        reason: One sentence.
    """

    kind: str
    tests: tuple[str, ...]
    error: str
    reason: str

    def matches(self, test: str, error: str) -> bool:
        """Return whether a test that failed is meant."""
        is_named = any(fnmatch.fnmatchcase(test, pattern) for pattern in self.tests)
        return is_named and re.search(self.error, error, re.S) is not None


@dataclasses.dataclass(frozen=True)
class Rules:
    """All rules; the first that matches decides."""

    rules: tuple[Rule, ...]

    @classmethod
    def load(cls, file: pathlib.Path = RULES_FILE) -> Rules:
        """Read the rules of a file."""
        tables = tomllib.loads(file.read_text())
        kinds = {"not_yet": NOT_YET, "deviation": DEVIATION, "not_applicable": NOT_APPLICABLE}
        return cls(
            tuple(
                Rule(kind, _as_tuple(table["test"]), table.get("error", ""), table["reason"])
                for key, kind in kinds.items()
                for table in tables.get(key, ())
            )
        )

    def classify(self, record: dict[str, str], public: frozenset[str]) -> Result:
        """Return what a line of a file of results means.

        Args:
            record: The test, its outcome and its error.
            public: Keras's public names.
        """
        test, outcome, error = record["test"], record["outcome"], record["error"]
        if outcome in ("passed", "xfailed"):
            return Result(test, PASSED)
        if outcome.endswith("skipped"):
            return Result(test, NOT_APPLICABLE, error, SKIPPED)
        if outcome == "started":
            error = "the process died, or the time was over"
        for rule in self.rules:
            if rule.matches(test, error):
                return Result(test, rule.kind, error, rule.reason)
        reason = _reason_of_error(error, public)
        if reason:
            return Result(test, NOT_APPLICABLE, error, reason)
        is_error = error.startswith(OTHER_ERROR) or _OTHER_WORDS.match(error)
        return Result(test, WORDS if is_error else FAILED, error)


def load(folder: pathlib.Path, rules: Rules, public: frozenset[str]) -> list[Result]:
    """Return the results of all tests, of which the last line counts."""
    records: dict[str, dict[str, str]] = {}
    for file in sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime):
        for line in file.read_text().splitlines():
            record = json.loads(line)
            if record["outcome"] != "started" or record["test"] not in records:
                records[record["test"]] = record
    return [rules.classify(record, public) for _, record in sorted(records.items())]


def public_names(site_packages: pathlib.Path) -> frozenset[str]:
    """Return the last parts of Keras's public names, which its packages import."""
    names: set[str] = set()
    for file in (site_packages / "keras").glob("[a-z]*/**/__init__.py"):
        if "src" not in file.relative_to(site_packages / "keras").parts:
            names.update(re.findall(r"\bas (\w+)", file.read_text()))
    return frozenset(names)


def _reason_of_error(error: str, public: frozenset[str]) -> str:
    """Return why a test with an error is not applicable, or nothing."""
    missing = _MISSING_NAME.search(error)
    if missing is not None and missing[1].rpartition(".")[2] not in public:
        return "a private name of Keras"
    if _PRIVATE_ATTRIBUTE.search(error):
        return "a private attribute of Keras"
    package = _MISSING_PACKAGE.search(error)
    if package is not None and package[1].partition(".")[0] not in ("keras", "podium"):
        return f"needs {package[1].partition('.')[0]}"
    return ""


def _as_tuple(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
