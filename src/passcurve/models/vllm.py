"""The back end ``vllm:MODEL``: a model that vLLM runs in this process.

Theory of operation.  One thread takes all pending samples and passes them to the engine, which batches them by itself;
samples of one prompt share its prefix.  Each sample has its own seed.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from passcurve.errors import ModelError, PasscurveError, RefusedError, UsageError
from passcurve.models.backend import SampleRequest, ServerDefaults, Settings, sample_seed
from passcurve.models.batching import Batcher, PendingSample, fail_samples
from passcurve.models.prompt_tokens import PromptTokenizer, check_context, digest, split_extra_body
from passcurve.models.sanitize import last_line
from passcurve.types import Decoding, Reply, SampleKey

_OPTIONS = {
    "dtype": str,
    "enforce-eager": "yes".__eq__,
    "gpu-memory-utilization": float,
    "max-model-len": int,
    "quantization": str,
    "revision": str,
    "tensor-parallel-size": int,
    "trust-remote-code": "yes".__eq__,
}
"""Names that ``--model-option`` may set, those of the engine, each with its type."""
_MAX_TOKENS = 512
"""Limit where the user sets none."""


class Vllm:
    """Generates with vLLM; one thread, because the engine batches samples by itself."""

    supports_sampling = True
    supports_temperature = True
    options: tuple[str, ...] = tuple(_OPTIONS)
    server_defaults: ServerDefaults | None = None

    def __init__(self, name: str, settings: Settings) -> None:
        arguments = _engine_arguments(settings)
        template_arguments, self._extra = split_extra_body(settings.extra_body)
        vllm = _library()
        self._name, self._sampling_params = name, vllm.SamplingParams
        try:
            with _stdout_to_stderr():
                self._engine = vllm.LLM(model=name, disable_log_stats=True, **arguments)
            # At its first use it sets up logging on stdout, where our results go.
            logging.getLogger("vllm").setLevel(logging.ERROR)
            self._prompts = PromptTokenizer(self._engine.get_tokenizer(), template_arguments)
        except Exception as error:
            raise RefusedError(f"vllm: cannot load {name!r}: {last_line(error)}") from error
        config = self._engine.llm_engine.model_config
        self._context_tokens = int(config.max_model_len)
        if settings.style == "chat" and not self._prompts.tokenizer.chat_template:
            raise UsageError(f"vllm:{name} has no chat template; use --prompt base")
        self.identity = {"name": name, "dtype": str(config.dtype).removeprefix("torch.")}
        fields = {field: value for field, value in arguments.items() if field != "dtype"} | self._extra
        self.identity |= {field: f"{value}" for field, value in sorted(fields.items())}
        self._batcher = Batcher()
        self._thread = threading.Thread(target=self._work, args=(settings.concurrency,), daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, argument: str, settings: Settings) -> Self:
        """Load the model behind the colon: a folder, or a name in the Hugging Face cache or on the hub."""
        if not argument:
            raise UsageError("vllm: names no model; write it like vllm:FOLDER or vllm:OWNER/NAME")
        return cls(argument, settings)

    def generate(self, request: SampleRequest) -> Iterator[Reply]:
        """Yield the samples once their batches are generated."""
        needed = len(self._prompts.encode(request.prompt)) + (request.decoding.max_tokens or 1)
        check_context(request.prompt, needed, self._context_tokens)
        for sample in self._batcher.submit(request):
            yield sample.reply.result()

    def close(self) -> None:
        """Finish the open batch and release the engine."""
        self._batcher.close()
        self._thread.join()
        self._engine = None

    def _work(self, batch_size: int) -> None:
        while samples := self._batcher.next_batch(batch_size):
            try:
                for sample, reply in zip(samples, self._generate_batch(samples), strict=True):
                    sample.reply.set_result(reply)
            except PasscurveError as error:
                fail_samples(samples, error)
            except Exception as error:
                fail_samples(samples, ModelError(f"vllm: {type(error).__name__}: {last_line(error)}"))

    def _generate_batch(self, samples: Sequence[PendingSample]) -> list[Reply]:
        began = time.monotonic()
        prompts = [self._prompts.encode(sample.prompt) for sample in samples]
        seeds = [sample_seed(sample.decoding.seed, sample.prompt.problem_id, sample.index) for sample in samples]
        outputs = self._engine.generate(
            [{"prompt_token_ids": ids} for ids in prompts],
            [self._params(sample.decoding, seed) for sample, seed in zip(samples, seeds, strict=True)],
            use_tqdm=False,
        )
        latency_s = time.monotonic() - began
        return [
            Reply(
                key=SampleKey(problem_id=sample.prompt.problem_id, sample_index=sample.index),
                text=output.outputs[0].text,
                finish_reason=output.outputs[0].finish_reason or "",
                seed=seed,
                prompt_tokens=len(ids),
                completion_tokens=len(output.outputs[0].token_ids),
                cached_tokens=output.num_cached_tokens,
                latency_s=latency_s,
                request=digest(repr(ids).encode()),
                server_model=self._name,
            )
            for sample, ids, seed, output in zip(samples, prompts, seeds, outputs, strict=True)
        ]

    def _params(self, decoding: Decoding, seed: int) -> Any:
        chosen = {"temperature": decoding.temperature, "top_p": decoding.top_p}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        try:
            return self._sampling_params(
                n=1,
                seed=seed,
                max_tokens=decoding.max_tokens or _MAX_TOKENS,
                stop=list(decoding.stop),
                **chosen,
                **self._extra,
            )
        except (TypeError, ValueError) as error:
            raise RefusedError(f"vllm: refuses the sampling parameters: {last_line(error)}") from None


def _library() -> Any:
    try:
        import vllm
    except ImportError as error:
        missing = error.name or str(error)
        raise UsageError(f"vllm: needs {missing}, which is not installed: pip install 'passcurve[vllm]'") from None
    return vllm


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Send the stdout of this process and of those that it starts to stderr."""
    sys.stdout.flush()
    stdout = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


def _engine_arguments(settings: Settings) -> dict[str, Any]:
    """Return the options by the engine's names; raises UsageError for a value of the wrong type."""
    arguments: dict[str, Any] = {}
    for name, text in settings.options.items():
        kind: Any = _OPTIONS[name]
        try:
            arguments[name.replace("-", "_")] = kind(text)
        except ValueError:
            raise UsageError(f"--model-option {name}={text!r} must be a number") from None
    return arguments
