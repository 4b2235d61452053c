"""Damaged and forged TensorFlow checkpoints are rejected; the long version is a target of make."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

from mutate_checkpoints import MUTATIONS, run


def test_mutated_checkpoint_is_rejected_or_has_the_same_weights():
    outcomes = run(2 * len(MUTATIONS), seed=1)
    assert sum(outcomes.values()) == 2 * len(MUTATIONS)
    assert sum(count for (_, outcome), count in outcomes.items() if outcome == "rejected") > 30
