"""The whole road, and the only file that knows it: samples -> programs -> verdicts -> counts -> estimates."""

from __future__ import annotations

import bisect
import contextlib
import hashlib
from collections.abc import Callable, Iterator

import msgspec

from passcurve import __version__
from passcurve.bench.choose import choose_problems
from passcurve.errors import DataError, Interrupted
from passcurve.extract import DEFAULT as AS_IT_STANDS
from passcurve.extract import extract
from passcurve.extract import find as find_policy
from passcurve.generation.engine import GenerationEngine, GenerationRequest
from passcurve.generation.sources import END, FileSource, ModelSource, Source, nothing
from passcurve.interruption import deferred
from passcurve.judging.attempts import first_attempt, next_attempt
from passcurve.judging.calibration import Calibration, Calibrations
from passcurve.judging.plan import REFEREE_ROLE, CheckPlan, make_job
from passcurve.judging.queue import PendingProgram, Row
from passcurve.judging.request import Progress, Request, Result
from passcurve.judging.scheduler import Scheduler
from passcurve.judging.verdict import judge as to_verdict
from passcurve.models.backend import Backend
from passcurve.sandbox import probe as isolation
from passcurve.sandbox import toolchain as tools
from passcurve.sandbox.forkserver_client import ForkServers
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.pool import Pool
from passcurve.signature import signature
from passcurve.store.codec import VerdictLine
from passcurve.store.completions import Completions, SessionConfig
from passcurve.store.duplicates import DuplicateTracker, group_sizes
from passcurve.store.results import try_to_write, write_results
from passcurve.store.rundir import JudgingSession, RunDir
from passcurve.store.samples import JudgedRow
from passcurve.store.tally import Tally, select_counts
from passcurve.types import (
    Completion,
    Estimate,
    Generation,
    GenerationProgress,
    Header,
    Problem,
    Slowest,
    Suspect,
    Verdict,
)

__all__ = ["Progress", "Request", "Result", "judge", "run"]

WINDOW_ROWS = 2000
WINDOW_BYTES = 64 << 20
"""How many programs are read ahead of the judge: memory does not grow with the number of samples."""

BATCH_ROWS = 1000
"""How many rows are read, and how many verdicts stored, at once."""

SUSPECTS = 10
"""Suspicious samples that a result names; its rows have them all."""

_TICK_S = 0.1
_MOMENT_S = 0.001


def judge(request: Request, watch: Callable[[Progress], None] = lambda _: None) -> Result:
    """Judge a file of samples, or go on where an interrupted run of the same command stopped.

    Raises Interrupted when the user stops it (what was done is stored), and each room's errors.
    """
    ids = [problem.id for problem in request.benchmark.problems]
    source = FileSource(request.samples, ids, strict=request.strict, follow_s=request.follow_s, ended=request.ended)
    return _judge(request, lambda: source, watch)


def run(
    request: Request,
    asked: GenerationRequest,
    config: SessionConfig,
    backend: Backend,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Generate samples into the run directory, which is ``request.samples`` too, and judge each as it comes.

    What is stored there is neither asked for nor judged again.  When the back end gives up, what came is judged, the
    rest is owed, and the result says why.  Closes the back end.  Raises as ``judge`` does.
    """
    try:
        return _judge(
            request,
            lambda: ModelSource(request.run, GenerationEngine(asked, Completions(request.run, config), backend)),
            watch,
            config.generation,
        )
    finally:
        backend.close()


def _judge(
    request: Request,
    begin: Callable[[], Source],
    watch: Callable[[Progress], None],
    generation: Generation | None = None,
) -> Result:
    problems = choose_problems(request.benchmark, request.problems)
    find_policy(request.extract)
    # The run directory is made when it is locked.
    if request.results is not None and request.results.parent != request.run:
        try_to_write(request.results.absolute().parent)
    optional = tuple(dict.fromkeys([*tools.OPTIONAL, *request.benchmark.packages]))
    toolchain = tools.find(request.python, request.packages, optional)
    with contextlib.closing(ForkServers(toolchain, REFEREE_ROLE)) as fork_servers:
        found = isolation.find(request.isolation, toolchain, request.limits, fork_servers.samples, request.reuse)
        header = _header(request, found, generation)
        with (
            RunDir(request.run).open_session(header, reopen=generation is not None) as store,
            contextlib.closing(begin()) as source,
        ):
            # No more workers than there are rows: each holds interpreters in memory.
            workers = max(1, source.up_to(request.workers))
            with Pool(workers, found, toolchain, request.limits, fork_servers) as pool:
                road = JudgeRun(request, problems, source, store, pool, watch)
                try:
                    road.run()
                except KeyboardInterrupt:
                    road.flush()
                    raise Interrupted(
                        f"{road.tally.scored} of {road.tally.planned} rows read are judged and stored in "
                        f"{str(request.run)!r}; the same command goes on from there"
                    ) from None
            return road.conclude(header, found)


def _header(request: Request, found: isolation.Probe, generation: Generation | None) -> Header:
    return Header(
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
        generation=generation,
    )


class JudgeRun:
    """One run: what is read, what is held back, what is under way."""

    def __init__(
        self,
        request: Request,
        problems: tuple[Problem, ...],
        source: Source,
        store: JudgingSession,
        pool: Pool,
        watch: Callable[[Progress], None],
    ) -> None:
        self._request = request
        self._problems = {problem.id: problem for problem in problems}
        self._source = source
        self._store = store
        self._pool = pool
        self._scheduler: Scheduler[Job, Outcome] = Scheduler(pool)
        self._watch = watch
        self.tally = Tally()
        self._plans: dict[str, CheckPlan] = {}
        self._calibrations = Calibrations(request.verdict, request.limits, request.seed, self._scheduler)
        self._held: dict[str, list[PendingProgram]] = {}
        self._units: dict[int, PendingProgram] = {}
        self._twins: dict[tuple[str, str], PendingProgram] = {}
        """Programs that are not judged yet; those that are, the store knows."""
        self._open = 0
        """Programs that are not judged yet."""
        self._bytes = 0
        """Their size."""
        self._duplicates = DuplicateTracker()
        self._next_tag = 0
        self._lines: list[VerdictLine] = []
        self._slowest: Slowest | None = None
        self._suspects: dict[bool, list[tuple[int, Suspect]]] = {True: [], False: []}
        self._resumed = 0

    def run(self) -> None:
        """Read, judge and store until every row has its verdict or is owed."""
        source, ahead = self._source.completions(self._store.task_of), self._source.ahead()
        self._source.ring(self._pool.wakeup.set)
        read_all = False
        while not (read_all and self._scheduler.is_empty):
            rows, waiting = 0, False
            while (
                not (read_all or waiting)
                and rows < BATCH_ROWS
                and self._open < WINDOW_ROWS
                and self._bytes < WINDOW_BYTES
            ):
                completion = next(source, END)
                rows += 1
                if completion is END:
                    read_all = True
                elif completion is None:
                    waiting = True
                elif completion.key.problem_id in self._problems:
                    self._admit(completion)
            if waiting:
                self._prepare(ahead)
            if waiting and self._scheduler.is_empty:
                self._pool.rest(self._source.pause_s)
            # Rows whose verdict is known already take no time to judge: nothing is waited for while they come.
            at_most_s = self._source.pause_s if waiting else _TICK_S if rows < BATCH_ROWS else _MOMENT_S
            outcomes = self._scheduler.run(at_most_s)
            # What is counted is stored: the line that ends an interrupted run says so.
            with deferred():
                for outcome in outcomes:
                    self._take(outcome)
                # Before more is read: an equal program is looked for among those that are not judged yet and in the
                # store.
                self.flush()
            self._watch(
                Progress(
                    judged=self.tally.scored,
                    planned=self.tally.planned,
                    read_all=read_all,
                    passed=self.tally.statuses["passed"],
                    tally=self.tally,
                    generated=self._source.generated(),
                )
            )

    def flush(self) -> None:
        """Store the verdicts that have come since the last call."""
        if self._lines:
            with deferred():
                lines, self._lines = self._lines, []
                self._store.append(lines)

    def _admit(self, row: Completion | JudgedRow) -> None:
        problem = self._problems[row.key.problem_id]
        self.tally.plan(problem.id)
        if isinstance(row, Completion):
            self._store.check_row(row)
        stored = self._store.countable_at(row.row, row.key) if self._store.resumed else None
        if stored is not None:
            self._resumed += 1
            if not self._duplicates.has_two_programs(problem.id) and (line := self._store.line_at(row.row)):
                self._duplicates.add(problem.id, line.program)
            self._count(row.row, stored)
        elif isinstance(row, Completion):
            self._judge(problem, row)

    def _judge(self, problem: Problem, row: Completion) -> None:
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
            if verdict := self._store.find_verdict(problem.id, digest):
                self._say(short, digest, verdict)
                return
        unit = PendingProgram(problem, program.text, digest)
        unit.add(short)
        self._open += 1
        self._bytes += unit.size
        if self._request.dedup:
            self._twins[problem.id, digest] = unit
        if problem.id not in self._plans and problem.id not in self._held:
            self._calibrate(problem)
        if (plan := self._plans.get(problem.id)) is not None:
            self._submit(unit, plan)
        else:
            self._held[problem.id].append(unit)

    def _prepare(self, ahead: Iterator[str]) -> None:
        """Calibrate problems whose samples are yet to come, while there is nothing else to do."""
        while self._scheduler.waiting < self._pool.size and (problem_id := next(ahead, None)) is not None:
            if problem_id in self._problems and problem_id not in self._plans and problem_id not in self._held:
                self._calibrate(self._problems[problem_id])

    def _calibrate(self, problem: Problem) -> None:
        self._held[problem.id] = []
        if settled := self._calibrations.begin(problem):
            self._settle(settled)

    def _settle(self, settled: Calibration) -> None:
        self._plans[settled.problem.id] = settled.plan
        for unit in self._held.pop(settled.problem.id, ()):
            self._submit(unit, settled.plan)

    def _submit(self, unit: PendingProgram, plan: CheckPlan) -> None:
        request = self._request
        job = make_job(unit.problem, unit.program, plan, request.limits, request.seed, self._tag())
        unit.job = first_attempt(job)
        unit.mode = plan.mode
        self._units[job.tag] = unit
        self._scheduler.put(unit.job)

    def _take(self, outcome: Outcome) -> None:
        if self._calibrations.owns(outcome):
            if settled := self._calibrations.take(outcome):
                self._settle(settled)
            return
        unit = self._units[outcome.tag]
        if unit.job is None:
            return
        job = unit.job
        if retry := next_attempt(job, outcome):
            unit.job = retry.job
            self._scheduler.put(retry.job, at_end=retry.at_end)
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
            self._duplicates.add(row.key.problem_id, digest)
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
        from passcurve.stats.metrics import ScoreRequest, score_counts

        request, tally, source = self._request, self.tally, self._source
        if not tally.planned:
            raise DataError(nothing(request.samples, source))
        for problem_id, count in source.missing().items():
            for _ in range(count):
                tally.plan(problem_id)
        tally.check()
        counts = tally.counts()
        attempted = len(counts)
        if not request.subset:
            counts = select_counts(counts, self._problems)
        groups = None
        if any(metric.name == "distinct@k" for metric in request.metrics):
            stored = ((line.verdict.key.problem_id, line.program) for line in self._store.iter_lines())
            groups = group_sizes(stored, (count.problem_id for count in counts))
        scored = score_counts(
            counts,
            ScoreRequest(metrics=request.metrics, ks=request.ks, every_k=request.every_k),
            tally.owed,
            groups=groups,
            uniform_problems=self._duplicates.count_uniform_problems(counts),
        )
        results, generated = request.results, source.generated()
        if tally.owed == 0:
            self._store.check_row_count(source.seen)
            if results is not None:
                write_results(
                    request.samples,
                    [problem.id for problem in request.benchmark.problems],
                    results,
                    self._store.verdict_at,
                    found.jail.isolation,
                    only=self._problems.keys(),
                    rows=source.rows(self._store.task_of),
                    line_of=self._store.bytes_at,
                )
            self._store.finish(planned=tally.planned, malformed=source.malformed_lines, rows=source.seen)
        return Result(
            estimates=scored.estimates,
            curve=scored.curve,
            counts=counts,
            benchmark=request.benchmark.name,
            problems=len(self._problems),
            attempted=attempted,
            samples=tally.planned,
            owed=tally.owed,
            malformed=tuple(source.malformed),
            malformed_lines=source.malformed_lines,
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
            generated=generated,
            exit_code=self._exit_code(scored.estimates, attempted, generated),
        )

    def _afresh(self) -> tuple[str, ...]:
        if not self._store.abandoned:
            return ()
        what = "; ".join(f"{each.field} was {each.was}, is {each.now}" for each in self._store.abandoned)
        return (f"an interrupted run in {str(self._request.run)!r} was judged otherwise, so all began afresh: {what}",)

    def _exit_code(self, estimates: tuple[Estimate, ...], attempted: int, generated: GenerationProgress | None) -> int:
        if self.tally.owed:
            return generated.exit_code or 1 if generated is not None else 1
        from passcurve.stats.metrics import lacks_requested_value

        missing = attempted < len(self._problems) and not self._request.subset
        unmet = lacks_requested_value(estimates, self._request.metrics, ks_requested=self._request.ks_asked)
        return 2 if self._source.malformed or missing or unmet else 0
