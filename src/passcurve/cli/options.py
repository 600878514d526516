"""What ``judge`` and ``run`` have in common: their choices, and how they say what was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from passcurve.cli.output import terminal_width, warn
from passcurve.errors import UsageError


class VerdictMode(StrEnum):
    """Where the tests may run."""

    auto = "auto"
    referee = "referee"
    shared = "shared"


class Reuse(StrEnum):
    """What becomes of a process after a sample."""

    auto = "auto"
    rewind = "rewind"
    fork = "fork"


class Isolation(StrEnum):
    """How strong the walls must be."""

    auto = "auto"
    full = "full"
    restricted = "restricted"
    none = "none"


class Clock(StrEnum):
    """Which time counts against the limit."""

    own = "own"
    wall = "wall"


class Gate(msgspec.Struct, frozen=True):
    """One ``--fail-under``: pass@k must be at least this."""

    k: int
    least: float


def parse_gate(text: str) -> Gate:
    """Return what ``--fail-under pass@1=0.5`` asks for.  Raises UsageError for what is no gate."""
    match = re.fullmatch(r"pass@([1-9][0-9]*)=(0?\.[0-9]+|0|1(?:\.0*)?)", text.strip())
    if match is None:
        raise UsageError(f"--fail-under {text!r} is no gate; write it like pass@1=0.5")
    return Gate(int(match[1]), float(match[2]))


def exit_code(result: Any, gates: Sequence[Gate]) -> int:
    """Return the exit code of a command that has this result, and say which gates were not met."""
    unmet = [gate for gate in gates if not _met(gate, result)]
    for gate in unmet:
        warn(f"pass@{gate.k} is not {gate.least:g} or more")
    return result.exit_code or (3 if unmet else 0)


def _met(gate: Gate, result: Any) -> bool:
    value = next((each.value for each in result.estimates if each.name == f"pass@{gate.k}"), None)
    return value is not None and value >= gate.least


def write_warnings(result: Any, samples: str) -> None:
    """Say beside the result what a reader must know of it."""
    from passcurve.report import terminal

    for line in terminal.malformed_lines(
        [(bad.line, bad.reason) for bad in result.malformed], samples, result.malformed_lines
    ):
        warn(f"{line}")
    for line in terminal.note_lines(result.notes):
        warn(f"{line}")
    if result.jail.isolation != "full":
        warn(f"isolation {result.jail.isolation}: {'; '.join(result.jail.missing)}")
    if result.jail.no_rewind:
        warn(f"each sample gets new processes, which is slower: {result.jail.no_rewind}")
    if not result.jail.fixed_addresses:
        warn("addresses cannot be fixed here; verdicts of programs that depend on them may vary between runs")
    if not result.own_clock:
        warn("a sample's own time cannot be measured here, so its wall time counts; verdicts depend on load")
    if result.owed:
        why = "judging them failed; run the command again"
        if result.generated is not None:
            why = "they were not generated or not judged; the same command goes on"
        warn(f"{result.owed} of {result.samples} samples are owed: {why}")


def record(result: Any) -> dict[str, Any]:
    """Return the result as one JSON object."""
    from passcurve.report import generation, methods, scores

    modes = {name: count for name, count in result.modes.items() if name != "none"}
    return {
        **scores.score_record(result.estimates, result.curve),
        "methods": methods.judged(result.estimates, result.curve, result.counts, result.benchmark, result.header),
        "benchmark": result.benchmark,
        "problems": result.problems,
        "attempted": result.attempted,
        "samples": result.samples,
        "owed": result.owed,
        "malformed": result.malformed_lines,
        "malformed_lines": [{"line": bad.line, "reason": bad.reason} for bad in result.malformed[:100]],
        "suspicious": result.suspicious,
        "suspicions": result.suspicions,
        "statuses": result.statuses,
        "isolation": result.jail.isolation,
        "jail": msgspec.to_builtins(result.jail),
        "modes": modes,
        "notes": list(result.notes),
        "slowest_pass": msgspec.to_builtins(result.slowest),
        "resumed": result.resumed,
        **({"generated": generation.generated_record(result.generated)} if result.generated is not None else {}),
        "signature": result.signature,
        "run": result.run,
        "results": result.results,
    }


def lines(result: Any) -> Iterator[str]:
    """Yield the result as lines of text."""
    from passcurve.report import generation, methods, scores, terminal

    attempted = (
        f"{result.attempted} of {result.problems}" if result.attempted < result.problems else str(result.problems)
    )
    samples = f"{result.samples:,} sample{'s' if result.samples != 1 else ''}"
    yield f"{result.benchmark}: {samples} of {attempted} problem{'s' if result.problems != 1 else ''}"
    yield from scores.score_lines(result.estimates, result.curve, terminal_width())
    yield f"  {terminal.status_line(result.statuses)}"
    if result.generated is not None:
        yield from generation.final_lines(result.generated)
    modes = ", ".join(f"{count:,} {name}" for name, count in result.modes.items() if count and name != "none")
    yield f"  verdicts: {modes or 'none'}; {terminal.jail_line(result.jail)}"
    if result.slowest is not None:
        key = result.slowest.key
        yield f"  slowest pass: {result.slowest.own_s:.3f} s ({key.problem_id} sample {key.sample_index})"
    suspects = [(each.key, each.status, each.seen) for each in result.suspects]
    yield from terminal.suspicion_lines(result.suspicious, suspects)
    said = methods.judged(result.estimates, result.curve, result.counts, result.benchmark, result.header)
    if said:
        yield f"  for a paper: {said}"
    if result.results is not None:
        yield f"  results: {result.results}"
    yield f"  signature: {result.signature}"
