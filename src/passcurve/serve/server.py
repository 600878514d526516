"""The server: batches in, verdicts out, and its state for those who watch it."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from passcurve.api import AsyncJudge, Judgement
from passcurve.errors import QUEUE_FULL, DataError, PasscurveError, UsageError
from passcurve.judging.program_runner import ProgramRunner
from passcurve.serve.admission import Admission, find_misdirection, is_loopback, refuse
from passcurve.serve.answer_cache import AnswerCache, digest
from passcurve.serve.bodies import encode_line
from passcurve.serve.connections import Connections, make_server, open_listener, run_server
from passcurve.serve.requests import MAX_BODY_BYTES, RequestError, answer, read_batch
from passcurve.serve.revival import Revival
from passcurve.serve.rewards import CONTRACTS, Question, Read, Rows, aggregate
from passcurve.serve.run_code import answer_of, make_job, read_request
from passcurve.serve.web import Web, import_web
from passcurve.types import Limits
from passcurve.types.decoding import encode_json

RETRY_AFTER_S = 5
_BODY_S = 30.0
"""Time in which a body must have come."""


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a server, and what it admits."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    """What a request must know; empty on loopback alone."""
    queue: int = 20_000
    """Samples that may wait at once."""
    benchmark: str = ""
    """The name of the benchmark that is served."""
    limits: Limits = Limits()
    """The limits of programs, where a request has no lower ones."""


class Metrics:
    """Counts for Prometheus."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.requests: Counter[int] = Counter()
        self.seconds = 0.0

    def text(self, waiting: int) -> str:
        """Return the text format of Prometheus."""
        lines = ["# TYPE passcurve_samples_total counter"]
        lines += [f'passcurve_samples_total{{status="{name}"}} {count}' for name, count in self.statuses.items()]
        lines += ["# TYPE passcurve_requests_total counter"]
        lines += [f'passcurve_requests_total{{code="{code}"}} {count}' for code, count in self.requests.items()]
        lines += [
            "# TYPE passcurve_request_seconds_total counter",
            f"passcurve_request_seconds_total {self.seconds:.3f}",
        ]
        lines += ["# TYPE passcurve_waiting gauge", f"passcurve_waiting {waiting}"]
        return "\n".join([*lines, ""])


def serve(
    judge: AsyncJudge, runner: ProgramRunner | None, options: ServeOptions, announce: Callable[[str], None]
) -> None:
    """Answer requests until SIGTERM or Ctrl-C; those under way are answered first.

    ``judge``, which must be started, judges samples; ``runner`` runs programs.  Raises UsageError where Starlette or
    uvicorn is missing, where host or port cannot be used, and off loopback without a token.
    """
    web = import_web("serve")
    if not is_loopback(options.host) and not options.token:
        raise UsageError(f"--host {options.host} is open to others: set a token with --token-file FILE")
    try:
        listener = open_listener(options.host, options.port)
    except OSError as error:
        message = f"--host {options.host} --port {options.port} cannot be used: {error.strerror or error}"
        raise UsageError(message) from error
    with listener:
        app = make_app(judge, runner, options, web)
        host = f"[{options.host}]" if ":" in options.host else options.host
        announce(f"http://{host}:{listener.getsockname()[1]}/")
        run_server(make_server(web, app, Connections()), listener)


def make_app(judge: AsyncJudge, runner: ProgramRunner | None, options: ServeOptions, web: Web) -> Any:
    """Return the application."""
    handlers = _Handlers(judge, runner, options, web)
    routes = [
        web.route("/healthz", handlers.tell_health),
        web.route("/readyz", handlers.tell_readiness),
        web.route("/metrics", handlers.tell_metrics),
        web.route("/judge", handlers.judge_batch, methods=["POST"]),
        web.route("/problems", handlers.list_problems),
        web.route("/list_datasets", handlers.list_benchmarks),
        *(web.route(path, handlers.answer_session, methods=["POST"]) for path in ("/seed_session", "/close_session")),
        web.route("/aggregate_metrics", handlers.aggregate_metrics, methods=["POST"]),
        *(web.route(path, handlers.reward_by(read), methods=["POST"]) for path, read in CONTRACTS.items()),
    ]
    if runner is not None:
        routes += [
            web.route("/run_code", handlers.run_code, methods=["POST"]),
            web.route("/v1/ping", handlers.answer_ping),
        ]
    app = web.application(routes=routes)
    # It would lead to whatever host the request names.
    app.router.redirect_slashes = False
    return _Guard(Admission(app, count=handlers.count_refused), options.token)


class _Handlers:
    """Answers requests."""

    def __init__(self, judge: AsyncJudge, runner: ProgramRunner | None, options: ServeOptions, web: Web) -> None:
        self._judge, self._runner, self._options, self._web = judge, runner, options, web
        self._metrics = Metrics()
        self._revival = Revival([part for part in (judge, runner) if part is not None])
        self._answers = AnswerCache()

    async def judge_batch(self, request: Any) -> Any:
        """Judge the samples of a request."""
        return await self._answer(request, _read_batch)

    def reward_by(self, read: Read) -> Callable[[Any], Awaitable[Any]]:
        """Return what answers the requests of a caller."""

        async def reward(request: Any) -> Any:
            return await self._answer(request, partial(_read_rows, read))

        return reward

    async def _answer(self, request: Any, read: Callable[[bytes, AsyncJudge], Question]) -> Any:
        """Answer a request to judge rows; ``read`` returns what its body asks for."""
        judge, web, begun = self._judge, self._web, time.monotonic()
        client = request.client.host
        try:
            question = await asyncio.to_thread(read, await _body_of(request), judge)
            if len(question.rows) > self._options.queue:
                raise RequestError(413, f"a request may have {self._options.queue:,} samples here (--queue)")
            if judge.waiting + len(question.rows) > self._options.queue:
                return self._refuse(503, QUEUE_FULL)
            if question.streams:
                # Put in now: until the answer begins, others would find room for their rows as well.
                judgements_to_come = judge.judge_each(question.rows, client=client)
                lines = self._lines(judgements_to_come, question.rows, begun)
                return web.streaming_response(lines, media_type="application/x-ndjson")
            judgements = await judge.judge(question.rows, client=client)
            answered = question.answer(judgements)
        except RequestError as error:
            return self._refuse(error.status, str(error))
        except DataError as error:
            return self._refuse(422, str(error))
        except (TimeoutError, web.client_gone):
            return self._refuse(408, "the body did not come in time")
        except PasscurveError:
            # Ours: its reason may name places of this machine.
            return self._refuse(503, "the judging failed")
        self._metrics.statuses.update(judgement.status for judgement in judgements)
        self._count(begun)
        return web.response(encode_json(answered), media_type="application/json")

    async def _lines(self, judgements: AsyncIterator[Judgement], rows: Rows, begun: float) -> AsyncIterator[bytes]:
        """Yield an answer for each row, as soon as it is known; where the sandbox is lost, the stream breaks off."""
        try:
            async for judgement in judgements:
                self._metrics.statuses[judgement.status] += 1
                yield encode_line(answer(judgement, rows[judgement.index]))
        except PasscurveError:
            self._revival.begin()
            raise
        self._count(begun)

    async def list_problems(self, _: Any) -> Any:
        """Return the ids of the problems."""
        return self._web.json_response({"problems": self._judge.problems})

    async def list_benchmarks(self, _: Any) -> Any:
        """Return the name of the benchmark, as SandboxFusion lists its own."""
        return self._web.json_response([self._options.benchmark] if self._options.benchmark else [])

    async def tell_health(self, _: Any) -> Any:
        """Return that the process lives."""
        return self._web.text_response("ok\n")

    async def tell_readiness(self, _: Any) -> Any:
        """Return whether samples are judged."""
        is_ready = self._revival.is_alive
        self._revival.begin()
        return self._web.text_response(*(("ready\n",) if is_ready else ("not ready\n", 503)))

    def count_refused(self, status: int) -> None:
        """Count a request that was refused before anything here saw it."""
        self._metrics.requests[status] += 1

    async def tell_metrics(self, _: Any) -> Any:
        """Return the counts."""
        waiting = sum(one.waiting for one in (self._judge, self._runner) if one is not None)
        return self._web.text_response(self._metrics.text(waiting))

    async def answer_ping(self, _: Any) -> Any:
        """Answer as SandboxFusion does."""
        return self._web.json_response("pong")

    async def answer_session(self, _: Any) -> Any:
        """Answer NeMo-Gym's agents, which begin and end each rollout so: nothing is kept between requests."""
        return self._web.json_response({})

    async def aggregate_metrics(self, request: Any) -> Any:
        """Return the means of rewards that this server gave before."""
        try:
            means = await asyncio.to_thread(aggregate, await _body_of(request))
        except RequestError as error:
            return self._refuse(error.status, str(error))
        except (TimeoutError, self._web.client_gone):
            return self._refuse(408, "the body did not come in time")
        return self._web.response(encode_json(means), media_type="application/json")

    async def run_code(self, request: Any) -> Any:
        """Run one program.  Never 429, 500 or 503, which clients take for a failed program: they repeat a 504."""
        runner, begun = self._runner, time.monotonic()
        assert runner is not None
        try:
            body = await _body_of(request)
            key = digest(body)
            if (kept := self._answers.find(key)) is not None:
                self._count(begun)
                return self._web.response(kept, media_type="application/json")
            wanted = read_request(body)
            if wanted.is_python:
                job = make_job(wanted, self._options.limits)
            else:
                # The first job in a language of the system looks for what its toolchain loads.
                job = await asyncio.to_thread(make_job, wanted, self._options.limits)
            left_s = wanted.deadline_s - (time.monotonic() - begun)
            future = runner.submit(job, request.client.host, left_s)
            try:
                outcome = await asyncio.wait_for(asyncio.wrap_future(future), left_s)
            finally:
                # The client has gone, or will have when the program ends: it must not keep others waiting.
                runner.give_up(future)
        except RequestError as error:
            return self._refuse(error.status, str(error))
        except (TimeoutError, PasscurveError, self._web.client_gone):
            return self._refuse(504, "the program was not run; ask again")
        answered = answer_of(job, outcome)
        if answered is None:
            return self._refuse(504, "the program could not be run; ask again")
        self._metrics.statuses[answered.status] += 1
        self._count(begun)
        encoded = encode_json(answered)
        self._answers.add(key, encoded)
        return self._web.response(encoded, media_type="application/json")

    def _count(self, begun: float) -> None:
        """Count a request that was answered."""
        self._metrics.requests[200] += 1
        self._metrics.seconds += time.monotonic() - begun

    def _refuse(self, status: int, message: str) -> Any:
        self._metrics.requests[status] += 1
        self._revival.begin()
        headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else None
        return self._web.json_response({"error": message}, status, headers=headers)


async def _body_of(request: Any) -> bytes:
    """Return the body of a request; raise RequestError where it is too large, TimeoutError where it is too slow."""
    if (encoding := request.headers.get("content-encoding", "identity").lower()) != "identity":
        raise RequestError(415, f"send the body without Content-Encoding, not as {encoding[:40]}")
    pieces: list[bytes] = []
    size = 0
    async with asyncio.timeout(_BODY_S):
        async for piece in request.stream():
            size += len(piece)
            if size > MAX_BODY_BYTES:
                raise RequestError(413, f"the body is larger than {MAX_BODY_BYTES:,} bytes")
            pieces.append(piece)
    return b"".join(pieces)


def _read_rows(read: Read, body: bytes, judge: AsyncJudge) -> Question:
    """Return what a body asks for; raise RequestError or DataError where that cannot be judged."""
    question = read(body, judge.problems)
    # A problem that comes with it is read here, not in the loop of all requests.
    judge.check(question.rows)
    return question


def _read_batch(body: bytes, judge: AsyncJudge) -> Question:
    """Return what the body of a batch asks for; raise RequestError where that cannot be judged."""
    batch = read_batch(body, judge)

    def answers(judgements: list[Judgement]) -> dict[str, list[dict[str, Any]]]:
        return {"results": [answer(judgement, batch.samples[judgement.index]) for judgement in judgements]}

    return Question(batch.samples, answers, streams=batch.stream)


class _Guard:
    """Lets requests with the token through, as a header or in front of the path; the state of the server is open."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            # A proxy may take what follows for another request than we do.
            await refuse(send, 400, "a body has one length")
            return
        if self._token and scope["path"] not in ("/healthz", "/readyz"):
            rest = self._without_token(scope)
            if rest is None:
                await refuse(send, 401, "a token is needed")
                return
            scope = {**scope, "path": rest, "raw_path": rest.encode()}
        elif not self._token and (reason := find_misdirection(scope["headers"])):
            await refuse(send, 403, reason)
            return
        await self._app(scope, receive, send)

    def _without_token(self, scope: dict[str, Any]) -> str | None:
        """Return the path without the token; None where the request does not know it."""
        header = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, token = header.partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(token, self._token):
            return str(scope["path"])
        first, _, rest = scope["path"].removeprefix("/").partition("/")
        return f"/{rest}" if hmac.compare_digest(first.encode(), self._token) else None
