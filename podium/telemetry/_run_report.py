"""The report of a run: one screen of text."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from podium.telemetry._records import Latency
    from podium.telemetry._telemetry import Telemetry

_Row: TypeAlias = tuple[str, str, str, str]  # what, time, share of the run, a note

_MAX_WIDTH = 80
_MAX_CALLBACKS, _MAX_COMPILATIONS, _MAX_SAVES = 4, 2, 2  # that get a line
_UNITS = ("B", "kB", "MB", "GB", "TB")
_TIME_UNITS = ("s", "ms", "us")


def format_report(telemetry: Telemetry, width: int | None) -> str:
    """Return the report; see `Telemetry.report`."""
    if width is None:
        width = min(_MAX_WIDTH, shutil.get_terminal_size((_MAX_WIDTH, 24)).columns)
    lines = [*_headlines(telemetry), "", *_align(_section_rows(telemetry))]
    return "\n".join(line if len(line) <= width else line[: width - 1] + "…" for line in lines)


def _align(rows: list[_Row]) -> list[str]:
    """Return rows as lines with columns; the last one is as long as its text."""
    name, time, share = (max(len(row[column]) for row in rows) for column in range(3))
    return [
        f"{row[0]:<{name}}  {row[1]:>{time}}  {row[2]:>{share}}  {row[3]}".rstrip() for row in rows
    ]


def _headlines(telemetry: Telemetry) -> list[str]:
    """Return the lines above the table."""
    why = "running" if telemetry.stop_reason is None else telemetry.stop_reason
    epochs = f"{_count(telemetry.epochs, 'epoch')}, " if telemetry.kind == "fit" else ""
    lines = [
        f"{telemetry.kind}: {epochs}{_count(telemetry.steps, 'step')} in "
        f"{_count(telemetry.executions, 'execution')}, {_seconds(telemetry.wall_seconds)} "
        f"({why})"
    ]
    rate, steady = telemetry.samples_per_second, telemetry.steady_samples_per_second
    if rate is not None and steady is not None:
        lines.append(
            f"samples/s   {_number(rate)}; {_number(steady)} without setup, compilation and "
            "validation"
        )
    lines.append(f"goodput     {telemetry.goodput:.0%} of the time in steps that count")
    if telemetry.repeated_steps:
        lines[-1] += f"; {_count(telemetry.repeated_steps, 'step')} repeated"
    lines += _latency_lines(telemetry)
    if telemetry.memory is not None:
        output, growth = telemetry.memory.output_bytes, telemetry.memory.peak_growth_bytes
        grew = "unknown" if growth is None else f"+{_bytes(growth)} at the peak"
        lines.append(f"memory      outputs {_bytes(output or 0)}, process {grew}")
    synchronization = telemetry.synchronization
    if synchronization.replicas > 1:
        per_step = synchronization.seconds_per_step
        cost = f"{_seconds(per_step)} per step" if per_step is not None else "not measured"
        lines.append(f"replicas    {synchronization.replicas}, collectives {cost}")
    return lines


def _latency_lines(telemetry: Telemetry) -> list[str]:
    execution, step = telemetry.execution_latency, telemetry.step_latency
    if execution is None or step is None:
        return ["latency     none: every execution compiled its program"]
    lines = [f"step        {_quantiles(step)}"]
    if telemetry.steps != telemetry.executions:
        lines.insert(0, f"execution   {_quantiles(execution)}")
    return lines


def _quantiles(latency: Latency) -> str:
    at_least = "at least " if latency.is_lower_bound else ""
    values = (("p50", latency.p50), ("p95", latency.p95), ("p99", latency.p99))
    return at_least + "  ".join(f"{name} {_seconds(value)}" for name, value in values)


def _section_rows(telemetry: Telemetry) -> list[_Row]:
    """Return a row for each section that took time, and rows for what happened in it."""
    table: list[_Row] = []
    details = {
        "compiling": _compilation_rows(telemetry),
        "callbacks": _callback_rows(telemetry, "callbacks"),
        "logging": _callback_rows(telemetry, "logging"),
        "saving": _save_rows(telemetry),
    }
    notes = {
        "steps": f"the device was busy for {_seconds(telemetry.busy_seconds)}",
        "saving": _bytes(telemetry.saved_bytes) if telemetry.num_saves else "",
    }
    if telemetry.validation is not None:
        validation = telemetry.validation
        latency = validation.step_latency
        p50 = "" if latency is None else f", p50 {_seconds(latency.p50)}"
        notes["validation"] = f"{_count(validation.steps, 'step')}{p50}"
    for name, seconds in telemetry.sections.items():
        rows = details.get(name, [])
        if not (seconds or rows or name == "steps"):
            continue
        share = seconds / telemetry.wall_seconds if telemetry.wall_seconds else 0.0
        table.append((name, _seconds(seconds), f"{share:.1%}", notes.get(name, "")))
        table += [(f"  {label}", value, "", note) for label, value, note in rows]
    return table


def _compilation_rows(telemetry: Telemetry) -> list[tuple[str, str, str]]:
    slowest = sorted(telemetry.compilations, key=lambda each: -each.seconds)
    rows = [(each.name, _seconds(each.seconds), each.cause) for each in slowest[:_MAX_COMPILATIONS]]
    others = telemetry.num_compilations - len(rows)
    return rows + ([(f"{others} more", "", "")] if others else [])


def _callback_rows(telemetry: Telemetry, section: str) -> list[tuple[str, str, str]]:
    times = sorted(
        (each for each in telemetry.callbacks if each.section == section),
        key=lambda each: -each.seconds,
    )
    rows = [
        (each.name, _seconds(each.seconds), _count(each.calls, "call"))
        for each in times[:_MAX_CALLBACKS]
    ]
    others = times[_MAX_CALLBACKS:]
    if others:
        rows.append((f"{len(others)} more", _seconds(sum(each.seconds for each in others)), ""))
    return rows


def _save_rows(telemetry: Telemetry) -> list[tuple[str, str, str]]:
    rows = []
    for save in list(reversed(telemetry.saves))[:_MAX_SAVES]:
        where = " in the background" if save.in_background else ""
        note = f"{save.path}{where}"
        rows.append((_bytes(save.num_bytes), _seconds(save.seconds), note))
    others = telemetry.num_saves - len(rows)
    return rows + ([(f"{others} more", "", "")] if others else [])


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _seconds(seconds: float) -> str:
    """Return a duration with three digits and a readable unit."""
    if not seconds:
        return "0 s"
    power = 0
    while seconds < 1 and power < len(_TIME_UNITS) - 1:
        seconds, power = seconds * 1000, power + 1
    digits = 2 if seconds < 10 else 1 if seconds < 100 else 0
    return f"{seconds:.{digits}f} {_TIME_UNITS[power]}"


def _bytes(count: int) -> str:
    power = 0
    while count >= 1000 ** (power + 1) and power < len(_UNITS) - 1:
        power += 1
    return f"{count / 1000**power:.{1 if power else 0}f} {_UNITS[power]}"
