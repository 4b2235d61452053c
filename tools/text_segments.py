"""Cuts files into segments of text: names, comments, docstrings, messages, paragraphs.

A name becomes its words ("take many" for `take_many` and for `TakeMany`). Only names that a file
defines are segments, not those that it uses, so that other libraries' names are left out.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import pathlib
import re
import tokenize
from collections.abc import Iterable, Iterator

PATTERNS = ("*.py", "*.md", "*.toml", "*.yml", "*.yaml", "Makefile", "run")

_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_PREFIX = re.compile(r"^[A-Za-z]{0,2}('''|\"\"\"|'|\")")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_WORD = re.compile(r"[A-Za-z]+")


@dataclasses.dataclass(frozen=True)
class Segment:
    """Connected text with the line on which it starts.

    Attributes:
        kind: `name` for identifiers and file names, `prose` for everything else.
        text: The text.
        line: The number of its first line.
    """

    kind: str
    text: str
    line: int

    def line_of(self, offset: int) -> int:
        """The line of the character at `offset`."""
        return self.line + self.text.count("\n", 0, offset)

    @property
    def num_words(self) -> int:
        return len(_WORD.findall(self.text))


def of_file(path: pathlib.Path, relative: pathlib.Path) -> Iterator[Segment]:
    """The segments of a Python file, or of any other text file: its name first, then its text."""
    yield Segment("name", split_words(relative.stem), 1)
    text = path.read_text()
    if path.suffix == ".py":
        yield from _names(ast.parse(text))
        yield from _strings_and_comments(text)
    else:
        yield Segment("prose", text, 1)


def split_words(name: str) -> str:
    """`_takeMany_HTTPBodies` as "take Many HTTP Bodies"."""
    return _WORD_BORDER.sub(" ", name.replace("-", "_")).strip()


def _names(tree: ast.Module) -> Iterator[Segment]:
    for node in ast.walk(tree):
        for name in _defined_names(node):
            yield Segment("name", split_words(name), getattr(node, "lineno", 1))


def _defined_names(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.arg():
            return [node.arg]
        case ast.Name(ctx=ast.Store()):
            return [node.id]
        case ast.Attribute(ctx=ast.Store()):
            return [node.attr]
        case ast.ExceptHandler(name=str()):
            return [str(node.name)]
        case ast.alias(asname=str()) if node.asname != node.name:
            return [str(node.asname)]
        case ast.MatchAs(name=str()) | ast.MatchStar(name=str()):
            return [str(node.name)]
        case _:
            return []


def _strings_and_comments(text: str) -> Iterator[Segment]:
    """Strings and comments; those that follow each other directly are one segment."""
    parts: list[tuple[int, str]] = []
    kind = None
    for token_type, line, string in _tokens(text):
        if token_type in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            continue
        is_text = token_type in (tokenize.COMMENT, tokenize.STRING)
        if token_type != kind or (parts and line > _last_line(parts) + 1):
            yield from _join(parts)
            parts = []
        kind = token_type
        if is_text:
            parts.append((line, _content(string)))
    yield from _join(parts)


def _tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Tokens as `(type, line, source)`, with an f-string as one `STRING` token.

    Since Python 3.12 `tokenize` returns several tokens for an f-string, which nest.
    """
    starts: list[tuple[int, int]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name == "FSTRING_START":
            starts.append(token.start)
        elif name == "FSTRING_END":
            start = starts.pop()
            if not starts:
                yield tokenize.STRING, start[0], _source(text, start, token.end)
        elif not starts:
            yield token.type, token.start[0], token.string


def _source(text: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    """The part of `text` between two positions, each a line counted from 1 and a column."""
    lines = text.splitlines(keepends=True)[start[0] - 1 : end[0]]
    lines[-1] = lines[-1][: end[1]]
    lines[0] = lines[0][start[1] :]
    return "".join(lines)


def _content(source: str) -> str:
    """The text of a comment or a string without its signs, quotes and placeholders."""
    prefix = _PREFIX.match(source)
    if prefix is None:
        return source.lstrip("#")
    text = source[prefix.end() : len(source) - len(prefix.group(1))]
    return _PLACEHOLDER.sub(" … ", text) if "f" in prefix.group().lower() else text


def _last_line(parts: list[tuple[int, str]]) -> int:
    line, text = parts[-1]
    return line + text.count("\n")


def _join(parts: list[tuple[int, str]]) -> Iterable[Segment]:
    """One segment with each part on the line that it has in the file."""
    if not parts:
        return []
    text, line = "", parts[0][0]
    for part_line, part in parts:
        current = line + text.count("\n")
        text += "\n" * (part_line - current) + part
    return [Segment("prose", text, line)]
