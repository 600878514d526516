"""The back end ``anthropic:MODEL``: a server of Anthropic's Messages API, which answers conversations only.

The API gives one sample per request and takes no seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Self

from passcurve.errors import UsageError
from passcurve.models.backend import SampleRequest, ServerDefaults, Settings, chat_messages, with_extra_body
from passcurve.models.http import ApiRequest, ApiResponse, ServerClient
from passcurve.models.sanitize import short_text, token_count
from passcurve.types import Reply, SampleKey

API_VERSION = "2023-06-01"
"""Version of the API, sent with each request."""
_MAX_TOKENS = 4096
"""Limit where the user sets none; the API requires one."""
_PROMPT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""The reasons by the names that other servers use; an unknown reason is kept."""


class Anthropic:
    """Requests one message at a time."""

    supports_sampling = True
    supports_temperature = True
    options: tuple[str, ...] = ()
    server_defaults = ServerDefaults(
        base_url="https://api.anthropic.com/v1", api_key_name="ANTHROPIC_API_KEY", styles=("chat",)
    )

    def __init__(self, model: str, settings: Settings) -> None:
        self._model, self._settings = model, settings
        key = {"x-api-key": settings.server.api_key} if settings.server.api_key else {}
        self._server = ServerClient(model, settings, {"anthropic-version": API_VERSION} | key)
        self.identity = {"endpoint": "messages", "anthropic_version": API_VERSION}
        if settings.extra_body:
            self.identity["extra_body"] = json.dumps(settings.extra_body, sort_keys=True)

    @classmethod
    def open(cls, argument: str, settings: Settings) -> Self:
        """Take the name of the model behind the colon."""
        if not argument:
            raise UsageError("anthropic: names no model; write it like anthropic:MODEL")
        return cls(argument, settings)

    def generate(self, request: SampleRequest) -> Iterator[Reply]:
        """Yield a message for each sample."""
        for index in request.indices:
            response = self._server.send(
                ApiRequest(
                    path="/messages",
                    body=lambda: self._body(request),
                    problem_id=request.prompt.problem_id,
                    estimated_tokens=sum(len(message.content) for message in request.prompt.messages) // 3
                    + (request.decoding.max_tokens or _MAX_TOKENS),
                    used_tokens=_used_tokens,
                    missing_field=_missing_field,
                )
            )
            yield _reply(response, SampleKey(problem_id=request.prompt.problem_id, sample_index=index))

    def close(self) -> None:
        """Close the connections; open requests fail."""
        self._server.close()

    def _body(self, request: SampleRequest) -> dict[str, Any]:
        decoding, messages = request.decoding, chat_messages(request.prompt)
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": decoding.max_tokens or _MAX_TOKENS,
            "messages": [message for message in messages if message["role"] != "system"],
        }
        # This API has a field of its own for system messages.
        if system := "\n\n".join(message["content"] for message in messages if message["role"] == "system"):
            body["system"] = system
        if decoding.temperature is not None:
            body["temperature"] = decoding.temperature
        if decoding.top_p is not None:
            body["top_p"] = decoding.top_p
        if decoding.stop:
            body["stop_sequences"] = list(decoding.stop)
        return with_extra_body(body, self._settings.extra_body)


def _reply(response: ApiResponse, key: SampleKey) -> Reply:
    body = response.body
    usage = _usage(body)
    read = [token_count(usage.get(name)) for name in _PROMPT_COUNTS]
    reason = short_text(body.get("stop_reason"))
    return Reply(
        key=key,
        text=_join_blocks(body, "text"),
        reasoning=_join_blocks(body, "thinking"),
        finish_reason=_FINISH.get(reason, reason),
        # The server counts tokens that come from its cache or go into it separately.
        prompt_tokens=None if read[0] is None else sum(number or 0 for number in read),
        completion_tokens=token_count(usage.get("output_tokens")),
        cached_tokens=read[1],
        latency_s=response.latency_s,
        attempts=response.attempts,
        request=response.digest,
        server_model=short_text(body.get("model")),
    )


def _join_blocks(body: dict[str, Any], kind: str) -> str:
    """Return the texts of all blocks of a kind; empty where there are none."""
    blocks = [block for block in body["content"] if isinstance(block, dict) and block.get("type") == kind]
    return "".join(text for block in blocks if isinstance(text := block.get(kind), str))


def _missing_field(body: dict[str, Any]) -> str:
    """Return what a response lacks to be an answer; empty where it is one."""
    blocks = body.get("content")
    if not isinstance(blocks, list):
        return "content"
    # A block of another kind, as the use of a tool, is an answer without a text.
    contents = [block for block in blocks if not isinstance(block, dict) or block.get(str(block.get("type"))) != ""]
    # Nothing at all, and no word on why it ended.
    return "" if contents or short_text(body.get("stop_reason")) else "content or stop_reason"


def _usage(body: dict[str, Any]) -> dict[str, Any]:
    usage: object = body.get("usage")
    return usage if isinstance(usage, dict) else {}


def _used_tokens(body: dict[str, Any]) -> int | None:
    usage = _usage(body)
    read, written = token_count(usage.get("input_tokens")), token_count(usage.get("output_tokens"))
    return None if read is None and written is None else (read or 0) + (written or 0)
