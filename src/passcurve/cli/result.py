"""Result of ``judge`` and ``run``: exit code, warnings, text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from passcurve.cli.output import terminal_width, warn
from passcurve.types.amounts import amount, are, have, part_of

if TYPE_CHECKING:
    from passcurve.cli.request import Gate
    from passcurve.diagnosis import Diagnosis, Scope
    from passcurve.judging.run import Result
    from passcurve.types import Counts, Estimate, Jail

_LISTED_LINES = 100
"""Malformed lines that the JSON object lists at most."""


def exit_code(result: Result, gates: Sequence[Gate]) -> int:
    """Return the exit code of a command with this result, and warn of each gate that is not met."""
    unmet = [gate for gate in gates if not _is_met(gate, result)]
    for gate in unmet:
        warn(_unmet_text(gate, result))
    return result.exit_code or (3 if unmet else 0)


def _is_met(gate: Gate, result: Result) -> bool:
    estimate = _gated_estimate(gate, result)
    return estimate is not None and estimate.value is not None and estimate.value >= gate.minimum


def _gated_estimate(gate: Gate, result: Result) -> Estimate | None:
    return next((estimate for estimate in result.estimates if estimate.name == f"pass@{gate.k}"), None)


def _unmet_text(gate: Gate, result: Result) -> str:
    """Return the value and the bound of a gate, as in ``pass@1 .8171 < .9``, or why there is no value."""
    estimate = _gated_estimate(gate, result)
    minimum = f"{gate.minimum:g}".removeprefix("0") or "0"
    if estimate is None or estimate.value is None:
        reason = estimate.reason if estimate is not None else "it was not estimated"
        return f"gate pass@{gate.k} >= {minimum} cannot be met, there is no value: {reason}"
    value = f"{estimate.value:.4f}"
    if float(value) >= gate.minimum:
        # Rounded, it would reach the bound.
        value = repr(estimate.value)
    return f"pass@{gate.k} {value.removeprefix('0')} < {minimum}"


def write_warnings(result: Result, samples: str) -> None:
    """Warn of everything that limits what the result means."""
    from passcurve.report import diagnosis, terminal

    malformed = [(bad.line, bad.reason) for bad in result.malformed]
    for line in terminal.malformed_lines(malformed, samples, result.malformed_lines):
        warn(line)
    for line in terminal.note_lines(result.notes):
        warn(line)
    for line in diagnosis.diagnosis_lines(result.diagnosis):
        warn(line)
    if missing := _count_missing(result):
        warn(
            f"{part_of(missing, result.problems, 'problem')} {have(missing)} no sample, so there is no score"
            # Rows of tasks that the benchmark lacks may be theirs.
            + ("" if result.malformed_lines else ": --subset scores the others, --problems chooses some")
        )
    if result.jail.isolation != "full":
        warn(f"isolation {result.jail.isolation}: {'; '.join(result.jail.missing)}")
    if result.jail.no_rewind:
        warn(f"each sample gets new processes, which is slower: {result.jail.no_rewind}")
    if not result.jail.fixed_addresses:
        warn("addresses cannot be fixed here; verdicts of programs that depend on them may vary between runs")
    if not result.own_clock:
        warn("a sample's own time cannot be measured here, so its wall time counts; verdicts depend on load")
    if result.owed:
        reason = "judging them failed; run the command again"
        if result.generated is not None:
            reason = "they were not generated or not judged; run the same command to resume"
        warn(f"{part_of(result.owed, result.samples, 'sample')} {are(result.owed)} owed: {reason}")


def _count_missing(result: Result) -> int:
    """Return the number of problems without a sample, where a file of samples should have them."""
    if result.generated is not None or result.diagnosis.scope.sampled is not None:
        return 0
    return sum(count.n == 0 for count in result.counts) if not result.owed else 0


def result_record(result: Result) -> dict[str, Any]:
    """Return the JSON object of a result."""
    from passcurve.report import diagnosis, generation, methods, scores
    from passcurve.signature import digest

    return {
        **scores.score_record(result.estimates, result.curve),
        "methods": methods.describe_scores(
            result.estimates,
            result.curve,
            result.counts,
            result.benchmark,
            result.header,
            result.diagnosis.scope,
        ),
        **diagnosis.diagnosis_record(result.diagnosis),
        "benchmark": result.benchmark,
        "problems": result.problems,
        "attempted": result.attempted,
        "samples": result.samples,
        "owed": result.owed,
        "malformed": result.malformed_lines,
        "malformed_lines": [{"line": bad.line, "reason": bad.reason} for bad in result.malformed[:_LISTED_LINES]],
        "suspicious": result.suspicious,
        "suspicions": result.suspicions,
        "statuses": result.statuses,
        **({"suites": scores.suite_records(result.suites)} if result.suites else {}),
        "isolation": result.jail.isolation,
        "jail": msgspec.to_builtins(result.jail),
        "modes": {name: count for name, count in result.modes.items() if name != "none"},
        "notes": list(result.notes),
        "slowest_pass": msgspec.to_builtins(result.slowest),
        "resumed": result.resumed,
        **({"generated": generation.generated_record(result.generated)} if result.generated is not None else {}),
        "signature": result.signature,
        "signature_digest": digest(result.signature),
        "run": result.run,
        "results": result.results,
    }


def result_lines(result: Result, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of text of a result; with ``verbose`` those that seldom matter too."""
    from passcurve.report import generation, methods, scores, terminal

    yield headline(result.benchmark, result.counts, result.diagnosis.scope)
    yield from scores.score_lines(
        result.estimates, result.curve, terminal_width(), verbose=verbose, above=result.diagnosis.withheld
    )
    yield count_line(result.statuses, result.counts, result.diagnosis)
    if len(result.suites) > 1:
        yield scores.suite_line(result.suites)
    if result.generated is not None:
        yield from generation.final_lines(result.generated)
    yield mode_line(result.modes, result.jail, verbose=verbose)
    if result.slowest is not None:
        key = result.slowest.key
        yield f"  slowest pass: {result.slowest.own_s:.3f} s ({key.problem_id} sample {key.sample_index})"
    suspects = [(suspect.key, suspect.status, suspect.seen) for suspect in result.suspects]
    yield from terminal.suspicion_lines(result.suspicious, suspects)
    paragraph = methods.describe_scores(
        result.estimates, result.curve, result.counts, result.benchmark, result.header, result.diagnosis.scope
    )
    if paragraph and verbose:
        yield f"  for a paper: {paragraph}"
    if result.header.problems:
        yield terminal.printable(f"  run: {_one_line(result.run)} (name it to show and compare)")
    if result.results is not None:
        yield terminal.printable(f"  results: {_one_line(result.results)}")
    yield signature_line(result.signature, verbose=verbose)


def _one_line(path: str) -> str:
    return path.replace("\n", "\\n")


def count_line(statuses: Mapping[Any, int], counts: Sequence[Counts], diagnosis: Diagnosis | None) -> str:
    """Return the number of samples of each status, how many of them no score counts, and how many rows are unread."""
    from passcurve.report import terminal

    uncounted = sum(statuses.values()) - statuses.get("void", 0) - sum(count.n for count in counts)
    part = f" (with {uncounted:,} of excluded problems)" if uncounted else ""
    report = diagnosis.input if diagnosis is not None else None
    lost = (
        f"; {report.unread:,} of {report.rows:,} rows unread, which no score counts" if report and report.unread else ""
    )
    return f"  {terminal.status_line(statuses)}{part}{lost}"


def mode_line(modes: Mapping[Any, int], jail: Jail, *, verbose: bool) -> str:
    """Return where the tests ran, and what stood around the samples."""
    from passcurve.report import terminal

    listed = ", ".join(f"{count:,} {name}" for name, count in modes.items() if count and name != "none") or "none"
    if verbose:
        return f"  verdicts: {listed}; {terminal.jail_line(jail)}"
    return terminal.short_jail_line(listed, jail)


def signature_line(text: str, *, verbose: bool) -> str:
    """Return a signature in full, or its digest."""
    from passcurve.signature import digest

    return f"  signature: {text}" if verbose else f"  signature: {digest(text)} (in full with --verbose or --json)"


def headline(source: str, counts: Sequence[Counts], scope: Scope | None) -> str:
    """Return the first line of scores: how many samples, of which problems; ``scope`` is None where it is not known."""
    from passcurve.diagnosis import Scope
    from passcurve.report.diagnosis import coverage

    samples, attempted = sum(count.n for count in counts), sum(count.n > 0 for count in counts)
    scope = scope or Scope(total=len(counts), requested=len(counts))
    return f"{source}: {amount(samples, 'sample')} of {coverage(scope, attempted)}"
