"""Markdown tables of the measurements of `run.py`: ratios to Podium and to JAX, and targets."""

from __future__ import annotations

import dataclasses
import platform
import statistics
from collections.abc import Iterator
from importlib import metadata

from workloads import WORKLOADS

JAX_IMPLEMENTATIONS = ("jax-loop", "jax-scan")


@dataclasses.dataclass
class Result:
    """The measurements of one library on one workload: seconds per step in each round, or the
    reason of a failure.
    """

    library: str
    k: int | None = None
    is_keras: bool = False
    steps: list[float] = dataclasses.field(default_factory=list)
    first: float = 0.0
    peak: float = 0.0
    failure: str = ""

    @property
    def name(self) -> str:
        """The name in the tables."""
        return self.library if self.k is None else f"{self.library}, k={self.k}"

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
    return [result for result in results if result.steps and (not names or result.library in names)]


def fastest(results: list[Result]) -> Result | None:
    """Return the fastest result."""
    return min(results, key=lambda result: result.best, default=None)


def ratio(result: Result | None, baseline: Result | None) -> str:
    """Format the ratio of two times."""
    return f"{result.best / baseline.best:.2f}" if result and baseline else "n/a"


def summary(results: Results) -> Iterator[str]:
    """Yield one line per workload: times relative to Podium."""
    libraries = list(
        dict.fromkeys(
            result.library
            for row in results.values()
            for result in row
            if result.library != "podium"
        )
    )
    yield f"| time a step / Podium's | Podium | {' | '.join(libraries)} |"
    yield f"| --- | ---: |{' ---: |' * len(libraries)}"
    for name, row in results.items():
        podium = fastest(with_measurements(row, "podium"))
        ratios = [ratio(fastest(with_measurements(row, library)), podium) for library in libraries]
        time = duration(podium.best) if podium else "n/a"
        yield f"| {WORKLOADS[name].title} | {time} | {' | '.join(ratios)} |"
    yield ""
    yield (
        "Above 1: Podium is faster. Where Keras was measured with several `steps_per_execution`, "
        "the best is shown."
    )


def details(results: Results) -> Iterator[str]:
    """Yield all measurements of each workload."""
    for name, row in results.items():
        podium, jax = (
            fastest(with_measurements(row, "podium")),
            fastest(with_measurements(row, *JAX_IMPLEMENTATIONS)),
        )
        yield f"\n### {WORKLOADS[name].title}\n"
        yield "| | a step | median over best | x Podium | x plain JAX | first run, s | peak MiB |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        for result in row:
            if result.failure:
                yield f"| {result.name} | n/a | | | | | |"
                continue
            ratios = f"{ratio(result, podium)} | {ratio(result, jax)}"
            yield (
                f"| {result.name} | {duration(result.best)} | +{result.spread:.0%} | {ratios} "
                f"| {result.first:.2f} | {result.peak:,.0f} |"
            )
        yield from (f"\n{result.name}: n/a, {result.failure}" for result in row if result.failure)


def targets(results: Results) -> Iterator[str]:
    """Yield the targets and the measured ratios."""
    rows: list[tuple[str, float | None, str, float]] = []

    def add(
        target: str,
        workload: str,
        above: list[Result],
        below: list[Result],
        sign: str,
        bound: float,
    ) -> None:
        upper, lower = fastest(above), fastest(below)
        if workload in results:
            rows.append((target, upper.best / lower.best if upper and lower else None, sign, bound))

    def results_of(workload: str, *names: str) -> list[Result]:
        return with_measurements(results.get(workload, []), *names)

    podium = "podium"
    keras_results = [result for result in results_of("dense") if result.is_keras]
    defaults = [result for result in keras_results if result.k is None]
    add(
        "Dense(1): fastest Keras at its default / Podium",
        "dense",
        defaults,
        results_of("dense", podium),
        ">=",
        20,
    )
    add(
        "Dense(1): Keras at its best k / Podium",
        "dense",
        keras_results,
        results_of("dense", podium),
        ">=",
        8,
    )
    add(
        "Dense(1): Podium / hand-written scan",
        "dense",
        results_of("dense", podium),
        results_of("dense", "jax-scan"),
        "<=",
        3,
    )
    add(
        "Dense(1), long epochs: Podium / scan",
        "dense_long",
        results_of("dense_long", podium),
        results_of("dense_long", "jax-scan"),
        "<=",
        1.5,
    )
    fused = [result for result in results_of("five") if result.is_keras]
    add(
        "five steps an execution: fastest Keras / Podium",
        "five",
        fused,
        results_of("five", podium),
        ">=",
        8,
    )
    for name in ("mlp", "lstm"):
        add(
            f"{name}: Podium / plain JAX",
            name,
            results_of(name, podium),
            results_of(name, *JAX_IMPLEMENTATIONS),
            "<=",
            1.05,
        )
        other_libraries = [
            result
            for result in results_of(name)
            if result.library not in (podium, *JAX_IMPLEMENTATIONS)
        ]
        add(
            f"{name}: fastest other library / Podium",
            name,
            other_libraries,
            results_of(name, podium),
            ">=",
            1,
        )
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
            seconds = times.get((workload, name))
            baseline = times.get((workload, "podium, cold"))
            cells.append(
                f"{min(seconds):.2f} ({min(seconds) / min(baseline):.2f})"
                if seconds and baseline
                else "n/a"
            )
        yield f"| {name} | {' | '.join(cells)} |"
    yield (
        "\nBuilding the model, compilation and one run, without imports; in brackets the ratio to "
        "Podium's first run without cache."
    )


def describe_setup(rounds: int, seconds: float, processes: int) -> str:
    """Describe the machine and the settings."""
    suffix = "" if processes == 1 else f" in each of {processes} processes"
    versions = f"Python {platform.python_version()}, JAX {metadata.version('jax')}"
    return (
        f"{platform.machine()}, {versions}; best of {rounds} interleaved rounds of {seconds:g} s"
        f"{suffix}, float32."
    )
