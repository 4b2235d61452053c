"""Finds words that the project does not use, and says which term to use instead.

The words are in `vocabulary.toml`. Checked are the names that the code defines (split into words:
`take_many` reads "take many"), comments, docstrings, other strings, file names, and the text of
Markdown files, the Makefile and configuration files. Names that belong to other libraries are not
checked, because only definitions are: `os.walk` is fine, `def walk` is not.

    python tools/vocabulary.py                  # the whole repository
    python tools/vocabulary.py podium/core      # some files or folders
    python tools/vocabulary.py --all podium     # with the discouraged words
    python tools/vocabulary.py --summary        # how often each word occurs
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import fnmatch
import functools
import pathlib
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

import text_segments
from source_tree import ROOT, Checkout
from text_segments import Segment

RULES_FILE = pathlib.Path(__file__).with_name("vocabulary.toml")


@dataclasses.dataclass(frozen=True)
class Rule:
    """One word or phrase of `vocabulary.toml`.

    Attributes:
        pattern: A regular expression for whole words; a space matches any white space.
        use: What to write instead.
        allow: Regular expressions of text in which the word is fine, such as `progress bars?`.
        kinds: The kinds of text that it applies to: `name` (identifiers and file names) and
            `prose`; `exact` means names that consist of this word alone.
        files: Patterns of paths in which the word is fine.
    """

    pattern: str
    use: str
    allow: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("name", "prose")
    files: tuple[str, ...] = ()

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> Rule:
        """The rule that a TOML table describes."""
        as_tuples = {name: tuple(table.get(name, ())) for name in ("allow", "files")}
        kinds = tuple(table.get("kinds", ("name", "prose")))
        return cls(table["pattern"], table["use"], kinds=kinds, **as_tuples)

    @functools.cached_property
    def expression(self) -> re.Pattern[str]:
        return _compile(self.pattern)

    @functools.cached_property
    def exceptions(self) -> list[re.Pattern[str]]:
        return [_compile(pattern) for pattern in self.allow]

    def matches(self, segment: Segment) -> Iterator[re.Match[str]]:
        """Where the word occurs in `segment` outside of all exceptions."""
        if segment.kind in self.kinds:
            matches = self.expression.finditer(segment.text)
        elif segment.kind == "name" and "exact" in self.kinds:
            matches = filter(None, [self.expression.fullmatch(segment.text)])
        else:
            return
        for match in matches:
            if not any(_covers(allowed, segment.text, match) for allowed in self.exceptions):
                yield match


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b".replace(" ", r"\s+"), re.IGNORECASE)


def _covers(allowed: re.Pattern[str], text: str, match: re.Match[str]) -> bool:
    start = max(0, match.start() - 60)
    return any(
        context.start() <= match.start() and context.end() >= match.end()
        for context in allowed.finditer(text, start, min(len(text), match.end() + 60))
    )


@dataclasses.dataclass(frozen=True)
class Finding:
    """A word outside the vocabulary at one place."""

    path: pathlib.Path
    line: int
    word: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word} -> {self.rule.use}"


class Vocabulary:
    """The rules of `vocabulary.toml`, applied to files."""

    def __init__(self, rules: Iterable[Rule], exclude: Iterable[str] = ()) -> None:
        self.rules = tuple(rules)
        self.exclude = tuple(exclude)

    @classmethod
    def load(cls, with_discouraged: bool = False) -> Vocabulary:
        """Read the rules; `with_discouraged` adds the second list."""
        content = tomllib.loads(RULES_FILE.read_text())
        tables = content["forbidden"] + (content["discouraged"] if with_discouraged else [])
        rules = [Rule.from_table(table) for table in tables]
        return cls(rules, content["exclude"])

    @functools.cached_property
    def _any_word(self) -> re.Pattern[str]:
        # One pass decides about most segments: nearly all of them contain no such word.
        return _compile("|".join(f"(?:{rule.pattern})" for rule in self.rules))

    def check_segment(self, path: pathlib.Path, segment: Segment) -> Iterator[Finding]:
        if not self._any_word.search(segment.text):
            return
        for rule in self.rules:
            if any(fnmatch.fnmatch(str(path), pattern) for pattern in rule.files):
                continue
            for match in rule.matches(segment):
                word = " ".join(match.group().split())
                yield Finding(path, segment.line_of(match.start()), word, rule)

    def check_file(self, root: pathlib.Path, path: pathlib.Path) -> list[Finding]:
        """All findings in one file, by line."""
        relative = path.relative_to(root)
        segments = text_segments.of_file(path, relative)
        findings = [f for segment in segments for f in self.check_segment(relative, segment)]
        return sorted(findings, key=lambda finding: finding.line)

    def files(self, checkout: Checkout, paths: Iterable[str] = ()) -> list[pathlib.Path]:
        """The files that are checked: all of the checkout, or those at and below `paths`."""
        chosen = [(checkout.root / path).resolve() for path in paths]
        files = [path for pattern in text_segments.PATTERNS for path in checkout.paths(pattern)]
        return [
            file
            for file in sorted(files)
            if not any(
                fnmatch.fnmatch(str(file.relative_to(checkout.root)), p) for p in self.exclude
            )
            and (not chosen or any(file == path or path in file.parents for path in chosen))
        ]


def rate(checkout: Checkout) -> tuple[int, int]:
    """The number of findings, and the number of words that were checked."""
    vocabulary = Vocabulary.load()
    findings = words = 0
    for path in vocabulary.files(checkout):
        relative = path.relative_to(checkout.root)
        for segment in text_segments.of_file(path, relative):
            words += segment.num_words
            findings += sum(1 for _ in vocabulary.check_segment(relative, segment))
    return findings, words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files or folders (default: the repository)")
    parser.add_argument("--all", action="store_true", help="report the discouraged words too")
    parser.add_argument("--summary", action="store_true", help="print counts of words instead")
    options = parser.parse_args()
    vocabulary = Vocabulary.load(options.all)
    checkout = Checkout(ROOT)
    paths = [str(pathlib.Path(path).resolve()) for path in options.paths]
    findings = [
        finding
        for path in vocabulary.files(checkout, paths)
        for finding in vocabulary.check_file(ROOT, path)
    ]
    if options.summary:
        counts = collections.Counter(finding.word.lower() for finding in findings)
        print("\n".join(f"{count:6} {word}" for word, count in counts.most_common()))
    else:
        print("\n".join(map(str, findings)), end="\n" if findings else "")
    print(f"{len(findings)} words outside the vocabulary", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
