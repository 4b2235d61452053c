"""`make soak`: runs that are killed at random times, also during a save, and resumed; all must end
like an uninterrupted run.

    python -m tests.soak [RUNS] [--seed N] [--kills N] [--sigterm] [--variants ...]

Each process is forked from this one, which has imported everything and computed nothing. Most
processes are killed from outside, at a random time after the start of the process or of training;
the others kill themselves at a random system call of a save. A run may be killed several times. At
the end all its files are compared, byte by byte, with those of an uninterrupted run: models, logs,
History, and no other files.
"""

import argparse
import hashlib
import os
import pathlib
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback

from tests.soak.job import VARIANTS, train

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


def start(directory, variant, kill_point=None):
    """Fork a process that trains.

    Returns:
        Its id, and a file descriptor that becomes readable when training starts.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    code = 1
    try:
        os.close(reading)
        if kill_point is not None:
            _kill_at(*kill_point)
        train(directory, variant, on_begin=lambda: os.write(writing, b"."))
        code = 0
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


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
            kill_modes = ["time", "time", "inside", "inside", "start"]
            mode = "term" if sigterm else generator.choice(kill_modes)
            kill_point = None
            if mode == "inside":
                kill_point = (generator.choice(_KILL_POINTS), generator.randint(1, 60))
            process, reading = start(directory, variant, kill_point)
            if mode != "inside":
                if mode != "start":
                    select.select([reading], [], [], 300)
                # SIGTERM is sent while `fit` runs.
                time.sleep(generator.random() * seconds * (0.5 if sigterm else 1.0))
                os.kill(process, signal.SIGTERM if sigterm else signal.SIGKILL)
            code = wait(process, reading)
            exits.append(f"{mode} {kill_point or ''} {code}")
            if code == 0:
                break
            if code not in (
                -signal.SIGKILL,
                75 if sigterm else None,
                -signal.SIGTERM if sigterm else None,
            ):
                return {}, exits
        else:
            exits.append(str(wait(*start(directory, variant))))
        return file_digests(directory), exits
    finally:
        shutil.rmtree(directory)


def main(runs, seed, variants, kills, sigterm):
    """Run the soak test; return the number of runs that end like the uninterrupted one."""
    generator = random.Random(seed)
    references = {variant: run_uninterrupted(variant) for variant in variants}
    num_equal = num_kills = num_inside = num_terminated = 0
    for index in range(runs):
        variant = variants[index % len(variants)]
        expected, seconds = references[variant]
        digests, exits = run_with_kills(variant, seconds, generator, kills, sigterm)
        kill_exits = [entry for entry in exits if " " in entry and not entry.endswith(" 0")]
        num_kills += len(kill_exits)
        num_inside += sum(entry.startswith("inside") for entry in kill_exits)
        num_terminated += sum(entry.endswith(" 75") for entry in exits)
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
