"""The thread that sees the ends of executions while the loop does other things."""

import gc
import threading

from podium.telemetry._watcher import Watcher


class Result:
    def __init__(self):
        self.done = threading.Event()

    def block_until_ready(self):
        assert self.done.wait(60)


class Fails:
    def block_until_ready(self):
        raise RuntimeError("the device has failed")


def wait_until_idle(watcher):
    while not watcher.is_idle:
        threading.Event().wait(0.001)


def test_the_end_of_a_watched_array_is_seen(clock):
    watcher, result = Watcher(), Result()
    watcher.watch(7, result)
    assert watcher.seen == (-1, 0) and not watcher.is_idle
    clock.move(5)
    result.done.set()
    wait_until_idle(watcher)
    assert watcher.seen == (7, clock.now)
    watcher.stop()


def test_an_array_that_fails_is_not_seen(clock):
    watcher = Watcher()
    watcher.watch(7, Fails())
    wait_until_idle(watcher)
    assert watcher.seen == (-1, 0)
    watcher.stop()


def test_the_thread_ends_and_may_be_started_again(clock):
    watcher, result = Watcher(), Result()
    watcher.stop()
    result.done.set()
    for number in (1, 2):
        watcher.watch(number, result)
        wait_until_idle(watcher)
        assert watcher.seen[0] == number
        thread = watcher._thread
        watcher.stop()
        assert not thread.is_alive()


def test_the_thread_ends_with_its_watcher(clock):
    watcher, result = Watcher(), Result()
    watcher.watch(1, result)
    thread = watcher._thread
    result.done.set()
    wait_until_idle(watcher)
    del watcher
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()
