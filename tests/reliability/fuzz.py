"""Structure-aware fuzzing of every format that is read: `make fuzz`.

    python tests/reliability/fuzz.py --count 5000
    python tests/reliability/fuzz.py --only weights --count 200
    python tests/reliability/fuzz.py --index 1234          # one mutation again, with its traceback

Half of the mutations are damage, which checksums must find; half are forged, with checksums that
fit, so that deeper code is reached. Each file is loaded and verified in a worker process that may
take 2 GB more memory than it has when it is idle. What must hold:

- An error is a ValueError or an OSError, names the path, and has at most 2,000 characters.
- No code is run: audit hooks report processes, sockets, imports, compiled code, and files that are
  written outside of the folder; the payloads would create a file.
- No signal ends the process; loading and verifying each take at most 5 seconds of processor time.
- The resident memory grows by at most 20 times the size of the file and 96 MB.
- A damaged file of a format with checksums does not load with other values; values outside of the
  file are never read.
"""

import argparse
import collections
import ctypes
import gc
import json
import os
import pathlib
import queue
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings

MAX_CPU_SECONDS = 5.0
MAX_MEMORY = 2 << 30
MAX_EXPANSION = 20
FLOOR_BYTES = 96 << 20  # 64 MB that the budget of a file allows, and what Python allocates anyway
MAX_MESSAGE = 2000
HANG_SECONDS = 30.0  # of processor time, after which a worker is killed
WARM_UP = 2
# Files in memory: creating 11,000 on a disk takes the kernel 0.2 to 4 s.
MEMORY_DISK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

# --- the worker


class Canary:
    """Records events of the interpreter that reading a file must not cause."""

    def __init__(self, folder):
        self.events = []
        self.is_armed = False
        self._folder = os.path.realpath(folder)
        self._roots = set()
        self._real_paths = {}

    def install(self):
        self._roots = {name.partition(".")[0] for name in sys.modules} | sys.stdlib_module_names
        sys.addaudithook(self._hook)

    def clear(self):
        self.events.clear()
        self._real_paths.clear()

    def _hook(self, event, arguments):
        if not self.is_armed:
            return
        if event == "import":
            if arguments[0].partition(".")[0] not in self._roots and not self._is_in_package():
                self.events.append(f"import {arguments[0]}")
        elif event == "open":
            self._check_open(*arguments)
        elif event == "exec":
            filename = arguments[0].co_filename
            if not os.path.isabs(filename) and not filename.startswith("<"):
                self.events.append(f"exec {filename}")
            if "fuzz" in os.path.basename(filename):
                self.events.append(f"exec {filename}")
        elif event.startswith(("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn")):
            self.events.append(f"{event} {arguments}")
        elif event.startswith(
            ("socket.connect", "socket.bind", "pickle.find_class", "marshal.loads")
        ) and not (event == "marshal.loads" and self._is_importing()):
            self.events.append(f"{event} {arguments}"[:200])

    def _is_importing(self):
        return any(name.startswith("<frozen importlib") for name in self._callers())

    def _is_in_package(self):
        """Return whether an installed package imports something that it can also do without."""
        callers = (name for name in self._callers() if not name.startswith("<frozen importlib"))
        return "site-packages" in next(callers, "")

    def _callers(self):
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename != __file__:
                yield frame.f_code.co_filename
            frame = frame.f_back

    def _check_open(self, path, mode, flags):
        if not isinstance(path, (str, bytes)):
            return
        is_write = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) if isinstance(flags, int) else 0
        if not is_write:
            return
        folder, name = os.path.split(os.fsdecode(path))
        if folder not in self._real_paths:  # links are made between loads, not while one runs
            self._real_paths[folder] = os.path.realpath(folder)
        name = os.path.join(self._real_paths[folder], name)
        if os.path.islink(name):
            name = os.path.realpath(name)
        allowed = name.startswith((self._folder, "/proc/", "/dev/")) or ".cache" in name
        if not allowed:
            self.events.append(f"open {name} for writing")


def memory(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    return 0


class Measured:
    """Processor time and peak of the resident memory in a block."""

    def __enter__(self):
        gc.collect()
        _malloc_trim()
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        self._memory, self._seconds = memory("VmRSS"), time.process_time()
        return self

    def __exit__(self, *error):
        self.seconds = time.process_time() - self._seconds
        self.num_bytes = max(0, memory("VmHWM") - self._memory)


def _malloc_trim():
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


class Fuzzer:
    """Mutates and loads files in this process."""

    def __init__(self, folder, seed, only):
        from fuzz_formats import FORMATS
        from fuzz_mutations import write_secrets

        self.folder, self.seed = pathlib.Path(folder), seed
        self.formats = [item for item in FORMATS if only in (None, item.name)]
        self.canary = Canary(self.folder)
        self.originals = {}
        os.chdir(self.folder)
        for item in self.formats:
            original = self.folder / f"original {item.name}"
            original.mkdir()
            path = item.make(original)
            values = item.load(path)
            self.originals[item.name] = (path.relative_to(original), values)
        self.work = self.folder / "work"
        self.work.mkdir()
        write_secrets(self.work)
        shutil.copytree(self.work, self.folder / "secrets")

    def start(self):
        """Apply the limits, after everything that is used was imported and compiled."""
        for index in range(WARM_UP * len(self.formats)):
            self.run(index, seed=99)
        gc.collect()
        gc.freeze()  # so that later collections are quick
        self.canary.install()
        limit = memory("VmSize") + MAX_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def run(self, index, seed=None):
        """Run one mutation; return what happened as a dictionary."""
        import numpy as np

        item = self.formats[index % len(self.formats)]
        rng = np.random.default_rng([self.seed if seed is None else seed, index])
        shutil.rmtree(self.work)
        shutil.copytree(self.folder / "secrets", self.work)
        shutil.copytree(self.folder / f"original {item.name}", self.work, dirs_exist_ok=True)
        name, expected = self.originals[item.name]
        path = self.work / name
        is_forged = bool(rng.random() < 0.5)
        os.chdir(self.work)
        try:
            (item.forge if is_forged else damage)(path, rng)
        except Exception as error:  # h5py does not write everything that it is asked for
            return {"format": item.name, "outcome": f"not made: {type(error).__name__}"}
        size = sum(file.stat().st_size for file in files_of(path))
        result = {"format": item.name, "index": index, "forged": is_forged, "size": size}
        self.canary.clear()
        faults = []
        for action in (item.load, verify):
            if action is verify and item.name in ("json", "graph json", "tar", "zip"):
                continue
            outcome, values, measured = self._attempt(action, path, faults)
            result.setdefault("outcome", outcome)
            label = action.__name__
            if measured.seconds > MAX_CPU_SECONDS:
                faults.append(f"{label}: {measured.seconds:.1f} s")
            if measured.num_bytes > MAX_EXPANSION * size + FLOOR_BYTES:
                faults.append(f"{label}: {measured.num_bytes >> 20} MB for {size >> 10} KB")
            result["seconds"] = max(measured.seconds, result.get("seconds", 0))
            result["bytes"] = max(measured.num_bytes, result.get("bytes", 0))
            if action is not verify and outcome == "loaded" and values is not None:
                result["outcome"] = self._compare(item, values, expected, is_forged, faults)
            elif values and result["outcome"] == "other values" and not is_forged:
                faults.append("verify: verified a file with other values")
            del values
        if self.canary.events:
            faults.append(f"ran code: {self.canary.events[:3]}")
        for place in (self.folder, self.work, pathlib.Path("/tmp"), path.parent):
            if (place / "CANARY").exists():
                faults.append(f"created {place / 'CANARY'}")
                (place / "CANARY").unlink()
        return {**result, "faults": faults}

    def _attempt(self, action, path, faults):
        values, outcome = None, "loaded"
        with warnings.catch_warnings(), Measured() as measured:
            warnings.simplefilter("ignore")
            self.canary.is_armed = True
            try:
                values = action(path)
            except (ValueError, OSError) as error:
                outcome = "rejected"
                problem = describe_bad_message(str(error), path, action)
                if problem:
                    faults.append(f"{action.__name__}: {problem}")
                error.__traceback__ = None
            except BaseException as error:
                outcome = type(error).__name__
                lines = traceback.format_exc().splitlines()
                where = [line.strip() for line in lines if "podium" in line and "File" in line]
                faults.append(f"{action.__name__}: {outcome}: {str(error)[:150]} {where[-1:]}")
            finally:
                self.canary.is_armed = False
        return outcome, values, measured

    def _compare(self, item, values, expected, is_forged, faults):
        import numpy as np

        if any(value.size > 1 and (value == 7).all() for value in values):
            faults.append("values of another file were read")
        if len(values) == len(expected) and all(
            np.array_equal(value, other, equal_nan=True)
            for value, other in zip(values, expected, strict=True)
        ):
            return "same values"
        if item.has_checksums and not is_forged:
            faults.append("a damaged file has other values")
        return "other values"


def describe_bad_message(message, path, action):
    if len(message) > MAX_MESSAGE:
        return f"a message of {len(message)} characters"
    if path.name not in message and path.suffix != ".json":
        return f"the message does not name the path: {message[:200]}"
    return None


def verify(path):
    import podium

    report = podium.saving.verify(path)
    str(report)
    return bool(report)


def files_of(path):
    """Return the files that a path stands for: one, those of a directory, or of a prefix."""
    if path.is_dir():
        return [item for item in path.rglob("*") if item.is_file()]
    if path.is_file():
        return [path]
    return [item for item in path.parent.glob(path.name + ".*") if item.is_file()]


def damage(path, rng):
    """Damage one file, and leave checksums as they were."""
    from fuzz_mutations import DAMAGE, choose

    files = sorted(item for item in files_of(path) if item.stat().st_size)
    target = choose(rng, files)
    target.write_bytes(choose(rng, DAMAGE)(target.read_bytes(), rng))


def work(seed, only):
    """Run the indices that come from standard input; write one line of JSON for each."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
        fuzzer = Fuzzer(folder, seed, only)
        fuzzer.start()
        out.write('"ready"\n')
        for line in sys.stdin:
            out.write(json.dumps(fuzzer.run(int(line)), default=str) + "\n")
        os.chdir("/")


# --- the driver


class Worker:
    """A worker process, which is replaced when it dies or hangs."""

    def __init__(self, seed, only):
        command = [sys.executable, "-u", __file__, "--worker", "--seed", str(seed)]
        command += ["--only", only] if only else []
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "MALLOC_ARENA_MAX": "2"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self._lines = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        ready = self._receive(300)
        if ready != '"ready"\n':
            raise RuntimeError(f"The worker did not start: {ready!r}.")

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _receive(self, max_cpu_seconds):
        start = self._cpu_seconds()
        while True:
            try:
                return self._lines.get(timeout=1)
            except queue.Empty:
                if self._cpu_seconds() - start > max_cpu_seconds:
                    return None

    def _cpu_seconds(self):
        try:
            fields = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0.0
        user, system = fields.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def run(self, index):
        """Return the result of one mutation, or None and the reason why the worker ended."""
        self._process.stdin.write(f"{index}\n")
        self._process.stdin.flush()
        line = self._receive(HANG_SECONDS)
        if line:
            return json.loads(line)
        if line is None:
            return {"format": "?", "index": index, "outcome": "hang", "faults": ["hang"]}
        code = self._process.wait()
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return {"format": "?", "index": index, "outcome": "crash", "faults": [f"crash: {name}"]}

    def stop(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdin.close()
        self._process.stdout.close()


def run(count, seed=0, only=None, start=0, report=None):
    """Run mutations in worker processes; return the results."""
    results, worker = [], None
    try:
        for index in range(start, start + count):
            worker = worker or Worker(seed, only)
            result = worker.run(index)
            results.append(result)
            if report is not None:
                report(result)
            if result["outcome"] in ("hang", "crash"):
                worker.stop()
                worker = None
    finally:
        if worker is not None:
            worker.stop()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", help="one format")
    parser.add_argument("--index", type=int, help="run one mutation in this process")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.seed, options.only)
        return
    if options.index is not None:
        with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
            fuzzer = Fuzzer(folder, options.seed, options.only)
            print(json.dumps(fuzzer.run(options.index), indent=1, default=str))
            os.chdir("/")
        return

    def report(result):
        if result.get("faults"):
            print("FAULT", json.dumps(result), flush=True)

    results = run(options.count, options.seed, options.only, options.start, report)
    outcomes = collections.defaultdict(collections.Counter)
    for result in results:
        outcomes[result["format"]][result["outcome"]] += 1
    for name, counts in outcomes.items():
        print(f"{name:15}", dict(counts))
    seconds = max(result.get("seconds", 0) for result in results)
    grown = max(result.get("bytes", 0) for result in results)
    num_faults = sum(bool(result.get("faults")) for result in results)
    print(
        f"{len(results)} mutations, {num_faults} faults; at most {seconds:.2f} s and "
        f"{grown >> 20} MB"
    )
    sys.exit(num_faults > 0)


if __name__ == "__main__":
    main()
