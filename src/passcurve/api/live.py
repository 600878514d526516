"""``Judge`` and ``AsyncJudge``: a judge that stays warm, for those who have samples one batch after another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from concurrent.futures import Future, as_completed
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

import msgspec

from passcurve.api.options import JudgingOptions, benchmark_of, check_options, make_request
from passcurve.errors import DataError, UsageError, nearest
from passcurve.judging.live import LiveJudge
from passcurve.types import Benchmark, Status, Verdict

Row = Mapping[str, Any]


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one sample."""

    task_id: str
    index: int
    """Its position in the batch."""
    status: Status
    passed: bool | None
    """None where the judging itself failed (``void``), or the problem cannot be judged: no fault of the sample."""
    message: str = ""
    mode: str = ""
    tests: int = 0
    """Tests that there are, and those that passed, where they are counted."""
    tests_passed: int = 0
    suspicious: tuple[str, ...] = ()
    own_s: float = 0.0
    excluded: str = ""
    """Why the problem cannot be judged."""

    @property
    def reward(self) -> float | None:
        """1 for a pass, 0 for a failure, None where nobody knows."""
        return None if self.passed is None else float(self.passed)

    @property
    def share(self) -> float | None:
        """The share of tests that passed; the reward where they are not counted, None where nobody knows.

        Without ``all_tests`` those after the first failure have not run.
        """
        if self.passed is None or not self.tests:
            return self.reward
        return self.tests_passed / self.tests


class Judge:
    """Judges batches of samples of one benchmark in a sandbox that stays warm.

    ``with Judge("humaneval") as judge: results = judge(rows)``; the options are those of ``judge``, and ``all_tests``
    counts every test for ``share``.  Rows are dictionaries with ``task_id`` and ``completion`` or ``solution``.  Equal
    programs of a problem are judged once.  Raises what ``judge`` raises where no sandbox can be had.
    """

    def __init__(self, benchmark: str | Path | Benchmark, **options: Unpack[JudgingOptions]) -> None:
        """Remember what to judge; ``with`` starts it."""
        check_options("Judge", options)
        self._request, self.notes = make_request(
            benchmark_of(benchmark, options), Path("unused"), options, subset=True, results=None
        )
        self._live: LiveJudge | None = None

    def __enter__(self) -> Self:
        """Start the sandbox."""
        self._live = LiveJudge(self._request)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Judge what is there, and end the sandbox."""
        self.close()

    def __call__(self, rows: Iterable[Row]) -> list[Judgement]:
        """Return what became of each row, in their order.  Raises DataError for what is no row of the benchmark."""
        futures = self._submit_all(rows)
        return [self._judgement(at, future.result()) for at, future in enumerate(futures)]

    def stream(self, rows: Iterable[Row]) -> Iterator[Judgement]:
        """Yield what became of each row, as it becomes known."""
        positions = {future: at for at, future in enumerate(self._submit_all(rows))}
        for future in as_completed(positions):
            yield self._judgement(positions[future], future.result())

    @property
    def problems(self) -> tuple[str, ...]:
        """The ids of the problems."""
        return tuple(self._started().problems)

    @property
    def waiting(self) -> int:
        """Return how many samples have no verdict yet."""
        return self._live.waiting if self._live is not None else 0

    @property
    def is_alive(self) -> bool:
        """Tell whether it judges."""
        return self._live is not None and self._live.is_alive

    def close(self) -> None:
        """Judge what is there, and end; a second call does nothing."""
        if self._live is not None:
            self._live.close()
            self._live = None

    def check(self, rows: Iterable[Row]) -> None:
        """Raise DataError for the first of some rows that is none of this benchmark."""
        problems = self._started().problems
        for row in rows:
            task, _, _ = _fields(row)
            if task not in problems:
                raise DataError(f"there is no problem {task!r}{nearest(task, problems)}")

    def submit(self, row: Row) -> Future[Verdict]:
        """Return the verdict on one row as a future.  Raises DataError for what is no row of the benchmark."""
        live = self._started()
        task, form, text = _fields(row)
        if task not in live.problems:
            raise DataError(f"there is no problem {task!r}{nearest(task, live.problems)}")
        return live.submit(task, form, text)

    def _submit_all(self, rows: Iterable[Row]) -> list[Future[Verdict]]:
        if isinstance(rows, Mapping | str):
            raise UsageError("give a list of rows, each a dict with task_id and completion or solution")
        every = list(rows)
        # All or none: a batch with a wrong row is not judged in part.
        self.check(every)
        return [self.submit(row) for row in every]

    def _started(self) -> LiveJudge:
        if self._live is None:
            raise UsageError("the judge is not started: use it as `with Judge(...) as judge:`")
        return self._live

    def _judgement(self, index: int, verdict: Verdict) -> Judgement:
        plan = self._started().plans.get(verdict.key.problem_id)
        fault = plan.note if plan is not None and plan.fault is not None else ""
        suites = verdict.suites
        return Judgement(
            task_id=verdict.key.problem_id,
            index=index,
            status=verdict.status,
            passed=None if verdict.status == "void" or fault else verdict.passed,
            message=verdict.message,
            mode=verdict.mode,
            tests=sum(suite.tests for suite in suites),
            tests_passed=sum(suite.right for suite in suites),
            suspicious=verdict.suspicious,
            own_s=verdict.own_s,
            excluded=fault,
        )


class AsyncJudge(Judge):
    """``Judge`` for asyncio: thousands of samples may wait at once, and nothing blocks the loop."""

    async def __aenter__(self) -> Self:
        """Start the sandbox."""
        await asyncio.to_thread(self.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Judge what is there, and end the sandbox."""
        await asyncio.to_thread(self.close)

    async def judge(self, rows: Iterable[Row]) -> list[Judgement]:
        """Return what became of each row, in their order."""
        futures = self._submit_all(rows)
        verdicts = await asyncio.gather(*(asyncio.wrap_future(future) for future in futures))
        return [self._judgement(at, verdict) for at, verdict in enumerate(verdicts)]

    async def judge_each(self, rows: Iterable[Row]) -> AsyncIterator[Judgement]:
        """Yield what became of each row, as it becomes known."""
        futures = self._submit_all(rows)

        async def wait(at: int, future: Future[Verdict]) -> Judgement:
            return self._judgement(at, await asyncio.wrap_future(future))

        for task in asyncio.as_completed([wait(at, future) for at, future in enumerate(futures)]):
            yield await task


def _fields(row: Row) -> tuple[str, str, str | None]:
    """Return task, form and text of a row, which may be None; raise DataError for what is no row."""
    task = row.get("task_id") if isinstance(row, Mapping) else None
    if not isinstance(task, str):
        raise DataError("a row must be a dict with task_id (a text) and completion or solution")
    for form in ("solution", "completion"):
        text = row.get(form)
        if isinstance(text, str) or (text is None and form in row):
            return task, form, text
    raise DataError(f"the row of {task!r} has neither `completion` nor `solution` with a text")
