"""Costs of train steps on many devices, from their compiled programs: the statements of
docs/scaling.md hold for a small model too.
"""

import importlib.util
import json
import pathlib

import pytest
from test_equal_to_one_device import run_script

SCRIPT = pathlib.Path(__file__).parents[2] / "benchmarks" / "scaling.py"


def measured(devices, presets, models=("mlp",), width=64):
    """Return the rows of a process with that many devices, by model and preset."""
    done = run_script(
        SCRIPT,
        devices,
        "--devices",
        devices,
        "--preset",
        *presets,
        "--model",
        *models,
        "--width",
        width,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(row["model"], row["preset"]): row for row in rows}


@pytest.mark.slow
def test_costs_of_the_presets_on_8_and_64_devices():
    few, many = measured(8, ("data", "fsdp", "tensor")), measured(64, ("data", "fsdp"))
    data, more = few["mlp", "data"], many["mlp", "data"]
    assert (
        data["collectives"] == more["collectives"] == {"all-reduce": 1}
    )  # it does not grow with the devices
    weights = 4 * data["parameters"]
    assert 2 * weights * 7 / 8 <= data["bytes_sent"] < more["bytes_sent"] < 2.1 * weights
    assert data["state_bytes"] == more["state_bytes"] > 3 * weights
    fsdp, fsdp_more = few["mlp", "fsdp"], many["mlp", "fsdp"]
    assert fsdp["state_bytes"] == pytest.approx(data["state_bytes"] / 8, rel=0.01)
    assert fsdp_more["state_bytes"] == pytest.approx(data["state_bytes"] / 64, rel=0.03)
    assert (
        fsdp["collectives"] == fsdp_more["collectives"] == {"all-gather": 6, "all-reduce": 1}
    )  # the weights, not the slots
    assert few["mlp", "tensor"]["state_bytes"] == pytest.approx(data["state_bytes"] / 4, rel=0.02)


@pytest.mark.slow
def test_convolutions_communicate_only_gradients():
    assert measured(8, ("data",), ("cnn",), width=96)["cnn", "data"]["collectives"] == {
        "all-reduce": 1
    }


def test_collectives_are_parsed_from_programs():
    spec = importlib.util.spec_from_file_location("scaling", SCRIPT)
    scaling = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scaling)
    text = """
    %a = (f32[], f32[4,2]{1,0}) all-reduce(%x, %y), replica_groups=[2,4]<=[8], to_apply=%add
    %b = bf16[16]{0} all-gather(%z), replica_groups=mesh['axis_0'=4,'axis_1'=2] {'axis_0'}
    %c = f32[2]{0} reduce-scatter(%z), replica_groups={{0,1},{2,3}}, dimensions={0}
    %d = f32[4]{0} add(%e, %f)
    """
    counts, sent = scaling.collectives(text, 8)
    assert counts == {"all-reduce": 1, "all-gather": 1, "reduce-scatter": 1}
    assert sent == 36 * 2 * 0.75 + 32 * 0.75 + 8
