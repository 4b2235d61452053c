"""Where a cluster is learnt from, what `podium launch` does without JAX, and how callbacks are
shared between workers.
"""

import json
import socket
import sys
import threading
import time

import numpy as np
import pytest

import podium
from podium import distribute
from podium.callbacks import CallbackList
from podium.core._context import override
from podium.distribute._cluster import first_node
from podium.distribute._heartbeat import Watch
from podium.distribute._launch import launch, main


def tf_config(kind, index, **tasks):
    return {"TF_CONFIG": json.dumps({"cluster": tasks, "task": {"type": kind, "index": index}})}


def test_clusters_are_found_in_the_environment():
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
def test_workers_of_open_mpi_find_the_first(environment, address):
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
def test_short_lists_of_nodes(nodes, first):
    assert first_node(nodes) == first


@pytest.mark.parametrize(
    ("environment", "arguments", "message"),
    [
        ({}, (), "Nothing says which workers there are"),
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
def test_what_is_no_cluster_is_said(environment, arguments, message):
    with pytest.raises(ValueError, match=message):
        distribute.find_cluster(environment, *arguments)


def test_launch_gives_each_worker_its_place_and_prefixes_output(tmp_path, capsys):
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


def test_launch_ends_a_worker_that_the_others_gave_up(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("podium.distribute._launch._MOMENT", 0.5)
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys\n"
        "if '\"index\": 0' in os.environ['TF_CONFIG']: sys.exit(75)\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\nsignal.pause()\n"
    )
    assert launch([str(script)], 2) == 75
    message = "worker 0 ended with status 75, because of worker 1 which does not end; all workers are stopped."
    assert message in capsys.readouterr().err


def watched(monkeypatch, heartbeat=20.0):
    """Return a chief that watches a worker that is only a socket, that socket, and what the chief
    says when it stops.
    """
    monkeypatch.setattr("atexit.register", lambda function: None)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    said, stopped = [], threading.Event()

    def stop(message):
        said.append(message)
        stopped.set()

    chief = Watch(0, 2, heartbeat, stop)
    port = chief.listen("127.0.0.1")
    stranger = socket.create_connection(("127.0.0.1", port))
    stranger.sendall(b"hello 1 1 here wrong\n")
    peer = socket.create_connection(("127.0.0.1", port))
    peer.sendall(b"hello 1 99 there token\n")
    chief.meet("127.0.0.1", port, "token")
    stranger.close()
    return chief, peer, said, stopped


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (
            lambda peer: peer.close(),
            "worker 1 (process 99 on there, 127.0.0.1) was lost: its connection was closed",
        ),
        (
            lambda peer: peer.sendall(b"failed ValueError: no\n"),
            "failed: ValueError: no. Worker 0 stops",
        ),
        (lambda peer: None, "was lost: it has not been heard of for"),
    ],
)
def test_the_watch_names_who_is_lost(monkeypatch, does, message):
    chief, peer, said, stopped = watched(monkeypatch, heartbeat=0.5 if "heard" in message else 20.0)
    does(peer)
    assert stopped.wait(30) and message in said[0]
    chief.close()
    peer.close()


def test_who_was_stopped_itself_does_not_blame_others(monkeypatch):
    chief, peer, said, stopped = watched(monkeypatch, heartbeat=0.5)
    chief._excuse(100.0)
    assert chief._peers[1].heard <= time.monotonic()  # no later than now, however long it was
    assert (
        stopped.wait(30) and "(this worker, 0, had itself been stopped for 100 seconds)" in said[0]
    )
    chief.close()
    peer.close()


def test_the_chief_does_not_wait_for_ever_for_who_said_goodbye(monkeypatch):
    chief, peer, said, _ = watched(monkeypatch, heartbeat=0.5)
    peer.sendall(b"bye\n")  # and does not end
    chief.leave()
    assert said == []
    chief.close()
    peer.close()


def test_the_watch_lets_go_who_says_goodbye(monkeypatch):
    chief, peer, said, _ = watched(monkeypatch)
    peer.sendall(b"bye\n")
    peer.close()
    chief.leave()  # waits until the other has ended
    assert said == []
    chief.close()


class Workers(distribute.Strategy):
    """Stands for one of several processes."""

    spans_processes = True

    def __init__(self, is_chief, others_stop=False):
        self.chief, self.others_stop = is_chief, others_stop

    @property
    def is_chief(self):
        return self.chief

    def agreed(self, value, how="any"):
        return value or self.others_stop


class Own(podium.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        pass


def listeners(strategy):
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    model._distribute_strategy = strategy
    stopping = podium.callbacks.EarlyStopping("loss")
    return model, CallbackList(
        [Own(), stopping], add_history=True, add_progbar=True, model=model, verbose=1, epochs=1
    )


def test_callbacks_are_the_chiefs_unless_they_change_the_model():
    _, chief = listeners(Workers(True))
    assert [type(each).__name__ for each in chief] == [
        "Own",
        "EarlyStopping",
        "History",
        "ProgbarLogger",
    ]
    model, other = listeners(Workers(False, others_stop=True))
    assert [type(each).__name__ for each in other] == ["EarlyStopping", "History"]
    other.on_train_begin()
    other.on_epoch_end(0, {"loss": 1.0})
    assert model.stop_training  # the chief's callback said so


def test_saving_is_the_chiefs(tmp_path):
    model, _ = listeners(Workers(False))
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    assert list(tmp_path.iterdir()) == []


def test_what_others_would_wait_for_is_refused_on_the_chief_alone():
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    with (
        override(chief_only_callback="Own.on_epoch_end"),
        pytest.raises(RuntimeError, match=r"called by Own.on_epoch_end, .*`every_worker = True`"),
    ):
        model.predict(np.ones((2, 1)))
