"""What every back end is: built from the words behind its name, asked for samples, closed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Literal, Protocol, Self, runtime_checkable

import msgspec

from passcurve.types import Prompt, Reply, SampleRequest

Style = Literal["base", "chat"]
"""A prompt that the model continues, or a conversation that it answers."""


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """Where a back end's server is when nobody says where, and which variable holds its key."""

    base_url: str
    api_key_name: str
    styles: tuple[Style, ...] = ("base", "chat")
    """What it can be shown."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a user may say of a back end; none of it is stored but what the back end tells as its identity."""

    base_url: str = ""
    """Root of a server, ``/v1`` included."""
    api_key: str = ""
    api_key_name: str = ""
    """The variable that the key was taken from, for messages."""
    request_timeout_s: float = 600.0
    """Of one request, from sending it to the last byte of its answer."""
    max_retries: int = 6
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    """Read and written together."""
    first_wait_s: float = 0.5
    """Before a request is sent again; doubled each time."""
    extra_body: Mapping[str, object] = {}
    """Fields that are sent with each request as they stand."""
    concurrency: int = 8
    """How many requests may be open at once."""
    style: Style = "base"
    seed: int = 0
    options: Mapping[str, str] = {}
    """What is said to one kind of back end only, by the names that it has in ``options``."""


class Backend(Protocol):
    """Writes samples; ``generate`` is called by several threads at once."""

    draws: bool
    """Whether temperature, top-p and the like mean anything to it."""
    tempered: bool
    """Whether a temperature does, if one is given."""
    remote: Remote | None
    """Set where a server is asked."""
    options: tuple[str, ...]
    """What ``--model-option`` may set."""
    identity: dict[str, str]
    """What of it could change a sample, in words."""

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:
        """Build one from what stands behind the colon.

        Raises UsageError for words that it does not understand, DataError for a file that it cannot read.
        """
        ...

    def generate(self, order: SampleRequest) -> Iterator[Reply]:
        """Yield a reply for each sample of an order, as they come.

        Raises RefusedError when it would be refused again, TooLongError when the prompt does not fit, ModelError when
        there is no reply after all attempts; what was yielded before counts.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds; calls that are under way fail."""
        ...


@runtime_checkable
class Conversing(Backend, Protocol):
    """One that keeps as many samples open by itself as requests may be: a single thread calls either method."""

    def converse(self, orders: Iterator[SampleRequest | None]) -> Iterator[Reply]:
        """Yield replies to orders of one sample each, as they come; take an order when there is room for it.

        None is no order: there may be one soon.

        Raises ModelError when a sample has no reply, RefusedError when others would not have one either.  Called again,
        it goes on with the samples that are open, if any can be had, and with the orders that are left.
        """
        ...


def sample_seed(seed: int, problem_id: str, index: int) -> int:
    """Return the seed of one sample, from 0 to 2**31 - 1: the same for the same run seed, problem and index."""
    text = f"{seed}\0{problem_id}\0{index}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big") >> 1


def conversation(prompt: Prompt) -> list[dict[str, str]]:
    """Return the messages of a prompt as servers and programs take them."""
    return [{"role": message.role, "content": message.content} for message in prompt.messages]
