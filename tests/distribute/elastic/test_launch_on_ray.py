"""`podium launch --ray` with short scripts, which use neither JAX nor Podium, on a cluster of three
nodes, and with a cluster of its own.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from tests.distribute.elastic.ray_nodes import ROOT, Job
from tests.distribute.parameter_server.kill_processes import is_running

pytestmark = pytest.mark.slow

HEADER = """
import json, os, pathlib, signal, sys, time
task = json.loads(os.environ["TF_CONFIG"])
index, size = task["task"]["index"], len(task["cluster"]["worker"])
folder = pathlib.Path(sys.argv[1])
def mark(name):
    path = folder / name
    has_run = path.exists()
    path.touch()
    return has_run
"""


@pytest.fixture(scope="module")
def cluster():
    """Return the environment of a cluster."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.distribute.elastic.serve_cluster", "3"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    address, token = process.stdout.readline().split()
    environment = {"RAY_ADDRESS": address, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    yield environment
    process.communicate(timeout=120)


def write_script(folder, text):
    path = folder / "script.py"
    path.write_text(HEADER + text)
    return path, folder


def lines_of(job, prefix):
    return [line for line in job.lines if line.startswith(prefix)]


def wait_until_ended(pids, seconds=90):
    deadline = time.monotonic() + seconds
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [pid for pid in pids if is_running(pid)]


def test_lost_process_of_ray_and_preempted_workers_are_started_again(cluster, tmp_path):
    script = write_script(
        tmp_path,
        """
print("size", size, os.environ["NAME"], os.getcwd(), sys.argv[2:], flush=True)
if index == 1 and not mark("killed"):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
if index == 0 and mark("started") and not mark("stopped"):
    sys.exit(75)
if not (folder / "stopped").exists():
    time.sleep(60)
""",
    )
    options = ("--workers", "2:3", "--env", "NAME=value", "--one-per-node")
    with Job(*options, *script, "--flag", cwd=tmp_path, **cluster) as job:
        assert job.wait() == 0, job.lines
    started = lines_of(job, "podium launch: started")
    assert started == [started[0]] * 3
    assert started[0].startswith("podium launch: started 3 workers on 3 nodes; worker 0, the chief")
    text = f"size 3 value {tmp_path} ['--flag']"
    for worker in range(3):
        assert lines_of(job, f"[{worker}]").count(f"[{worker}] {text}") in (2, 3)
    losses = [line for line in job.lines if line.endswith("the group is formed again.")]
    assert len(losses) == 2
    assert "worker 1 on " in losses[0] and "was lost: its process of Ray was killed" in losses[0]
    text = losses[1].removeprefix("podium launch: worker ")
    if "does not respond" in text:  # on a busy machine Ray answers late, and names the other one
        assert text.startswith(("1 on ", "2 on "))
    else:
        assert text == "0 ended with status 75; the group is formed again."


def test_failing_script_ends_the_job_with_its_status_and_traceback(cluster, tmp_path):
    script = write_script(
        tmp_path,
        """
if index == 1:
    raise ValueError("a mistake of this script")
time.sleep(60)
""",
    )
    with Job("--workers", "2", *script, **cluster) as job:
        assert job.wait() == 1, job.lines
    assert "[1] ValueError: a mistake of this script" in job.lines
    assert job.lines[-1] == "podium launch: worker 1 ended with status 1; the job ends."
    assert len(lines_of(job, "podium launch: started")) == 1


def test_signal_to_the_launcher_lets_workers_save(cluster, tmp_path):
    script = write_script(
        tmp_path,
        """
signal.signal(signal.SIGTERM, lambda *_: (print("saved", flush=True), sys.exit(75)))
print("ready", flush=True)
while True:
    time.sleep(0.05)
""",
    )
    with Job("--workers", "2", *script, **cluster) as job:
        job.wait_for("ready")
        job.wait_for("ready")
        job.process.send_signal(signal.SIGHUP)
        assert job.wait() == 75, job.lines
    assert "podium launch: received SIGHUP; the workers have 30 seconds to save and exit." in (
        job.lines
    )
    assert {"[0] saved", "[1] saved"} <= set(job.lines)


def test_too_few_nodes_are_waited_for_and_end_the_job_after_a_time(cluster, tmp_path):
    script = write_script(tmp_path, "print('never')\n")
    with Job("--workers", "4:5", "--wait", "4", *script, **cluster) as job:
        assert job.wait() == 75, job.lines
    assert job.lines == [
        "podium launch: waits for nodes: there is capacity for 3 workers, and at least 4 are "
        "needed (each with CPU: 1), for 4 seconds at most.",
        "podium launch: gave up after 4 seconds (--wait). Start the job again: it continues from "
        "its last checkpoint.",
    ]


def test_killed_launcher_leaves_no_process_and_no_file(tmp_path):
    (tmp_path / "script").mkdir()
    script = write_script(
        tmp_path / "script",
        """
import subprocess
child = subprocess.Popen(["sleep", "1000"])
print("pids", os.getpid(), os.getppid(), child.pid, flush=True)
time.sleep(1000)
""",
    )
    with tempfile.TemporaryDirectory(prefix="p-") as folder:  # short: Ray's sockets are in it
        environment = {"TMPDIR": folder, "RAY_ADDRESS": ""}
        with Job("--workers", "1:2", *script, **environment) as job:
            lines = [job.wait_for(r"pids (\d+) (\d+) (\d+)") for _ in range(2)]
            pids = [int(pid) for line in lines for pid in line.groups()]
            raylet = pathlib.Path(f"/proc/{pids[1]}/stat").read_text().rpartition(")")[2].split()[1]
            assert all(map(is_running, pids)) and os.listdir(folder)
            job.process.kill()
            job.process.wait()
        scripts_and_actors = [pid for position, pid in enumerate(pids) if position % 3 != 2]
        assert wait_until_ended([*scripts_and_actors, int(raylet)]) == []
        deadline = time.monotonic() + 60
        while os.listdir(folder) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert os.listdir(folder) == []
