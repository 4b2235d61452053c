"""docs/catalogue.md is what `tools/catalogue.py` writes, and finds what is missing."""

import types

import catalogue


def test_document_is_up_to_date():
    assert catalogue.DOCUMENT.read_text() == catalogue.make_document(), "run `make catalogue`"


def test_names_and_parameters_are_compared():
    def same(a, b):
        return a, b

    def fewer(a):
        return a

    def any_keyword(a, **kwargs):
        return a, kwargs

    module = types.SimpleNamespace(
        inner=types.SimpleNamespace(same=same), fewer=fewer, any_keyword=any_keyword
    )
    cases = {
        ("inner.same", ""): (catalogue.HAVE, ""),
        ("any_keyword", ""): (catalogue.HAVE, ""),
        ("fewer", ""): (catalogue.DIFFERS, "without `b`"),
        ("fewer", "why"): (catalogue.DIFFERS, "without `b`; why"),
        ("inner.missing", "why"): (catalogue.NOT, "why"),
    }
    for (name, reason), expected in cases.items():
        entry = catalogue.describe(module, name, ["a", "b", "*args"], reason)
        assert (entry.state, entry.text) == expected


def test_share_of_names_that_are_present():
    from podium.compat import keras3

    _, entries = catalogue.read_entries("keras", keras3, {})
    present = sum(entry.state != catalogue.NOT for entry in entries)
    assert present >= 0.97 * len(entries)
