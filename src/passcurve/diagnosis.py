"""Records of a diagnosis: faults of the samples and of the benchmark of a run, and the problems its score covers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from passcurve.types import Estimate
from passcurve.types.amounts import part_of

MAX_SHARE = 0.05
"""Share of unreadable rows, or of excluded problems, above which a score is withheld."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of the samples that a score does not show."""

    name: str
    """Its kind, for programs: ``no_code_field``, ``fenced``, ..."""
    rows: int
    """Number of rows that have it."""
    text: str
    """What it is, and what to do, in one line."""
    withholds: bool = False
    """True when no score may be reported unless the user insists."""

    def record(self) -> dict[str, str | int]:
        """Return it as plain data."""
        return {"name": self.name, "rows": self.rows, "text": self.text}


class InputReport(msgspec.Struct, frozen=True, kw_only=True):
    """Findings on a file of samples, made while it is read."""

    rows: int = 0
    """Lines of the file, blank ones aside."""
    findings: tuple[Finding, ...] = ()
    unread: int = 0
    """Lines of those that count for nothing: they are damaged, or of tasks that the benchmark lacks."""


class Exclusion(msgspec.Struct, frozen=True, kw_only=True):
    """A problem that no score counts, because its own reference solution does not pass its tests."""

    problem_id: str
    kind: Literal["reference", "tests", "package"]
    """What is at fault: the reference solution, the tests, or a package that the samples lack here."""
    reason: str


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The problems that a score covers."""

    total: int
    """Problems of the benchmark."""
    requested: int
    """Problems asked for by ``--problems``; else all."""
    pattern: str = ""
    """The value of ``--problems``."""
    sampled: int | None = None
    """Problems with samples, where only those are scored (``--subset``)."""
    excluded: tuple[Exclusion, ...] = ()

    @property
    def covered(self) -> int:
        """The number of problems over which a score is the mean."""
        return self.requested - len(self.excluded) if self.sampled is None else self.sampled

    @property
    def candidates(self) -> int:
        """The number of problems that a score would cover if none were excluded."""
        return self.requested if self.sampled is None else self.sampled + len(self.excluded)

    def missing(self, attempted: int) -> int:
        """Return the number of problems without a sample that a score would have to cover."""
        return 0 if self.sampled is not None else max(0, self.covered - attempted)

    @property
    def faulty(self) -> frozenset[str]:
        """The ids of the excluded problems."""
        return frozenset(exclusion.problem_id for exclusion in self.excluded)

    @property
    def choice(self) -> str:
        """The choice of a part of the benchmark, as options of the command; empty for all of it."""
        parts = [f"--problems '{self.pattern}'"] if self.pattern else []
        return " ".join(parts if self.sampled is None else [*parts, "--subset"])


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said before a score."""

    scope: Scope
    input: InputReport = InputReport()
    withheld: str = ""
    """Why no score is reported; empty when one is."""


def diagnose(scope: Scope, report: InputReport, *, accept_input: bool, accept_benchmark: bool) -> Diagnosis:
    """Return the diagnosis of a run; a score is withheld unless the user accepts what would withhold it."""
    fatal = [finding for finding in report.findings if finding.withholds and not accept_input]
    withheld = [f"{finding.text} (--accept-input insists)" for finding in fatal]
    faulty = sum(exclusion.kind != "package" for exclusion in scope.excluded)
    if scope.excluded and not scope.covered:
        every = "the only one is" if scope.candidates == 1 else f"all {scope.candidates} are"
        withheld.append(f"no problem is left to score, {every} excluded: see `passcurve bench check BENCHMARK`")
    elif faulty > MAX_SHARE * scope.candidates and not accept_benchmark:
        withheld.append(
            f"{part_of(faulty, scope.candidates, 'problem')} cannot be judged: see `passcurve bench check BENCHMARK` "
            "(--accept-benchmark insists)"
        )
    return Diagnosis(scope=scope, input=report, withheld="; ".join(withheld))


def withhold(estimates: Iterable[Estimate], reason: str) -> tuple[Estimate, ...]:
    """Return the estimates without their values, for this reason."""
    return tuple(Estimate(k=estimate.k, metric=estimate.metric, value=None, reason=reason) for estimate in estimates)
