"""The records of an analysis: what is made in ``analysis/``, and what the reports here and others read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from passcurve.diagnosis import Diagnosis
from passcurve.types import Counts, Estimate, Interval, Status, SuiteScore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from passcurve.lab.ranking import Ranking


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """The score of one variant."""

    policy: str
    """The name of the variant: the policy, with the profile where several are compared."""
    estimates: tuple[Estimate, ...]
    passed: int
    no_code: int
    """Samples without a program."""
    rescued: int
    """Samples that pass here but not in the first variant."""
    spoiled: int
    """Samples that pass in the first variant but not here."""
    extract: str
    """The policy without its prelude."""
    prelude: str
    """The import prelude, or ``none``."""
    profile: str
    """The harness whose rules judged its programs."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One sample under one policy: the program and its verdict."""

    policy: str
    status: Status
    message: str
    steps: tuple[str, ...]
    program: str | None


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A problem whose score depends on the policy, with a sample that shows it."""

    problem_id: str
    n: int
    passed: dict[str, int]
    """Under each policy."""
    sample_index: int
    wrong: Side
    right: Side
    pattern: int
    """Which of the patterns the sample belongs to."""


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """Samples that flip alike; one that several policies fail in several ways is in several patterns."""

    gained: bool
    """True where the samples fail under the first policy, False where they pass under it."""
    failure: str
    """How they fail under the first policy, or where they pass under it, under ``policies``."""
    problems: int
    samples: int
    names: dict[str, int]
    """What was missing, each with its samples, where they fail with NameError or ModuleNotFoundError."""
    policies: dict[str, int]
    """How many of the samples pass under each policy; where ``gained`` is False, how many fail in this way."""


class MissingImports(msgspec.Struct, frozen=True, kw_only=True):
    """Samples that fail since a name is not defined that a prelude would import."""

    policy: str
    """The policy under which they fail."""
    samples: int
    names: dict[str, int]
    """The names, each with its samples."""
    preludes: dict[str, int]
    """The preludes that import such a name, each with the samples that lack one; the best first."""


class Autopsy(msgspec.Struct, frozen=True, kw_only=True):
    """The same texts under several policies."""

    benchmark: str
    problems: int
    attempted: int
    samples: int
    malformed: int
    rulings: tuple[Ruling, ...]
    flips: tuple[Flip, ...]
    """The problems on which two policies differ, in the order of the benchmark."""
    patterns: tuple[Pattern, ...]
    """The samples on which two policies differ, by how they fail; the commonest first."""
    missing_imports: MissingImports | None
    """Samples that a prelude might rescue, where none was tried."""
    passed_anywhere: int
    """Samples that pass under at least one policy; these are right up to formatting."""
    up_to_formatting: tuple[Estimate, ...]
    """pass@k with the best policy for each sample; no single policy reaches it."""
    owed: int
    """Number of programs without a verdict."""
    programs: int
    """Number of distinct programs that were judged."""
    diagnosis: Diagnosis
    """Excluded problems, which no score counts."""
    signature: str
    """The signature of the judging, with all policies; empty when there was no program to judge."""
    folder: str
    exit_code: int


class RunFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of the samples of one of the runs."""

    run: str
    name: str
    rows: int
    text: str


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of A and B in pass@k."""

    k: int
    a: float
    b: float
    difference: float
    new_problems: Interval | None
    """None where there is no interval, like ``these_problems``; the warnings say why."""
    these_problems: Interval | None
    p: float
    p_error: float
    """Standard error of ``p`` from random permutations; 0 where it is exact."""
    p_method: str
    """``exact`` or ``Monte Carlo``."""
    p_test: str
    """``sign flips``; with unequal n the larger p of that and ``permutation within problems``."""
    adjusted: float | None
    """``p`` adjusted for all k and pairs, by the step-down maximum or, with unequal n, Holm's rule; None for one."""
    wins: int
    ties: int
    losses: int
    between: float | None
    """Raw variance over problems of the true differences; None without a sampling variance."""
    within: float | None
    """Mean variance of a problem's difference over fresh samples."""
    minimum_detectable: float | None
    """True difference that these runs detect at the level with power .8; None where it is unknown."""
    warnings: tuple[str, ...]

    @property
    def is_undecided(self) -> bool:
        """True where ``p`` and the interval for new problems, which are made in different ways, disagree about zero."""
        interval = self.new_problems
        return interval is not None and (interval.low <= 0 <= interval.high) != (self.p > 1 - interval.level)


class Decider(msgspec.Struct, frozen=True, kw_only=True):
    """A problem on which two runs differ."""

    problem_id: str
    a: Counts
    b: Counts
    difference: float
    """In pass@1."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, A and B."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    deciders: tuple[Decider, ...]
    """Largest difference in pass@1 first; equal ones in the order of their ids, 7 before 30."""
    differs: tuple[str, ...]
    """Other differences between the runs, from their signatures."""


class ComparedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Every pair of the runs."""

    runs: tuple[str, ...]
    benchmark: str
    """Empty where no run names one."""
    problems: int
    coverage: str
    """Which part of the benchmark the runs cover; empty for all of it, or where that is not stored."""
    pairs: tuple[Pair, ...]
    seed: int
    notes: tuple[str, ...]
    findings: tuple[RunFinding, ...] = ()
    """What was found in the samples of each run; a difference may come from that alone."""


class MatchValues(NamedTuple):
    """The values of the samples of a run, in the order of their rows."""

    problem: NDArray[np.int64]
    """Number of each sample's problem, from 0."""
    passed: NDArray[np.bool_]
    metrics: dict[str, NDArray[np.float64]]


class MatchedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose programs were compared with the references."""

    run: str
    benchmark: str
    samples: int
    passed: int
    problems: int
    whole: int
    """Samples that do not begin with the prompt; they are compared with the whole reference."""
    no_code: int
    """Samples without a program; they are compared as empty text."""
    estimates: tuple[Estimate, ...]
    """pass@k of the same samples."""
    pass_at_1: float | None
    """The mean over problems of the share that passed."""
    scores: dict[str, float | None]
    """The mean over problems of the mean over samples, for each metric."""
    ranked: dict[str, Ranking]
    level: float
    resamples: int
    seed: int
    signatures: dict[str, str]
    """Signature of each metric."""
    signature: str
    """Signature of the verdicts; empty for a file of another harness."""
    kept: str
    """Path of the values of each sample; empty for a file of another harness."""


class Inversion(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs that a metric ranks in the wrong order."""

    metric: str
    better: str
    """The run that passes more."""
    worse: str
    """The run that is more similar to the references."""
    pass_at_1: tuple[float, float]
    """pass@1 of the better and of the worse run."""
    score: tuple[float, float]
    p: float
    """p of the paired test that both have the same pass@1."""


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a match of one or several runs."""

    runs: tuple[MatchedRun, ...]
    inverted: tuple[Inversion, ...]
    """The inversions among all pairs of runs on the same problems."""
    findings: tuple[RunFinding, ...]
    """What was found in the samples of each run."""
    notes: tuple[str, ...]
    """Which extras are missing, and which runs cannot be ranked."""


class ProfileScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score under one profile."""

    profile: str
    title: str
    passed: int
    samples: int
    """Samples that count: those of excluded problems do not."""
    estimates: tuple[Estimate, ...]
    suites: tuple[SuiteScore, ...]
    withheld: str
    coverage: str
    """The problems that the score covers, and why not all."""
    signature: str
    findings: tuple[dict[str, str | int], ...] = ()
    """The findings on the samples under this profile, each with ``name``, ``rows`` and ``text``."""


class ProfileRuling(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one sample under one profile."""

    status: str
    """A status, or ``excluded``."""
    reason: str
    """Why it did not pass; empty where it did."""


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """A sample that passes under some profiles and not under others."""

    problem_id: str
    sample_index: int
    rulings: dict[str, ProfileRuling]
    """The verdicts by profile."""
