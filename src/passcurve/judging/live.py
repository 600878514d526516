"""A judge that stays: samples come one by one, each with a verdict of its own, in one warm sandbox.

Theory of operation.  The road is that of a run (``judge_run.py``): calibration, equal programs, retries and verdicts
are the same code.  Only its ends differ: samples come from a queue in place of a file, and a verdict goes to whoever
waits for it in place of a run directory.  Everything runs in one thread, which owns the workers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from hashlib import blake2b

import msgspec

from passcurve.bench.choose import choose_problems
from passcurve.errors import SandboxError
from passcurve.extract import NO_PRELUDE, find_policy, fit_to_packages, with_prelude
from passcurve.judging.jail_needs import needs_processes, preload_modules
from passcurve.judging.judge_run import JudgeRun
from passcurve.judging.pending import Row
from passcurve.judging.plan import REFEREE_ROLE, CheckPlan
from passcurve.judging.request import Request
from passcurve.judging.scripts import needs_commands, with_toolchains
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.store.samples import MalformedLine, RawRow
from passcurve.store.tally import Tally
from passcurve.types import Completion, GenerationProgress, Problem, SampleKey, Verdict

KEPT_VERDICTS = 20_000
"""Verdicts on distinct programs that are kept for equal ones."""


class QueueSource:
    """Samples as they are put in, until it is closed."""

    poll_s = 0.1

    def __init__(self) -> None:
        self.rows_read = 0
        self.malformed: list[MalformedLine] = []
        self.malformed_lines = self.unknown_tasks = 0
        self._queue: deque[Completion] = deque()
        self._is_closed = False
        self._callback: Callable[[], None] = lambda: None

    def put(self, completion: Completion) -> None:
        """Add a sample, from any thread."""
        self._queue.append(completion)
        self._callback()

    def notify(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` whenever a sample has come."""
        self._callback = callback

    def upcoming_problems(self) -> Iterator[str]:
        """Yield nothing: nobody knows what comes."""
        return iter(())

    def count_rows(self, at_most: int) -> int:
        """Return ``at_most``: there is no end."""
        return at_most

    def completions(self) -> Iterator[Completion | None]:
        """Yield each sample, and None while there is none."""
        while True:
            # Closed first: what was put in before that is still there.
            is_closed = self._is_closed
            try:
                yield self._queue.popleft()
            except IndexError:
                if is_closed:
                    return
                yield None

    def missing(self) -> Mapping[str, int]:
        """Return nothing: none was promised."""
        return {}

    def raw_rows(self, _: object) -> Iterable[RawRow | MalformedLine]:
        """Yield nothing: no results file is written."""
        return ()

    def progress(self) -> GenerationProgress | None:
        """Return None: nothing is generated."""
        return None

    def close(self) -> None:
        """Let the judge end when it has judged what is there."""
        self._is_closed = True
        self._callback()


class VerdictCache:
    """The latest verdicts on distinct programs, in memory."""

    resumed = False

    def __init__(self, most: int = KEPT_VERDICTS) -> None:
        self._most = most
        self._verdicts: OrderedDict[tuple[str, str], Verdict] = OrderedDict()

    def check_row(self, _: Completion) -> None:
        """Do nothing: each row comes once."""

    def countable_at(self, *_: object) -> Verdict | None:
        """Return None: nothing was judged before."""
        return None

    def find_verdict(self, problem_id: str, program: str) -> Verdict | None:
        """Return the verdict on an equal program, where it is still kept."""
        verdict = self._verdicts.get((problem_id, program))
        if verdict is not None:
            self._verdicts.move_to_end((problem_id, program))
        return verdict

    def add(self, program: str, verdict: Verdict) -> None:
        """Keep a verdict."""
        self._verdicts[verdict.key.problem_id, program] = verdict
        if len(self._verdicts) > self._most:
            self._verdicts.popitem(last=False)


class FutureCollector:
    """Hands each verdict to the future of its row."""

    resumed = 0

    def __init__(self, cache: VerdictCache) -> None:
        self.tally = Tally()
        self.cache = cache
        self._futures: dict[int, Future[Verdict]] = {}

    def expect(self, row: int) -> Future[Verdict]:
        """Return the future of a row that is about to be put in."""
        future: Future[Verdict] = Future()
        self._futures[row] = future
        return future

    def plan(self, problem: Problem, _: Completion) -> None:
        """Count a row that is to have a verdict."""
        self.tally.plan(problem.id)

    def add(self, row: Row, program: str, verdict: Verdict) -> None:
        """Take a verdict for a row."""
        verdict = msgspec.structs.replace(verdict, key=row.key, extraction=row.steps)
        self.tally.add(verdict)
        if program and verdict.status != "void":
            self.cache.add(program, verdict)
        future = self._futures.pop(row.row, None)
        if future is not None and future.set_running_or_notify_cancel():
            future.set_result(verdict)

    def add_stored(self, row: int, verdict: Verdict) -> None:
        """Do nothing: nothing is stored."""

    def flush(self) -> None:
        """Do nothing: nothing is stored."""

    def fail(self, error: BaseException) -> None:
        """Give every row that waits this error."""
        for row in list(self._futures):
            future = self._futures.pop(row, None)
            if future is not None and future.set_running_or_notify_cancel():
                future.set_exception(error)


class LiveJudge:
    """A warm sandbox with its workers in a thread of their own; close it.

    ``request`` is one to judge, whose samples and places are not used.  Raises what ``judge`` raises where there is no
    sandbox to be had.
    """

    def __init__(self, request: Request) -> None:
        self.problems: dict[str, Problem] = {
            problem.id: problem for problem in choose_problems(request.benchmark, request.problems)
        }
        self.plans: Mapping[str, CheckPlan | None] = {}
        self._policy = with_prelude(request.extract, request.prelude)
        find_policy(self._policy)
        self._request = request
        self._source = QueueSource()
        self._collector = FutureCollector(VerdictCache())
        self._lock = threading.Lock()
        self._rows = 0
        self._is_closed = False
        self._error: BaseException | None = None
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=self._work, name="passcurve judge", daemon=True)
        self._thread.start()
        self._is_ready.wait()
        if self._error is not None:
            raise self._error

    @property
    def is_alive(self) -> bool:
        """Tell whether samples are judged."""
        return self._thread.is_alive() and self._error is None

    @property
    def waiting(self) -> int:
        """Return how many samples have no verdict yet."""
        return self._collector.tally.planned - self._collector.tally.scored

    def submit(self, problem_id: str, form: str, text: str | None) -> Future[Verdict]:
        """Return the verdict on a sample of a problem, as a future; raise SandboxError where the judge has ended.

        Without a text the verdict is ``no_code``.
        """
        with self._lock:
            if not self.is_alive or self._is_closed:
                raise self._error or SandboxError("the judge is closed")
            row = self._rows
            self._rows += 1
            future = self._collector.expect(row)
            digest = blake2b((text or "").encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            self._source.put(
                Completion(
                    key=SampleKey(problem_id=problem_id, sample_index=row),
                    row=row,
                    line=row + 1,
                    digest=digest,
                    form="solution" if form == "solution" else "completion",
                    text=text,
                    missing=f"`{form}` must be a string, got null" if text is None else "",
                )
            )
        return future

    def close(self) -> None:
        """Judge what is there, and end; a second call does nothing."""
        with self._lock:
            self._is_closed = True
        self._source.close()
        self._thread.join()

    def _work(self) -> None:
        try:
            self._judge()
        except BaseException as error:
            self._error = error
        finally:
            self._is_ready.set()
            self._collector.fail(self._error or SandboxError("the judge was closed before this sample was judged"))

    def _judge(self) -> None:
        request, problems = self._request, tuple(self.problems.values())
        with start_sandbox(
            request.limits,
            REFEREE_ROLE,
            python=request.python,
            packages=request.packages,
            optional=request.benchmark.packages,
            level=request.isolation,
            reuse=request.reuse,
            preload=preload_modules(problems),
            processes=needs_processes(problems),
            commands=needs_commands(problems),
        ) as sandbox:
            policy = fit_to_packages(self._policy, sandbox.probe.jail.packages)
            request = msgspec.structs.replace(request, extract=policy, prelude=NO_PRELUDE)
            with_toolchains(sandbox.probe, problems)
            with Pool(max(1, request.workers), sandbox) as pool:
                run = JudgeRun(
                    request, problems, self._source, self._collector.cache, pool, lambda _: None, None, self._collector
                )
                self.plans = run.plans
                self._is_ready.set()
                run.judge()
