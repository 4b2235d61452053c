"""The README is correct: its code runs, its commands and links exist."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_code_in_the_readme_runs_and_trains(capsys):
    for block in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL):
        exec(compile(block, "README.md", "exec"), {})
    losses = [float(number) for number in re.findall(r" loss: (\d+\.\d+)", capsys.readouterr().out)]
    assert len(losses) == 3 and losses[-1] < losses[0]


def test_readme_starts_with_the_two_commands_and_names_existing_targets():
    assert README.index("make demo") < README.index("make test") < 400
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"\bmake ([\w-]+)", README)) <= targets


def test_every_link_points_to_a_file():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), f"README links to {target}"
