"""The interface of every back end: opened by an argument, asked for samples, closed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, Self, runtime_checkable

import msgspec

from passcurve.config import proxy_variables
from passcurve.types import Decoding, Prompt, Reply

Style = Literal["base", "chat"]
"""A prompt that the model continues, or a conversation that it answers."""


_KEY_IN_QUERY = re.compile(r"([?&][^=&#]*(?:key|token|secret|sig|auth|password|code)[^=&#]*=)[^&#]+", re.IGNORECASE)
"""A field of an address that gateways take a key from, as ``subscription-key=...``, up to its value."""


class ServerDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Address and key variable of a back end's server where the user names none."""

    base_url: str
    api_key_name: str
    styles: tuple[Style, ...] = ("base", "chat")
    """Styles of prompts that the server accepts."""


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's settings for a server."""

    base_url: str = ""
    """Root of the server, ``/v1`` included."""
    api_key: str = ""
    api_key_name: str = ""
    """Environment variable that held the key, for messages."""
    max_retries: int = 6
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    """Prompt tokens and completion tokens together."""
    first_wait_s: float = 0.5
    """Delay before the first retry; doubled for each further one."""


class SampleRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a back end: some samples of one problem."""

    prompt: Prompt
    decoding: Decoding
    indices: tuple[int, ...]
    """The numbers of the samples, from 0."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's settings for a back end."""

    server: ServerSettings = ServerSettings()
    request_timeout_s: float = 600.0
    """Time limit of one request, up to the last byte of the response."""
    extra_body: Mapping[str, object] = {}
    """Fields to send with each request, unchanged."""
    concurrency: int = 8
    """Largest number of open requests."""
    style: Style = "base"
    seed: int = 0
    options: Mapping[str, str] = {}
    """Values of ``--model-option``, by the names that the back end lists in ``options``."""

    def to_record(self) -> dict[str, object]:
        """Return all settings but the key, as a run directory stores them."""
        own: dict[str, object] = msgspec.to_builtins(self)
        server: dict[str, object] = msgspec.to_builtins(self.server)
        del own["server"], server["api_key"]
        server["base_url"] = public_address(self.server.base_url)
        return own | server


def public_address(url: str) -> str:
    """Return an address without the name, the password and the keys that may stand in it."""
    scheme, mark, rest = url.partition("://")
    host = re.split("[/?#]", rest, maxsplit=1)[0]
    path = _KEY_IN_QUERY.sub(r"\1...", rest.removeprefix(host))
    return f"{scheme}{mark}{host.rpartition('@')[2]}{path}" if mark else url


def describe_proxies() -> str:
    """Return what in the environment may keep requests from their server, for a message."""
    names = proxy_variables()
    return f"  (the environment sets {', '.join(names)})" if names else ""


class Backend(Protocol):
    """Writes samples; several threads call ``generate`` at once."""

    supports_sampling: bool
    """True if temperature, top-p and the like have a meaning for this back end."""
    supports_temperature: bool
    """True if a temperature has a meaning, where the user sets one."""
    server_defaults: ServerDefaults | None
    """Set where the back end talks to a server."""
    options: tuple[str, ...]
    """Names that ``--model-option`` may set."""
    identity: dict[str, str]
    """Everything of the back end that could change a sample; the address of a server is no part of it."""

    @classmethod
    def open(cls, argument: str, settings: Settings) -> Self:
        """Build a back end from the text behind the colon.

        Raises UsageError for an argument that it does not understand, DataError for a file that it cannot read.
        """
        ...

    def generate(self, request: SampleRequest) -> Iterator[Reply]:
        """Yield a reply for each requested sample, as they come.

        Raises RefusedError when a retry would be refused too (PromptError where another prompt may be
        answered), TooLongError when the prompt does not fit, ModelError when there is no reply after all attempts
        (UnavailableError where no other request would have one now).
        Replies yielded before the error are valid.
        """
        ...

    def close(self) -> None:
        """Release all resources; open calls fail."""
        ...


@runtime_checkable
class PipelinedBackend(Backend, Protocol):
    """A back end that keeps several requests open by itself; a single thread calls either method."""

    def generate_pipelined(self, requests: Iterator[SampleRequest | None]) -> Iterator[Reply]:
        """Yield replies to requests for one sample each, as they come; take the next request when there is room.

        None stands for "no request yet".

        Raises ModelError when a sample has no reply, RefusedError when the others would have none either.  Called
        again, it continues with the open samples, if any can be had, and with the remaining requests.
        """
        ...


@runtime_checkable
class FileBackend(Backend, Protocol):
    """A back end whose samples stand in a file."""

    path: Path


def sample_seed(seed: int, problem_id: str, index: int) -> int:
    """Return the seed of one sample, from 0 to 2**31 - 1: the same for the same run seed, problem and index."""
    text = f"{seed}\0{problem_id}\0{index}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big") >> 1


def chat_messages(prompt: Prompt) -> list[dict[str, str]]:
    """Return the messages of a prompt as servers and programs take them."""
    return [{"role": message.role, "content": message.content} for message in prompt.messages]


def with_extra_body(body: dict[str, Any], extra: Mapping[str, object]) -> dict[str, Any]:
    """Return the body of a request with the user's fields; a null there takes a field away that a server refuses."""
    return {name: value for name, value in (body | dict(extra)).items() if value is not None or name not in extra}
