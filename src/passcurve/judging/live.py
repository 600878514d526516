"""A judge that stays: samples come one by one, each with a verdict of its own, in one warm sandbox.

Theory of operation.  The road is that of a run (``judge_run.py``): calibration, equal programs, retries and verdicts
are the same code.  Only its ends differ: samples come from a queue in place of a file, and a verdict goes to whoever
waits for it in place of a run directory.  Everything runs in one thread, which owns the workers.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from hashlib import blake2b

import msgspec

from passcurve.bench.choose import choose_problems
from passcurve.errors import PasscurveError, SandboxError, sandbox_error
from passcurve.extract import NO_PRELUDE, find_policy, fit_to_packages, with_prelude
from passcurve.judging.fair_queue import FairQueue, Owner
from passcurve.judging.inline_problems import KEPT_PROBLEMS, InlineProblems
from passcurve.judging.jail_needs import needs_processes, preload_modules
from passcurve.judging.judge_run import JudgeRun
from passcurve.judging.pending import WaitingRow
from passcurve.judging.plan import CheckPlan
from passcurve.judging.request import Progress, Request
from passcurve.judging.scripts import needs_commands, with_toolchains
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.store.samples import size_error
from passcurve.store.tally import Tally
from passcurve.types import Completion, GenerationProgress, Problem, SampleKey, Verdict

KEPT_VERDICTS = 20_000
"""Verdicts on distinct programs that are kept for equal ones."""
KEPT_S = 600.0
"""Time for which a verdict is kept."""


class QueueSource:
    """Samples as they are put in, until it is closed; each owner has its turn.

    ``is_calibrating`` tells whether a problem is under calibration.  Then its samples are set aside: of those that are
    read there are few at once, and samples of others would wait for room among them.
    """

    poll_s = 0.1

    def __init__(self, is_calibrating: Callable[[str], bool]) -> None:
        self._queue: FairQueue[tuple[Completion, Owner]] = FairQueue()
        self._is_calibrating = is_calibrating
        self._set_aside: dict[str, list[tuple[Completion, Owner]]] = {}
        """Samples by their problem, in order."""
        self._lock = threading.Lock()
        self.is_closed = False
        self._callback: Callable[[], None] = lambda: None

    def put(self, completion: Completion, owner: Owner) -> None:
        """Add a sample, from any thread."""
        with self._lock:
            self._queue.put((completion, owner), owner)
        self._callback()

    def notify(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` whenever a sample has come."""
        self._callback = callback

    def upcoming_problems(self) -> Iterator[str]:
        """Yield nothing: nobody knows what comes."""
        return iter(())

    def completions(self) -> Iterator[Completion | None]:
        """Yield each sample, and None while there is none."""
        while True:
            # Closed first: what was put in before that is still there.
            is_closed = self.is_closed
            with self._lock:
                completion = self._pop()
            if completion is None and is_closed and not self._set_aside:
                return
            yield completion

    def _pop(self) -> Completion | None:
        """Remove and return the next sample whose problem is not under calibration, or None."""
        for problem_id in [one for one in self._set_aside if not self._is_calibrating(one)]:
            for completion, owner in self._set_aside.pop(problem_id):
                self._queue.put((completion, owner), owner)
        while self._queue:
            completion, owner = self._queue.pop()
            problem_id = completion.key.problem_id
            if not self._is_calibrating(problem_id):
                return completion
            self._set_aside.setdefault(problem_id, []).append((completion, owner))
        return None

    def progress(self) -> GenerationProgress | None:
        """Return None: nothing is generated."""
        return None

    def close(self) -> None:
        """Let the judge end when it has judged what is there."""
        self.is_closed = True
        self._callback()


class VerdictCache:
    """The latest verdicts on distinct programs, in memory."""

    resumed = False

    def __init__(self, most: int = KEPT_VERDICTS, kept_s: float = KEPT_S) -> None:
        self._most, self._kept_s = most, kept_s
        self._verdicts: OrderedDict[tuple[str, str], tuple[float, Verdict]] = OrderedDict()
        """With the time until which each is kept."""

    def check_row(self, _: Completion) -> None:
        """Do nothing: each row comes once."""

    def countable_at(self, *_: object) -> Verdict | None:
        """Return None: nothing was judged before."""
        return None

    def find_verdict(self, problem_id: str, program: str) -> Verdict | None:
        """Return the verdict on an equal program, where it is still kept."""
        until_s, verdict = self._verdicts.get((problem_id, program), (0.0, None))
        if verdict is None or time.monotonic() > until_s:
            return None
        self._verdicts.move_to_end((problem_id, program))
        return verdict

    def add(self, program: str, verdict: Verdict) -> None:
        """Keep a verdict."""
        self._verdicts[verdict.key.problem_id, program] = time.monotonic() + self._kept_s, verdict
        if len(self._verdicts) > self._most:
            self._verdicts.popitem(last=False)


_ALL = SampleKey(problem_id="", sample_index=0)
"""The key under which all are counted: problems that come with samples have no end."""


class VerdictFuture(Future[Verdict]):
    """The verdict on a row that somebody waits for."""

    fault = ""
    """Why the problem cannot be judged, once there is a verdict; its plan may be forgotten when somebody asks."""


class FutureCollector:
    """Hands each verdict to the future of its row; ``find_plan`` returns the plan of a problem."""

    def __init__(self, cache: VerdictCache, find_plan: Callable[[str], CheckPlan | None]) -> None:
        self.tally = Tally()
        self.cache = cache
        self._find_plan = find_plan
        self._futures: dict[int, tuple[VerdictFuture, Owner]] = {}

    @property
    def waiting(self) -> int:
        """Return the number of rows whose verdict somebody waits for."""
        return len(self._futures)

    def expect(self, row: int, owner: Owner) -> VerdictFuture:
        """Return the future of a row that is about to be put in; one that is cancelled is not judged."""
        future = VerdictFuture()
        self._futures[row] = future, owner
        future.add_done_callback(lambda _: self._futures.pop(row, None))
        return future

    def owner_of(self, row: int) -> Owner | None:
        """Return who waits for a row; None where nobody does any more."""
        return self._futures.get(row, (None, None))[1]

    def plan(self, _: Problem, __: Completion) -> None:
        """Count a row that is to have a verdict."""
        self.tally.plan(_ALL.problem_id)

    def add(self, row: WaitingRow, program: str, verdict: Verdict) -> None:
        """Take a verdict for a row."""
        verdict = msgspec.structs.replace(verdict, key=row.key, extraction=row.steps)
        self.tally.add(msgspec.structs.replace(verdict, key=_ALL))
        plan = self._find_plan(row.key.problem_id)
        fault = plan.note if plan is not None and plan.fault is not None else ""
        # An equal program of a problem at fault waits for its plan, where that was forgotten.
        if program and verdict.status != "void" and not fault:
            self.cache.add(program, verdict)
        future, _ = self._futures.get(row.row, (None, None))
        if future is not None and future.set_running_or_notify_cancel():
            future.fault = fault
            future.set_result(verdict)

    def add_stored(self, row: int, verdict: Verdict) -> None:
        """Do nothing: nothing is stored."""

    def flush(self) -> None:
        """Do nothing: nothing is stored."""

    def fail(self, error: BaseException) -> None:
        """Give every row that waits this error."""
        for future, _ in list(self._futures.values()):
            if future.set_running_or_notify_cancel():
                future.set_exception(error)


class LiveJudge:
    """A warm sandbox with its workers in a thread of their own; close it.

    ``request`` is one to judge, whose samples and places are not used.  ``commands``: whether problems that come with
    samples are in other languages than Python; by default as those of the request are.  Raises what ``judge`` raises
    where there is no sandbox to be had.
    """

    def __init__(self, request: Request, *, commands: bool | None = None) -> None:
        self.problems: dict[str, Problem] = {
            problem.id: problem for problem in choose_problems(request.benchmark, request.problems)
        }
        self.commands = needs_commands(self.problems.values()) if commands is None else commands
        """Whether its problems are in other languages than Python."""
        find_policy(with_prelude(request.extract, request.prelude))
        self._request = request
        self._source = QueueSource(self._is_calibrating)
        self._collector = FutureCollector(VerdictCache(), self._plan_of)
        self._lock = threading.Lock()
        self._rows = 0
        self._run: JudgeRun | None = None
        self._inline = InlineProblems(KEPT_PROBLEMS)
        self._error: PasscurveError | None = None
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=self._work, name="passcurve judge", daemon=True)
        self._thread.start()
        try:
            self._is_ready.wait()
        except BaseException:
            # Nobody will use it, nor close it.
            self._source.close()
            raise
        if self._error is not None:
            raise self._error

    @property
    def plans(self) -> Mapping[str, CheckPlan | None]:
        """Return how the problems so far are checked; None while one is under calibration."""
        return self._run.plans if self._run is not None else {}

    def _is_calibrating(self, problem_id: str) -> bool:
        """Tell whether a problem is under calibration."""
        return self._run is not None and self._run.is_calibrating(problem_id)

    def _plan_of(self, problem_id: str) -> CheckPlan | None:
        """Return how a problem is checked; None where that is not known yet."""
        return self._run.plan_of(problem_id) if self._run is not None else None

    @property
    def is_alive(self) -> bool:
        """Tell whether samples are judged."""
        return self._thread.is_alive() and self._error is None

    @property
    def waiting(self) -> int:
        """Return how many samples have no verdict yet."""
        return self._collector.waiting

    def submit(self, problem: Problem, form: str, text: str | None, owner: Owner) -> VerdictFuture:
        """Return the verdict on a sample of a problem, as a future; raise SandboxError where the judge has ended.

        The problem may be any of the same kind of language.  Without a text the verdict is ``no_code``.  Owners take
        turns.  A sample whose future is cancelled is not judged unless it runs already.
        """
        if not self.is_alive:
            # Without the lock: in a forked process no thread is there, and one may have held it.
            raise self._error or SandboxError("the judge is closed")
        with self._lock:
            if not self.is_alive or self._source.is_closed:
                raise self._error or SandboxError("the judge is closed")
            row = self._rows
            self._rows += 1
            future = self._collector.expect(row, owner)
            if problem.id not in self.problems and self._inline.hold(problem.id, future) and self._run is not None:
                self._run.add_problem(problem)
            missing = f"`{form}` must be a string, got null" if text is None else size_error(form, text)
            digest = blake2b((text or "").encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            self._source.put(
                Completion(
                    key=SampleKey(problem_id=problem.id, sample_index=row),
                    row=row,
                    line=row + 1,
                    digest=digest,
                    form="solution" if form == "solution" else "completion",
                    text=None if missing else text,
                    missing=missing,
                ),
                owner,
            )
        return future

    def _forget_problems(self, _: Progress) -> None:
        """Forget problems that came with samples and have none under way; called in the thread that judges."""
        if not self._inline.is_full or self._run is None:
            return
        with self._lock:
            for problem_id in self._inline.take_unused():
                self._run.drop_problem(problem_id)

    def close(self) -> None:
        """Judge what is there, and end; a second call does nothing, nor does one in a forked process."""
        if self._thread.is_alive():
            with self._lock:
                self._source.close()
            self._thread.join()

    def _work(self) -> None:
        try:
            self._judge()
        except BaseException as error:
            # A row that is being put in has its future before this, or is refused.
            with self._lock:
                self._error = sandbox_error(error)
        finally:
            self._is_ready.set()
            self._collector.fail(self._error or SandboxError("the judge was closed before this sample was judged"))

    def _judge(self) -> None:
        request, problems = self._request, tuple(self.problems.values())
        with start_sandbox(
            request.limits,
            python=request.python,
            packages=request.packages,
            optional=request.benchmark.packages,
            level=request.isolation,
            reuse=request.reuse,
            preload=preload_modules(problems),
            processes=needs_processes(problems),
            commands=self.commands,
        ) as sandbox:
            policy = fit_to_packages(with_prelude(request.extract, request.prelude), sandbox.probe.jail.packages)
            request = msgspec.structs.replace(request, extract=policy, prelude=NO_PRELUDE)
            with_toolchains(sandbox.probe, problems)
            with Pool(max(1, request.workers), sandbox) as pool:
                run = JudgeRun(
                    request,
                    problems,
                    self._source,
                    self._collector.cache,
                    pool,
                    self._forget_problems,
                    None,
                    self._collector,
                    # Those that need their whole limit, and all others, each have half of the time at least.
                    patience_s=request.limits.timeout_s,
                )
                self._run = run
                self._is_ready.set()
                run.judge()
