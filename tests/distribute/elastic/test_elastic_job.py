"""When an elastic job continues, and with which status it ends; without Ray."""

import signal
import sys
import types

import pytest

from podium.distribute._ray import import_ray
from podium.distribute.elastic._capacity import count_workers_that_fit
from podium.distribute.elastic._elastic_job import ElasticJob
from podium.distribute.elastic._options import (
    ElasticOptions,
    parse_environment,
    parse_resources,
    parse_worker_range,
)
from podium.distribute.elastic._worker_group import Event, WorkerEnd
from podium.distribute.launcher._command_line import main

# --- arguments


def test_workers_are_a_number_or_a_range():
    assert parse_worker_range("4") == (4, 4)
    assert parse_worker_range("2:8") == (2, 8)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--workers", "8:2"], "the minimum comes first. Write --workers 2:8."),
        (["--workers", "0:2"], "--workers 0:2: at least 1 was expected."),
        (["--workers", "all"], "--workers all: a number was expected, or with --ray a minimum and"),
        (["--cpus-per-worker", "0"], "--cpus-per-worker 0: a number above 0 was expected."),
        (["--gpus-per-worker", "-1"], "--gpus-per-worker -1: 0 or more was expected."),
        (["--resource", "TPU"], "--resource TPU: a name and an amount above 0 were expected"),
        (["--resource", "GPU=1"], "--resource GPU=1: use --gpus-per-worker 1 for this resource."),
        (["--env", "PODIUM_UNKNOWN"], "--env PODIUM_UNKNOWN: the variable is not set here."),
        (["--env", "=1"], "--env =1: NAME or NAME=VALUE was expected."),
        (["--wait", "0"], "--wait 0: a number of seconds above 0 was expected."),
        (["--heartbeat", "0"], "--heartbeat 0: a number of seconds above 0 was expected."),
        (["--grace", "-1"], "--grace -1: a number of seconds of 0 or more was expected."),
        (["--max-restarts", "-1"], "--max-restarts -1: 0 or more was expected."),
        (["--devices", "0"], "--devices 0: at least 1 was expected."),
    ],
)
def test_arguments_are_validated_before_ray_starts(arguments, message, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # to import it would fail
    with pytest.raises(SystemExit, match="2"):
        main(["--ray", *arguments, "script.py"])
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--workers", "2:4"], "--workers 2:4 was given without --ray: on this machine the number"),
        (["--address", "auto"], "--address was given without --ray. Add --ray to run the workers"),
        (["--one-per-node"], "--one-per-node was given without --ray."),
        (["--max-restarts", "0"], "--max-restarts was given without --ray."),
    ],
)
def test_arguments_of_ray_need_it(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "script.py"])
    assert message in " ".join(capsys.readouterr().err.split())


def test_missing_ray_is_reported_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"Elastic jobs run on Ray, which is not installed: `pip"):
        main(["--ray", "script.py"])
    with pytest.raises(ImportError, match=r"Parameter servers run on .*podium\[ray\]"):
        import_ray()


def test_resources_and_environment_of_workers():
    assert parse_resources(2, 0, []) == {"CPU": 2}
    assert parse_resources(0.5, 1, ["TPU=4"]) == {"CPU": 0.5, "GPU": 1, "TPU": 4.0}
    here = {"JAX_PLATFORMS": "cpu", "HOME": "/root", "TOKEN": "a=b"}
    assert parse_environment([], here) == {"JAX_PLATFORMS": "cpu"}
    chosen = parse_environment(["TOKEN", "MODE=x=y"], here)
    assert chosen == {"JAX_PLATFORMS": "cpu", "TOKEN": "a=b", "MODE": "x=y"}


# --- capacity


def test_capacity_is_counted_by_node():
    nodes = {"a": {"CPU": 4.0, "GPU": 1.0}, "b": {"CPU": 3.0}, "c": {"memory": 1e9}}
    assert count_workers_that_fit(nodes, {"CPU": 1}) == 7
    assert count_workers_that_fit(nodes, {"CPU": 2}) == 3
    assert count_workers_that_fit(nodes, {"CPU": 1, "GPU": 0.5}) == 2
    assert count_workers_that_fit(nodes, {"CPU": 1}, one_per_node=True) == 2
    assert count_workers_that_fit(nodes, {"CPU": 1}, one_per_node=True, used_nodes={"a"}) == 1
    assert count_workers_that_fit({"a": {"CPU": 0.3}}, {"CPU": 0.1}) == 3
    assert count_workers_that_fit({}, {"CPU": 1}) == 0


# --- what follows the end of a group

LOST = WorkerEnd(None, "on node7 (10.0.0.7) was lost: its node is gone (ActorDiedError)")
KILLED = WorkerEnd(-9, "was ended by signal 9")
ABORTED = WorkerEnd(-signal.SIGABRT, "was ended by signal 6")
STOPPED = WorkerEnd(75, "ended with status 75")
FAILED = WorkerEnd(1, "ended with status 1")
DONE = WorkerEnd(0, "ended with status 0")


def make_job(max_restarts=2, received=()):
    options = ElasticOptions(1, 4, {"CPU": 1}, max_restarts=max_restarts)
    return ElasticJob(None, ["script.py"], options, list(received))


def find_status(job, *ends, size=None):
    """Return what follows when workers have ended in this order."""
    location = types.SimpleNamespace(machine="node7", host="10.0.0.7")
    group = types.SimpleNamespace(locations=[location] * (size or len(ends)))
    return job._find_status(dict(enumerate(ends)), group)


def test_job_ends_when_all_workers_have():
    assert find_status(make_job(), DONE, DONE) == 0


@pytest.mark.parametrize(
    "ends, cause",
    [
        ([STOPPED, LOST], "worker 1 on node7 (10.0.0.7) was lost: its node is gone"),
        ([STOPPED, ABORTED, KILLED], "worker 2 was ended by signal 9"),
        ([ABORTED, STOPPED], "worker 0 was ended by signal 6"),
        ([DONE, KILLED], "worker 1 was ended by signal 9"),
        ([STOPPED, STOPPED], "worker 0 ended with status 75"),
    ],
)
def test_loss_is_named_and_the_group_is_formed_again(ends, cause, capsys):
    assert find_status(make_job(), *ends) is None
    report = capsys.readouterr().err
    assert report.startswith(f"podium launch: {cause}")
    assert report.endswith("; the group is formed again.\n")


def test_worker_that_does_not_end_is_named(capsys):
    assert find_status(make_job(), STOPPED, ABORTED, size=3) is None
    expected = "worker 2 on node7 (10.0.0.7) does not respond; the group is formed again.\n"
    assert capsys.readouterr().err == f"podium launch: {expected}"
    assert find_status(make_job(), KILLED, STOPPED, size=3) is None
    assert "worker 0 was ended by signal 9" in capsys.readouterr().err


def test_error_of_the_script_ends_the_job_with_its_status(capsys):
    assert find_status(make_job(), STOPPED, FAILED, LOST) == 1
    expected = "podium launch: worker 1 ended with status 1; the job ends.\n"
    assert capsys.readouterr().err == expected


def test_losses_without_a_new_checkpoint_are_bounded(capsys):
    job = make_job(max_restarts=1)
    assert find_status(job, KILLED) is None
    assert find_status(job, KILLED) == 128 + 9
    assert "formed again 1 time without a new checkpoint (--max-rest" in capsys.readouterr().err
    assert find_status(make_job(max_restarts=0), LOST) == 75


def test_only_a_checkpoint_that_is_further_counts():
    job = make_job(max_restarts=1)
    for path, position, is_further in [("a", 5, True), ("a", 5, False), ("b", 1, True)]:
        assert find_status(job, KILLED) is None
        job._record(Event(0, "report", f"checkpoint {position} {path}"))
        assert job._num_restarts == (not is_further)
        job._num_restarts = 0


def test_growth_is_not_a_loss():
    job = make_job(max_restarts=0)
    job._grows = True
    assert find_status(job, STOPPED, STOPPED) is None
    assert job._num_restarts == 0
    assert find_status(job, STOPPED, size=2) == 75  # the other one had to be killed


def test_signal_ends_the_job():
    assert find_status(make_job(received=[signal.SIGTERM]), STOPPED, STOPPED) == 75
    assert find_status(make_job(received=[signal.SIGTERM]), STOPPED, KILLED) == 128 + 15
    assert find_status(make_job(received=[signal.SIGINT]), STOPPED, size=2) == 128 + 2
