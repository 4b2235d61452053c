"""Automatic names and name scopes."""

import pytest

import podium
from podium import core


def test_automatic_names_are_numbered():
    assert [core.auto_name("dense") for _ in range(3)] == ["dense", "dense_1", "dense_2"]
    assert (
        core.snake_case("MultiHeadAttention") == "multi_head_attention"
        and core.snake_case("LSTM") == "lstm"
    )
    with pytest.raises(ValueError, match="without '/'"), podium.name_scope("a/b"):
        pass
