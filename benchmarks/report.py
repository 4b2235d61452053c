"""Markdown tables of the measurements of `run.py`: ratios to Podium and to JAX, and targets."""

from __future__ import annotations

import dataclasses
import platform
import statistics
from collections.abc import Iterator
from importlib import metadata

from workloads import WORKLOADS

TWINS = ("jax-loop", "jax-scan")


@dataclasses.dataclass
class Result:
    """The measurements of one library on one workload: seconds per step in each round, or why
    not.
    """

    peer: str
    number: int | None = None
    keras: bool = False
    steps: list[float] = dataclasses.field(default_factory=list)
    first: float = 0.0
    peak: float = 0.0
    failure: str = ""

    @property
    def name(self) -> str:
        """The name in the tables."""
        return self.peer if self.number is None else f"{self.peer}, k={self.number}"

    @property
    def best(self) -> float:
        """The best of the rounds."""
        return min(self.steps)

    @property
    def spread(self) -> float:
        """The relative difference of the median round from the best."""
        return statistics.median(self.steps) / self.best - 1


Results = dict[str, list[Result]]


def duration(seconds: float) -> str:
    """Format a duration with a suitable unit."""
    return f"{seconds * 1e6:,.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"


def with_measurements(results: list[Result], *names: str) -> list[Result]:
    """Return the results with measurements, of the named libraries or of all."""
    return [result for result in results if result.steps and (not names or result.peer in names)]


def fastest(results: list[Result]) -> Result | None:
    """Return the fastest result."""
    return min(results, key=lambda result: result.best, default=None)


def ratio(result: Result | None, baseline: Result | None) -> str:
    """Format the ratio of two times."""
    return f"{result.best / baseline.best:.2f}" if result and baseline else "n/a"


def summary(results: Results) -> Iterator[str]:
    """Yield one line per workload: times relative to Podium."""
    peers = list(
        dict.fromkeys(
            result.peer for found in results.values() for result in found if result.peer != "podium"
        )
    )
    yield f"| time a step / Podium's | Podium | {' | '.join(peers)} |"
    yield f"| --- | ---: |{' ---: |' * len(peers)}"
    for name, found in results.items():
        podium = fastest(with_measurements(found, "podium"))
        shown = [ratio(fastest(with_measurements(found, peer)), podium) for peer in peers]
        time = duration(podium.best) if podium else "n/a"
        yield f"| {WORKLOADS[name].title} | {time} | {' | '.join(shown)} |"
    yield ""
    yield (
        "Above 1: Podium is faster. Where Keras was measured with several `steps_per_execution`, "
        "the best is shown."
    )


def details(results: Results) -> Iterator[str]:
    """Yield all measurements of each workload."""
    for name, found in results.items():
        podium, twin = (
            fastest(with_measurements(found, "podium")),
            fastest(with_measurements(found, *TWINS)),
        )
        yield f"\n### {WORKLOADS[name].title}\n"
        yield "| | a step | median over best | x Podium | x plain JAX | first run, s | peak MiB |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        for result in found:
            if result.failure:
                yield f"| {result.name} | n/a | | | | | |"
                continue
            ratios = f"{ratio(result, podium)} | {ratio(result, twin)}"
            yield (
                f"| {result.name} | {duration(result.best)} | +{result.spread:.0%} | {ratios} "
                f"| {result.first:.2f} | {result.peak:,.0f} |"
            )
        yield from (f"\n{result.name}: n/a, {result.failure}" for result in found if result.failure)


def targets(results: Results) -> Iterator[str]:
    """Yield the targets and the measured ratios."""
    rows: list[tuple[str, float | None, str, float]] = []

    def add(
        what: str, workload: str, above: list[Result], below: list[Result], sign: str, bound: float
    ) -> None:
        upper, lower = fastest(above), fastest(below)
        if workload in results:
            rows.append((what, upper.best / lower.best if upper and lower else None, sign, bound))

    def of(workload: str, *names: str) -> list[Result]:
        return with_measurements(results.get(workload, []), *names)

    podium = "podium"
    kerases = [result for result in of("dense") if result.keras]
    defaults = [result for result in kerases if result.number is None]
    add(
        "Dense(1): fastest Keras at its default / Podium",
        "dense",
        defaults,
        of("dense", podium),
        ">=",
        20,
    )
    add("Dense(1): Keras at its best k / Podium", "dense", kerases, of("dense", podium), ">=", 8)
    add(
        "Dense(1): Podium / hand-written scan",
        "dense",
        of("dense", podium),
        of("dense", "jax-scan"),
        "<=",
        3,
    )
    add(
        "Dense(1), long epochs: Podium / scan",
        "dense_long",
        of("dense_long", podium),
        of("dense_long", "jax-scan"),
        "<=",
        1.5,
    )
    others = [result for result in of("five") if result.keras]
    add(
        "five steps an execution: fastest Keras / Podium",
        "five",
        others,
        of("five", podium),
        ">=",
        8,
    )
    for name in ("mlp", "lstm"):
        add(f"{name}: Podium / plain JAX", name, of(name, podium), of(name, *TWINS), "<=", 1.05)
        rivals = [result for result in of(name) if result.peer not in (podium, *TWINS)]
        add(f"{name}: fastest peer / Podium", name, rivals, of(name, podium), ">=", 1)
    yield "| target | measured | limit | |\n| --- | ---: | ---: | --- |"
    for target, measured_ratio, sign, bound in rows:
        if measured_ratio is None:
            yield f"| {target} | n/a | {sign} {bound:g} | |"
            continue
        is_met = measured_ratio >= bound if sign == ">=" else measured_ratio <= bound
        outcome = "met" if is_met else "missed"
        yield f"| {target} | {measured_ratio:.2f} | {sign} {bound:g} | {outcome} |"


def first_fits(times: dict[tuple[str, str], list[float]]) -> Iterator[str]:
    """Yield first runs in new processes: the best, and its ratio to Podium's without cache."""
    yield (
        "| first run in a fresh process, s | "
        + " | ".join(dict.fromkeys(workload for workload, _ in times))
        + " |"
    )
    workloads = list(dict.fromkeys(workload for workload, _ in times))
    yield "| --- |" + " ---: |" * len(workloads)
    for name in dict.fromkeys(name for _, name in times):
        cells = []
        for workload in workloads:
            own, base = times.get((workload, name)), times.get((workload, "podium, cold"))
            cells.append(f"{min(own):.2f} ({min(own) / min(base):.2f})" if own and base else "n/a")
        yield f"| {name} | {' | '.join(cells)} |"
    yield (
        "\nBuilding the model, compilation and one run, without imports; in brackets the ratio to "
        "Podium's first run without cache."
    )


def setting(rounds: int, seconds: float, processes: int) -> str:
    """Describe the machine and the settings."""
    suffix = "" if processes == 1 else f" in each of {processes} processes"
    versions = f"Python {platform.python_version()}, JAX {metadata.version('jax')}"
    return (
        f"{platform.machine()}, {versions}; best of {rounds} interleaved rounds of {seconds:g} s"
        f"{suffix}, float32."
    )
