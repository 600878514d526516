"""What all servers have in common that are asked over HTTP: attempts, waits, pace, and what a failure means."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import msgspec

from passcurve.errors import ModelError, RefusedError, TooLongError, UsageError, nearest
from passcurve.models.backend import Settings
from passcurve.models.rate_limit import Pace
from passcurve.models.retry import is_again, waiting
from passcurve.models.sanitize import shown

MAX_ANSWER_BYTES = 64 << 20
_CONNECT_S = 10.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A response with status 200, read and parsed."""

    body: dict[str, Any]
    attempts: int
    latency_s: float
    digest: str
    """Of what was sent."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and how its answer is understood."""

    path: str
    body: Callable[[], dict[str, Any]]
    """Made anew for each attempt."""
    problem_id: str
    tokens: int
    """What it may take, read and written, as far as can be guessed."""
    spent: Callable[[dict[str, Any]], int | None]
    """What it took, by its answer."""
    lacks: Callable[[dict[str, Any]], str]
    """What an answer lacks to be one; empty when it lacks nothing."""
    reworded: Callable[[str, bytes], bool] | None = None
    """Whether a refusal (400) of what was sent is answered by asking in other words, which ``body`` then has."""


class FailedError(Exception):
    """One attempt failed in a way that may pass; the text says how."""

    def __init__(self, reason: str, retry_after: str | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Server:
    """Asks a server, again where that may help, never where it would be refused again.  Close it."""

    def __init__(self, model: str, settings: Settings, headers: Mapping[str, str]) -> None:
        """Take the model's name, for messages, and the headers of each request."""
        self._model, self._settings = model, settings
        self.root = settings.base_url.rstrip("/")
        try:
            self._client = httpx.Client(
                headers=dict(headers),
                timeout=httpx.Timeout(settings.request_timeout_s, connect=_CONNECT_S),
                limits=httpx.Limits(max_connections=settings.concurrency),
            )
            scheme = httpx.URL(self.root).scheme
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise UsageError(f"--base-url {self.root!r} cannot be used: {error}") from None
        if scheme not in ("http", "https"):
            raise UsageError(f"--base-url {self.root!r} should begin with http:// or https://")
        # Of the waits between attempts only; no sample depends on it.
        self._rng = random.Random(settings.seed)
        self._pace = Pace(settings.requests_per_minute, settings.tokens_per_minute)
        self._closed = threading.Event()
        self._answered = False
        self.retries = 0
        """Attempts that failed and were made again."""

    def close(self) -> None:
        """Close the connections; requests that are under way fail."""
        self._closed.set()
        self._client.close()

    def ask(self, question: Question) -> Answer:
        """Return the answer.

        Raises RefusedError when it would be refused again, TooLongError when the prompt does not fit, ModelError when
        there is no answer after all attempts.
        """
        attempt = 0
        while True:
            attempt += 1
            self._pace.wait(question.tokens, self._closed)
            sent = json.dumps(question.body()).encode("ascii")
            began = time.monotonic()
            try:
                found = self._send(sent, question)
            except FailedError as failure:
                self._pace.correct(question.tokens, 0)
                self._wait(attempt, failure)
                continue
            if found is None:
                # It wants the request in other words; that was no failure.
                attempt -= 1
                continue
            self._answered = True
            self._pace.correct(question.tokens, question.spent(found))
            digest = hashlib.blake2b(sent, digest_size=8).hexdigest()
            return Answer(body=found, attempts=attempt, latency_s=time.monotonic() - began, digest=digest)

    def _wait(self, attempt: int, failure: FailedError) -> None:
        """Wait before the next attempt; raise ModelError when there should be none."""
        if self._closed.is_set():
            raise ModelError("the run has ended") from None
        wait = waiting(attempt, failure.retry_after, self._rng, self._settings.first_wait_s)
        if attempt > self._settings.max_retries or wait is None:
            raise ModelError(
                f"{self.root} gave no answer in {attempt} attempt{'s' if attempt > 1 else ''}: {failure}"
            ) from None
        self.retries += 1
        if wait.asked:
            # Who else asks now would be told the same.
            self._pace.hold(wait.seconds)
        self._closed.wait(wait.seconds)

    def _send(self, sent: bytes, question: Question) -> dict[str, Any] | None:
        """Return what the server answered; None when the request should be made anew in other words."""
        deadline = time.monotonic() + self._settings.request_timeout_s
        try:
            with self._client.stream(
                "POST", self.root + question.path, content=sent, headers={"content-type": "application/json"}
            ) as response:
                text = bytearray()
                for piece in response.iter_bytes():
                    text += piece
                    if time.monotonic() > deadline:
                        raise FailedError(f"the answer was not complete after {self._settings.request_timeout_s:g} s")
                    if len(text) > MAX_ANSWER_BYTES:
                        raise FailedError(f"the answer is longer than {MAX_ANSWER_BYTES >> 20} MiB")
        except httpx.TimeoutException:
            raise FailedError(f"no answer within {self._settings.request_timeout_s:g} s") from None
        except httpx.ConnectError as error:
            if not self._answered:
                raise RefusedError(
                    f"cannot reach {self.root}: {error}; is the server up, and --base-url right?"
                ) from None
            raise FailedError(f"cannot connect: {error}") from None
        except httpx.HTTPError as error:
            raise FailedError(f"the connection broke: {error or type(error).__name__}") from None
        except RuntimeError:
            # The client was closed by another thread.
            raise FailedError("the client is closed") from None
        if response.status_code != httpx.codes.OK:
            self._failed(response, bytes(text), question, sent)
            return None
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            raise FailedError(f"the answer is no JSON: {shown(bytes(text))}") from None
        lacks = question.lacks(body) if isinstance(body, dict) else "fields"
        if lacks:
            raise FailedError(f"the answer has no {lacks}: {shown(bytes(text))}")
        found: dict[str, Any] = body
        return found

    def _failed(self, response: httpx.Response, text: bytes, question: Question, sent: bytes) -> None:
        """Raise what a status other than 200 means; return when the request should be made in other words."""
        status, said = response.status_code, _message(text)
        what = f"{status}: {said}" if said else str(status)
        if is_again(status):
            raise FailedError(what, response.headers.get("retry-after"))
        if status in (400, 413, 422) and _is_too_long(said):
            raise TooLongError(
                f"problem {question.problem_id!r}: prompt and answer do not fit into the model's context "
                f"({what}); lower --max-tokens"
            )
        if status == 400 and question.reworded is not None and question.reworded(said, sent):
            return
        if status in (401, 403):
            name = self._settings.api_key_name
            key = f"the key in {name}" if self._settings.api_key else f"a request without a key ({name} is not set)"
            raise RefusedError(f"{self.root} refuses {key} ({what})")
        if status == 404:
            raise RefusedError(f"{self.root} knows no model {self._model!r}{self._known()} ({what})")
        raise RefusedError(f"{self.root} refuses the request ({what})")

    def _known(self) -> str:
        """Return which models the server has, as far as it tells."""
        try:
            found = self._client.get(self.root + "/models", timeout=_CONNECT_S).json()
            names = [str(each["id"]) for each in found["data"]]
        except (httpx.HTTPError, ValueError, TypeError, KeyError, RuntimeError):
            return ""
        listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return nearest(self._model, names) or (f"; it has {listed}" if names else "")


def _is_too_long(said: str) -> bool:
    words = said.lower()
    if "prompt is too long" in words:
        return True
    return "context" in words and any(each in words for each in ("length", "maximum", "window", "exceed", "too long"))


def _message(text: bytes) -> str:
    """Return what an error's body says, in one bounded line."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return shown(text) if text.strip() else ""
    found: object = body
    while isinstance(found, dict):
        found = next((found[name] for name in ("error", "message", "detail") if name in found), None)
    return shown((found if isinstance(found, str) else json.dumps(body)).encode("utf-8", "replace"))
