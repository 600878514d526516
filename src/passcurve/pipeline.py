"""The whole road, and the only file that knows it: samples -> programs -> verdicts -> counts -> estimates."""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from passcurve import __version__
from passcurve.bench.choose import choose_problems
from passcurve.errors import DataError, Interrupted
from passcurve.extract import DEFAULT as AS_IT_STANDS
from passcurve.extract import extract
from passcurve.extract import find as find_policy
from passcurve.langs import python as language
from passcurve.langs.calibrate import Calibrations, Settled
from passcurve.langs.judge import judge as to_verdict
from passcurve.langs.judge import needs_second_run
from passcurve.langs.python import Plan
from passcurve.sandbox import probe as isolation
from passcurve.sandbox import toolchain as tools
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.pool import Pool
from passcurve.sched.local import Local
from passcurve.signature import signature
from passcurve.store.alike import Alike, group_sizes
from passcurve.store.codec import VerdictLine
from passcurve.store.lines import read_lines
from passcurve.store.results import try_to_write, write_results
from passcurve.store.rundir import Judging, RunDir
from passcurve.store.samples import BadLine, read_rows
from passcurve.store.tally import Tally
from passcurve.types import (
    Benchmark,
    Completion,
    Counts,
    Curve,
    Estimate,
    Header,
    Jail,
    Limits,
    Metric,
    Mode,
    Problem,
    SampleKey,
    Slowest,
    Status,
    Suspect,
    Verdict,
)
from passcurve.units import Row, Unit

WINDOW_ROWS = 2000
WINDOW_BYTES = 64 << 20
"""How many programs are read ahead of the judge: memory does not grow with the number of samples."""

BATCH_ROWS = 1000
"""How many rows are read, and how many verdicts stored, at once."""

SLICE_S = 0.3
"""A sample that runs longer is stopped and run again at the end, from the start, when no other runs beside it."""

SUSPECTS = 10
"""Suspicious samples that a result names; its rows have them all."""

MALFORMED = 1000
"""Lines that are no rows of which a result has the reasons."""

_TRIES = 2
_TICK_S = 0.1
_MOMENT_S = 0.001


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks of ``judge``, checked and complete."""

    samples: Path
    benchmark: Benchmark
    run: Path
    results: Path | None
    """None: write none."""
    limits: Limits
    workers: int
    ks: tuple[int, ...]
    ks_asked: bool = False
    """A k that was asked for and cannot be estimated is an error; a default one is not."""
    every_k: bool = False
    """Every k from 1 to the least n, besides ``ks``."""
    metrics: tuple[Metric, ...] = (Metric(),)
    verdict: Literal["auto", "referee", "shared"] = "auto"
    isolation: Literal["auto", "full", "restricted", "none"] = "auto"
    packages: tuple[str, ...] = ()
    python: str | None = None
    problems: str = ""
    subset: bool = False
    strict: bool = False
    dedup: bool = True
    seed: int = 0
    extract: str = AS_IT_STANDS
    """The policy by which texts become programs; ``docs/extraction.md`` has them all."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is; handed to whoever watches, several times a second."""

    judged: int
    planned: int
    """Rows read so far; all of them once ``read_all``."""
    read_all: bool
    passed: int
    tally: Tally

    def pass_at_1(self) -> Estimate:
        """Return pass@1 of the problems that have a verdict; its value is None while none has."""
        from passcurve.stats.estimate import estimate

        return estimate([counts for counts in self.tally.counts() if counts.n], [1])[0]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of ``judge`` says in the end."""

    estimates: tuple[Estimate, ...]
    curve: Curve | None
    """pass@k with a band for all k at once, where every k was asked for."""
    counts: tuple[Counts, ...]
    """n and c of each problem, those without a sample among them unless a subset was asked for."""
    benchmark: str
    problems: int
    attempted: int
    samples: int
    owed: int
    malformed: tuple[BadLine, ...]
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
    header: Header
    jail: Jail
    own_clock: bool
    notes: tuple[str, ...]
    slowest: Slowest | None
    resumed: int
    """Verdicts that an earlier, interrupted session had stored."""
    signature: str
    run: str
    results: str | None
    exit_code: int
    """0, or 1 when anything is owed, or 2 when lines were no rows, problems have no sample or a k is too large."""


def judge(request: Request, watch: Callable[[Progress], None] = lambda _: None) -> Result:
    """Judge a file of samples, or go on where an interrupted run of the same command stopped.

    Raises Interrupted when the user stops it (what was done is stored), and each room's errors.
    """
    problems = choose_problems(request.benchmark, request.problems)
    find_policy(request.extract)
    if request.results is not None:
        try_to_write(request.results.absolute().parent)
    optional = tuple(dict.fromkeys([*tools.OPTIONAL, *request.benchmark.packages]))
    toolchain = tools.find(request.python, request.packages, optional)
    found = isolation.find(request.isolation, toolchain, request.limits)
    header = Header(
        version=__version__,
        benchmark=request.benchmark.name,
        benchmark_source=request.benchmark.source,
        benchmark_digest=request.benchmark.digest,
        samples=str(request.samples.resolve()),
        limits=request.limits,
        verdict=request.verdict,
        dedup=request.dedup,
        jail=found.jail,
        subset=request.subset,
        problems=request.problems,
        seed=request.seed,
        extract=request.extract,
    )
    with RunDir(request.run).judge(header) as store:
        with Pool(_workers(request), found, toolchain, request.limits, language.REFEREE_ROLE) as pool:
            road = _Road(request, problems, store, pool, watch)
            try:
                road.run()
            except KeyboardInterrupt:
                road.flush()
                raise Interrupted(
                    f"{road.tally.scored} of {road.tally.planned} rows read are judged and stored in "
                    f"{str(request.run)!r}; the same command goes on from there"
                ) from None
        return road.conclude(header, found)


def _workers(request: Request) -> int:
    """Return no more workers than there are rows: each holds interpreters in memory."""
    return max(1, sum(1 for _ in islice(read_lines(request.samples), request.workers)))


class _Road:
    """One run: what is read, what is held back, what is under way."""

    def __init__(
        self,
        request: Request,
        problems: tuple[Problem, ...],
        store: Judging,
        pool: Pool,
        watch: Callable[[Progress], None],
    ) -> None:
        self._request = request
        self._problems = {problem.id: problem for problem in problems}
        self._store = store
        self._local: Local[Job, Outcome] = Local(pool)
        self._watch = watch
        self.tally = Tally()
        self._malformed: list[BadLine] = []
        self._malformed_lines = 0
        self._plans: dict[str, Plan] = {}
        self._calibrations = Calibrations(
            request.verdict, request.limits, request.seed, self._put, self._local.put_last
        )
        self._held: dict[str, list[Unit]] = {}
        self._units: dict[int, Unit] = {}
        self._twins: dict[tuple[str, str], Unit] = {}
        """Programs that are not judged yet; those that are, the store knows."""
        self._open = 0
        """Programs that are not judged yet."""
        self._bytes = 0
        """Their size."""
        self._alike = Alike()
        self._next_tag = 0
        self._lines: list[VerdictLine] = []
        self._slowest: Slowest | None = None
        self._suspects: dict[bool, list[tuple[int, Suspect]]] = {True: [], False: []}
        self._resumed = 0
        self._rows_seen = 0

    def run(self) -> None:
        """Read, judge and store until every row has its verdict or is owed."""
        source = self._read()
        read_all = False
        while not (read_all and self._local.empty):
            rows = 0
            while not read_all and rows < BATCH_ROWS and self._open < WINDOW_ROWS and self._bytes < WINDOW_BYTES:
                completion = next(source, None)
                rows += 1
                if completion is None:
                    read_all = True
                else:
                    self._admit(completion)
            # Rows whose verdict is known already take no time to judge: nothing is waited for while they come.
            for outcome in self._local.run(_TICK_S if rows < BATCH_ROWS else _MOMENT_S):
                self._take(outcome)
            # Before more is read: an equal program is looked for among those that are not judged yet and in the store.
            self.flush()
            self._watch(
                Progress(
                    judged=self.tally.scored,
                    planned=self.tally.planned,
                    read_all=read_all,
                    passed=self.tally.statuses["passed"],
                    tally=self.tally,
                )
            )

    def flush(self) -> None:
        """Store the verdicts that have come since the last call."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._store.append(lines)

    def _read(self) -> Iterator[Completion]:
        all_ids = [problem.id for problem in self._request.benchmark.problems]
        for row in read_rows(self._request.samples, all_ids):
            if isinstance(row, Completion):
                self._rows_seen += 1
                if row.key.problem_id in self._problems:
                    yield row
            elif self._request.strict:
                raise DataError(f"{str(self._request.samples)!r}, line {row.line}: {row.reason}")
            else:
                self._malformed_lines += 1
                if self._malformed_lines <= MALFORMED:
                    self._malformed.append(row)

    def _admit(self, row: Completion) -> None:
        problem = self._problems[row.key.problem_id]
        self.tally.plan(problem.id)
        self._store.check(row)
        stored = self._store.countable_at(row.row, row.key) if self._store.resumed else None
        if stored is not None:
            self._resumed += 1
            if not self._alike.differs(problem.id) and (line := self._store.line_at(row.row)):
                self._alike.add(problem.id, line.program)
            self._count(row.row, stored)
            return
        program = extract(problem, row, self._request.extract)
        # The default policy has one step, the same for all: there is nothing to tell.
        short = Row(row.row, row.digest, row.key, program.steps if self._request.extract != AS_IT_STANDS else ())
        if program.text is None:
            self._say(short, "", Verdict(key=row.key, status="no_code", mode="none", message=program.steps[-1]))
            return
        digest = hashlib.blake2b(program.text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        if self._request.dedup:
            if twin := self._twins.get((problem.id, digest)):
                twin.add(short)
                return
            if verdict := self._store.judged(problem.id, digest):
                self._say(short, digest, verdict)
                return
        unit = Unit(problem, program.text, digest)
        unit.add(short)
        self._open += 1
        self._bytes += unit.size
        if self._request.dedup:
            self._twins[problem.id, digest] = unit
        plan = self._plans.get(problem.id)
        if plan is not None:
            self._submit(unit, plan)
        elif problem.id in self._held:
            self._held[problem.id].append(unit)
        else:
            self._held[problem.id] = [unit]
            if settled := self._calibrations.begin(problem):
                self._settle(settled)

    def _settle(self, settled: Settled) -> None:
        self._plans[settled.problem.id] = settled.plan
        for unit in self._held.pop(settled.problem.id, ()):
            self._submit(unit, settled.plan)

    def _put(self, job: Job) -> None:
        self._local.put(job, job.referee.key if job.referee is not None else "")

    def _submit(self, unit: Unit, plan: Plan) -> None:
        job = language.job(unit.problem, unit.program, plan, self._request.limits, self._request.seed, self._tag())
        unit.job = msgspec.structs.replace(job, slice_s=min(SLICE_S, job.limits.timeout_s))
        unit.mode = plan.mode
        self._units[job.tag] = unit
        self._put(unit.job)

    def _take(self, outcome: Outcome) -> None:
        if self._calibrations.owns(outcome):
            if settled := self._calibrations.take(outcome):
                self._settle(settled)
            return
        unit = self._units[outcome.tag]
        if unit.job is None:
            return
        job = unit.job
        whole = job.limits.timeout_s
        if outcome.ended == "slice":
            unit.job = msgspec.structs.replace(language.asked_one_by_one(job), slice_s=whole)
            self._local.put_last(unit.job)
        elif job.replayed and not language.settles(outcome):
            unit.job = language.asked_one_by_one(job)
            self._put(unit.job)
        elif needs_second_run(outcome) and job.tries < _TRIES - 1:
            unit.job = msgspec.structs.replace(job, slice_s=whole, fresh=True, tries=job.tries + 1)
            self._local.put_last(unit.job)
        else:
            del self._units[outcome.tag]
            self._open -= 1
            self._bytes -= unit.size
            if self._request.dedup:
                del self._twins[unit.problem.id, unit.digest]
            verdict = to_verdict(next(unit.rows()).key, job, outcome, unit.mode)
            for row in unit.rows():
                self._say(row, unit.digest, verdict)

    def _say(self, row: Row, digest: str, verdict: Verdict) -> None:
        verdict = msgspec.structs.replace(verdict, key=row.key, extraction=row.steps)
        self._lines.append(VerdictLine(row=row.row, digest=row.digest, program=digest, verdict=verdict))
        if len(self._lines) >= BATCH_ROWS:
            self.flush()
        if verdict.status != "void":
            self._alike.add(row.key.problem_id, digest)
        self._count(row.row, verdict)

    def _count(self, row: int, verdict: Verdict) -> None:
        self.tally.add(verdict)
        if verdict.passed and (self._slowest is None or verdict.own_s > self._slowest.own_s):
            self._slowest = Slowest(key=verdict.key, own_s=verdict.own_s)
        if verdict.suspicious:
            # The first by row, in whatever order they come.
            named = self._suspects[verdict.passed]
            suspect = Suspect(key=verdict.key, status=verdict.status, seen=verdict.suspicious)
            bisect.insort(named, (row, suspect), key=lambda each: each[0])
            del named[SUSPECTS:]

    def _tag(self) -> int:
        self._next_tag += 1
        return self._next_tag

    def conclude(self, header: Header, found: isolation.Probe) -> Result:
        """Check that nothing was lost, write the results if nothing is owed, and estimate."""
        # Loaded here: numpy takes longer to load than many samples take to be judged.
        from passcurve.stats.metrics import Asked, scores

        request, tally = self._request, self.tally
        tally.check()
        counts = {count.problem_id: count for count in tally.counts()}
        attempted = len(counts)
        if not tally.planned:
            raise DataError(_nothing(request, self._malformed, self._malformed_lines))
        if not request.subset:
            counts = {each: counts.get(each, Counts(problem_id=each, n=0, c=0)) for each in self._problems}
        groups = None
        if any(metric.name == "distinct@k" for metric in request.metrics):
            stored = ((line.verdict.key.problem_id, line.program) for line in self._store.iter_lines())
            groups = group_sizes(stored, counts)
        scored = scores(
            tuple(counts.values()),
            Asked(metrics=request.metrics, ks=request.ks, every_k=request.every_k),
            tally.owed,
            groups=groups,
            alike=self._alike.problems(counts.values()),
        )
        results = request.results
        if tally.owed == 0:
            self._store.check_end(self._rows_seen)
            if results is not None:
                write_results(
                    request.samples,
                    [problem.id for problem in request.benchmark.problems],
                    results,
                    self._store.verdict_at,
                    found.jail.isolation,
                    only=self._problems.keys(),
                )
            self._store.finish(planned=tally.planned, malformed=self._malformed_lines, rows=self._rows_seen)
        return Result(
            estimates=scored.estimates,
            curve=scored.curve,
            counts=tuple(counts.values()),
            benchmark=request.benchmark.name,
            problems=len(self._problems),
            attempted=attempted,
            samples=tally.planned,
            owed=tally.owed,
            malformed=tuple(self._malformed),
            malformed_lines=self._malformed_lines,
            suspicious=tally.suspicious,
            suspicions=tally.suspicions,
            suspects=tuple(suspect for _, suspect in self._suspects[True] + self._suspects[False])[:SUSPECTS],
            statuses=tally.statuses,
            modes=tally.modes,
            header=header,
            jail=found.jail,
            own_clock=found.own_clock,
            notes=(*self._afresh(), *(f"{each}: {plan.note}" for each, plan in self._plans.items() if plan.note)),
            slowest=self._slowest,
            resumed=self._resumed,
            signature=signature(header),
            run=str(request.run),
            results=str(results) if results is not None and tally.owed == 0 else None,
            exit_code=self._exit_code(scored.estimates, attempted),
        )

    def _afresh(self) -> tuple[str, ...]:
        if not self._store.abandoned:
            return ()
        what = "; ".join(f"{each.field} was {each.was}, is {each.now}" for each in self._store.abandoned)
        return (f"an interrupted run in {str(self._request.run)!r} was judged otherwise, so all began afresh: {what}",)

    def _exit_code(self, estimates: tuple[Estimate, ...], attempted: int) -> int:
        if self.tally.owed:
            return 1
        missing = attempted < len(self._problems) and not self._request.subset
        named = {(metric.label, metric.k) for metric in self._request.metrics if metric.k is not None}
        unmet = any(
            each.value is None and (self._request.ks_asked or (each.metric, each.k) in named) for each in estimates
        )
        return 2 if self._malformed or missing or unmet else 0


def _nothing(request: Request, malformed: list[BadLine], lines: int) -> str:
    where = str(request.samples)
    if malformed:
        first = malformed[0]
        return f"{where!r} has no row to judge: {lines} lines are none; line {first.line}: {first.reason}"
    return f"{where!r} has no row to judge"
