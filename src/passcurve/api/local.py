"""The judge of this process: rows become samples of one or two warm sandboxes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, as_completed
from typing import NamedTuple

import msgspec

from passcurve.api.judgement import Judgement, Row, list_rows
from passcurve.bench.inline import InlineProblem, read_inline
from passcurve.errors import DataError, PasscurveError, UsageError, nearest
from passcurve.judging.fair_queue import Owner
from passcurve.judging.live import LiveJudge, VerdictFuture
from passcurve.judging.request import Request
from passcurve.judging.scripts import needs_commands
from passcurve.types import LEAST_TIMEOUT_S, Benchmark, Problem, Verdict, task_name

NO_BENCHMARK = Benchmark(name="inline", source="", digest="", problems=())
MOST_TIMEOUT_S = 600.0
"""Longest time limit that a row may set."""
_MOST_SHOWN = 200
_PIECE = 16
"""Rows that are put in at a turn of a loop: each takes up to some milliseconds where the judge is busy."""
_LOOK_S = 0.01


class LocalJudge:
    """The sandboxes of this process, and what is judged in them; the request has the benchmark and the options."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._live: LiveJudge | None = None
        self._other: LiveJudge | None = None
        """For problems in the other kind of language that come with samples."""
        self._lock = threading.Lock()
        self._batches = itertools.count()
        self._entering: set[_Batch] = set()
        """Batches of which some rows are still to be put in."""

    def start(self) -> None:
        """Start the sandbox.  Raises UsageError where it is started."""
        with self._lock:
            if self._live is not None and self._live.is_alive:
                raise UsageError("the judge is started already; make another for another `with`")
            self._live = LiveJudge(self._request)

    def revive(self) -> None:
        """Start again what was lost; raises what the start raises."""
        with self._lock:
            if self._other is not None and not self._other.is_alive:
                self._other.close()
                self._other = None
            if self._live is not None and not self._live.is_alive:
                self._live.close()
                self._live = LiveJudge(self._request)

    def judge(self, rows: Iterable[Row]) -> list[Judgement]:
        """Return what became of each row, in their order."""
        orders = self._submit_all(rows, "")
        try:
            return [order.judgement(order.future.result()) for order in orders]
        finally:
            # After an interruption nobody waits for the rest.
            for order in orders:
                order.future.cancel()

    def stream(self, rows: Iterable[Row]) -> Iterator[Judgement]:
        """Yield what became of each row, as it becomes known."""
        orders: dict[Future[Verdict], _Order] = {order.future: order for order in self._submit_all(rows, "")}
        try:
            for future in as_completed(orders):
                yield orders[future].judgement(future.result())
        finally:
            for future in orders:
                future.cancel()

    async def judge_async(self, rows: Iterable[Row], client: str) -> list[Judgement]:
        """Return what became of each row, in their order; clients take turns."""
        judgements = [judgement async for judgement in self.stream_async(rows, client)]
        return sorted(judgements, key=lambda judgement: judgement.index)

    def stream_async(self, rows: Iterable[Row], client: str) -> AsyncIterator[Judgement]:
        """Yield what became of each row, as it becomes known; clients take turns.

        The rows are put in whether anybody reads or not, in pieces: the loop has its turn after each.
        """
        batch = self._batch(rows, client)
        batch.put_piece()
        try:
            # The loop itself keeps no task alive.
            batch.task = asyncio.get_running_loop().create_task(self._put_in(batch))
        except RuntimeError:
            batch.put_all()
        else:
            self._entering.add(batch)
        judgements = self._as_known(batch)
        # One that is left before it has begun runs no part of itself, and would leave all rows to be judged.
        weakref.finalize(judgements, batch.leave).atexit = False
        return judgements

    async def _put_in(self, batch: _Batch) -> None:
        try:
            while batch.missing:
                await asyncio.sleep(0)
                batch.put_piece()
        except PasscurveError as error:
            batch.fail(error)
        finally:
            self._entering.discard(batch)

    async def _as_known(self, batch: _Batch) -> AsyncIterator[Judgement]:
        loop, results = asyncio.get_running_loop(), asyncio.Queue[int | None]()

        def announce(place: int | None) -> None:
            # Who waited may be gone, and the loop with it.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(results.put_nowait, place)

        try:
            batch.watch(announce)
            for _ in batch.samples:
                place = await results.get()
                if place is None:
                    batch.check()
                else:
                    order = batch.orders[place]
                    yield order.judgement(order.future.result())
        finally:
            # Where nobody reads on, the rest is not judged.
            batch.leave()

    async def finish_entering(self) -> None:
        """Wait until all rows so far are put in; those of a loop that was closed never are."""
        loop = asyncio.get_running_loop()
        while any(batch.missing for batch in tuple(self._entering) if batch.task and batch.task.get_loop() is loop):
            await asyncio.sleep(_LOOK_S)

    @property
    def problems(self) -> tuple[str, ...]:
        """The ids of the problems of the benchmark."""
        return tuple(self._started().problems)

    @property
    def name(self) -> str:
        """The name of the benchmark."""
        return self._request.benchmark.name

    @property
    def waiting(self) -> int:
        """Return how many samples have no verdict yet."""
        entering = sum(batch.missing for batch in tuple(self._entering))
        return entering + sum(live.waiting for live in (self._live, self._other) if live is not None)

    @property
    def is_alive(self) -> bool:
        """Tell whether it judges."""
        return self._live is not None and self._live.is_alive and (self._other is None or self._other.is_alive)

    def close(self) -> None:
        """Judge what is there, and end; a second call does nothing."""
        for live in (self._live, self._other):
            if live is not None:
                live.close()
        self._live = self._other = None

    def check(self, rows: Iterable[Row]) -> None:
        """Raise DataError for the first of some rows that cannot be judged here."""
        for row in rows:
            self._sample_of(row)

    def submit(self, row: Row) -> Future[Verdict]:
        """Return the verdict on one row as a future; one that is cancelled is not judged, unless it runs already.

        Raises DataError for what is no row of the benchmark.
        """
        return self._submit(0, self._sample_of(row), ("", next(self._batches))).future

    def _submit(self, index: int, sample: _Sample, owner: Owner) -> _Order:
        return _Order(index, sample, sample.live.submit(sample.problem, sample.form, sample.text, owner))

    def _submit_all(self, rows: Iterable[Row], client: str) -> list[_Order]:
        batch = self._batch(rows, client)
        batch.put_all()
        return batch.orders

    def _batch(self, rows: Iterable[Row], client: str) -> _Batch:
        # All or none: a batch with a wrong row is not judged in part.
        samples = [self._sample_of(row) for row in list_rows(rows)]
        # Clients take turns, and so do the batches of each: a small one does not wait for all of a large one.
        owner = (client, next(self._batches))
        return _Batch(samples, lambda index: self._submit(index, samples[index], owner))

    def _sample_of(self, row: Row) -> _Sample:
        live = self._started()
        task, form, text = _fields(row)
        if "problem" in row:
            inline = _problem_of(row)
            return _Sample(self._live_for(inline.problem), inline.problem, task or inline.name, form, text)
        if task not in live.problems:
            raise DataError(f"there is no problem {_shorten(task)!r}{nearest(task, live.problems)}")
        return _Sample(live, live.problems[task], task, form, text)

    def _live_for(self, problem: Problem) -> LiveJudge:
        """Return what judges a problem that came with a sample; the first of its kind starts it."""
        live = self._started()
        try:
            commands = needs_commands((problem,))
            if commands == live.commands:
                return live
            with self._lock:
                if self._other is None:
                    request = msgspec.structs.replace(self._request, benchmark=NO_BENCHMARK, problems="")
                    self._other = LiveJudge(request, commands=commands)
                return self._other
        except UsageError as error:
            raise DataError(f"the problem cannot be judged here: {error}") from None

    def _started(self) -> LiveJudge:
        if self._live is None:
            raise UsageError("the judge is not started: use it as `with Judge(...) as judge:`")
        return self._live


class _Sample(NamedTuple):
    """A row that can be judged, and what judges it."""

    live: LiveJudge
    problem: Problem
    task: str
    form: str
    text: str | None


class _Order(NamedTuple):
    """A sample that is judged, and its place in the batch."""

    place: int
    sample: _Sample
    future: VerdictFuture

    def judgement(self, verdict: Verdict) -> Judgement:
        """Return what became of it."""
        fault, suites = self.future.fault, verdict.suites
        return Judgement(
            task_id=self.sample.task,
            index=self.place,
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


class _Batch:
    """Samples that are put in one after another; ``submit`` puts in the one of an index."""

    def __init__(self, samples: list[_Sample], submit: Callable[[int], _Order]) -> None:
        self.samples, self._submit = samples, submit
        self.orders: list[_Order] = []
        """Those that are in."""
        self.task: asyncio.Task[None] | None = None
        """The task that puts in the rest; None until there is one."""
        self._is_left = False
        self._error: PasscurveError | None = None
        self._announce: Callable[[int | None], None] | None = None

    @property
    def missing(self) -> int:
        """Return how many are still to be put in."""
        return 0 if self._is_left or self._error else len(self.samples) - len(self.orders)

    def put_piece(self, most: int = _PIECE) -> None:
        """Put in the next ones; where that fails, or is interrupted, nobody waits for those that are in."""
        try:
            for index in range(len(self.orders), len(self.orders) + min(most, self.missing)):
                order = self._submit(index)
                self.orders.append(order)
                if self._announce is not None:
                    self._call_when_known(order, self._announce)
        except BaseException:
            self.leave()
            raise

    def put_all(self) -> None:
        """Put in all."""
        self.put_piece(len(self.samples))

    def watch(self, announce: Callable[[int | None], None]) -> None:
        """Call ``announce`` with the place of each known verdict, from any thread, and with None after a failure."""
        self._announce = announce
        for order in self.orders:
            self._call_when_known(order, announce)
        if self._error is not None:
            announce(None)

    def _call_when_known(self, order: _Order, announce: Callable[[int | None], None]) -> None:
        # With the order itself the future would hold itself, and the text with it, until a garbage collection.
        place = order.place
        order.future.add_done_callback(lambda _: announce(place))

    def fail(self, error: PasscurveError) -> None:
        """Take note of why the rest cannot be put in."""
        self._error = error
        if self._announce is not None:
            self._announce(None)

    def check(self) -> None:
        """Raise why the rest could not be put in."""
        if self._error is not None:
            raise self._error

    def leave(self) -> None:
        """Have the rest not judged: nobody waits for it."""
        self._is_left = True
        for order in self.orders:
            order.future.cancel()


def _fields(row: Row) -> tuple[str, str, str | None]:
    """Return task, form and text of a row, which may be None; raise DataError for what is no row."""
    task = task_name(row.get("task_id", "" if "problem" in row else None)) if isinstance(row, Mapping) else None
    if task is None:
        raise DataError("a row must be a dict with task_id (a text), or a problem, and completion or solution")
    # As in a file: a solution that is no text leaves the completion.
    form = "solution" if isinstance(row.get("solution"), str) or "completion" not in row else "completion"
    text = row.get(form)
    if isinstance(text, str) or (text is None and form in row):
        return task, form, text
    raise DataError(f"the row of {_shorten(task)!r} has neither `completion` nor `solution` with a text")


def _problem_of(row: Row) -> InlineProblem:
    fields, language, timeout_s = row["problem"], row.get("language", ""), row.get("timeout_s")
    if not isinstance(fields, Mapping):
        raise DataError("`problem` must be an object: a row of a benchmark in any format that is read from files")
    if not isinstance(language, str):
        raise DataError("`language` must be the name of a language")
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if timeout_s is not None and not (is_number and LEAST_TIMEOUT_S <= timeout_s <= MOST_TIMEOUT_S):
        raise DataError(f"`timeout_s` must be a number of seconds from {LEAST_TIMEOUT_S:g} to {MOST_TIMEOUT_S:g}")
    return read_inline(fields, language, timeout_s)


def _shorten(text: str) -> str:
    """Return a text of a stranger's for a message."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
