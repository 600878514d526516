"""Options of ``run`` that say how a model writes samples."""

from __future__ import annotations

from typing import Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.generation.setup import DEFAULT_MAX_TOKENS, ModelSettings


class SamplingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that say how many samples are drawn, and how."""

    n: Annotated[
        int, typer.Option("--n", "-n", "--samples", min=1, help="Samples of each problem; more than before tops up.")
    ] = 20
    temperature: Annotated[
        Optional[str], typer.Option(help="0.8 by default; several, as in 0.2,0.8, give a run each.")
    ] = None
    top_p: Annotated[Optional[float], typer.Option(min=0.0, max=1.0, help="Nucleus sampling; not sent by default.")] = (
        None
    )
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of a completion.")] = DEFAULT_MAX_TOKENS
    stop: Annotated[
        list[str], typer.Option(help="A text before which a completion ends; may be given more than once.")
    ] = []
    seed: Annotated[int, typer.Option(help="From which the seed of each sample follows.")] = 0


class PromptOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that say what the model is shown."""

    prompt: Annotated[
        Optional[str], typer.Option(help="base, chat, think, fim:FAMILY, or a file with {{ prompt }} in it.")
    ] = None
    system: Annotated[str, typer.Option(help="What a conversation begins with.")] = ""
    endpoint: Annotated[Optional[str], typer.Option(help="completions, chat, or auto: as the prompt needs it.")] = None


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


def model_settings(
    model: str, sampling: SamplingOptions, prompting: PromptOptions, server: ServerOptions
) -> ModelSettings:
    """Return what the options say of a model.  Raises UsageError for a field of requests that is no JSON object."""
    return ModelSettings(
        model=model,
        n=sampling.n,
        top_p=sampling.top_p,
        max_tokens=sampling.max_tokens,
        stop=tuple(sampling.stop),
        seed=sampling.seed,
        prompt=prompting.prompt,
        system=prompting.system,
        endpoint=prompting.endpoint,
        base_url=server.base_url,
        api_key_env=server.api_key_env,
        extra_body=config.parse_object("--extra-body", server.extra_body),
        options=tuple(server.model_option),
        concurrency=server.concurrency,
        per_request=server.per_request,
        requests_per_minute=server.rpm,
        tokens_per_minute=server.tpm,
        request_timeout_s=server.request_timeout,
        max_retries=server.max_retries,
    )
