"""Prompts as token ids, for back ends that hold the model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from passcurve.errors import TooLongError, UsageError
from passcurve.models.backend import chat_messages
from passcurve.types import Prompt


class PromptTokenizer:
    """Encodes prompts; conversations go through the model's chat template."""

    def __init__(self, tokenizer: Any, template_arguments: Mapping[str, Any]) -> None:
        self.tokenizer = tokenizer
        self._template_arguments = template_arguments

    def encode(self, prompt: Prompt) -> list[int]:
        """Return the token ids of a prompt."""
        if not prompt.messages:
            return list(self.tokenizer(prompt.text)["input_ids"])
        return list(
            self.tokenizer.apply_chat_template(
                chat_messages(prompt),
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                **self._template_arguments,
            )["input_ids"]
        )

    def template_digest(self) -> str:
        """Return a digest of the chat template and its arguments."""
        template = repr((self.tokenizer.chat_template, sorted(self._template_arguments.items())))
        return digest(template.encode("utf-8", "surrogatepass"))


def split_extra_body(extra_body: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of the chat template, and all other fields; raises UsageError for a wrong type."""
    extra = dict(extra_body)
    arguments = extra.pop("chat_template_kwargs", {})
    if not isinstance(arguments, dict):
        raise UsageError(f"--extra-body: chat_template_kwargs must be an object, got {arguments!r}")
    return arguments, extra


def check_context(prompt: Prompt, needed: int, context_tokens: int | None) -> None:
    """Raise TooLongError where prompt and answer exceed the model's context; None is an unlimited context."""
    if context_tokens is not None and needed > context_tokens:
        raise TooLongError(
            f"problem {prompt.problem_id!r}: prompt and answer do not fit into the model's context "
            f"(up to {needed} tokens of {context_tokens}); lower --max-tokens"
        )


def digest(text: bytes) -> str:
    """Return a short digest."""
    return hashlib.blake2b(text, digest_size=8).hexdigest()
