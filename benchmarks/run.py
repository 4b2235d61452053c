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
from peers import HERE, OTHERS, OWN, Failed, Peer, Worker
from report import Result
from workloads import WORKLOADS

FIRST_FITS = ("dense", "mlp", "lstm")
ENOUGH = 2  # rounds for a library whose one run takes longer than this
SLOW = 2.5  # seconds


def measure(
    name: str, peers: Iterable[Peer], rounds: int, seconds: float, warm: float
) -> list[Result]:
    """Measure one workload on all libraries, in alternating rounds."""
    workload = WORKLOADS[name]
    pairs = [
        (peer, number) for peer in peers for number in (workload.numbers if peer.fuses else (None,))
    ]
    results = [Result(peer.name, number, peer.keras) for peer, number in pairs]
    workers = [
        Worker(peer, name, number) for peer, number in pairs
    ]  # they import in parallel and compute one at a time

    def ask(slot: int, do: str, **arguments: float) -> dict:
        if results[slot].failure:
            return {}
        try:
            return workers[slot].ask(do, **arguments)
        except Failed as reason:
            results[slot].failure = str(reason)
            return {}

    try:
        for slot in range(len(workers)):
            ask(slot, "memory")  # all have imported before the first computes
        for slot, result in enumerate(results):
            result.first = ask(slot, "open", warm=warm).get("first", 0.0)
        for _ in range(min(rounds, workload.rounds)):
            for slot, result in enumerate(results):
                if len(result.steps) >= ENOUGH and result.steps[-1] * workload.steps > SLOW:
                    continue
                if answer := ask(slot, "measure", seconds=seconds):
                    result.steps.append(answer["step"])
        for slot, result in enumerate(results):
            result.peak = ask(slot, "memory").get("peak", 0.0)
    finally:
        for worker in workers:
            worker.close()
    return results


def merge_results(results: list[Result], others: list[Result]) -> list[Result]:
    """Merge the measurements of several processes: the memory layout of each is random."""
    for one, other in zip(results, others, strict=True):
        one.steps += other.steps
        one.failure = one.failure or other.failure
    return results


def first_fits(
    names: Iterable[str], peers: Iterable[Peer], rounds: int
) -> dict[tuple[str, str], list[float]]:
    """Time the first run of fresh processes; Podium's once without and once with what the process
    before has kept.
    """
    times: dict[tuple[str, str], list[float]] = {}
    for name, _ in itertools.product(names, range(rounds)):
        for peer in peers:
            if peer.kind == "jax-scan":
                continue
            with tempfile.TemporaryDirectory() as cache:
                for label in (
                    (f"{peer.name}, cold", f"{peer.name}, second process")
                    if peer.kind == "podium"
                    else (peer.name,)
                ):
                    worker = Worker(peer, name, cache=cache)
                    try:
                        times.setdefault((name, label), []).append(worker.ask("open")["first"])
                    except Failed as reason:
                        print(f"{name}, {label}: n/a, {reason}", flush=True)
                    finally:
                        worker.close()
    return times


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measure Podium beside its peers.")
    parser.add_argument(
        "--quick", action="store_true", help="about five minutes: fewer and shorter rounds"
    )
    parser.add_argument(
        "--self", action="store_true", help="Podium and plain JAX only, no other environments"
    )
    parser.add_argument(
        "--only", help=f"workloads, with commas: {','.join(WORKLOADS)}, and first_fit"
    )
    parser.add_argument("--peers", help="only these libraries, with commas")
    parser.add_argument("--rounds", type=int, help="how many rounds")
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help="how many processes of each library to measure, again each time",
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        help="the file to write; results.md next to this script for a complete run",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the weights of Podium and the twins, and measure nothing",
    )
    options = parser.parse_args()
    options.names = options.only.split(",") if options.only else [*WORKLOADS, "first_fit"]
    if unknown := set(options.names) - {*WORKLOADS, "first_fit"}:
        parser.error(
            f"unknown workloads: {', '.join(sorted(unknown))}. Choices: {', '.join(WORKLOADS)}, "
            "first_fit"
        )
    return options


def usable(options: argparse.Namespace) -> list[Peer]:
    """Return the libraries to measure; those that cannot be installed are named and left out."""
    wanted = set(options.peers.split(",")) if options.peers else None
    found = []
    for peer in OWN if options.self else OWN + OTHERS:
        if wanted is not None and peer.name not in wanted:
            continue
        if reason := peer.install():
            print(f"{peer.name}: n/a, could not be installed: {reason}", flush=True)
        else:
            found.append(peer)
    return found


def main() -> None:
    """Measure, print and write."""
    options = parsed()
    if options.check:
        # needs Podium, which the rest of this process does without: it stays small beside its
        # workers
        import check

        return check.main(options.names)
    peers = usable(options)
    rounds = options.rounds or (3 if options.quick else 7)
    seconds, warm = (0.3, 1.5) if options.quick else (0.6, 3.0)
    begun, results = time.perf_counter(), {}
    for name in [name for name in options.names if name in WORKLOADS]:
        measurements = [
            measure(name, peers, rounds, seconds, warm) for _ in range(options.processes)
        ]
        results[name] = functools.reduce(merge_results, measurements)
        print("\n".join(report.details({name: results[name]})), flush=True)
    parts = [
        "# Results",
        report.setting(rounds, seconds, options.processes),
        *report.summary(results),
        "",
        *report.targets(results),
    ]
    if "first_fit" in options.names:
        names = FIRST_FITS[1:2] if options.quick else FIRST_FITS
        parts += ["", *report.first_fits(first_fits(names, peers, 1 if options.quick else 3))]
    text = "\n".join([*parts, *report.details(results), ""])
    print(text, f"\n{(time.perf_counter() - begun) / 60:.1f} minutes", sep="")
    whole = not options.only and not options.peers and not options.self
    if path := options.out or (HERE / "results.md" if whole else None):
        path.write_text(text)


if __name__ == "__main__":
    main()
