"""A clock that stands still unless a test moves it, and small models."""

import numpy as np
import pytest

import podium
from podium.telemetry.internal import clock as telemetry_clock

MS = 1_000_000  # nanoseconds


class FakeClock:
    def __init__(self):
        self.now = 10**12

    def move(self, milliseconds):
        self.now += int(milliseconds * MS)


@pytest.fixture
def clock(monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr(telemetry_clock, "ns", lambda: clock.now)
    monkeypatch.setattr(telemetry_clock, "seconds", lambda: clock.now / 1e9)
    return clock


@pytest.fixture
def model():
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=1)
    return model


@pytest.fixture
def data():
    return np.ones((40, 2), "float32"), np.ones((40, 1), "float32")
