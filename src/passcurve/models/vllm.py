"""The back end ``vllm:MODEL``: a model that vLLM runs in this process.

Theory of operation.  One thread takes all samples that wait and hands them to the engine at once, which fits them
together by itself; samples of one prompt share what was read of it.  Each has the seed of its own.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from passcurve.errors import ModelError, PasscurveError, RefusedError, TooLongError, UsageError
from passcurve.models.backend import Remote, Settings, conversation, sample_seed
from passcurve.models.batching import Row, Together, fail
from passcurve.types import Decoding, Prompt, Reply, SampleKey, SampleRequest

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
"""What ``--model-option`` may set, by the engine's own names, and of which kind it is."""
_MAX_TOKENS = 512
_SHOWN = 300


class Vllm:
    """Writes with vLLM; one thread, because the engine takes everything at once."""

    draws = True
    tempered = True
    options: tuple[str, ...] = tuple(_OPTIONS)
    remote: Remote | None = None

    def __init__(self, name: str, settings: Settings) -> None:
        words = _words(settings)
        self._vllm = _library()
        self._name, self._settings = name, settings
        extra = dict(settings.extra_body)
        template = extra.pop("chat_template_kwargs", {})
        if not isinstance(template, dict):
            raise UsageError(f"--extra-body: chat_template_kwargs is {template!r}; an object is due")
        self._template = template
        self._extra = extra
        try:
            with _stdout_kept():
                self._engine = self._vllm.LLM(model=name, disable_log_stats=True, **words)
            # It sets up its own logging when it is first used, on stdout, where our results go.
            logging.getLogger("vllm").setLevel(logging.ERROR)
            self._tokenizer = self._engine.get_tokenizer()
        except Exception as error:
            raise RefusedError(f"vllm: cannot load {name!r}: {_last(error)}") from error
        config = self._engine.llm_engine.model_config
        self._room = int(config.max_model_len)
        if settings.style == "chat" and not self._tokenizer.chat_template:
            raise UsageError(f"vllm:{name} has no chat template; use --prompt base")
        self.identity = {"name": name, "dtype": str(config.dtype).removeprefix("torch.")}
        for field, value in sorted({**{each: words[each] for each in words if each != "dtype"}, **extra}.items()):
            self.identity[field] = f"{value}"
        self._rows = Together()
        self._thread = threading.Thread(target=self._work, args=(settings.concurrency,), daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:
        """Load the model that stands behind the colon: a folder, or a name that the Hugging Face cache or hub has."""
        if not words:
            raise UsageError("vllm: names no model; write it like vllm:FOLDER or vllm:OWNER/NAME")
        return cls(words, settings)

    def generate(self, order: SampleRequest) -> Iterator[Reply]:
        """Yield the samples once those that are written together with them are."""
        needed = len(self._shown(order.prompt)) + (order.decoding.max_tokens or 1)
        if needed > self._room:
            raise TooLongError(
                f"problem {order.prompt.problem_id!r}: prompt and answer do not fit into the model's context "
                f"(up to {needed} tokens of {self._room}); lower --max-tokens"
            )
        for row in self._rows.put(order):
            yield row.reply.result()

    def close(self) -> None:
        """Let what is under way come to its end, and let go of the engine."""
        self._rows.close()
        self._thread.join()
        self._engine = None

    def _work(self, most: int) -> None:
        while rows := self._rows.take(most):
            try:
                for row, reply in zip(rows, self._written(rows), strict=True):
                    row.reply.set_result(reply)
            except PasscurveError as error:
                fail(rows, error)
            except Exception as error:
                fail(rows, ModelError(f"vllm: {type(error).__name__}: {_last(error)}"))

    def _shown(self, prompt: Prompt) -> list[int]:
        if not prompt.messages:
            return list(self._tokenizer(prompt.text)["input_ids"])
        return list(
            self._tokenizer.apply_chat_template(
                conversation(prompt), add_generation_prompt=True, tokenize=True, return_dict=True, **self._template
            )["input_ids"]
        )

    def _written(self, rows: Sequence[Row]) -> list[Reply]:
        began = time.monotonic()
        shown = [self._shown(row.prompt) for row in rows]
        seeds = [sample_seed(row.decoding.seed, row.prompt.problem_id, row.index) for row in rows]
        found = self._engine.generate(
            [{"prompt_token_ids": ids} for ids in shown],
            [self._params(row.decoding, seed) for row, seed in zip(rows, seeds, strict=True)],
            use_tqdm=False,
        )
        took = time.monotonic() - began
        return [
            Reply(
                key=SampleKey(problem_id=row.prompt.problem_id, sample_index=row.index),
                text=one.outputs[0].text,
                finish_reason=one.outputs[0].finish_reason or "",
                seed=seed,
                prompt_tokens=len(ids),
                completion_tokens=len(one.outputs[0].token_ids),
                cached_tokens=one.num_cached_tokens,
                latency_s=took,
                request=hashlib.blake2b(repr(ids).encode(), digest_size=8).hexdigest(),
                server_model=self._name,
            )
            for row, ids, seed, one in zip(rows, shown, seeds, found, strict=True)
        ]

    def _params(self, decoding: Decoding, seed: int) -> Any:
        said = {"temperature": decoding.temperature, "top_p": decoding.top_p}
        said = {name: value for name, value in said.items() if value is not None}
        try:
            return self._vllm.SamplingParams(
                n=1,
                seed=seed,
                max_tokens=decoding.max_tokens or _MAX_TOKENS,
                stop=list(decoding.stop),
                **said,
                **self._extra,
            )
        except (TypeError, ValueError) as error:
            raise RefusedError(f"vllm: refuses how samples are to be drawn: {_last(error)}") from None


def _library() -> Any:
    try:
        import vllm
    except ImportError as error:
        lacks = error.name or str(error)
        raise UsageError(f"vllm: needs {lacks}, which is not installed: pip install 'passcurve[vllm]'") from None
    return vllm


@contextmanager
def _stdout_kept() -> Iterator[None]:
    """Let processes that are started meanwhile write to stderr what they write to stdout."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _words(settings: Settings) -> dict[str, Any]:
    """Return the options under the engine's names; raises UsageError for what is of another kind."""
    found: dict[str, Any] = {}
    for name, text in settings.options.items():
        kind: Any = _OPTIONS[name]
        try:
            found[name.replace("-", "_")] = kind(text)
        except ValueError:
            raise UsageError(f"--model-option {name}={text!r} is no number") from None
    return found


def _last(error: BaseException) -> str:
    """Return the last line of what an error says: the engine tells the reason behind the circumstances."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:_SHOWN]
