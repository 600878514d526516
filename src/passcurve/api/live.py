"""``Judge`` and ``AsyncJudge``: a judge that stays warm, for those who have samples one batch after another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from passcurve.api.judgement import Judgement, Row
from passcurve.api.local import NO_BENCHMARK, LocalJudge
from passcurve.api.options import JudgingOptions, benchmark_of, check_options, make_request
from passcurve.errors import UsageError
from passcurve.types import Benchmark, Verdict

if TYPE_CHECKING:
    from passcurve.api.remote import RemoteJudge


class Judge:
    """Judges batches of samples of one benchmark in a sandbox that stays warm.

    ``with Judge("humaneval") as judge: results = judge(rows)``; the options are those of ``judge``, and ``all_tests``
    counts every test for ``share``.  Rows are dictionaries with ``task_id`` and ``completion`` or ``solution``.  In
    place of the id a row may have its ``problem``, a row of a benchmark in any format that is read from files, with
    ``language`` and ``timeout_s`` where the problem leaves these open.  Equal programs of a problem are judged once.
    Raises what ``judge`` raises where no sandbox can be had.

    With ``url`` the rows go to ``passcurve serve`` at that address, which has the benchmark and the options; ``token``
    is what it wants.  Then methods raise SandboxError where it cannot be reached, UsageError for a wrong token.
    """

    def __init__(
        self,
        benchmark: str | Path | Benchmark | None = None,
        *,
        url: str = "",
        token: str = "",
        **options: Unpack[JudgingOptions],
    ) -> None:
        """Remember what to judge; ``with`` starts it.  Without a benchmark each row has its problem."""
        self._is_started = False
        self.notes: list[str] = []
        self._judge: LocalJudge | RemoteJudge
        if url:
            # Loaded here: the client of the network is slow to load.
            from passcurve.api.remote import RemoteJudge

            if benchmark is not None or options:
                name = "the benchmark" if benchmark is not None else next(iter(options))
                raise UsageError(f"{name} is a setting of the server at {url}: start it with that, and leave it out")
            self._judge = RemoteJudge(url, token)
            return
        check_options("Judge", options)
        request, self.notes = make_request(
            NO_BENCHMARK if benchmark is None else benchmark_of(benchmark, options),
            Path("unused"),
            options,
            subset=True,
            results=None,
        )
        self._judge = LocalJudge(request)

    def __enter__(self) -> Self:
        """Start the sandbox; or ask the server for its problems, so that a wrong address shows at once."""
        self._judge.start()
        self._is_started = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Judge what is there, and end the sandbox."""
        self.close()

    def __call__(self, rows: Iterable[Row]) -> list[Judgement]:
        """Return what became of each row, in their order.  Raises DataError for what is no row of the benchmark."""
        return self._started().judge(rows)

    def stream(self, rows: Iterable[Row]) -> Iterator[Judgement]:
        """Yield what became of each row, as it becomes known."""
        return self._started().stream(rows)

    @property
    def problems(self) -> tuple[str, ...]:
        """The ids of the problems of the benchmark."""
        return self._started().problems

    @property
    def benchmark(self) -> str:
        """The name of the benchmark, or the address of the server."""
        return self._judge.name

    @property
    def waiting(self) -> int:
        """Return how many samples have no verdict yet."""
        return self._judge.waiting

    @property
    def is_alive(self) -> bool:
        """Tell whether it judges."""
        return self._is_started and self._judge.is_alive

    def revive(self) -> None:
        """Start the sandbox again where it was lost; raises what the start raises."""
        if self._is_started and isinstance(self._judge, LocalJudge):
            self._judge.revive()

    def close(self) -> None:
        """Judge what is there, and end; a second call does nothing."""
        if self._is_started:
            self._is_started = False
            self._judge.close()

    def check(self, rows: Iterable[Row]) -> None:
        """Raise DataError for the first of some rows that cannot be judged; a server checks what it gets."""
        self._started().check(rows)

    def submit(self, row: Row) -> Future[Verdict]:
        """Return the verdict on one row as a future; one that is cancelled is not judged, unless it runs already.

        Raises DataError for what is no row of the benchmark, UsageError where a server judges: it takes batches.
        """
        return self._started().submit(row)

    def _started(self) -> LocalJudge | RemoteJudge:
        if not self._is_started:
            raise UsageError("the judge is not started: use it as `with Judge(...) as judge:`")
        return self._judge


class AsyncJudge(Judge):
    """``Judge`` for asyncio: thousands of samples may wait at once, and nothing blocks the loop."""

    async def __aenter__(self) -> Self:
        """Start the sandbox; it ends again where nobody waits for it any more."""
        lock, is_there, is_abandoned = threading.Lock(), False, False

        def start() -> None:
            nonlocal is_there
            self.__enter__()
            with lock:
                is_there = True
            if is_abandoned:
                self.close()

        try:
            await asyncio.to_thread(start)
        except asyncio.CancelledError:
            with lock:
                is_abandoned = True
            if is_there:
                threading.Thread(target=self.close, name="passcurve close").start()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Judge what is there, and end the sandbox."""
        if isinstance(self._judge, LocalJudge):
            await self._judge.finish_entering()
        await asyncio.to_thread(self.close)

    async def judge(self, rows: Iterable[Row], *, client: str = "") -> list[Judgement]:
        """Return what became of each row, in their order.

        Clients take turns, and so do the batches of each; a server at an address knows its clients by theirs.
        """
        return await self._started().judge_async(rows, client)

    def judge_each(self, rows: Iterable[Row], *, client: str = "") -> AsyncIterator[Judgement]:
        """Yield what became of each row, as it becomes known; clients take turns.

        The rows are put in whether anybody reads or not.
        """
        return self._started().stream_async(rows, client)
