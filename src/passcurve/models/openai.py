"""The back end ``openai:MODEL``: any OpenAI-compatible server, completions and chat."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import msgspec

from passcurve.errors import ModelError, UsageError
from passcurve.models.backend import (
    SampleRequest,
    ServerDefaults,
    Settings,
    chat_messages,
    sample_seed,
    with_extra_body,
)
from passcurve.models.http import ApiRequest, ApiResponse, ServerClient
from passcurve.models.sanitize import nested_field, one_line, short_text, token_count
from passcurve.types import Reply, SampleKey

MAX_STOPS = 4
"""Largest number of stop words that servers take; all are applied again on our side."""
_UNFINISHED = frozenset({"abort", "error", "insufficient_system_resource", "network_error"})
"""Values of ``finish_reason`` with which a server says that it broke off: the text is no answer of the model."""
_CUT_OFF = frozenset({"max_tokens", "model_length"})
"""Other values for a text that ends at a limit: of gateways, and of Mistral where the limit is the context."""
_SAID = ("content", "reasoning_content", "reasoning", "tool_calls", "function_call", "refusal")
"""Fields of a message with something that the model said."""


class OpenAI:
    """Requests as many choices at once as the server gives."""

    supports_sampling = True
    supports_temperature = True
    options: tuple[str, ...] = ()
    server_defaults = ServerDefaults(base_url="http://127.0.0.1:8000/v1", api_key_name="OPENAI_API_KEY")

    def __init__(self, model: str, settings: Settings) -> None:
        self._model = model
        self._settings = settings
        self._path = "/chat/completions" if settings.style == "chat" else "/completions"
        key = settings.server.api_key
        self._server = ServerClient(model, settings, {"authorization": f"Bearer {key}"} if key else {})
        self.identity = {"endpoint": self._path.lstrip("/")}
        if settings.extra_body:
            self.identity["extra_body"] = json.dumps(settings.extra_body, sort_keys=True)
        self._takes_n = True
        self._limit_name = "max_tokens"

    @classmethod
    def open(cls, argument: str, settings: Settings) -> Self:
        """Take the name of the model behind the colon."""
        if not argument:
            raise UsageError("openai: names no model; write it like openai:MODEL, and the server as --base-url URL")
        if settings.extra_body.get("n") not in (None, 1):
            raise UsageError("--extra-body: n is what --per-request says; leave it out")
        return cls(argument, settings)

    def generate(self, request: SampleRequest) -> Iterator[Reply]:
        """Yield the choices; where the server ignores ``n`` request the rest one by one."""
        indices = list(request.indices)
        while indices:
            count = len(indices) if self._takes_n else 1
            response = self._send(request, indices[:count])
            choices = response.body["choices"]
            if len(choices) < count:
                self._takes_n = False
            # Choices that the server has not finished are requested again.
            finished = [choice for choice in choices if not _is_unfinished(choice)][:count]
            parsed = [(choice, _Choice.parse(choice)) for choice in finished]
            replies = self._replies(response, request, indices, [one for _, one in parsed if one is not None])
            yield from replies
            # Only now: the other choices are paid for.
            for choice, one in parsed:
                if one is None:
                    line = one_line(json.dumps(choice).encode())
                    raise ModelError(f"{self._server.root} sent a choice without a text: {line}")
            indices = indices[len(replies) :]

    def close(self) -> None:
        """Close the connections; open requests fail."""
        self._server.close()

    def _body(self, request: SampleRequest, indices: list[int]) -> dict[str, Any]:
        prompt, decoding = request.prompt, request.decoding
        body: dict[str, Any] = {"model": self._model}
        if self._settings.style == "chat":
            body["messages"] = chat_messages(prompt)
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
        return with_extra_body(body, self._settings.extra_body)

    def _seed(self, request: SampleRequest, index: int) -> int | None:
        """Return the seed that a request is sent with, which the user may have set or taken away."""
        if "seed" not in self._settings.extra_body:
            return sample_seed(request.decoding.seed, request.prompt.problem_id, index)
        seed = self._settings.extra_body["seed"]
        return seed if type(seed) is int else None

    def _send(self, request: SampleRequest, indices: list[int]) -> ApiResponse:
        prompt, decoding = request.prompt, request.decoding
        prompt_chars = len(prompt.text) + sum(len(message.content) for message in prompt.messages)
        return self._server.send(
            ApiRequest(
                path=self._path,
                body=lambda: self._body(request, indices),
                problem_id=prompt.problem_id,
                # A token of code has about three characters.
                estimated_tokens=prompt_chars // 3 + len(indices) * (decoding.max_tokens or 0),
                used_tokens=_used_tokens,
                missing_field=_missing_field,
                adapt=self._rename_limit,
            )
        )

    def _rename_limit(self, message: str, sent: bytes) -> bool:
        """Use the other name of the token limit where the server asks for it; return True if that changes the body."""
        if "max_completion_tokens" not in message or b'"max_tokens"' not in sent:
            return False
        if "max_tokens" in self._settings.extra_body:
            return False
        self._limit_name = "max_completion_tokens"
        return True

    def _replies(
        self, response: ApiResponse, request: SampleRequest, indices: list[int], choices: list[_Choice]
    ) -> list[Reply]:
        body, usage = response.body, _usage(response.body)
        seed = self._seed(request, indices[0])
        replies: list[Reply] = []
        for index, choice in zip(indices, choices, strict=False):
            # The server counts tokens per request, not per sample.
            tokens = _Tokens.parse(usage if not replies else {})
            replies.append(
                Reply(
                    key=SampleKey(problem_id=request.prompt.problem_id, sample_index=index),
                    text=choice.text,
                    reasoning=choice.reasoning,
                    finish_reason=choice.finish_reason,
                    seed=seed,
                    prompt_tokens=tokens.read,
                    completion_tokens=tokens.written,
                    reasoning_tokens=tokens.reasoning,
                    cached_tokens=tokens.cached,
                    latency_s=response.latency_s,
                    attempts=response.attempts,
                    choice=len(replies),
                    request=response.digest,
                    server_model=short_text(body.get("model")),
                    fingerprint=short_text(body.get("system_fingerprint")),
                )
            )
        return replies


class _Tokens(NamedTuple):
    """The tokens of a request, as far as a server tells."""

    read: int | None
    written: int | None
    reasoning: int | None
    cached: int | None

    @classmethod
    def parse(cls, usage: dict[str, Any]) -> _Tokens:
        """Return the counts of a response in one sense, whatever a server counts apart."""
        read = token_count(usage.get("prompt_tokens"))
        written = token_count(usage.get("completion_tokens"))
        cached = token_count(nested_field(usage, "prompt_tokens_details", "cached_tokens"))
        if cached is None:
            cached = token_count(usage.get("prompt_cache_hit_tokens"))
        if read is not None and cached is not None and cached > read:
            read += cached
        if not read:
            # No prompt is empty: a server that says so has not counted.
            read = cached = None
        reasoning = token_count(nested_field(usage, "completion_tokens_details", "reasoning_tokens"))
        total = token_count(usage.get("total_tokens"))
        if read is None or written is None or total is None:
            return cls(read, written, reasoning, cached)
        # Thinking may be counted in the sum alone.  Cached tokens may be, too: then its own count tells.
        if not cached or total == read + written + (reasoning or 0):
            written = max(written, total - read)
        return cls(read, written, reasoning, cached)

    @property
    def used(self) -> int | None:
        """All tokens, as limits of tokens count them; None where the server told none."""
        return None if self.read is None and self.written is None else (self.read or 0) + (self.written or 0)


class _Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a choice, of either endpoint."""

    text: str
    reasoning: str
    finish_reason: str

    @classmethod
    def parse(cls, choice: object) -> _Choice | None:
        """Return the parts of a choice, or None where it has no text."""
        if not isinstance(choice, dict):
            return None
        finish = short_text(choice.get("finish_reason"))
        finish = "length" if finish.lower() in _CUT_OFF else finish
        message = choice.get("message")
        if isinstance(message, dict):
            # The content is null where the model only reasoned or only called a tool.
            text = _join_parts(message.get("content") or "")
            reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
            if isinstance(text, str):
                thinking = reasoning if isinstance(reasoning, str) else ""
                return cls(text=text, reasoning=thinking, finish_reason=finish)
            return None
        text = choice.get("text")
        return cls(text=text, reasoning="", finish_reason=finish) if isinstance(text, str) else None


def _join_parts(content: object) -> object:
    """Return a content that is a list of parts as the text of those that are text."""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return content
    texts = [part.get("text") for part in content if part.get("type") in ("text", "output_text")]
    return "".join(text for text in texts if isinstance(text, str))


def _missing_field(body: dict[str, Any]) -> str:
    """Return what a response lacks to have an answer; empty where it has one."""
    choices: object = body.get("choices")
    if not isinstance(choices, list) or not choices:
        return "choices"
    return "choice that the server has finished" if all(map(_is_unfinished, choices)) else ""


def _is_unfinished(choice: object) -> bool:
    """Tell whether the server says that it failed before the model had ended, which is no fault of the model."""
    if not isinstance(choice, dict):
        return False
    finish, message = short_text(choice.get("finish_reason")).lower(), choice.get("message")
    if finish in _UNFINISHED or choice.get("error"):
        return True
    is_empty = not any(map(message.get, _SAID)) if isinstance(message, dict) else choice.get("text") == ""
    # Nothing at all, and no word on why it ended.
    return is_empty and not finish


def _usage(body: dict[str, Any]) -> dict[str, Any]:
    usage: object = body.get("usage")
    return usage if isinstance(usage, dict) else {}


def _used_tokens(body: dict[str, Any]) -> int | None:
    return _Tokens.parse(_usage(body)).used
