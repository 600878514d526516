"""A model's name and settings become prompts, a back end, and the record of how samples are drawn."""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from passcurve import __version__, config, registry
from passcurve.bench import prompts
from passcurve.bench.choose import choose_problems
from passcurve.errors import PasscurveError, UsageError
from passcurve.generation.engine import GenerationRequest
from passcurve.models.backend import Backend, ServerDefaults, ServerSettings, Settings
from passcurve.models.stops import default_stops
from passcurve.store.completions import SessionConfig, check_generation
from passcurve.types import Benchmark, Decoding, Expression, Generation, asks_for_module, language_of

DEFAULT_TEMPERATURE = 0.8
_MAX_TEMPERATURE = 100.0
DEFAULT_MAX_TOKENS = 512

_MAX_NAME = 40
"""Most characters of a model's name in the name of a run directory."""

ENDPOINTS = ("auto", "completions", "chat")
_OWN_FILES, _FILES_OF_WORKER = 64, 2
"""Open files beside those of requests: in all, and for each worker, of which there is one for a core."""


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's settings of a model, of its prompts and of its requests."""

    model: str
    """A back end and what it takes, as in ``openai:NAME`` or ``hf:PATH``."""
    n: int = 20
    """Samples of each problem."""
    top_p: float | None = None
    max_tokens: int = DEFAULT_MAX_TOKENS
    stop: tuple[str, ...] = ()
    seed: int = 0
    prompt: str | None = None
    """``base``, ``chat``, ``fim:FAMILY``, or the file of a template."""
    system: str = ""
    endpoint: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    extra_body: Mapping[str, object] = {}
    options: tuple[str, ...] = ()
    """NAME=VALUE for one kind of back end."""
    concurrency: int = 8
    per_request: int = 1
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    request_timeout_s: float = 600.0
    max_retries: int = 6


class Model:
    """A model whose settings are checked, to be opened once for each temperature."""

    def __init__(self, chosen: ModelSettings, benchmark: Benchmark, problems: str) -> None:
        """Check everything that can be known before the first request.

        Raises UnknownNameError for a back end that does not exist, UsageError for settings that it does not take,
        DataError for a template that cannot be read.
        """
        if not all(map(config.is_count, (chosen.n, chosen.concurrency, chosen.per_request))):
            raise UsageError("n, concurrency and per_request must be positive integers")
        _check_decoding(chosen)
        self._chosen, self._benchmark = chosen, benchmark
        self._kind, self._words = registry.backend(chosen.model)
        self.style = _style(chosen, self._kind.server_defaults)
        chosen_problems = choose_problems(benchmark, problems)
        self._prompts = prompts.make_prompts(chosen_problems, self.style)
        self._stops = set(map(default_stops, chosen_problems))
        self._digest = prompts.digest_prompts(prompts.make_prompts(benchmark.problems, self.style))
        self._settings = self._backend_settings()

    def _backend_settings(self) -> Settings:
        chosen, defaults = self._chosen, _server(self._chosen, self._kind.server_defaults)
        if self._kind.server_defaults is not None:
            _check_open_files(chosen.concurrency)
        key_name = chosen.api_key_env or defaults.api_key_name
        if chosen.api_key_env is not None:
            _check_key_name(chosen.api_key_env)
        owner = chosen.model.partition(":")[0] + ":"
        return Settings(
            server=ServerSettings(
                base_url=chosen.base_url or defaults.base_url,
                api_key=config.api_key(key_name),
                api_key_name=key_name,
                requests_per_minute=chosen.requests_per_minute,
                tokens_per_minute=chosen.tokens_per_minute,
                max_retries=chosen.max_retries,
            ),
            request_timeout_s=chosen.request_timeout_s,
            extra_body=chosen.extra_body,
            concurrency=chosen.concurrency,
            style="chat" if self.style.chat else "base",
            seed=chosen.seed,
            options=config.parse_assignments("--model-option", chosen.options, self._kind.options, owner),
        )

    @property
    def planned(self) -> int:
        """The number of samples of one temperature."""
        return self._chosen.n * len(self._prompts)

    @property
    def default_extract(self) -> str:
        """The policy by which texts become programs when none is named; empty for that of the profile."""
        checks = [problem.check for problem in self._benchmark.problems]
        if any(isinstance(check, Expression) for check in checks):
            return "answer"
        if any(language_of(check) for check in checks):
            return "auto"
        if not self.style.chat:
            return ""
        return "fence-last" if any(map(asks_for_module, checks)) else "auto"

    def temperatures(self, values: Sequence[float] | None) -> tuple[float | None, ...]:
        """Return one temperature for each run, None where the back end has none.

        Raises UsageError for what is no temperature, and for one or a top-p that the back end does not know.
        """
        for value in values or ():
            if not (_is_number(value) and 0.0 <= value <= _MAX_TEMPERATURE):
                raise UsageError(f"temperature must be a number from 0 to {_MAX_TEMPERATURE:g}, got {value!r}")
        if self._kind.supports_sampling:
            return tuple(values or (DEFAULT_TEMPERATURE,))
        if self._chosen.top_p is not None or (values is not None and not self._kind.supports_temperature):
            option = "top-p" if self._kind.supports_temperature else "temperature or top-p"
            raise UsageError(f"--model {self._chosen.model!r} has no {option}; leave it out")
        return tuple(values) if values is not None else (None,)

    def request(self, temperature: float | None) -> GenerationRequest:
        """Return what is to be generated at one temperature."""
        chosen = self._chosen
        return GenerationRequest(
            prompts=self._prompts,
            n=chosen.n,
            decoding=Decoding(
                temperature=temperature,
                top_p=chosen.top_p,
                max_tokens=chosen.max_tokens if self._kind.supports_sampling else None,
                stop=chosen.stop or self._default_stops(),
                seed=chosen.seed,
            ),
            concurrency=chosen.concurrency,
            per_request=chosen.per_request,
        )

    def _default_stops(self) -> tuple[str, ...]:
        """Return the stop words of a text that a model continues, where all problems have the same."""
        if not self._kind.supports_sampling or self.style.chat:
            return ()
        # Where problems differ, completions in other languages than Python are cut when their programs are made.
        return next(iter(self._stops)) if len(self._stops) == 1 else ()

    def run_directory(self, temperature: float | None) -> Path:
        """Return where the run at one temperature lives by default.

        Earlier versions left the prompt out of the name; such a directory is taken where it holds this very run.
        Raises UsageError when the directory holds another run, so that no run starts before all can.
        """
        name, model = self._benchmark.name, self._chosen.model
        place = Path(run_directory(name, model, temperature, self.style.name))
        earlier = Path(f"{name}-{_slug(model)[:80]}{_temperature(temperature)}.passcurve")
        if earlier.is_dir() and not place.exists():
            with contextlib.suppress(PasscurveError):
                self.check_place(earlier, temperature)
                return earlier
        self.check_place(place, temperature)
        return place

    def check_place(self, folder: Path, temperature: float | None) -> None:
        """Raise UsageError when a folder is none, or holds samples of other settings."""
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{str(folder)!r} is not a folder; choose another place with --run DIR")
        check_generation(folder, self._generation(self.request(temperature), {}))

    def _generation(self, request: GenerationRequest, identity: dict[str, str]) -> Generation:
        return Generation(
            version=__version__,
            benchmark=self._benchmark.name,
            benchmark_digest=self._benchmark.digest,
            model=self._chosen.model,
            identity=identity,
            prompt=self.style.name,
            prompt_digest=self._digest,
            decoding=request.decoding,
        )

    def open(self, request: GenerationRequest, judging: Mapping[str, Any]) -> tuple[SessionConfig, Backend]:
        """Open the back end; return it after the record of this session, in which ``judging`` is stored too."""
        backend: Backend = self._kind.open(self._words, self._settings)
        session = SessionConfig(
            generation=self._generation(request, backend.identity),
            n=request.n,
            settings=self._settings.to_record() | dict(judging) | {"per_request": request.per_request},
        )
        return session, backend


def run_directory(benchmark: str, model: str, temperature: float | None, prompt: str = "base") -> str:
    """Return the name of a run directory that no other model, prompt or temperature has."""
    name = _slug(model)
    if len(name) > _MAX_NAME:
        digest = hashlib.blake2b(model.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
        name = f"{name[: _MAX_NAME - 9]}-{digest}"
    style = "" if prompt == "base" else f"-{_slug(prompt)}"
    return f"{benchmark}-{name}{style}{_temperature(temperature)}.passcurve"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")


def _temperature(value: float | None) -> str:
    return "" if value is None else f"-t{value:g}"


def _style(chosen: ModelSettings, defaults: ServerDefaults | None) -> prompts.PromptStyle:
    if chosen.endpoint not in (None, *ENDPOINTS):
        raise UsageError(f"--endpoint must be one of {', '.join(ENDPOINTS)}, got {chosen.endpoint!r}")
    chat = None if chosen.endpoint in (None, "auto") else chosen.endpoint == "chat"
    if defaults is not None and defaults.styles == ("chat",):
        if chosen.prompt == "base" or chosen.endpoint == "completions":
            raise UsageError(
                f"--model {chosen.model!r} answers conversations only; use --prompt chat, or a template of yours"
            )
        chat = True
    return prompts.find_style(chosen.prompt or ("chat" if chat else "base"), chat=chat, system=chosen.system)


def _server(chosen: ModelSettings, defaults: ServerDefaults | None) -> ServerDefaults:
    """Return where a back end's server is by default, or nothing where it has none."""
    options = {
        "--base-url": chosen.base_url,
        "--api-key-env": chosen.api_key_env,
        "--rpm": chosen.requests_per_minute,
        "--tpm": chosen.tokens_per_minute,
    }
    set_options = [option for option, value in options.items() if value is not None]
    if defaults is None and set_options:
        raise UsageError(f"--model {chosen.model!r} calls no server; leave {' and '.join(set_options)} out")
    return defaults or ServerDefaults(base_url="", api_key_name="none")


def _check_open_files(concurrency: int) -> None:
    """Raise UsageError where requests need more connections than this process may have open files."""
    limit, _ = config.inherited_limits("RLIMIT_NOFILE")
    if limit is None:
        return
    most = limit - _OWN_FILES - _FILES_OF_WORKER * config.cores()
    if concurrency > most:
        raise UsageError(
            f"{concurrency} requests at once need more open files than the {limit} that this process may have "
            f"(ulimit -n); raise that limit, or set --concurrency to at most {max(1, most)}"
        )


def check_stops(stops: object) -> tuple[str, ...]:
    """Return stop words, of which a text alone is one; raise UsageError for what are none."""
    words = (stops,) if isinstance(stops, str) else tuple(stops) if isinstance(stops, Iterable) else (stops,)
    if not all(isinstance(word, str) and word for word in words):
        raise UsageError(f"stop words are texts that are not empty, got {stops!r:.60}; leave them out for none")
    return words


def _check_decoding(chosen: ModelSettings) -> None:
    """Raise UsageError for settings of sampling that no back end takes."""
    check_stops(chosen.stop)
    if chosen.top_p is not None and not (_is_number(chosen.top_p) and 0.0 < chosen.top_p <= 1.0):
        raise UsageError(f"top_p must be a number above 0 and at most 1, got {chosen.top_p!r}")
    if chosen.max_tokens is not None and not config.is_count(chosen.max_tokens):
        raise UsageError(f"max_tokens must be a positive integer, got {chosen.max_tokens!r}")
    if type(chosen.seed) is not int:
        raise UsageError(f"seed must be an integer, got {chosen.seed!r}")
    if not config.is_count(chosen.max_retries, 0):
        raise UsageError(f"max_retries must be an integer of at least 0, got {chosen.max_retries!r}")
    for name, value in (("rpm", chosen.requests_per_minute), ("tpm", chosen.tokens_per_minute)):
        if value is not None and not (_is_number(value) and value > 0):
            raise UsageError(f"{name} must be a number above 0, got {value!r}")
    if not (_is_number(chosen.request_timeout_s) and chosen.request_timeout_s > 0):
        raise UsageError(f"request_timeout_s must be a positive number of seconds, got {chosen.request_timeout_s!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check_key_name(name: str) -> None:
    """Raise UsageError where a user names no variable that is set; a key in its place is not repeated."""
    if name == config.NO_KEY:
        return
    if not name.isidentifier() or not name.isascii():
        raise UsageError("--api-key-env takes the name of an environment variable that holds the key, not the key")
    if not config.api_key(name):
        raise UsageError(f"--api-key-env {name}: this variable is not set; export it, or name none")
