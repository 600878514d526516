"""One run: samples become programs, programs become jobs, and the outcomes of jobs become verdicts."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

import msgspec

from passcurve.extract import DEFAULT as DEFAULT_POLICY
from passcurve.extract import extract
from passcurve.generation.sources import END, CompletionSource
from passcurve.interruption import defer_interrupts
from passcurve.judging.attempts import first_attempt, is_long, needs_whole_results, next_attempt
from passcurve.judging.calibration import Calibrations
from passcurve.judging.case_trials import Calibration
from passcurve.judging.fair_queue import Owner
from passcurve.judging.pending import PendingProgram, PendingPrograms, WaitingRow
from passcurve.judging.plan import CheckPlan, JobMaker
from passcurve.judging.plan_cache import PlanCache
from passcurve.judging.request import Progress, Request
from passcurve.judging.scheduler import MAX_BATCH, Scheduler
from passcurve.judging.verdict import judge_no_program, reach_verdict
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.pool import Pool
from passcurve.store.tally import Tally
from passcurve.types import Completion, Problem, SampleKey, Verdict

BATCH_ROWS = 64
"""Rows that are read before outcomes are taken again."""

_TICK_S = 0.1
_MOMENT_S = 0.001
_LIVE_BATCHES = 2
"""Batches for each worker that are read ahead where others may come at any time: those before them are waited for."""


class _Batch(NamedTuple):
    """The rows that were read at once, and why no more."""

    rows: int = 0
    is_last: bool = False
    """The source is exhausted."""
    is_waiting: bool = False
    """The next row is not there yet."""


class VerdictStore(Protocol):
    """Verdicts that were reached before."""

    @property
    def resumed(self) -> bool:
        """Tell whether any row may have one."""
        ...

    def check_row(self, completion: Completion, /) -> None:
        """Raise DataError when the verdict of a row was reached on another text."""
        ...

    def countable_at(self, row: int, key: SampleKey, /) -> Verdict | None:
        """Return the counted part of the verdict of a row, or None."""
        ...

    def find_verdict(self, problem_id: str, program: str, /) -> Verdict | None:
        """Return the verdict on an equal program, or None."""
        ...


class Collector(Protocol):
    """Takes the verdicts."""

    tally: Tally

    def plan(self, problem: Problem, row: Completion, /) -> None:
        """Take a row that is to have a verdict."""
        ...

    def add(self, row: WaitingRow, program: str, verdict: Verdict, /) -> None:
        """Take a verdict for a row."""
        ...

    def add_stored(self, row: int, verdict: Verdict, /) -> None:
        """Take a verdict that was reached before."""
        ...

    def owner_of(self, row: int, /) -> Owner | None:
        """Return who waits for the verdict of a row; None where nobody does any more."""
        ...

    def flush(self) -> None:
        """Keep what has come since the last call."""
        ...


class _Owners:
    """Those who wait for jobs.  The scheduler holds this and not the run, which holds the scheduler."""

    def __init__(
        self, running: dict[int, tuple[PendingProgram, Job]], pending: PendingPrograms, collector: Collector
    ) -> None:
        self._running, self._pending, self._collector = running, pending, collector

    def owner_of(self, job: Job) -> Owner | None:
        """Return who waits for a job; None for one of a calibration, and where nobody does."""
        pending, _ = self._running.get(job.tag, (None, None))
        owners = (self._collector.owner_of(row.row) for row in pending.rows()) if pending is not None else ()
        return next((owner for owner in owners if owner is not None), None)

    def forget(self, job: Job) -> bool:
        """Forget a job for which nobody waits; return whether it was one."""
        if job.tag not in self._running or self.owner_of(job) is not None:
            return False
        pending, _ = self._running.pop(job.tag)
        self._pending.remove(pending)
        return True


class JudgeRun:
    """Reads samples, has their programs judged, and hands the verdicts to a collector.

    ``patience_s``, where samples come without an end: the time for which programs that need their whole limit wait
    while others are judged; less is read ahead then, and what nobody waits for any more is not judged.
    """

    def __init__(
        self,
        request: Request,
        problems: tuple[Problem, ...],
        source: CompletionSource,
        store: VerdictStore,
        pool: Pool,
        watch: Callable[[Progress], None],
        cache: PlanCache | None,
        collector: Collector,
        *,
        patience_s: float = math.inf,
    ) -> None:
        self._request = request
        self._problems = {problem.id: problem for problem in problems}
        self._source = source
        self._store = store
        self._pool = pool
        self._watch = watch
        is_live = math.isfinite(patience_s)
        self._pending = (
            PendingPrograms(_LIVE_BATCHES * MAX_BATCH * pool.size, counts_postponed=False)
            if is_live
            else PendingPrograms()
        )
        self._running: dict[int, tuple[PendingProgram, Job]] = {}
        self.collector = collector
        self._scheduler: Scheduler[Job, Outcome] = Scheduler(pool, goes_alone=is_long)
        if is_live:
            # Of the rows of a file each is waited for.
            owners = _Owners(self._running, self._pending, collector)
            self._scheduler = Scheduler(
                pool, owner_of=owners.owner_of, forget=owners.forget, goes_alone=is_long, patience_s=patience_s
            )
        self._calibrations = Calibrations(
            request.verdict, request.limits, request.seed, self._scheduler, cache, pool.modules
        )
        self._makers: dict[str, JobMaker | None] = {}
        """Makers of jobs by problem; None while one is under calibration."""

    @property
    def problems(self) -> Mapping[str, Problem]:
        """The problems by id."""
        return self._problems

    @property
    def plans(self) -> Mapping[str, CheckPlan | None]:
        """The plans of the problems so far; None while one is under calibration."""
        # Another thread than that of the run may ask.
        return {problem_id: self.plan_of(problem_id) for problem_id in tuple(self._makers)}

    def plan_of(self, problem_id: str) -> CheckPlan | None:
        """Return the plan of a problem; None while it has none."""
        maker = self._makers.get(problem_id)
        return maker.plan if maker is not None else None

    def is_calibrating(self, problem_id: str) -> bool:
        """Tell whether a problem is under calibration."""
        return problem_id in self._makers and self._makers[problem_id] is None

    def add_problem(self, problem: Problem) -> None:
        """Take samples of one more problem."""
        self._problems[problem.id] = problem

    def drop_problem(self, problem_id: str) -> None:
        """Forget a problem, of which no sample may be under way."""
        self._problems.pop(problem_id, None)
        self._makers.pop(problem_id, None)

    def judge(self) -> None:
        """Read and judge until every row has its verdict or is owed."""
        completions = self._source.completions()
        upcoming = self._source.upcoming_problems()
        self._source.notify(self._pool.wakeup.set)
        read_all = False
        while not (read_all and self._scheduler.is_empty):
            batch = _Batch() if read_all else self._read(completions)
            read_all = read_all or batch.is_last
            if batch.is_waiting:
                self._calibrate_ahead(upcoming)
                if self._scheduler.is_empty:
                    self._pool.wait_for_wakeup(self._source.poll_s)
            for_s = _TICK_S if batch.rows < BATCH_ROWS else _MOMENT_S
            outcomes = self._scheduler.run(self._source.poll_s if batch.is_waiting else for_s)
            # What is counted is stored: the line that ends an interrupted run says so.
            with defer_interrupts():
                for outcome in outcomes:
                    self._take(outcome)
                # Before more is read: an equal program is looked for among the pending ones and in the store.
                self.collector.flush()
            self._watch(self._progress(read_all=read_all))

    def _read(self, completions: Iterator[Completion | None]) -> _Batch:
        rows = 0
        while rows < BATCH_ROWS and not self._pending.is_full:
            completion = next(completions, END)
            rows += 1
            if completion is END:
                return _Batch(rows, is_last=True)
            if completion is None:
                return _Batch(rows, is_waiting=True)
            if completion.key.problem_id in self._problems:
                self._admit(completion)
        return _Batch(rows)

    def _progress(self, *, read_all: bool) -> Progress:
        tally, pending = self.collector.tally, self._pending
        one_each_s = self._request.limits.timeout_s / min(self._pool.size, self._pool.cores)
        return Progress(
            judged=tally.scored,
            planned=tally.planned,
            read_all=read_all,
            passed=tally.statuses["passed"],
            tally=tally,
            postponed_rows=pending.postponed_rows,
            postponed_s=pending.postponed_programs * one_each_s,
            problems=len(self._problems),
            plans=dict if self._request.count_all else lambda: self.plans,
            generated=self._source.progress(),
        )

    def _admit(self, row: Completion) -> None:
        problem = self._problems[row.key.problem_id]
        if self.collector.owner_of(row.row) is None:
            return
        self.collector.plan(problem, row)
        # Whatever becomes of its rows: a score must know whether the problem counts.
        if problem.id not in self._makers:
            self._calibrate(problem)
        self._store.check_row(row)
        stored = self._store.countable_at(row.row, row.key) if self._store.resumed else None
        if stored is not None:
            self.collector.add_stored(row.row, stored)
        else:
            self._judge_completion(problem, row)

    def _judge_completion(self, problem: Problem, completion: Completion) -> None:
        program = extract(problem, completion, self._request.extract)
        # The default policy has one step, the same for all samples: results do not show it.
        steps = program.steps if self._request.extract != DEFAULT_POLICY else ()
        row = WaitingRow(completion.row, completion.digest, completion.key, steps)
        if program.text is None:
            self.collector.add(row, "", judge_no_program(row.key, problem, program.steps[-1]))
            return
        digest = hashlib.blake2b(program.text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        if self._request.dedup:
            if pending := self._pending.find(problem.id, digest):
                pending.add(row)
                return
            if stored := self._store.find_verdict(problem.id, digest):
                self.collector.add(row, digest, stored)
                return
        pending = self._pending.add(problem, program.text, digest)
        pending.add(row)
        if (maker := self._makers[problem.id]) is not None:
            self._submit(pending, maker)
        else:
            self._pending.wait_for_plan(pending)

    def _calibrate_ahead(self, upcoming: Iterator[str]) -> None:
        """Calibrate problems whose samples are yet to come, while there is nothing else to do."""
        while self._scheduler.waiting < self._pool.size and (problem_id := next(upcoming, None)) is not None:
            if problem_id in self._problems and problem_id not in self._makers:
                self._calibrate(self._problems[problem_id])

    def _calibrate(self, problem: Problem) -> None:
        self._makers[problem.id] = None
        if calibration := self._calibrations.begin(problem):
            self._use(calibration)

    def _replace_plan(self, pending: PendingProgram) -> None:
        """Have a program judged by a new plan: of the one that was kept, a file was damaged or removed meanwhile."""
        problem = pending.problem
        maker = self._makers[problem.id]
        if maker is not None and not maker.plan.whole_in:
            self._submit(pending, maker)
            return
        self._pending.wait_for_plan(pending)
        if maker is not None:
            self._calibrations.forget(problem)
            self._calibrate(problem)

    def _use(self, calibration: Calibration) -> None:
        plan, problem, request = calibration.plan, calibration.problem, self._request
        if plan.fault is not None and request.count_all:
            plan = msgspec.structs.replace(plan, mode="shared")
        maker = JobMaker(problem, plan, request.limits, request.seed, all_tests=request.all_tests)
        self._makers[problem.id] = maker
        for pending in reversed(self._pending.pop_waiting_for_plan(problem.id)):
            self._submit(pending, maker, first=True)

    def _submit(self, pending: PendingProgram, maker: JobMaker, *, first: bool = False) -> None:
        job = first_attempt(maker.make(pending.text, pending.tag))
        self._running[job.tag] = (pending, job)
        self._scheduler.put(job, first=first)

    def _take(self, outcome: Outcome) -> None:
        if self._calibrations.owns(outcome):
            if calibration := self._calibrations.take(outcome):
                self._use(calibration)
            return
        pending, job = self._running.pop(outcome.tag)
        if retry := next_attempt(job, outcome):
            self._running[job.tag] = (pending, retry.job)
            self._scheduler.put(retry.job, at_end=retry.at_end)
            if retry.at_end:
                self._pending.postpone(pending)
            return
        if needs_whole_results(job, outcome):
            self._replace_plan(pending)
            return
        self._pending.remove(pending)
        rows = pending.rows()
        first = next(rows)
        verdict = reach_verdict(first.key, job, outcome)
        for row in itertools.chain((first,), rows):
            self.collector.add(row, pending.digest, verdict)
