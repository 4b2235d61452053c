"""Names, comments, docstrings, messages and documents use the project's terms."""

import pytest
import vocabulary
from source_tree import Checkout

pytestmark = pytest.mark.static


def test_no_word_is_outside_the_vocabulary():
    checkout, rules = Checkout(), vocabulary.Vocabulary.load()
    findings = [
        str(finding)
        for path in rules.files(checkout)
        for finding in rules.check_file(checkout.root, path)
    ]
    assert not findings, "\n".join(findings)
