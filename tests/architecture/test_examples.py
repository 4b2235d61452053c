"""Every example runs, shortened to a few steps, and prints the expected result."""

import importlib.util
import pathlib

import pytest

EXAMPLES = sorted((pathlib.Path(__file__).parents[2] / "examples").glob("*.py"))
# Values for those of these constants that an example has.
SHORT_RUN = {"STEPS": 60, "EPOCHS": 2, "BATCH": 32}
SHORTER_RUNS = {"gan": {"STEPS": 2}, "wgan_gp": {"STEPS": 20}}
EXPECTED_OUTPUT = {
    "custom_step": "same logs: True",
    "distillation": "student with teacher",
    "forked_engine": "loss falls: True",
    "gan": "wrote gan.png",
    "custom_training_loop": "1 compiled program",
    "oscillator": "compiled programs: 1",
    "custom_evaluation": "agree: True",
    "custom_metrics": "mae from evaluate",
    "resume": "same weights: True, same history: True",
    "spirals": "1 compiled program",
    "vae": "wrote vae.png",
    "weighted_step": "agree: True",
    "wgan_gp": "wrote wgan_gp.png",
}


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in {**SHORT_RUN, **SHORTER_RUNS.get(path.stem, {})}.items():
        if hasattr(module, name):
            monkeypatch.setattr(module, name, value)
    module.main()
    output = capsys.readouterr().out
    assert EXPECTED_OUTPUT[path.stem] in output
    for image in [word for word in output.split() if word.endswith(".png")]:
        assert (tmp_path / image).stat().st_size > 10_000
