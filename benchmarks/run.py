"""Compares Podium with JAX, Keras 3 on its three backends, tf_keras and Lightning.

Writes `results.md`. Every library has a separate process for a workload; in each round each process
measures one short repetition, one at a time, so that other load affects all of them. Run: make
bench, or python benchmarks/run.py --help
"""

from __future__ import annotations

import argparse
import functools
import itertools
import pathlib
import tempfile
import time
from collections.abc import Iterable

import report
from libraries import (
    BENCHMARKS_DIR,
    INSTALLED_LIBRARIES,
    OTHER_LIBRARIES,
    Library,
    Worker,
    WorkerError,
)
from report import Result
from workloads import WORKLOADS

FIRST_FITS = ("dense", "mlp", "lstm")
SLOW_RUN_SECONDS = 2.5
SLOW_RUN_ROUNDS = 2  # of a library whose run takes longer than that


def measure(
    name: str, libraries: Iterable[Library], rounds: int, seconds: float, warm: float
) -> list[Result]:
    """Measure one workload on all libraries, in alternating rounds."""
    workload = WORKLOADS[name]
    pairs = [
        (library, k)
        for library in libraries
        for k in (workload.steps_per_execution if library.fuses_steps else (None,))
    ]
    results = [Result(library.name, k, library.is_keras) for library, k in pairs]
    # They import in parallel and compute one at a time.
    workers = [Worker(library, name, k) for library, k in pairs]

    def request(slot: int, do: str, **arguments: float) -> dict:
        if results[slot].failure:
            return {}
        try:
            return workers[slot].request(do, **arguments)
        except WorkerError as reason:
            results[slot].failure = str(reason)
            return {}

    try:
        for slot in range(len(workers)):
            request(slot, "memory")  # all have imported before the first computes
        for slot, result in enumerate(results):
            result.first = request(slot, "open", warm=warm).get("first", 0.0)
        for _ in range(min(rounds, workload.rounds)):
            for slot, result in enumerate(results):
                if is_slow(result, workload.steps) and len(result.steps) >= SLOW_RUN_ROUNDS:
                    continue
                if response := request(slot, "measure", seconds=seconds):
                    result.steps.append(response["step"])
        for slot, result in enumerate(results):
            result.peak = request(slot, "memory").get("peak", 0.0)
    finally:
        for worker in workers:
            worker.close()
    return results


def is_slow(result: Result, steps: int) -> bool:
    """Return whether the last run took longer than `SLOW_RUN_SECONDS`."""
    return bool(result.steps) and result.steps[-1] * steps > SLOW_RUN_SECONDS


def merge_results(results: list[Result], new_results: list[Result]) -> list[Result]:
    """Merge the measurements of several processes: the memory layout of each is random."""
    for result, new in zip(results, new_results, strict=True):
        result.steps += new.steps
        result.failure = result.failure or new.failure
    return results


def first_fits(
    names: Iterable[str], libraries: Iterable[Library], rounds: int
) -> dict[tuple[str, str], list[float]]:
    """Time the first run in new processes; Podium's without a compilation cache, and with that of
    the previous process.
    """
    times: dict[tuple[str, str], list[float]] = {}
    for name, _ in itertools.product(names, range(rounds)):
        for library in libraries:
            if library.kind == "jax-scan":
                continue
            with tempfile.TemporaryDirectory() as cache:
                for label in (
                    (f"{library.name}, cold", f"{library.name}, second process")
                    if library.kind == "podium"
                    else (library.name,)
                ):
                    worker = Worker(library, name, cache=cache)
                    try:
                        times.setdefault((name, label), []).append(worker.request("open")["first"])
                    except WorkerError as reason:
                        print(f"{name}, {label}: n/a, {reason}", flush=True)
                    finally:
                        worker.close()
    return times


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Compare Podium with other libraries.")
    parser.add_argument(
        "--quick", action="store_true", help="about five minutes: fewer and shorter rounds"
    )
    parser.add_argument(
        "--self", action="store_true", help="Podium and plain JAX only, no other environments"
    )
    parser.add_argument(
        "--only", help=f"workloads, with commas: {','.join(WORKLOADS)}, and first_fit"
    )
    parser.add_argument("--libraries", help="only these libraries, with commas")
    parser.add_argument("--rounds", type=int, help="the number of rounds")
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help="the number of processes of each library, measured one after the other",
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        help="the file to write; results.md next to this script for a complete run",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the weights of Podium and of the JAX implementations, and measure nothing",
    )
    options = parser.parse_args()
    options.names = options.only.split(",") if options.only else [*WORKLOADS, "first_fit"]
    if unknown := set(options.names) - {*WORKLOADS, "first_fit"}:
        parser.error(
            f"unknown workloads: {', '.join(sorted(unknown))}. Choices: {', '.join(WORKLOADS)}, "
            "first_fit"
        )
    return options


def select_libraries(options: argparse.Namespace) -> list[Library]:
    """Return the libraries to measure, without those that cannot be installed."""
    names = set(options.libraries.split(",")) if options.libraries else None
    selected = []
    for library in INSTALLED_LIBRARIES + (() if options.self else OTHER_LIBRARIES):
        if names is not None and library.name not in names:
            continue
        if reason := library.install():
            print(f"{library.name}: n/a, could not be installed: {reason}", flush=True)
        else:
            selected.append(library)
    return selected


def main() -> None:
    """Measure, print and write."""
    options = parse_arguments()
    if options.check:
        # Imported only here, because it imports Podium: otherwise this process stays small.
        import check

        return check.main(options.names)
    libraries = select_libraries(options)
    rounds = options.rounds or (3 if options.quick else 7)
    seconds, warm = (0.3, 1.5) if options.quick else (0.6, 3.0)
    start, results = time.perf_counter(), {}
    for name in [name for name in options.names if name in WORKLOADS]:
        measurements = [
            measure(name, libraries, rounds, seconds, warm) for _ in range(options.processes)
        ]
        results[name] = functools.reduce(merge_results, measurements)
        print("\n".join(report.details({name: results[name]})), flush=True)
    parts = [
        "# Results",
        report.describe_setup(rounds, seconds, options.processes),
        *report.summary(results),
        "",
        *report.targets(results),
    ]
    if "first_fit" in options.names:
        names = FIRST_FITS[1:2] if options.quick else FIRST_FITS
        parts += ["", *report.first_fits(first_fits(names, libraries, 1 if options.quick else 3))]
    text = "\n".join([*parts, *report.details(results), ""])
    print(text, f"\n{(time.perf_counter() - start) / 60:.1f} minutes", sep="")
    is_complete = not options.only and not options.libraries and not options.self
    if path := options.out or (BENCHMARKS_DIR / "results.md" if is_complete else None):
        path.write_text(text)


if __name__ == "__main__":
    main()
