"""`make soak`: runs killed at random instants, also inside a save, and started again; all must end
as if nothing had happened.

    python -m tests.soak [RUNS] [--seed N] [--kills N] [--sigterm] [--variants ...]

Each process is forked from this one, which has imported everything and computed nothing. Most kills
come from outside, at a random time after training began or the process was started; the others come
from inside, at a random one of the calls that a save is made of. A run may be killed several times.
In the end all its files are compared, byte by byte, with those of a run that was never interrupted:
models, logs, History, and that nothing else is left.
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

_INSIDE = (
    "fsync",
    "rename",
    "replace",
    "mkdir",
    "rmdir",
    "unlink",
    "open",
    "close",
)  # of a save, and of what comes after it


def start(folder, variant, kill_inside=None):
    """Fork a process that trains; returns its id, and a descriptor that can be read from when
    training has begun.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    code = 1
    try:
        os.close(reading)
        if kill_inside is not None:
            _kill_at(*kill_inside)
        train(folder, variant, begun=lambda: os.write(writing, b"."))
        code = 0
    except SystemExit as left:
        code = left.code
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _kill_at(name, count):
    """Have this process killed at some call of a function of `os`, before or after it takes
    effect.
    """
    real, left = getattr(os, name), [count]

    def counted(*arguments, **options):
        left[0] -= 1
        if left[0] == 0 and count % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **options)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(os, name, counted)


def ended(process, reading=None, seconds=300):
    """Wait for a process; returns its exit code, negative for a signal."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            if reading is not None:
                os.close(reading)
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    raise TimeoutError(f"a run did not end within {seconds} seconds")


def files_of(folder):
    """Return a digest of each file in a folder, by its path; of checkpoints, which have numbers,
    only whether there are any.
    """
    found = {}
    for root, folders, names in os.walk(folder):
        if os.path.basename(root) == "backup" and all(
            name.startswith("checkpoint-") for name in folders
        ):
            folders.clear()
        for name in [
            *names,
            *(f"{one}/" for one in folders if not os.listdir(os.path.join(root, one))),
        ]:
            path = os.path.join(root, name)
            content = b"" if name.endswith("/") else pathlib.Path(path).read_bytes()
            found[os.path.relpath(path, folder)] = hashlib.sha256(content).hexdigest()
    return found


def reference(variant):
    """Run a variant without interruption; returns its files, and how long it took to train."""
    with tempfile.TemporaryDirectory() as folder:
        process, reading = start(folder, variant)
        select.select([reading], [], [], 300)
        began = time.monotonic()
        if ended(process, reading) != 0:
            raise RuntimeError(f"The uninterrupted run of {variant!r} failed.")
        return files_of(folder), time.monotonic() - began


def one_run(variant, seconds, dice, kills, sigterm):
    """Train, being killed once or more, up to `kills` times; returns the files in the end, and what
    ended each process.
    """
    while True:
        found, story = _one_attempt(variant, seconds, dice, kills, sigterm)
        if not story[0].endswith(" 0"):  # else it was over before the first kill
            return found, story


def _one_attempt(variant, seconds, dice, kills, sigterm):
    folder, story = tempfile.mkdtemp(), []
    try:
        for _ in range(dice.randint(1, kills)):
            way = "term" if sigterm else dice.choice(["time", "time", "inside", "inside", "start"])
            inside = (dice.choice(_INSIDE), dice.randint(1, 60)) if way == "inside" else None
            process, reading = start(folder, variant, inside)
            if way != "inside":
                if way != "start":
                    select.select([reading], [], [], 300)
                time.sleep(
                    dice.random() * seconds * (0.5 if sigterm else 1.0)
                )  # asked to end while `fit` runs
                os.kill(process, signal.SIGTERM if sigterm else signal.SIGKILL)
            code = ended(process, reading)
            story.append(f"{way} {inside or ''} {code}")
            if code == 0:
                break
            if code not in (
                -signal.SIGKILL,
                75 if sigterm else None,
                -signal.SIGTERM if sigterm else None,
            ):
                return {}, story
        else:
            story.append(str(ended(*start(folder, variant))))
        return files_of(folder), story
    finally:
        shutil.rmtree(folder)


def main(runs, seed, variants, kills, sigterm):
    """Run the soak; returns how many runs ended as they should."""
    dice = random.Random(seed)
    known = {variant: reference(variant) for variant in variants}
    good = killed = inside = asked = 0
    for number in range(runs):
        variant = variants[number % len(variants)]
        expected, seconds = known[variant]
        found, story = one_run(variant, seconds, dice, kills, sigterm)
        killed += sum(not entry.endswith(" 0") for entry in story if " " in entry)
        inside += sum(entry.startswith("inside") and not entry.endswith(" 0") for entry in story)
        asked += sum(entry.endswith(" 75") for entry in story)
        good += found == expected
        if found != expected:
            wrong = sorted(
                name
                for name in found.keys() | expected.keys()
                if found.get(name) != expected.get(name)
            )
            print(f"run {number} ({variant}) differs: {wrong}; {story}", flush=True)
        elif number % 10 == 9:
            print(f"{number + 1} runs, {good} equal, {killed} kills", flush=True)
    print(
        f"soak: {good} of {runs} runs end bit for bit equal to the uninterrupted one, after "
        f"{killed} kills",
        flush=True,
    )
    print(f"{inside} of the kills came inside a save or between its parts", flush=True)
    if sigterm:
        print(f"{asked} of them were asked to end, and saved and left with code 75", flush=True)
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("runs", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=3, help="at most, for one run")
    parser.add_argument(
        "--sigterm", action="store_true", help="ask runs to end instead of killing them"
    )
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    given = parser.parse_args()
    sys.exit(
        0
        if main(given.runs, given.seed, given.variants, given.kills, given.sigterm) == given.runs
        else 1
    )
