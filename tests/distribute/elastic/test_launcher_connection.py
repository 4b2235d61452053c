"""What a script does when its launcher asks it to: two scripts, as connections in this process."""

import queue
import socket
import threading
import types

from podium.distribute.launcher._launcher_connection import LauncherConnection


class Script:
    """A script that passes safepoints until it is to stop."""

    def __init__(self, is_elastic=False):
        self._launcher, connection = socket.socketpair()
        self._ends = queue.Queue()
        self.connection = LauncherConnection(connection, self._ends.put, is_elastic)
        self._lines = self._launcher.makefile("r")
        self.num_safepoints = 0

    def close(self):
        """End the launcher's side, and return with which message the script ends."""
        self._lines.close()
        self._launcher.close()
        return self._ends.get(timeout=60)

    def receive(self):
        return self._lines.readline().strip()

    def send(self, message):
        self._launcher.sendall(f"{message}\n".encode())

    def pass_safepoint(self):
        self.num_safepoints += 1
        return self.connection.pass_safepoint()

    def run_until_stopped(self):
        while not self.pass_safepoint():
            pass


def test_workers_at_different_steps_stop_at_the_same_safepoint():
    scripts = [Script(), Script()]
    for script, num_safepoints in zip(scripts, (5, 7), strict=True):
        assert script.receive() == "connected"
        script.connection.is_stoppable = True
        assert not any(script.pass_safepoint() for _ in range(num_safepoints))
        script.send("pause")
    assert [script.receive() for script in scripts] == ["safepoint 5", "safepoint 7"]
    threads = [threading.Thread(target=script.run_until_stopped) for script in scripts]
    for thread in threads:
        thread.start()  # waits at the next safepoint, until all have reported
    for script in scripts:
        script.send("stop 8")
    for thread in threads:
        thread.join(60)
    assert [script.num_safepoints for script in scripts] == [8, 8]
    assert all(script.connection.stops for script in scripts)
    for script in scripts:
        assert script.close() == "podium: `podium launch` has ended, and so does this worker."


def test_run_that_cannot_stop_is_not_paused():
    script = Script()
    assert script.receive() == "connected"
    script.send("pause")
    assert script.receive() == "safepoint -1"
    assert not script.pass_safepoint()
    script.connection.is_stoppable = True
    script.send("pause")
    assert script.receive() == "safepoint 1"
    script.send("continue")
    assert not script.pass_safepoint() and not script.connection.stops
    script.close()


def test_worker_grows_when_the_launcher_asks_for_it(monkeypatch):
    from podium.distribute.elastic import _member
    from podium.distribute.launcher import _launcher_connection

    script = Script(is_elastic=True)
    strategy = types.SimpleNamespace(reduce_across_workers=lambda value, how: value)
    monkeypatch.setattr(_launcher_connection, "_connections", [])
    assert not _member.should_grow_at_checkpoint(strategy)
    monkeypatch.setattr(_launcher_connection, "_connections", [script.connection])
    assert not _member.should_grow_at_checkpoint(strategy)
    script.receive()
    script.send("grow")
    script.send("pause")  # answered after that
    assert script.receive() == "safepoint -1"
    assert _member.should_grow_at_checkpoint(strategy)
    _member.report_checkpoint("/a\nb", 12)
    assert script.receive() == "checkpoint 12 /a b"
    script.close()
