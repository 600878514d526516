"""From prompts to stored completions: orders go to a back end, replies are stored and handed on, both bounded.

Theory of operation.  As many threads as requests may be open take orders in turn, or one thread where the back end
keeps them open: some samples of each problem, then as many again of each.  A thread stores each reply before it does
anything else with it, then hands it on; when the judge is behind, the queue is full and no new request is sent.  What
is stored is never asked for again; what is lost when this process dies is at most the requests that are open.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping

import msgspec

from passcurve.errors import ModelError, PasscurveError, RefusedError, TooLongError
from passcurve.models.backend import Backend, Conversing
from passcurve.models.stops import cut
from passcurve.store.completions import Completions
from passcurve.types import Completion, Decoding, GenerationProgress, Prompt, Reply, SampleRequest

QUEUE = 256
"""Stored completions that wait for the judge when no more are asked for."""

PASSES = 2
"""So often at least all problems are gone through, where n allows: what is known on the way is of all of them, and
those that take long to judge are not all left for the end."""

FIRST = 16
"""At most so many samples of a problem are asked for in the first pass, and in each later one as many as in all before:
from then on no problem has more than twice the samples of another, and the judge goes from problem to problem as seldom
as that allows."""

FAILURES = 3
"""So many failures in a row end a run: it is not the prompt."""

_PATIENCE_S = 0.02
"""Between two looks whether the judge has made room."""


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be generated."""

    prompts: tuple[Prompt, ...]
    n: int
    """Samples of each problem, stored ones among them."""
    decoding: Decoding
    concurrency: int = 8
    per_request: int = 1
    """Samples that one request asks for."""


class GenerationEngine:
    """The completions of a run: first those that are stored, then new ones as they come.  Begin it, and close it."""

    def __init__(self, asked: GenerationRequest, store: Completions, backend: Backend) -> None:
        self._asked, self._store, self._backend = asked, store, backend
        self._converses = isinstance(backend, Conversing)
        self._ready: queue.SimpleQueue[Completion] = queue.SimpleQueue()
        self._orders = self._planned()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []
        self._bell: Callable[[], None] = _silent
        self._working = 0
        """Threads that have not ended."""
        self._in_a_row = 0
        self._given_up: set[str] = set()
        self._failures: dict[str, None] = {}
        self.error: PasscurveError | None = None
        """What ended it before all was there."""
        self._tokens_before = store.totals.completion_tokens
        self._began = self._last = time.monotonic()

    def begin(self) -> None:
        """Send the first requests; what builds the jail has time until the first answers come."""
        self._began = self._last = time.monotonic()
        count = 1 if self._converses else self._asked.concurrency
        self._threads = [
            threading.Thread(target=self._work, name=f"passcurve-generate-{number}", daemon=True)
            for number in range(count)
        ]
        self._working = len(self._threads)
        for thread in self._threads:
            thread.start()

    def ring(self, bell: Callable[[], None]) -> None:
        """Call ``bell``, from any thread, whenever a completion has come or none will."""
        self._bell = bell

    def completions(self) -> Iterator[Completion | None]:
        """Yield each completion, and None whenever there is none yet."""
        yield from self._store.before()
        while True:
            working = self._working
            try:
                yield self._ready.get_nowait()
            except queue.Empty:
                if not working:
                    return
                yield None

    def missing(self) -> Mapping[str, int]:
        """Return how many samples of each problem are planned but were not had."""
        lacking = {}
        for prompt in self._asked.prompts:
            left = sum(not self._store.has(prompt.problem_id, index) for index in range(self._asked.n))
            if left:
                lacking[prompt.problem_id] = left
        return lacking

    def progress(self) -> GenerationProgress:
        """Return how far it is."""
        totals = self._store.totals
        return GenerationProgress(
            planned=self._asked.n * len(self._asked.prompts),
            stored=totals.samples,
            fresh=totals.samples - self._store.stored,
            truncated=totals.truncated,
            retried=totals.retried,
            prompt_tokens=totals.prompt_tokens,
            completion_tokens=totals.completion_tokens,
            reasoning_tokens=totals.reasoning_tokens,
            cached_tokens=totals.cached_tokens,
            uncounted=totals.uncounted,
            latency_s=totals.latency_s,
            seconds=self._last - self._began,
            fresh_tokens=totals.completion_tokens - self._tokens_before,
            temperature=self._asked.decoding.temperature,
            several=totals.several,
            alike=totals.alike,
            failures=tuple(self._failures),
            ended_by=str(self.error) if self.error is not None else "",
            exit_code=self.error.exit_code if self.error is not None else 0,
        )

    def close(self) -> None:
        """Send no more requests; those that are under way are let go."""
        self._stop.set()
        self._closed.set()
        self._backend.close()
        self._store.close()

    def _planned(self) -> Iterator[SampleRequest]:
        each = 1 if self._converses else self._asked.per_request
        # A multiple of what one request asks for.
        first = each * -(-min(FIRST, -(-self._asked.n // PASSES)) // each)
        start, end = 0, first
        while start < self._asked.n:
            for prompt in self._asked.prompts:
                indices = range(start, min(end, self._asked.n))
                lacking = [index for index in indices if not self._store.has(prompt.problem_id, index)]
                for at in range(0, len(lacking), each):
                    wanted = tuple(lacking[at : at + each])
                    yield SampleRequest(prompt=prompt, decoding=self._asked.decoding, indices=wanted)
            start, end = end, 2 * end

    def _next(self) -> SampleRequest | None:
        with self._lock:
            for order in self._orders:
                if order.prompt.problem_id not in self._given_up:
                    return order
            return None

    def _offered(self) -> Iterator[SampleRequest | None]:
        """Yield what is to be asked for next, and None while the judge is behind."""
        while not self._stop.is_set():
            if self._ready.qsize() >= QUEUE:
                yield None
            elif (order := self._next()) is not None:
                yield order
            else:
                return

    def _work(self) -> None:
        try:
            if isinstance(self._backend, Conversing):
                self._converse(self._backend)
            else:
                self._generate()
        finally:
            with self._lock:
                self._working -= 1
            self._bell()

    def _converse(self, backend: Conversing) -> None:
        orders = self._offered()
        # Also when it is over, and no orders come: what is open was asked for, and may be had.
        while not self._closed.is_set() and self._take(backend.converse(orders)):
            pass

    def _generate(self) -> None:
        for order in self._offered():
            if order is None:
                self._closed.wait(_PATIENCE_S)
            else:
                self._take(self._backend.generate(order), order.prompt.problem_id)

    def _take(self, replies: Iterator[Reply], problem_id: str = "") -> bool:
        """Store replies and hand them on; say whether one failed, so that there may be others.

        What failed is noted, and may end the run.
        """
        try:
            for reply in replies:
                completion = self._store.append(reply, self._cut(reply))
                self._in_a_row = 0
                self._last = time.monotonic()
                self._ready.put(completion)
                self._bell()
        except ModelError as error:
            self._note(error, problem_id)
            return True
        except PasscurveError as error:
            self._end(error)
        except BaseException as error:
            self._end(ModelError(f"the back end failed: {type(error).__name__}: {error}"))
        return False

    def _note(self, error: ModelError, problem_id: str) -> None:
        if isinstance(error, RefusedError):
            self._end(error)
            return
        self._failures[str(error)] = None
        if isinstance(error, TooLongError):
            self._given_up.add(problem_id)
            return
        with self._lock:
            self._in_a_row += 1
        if self._in_a_row >= FAILURES:
            self._end(error)

    def _cut(self, reply: Reply) -> str:
        return cut(reply.text, self._asked.decoding.stop) if reply.form == "completion" else reply.text

    def _end(self, error: PasscurveError) -> None:
        # What fails because the run is over is no reason why it is over.
        if not self._stop.is_set():
            self.error = error
            self._stop.set()


def _silent() -> None:
    pass
