"""Prompts, the settings of a generation, and the replies of a model."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from passcurve.types.samples import SampleKey


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as a model gets it: a text to continue, or a conversation to answer."""

    problem_id: str
    text: str = ""
    """Text to continue, or to fill a gap in; empty when there are messages."""
    messages: tuple[Message, ...] = ()
    stub: str
    """The problem's own prompt, which a completion continues."""
    suffix: str = ""
    """The problem's own suffix, which follows the completion."""
    language: str = ""
    """The language of the program; empty for Python."""
    reference: str | None = None
    """The reference solution, only for back ends that are not models."""


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of sampling; None leaves a setting to the model."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    """Stop words; a completion ends before the first of them."""
    seed: int = 0
    """The seed of a sample follows from this one, its problem and its index."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sample from a back end; None stands for what the back end does not report."""

    key: SampleKey
    text: str
    """Never trimmed."""
    form: Literal["completion", "solution"] = "completion"
    reasoning: str = ""
    """The reasoning of the model, where the server returns it separately."""
    finish_reason: str = ""
    """``length`` when the model was cut off."""
    seed: int | None = None
    prompt_tokens: int | None = None
    """Tokens of the whole request, as the next three; only its first sample has them."""
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    latency_s: float = 0.0
    """Seconds from sending the successful request to the end of its reply."""
    attempts: int = 1
    choice: int = 0
    """Its number among the samples of its request; facts about a request count with choice 0."""
    request: str = ""
    """Digest of the request."""
    server_model: str = ""
    fingerprint: str = ""


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting that could change the texts of a model; a run directory holds completions of one generation."""

    version: str
    benchmark: str
    benchmark_digest: str
    model: str
    """As the user named it: ``openai:NAME``."""
    identity: dict[str, str]
    """Facts of the back end that could change a sample: endpoint, digest of a file; not the address of a server."""
    prompt: str
    prompt_digest: str
    """Digest of all prompts as they are sent."""
    decoding: Decoding


class GenerationProgress(
    msgspec.Struct, frozen=True, kw_only=True, rename={"repeated_problems": "several", "uniform_problems": "alike"}
):
    """The progress of a generation; ``rename`` has the names of its fields in JSON."""

    planned: int
    stored: int
    """Samples of this session and of earlier ones."""
    fresh: int
    """Samples of this session."""
    truncated: int
    """Samples that reached the limit of tokens."""
    filtered: int
    """Samples that the server's content filter ended."""
    retried: int
    """Attempts that failed and were made again."""
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    uncounted: int
    """Requests whose tokens the server did not report."""
    latency_s: float
    seconds: float
    """Duration of this session, until the latest reply."""
    fresh_tokens: int
    """Completion tokens of this session."""
    server_models: dict[str, int]
    """Samples of each model that the server named, the most frequent one first."""
    temperature: float | None
    repeated_problems: int
    """Problems with two samples or more."""
    uniform_problems: int
    """Those of them whose samples are all one text: there n is 1 in effect."""
    failures: tuple[str, ...]
    """Reasons why samples are missing, each once."""
    ended_by: str
    """The error that ended the generation early; empty when none did."""
    exit_code: int
    """Exit code of that error; 0 when there is none."""
    choices: int = 0
    """Choices that follow another of the same request."""
    equal_choices: int = 0
    """Those of them that are the same text as the one before."""
    error_rate: float = 0.0
    """Share of this session's attempts that failed."""


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prices of a model for a million tokens, as its user states them."""

    input: float
    output: float
    """Price of output, which includes reasoning."""
    cached: float | None = None
    """Price of input from the cache of the server; None: that of other input."""
    currency: str = "USD"

    def __post_init__(self) -> None:
        """Raise ValueError for what is no price."""
        for name in ("input", "output", "cached"):
            price = getattr(self, name)
            if price is not None and not 0.0 <= price < math.inf:
                raise ValueError(f"`{name}` must be a price of 0 or more, got {price:g}")
