"""Editors complete names although packages are imported when they are first used."""

import jedi
import pytest


def completions(code: str) -> set[str]:
    return {completion.name for completion in jedi.Script(code).complete()}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("podium.", {"layers", "ops", "callbacks", "Model", "Sequential", "GradientTape"}),
        ("podium.layers.", {"Dense", "Conv2D", "LSTM", "MultiHeadAttention"}),
        ("podium.ops.", {"sin", "matmul", "softmax"}),
        ("podium.Model().", {"compile", "fit", "evaluate", "predict", "summary"}),
        ("podium.Sequential([]).", {"compile", "fit", "add"}),
        ("podium.layers.Dense(3).", {"kernel", "trainable_variables", "get_weights"}),
    ],
)
def test_names_are_completed(expression, expected):
    assert expected <= completions(f"import podium\n{expression}")
