"""Plain text for a terminal, which can also be piped, cut and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from passcurve.types import Jail, Limits, Problem, Program, SampleKey, Status, SuiteOutcome, Verdict
from passcurve.types.amounts import amount

_MALFORMED_SHOWN = 10
_NOTES_SHOWN = 5
_SUSPECTS_SHOWN = 5
_SEEN_SHOWN = 3


def number(value: float) -> str:
    """Return a score with four digits, ``.4660``; a bare 1 or 0 only when it is exact."""
    if value < 0.0:
        text = number(-value)
        return {"<": ">-", ">": "<-"}.get(text[0], f"-{text[0]}") + text[1:]
    if value in (0.0, 1.0):
        return f"{value:.4f}"
    if 0.99995 <= value < 1.0:
        return ">.9999"
    if value < 0.00005:
        return "<.0001"
    return f"{value:.4f}".removeprefix("0")


def number_or_dash(value: float | None) -> str:
    """Return a score as ``number`` does; a dash for None."""
    return "-" if value is None else number(value)


def status_line(statuses: Mapping[Any, int]) -> str:
    """Return the statuses that occur, the most telling first."""
    names = {"no_code": "no code"}
    return ", ".join(f"{count:,} {names.get(status, status)}" for status, count in statuses.items() if count)


_LINE = 80


def short_jail_line(modes: str, jail: Jail) -> str:
    """Return where the tests ran, the isolation in force and the interpreter, in a line of a terminal."""
    if jail.toolchains:
        return "\n    ".join([f"  verdicts: {modes}; isolation {jail.isolation}", *jail.toolchains])
    line = f"  verdicts: {modes}; isolation {jail.isolation}, {jail.reuse}, python {jail.python}"
    packages = [package.replace("==", " ") for package in jail.packages]
    every = ", ".join([line, *packages])
    return every if len(every) <= _LINE else f"{line}, {amount(len(packages), 'package')}"


def jail_line(jail: Jail) -> str:
    """Return the isolation in force and what the samples could import."""
    packages = ", ".join(package.replace("==", " ") for package in jail.packages) or "no packages"
    layers = ", ".join(jail.layers)
    if jail.toolchains:
        return f"isolation {jail.isolation} ({layers}); {', '.join(jail.toolchains)}"
    return f"isolation {jail.isolation} ({layers}); reuse {jail.reuse}; python {jail.python}, {packages}"


def suspicion_lines(count: int, suspects: Sequence[tuple[SampleKey, Status, tuple[str, ...]]]) -> list[str]:
    """Return the suspicious actions of samples; nothing if there are none."""
    if not count:
        return []
    named = suspects[:_SUSPECTS_SHOWN] if count > _SUSPECTS_SHOWN + 1 else suspects
    lines = [f"  suspicious: {amount(count, 'sample')} tried what no honest program needs"]
    lines += [
        f"    {key.problem_id} sample {key.sample_index} ({status}): {_first_observations(observations)}"
        for key, status, observations in named
    ]
    if count > len(named):
        lines.append(f"    ... and {count - len(named):,} more; the results have them all")
    return [printable_line(line) for line in lines]


def _first_observations(observations: Sequence[str]) -> str:
    return ", ".join(observations[:_SEEN_SHOWN]) + (
        f" and {len(observations) - _SEEN_SHOWN} more" if len(observations) > _SEEN_SHOWN else ""
    )


def truncate(lines: Iterable[str], limit: int, more: str, count: int | None = None) -> list[str]:
    """Return the first lines and the number of omitted ones; ``count`` is the total if not all lines are known."""
    every = list(lines)
    rest = (count or len(every)) - limit
    return every if rest <= 1 else [*every[:limit], f"... and {rest} {more}"]


def malformed_lines(malformed: Sequence[tuple[int, str]], samples: str, count: int) -> list[str]:
    """Return the reason for each malformed line, a bounded number; ``count`` is the total."""
    messages = (f"{samples}:{line}: {reason}" for line, reason in malformed)
    return truncate(messages, _MALFORMED_SHOWN, "more lines are no rows", count)


def note_lines(notes: Sequence[str]) -> list[str]:
    """Return the notes of the calibration, a bounded number."""
    return truncate(
        (f"note: {note}" for note in notes), _NOTES_SHOWN, "more notes (passcurve bench check BENCHMARK lists all)"
    )


def verdict_text(
    problem: Problem, program: Program | None, verdict: Verdict, limits: Limits, jail: Jail, missing: str
) -> str:
    """Return one verdict in full: prompt, program, the failing call, the exception, the limits in force."""
    key = verdict.key
    parts = [
        f"{key.problem_id} sample {key.sample_index}: {verdict.status}"
        + (f" - {printable_line(verdict.message)}" if verdict.message else "")
    ]
    facts = [
        f"mode {verdict.mode}",
        amount(verdict.calls, "call"),
        f"{verdict.own_s:.3f} s of {limits.timeout_s:g} s {limits.clock} time",
    ]
    facts.append(f"{verdict.memory_bytes / (1 << 20):.0f} MiB of {limits.memory_bytes / (1 << 20):.0f}")
    parts += ["  " + ", ".join(facts), *map(_suite_line, verdict.suites), "  " + jail_line(jail), ""]
    parts += [_section("prompt", problem.prompt)]
    if program is None:
        parts.append(f"program: {missing}\n")
        parts += [_section("it was made so", "\n".join(verdict.extraction))] if verdict.extraction else []
    else:
        steps = "; ".join(program.steps)
        parts.append(_section(f"program ({steps})", program.text if program.text is not None else "(none)"))
    if verdict.call is not None:
        expected = f"\nexpected {verdict.call.expected}" if verdict.call.expected else ""
        parts.append(_section("last call", f"{verdict.call.arguments}\n-> {verdict.call.outcome}{expected}"))
    if verdict.test_line:
        parts.append(_section("at this line of the tests", verdict.test_line))
    if verdict.exception:
        when = ", before the tests called the program" if verdict.raised_early else ""
        parts.append(_section(f"exception{when}", verdict.message))
    if verdict.suspicious:
        parts.append(f"seen: {printable_line(', '.join(verdict.suspicious))}\n")
    if verdict.flattened:
        parts.append(f"reduced to plain data on the way: {printable_line(', '.join(verdict.flattened))}\n")
    return printable("\n".join(parts))


def _suite_line(suite: SuiteOutcome) -> str:
    first = f", the first that failed is {suite.first_failed} (from 0)" if suite.first_failed >= 0 else ""
    return f"  {suite.name}: {suite.right:,} of {suite.tests:,} passed, {suite.ran:,} ran{first}"


def _section(title: str, text: str) -> str:
    body = "\n".join(f"    {line}" for line in text.rstrip("\n").split("\n"))
    return f"{title}:\n{body}\n"


def printable(text: str) -> str:
    """Return text from a model with everything but line ends and tabs that could steer a terminal spelled out."""
    characters = "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape", "backslashreplace").decode() for c in text
    )
    return characters.encode("utf-8", "backslashreplace").decode()


def printable_line(text: str) -> str:
    """Return the same on one line: a program could write other lines of ours with the ends of its own."""
    return printable(text.replace("\n", " "))
