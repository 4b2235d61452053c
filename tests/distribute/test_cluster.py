"""Clusters from the environment, `podium launch`, heartbeats, and callbacks on several workers.

Tests of heartbeats hold the monitoring thread until all messages are sent, so that they do not
depend on how fast the machine is.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from launch_signals import is_running, send_signal, wait_until

import podium
from podium import distribute
from podium.callbacks import CallbackList
from podium.core._context import override
from podium.distribute._cluster import first_node_name
from podium.distribute._heartbeat import Heartbeat
from podium.distribute.launcher._command_line import main
from podium.distribute.launcher._launch import launch


def tf_config(kind, index, **tasks):
    return {"TF_CONFIG": json.dumps({"cluster": tasks, "task": {"type": kind, "index": index}})}


def test_find_cluster_reads_the_environment():
    cluster = distribute.find_cluster(tf_config("worker", 1, worker=["a:1", "b:2"]))
    assert (cluster.coordinator, cluster.num_workers, cluster.worker, cluster.is_chief) == (
        "a:1",
        2,
        1,
        False,
    )
    cluster = distribute.find_cluster(tf_config("worker", 0, chief=["c:3"], worker=["a:1", "b:2"]))
    assert (cluster.coordinator, cluster.num_workers, cluster.worker, cluster.host) == (
        "c:3",
        3,
        1,
        "c",
    )
    slurm = {
        "SLURM_NTASKS": "8",
        "SLURM_PROCID": "7",
        "SLURM_STEP_NODELIST": "gpu[07-10],x",
        "SLURM_JOB_ID": "123456",
    }
    assert distribute.find_cluster(slurm) == distribute.Cluster("gpu07:23456", 8, 7, "Slurm")
    step = {
        "SLURM_STEP_ID": "1",
        "SLURM_STEP_NUM_TASKS": "4",
        "SLURM_PROCID": "3",
    }  # fewer tasks than the job has, another port
    assert distribute.find_cluster({**slurm, **step}) == distribute.Cluster(
        "gpu07:24465", 4, 3, "Slurm"
    )
    assert (
        distribute.find_cluster({**slurm, **tf_config("worker", 0, worker=["a:1"])}).source
        == "TF_CONFIG"
    )
    assert distribute.find_cluster(slurm, "h:9", 2, 1) == distribute.Cluster(
        "h:9", 2, 1, "arguments"
    )


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        (
            {"OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.1.0.1:34911"},
            "10.96.0.1:21920",
        ),
        (
            {"OMPI_MCA_orte_hnp_uri": "1314521088.0;tcp6://[fe80::b9b,2620:10d::2]:43370"},
            "[fe80::b9b]:28928",
        ),
        ({"PMIX_NAMESPACE": "prterun-my-node-03-4711@1"}, "my-node-03:24711"),
        (
            {"PMIX_NAMESPACE": "prterun-my-node-03-4711@1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
            "127.0.0.1:24711",
        ),
        ({"PMIX_NAMESPACE": "367984641", "PODIUM_COORDINATOR_HOST": "first"}, "first:24641"),
    ],
)
def test_find_cluster_with_open_mpi(environment, address):
    ranks = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    batch = {
        "SLURM_NTASKS": "2",
        "SLURM_PROCID": "0",
        "SLURM_JOB_NODELIST": "a,b",
    }  # mpirun in an allocation of Slurm
    assert distribute.find_cluster({**ranks, **batch, **environment}) == distribute.Cluster(
        address, 2, 1, "Open MPI"
    )
    with pytest.raises(
        ValueError, match=r"2 workers on several machines .* PODIUM_COORDINATOR_HOST"
    ):
        distribute.find_cluster({**ranks, "PMIX_SERVER_URI2": "367984640.0;tcp4://127.0.0.1:35979"})


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("a", "a"),
        ("a,b", "a"),
        ("n[3,5]", "n3"),
        ("n[001-4]-x,b", "n001-x"),
        ("node[001-003,007],gpu5", "node001"),
        ("gpu5,node[1-2]", "gpu5"),
        ("rack[1-2]n[03-04],x", "rack1n03"),
    ],
)
def test_first_node_name_expands_node_lists(nodes, first):
    assert first_node_name(nodes) == first


@pytest.mark.parametrize(
    ("environment", "arguments", "message"),
    [
        ({}, (), "The workers are not known"),
        ({}, ("h:1", 2, None), "give all three"),
        ({}, ("h", 2, 1), "'host:port' was expected"),
        ({}, ("h:1", 2, 2), "workers are counted from 0"),
        (
            {"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_JOB_NODELIST": "a,b"},
            (),
            "Start the tasks with srun",
        ),
        ({"TF_CONFIG": "{"}, (), "TF_CONFIG='{' cannot be read"),
        (tf_config("ps", 0, worker=["a:1"]), (), "cannot be read .KeyError"),
    ],
)
def test_invalid_clusters_are_refused(environment, arguments, message):
    with pytest.raises(ValueError, match=message):
        distribute.find_cluster(environment, *arguments)


def test_launch_sets_the_index_of_each_worker_and_prefixes_output(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(
        "import json, os, sys\nprint(json.loads(os.environ['TF_CONFIG'])['task']['index'], "
        "sys.argv[1:])\n"
    )
    assert main(["--workers", "2", str(script), "--flag"]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == ["[0] 0 ['--flag']", "[1] 1 ['--flag']"]


def test_launch_stops_all_when_one_fails(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(
        "import json, os, sys, time\nif '\"index\": 1' in os.environ['TF_CONFIG']: "
        "sys.exit(3)\ntime.sleep(60)\n"
    )
    assert launch([str(script)], 2, heartbeat=-4.5) == 3  # half a second for the others
    assert (
        "podium launch: worker 1 ended with status 3; all workers are stopped."
        in capsys.readouterr().err
    )
    with pytest.raises(SystemExit):
        main(["--workers", "0", str(script)])
    assert "at least 1 was expected" in capsys.readouterr().err


def test_launch_ends_a_worker_that_the_others_have_lost(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("podium.distribute.launcher._launch._CAUSE_SECONDS", 0.5)
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys\n"
        "if '\"index\": 0' in os.environ['TF_CONFIG']: sys.exit(75)\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\nsignal.pause()\n"
    )
    assert launch([str(script)], 2) == 75
    message = (
        "worker 0 ended with status 75, because of worker 1 which does not end; "
        "all workers are stopped."
    )
    assert message in capsys.readouterr().err


LONG = 120  # seconds to wait for what always happens, however busy the machine is


class Chief:
    """The heartbeat of worker 0, connected to a worker 1 that is only a socket.

    Attributes:
        heartbeat: The object to test.
        peer: The socket of worker 1.
        messages: What the chief reported when it stopped.
        stopped: Set when it stops.
        monitoring: To be set to let the monitoring thread run.
    """

    def __init__(self, monkeypatch, seconds):
        monkeypatch.setattr("atexit.register", lambda function: None)
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)
        self.messages, self.stopped = [], threading.Event()
        self.monitoring = threading.Event()
        monitor = Heartbeat._monitor

        def monitor_when_allowed(heartbeat):
            self.monitoring.wait(LONG)
            monitor(heartbeat)

        monkeypatch.setattr(Heartbeat, "_monitor", monitor_when_allowed)
        self.heartbeat = Heartbeat(0, 2, seconds, self._stop)
        port = self.heartbeat.listen("127.0.0.1")
        stranger = socket.create_connection(("127.0.0.1", port))
        stranger.sendall(b"hello 1 1 here wrong\n")
        self.peer = socket.create_connection(("127.0.0.1", port))
        self.peer.sendall(b"hello 1 99 there token\n")
        self.heartbeat.connect("127.0.0.1", port, "token")
        stranger.close()

    def _stop(self, message):
        self.messages.append(message)
        self.stopped.set()

    def close(self):
        self.monitoring.set()
        self.heartbeat.close()
        self.peer.close()


@pytest.fixture
def make_chief(monkeypatch):
    """A function of the seconds of a heartbeat that returns a Chief, which is closed at the end."""
    chiefs = []

    def make(seconds=20.0):
        chiefs.append(Chief(monkeypatch, seconds))
        return chiefs[-1]

    yield make
    for chief in chiefs:
        chief.close()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda peer: peer.close(),
            "worker 1 (process 99 on there, 127.0.0.1) was lost: its connection was closed",
        ),
        (
            lambda peer: peer.sendall(b"failed ValueError: no\n"),
            "failed: ValueError: no. Worker 0 stops",
        ),
        (lambda peer: None, "was lost: it has not responded for"),
    ],
)
def test_lost_worker_is_named(make_chief, act, message):
    chief = make_chief(0.5 if "responded" in message else LONG)
    act(chief.peer)
    chief.monitoring.set()
    assert chief.stopped.wait(LONG) and message in chief.messages[0]


def test_worker_that_was_suspended_itself_extends_the_deadline_of_others(make_chief):
    chief = make_chief(4.0)
    chief.heartbeat._allow_for_suspension(100.0)
    # No later than now, however long the suspension was.
    assert chief.heartbeat._peers[1].last_seen <= time.monotonic()
    chief.monitoring.set()
    assert chief.stopped.wait(LONG)
    suspension = "(this worker, 0, had itself been suspended for 100 seconds)"
    assert suspension in chief.messages[0]


def test_chief_waits_at_most_a_heartbeat_after_goodbye(make_chief):
    chief = make_chief(0.5)
    chief.peer.sendall(b"bye\n")  # and does not end
    chief.monitoring.set()
    chief.heartbeat.leave()
    assert chief.messages == []


def test_worker_that_says_goodbye_is_not_reported_as_lost(make_chief):
    chief = make_chief()
    chief.peer.sendall(b"bye\n")
    chief.peer.close()
    chief.monitoring.set()
    chief.heartbeat.leave()  # waits until the other has ended
    assert chief.messages == []


class OneOfSeveralWorkers(distribute.Strategy):
    """Behaves like the strategy of one of several processes."""

    spans_processes = True

    def __init__(self, is_chief, others_stop=False):
        self.chief, self.others_stop = is_chief, others_stop

    @property
    def is_chief(self):
        return self.chief

    def reduce_across_workers(self, value, how="any"):
        return value or self.others_stop


class UserCallback(podium.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        pass


def make_callbacks(strategy):
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    model._distribute_strategy = strategy
    early_stopping = podium.callbacks.EarlyStopping("loss")
    return model, CallbackList(
        [UserCallback(), early_stopping],
        add_history=True,
        add_progbar=True,
        model=model,
        verbose=1,
        epochs=1,
    )


def test_only_the_chief_calls_callbacks_that_do_not_change_the_model():
    _, chief = make_callbacks(OneOfSeveralWorkers(True))
    assert [type(callback).__name__ for callback in chief] == [
        "UserCallback",
        "EarlyStopping",
        "History",
        "ProgbarLogger",
    ]
    model, other = make_callbacks(OneOfSeveralWorkers(False, others_stop=True))
    assert [type(callback).__name__ for callback in other] == ["EarlyStopping", "History"]
    other.on_train_begin()
    other.on_epoch_end(0, {"loss": 1.0})
    assert model.stop_training  # the chief's callback requested it


def test_only_the_chief_saves(tmp_path):
    model, _ = make_callbacks(OneOfSeveralWorkers(False))
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    assert list(tmp_path.iterdir()) == []


def test_collective_calls_in_callbacks_of_the_chief_alone_are_refused():
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    with (
        override(chief_only_callback="UserCallback.on_epoch_end"),
        pytest.raises(
            RuntimeError, match=r"called by UserCallback.on_epoch_end, .*`every_worker = True`"
        ),
    ):
        model.predict(np.ones((2, 1)))


# --- signals to `podium launch`


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "target", "status"),
    [
        ("SIGTERM", "launcher", 75),
        ("SIGHUP", "launcher", 75),
        ("SIGINT", "launcher", 130),
        ("SIGKILL", "launcher", -9),
        ("SIGTERM", "worker", 75),
        ("SIGKILL", "chief", 137),
    ],
)
def test_no_worker_outlives_the_launcher(name, target, status, tmp_path):
    returned, left_over, error = send_signal(name, target, tmp_path)
    assert left_over == [] and returned == status
    if target == "launcher" and name != "SIGKILL":
        assert f"podium launch: received {name}; the workers have 5 seconds to save" in error


def test_workers_that_ignore_a_signal_are_killed_after_the_grace_period(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pathlib.Path(sys.argv[1], str(os.getpid())).touch()\n"
        "time.sleep(60)\n"
    )
    marks = tmp_path / "marks"
    marks.mkdir()

    def send_when_started():
        wait_until(lambda: len(list(marks.iterdir())) == 2)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=send_when_started)
    thread.start()
    assert launch([str(script), str(marks)], 2, grace=0.2) == 128 + signal.SIGTERM
    thread.join()
    assert not any(is_running(path.name) for path in marks.iterdir())
    assert "received SIGTERM; the workers have 0.2 seconds" in capsys.readouterr().err


def test_processes_that_a_worker_has_started_end_with_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, file=open(sys.argv[1], 'w'))\n"
    )
    assert launch([str(script), str(tmp_path / "child")], 1) == 0
    child = int((tmp_path / "child").read_text())
    assert wait_until(lambda: not is_running(child), 10)


def test_worker_ends_when_the_connection_to_its_launcher_is_closed():
    """What ends workers where the system does not kill them."""
    own_end, other_end = socket.socketpair()
    worker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import time\n"
            "from podium.distribute.launcher._launcher_connection import connect_to_launcher\n"
            "connect_to_launcher()\nprint('connected', flush=True)\ntime.sleep(60)",
        ],
        env={**os.environ, "PODIUM_LAUNCHER_SOCKET": str(other_end.fileno())},
        pass_fds=(other_end.fileno(),),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    other_end.close()
    assert worker.stdout.readline() == "connected\n" and worker.poll() is None
    own_end.close()
    _, error = worker.communicate(timeout=60)
    assert worker.returncode == 75
    assert "podium: `podium launch` has ended, and so does this worker." in error
