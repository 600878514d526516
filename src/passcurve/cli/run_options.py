"""Options of ``run`` that say how a model writes samples, and the settings that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench import prompts
from passcurve.errors import UsageError
from passcurve.types import Decoding

if TYPE_CHECKING:
    from passcurve.models.backend import Backend, Settings

_DEFAULT_TEMPERATURE = "0.8"
_ENDPOINTS = ("auto", "completions", "chat")


class SamplingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that say how many samples are drawn, and how."""

    n: Annotated[
        int, typer.Option("-n", "--samples", min=1, help="Samples of each problem; more than before tops up.")
    ] = 20
    temperature: Annotated[
        Optional[str], typer.Option(help="0.8 by default; several, as in 0.2,0.8, give a run each.")
    ] = None
    top_p: Annotated[Optional[float], typer.Option(min=0.0, max=1.0, help="Nucleus sampling; not sent by default.")] = (
        None
    )
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of a completion.")] = 512
    stop: Annotated[
        list[str], typer.Option(help="A text before which a completion ends; may be given more than once.")
    ] = []
    seed: Annotated[int, typer.Option(help="From which the seed of each sample follows.")] = 0

    def temperatures(self, model: str, backend_class: type[Backend]) -> tuple[float | None, ...]:
        """Return one temperature for each run, None where the back end has none.

        Raises UsageError for an option that the back end does not know.
        """
        if backend_class.supports_sampling:
            return config.parse_temperatures(self.temperature or _DEFAULT_TEMPERATURE)
        if self.top_p is not None or (self.temperature is not None and not backend_class.supports_temperature):
            option = "top-p" if backend_class.supports_temperature else "temperature or top-p"
            raise UsageError(f"--model {model!r} has no {option}; leave it out")
        return config.parse_temperatures(self.temperature) if self.temperature is not None else (None,)

    def decoding(self, temperature: float | None, backend_class: type[Backend], *, chat: bool) -> Decoding:
        """Return how samples are drawn at a temperature."""
        from passcurve.models.stops import HUMAN_EVAL

        return Decoding(
            temperature=temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens if backend_class.supports_sampling else None,
            stop=tuple(self.stop) or (HUMAN_EVAL if backend_class.supports_sampling and not chat else ()),
            seed=self.seed,
        )


class PromptOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that say what the model is shown."""

    prompt: Annotated[
        Optional[str], typer.Option(help="base, chat, fim:FAMILY, or a file with {{ prompt }} in it.")
    ] = None
    system: Annotated[str, typer.Option(help="What a conversation begins with.")] = ""
    endpoint: Annotated[Optional[str], typer.Option(help="completions, chat, or auto: as the prompt needs it.")] = None

    def style(self, model: str, backend_class: type[Backend]) -> prompts.Style:
        """Return the style of prompts.  Raises UsageError for one that the back end cannot be shown."""
        if self.endpoint not in (None, *_ENDPOINTS):
            raise UsageError(f"--endpoint {self.endpoint!r} is none of {', '.join(_ENDPOINTS)}")
        chat = None if self.endpoint in (None, "auto") else self.endpoint == "chat"
        if backend_class.server_defaults is not None and backend_class.server_defaults.styles == ("chat",):
            if self.prompt == "base" or self.endpoint == "completions":
                raise UsageError(f"--model {model!r} only answers conversations; use --prompt chat or a template")
            chat = True
        return prompts.style(self.prompt or ("chat" if chat else "base"), chat=chat, system=self.system)


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that say how the back end is called."""

    base_url: Annotated[Optional[str], typer.Option(help="Root of the server, /v1 included.")] = None
    api_key_env: Annotated[Optional[str], typer.Option(help="Variable that holds the key, or none.")] = None
    extra_body: Annotated[str, typer.Option(help="JSON object whose fields go into each request.")] = "{}"
    model_option: Annotated[
        list[str], typer.Option(help="NAME=VALUE for the back end, as in device=cuda:0; repeatable.")
    ] = []
    concurrency: Annotated[int, typer.Option(min=1, max=1024, help="Requests that are open at once.")] = 8
    per_request: Annotated[int, typer.Option(min=1, help="Samples that one request asks for (n of the server).")] = 1
    rpm: Annotated[Optional[float], typer.Option(min=0.001, help="Most requests a minute.")] = None
    tpm: Annotated[Optional[float], typer.Option(min=0.001, help="Most tokens a minute, read and written.")] = None
    request_timeout: Annotated[float, typer.Option(min=0.01, help="Seconds that one request may take.")] = 600.0
    max_retries: Annotated[int, typer.Option(min=0, help="How often a request that failed is sent again.")] = 6

    def check(self, model: str, backend_class: type[Backend]) -> None:
        """Raise UsageError for an option of servers when the back end calls none."""
        values = {
            "--base-url": self.base_url,
            "--api-key-env": self.api_key_env,
            "--rpm": self.rpm,
            "--tpm": self.tpm,
        }
        needless = [option for option, value in values.items() if value is not None]
        if backend_class.server_defaults is None and needless:
            raise UsageError(f"--model {model!r} calls no server; leave {' and '.join(needless)} out")

    def settings(self, model: str, backend_class: type[Backend], *, chat: bool, seed: int) -> Settings:
        """Return the settings of the back end.  Raises UsageError for an option that it does not have."""
        from passcurve.models.backend import ServerDefaults, ServerSettings, Settings

        defaults = backend_class.server_defaults or ServerDefaults(base_url="", api_key_name="none")
        key_name = self.api_key_env or defaults.api_key_name
        return Settings(
            server=ServerSettings(
                base_url=self.base_url or defaults.base_url,
                api_key=config.api_key(key_name),
                api_key_name=key_name,
                requests_per_minute=self.rpm,
                tokens_per_minute=self.tpm,
                max_retries=self.max_retries,
            ),
            request_timeout_s=self.request_timeout,
            extra_body=config.parse_object("--extra-body", self.extra_body),
            concurrency=self.concurrency,
            style="chat" if chat else "base",
            seed=seed,
            options=config.parse_assignments(
                "--model-option", self.model_option, backend_class.options, model.partition(":")[0] + ":"
            ),
        )
