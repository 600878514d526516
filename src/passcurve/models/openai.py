"""The back end ``openai:MODEL``: any OpenAI-compatible server, completions and chat."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections.abc import Iterator
from typing import Any, Self

import httpx
import msgspec

from passcurve.errors import ModelError, RefusedError, TooLongError, UsageError, nearest
from passcurve.models.backend import Settings, conversation, sample_seed
from passcurve.models.retry import is_again, waiting
from passcurve.types import Order, Reply, SampleKey

MAX_STOPS = 4
"""Servers take no more; all of them are applied again on our side."""
MAX_ANSWER_BYTES = 64 << 20
_CONNECT_S = 10.0
_SHOWN = 200


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A response with status 200, read and parsed."""

    body: dict[str, Any]
    attempts: int
    latency_s: float
    digest: str


class _FailedError(Exception):
    """One attempt failed in a way that may pass; the text says how."""

    def __init__(self, reason: str, retry_after: str | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class OpenAI:
    """Asks a server, again where that may help, never where it would be refused again."""

    draws = True
    options: tuple[str, ...] = ()

    def __init__(self, model: str, settings: Settings) -> None:
        self._model = model
        self._settings = settings
        self._root = settings.base_url.rstrip("/")
        self._path = "/chat/completions" if settings.style == "chat" else "/completions"
        self.identity = {"base_url": self._root, "endpoint": self._path.lstrip("/")}
        if settings.extra_body:
            self.identity["extra_body"] = json.dumps(settings.extra_body, sort_keys=True)
        headers = {"authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        try:
            self._client = httpx.Client(
                headers=headers,
                timeout=httpx.Timeout(settings.request_timeout_s, connect=_CONNECT_S),
                limits=httpx.Limits(max_connections=settings.concurrency),
            )
            scheme = httpx.URL(self._root).scheme
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise UsageError(f"--base-url {self._root!r} cannot be used: {error}") from None
        if scheme not in ("http", "https"):
            raise UsageError(f"--base-url {self._root!r} should begin with http:// or https://")
        # Of the waits between attempts only; no sample depends on it.
        self._rng = random.Random(settings.seed)
        self._closed = threading.Event()
        self._answered = False
        self._many = True
        self._limit_name = "max_tokens"
        self.retries = 0
        """Attempts that failed and were made again."""

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:
        """Take the name of the model that stands behind the colon."""
        if not words:
            raise UsageError("openai: names no model; write it like openai:MODEL, and the server as --base-url URL")
        return cls(words, settings)

    def generate(self, order: Order) -> Iterator[Reply]:
        """Yield the choices; where the server ignores ``n`` the rest is asked for one by one."""
        left = list(order.indices)
        while left:
            wanted = len(left) if self._many else 1
            answer = self._ask(order, left[:wanted])
            replies = self._replies(answer, order, left[:wanted])
            if len(replies) < wanted:
                self._many = False
            yield from replies
            left = left[len(replies) :]

    def close(self) -> None:
        """Close the connections; requests that are under way fail."""
        self._closed.set()
        self._client.close()

    def _body(self, order: Order, indices: list[int]) -> dict[str, Any]:
        prompt, decoding = order.prompt, order.decoding
        body: dict[str, Any] = {"model": self._model}
        if self._settings.style == "chat":
            body["messages"] = conversation(prompt)
        else:
            body["prompt"] = prompt.text
        if decoding.max_tokens is not None:
            body[self._limit_name] = decoding.max_tokens
        if decoding.temperature is not None:
            body["temperature"] = decoding.temperature
        if decoding.top_p is not None:
            body["top_p"] = decoding.top_p
        if decoding.stop:
            body["stop"] = list(decoding.stop[:MAX_STOPS])
        if len(indices) > 1:
            body["n"] = len(indices)
        body["seed"] = sample_seed(decoding.seed, prompt.problem_id, indices[0])
        return body | dict(self._settings.extra_body)

    def _ask(self, order: Order, indices: list[int]) -> _Answer:
        attempt = 0
        while True:
            attempt += 1
            body = self._body(order, indices)
            sent = json.dumps(body).encode("ascii")
            began = time.monotonic()
            try:
                found = self._send(sent, order)
            except _FailedError as failure:
                if self._closed.is_set():
                    raise ModelError("the run has ended") from None
                wait = waiting(attempt, failure.retry_after, self._rng, self._settings.first_wait_s)
                if attempt > self._settings.max_retries or wait is None:
                    raise ModelError(
                        f"{self._root} gave no answer in {attempt} attempt{'s' if attempt > 1 else ''}: {failure}"
                    ) from None
                self.retries += 1
                self._closed.wait(wait.seconds)
                continue
            if found is None:
                # It wants the limit by its other name; that was no failure.
                attempt -= 1
                continue
            self._answered = True
            digest = hashlib.blake2b(sent, digest_size=8).hexdigest()
            return _Answer(body=found, attempts=attempt, latency_s=time.monotonic() - began, digest=digest)

    def _send(self, sent: bytes, order: Order) -> dict[str, Any] | None:
        """Return what the server answered; None when the request should be made anew in other words."""
        deadline = time.monotonic() + self._settings.request_timeout_s
        try:
            with self._client.stream(
                "POST", self._root + self._path, content=sent, headers={"content-type": "application/json"}
            ) as response:
                text = bytearray()
                for piece in response.iter_bytes():
                    text += piece
                    if time.monotonic() > deadline:
                        raise _FailedError(f"the answer was not complete after {self._settings.request_timeout_s:g} s")
                    if len(text) > MAX_ANSWER_BYTES:
                        raise _FailedError(f"the answer is longer than {MAX_ANSWER_BYTES >> 20} MiB")
        except httpx.TimeoutException:
            raise _FailedError(f"no answer within {self._settings.request_timeout_s:g} s") from None
        except httpx.ConnectError as error:
            if not self._answered:
                raise RefusedError(
                    f"cannot reach {self._root}: {error}; is the server up, and --base-url right?"
                ) from None
            raise _FailedError(f"cannot connect: {error}") from None
        except httpx.HTTPError as error:
            raise _FailedError(f"the connection broke: {error or type(error).__name__}") from None
        except RuntimeError:
            # The client was closed by another thread.
            raise _FailedError("the client is closed") from None
        if response.status_code != httpx.codes.OK:
            self._failed(response, bytes(text), order, sent)
            return None
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            raise _FailedError(f"the answer is no JSON: {_shown(bytes(text))}") from None
        if not isinstance(body, dict) or not isinstance(body.get("choices"), list) or not body["choices"]:
            raise _FailedError(f"the answer has no choices: {_shown(bytes(text))}")
        return body

    def _failed(self, response: httpx.Response, text: bytes, order: Order, sent: bytes) -> None:
        """Raise what a status other than 200 means; return when the request should be made in other words."""
        status, said = response.status_code, _message(text)
        what = f"{status}: {said}" if said else str(status)
        if is_again(status):
            raise _FailedError(what, response.headers.get("retry-after"))
        if status in (400, 413, 422) and _is_too_long(said):
            raise TooLongError(
                f"problem {order.prompt.problem_id!r}: prompt and answer do not fit into the model's context "
                f"({what}); lower --max-tokens"
            )
        if status == 400 and "max_completion_tokens" in said and b'"max_tokens"' in sent:
            self._limit_name = "max_completion_tokens"
            return
        if status in (401, 403):
            name = self._settings.api_key_name
            key = f"the key in {name}" if self._settings.api_key else f"a request without a key ({name} is not set)"
            raise RefusedError(f"{self._root} refuses {key} ({what})")
        if status == 404:
            raise RefusedError(f"{self._root} knows no model {self._model!r}{self._known()} ({what})")
        raise RefusedError(f"{self._root} refuses the request ({what})")

    def _known(self) -> str:
        """Return which models the server has, as far as it tells."""
        try:
            found = self._client.get(self._root + "/models", timeout=_CONNECT_S).json()
            names = [str(each["id"]) for each in found["data"]]
        except (httpx.HTTPError, ValueError, TypeError, KeyError, RuntimeError):
            return ""
        listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return nearest(self._model, names) or (f"; it has {listed}" if names else "")

    def _replies(self, answer: _Answer, order: Order, indices: list[int]) -> list[Reply]:
        body = answer.body
        usage: object = body.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        seed = sample_seed(order.decoding.seed, order.prompt.problem_id, indices[0])
        replies: list[Reply] = []
        for index, choice in zip(indices, body["choices"], strict=False):
            said = _Said.of(choice)
            if said is None:
                raise ModelError(
                    f"{self._root} sent a choice that holds no text: {_shown(json.dumps(choice).encode())}"
                )
            # Usage is of the request, not of a sample.
            tokens = usage if not replies else {}
            replies.append(
                Reply(
                    key=SampleKey(problem_id=order.prompt.problem_id, sample_index=index),
                    text=said.text,
                    reasoning=said.reasoning,
                    finish_reason=said.finish_reason,
                    seed=seed,
                    prompt_tokens=_count(tokens.get("prompt_tokens")),
                    completion_tokens=_count(tokens.get("completion_tokens")),
                    reasoning_tokens=_count(_in(tokens, "completion_tokens_details", "reasoning_tokens")),
                    cached_tokens=_count(_in(tokens, "prompt_tokens_details", "cached_tokens")),
                    latency_s=answer.latency_s,
                    attempts=answer.attempts,
                    request=answer.digest,
                    server_model=_word(body.get("model")),
                    fingerprint=_word(body.get("system_fingerprint")),
                )
            )
        return replies


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a choice says, of either endpoint."""

    text: str
    reasoning: str
    finish_reason: str

    @classmethod
    def of(cls, choice: object) -> _Said | None:
        """Read a choice; None when it is none."""
        if not isinstance(choice, dict):
            return None
        finish = _word(choice.get("finish_reason"))
        message = choice.get("message")
        if isinstance(message, dict):
            # A model that only thought, or only called a tool, has said nothing.
            text = message.get("content") or ""
            reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
            if isinstance(text, str) and isinstance(reasoning, str):
                return cls(text=text, reasoning=reasoning, finish_reason=finish)
            return None
        text = choice.get("text")
        return cls(text=text, reasoning="", finish_reason=finish) if isinstance(text, str) else None


def _is_too_long(said: str) -> bool:
    words = said.lower()
    return "context" in words and any(each in words for each in ("length", "maximum", "window", "exceed", "too long"))


def _message(text: bytes) -> str:
    """Return what an error's body says, in one bounded line."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return _shown(text) if text.strip() else ""
    found: object = body
    while isinstance(found, dict):
        found = next((found[name] for name in ("error", "message", "detail") if name in found), None)
    return _shown((found if isinstance(found, str) else json.dumps(body)).encode("utf-8", "replace"))


def _shown(text: bytes) -> str:
    line = " ".join(text[: 4 * _SHOWN].decode("utf-8", "replace").split())
    line = "".join(each if each.isprintable() else "?" for each in line)
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."


def _in(tokens: dict[str, Any], outer: str, inner: str) -> object:
    found = tokens.get(outer)
    return found.get(inner) if isinstance(found, dict) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _word(value: object) -> str:
    return value[:_SHOWN] if isinstance(value, str) else ""
