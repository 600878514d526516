"""The back end ``anthropic:MODEL``: a server of Anthropic's Messages API, which answers conversations only.

It gives one sample for each request, and takes no seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Self

from passcurve.errors import UsageError
from passcurve.models.backend import Remote, Settings, conversation
from passcurve.models.http import Answer, Question, Server
from passcurve.models.sanitize import count, word
from passcurve.types import Reply, SampleKey, SampleRequest

VERSION = "2023-06-01"
"""Of the API; each request names it."""
_MAX_TOKENS = 4096
"""The API wants a limit."""
_READ = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
"""What the others call it; any other reason stands as it is."""


class Anthropic:
    """Asks for one message at a time."""

    draws = True
    tempered = True
    options: tuple[str, ...] = ()
    remote = Remote(base_url="https://api.anthropic.com/v1", api_key_name="ANTHROPIC_API_KEY", styles=("chat",))

    def __init__(self, model: str, settings: Settings) -> None:
        self._model, self._settings = model, settings
        key = {"x-api-key": settings.api_key} if settings.api_key else {}
        self._server = Server(model, settings, {"anthropic-version": VERSION} | key)
        self.identity = {"base_url": self._server.root, "endpoint": "messages", "anthropic_version": VERSION}
        if settings.extra_body:
            self.identity["extra_body"] = json.dumps(settings.extra_body, sort_keys=True)

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:
        """Take the name of the model that stands behind the colon."""
        if not words:
            raise UsageError("anthropic: names no model; write it like anthropic:MODEL")
        return cls(words, settings)

    def generate(self, order: SampleRequest) -> Iterator[Reply]:
        """Yield a message for each sample."""
        for index in order.indices:
            answer = self._server.ask(
                Question(
                    path="/messages",
                    body=lambda: self._body(order),
                    problem_id=order.prompt.problem_id,
                    tokens=sum(len(message.content) for message in order.prompt.messages) // 3
                    + (order.decoding.max_tokens or _MAX_TOKENS),
                    spent=_spent,
                    lacks=lambda body: "" if isinstance(body.get("content"), list) else "content",
                )
            )
            yield _reply(answer, SampleKey(problem_id=order.prompt.problem_id, sample_index=index))

    def close(self) -> None:
        """Close the connections; requests that are under way fail."""
        self._server.close()

    def _body(self, order: SampleRequest) -> dict[str, Any]:
        decoding, said = order.decoding, conversation(order.prompt)
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": decoding.max_tokens or _MAX_TOKENS,
            "messages": [each for each in said if each["role"] != "system"],
        }
        # What a conversation begins with has a field of its own here.
        if system := "\n\n".join(each["content"] for each in said if each["role"] == "system"):
            body["system"] = system
        if decoding.temperature is not None:
            body["temperature"] = decoding.temperature
        if decoding.top_p is not None:
            body["top_p"] = decoding.top_p
        if decoding.stop:
            body["stop_sequences"] = list(decoding.stop)
        return body | dict(self._settings.extra_body)


def _reply(answer: Answer, key: SampleKey) -> Reply:
    body = answer.body
    usage = _usage(body)
    read = [
        count(usage.get(name)) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    ]
    reason = word(body.get("stop_reason"))
    return Reply(
        key=key,
        text=_joined(body, "text"),
        reasoning=_joined(body, "thinking"),
        finish_reason=_FINISH.get(reason, reason),
        # Of what is read, the server counts apart what comes from its cache and what goes into it.
        prompt_tokens=None if read[0] is None else sum(each or 0 for each in read),
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=read[1],
        latency_s=answer.latency_s,
        attempts=answer.attempts,
        request=answer.digest,
        server_model=word(body.get("model")),
    )


def _joined(body: dict[str, Any], kind: str) -> str:
    """Return the texts of all blocks of a kind; a message may have none."""
    blocks = [each for each in body["content"] if isinstance(each, dict) and each.get("type") == kind]
    return "".join(text for each in blocks if isinstance(text := each.get(kind), str))


def _usage(body: dict[str, Any]) -> dict[str, Any]:
    usage: object = body.get("usage")
    return usage if isinstance(usage, dict) else {}


def _spent(body: dict[str, Any]) -> int | None:
    usage = _usage(body)
    read, written = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    return None if read is None and written is None else (read or 0) + (written or 0)
