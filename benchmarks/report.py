"""Tables of what `run.py` has measured, in Markdown: ratios to Podium and to plain JAX, and what
was promised beside them.
"""

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
    """What was measured of one library on one workload: seconds a step in each round, or why
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
        """What the table calls it."""
        return self.peer if self.number is None else f"{self.peer}, k={self.number}"

    @property
    def best(self) -> float:
        """The best of the rounds."""
        return min(self.steps)

    @property
    def spread(self) -> float:
        """How much longer the middle round took than the best."""
        return statistics.median(self.steps) / self.best - 1


Results = dict[str, list[Result]]


def duration(seconds: float) -> str:
    """Write a duration with a unit that fits."""
    return f"{seconds * 1e6:,.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"


def measured(results: list[Result], *names: str) -> list[Result]:
    """Return those results that have figures, of the libraries named or of all."""
    return [one for one in results if one.steps and (not names or one.peer in names)]


def fastest(results: list[Result]) -> Result | None:
    """Return the quickest."""
    return min(results, key=lambda one: one.best, default=None)


def ratio(one: Result | None, other: Result | None) -> str:
    """Write how many times as long one takes as the other."""
    return f"{one.best / other.best:.2f}" if one and other else "n/a"


def summary(results: Results) -> Iterator[str]:
    """One line a workload: how many times Podium's time the others take."""
    peers = list(
        dict.fromkeys(
            one.peer for found in results.values() for one in found if one.peer != "podium"
        )
    )
    yield f"| time a step / Podium's | Podium | {' | '.join(peers)} |"
    yield f"| --- | ---: |{' ---: |' * len(peers)}"
    for name, found in results.items():
        podium = fastest(measured(found, "podium"))
        shown = [ratio(fastest(measured(found, peer)), podium) for peer in peers]
        time = duration(podium.best) if podium else "n/a"
        yield f"| {WORKLOADS[name].title} | {time} | {' | '.join(shown)} |"
    yield ""
    yield "Above 1: Podium is faster. Where Keras was tried with several `steps_per_execution`, its best one counts."


def details(results: Results) -> Iterator[str]:
    """All figures of each workload."""
    for name, found in results.items():
        podium, twin = fastest(measured(found, "podium")), fastest(measured(found, *TWINS))
        yield f"\n### {WORKLOADS[name].title}\n"
        yield "| | a step | median over best | x Podium | x plain JAX | first run, s | peak MiB |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        for one in found:
            if one.failure:
                yield f"| {one.name} | n/a | | | | | |"
                continue
            ratios = f"{ratio(one, podium)} | {ratio(one, twin)}"
            yield f"| {one.name} | {duration(one.best)} | +{one.spread:.0%} | {ratios} | {one.first:.2f} | {one.peak:,.0f} |"
        yield from (f"\n{one.name}: n/a, {one.failure}" for one in found if one.failure)


def promises(results: Results) -> Iterator[str]:
    """What was promised of speed, and what was found."""
    rows: list[tuple[str, float | None, str, float]] = []

    def add(
        what: str, workload: str, above: list[Result], below: list[Result], sign: str, bound: float
    ) -> None:
        upper, lower = fastest(above), fastest(below)
        if workload in results:
            rows.append((what, upper.best / lower.best if upper and lower else None, sign, bound))

    def of(workload: str, *names: str) -> list[Result]:
        return measured(results.get(workload, []), *names)

    podium = "podium"
    kerases = [one for one in of("dense") if one.keras]
    defaults = [one for one in kerases if one.number is None]
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
    others = [one for one in of("five") if one.keras]
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
        rivals = [one for one in of(name) if one.peer not in (podium, *TWINS)]
        add(f"{name}: fastest peer / Podium", name, rivals, of(name, podium), ">=", 1)
    yield "| promised | found | wanted | |\n| --- | ---: | ---: | --- |"
    for what, found, sign, bound in rows:
        if found is None:
            yield f"| {what} | n/a | {sign} {bound:g} | |"
            continue
        kept = found >= bound if sign == ">=" else found <= bound
        yield f"| {what} | {found:.2f} | {sign} {bound:g} | {'kept' if kept else 'missed'} |"


def first_fits(times: dict[tuple[str, str], list[float]]) -> Iterator[str]:
    """First runs in fresh processes: best, and its ratio to Podium's cold one."""
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
    yield "\nBuilding the model, compiling and one run, without imports; in brackets the ratio to Podium's cold one."


def setting(rounds: int, seconds: float, processes: int) -> str:
    """Say what it was measured with."""
    many = "" if processes == 1 else f" in each of {processes} processes"
    versions = f"Python {platform.python_version()}, JAX {metadata.version('jax')}"
    return f"{platform.machine()}, {versions}; best of {rounds} interleaved rounds of {seconds:g} s{many}, float32."
