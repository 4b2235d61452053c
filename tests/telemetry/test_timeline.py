"""What an execution took, from looks at a device without waiting for it."""

import pytest

from podium.telemetry import _timeline
from podium.telemetry._timeline import Timeline

MS = 1_000_000


@pytest.fixture(autouse=True)
def without_threads(monkeypatch):
    monkeypatch.setattr(_timeline, "_FIRST_WATCH", 10**18)


class Result:
    """An array that a device has computed at some time."""

    def __init__(self, clock, end):
        self._clock = clock
        self.end = end

    def is_ready(self):
        return self._clock.now >= self.end

    def block_until_ready(self):
        raise AssertionError("the loop waited for the device to measure it")


class Loop:
    """A loop that runs executions on a device that computes them one after another."""

    def __init__(self, clock, milliseconds, limit=None):
        self.clock = clock
        self.milliseconds = milliseconds
        self.limit = limit
        self.timeline = Timeline()
        self.results = []
        self._idle_from = 0

    def run(self, count=1, steps=1, host=0.0):
        """Run executions; the host is busy for some milliseconds before each."""
        for _ in range(count):
            self.clock.move(host)
            start = self.clock.now
            head = self.timeline.head
            ended_before = head is not None and head.is_ready()
            self._idle_from = max(self._idle_from, start) + self.milliseconds * MS
            self.results.append(Result(self.clock, self._idle_from))
            if self.limit is not None and len(self.results) > self.limit:
                self.clock.now = max(self.clock.now, self.results[-1 - self.limit].end)
            self.timeline.add([self.results[-1]], start, steps, 10 * steps, ended_before)

    def compile_and_run(self, milliseconds):
        """Run an execution whose program is compiled first."""
        head = self.timeline.head
        ended_before = head is not None and head.is_ready()
        self.clock.move(milliseconds)
        self._idle_from = max(self._idle_from, self.clock.now) + self.milliseconds * MS
        self.results.append(Result(self.clock, self._idle_from))
        self.timeline.add([self.results[-1]], self.clock.now, 1, 10, ended_before, is_first=True)

    def read(self):
        """Read the latest result, which waits for it."""
        self.timeline.look(has_waited=False)
        self.clock.now = max(self.clock.now, self.results[-1].end)
        self.timeline.look(has_waited=True)

    def quantile(self, fraction=0.5):
        return self.timeline.distributions[0].quantile(fraction) / MS


def test_executions_of_a_busy_device_take_the_time_between_their_ends(clock):
    loop = Loop(clock, 10, limit=3)
    loop.run(100, host=2)
    loop.read()
    assert loop.quantile(0.5) == pytest.approx(10, rel=0.01)
    assert loop.quantile(0.99) == pytest.approx(10, rel=0.01)
    assert loop.timeline.busy == 1000 * MS
    assert (loop.timeline.executions, loop.timeline.samples) == (100, 1000)


def test_time_of_a_compilation_does_not_count_as_busy(clock):
    loop = Loop(clock, 1)
    loop.compile_and_run(1000)
    loop.run(20)  # all are being computed when the next program is compiled
    loop.compile_and_run(1000)
    loop.read()
    assert 0 < loop.timeline.busy <= 22 * MS
    assert loop.timeline.executions == 22


def test_short_epochs_do_not_make_latencies_shorter(clock):
    loop = Loop(clock, 10, limit=8)
    for _ in range(20):  # the first 8 of 10 are started without waiting
        loop.run(10)
        loop.read()
    assert loop.quantile(0.5) == pytest.approx(10, rel=0.01)
    assert loop.timeline.busy == 200 * 10 * MS


def test_a_quick_start_is_no_part_of_an_idle_device(clock):
    loop = Loop(clock, 10)
    for _ in range(5):
        loop.run()
        loop.read()
        clock.move(1000)  # the host does something else
    assert loop.quantile() == pytest.approx(10, rel=0.01)
    assert loop.timeline.busy == 50 * MS


def test_unseen_ends_are_lower_bounds(clock):
    loop = Loop(clock, 10)
    loop.run(50, host=100)
    assert loop.timeline.is_lower_bound
    assert loop.quantile() == 0
    assert loop.timeline.busy == 0


def test_unseen_ends_count_as_the_mean_of_the_others(clock):
    loop = Loop(clock, 10)
    for _ in range(5):
        loop.run()
        loop.read()
    loop.run(50, host=100)
    loop.read()
    assert not loop.timeline.is_lower_bound
    assert loop.quantile() == pytest.approx(10, rel=0.01)
    assert loop.timeline.busy == 55 * 10 * MS


def test_watched_executions_are_seen_while_the_host_does_something_else(clock, monkeypatch):
    class Watcher:
        """Sees every end at once."""

        def __init__(self):
            self.is_idle, self.seen = True, (-1, 0)

        def watch(self, number, array):
            self.seen = number, array.end

        def stop(self):
            pass

    monkeypatch.setattr(_timeline, "Watcher", Watcher)
    monkeypatch.setattr(_timeline, "_FIRST_WATCH", 0)
    loop = Loop(clock, 10)
    loop.run(50, host=100)
    assert not loop.timeline.is_lower_bound
    assert loop.quantile(0.01) == loop.quantile(0.99) == pytest.approx(10, rel=0.01)


def test_fused_steps_share_the_time_of_an_execution(clock):
    loop = Loop(clock, 40, limit=1)
    loop.run(20, steps=8)
    loop.read()
    executions, by_step = loop.timeline.distributions
    assert executions.quantile(0.5) / MS == pytest.approx(40, rel=0.01)
    assert by_step.quantile(0.5) / MS == pytest.approx(5, rel=0.01)
    assert loop.timeline.steps == 160


def test_memory_is_constant_if_executions_are_not_limited(clock):
    loop = Loop(clock, 10)
    loop.run(1000)
    assert len(loop.timeline._pending) <= 33
    loop.read()
    assert loop.timeline.busy == 1000 * 10 * MS
    assert loop.quantile() == pytest.approx(10, rel=0.01)


def test_steps_without_results_are_counted(clock):
    timeline = Timeline()
    timeline.add([], clock.now, 2, 16, ended_before=False)
    assert (timeline.executions, timeline.steps, timeline.samples) == (1, 2, 16)
    assert timeline.distributions[0].count == 0
