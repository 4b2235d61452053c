"""`make soak`: runs that are killed at random times, also during a save, and resumed; all must end
like an uninterrupted run.

    python -m tests.soak [RUNS] [--seed N] [--kills N] [--sigterm] [--variants ...]

Each process is forked from this one, which has imported everything and computed nothing; two
workers are started by `podium launch`. Most processes are killed from outside, at a random time
after the start of the process or of training; others kill themselves at a random system call of a
save, are interrupted by SIGINT, mostly while the first step is compiled, or find the disk full from
some write on, which ends them with an error. A run may be killed several times. At
the end all its files are compared, byte by byte, with those of an uninterrupted run: models, logs,
History, and no other files.
"""

import argparse
import errno
import hashlib
import os
import pathlib
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from tests.soak.job import BEGIN_VARIABLE, VARIANTS, train

# Exit codes of processes that did not end normally.
INTERRUPTED, DISK_FULL, TERMINATED = 130, 28, 75
_ROOT = pathlib.Path(__file__).parents[2]

# Functions of `os` that a save calls, and the code after it.
_KILL_POINTS = (
    "fsync",
    "rename",
    "replace",
    "mkdir",
    "rmdir",
    "unlink",
    "open",
    "close",
)
_EXPECTED_CODES = {
    "term": (TERMINATED, -signal.SIGTERM),
    "interrupt": (INTERRUPTED, TERMINATED, -signal.SIGINT),
    "full": (DISK_FULL,),
}


def start(directory, variant, kill_point=None):
    """Start a process that trains.

    Returns:
        Its id, and a file descriptor that becomes readable when training starts.
    """
    if variant.startswith("two workers"):
        return _launch(directory, variant)
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    code = 1
    try:
        os.close(reading)
        if kill_point is not None:
            (_fill_disk_at if kill_point[0] == "full" else _kill_at)(*kill_point)
        train(directory, variant, on_begin=lambda: os.write(writing, b"."))
        code = 0
    except SystemExit as error:
        code = error.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OSError as error:
        code = DISK_FULL if error.errno == errno.EFBIG else 1
        if code == 1:
            traceback.print_exc()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _launch(directory, variant):
    """Start two workers; returns what `start` returns, for the launcher."""
    begin_path = os.path.join(tempfile.mkdtemp(), "begin")
    os.mkfifo(begin_path)
    reading = os.open(begin_path, os.O_RDONLY | os.O_NONBLOCK)
    job = [str(_ROOT / "tests" / "soak" / "job.py"), directory, variant]
    process = subprocess.Popen(
        [sys.executable, "-m", "podium", "launch", "--workers", "2", *job],
        env={**os.environ, BEGIN_VARIABLE: begin_path, "PYTHONPATH": str(_ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    process.returncode = 0  # `wait` waits for it, not the Popen
    return process.pid, reading


def _fill_disk_at(_, count):
    """Limit the size of files from the given call of `os.fsync` on, as a full disk does."""
    original, remaining_calls = os.fsync, count

    def limit_files_and_sync(descriptor):
        nonlocal remaining_calls
        remaining_calls -= 1
        if remaining_calls == 0:
            _, hard_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (256, hard_limit))
        return original(descriptor)

    os.fsync = limit_files_and_sync


def _kill_at(name, count):
    """Kill this process at the given call of a function of `os`, before or after its effect."""
    original, remaining_calls = getattr(os, name), count

    def call_and_count(*arguments, **options):
        nonlocal remaining_calls
        remaining_calls -= 1
        if remaining_calls == 0 and count % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **options)
        if remaining_calls == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(os, name, call_and_count)


def wait(process, reading=None, seconds=300):
    """Wait for a process and return its exit code, negative for a signal."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        finished, status = os.waitpid(process, os.WNOHANG)
        if finished:
            if reading is not None:
                os.close(reading)
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    raise TimeoutError(f"a run did not end within {seconds} seconds")


def file_digests(directory):
    """Return a digest of each file in a directory, by path; numbered checkpoints are left out."""
    digests = {}
    for root, subdirectories, names in os.walk(directory):
        if os.path.basename(root) == "backup" and all(
            name.startswith("checkpoint-") for name in subdirectories
        ):
            subdirectories.clear()
        empty = [name for name in subdirectories if not os.listdir(os.path.join(root, name))]
        for name in [*names, *(f"{name}/" for name in empty)]:
            path = os.path.join(root, name)
            content = b"" if name.endswith("/") else pathlib.Path(path).read_bytes()
            digests[os.path.relpath(path, directory)] = hashlib.sha256(content).hexdigest()
    return digests


def run_uninterrupted(variant):
    """Run a variant without interruption; return its files and the training time."""
    with tempfile.TemporaryDirectory() as directory:
        process, reading = start(directory, variant)
        select.select([reading], [], [], 300)
        start_time = time.monotonic()
        if wait(process, reading) != 0:
            raise RuntimeError(f"The uninterrupted run of {variant!r} failed.")
        return file_digests(directory), time.monotonic() - start_time


def run_with_kills(variant, seconds, generator, kills, sigterm):
    """Train and be killed between once and `kills` times; return the files and the exits."""
    while True:
        digests, exits = _attempt_run(variant, seconds, generator, kills, sigterm)
        if not exits[0].endswith(" 0"):  # otherwise it ended before the first kill
            return digests, exits


def _attempt_run(variant, seconds, generator, kills, sigterm):
    directory, exits = tempfile.mkdtemp(), []
    try:
        for _ in range(generator.randint(1, kills)):
            kill_modes = ["time", "start", "interrupt"]
            if not variant.startswith("two workers"):
                kill_modes += ["time", "inside", "inside", "full"]
            mode = "term" if sigterm else generator.choice(kill_modes)
            kill_point = None
            if mode == "inside":
                kill_point = (generator.choice(_KILL_POINTS), generator.randint(1, 60))
            elif mode == "full":
                kill_point = ("full", generator.randint(1, 60))
            process, reading = start(directory, variant, kill_point)
            if kill_point is None:
                if mode != "start":
                    select.select([reading], [], [], 300)
                # SIGTERM is sent while `fit` runs; SIGINT mostly while its first step is compiled.
                part = {"term": 0.5, "interrupt": 0.3}.get(mode, 1.0)
                time.sleep(generator.random() * seconds * part)
                signals = {"term": signal.SIGTERM, "interrupt": signal.SIGINT}
                os.kill(process, signals.get(mode, signal.SIGKILL))
            code = wait(process, reading)
            exits.append(f"{mode} {kill_point or ''} {code}")
            if code == 0:
                break
            if code not in _EXPECTED_CODES.get(mode, (-signal.SIGKILL,)):
                return {}, exits
        else:
            exits.append(str(wait(*start(directory, variant))))
        return file_digests(directory), exits
    finally:
        shutil.rmtree(directory)


def _variant_of(index, variants):
    """Return the variant of a run: in turn, but those with two workers in one run of ten."""
    of_workers = [variant for variant in variants if variant.startswith("two workers")]
    others = [variant for variant in variants if variant not in of_workers]
    if of_workers and (index % 10 == 9 or not others):
        return of_workers[index // 10 % len(of_workers)]
    return others[index % len(others)]


def main(runs, seed, variants, kills, sigterm):
    """Run the soak test; return the number of runs that end like the uninterrupted one."""
    # A shell starts background jobs with SIGINT ignored, which the runs would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    generator = random.Random(seed)
    schedule = [_variant_of(index, variants) for index in range(runs)]
    references = {variant: run_uninterrupted(variant) for variant in dict.fromkeys(schedule)}
    num_equal = num_kills = num_inside = num_terminated = num_interrupted = num_full = 0
    for index, variant in enumerate(schedule):
        expected, seconds = references[variant]
        digests, exits = run_with_kills(variant, seconds, generator, kills, sigterm)
        kill_exits = [entry for entry in exits if " " in entry and not entry.endswith(" 0")]
        num_kills += len(kill_exits)
        num_inside += sum(entry.startswith("inside") for entry in kill_exits)
        num_terminated += sum(entry.endswith(" 75") for entry in exits)
        num_interrupted += sum(entry.startswith("interrupt") for entry in kill_exits)
        num_full += sum(entry.startswith("full") for entry in kill_exits)
        num_equal += digests == expected
        if digests != expected:
            different = sorted(
                name
                for name in digests.keys() | expected.keys()
                if digests.get(name) != expected.get(name)
            )
            print(f"run {index} ({variant}) differs: {different}; {exits}", flush=True)
        elif index % 10 == 9:
            print(f"{index + 1} runs, {num_equal} equal, {num_kills} kills", flush=True)
    print(
        f"soak: {num_equal} of {runs} runs end bit for bit equal to the uninterrupted one, after "
        f"{num_kills} kills",
        flush=True,
    )
    print(f"{num_inside} of the kills were inside a save or between its parts", flush=True)
    print(f"{num_interrupted} were by SIGINT, {num_full} errors by a full disk", flush=True)
    if sigterm:
        print(f"{num_terminated} of them saved after SIGTERM and exited with code 75", flush=True)
    return num_equal


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("runs", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=3, help="maximum per run")
    parser.add_argument("--sigterm", action="store_true", help="send SIGTERM instead of SIGKILL")
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    args = parser.parse_args()
    num_equal = main(args.runs, args.seed, args.variants, args.kills, args.sigterm)
    sys.exit(0 if num_equal == args.runs else 1)
