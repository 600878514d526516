"""Text before a score: the faults of the samples and of the benchmark, and the problems that it covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from passcurve.diagnosis import Diagnosis, Finding, Scope
from passcurve.report.terminal import printable, truncate
from passcurve.types.amounts import are, part_of

_EXCLUDED_SHOWN = 5
_KINDS = {
    "reference": "whose own reference solution fails",
    "tests": "whose tests check nothing",
    "package": "that need{s} a package which is not here",
}


def diagnosis_lines(diagnosis: Diagnosis) -> list[str]:
    """Return a line for each finding and for the first excluded problems; nothing where all is well."""
    # What withholds the score is said once, in that line.
    lines = [f"input: {finding.text}" for finding in diagnosis.input.findings if finding.text not in diagnosis.withheld]
    excluded = diagnosis.scope.excluded
    if excluded:
        kinds = Counter(exclusion.kind for exclusion in excluded)
        listed = ", ".join(f"{count} {_KINDS[kind].format(s='s' * (count == 1))}" for kind, count in kinds.items())
        part = part_of(len(excluded), diagnosis.scope.candidates, "problem")
        lines.append(f"benchmark: {part} {are(len(excluded))} excluded: {listed}")
        named = (f"  {exclusion.problem_id}: {exclusion.reason}" for exclusion in excluded)
        lines += truncate(named, _EXCLUDED_SHOWN, "more (passcurve bench check BENCHMARK lists all)")
    if diagnosis.withheld:
        lines.append(f"the score is withheld: {diagnosis.withheld}")
    return [printable(line) for line in lines]


def fault_lines(diagnosis: Diagnosis | None, findings: Iterable[Finding]) -> list[str]:
    """Return the lines of a diagnosis; where only the findings on the samples are stored, a line for each of these."""
    return diagnosis_lines(diagnosis) if diagnosis is not None else [finding_line(finding) for finding in findings]


def finding_line(finding: Finding) -> str:
    """Return a finding on samples as a line."""
    return printable(f"input: {finding.text}")


def diagnosis_record(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as plain data."""
    return {
        "input": {
            "rows": diagnosis.input.rows,
            "unread": diagnosis.input.unread,
            "findings": [finding.record() for finding in diagnosis.input.findings],
        },
        "scope": {
            "choice": diagnosis.scope.choice,
            "requested": diagnosis.scope.requested,
            "sampled": diagnosis.scope.sampled,
        },
        "total": diagnosis.scope.total,
        "covered": diagnosis.scope.covered,
        "excluded": [
            {"task_id": exclusion.problem_id, "kind": exclusion.kind, "reason": exclusion.reason}
            for exclusion in diagnosis.scope.excluded
        ],
        "withheld": diagnosis.withheld or None,
    }


def coverage(scope: Scope, attempted: int) -> str:
    """Return the problems that a score covers, and why not all: ``60 of 164 problems (--problems '*/1?')``."""
    reasons = [scope.choice] if scope.choice else []
    if scope.excluded:
        reasons.append(f"{len(scope.excluded)} excluded")
    if attempted < scope.covered:
        reasons.append(f"{scope.covered - attempted} without a sample")
    part = f"{attempted} of {scope.total}" if attempted < scope.total else str(attempted)
    return f"{part} problem{'s' * (scope.total != 1)}" + (f" ({'; '.join(reasons)})" if reasons else "")
