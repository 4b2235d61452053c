"""The scripts of tools/ find what they look for, and nothing else."""

import exposure
import metrics
import names
import pytest
import text_segments
import type_coverage
from source_tree import Checkout, SourceFile
from vocabulary import Rule, Vocabulary

pytestmark = pytest.mark.static


@pytest.fixture
def write(tmp_path):
    """Write a file of a small checkout and return it."""

    def write(relative: str, text: str) -> SourceFile:
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return SourceFile(tmp_path, path)

    return write


def words_found(file: SourceFile, *rules: Rule) -> list[tuple[int, str]]:
    root = file.path.parents[len(file.relative.parts) - 1]
    findings = Vocabulary(rules).check_file(root, file.path)
    return [(finding.line, finding.word) for finding in findings]


SO_MANY = Rule("so many", "that many")
WALK = Rule("walk(?:s|ed)?", "iterate", allow=("random walks?",))


def test_phrases_are_found_across_lines_names_and_adjacent_strings(write):
    file = write(
        "podium/a.py",
        '"""Reads so\nmany values."""\n'
        "# so\n# many\n"
        "def take_so_many(x): ...\n"
        'message = (f"so {1} many: {2} so "\n    "many")\n',
    )
    assert words_found(file, SO_MANY) == [(1, "so many"), (3, "so many"), (5, "so many")] + [
        (6, "so many")
    ]


def test_only_names_that_are_defined_count(write):
    file = write("podium/a.py", "import os\nfor each in os.walk('.'): ...\ndef walk(): ...\n")
    assert words_found(file, WALK) == [(3, "walk")]


def test_class_arguments_attributes_and_file_names_are_names(write):
    file = write("podium/_walk.py", "class RandomWalker: ...\n\ndef f(walk): f.walks = 1\n")
    assert words_found(file, WALK) == [(1, "walk"), (3, "walk"), (3, "walks")]


def test_allowed_contexts_are_left_out(write):
    file = write("docs/a.md", "A random walk.\n\nIt walked.\n")
    assert words_found(file, WALK) == [(3, "walked")]


def test_a_rule_can_apply_to_whole_names_only(write):
    file = write("podium/a.py", "one = 1\none_hot = 2  # one\n")
    assert words_found(file, Rule("one", "a noun", kinds=("exact",))) == [(1, "one")]


def test_every_rule_of_the_project_compiles_and_names_a_replacement():
    for rule in Vocabulary.load(with_discouraged=True).rules:
        assert rule.use and rule.expression and rule.exceptions is not None
        assert set(rule.kinds) <= {"name", "prose", "exact"}


@pytest.mark.parametrize(
    ("name", "words"),
    [("_take_many", "take many"), ("TakeMany", "Take Many"), ("HTTPServer2D", "HTTP Server2 D")],
)
def test_names_are_split_into_words(name, words):
    assert text_segments.split_words(name) == words


@pytest.mark.parametrize("name", ["fitted", "_told", "placed_like", "noting_results", "taken_out"])
def test_bare_participles(name):
    assert names.is_bare_participle(name)


@pytest.mark.parametrize(
    "name", ["fit", "padded_shape", "seed", "training_logs", "split", "flatten"]
)
def test_verbs_and_nouns(name):
    assert not names.is_bare_participle(name)


def test_properties_are_no_functions(write, tmp_path):
    write("podium/core/a.py", "class A:\n    @property\n    def closed(self): ...\n")
    write("podium/core/b.py", "def joined(): ...\n")
    assert [f.qualified_name for f in names.participles(Checkout(tmp_path))] == ["joined"]


def test_names_of_two_packages_are_found_unless_both_export_them(write, tmp_path):
    for package in ("core", "ops"):
        write(f"podium/{package}/__init__.py", f"from podium.{package}._a import softmax\n")
        write(f"podium/{package}/_{package}.py", "def softmax(): ...\ndef _helper(): ...\n")
    write("podium/data/_ops.py", "")
    found = [each.name for each in names.duplicates(Checkout(tmp_path))]
    assert found == ["_helper", "_ops.py"]


@pytest.mark.parametrize(
    ("name", "private"),
    [
        ("podium.core._tape.Tape", True),
        ("podium.core._tape", True),
        ("podium.core.autodiff._tape.Tape", True),
        ("podium.core.internal.Scope", False),
        ("podium.core.Tensor", False),
        ("podium.layers._dense.Dense", False),
        ("podium._typing.Shape", False),
        ("jax._src.core", False),
    ],
)
def test_private_imports_into_layers(name, private):
    assert exposure.is_private_for(name, "layers") is private


def test_bare_any_in_signatures(write):
    file = write(
        "podium/a.py",
        "def f(a: Any, b: Any | None, c: list[Any], d, *e: Any) -> dict[str, Any]: ...",
    )
    found = [(each.name, each.is_bare) for each in type_coverage.signature_annotations(file)]
    assert found == [("f(a)", True), ("f(b)", True), ("f(c)", False), ("f ->", False)]


def test_the_same_seed_draws_the_same_functions(capsys):
    metrics.print_draw(Checkout(), 3, seed=13)
    first = capsys.readouterr().out
    metrics.print_draw(Checkout(), 3, seed=13)
    assert capsys.readouterr().out == first and first.count("podium/") == 3


def test_the_table_has_a_column_for_each_checkout(monkeypatch, capsys):
    monkeypatch.setattr(metrics, "METRICS", metrics.METRICS[:2])
    metrics.print_table({"before": Checkout(), "after": Checkout()})
    table = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in row.split("|")] for row in table]
    assert rows[0][1:5] == ["metric", "before", "after", "target"]
    assert rows[2][1] == metrics.METRICS[0].title and rows[2][2] == rows[2][3]
