"""From prompts to stored completions: requests go to a back end, replies are stored and handed on, both bounded.

Theory of operation.  The requests go from problem to problem: some samples of each, then as many again of each.  As
many threads as requests may be open take them in turn, or one thread where the back end keeps requests open itself.  A
thread stores each reply first and then hands it on.  While the judge is behind, the queue is full and no new request
is sent.  Stored samples are not requested again; when this process dies, at most the open requests are lost.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import msgspec

from passcurve.errors import ModelError, PasscurveError, PromptError, RefusedError, TooLongError, UnavailableError
from passcurve.models.backend import Backend, PipelinedBackend, SampleRequest
from passcurve.models.stops import cut_at_stop
from passcurve.store.completions import Completions, Totals
from passcurve.types import Completion, Decoding, GenerationProgress, Prompt, Reply

MAX_READY = 256
"""Completions that wait for the judge when no more requests are sent."""

MIN_PASSES = 2
"""Least number of passes over all problems, where n allows.

An unfinished run then knows something of each problem, and problems that take long to judge do not all come last.
"""

FIRST_PASS_SAMPLES = 16
"""Most samples of a problem in the first pass; each later pass requests as many as all passes before it.

After the first pass no problem has more than twice the samples of another, and the judge changes problems seldom.
"""

MAX_FAILURES_IN_A_ROW = 3
"""Failed requests in a row after which a problem is given up: its prompt may be the reason.

As many problems in a row end a run; where no request has ever been answered two, or as many that are refused.
"""

_POLL_S = 0.02
"""Pause before checking again whether the judge has made room."""


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The samples to generate."""

    prompts: tuple[Prompt, ...]
    n: int
    """Samples of each problem, including stored ones."""
    decoding: Decoding
    concurrency: int = 8
    per_request: int = 1
    """Samples in one request."""


class _RequestQueue:
    """The requests that are not sent yet, shared by all threads."""

    def __init__(self, request: GenerationRequest, store: Completions, batch: int) -> None:
        self._request, self._store, self._batch = request, store, batch
        self._requests = self._plan()
        self._skipped: set[str] = set()
        self._lock = threading.Lock()

    def take(self) -> SampleRequest | None:
        """Return the next request, or None when none is left."""
        with self._lock:
            for sample_request in self._requests:
                if sample_request.prompt.problem_id not in self._skipped:
                    return sample_request
            return None

    def skip(self, problem_id: str) -> None:
        """Send no more requests of a problem."""
        self._skipped.add(problem_id)

    def missing(self) -> Mapping[str, int]:
        """Return the number of samples that are not stored, of each problem that lacks some."""
        missing = {}
        for prompt in self._request.prompts:
            count = len(self._missing_indices(prompt, range(self._request.n)))
            if count:
                missing[prompt.problem_id] = count
        return missing

    def _plan(self) -> Iterator[SampleRequest]:
        n, batch = self._request.n, self._batch
        # A multiple of the size of one request.
        first = batch * -(-min(FIRST_PASS_SAMPLES, -(-n // MIN_PASSES)) // batch)
        start, end = 0, first
        while start < n:
            for prompt in self._request.prompts:
                missing = self._missing_indices(prompt, range(start, min(end, n)))
                for at in range(0, len(missing), batch):
                    indices = tuple(missing[at : at + batch])
                    yield SampleRequest(prompt=prompt, decoding=self._request.decoding, indices=indices)
            start, end = end, 2 * end

    def _missing_indices(self, prompt: Prompt, indices: range) -> list[int]:
        return [index for index in indices if not self._store.has(prompt.problem_id, index)]


class _Failures:
    """The failed requests of a run."""

    def __init__(self, *, answered_before: bool) -> None:
        """``answered_before``: whether the model has answered in an earlier session."""
        self.reasons: dict[str, None] = {}
        """Each reason once, in the order in which they came."""
        self._answered_before = answered_before
        self._refused: dict[str, PromptError] = {}
        """By problem, the refusals of a session without an answer so far."""
        self._has_answered = False
        self._by_problem: Counter[str] = Counter()
        """Failures of each problem since its last reply."""
        self._in_a_row = 0
        """Failures since the last reply of any problem."""
        self._problems_in_row: set[object] = set()
        self._latest: ModelError | None = None
        self._lock = threading.Lock()

    @property
    def final(self) -> ModelError | None:
        """Return the error after which no reply came: a refusal without any answer, or the last of several failures."""
        if self._refused:
            return next(iter(self._refused.values()))
        return self._latest if self._in_a_row >= MAX_FAILURES_IN_A_ROW else None

    def add_refusal(self, problem_id: str, error: PromptError) -> bool:
        """Note a refused request; return whether it is the settings that are refused, and not the prompt."""
        with self._lock:
            if self._has_answered:
                self._give_up(problem_id, error)
                return False
            self._refused.setdefault(problem_id, error)
            return not self._answered_before and len(self._refused) >= MAX_FAILURES_IN_A_ROW

    def add(self, problem_id: str, error: ModelError) -> bool:
        """Note a failed request, of a problem where it is known; return whether it is not the prompts that fail."""
        self.reasons[str(error)] = None
        with self._lock:
            self._in_a_row, self._latest = self._in_a_row + 1, error
            self._problems_in_row.add(problem_id or object())
            self._by_problem[problem_id] += 1
            if problem_id and self._by_problem[problem_id] == MAX_FAILURES_IN_A_ROW:
                self.reasons[f"problem {problem_id!r} is given up for now: its requests fail"] = None
            problems = MAX_FAILURES_IN_A_ROW if self._has_answered or self._answered_before else 2
            return self._in_a_row >= MAX_FAILURES_IN_A_ROW and len(self._problems_in_row) >= problems

    def has_given_up(self, problem_id: str) -> bool:
        """Tell whether so many requests of a problem have failed in a row that its prompt may be the reason."""
        return bool(problem_id) and self._by_problem[problem_id] >= MAX_FAILURES_IN_A_ROW

    def note_success(self, problem_id: str) -> None:
        """Note a reply: the failures before it end nothing, and what was refused are prompts."""
        with self._lock:
            self._in_a_row, self._has_answered = 0, True
            self._problems_in_row.clear()
            self._by_problem[problem_id] = 0
            for refused_id, error in self._refused.items():
                self._give_up(refused_id, error)
            self._refused.clear()

    def _give_up(self, problem_id: str, error: PromptError) -> None:
        self.reasons[f"problem {problem_id!r}: {error}"] = None


class _Session:
    """The time, the tokens and the attempts of this session."""

    def __init__(self, totals: Totals) -> None:
        self._totals = totals
        self._tokens_before = totals.completion_tokens
        self._attempts = self._failed = 0
        self._lock = threading.Lock()
        self._began = self._latest = time.monotonic()

    def note_reply(self, reply: Reply) -> None:
        """Note that a reply has come."""
        self._latest = time.monotonic()
        if reply.choice == 0:
            self._add(reply.attempts, reply.attempts - 1)

    def note_failure(self) -> None:
        """Note that a request has failed, which counts as one attempt."""
        self._add(1, 1)

    @property
    def seconds(self) -> float:
        """Seconds until the latest reply."""
        return self._latest - self._began

    @property
    def tokens(self) -> int:
        """Tokens of the completions of this session."""
        return self._totals.completion_tokens - self._tokens_before

    @property
    def error_rate(self) -> float:
        """Share of the attempts that failed."""
        return self._failed / self._attempts if self._attempts else 0.0

    def _add(self, attempts: int, failed: int) -> None:
        with self._lock:
            self._attempts += attempts
            self._failed += failed


class GenerationEngine:
    """The completions of a run: the stored ones first, then new ones as they come.  Begin it, and close it."""

    def __init__(self, request: GenerationRequest, store: Completions, backend: Backend) -> None:
        self._request, self._store, self._backend = request, store, backend
        self._queue = _RequestQueue(request, store, 1 if isinstance(backend, PipelinedBackend) else request.per_request)
        self._failures = _Failures(answered_before=store.stored > 0)
        self._session = _Session(store.totals)
        self._ready: queue.SimpleQueue[Completion] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._closed = threading.Event()
        self._notify: Callable[[], None] = _do_nothing
        self._threads: set[threading.Thread] = set()
        """Threads that have not ended."""
        self._error: PasscurveError | None = None

    @property
    def error(self) -> PasscurveError | None:
        """The error that ended the generation before all samples were there."""
        return self._error or (self._failures.final if not self._threads else None)

    def begin(self) -> None:
        """Send the first requests: the jail is built while the first replies are on their way."""
        self._session = _Session(self._store.totals)
        count = 1 if isinstance(self._backend, PipelinedBackend) else self._request.concurrency
        self._threads = {
            threading.Thread(target=self._work, name=f"passcurve-generate-{number}", daemon=True)
            for number in range(count)
        }
        for thread in tuple(self._threads):
            thread.start()

    def notify(self, callback: Callable[[], None]) -> None:
        """Call ``callback``, from any thread, whenever a completion has come or none will."""
        self._notify = callback

    def completions(self) -> Iterator[Completion | None]:
        """Yield each completion, and None whenever the next is not there yet."""
        yield from self._store.earlier_completions()
        while True:
            is_working = bool(self._threads)
            try:
                yield self._ready.get_nowait()
            except queue.Empty:
                if not is_working:
                    return
                yield None

    def missing(self) -> Mapping[str, int]:
        """Return the number of samples that are planned but not stored, of each problem that lacks some."""
        return self._queue.missing()

    def progress(self) -> GenerationProgress:
        """Return how far the generation is."""
        totals, error = self._store.totals, self.error
        return GenerationProgress(
            planned=self._request.n * len(self._request.prompts),
            stored=totals.samples,
            fresh=totals.samples - self._store.stored,
            truncated=totals.truncated,
            filtered=totals.filtered,
            retried=totals.retried,
            prompt_tokens=totals.prompt_tokens,
            completion_tokens=totals.completion_tokens,
            reasoning_tokens=totals.reasoning_tokens,
            cached_tokens=totals.cached_tokens,
            uncounted=totals.uncounted,
            latency_s=totals.latency_s,
            seconds=self._session.seconds,
            fresh_tokens=self._session.tokens,
            server_models=dict(totals.server_models.most_common()),
            temperature=self._request.decoding.temperature,
            repeated_problems=totals.repetition.repeated_problems,
            uniform_problems=totals.repetition.uniform_problems,
            choices=totals.repetition.choices,
            equal_choices=totals.repetition.equal_choices,
            failures=tuple(self._failures.reasons),
            ended_by=str(error) if error is not None else "",
            exit_code=error.exit_code if error is not None else 0,
            error_rate=self._session.error_rate,
        )

    def close(self) -> None:
        """Send no more requests, and drop the open ones."""
        self._stop.set()
        self._closed.set()
        self._backend.close()
        self._store.close()

    def _work(self) -> None:
        try:
            if isinstance(self._backend, PipelinedBackend):
                self._take_pipelined(self._backend)
            else:
                self._generate(self._backend)
        finally:
            self._threads.discard(threading.current_thread())
            self._notify()

    def _take_pipelined(self, backend: PipelinedBackend) -> None:
        requests = self._requests()
        # Even when the run is over and sends no more requests: the open ones were paid for, and may have replies.
        while not self._closed.is_set() and self._take(backend.generate_pipelined(requests)):
            pass

    def _generate(self, backend: Backend) -> None:
        for sample_request in self._requests():
            if sample_request is None:
                self._closed.wait(_POLL_S)
            else:
                self._take(backend.generate(sample_request), sample_request.prompt.problem_id)

    def _requests(self) -> Iterator[SampleRequest | None]:
        """Yield the requests to send, and None while the judge is behind."""
        while not self._stop.is_set():
            if self._ready.qsize() >= MAX_READY:
                yield None
            elif (sample_request := self._queue.take()) is not None:
                yield sample_request
            else:
                return

    def _take(self, replies: Iterator[Reply], problem_id: str = "") -> bool:
        """Store replies and hand them on; return whether a request failed, so that there may be others."""
        try:
            for reply in replies:
                completion = self._store.append(reply, self._cut(reply))
                self._failures.note_success(reply.key.problem_id)
                self._session.note_reply(reply)
                self._ready.put(completion)
                self._notify()
        except ModelError as error:
            self._take_failure(error, problem_id or error.problem_id)
            return True
        except PasscurveError as error:
            self._end(error)
        except BaseException as error:
            self._end(ModelError(f"the back end failed: {type(error).__name__}: {error}"))
        return False

    def _take_failure(self, error: ModelError, problem_id: str) -> None:
        self._session.note_failure()
        if isinstance(error, PromptError):
            self._queue.skip(problem_id)
            if self._failures.add_refusal(problem_id, error):
                self._end(error)
        elif isinstance(error, RefusedError):
            self._end(error)
        elif isinstance(error, TooLongError):
            self._failures.reasons[str(error)] = None
            self._queue.skip(problem_id)
        elif self._failures.add("" if isinstance(error, UnavailableError) else problem_id, error):
            self._end(error)
        elif self._failures.has_given_up(problem_id):
            self._queue.skip(problem_id)

    def _cut(self, reply: Reply) -> str:
        return cut_at_stop(reply.text, self._request.decoding.stop) if reply.form == "completion" else reply.text

    def _end(self, error: PasscurveError) -> None:
        # Requests that fail because the run is over are not the reason for its end.
        if not self._stop.is_set():
            self._error = error
            self._stop.set()


def _do_nothing() -> None:
    pass
