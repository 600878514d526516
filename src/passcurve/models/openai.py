"""The back end ``openai:MODEL``: any OpenAI-compatible server, completions and chat."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Self

import msgspec

from passcurve.errors import ModelError, UsageError
from passcurve.models.backend import Remote, Settings, conversation, sample_seed
from passcurve.models.http import Answer, Question, Server
from passcurve.models.sanitize import count, inside, shown, word
from passcurve.types import Reply, SampleKey, SampleRequest

MAX_STOPS = 4
"""Servers take no more; all of them are applied again on our side."""


class OpenAI:
    """Asks a server for as many choices as it gives at once."""

    draws = True
    tempered = True
    options: tuple[str, ...] = ()
    remote = Remote(base_url="http://127.0.0.1:8000/v1", api_key_name="OPENAI_API_KEY")

    def __init__(self, model: str, settings: Settings) -> None:
        self._model = model
        self._settings = settings
        self._path = "/chat/completions" if settings.style == "chat" else "/completions"
        headers = {"authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        self._server = Server(model, settings, headers)
        self.identity = {"base_url": self._server.root, "endpoint": self._path.lstrip("/")}
        if settings.extra_body:
            self.identity["extra_body"] = json.dumps(settings.extra_body, sort_keys=True)
        self._many = True
        self._limit_name = "max_tokens"

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:
        """Take the name of the model that stands behind the colon."""
        if not words:
            raise UsageError("openai: names no model; write it like openai:MODEL, and the server as --base-url URL")
        return cls(words, settings)

    def generate(self, order: SampleRequest) -> Iterator[Reply]:
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
        self._server.close()

    def _body(self, order: SampleRequest, indices: list[int]) -> dict[str, Any]:
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

    def _ask(self, order: SampleRequest, indices: list[int]) -> Answer:
        prompt, decoding = order.prompt, order.decoding
        read = len(prompt.text) + sum(len(message.content) for message in prompt.messages)
        return self._server.ask(
            Question(
                path=self._path,
                body=lambda: self._body(order, indices),
                problem_id=prompt.problem_id,
                # Of code a token has about three letters.
                tokens=read // 3 + len(indices) * (decoding.max_tokens or 0),
                spent=_spent,
                lacks=lambda body: "" if isinstance(body.get("choices"), list) and body["choices"] else "choices",
                reworded=self._reworded,
            )
        )

    def _reworded(self, said: str, sent: bytes) -> bool:
        """Take the limit of tokens by its other name, where the server wants that."""
        if "max_completion_tokens" not in said or b'"max_tokens"' not in sent:
            return False
        self._limit_name = "max_completion_tokens"
        return True

    def _replies(self, answer: Answer, order: SampleRequest, indices: list[int]) -> list[Reply]:
        body = answer.body
        usage: object = body.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        seed = sample_seed(order.decoding.seed, order.prompt.problem_id, indices[0])
        replies: list[Reply] = []
        for index, choice in zip(indices, body["choices"], strict=False):
            said = _Said.of(choice)
            if said is None:
                raise ModelError(
                    f"{self._server.root} sent a choice that holds no text: {shown(json.dumps(choice).encode())}"
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
                    prompt_tokens=count(tokens.get("prompt_tokens")),
                    completion_tokens=count(tokens.get("completion_tokens")),
                    reasoning_tokens=count(inside(tokens, "completion_tokens_details", "reasoning_tokens")),
                    cached_tokens=count(inside(tokens, "prompt_tokens_details", "cached_tokens")),
                    latency_s=answer.latency_s,
                    attempts=answer.attempts,
                    choice=len(replies),
                    request=answer.digest,
                    server_model=word(body.get("model")),
                    fingerprint=word(body.get("system_fingerprint")),
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
        finish = word(choice.get("finish_reason"))
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


def _spent(body: dict[str, Any]) -> int | None:
    usage: object = body.get("usage")
    if not isinstance(usage, dict):
        return None
    read, written = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    return None if read is None and written is None else (read or 0) + (written or 0)
