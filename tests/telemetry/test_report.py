"""The report: one screen of text."""

import dataclasses

import numpy as np
import pytest

import podium
from podium.telemetry import (
    CallbackTime,
    Compilation,
    Latency,
    PredictMemory,
    Save,
    Synchronization,
    Telemetry,
)

SECTIONS = dict.fromkeys(("setup", "compiling", "data", "steps", "callbacks"), 0.0)
SECTIONS |= dict.fromkeys(("logging", "saving", "synchronizing", "validation", "other"), 0.0)


def telemetry(**values):
    latency = Latency(100, 0.011, 0.010, 0.012, 0.030, 0.05, False)
    defaults = {
        "kind": "fit",
        "stop_reason": "epochs",
        "started_at": 0.0,
        "wall_seconds": 2.0,
        "executions": 100,
        "steps": 100,
        "samples": 3200,
        "first_epoch": 0,
        "epochs": 2,
        "first_step": 0,
        "repeated_steps": 0,
        "execution_latency": latency,
        "step_latency": latency,
        "busy_seconds": 1.0,
        "sections": {**SECTIONS, "compiling": 0.5, "steps": 1.0, "callbacks": 0.3, "other": 0.2},
        "callbacks": [CallbackTime("EarlyStopping", "callbacks", 2, 0.3, 0.3)],
        "compilations": [Compilation("train_step", "x: float32[32, 8]", 0.5)],
        "num_compilations": 1,
        "saves": [],
        "num_saves": 0,
        "saved_bytes": 0,
        "validation": None,
        "memory": None,
        "synchronization": Synchronization(1, 0.0, 0.0, ""),
    }
    return Telemetry(**{**defaults, **values})


def test_the_report_of_an_ordinary_fit():
    assert telemetry().report(80).splitlines() == [
        "fit: 2 epochs, 100 steps in 100 executions, 2.00 s (epochs)",
        "samples/s   1,600; 2,133 without setup, compilation and validation",
        "goodput     50% of the time in steps that count",
        "step        p50 10.0 ms  p95 12.0 ms  p99 30.0 ms",
        "",
        "compiling        500 ms  25.0%",
        "  train_step     500 ms         x: float32[32, 8]",
        "steps            1.00 s  50.0%  the device was busy for 1.00 s",
        "callbacks        300 ms  15.0%",
        "  EarlyStopping  300 ms         2 calls",
        "other            200 ms  10.0%",
    ]


def test_everything_that_happened_is_in_the_report():
    bound = Latency(10, 0.1, 0.1, 0.1, 0.1, 0.1, True)
    names = [f"Callback{index}" for index in range(6)]
    report = telemetry(
        kind="fit",
        steps=800,
        repeated_steps=8,
        step_latency=bound,
        validation=telemetry(kind="validation"),
        memory=PredictMemory(4_000_000, 8_100_000),
        synchronization=Synchronization(4, 0.0, 0.002, ""),
        sections={**SECTIONS, "saving": 0.2, "validation": 0.5, "steps": 1.0},
        saves=[Save("a.keras", 2_500_000, 0.1, False), Save("checkpoint-3", 900, 0.1, True)],
        num_saves=12,
        saved_bytes=30_000_000,
        callbacks=[CallbackTime(name, "callbacks", 1, 0.1, 0.1) for name in names],
    ).report(80)
    for text in (
        "goodput     50% of the time in steps that count; 8 steps repeated",
        "execution   p50 10.0 ms",
        "step        at least p50 100 ms",
        "memory      outputs 4.0 MB, process +8.1 MB at the peak",
        "replicas    4, collectives 2.00 ms per step",
        "Callback3 100 ms 1 call 2 more 200 ms",
        "saving 200 ms 10.0% 30.0 MB",
        "2.5 MB 100 ms a.keras 10 more",
        "900 B 100 ms checkpoint-3 in the background",
        "validation 500 ms 25.0% 100 steps, p50 10.0 ms",
    ):
        assert " ".join(text.split()) in " ".join(report.split()), report


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_line_is_wider_than_the_terminal(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    report = telemetry(saves=[Save("x" * 200, 1, 0.1, False)], num_saves=1).report()
    assert max(map(len, report.splitlines())) <= width
    assert len(report.splitlines()) <= 24


def test_a_run_without_measurements_has_a_report():
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    with pytest.raises(RuntimeError, match="You must compile your model"):
        model.fit(np.ones((2, 2)), np.ones((2, 1)))
    report = model.telemetry.report()
    assert report.startswith("fit: 0 epochs, 0 steps in 0 executions")
    assert "(RuntimeError)" in report and "latency     none" in report
    empty = dataclasses.replace(telemetry(), wall_seconds=0.0, samples=None)
    assert "samples/s" not in empty.report()
