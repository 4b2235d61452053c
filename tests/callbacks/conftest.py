"""A minimal model for callbacks, a clock that tests set, and a screen that tests read."""

from types import SimpleNamespace

import pytest

from podium.callbacks import _progbar
from podium.telemetry.internal import clock as telemetry_clock


class FakeModel:
    def __init__(self, rate=0.1):
        self.stop_training = False
        self.metrics = [SimpleNamespace(name="loss")]
        self.optimizer = SimpleNamespace(learning_rate=rate)
        self.epoch = 0
        self.restored = None

    def get_weights(self):
        return self.epoch

    def set_weights(self, weights):
        self.restored = weights


@pytest.fixture
def model():
    return FakeModel()


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(telemetry_clock, "seconds", lambda: clock.now)
    return clock


class Screen(list):
    """Every drawing, in order."""

    def visible(self):
        """Return the visible text of each drawing."""
        return [text.replace("\r", "").rstrip(" ").replace(" \n", "\n") for text in self]


@pytest.fixture
def terminal(monkeypatch):
    """Collect every drawing, as in a terminal that is wide enough."""
    drawn = Screen()
    for module in (
        "_progbar",
        "_progbar_logger",
        "_early_stopping",
        "_reduce_lr_on_plateau",
        "_learning_rate_scheduler",
    ):
        monkeypatch.setattr(f"podium.callbacks.{module}.write_stdout", drawn.append)
    for module in ("_progbar", "_progbar_logger"):
        monkeypatch.setattr(f"podium.callbacks.{module}.can_redraw", lambda: True)
    monkeypatch.setattr(_progbar, "terminal_width", lambda: None)
    return drawn
