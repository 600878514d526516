"""Requests to a server over HTTP: attempts, delays, the rate limit, and the meaning of a failure."""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import msgspec

from passcurve.config import NO_KEY
from passcurve.errors import ModelError, PromptError, RefusedError, TooLongError, UnavailableError, UsageError, nearest
from passcurve.models.backend import Settings, describe_proxies, public_address
from passcurve.models.rate_limit import RateLimit
from passcurve.models.retry import LIMIT_WAIT_FACTOR, RATE_LIMITED, UNAVAILABLE_STATUSES, is_retryable, retry_delay
from passcurve.models.sanitize import one_line
from passcurve.types.amounts import amount

MAX_RESPONSE_BYTES = 64 << 20
_CONNECT_S = 10.0
_SECRET_CHARS = 12
"""A key of fewer characters is hidden as a word only: it may be part of others, and no service has such a key."""


class ApiResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed response of success."""

    body: dict[str, Any]
    attempts: int
    latency_s: float
    digest: str
    """Digest of the request's body."""


class ApiRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and how to read its response."""

    path: str
    body: Callable[[], dict[str, Any]]
    """Builds the body, anew for each attempt."""
    problem_id: str
    estimated_tokens: int
    """Estimate of prompt tokens and completion tokens."""
    used_tokens: Callable[[dict[str, Any]], int | None]
    """Returns the tokens that a response counts."""
    missing_field: Callable[[dict[str, Any]], str]
    """Returns the name of a field that a response lacks; empty when it is complete."""
    adapt: Callable[[str, bytes], bool] | None = None
    """Changes ``body`` after a refusal (400) of what was sent; returns False where nothing can be changed."""


class AttemptError(Exception):
    """One attempt failed in a way that may pass; the text gives the reason."""

    def __init__(
        self, reason: str, retry_after: str | None = None, status: int = 0, *, is_unavailable: bool = False
    ) -> None:
        """``is_unavailable``: the server takes no request, whatever it asks."""
        super().__init__(reason)
        self.retry_after, self.status = retry_after, status
        self.is_unavailable = is_unavailable or status in UNAVAILABLE_STATUSES


class ServerClient:
    """Sends requests to a server, and sends them again where that may help.  Close it."""

    def __init__(self, model: str, settings: Settings, headers: Mapping[str, str]) -> None:
        """Take the model's name, for messages, and the headers of each request."""
        self._model, self._server = model, settings.server
        self._timeout_s = settings.request_timeout_s
        address = settings.server.base_url.rstrip("/")
        self.root = public_address(address)
        """The address as it may be printed and stored."""
        try:
            self._address = httpx.URL(address)
            # As it is looked up: httpx accepts names that no host can have.
            self._address.host.encode("idna")
            self._client = httpx.Client(
                headers=dict(headers),
                timeout=httpx.Timeout(settings.request_timeout_s, connect=_CONNECT_S),
                limits=httpx.Limits(max_connections=settings.concurrency),
            )
        except (httpx.InvalidURL, UnicodeError, ValueError, ImportError, OSError) as error:
            raise UsageError(f"--base-url {self.root!r} cannot be used: {error}{describe_proxies()}") from None
        if self._address.scheme not in ("http", "https"):
            raise UsageError(f"--base-url {self.root!r} must begin with http:// or https://")
        if not self._address.host:
            raise UsageError(f"--base-url {self.root!r} names no server; write it like http://127.0.0.1:8000/v1")
        # Only for the delays between attempts; no sample depends on it.
        self._rng = random.Random(settings.seed)
        self._rate = RateLimit(settings.server.requests_per_minute, settings.server.tokens_per_minute)
        self._closed = threading.Event()
        self._has_answered = False

    def close(self) -> None:
        """Close the connections; open requests fail."""
        self._closed.set()
        self._rate.close()
        self._client.close()

    def send(self, request: ApiRequest) -> ApiResponse:
        """Return the response.

        Raises RefusedError when a retry would be refused too (PromptError where another prompt may be
        answered), TooLongError when the prompt does not fit, ModelError when there is no response after all attempts.
        """
        attempt = 0
        while True:
            attempt += 1
            self._rate.wait(request.estimated_tokens)
            sent = json.dumps(request.body()).encode("ascii")
            began = time.monotonic()
            try:
                body = self._post_and_count(sent, request)
            except AttemptError as error:
                self._wait(attempt, error)
                continue
            if body is None:
                # The server wants another body; that was no failure.
                attempt -= 1
                continue
            self._has_answered = True
            digest = hashlib.blake2b(sent, digest_size=8).hexdigest()
            return ApiResponse(body=body, attempts=attempt, latency_s=time.monotonic() - began, digest=digest)

    def _wait(self, attempt: int, error: AttemptError) -> None:
        """Wait before the next attempt; raise ModelError when there is none."""
        if self._closed.is_set():
            raise ModelError("the run has ended") from None
        first_s = self._server.first_wait_s * (LIMIT_WAIT_FACTOR if error.status == RATE_LIMITED else 1.0)
        delay = retry_delay(attempt, error.retry_after, self._rng, first_s)
        if delay is not None and not delay.seconds and attempt > 1:
            # A server that says "at once" again and again would use up all attempts at once.
            delay = retry_delay(attempt, None, self._rng, first_s)
        if attempt > self._server.max_retries or delay is None:
            asks = f" (Retry-After: {one_line((error.retry_after or '').encode())})" if delay is None else ""
            kind = UnavailableError if error.is_unavailable else ModelError
            raise kind(
                f"{self.root} gave no answer in {amount(attempt, 'attempt')}: {self._hide(str(error))}{asks}"
            ) from None
        if delay.is_from_server:
            # The server would refuse the other threads' requests too.
            self._rate.hold(delay.seconds)
        self._closed.wait(delay.seconds)

    def _post_and_count(self, sent: bytes, request: ApiRequest) -> dict[str, Any] | None:
        """Do as ``_post``, and correct the estimate of tokens: what fails or is refused takes none."""
        used: int | None = 0
        try:
            body = self._post(sent, request)
            used = request.used_tokens(body) if body is not None else 0
            return body
        finally:
            self._rate.correct(request.estimated_tokens, used)

    def _post(self, sent: bytes, request: ApiRequest) -> dict[str, Any] | None:
        """Return the body of the response; None when the request should be sent again with another body."""
        deadline = time.monotonic() + self._timeout_s
        try:
            with self._client.stream(
                "POST", self._url(request.path), content=sent, headers={"content-type": "application/json"}
            ) as response:
                text = bytearray()
                for piece in response.iter_bytes():
                    text += piece
                    if time.monotonic() > deadline:
                        raise AttemptError(f"the answer was not complete after {self._timeout_s:g} s")
                    if len(text) > MAX_RESPONSE_BYTES:
                        raise AttemptError(f"the answer is longer than {MAX_RESPONSE_BYTES >> 20} MiB")
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            reason = str(error) or f"no connection within {_CONNECT_S:g} s"
            if not self._has_answered:
                raise RefusedError(
                    f"cannot reach {self.root}: {reason}; is the server up, and --base-url right?{describe_proxies()}"
                ) from None
            raise AttemptError(f"cannot connect: {reason}", is_unavailable=True) from None
        except httpx.TimeoutException:
            raise AttemptError(f"no answer within {self._timeout_s:g} s") from None
        except httpx.HTTPError as error:
            raise AttemptError(f"the connection broke: {error or type(error).__name__}") from None
        except RuntimeError:
            # Another thread has closed the client.
            raise AttemptError("the client is closed") from None
        if not response.is_success:
            self._raise_status(response, bytes(text), request, sent)
            return None
        return _parse_body(bytes(text), request)

    def _raise_status(self, response: httpx.Response, text: bytes, request: ApiRequest, sent: bytes) -> None:
        """Raise the error that a status stands for; return when the request should be sent with another body."""
        # The key is hidden only where a message is shown: a key like "x" is part of many words.
        status, message = response.status_code, _error_message(text)
        reason = f"{status}: {self._hide(message)}" if message else str(status)
        if is_retryable(status):
            raise AttemptError(reason, response.headers.get("retry-after"), status)
        if status in (400, 413, 422) and _is_too_long(message):
            raise TooLongError(
                f"problem {request.problem_id!r}: prompt and answer do not fit into the model's context "
                f"({reason}); lower --max-tokens"
            )
        if status == 400 and request.adapt is not None and request.adapt(message, sent):
            return
        if status in (401, 403):
            name = self._server.api_key_name
            without = "a request without a key" + (f" ({name} is not set)" if name != NO_KEY else "")
            key = f"the key in {name}" if self._server.api_key else without
            raise RefusedError(f"{self.root} refuses {key} ({reason})")
        if status == 404:
            names = self._list_models()
            if self._model in names or "model" not in message.lower():
                other = "--prompt base" if "chat" in request.path else "--prompt chat"
                raise RefusedError(
                    f"{self.root} has no {request.path} ({reason}); {other} asks in the other way, and --base-url ends "
                    "with /v1 for most servers"
                )
            raise RefusedError(f"{self.root} has no model {self._model!r}{self._model_hint(names)} ({reason})")
        if status in (400, 413, 422):
            raise PromptError(f"{self.root} refuses the request ({reason})")
        place = response.headers.get("location")
        raise RefusedError(f"{self.root} refuses the request ({reason}{f', it is at {place}' if place else ''})")

    def _url(self, path: str) -> httpx.URL:
        return self._address.copy_with(path=self._address.path.rstrip("/") + path, fragment=None)

    def _hide(self, text: str) -> str:
        """Return a text of the server without the key, which some repeat."""
        if not self._server.api_key:
            return text
        key = re.escape(self._server.api_key)
        # What local servers are given for a key may be part of many words.
        return re.sub(key if len(self._server.api_key) >= _SECRET_CHARS else rf"(?<!\w){key}(?!\w)", "...", text)

    def _list_models(self) -> list[str]:
        """Return the models that the server lists."""
        try:
            listing = self._client.get(self._url("/models"), timeout=_CONNECT_S).json()
            return [str(model["id"]) for model in listing["data"]]
        except (httpx.HTTPError, ValueError, TypeError, KeyError, RuntimeError):
            return []

    def _model_hint(self, names: list[str]) -> str:
        """Return the models that the server lists, for a message; empty where it lists none."""
        listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return nearest(self._model, names) or (f"; it has {listed}" if names else "")


def _parse_body(text: bytes, request: ApiRequest) -> dict[str, Any]:
    try:
        body: object = json.loads(text)
    except (ValueError, RecursionError):
        raise AttemptError(f"the answer is not valid JSON: {one_line(text)}") from None
    missing = request.missing_field(body) if isinstance(body, dict) else "fields"
    if missing or not isinstance(body, dict):
        raise AttemptError(f"the answer has no {missing}: {one_line(text)}")
    return body


def _is_too_long(message: str) -> bool:
    text = message.lower()
    if "prompt is too long" in text or ("max_new_tokens" in text and "must be <=" in text):
        return True
    if "token count" in text and "exceeds the maximum" in text:
        return True
    return "context" in text and any(word in text for word in ("length", "maximum", "window", "exceed", "too long"))


def _error_message(text: bytes) -> str:
    """Return the message in the body of an error, as one bounded line."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return one_line(text) if text.strip() else ""
    message: object = body
    while isinstance(message, dict):
        message = next((message[name] for name in ("error", "message", "detail") if name in message), None)
    return one_line((message if isinstance(message, str) else json.dumps(body)).encode("utf-8", "replace"))
