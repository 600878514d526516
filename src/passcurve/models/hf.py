"""The back end ``hf:MODEL``: a model that transformers runs in this process, decoder-only or encoder-decoder.

Theory of operation.  Each device has a copy of the model and a thread.  The thread takes as many of the pending
samples as one batch may have and generates them together.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any, Self

from passcurve.errors import ModelError, PasscurveError, RefusedError, UsageError
from passcurve.models.backend import SampleRequest, ServerDefaults, Settings
from passcurve.models.batching import Batcher, fail_samples
from passcurve.models.hf_batch import BatchGenerator
from passcurve.models.hf_loading import configure_generation, load_models
from passcurve.models.hf_options import DEFAULTS, HfOptions
from passcurve.models.prompt_tokens import PromptTokenizer, split_extra_body
from passcurve.models.sanitize import first_line
from passcurve.types import Reply


class HuggingFace:
    """Generates with transformers; one thread for each copy of the model."""

    supports_sampling = True
    supports_temperature = True
    options: tuple[str, ...] = tuple(DEFAULTS)
    server_defaults: ServerDefaults | None = None

    def __init__(self, name: str, settings: Settings) -> None:
        options = HfOptions.parse(settings)
        template_arguments, extra = split_extra_body(settings.extra_body)
        loaded = load_models(name, options)
        if options.decoder_prompt and not loaded.is_encoder_decoder:
            raise UsageError(f"hf:{name} has no encoder: leave out --model-option decoder-prompt")
        prompts = PromptTokenizer(loaded.tokenizer, template_arguments)
        self.identity = {"name": name, "weights": loaded.weights, "dtype": loaded.dtype}
        if options.decoder_prompt:
            self.identity["decoder_prompt"] = "yes"
        if settings.style == "chat":
            if not loaded.tokenizer.chat_template:
                raise UsageError(f"hf:{name} has no chat template; use --prompt base")
            self.identity["chat_template"] = prompts.template_digest()
        warps = configure_generation(loaded.copies, extra)
        self.identity |= {field: f"{value}" for field, value in sorted({**warps, **extra}.items())}
        self._out_of_memory = loaded.torch.OutOfMemoryError
        self._batcher = Batcher()
        self._generator = BatchGenerator(
            name, loaded, prompts, warps, self._batcher, decoder_prompt=options.decoder_prompt
        )
        batch_size = options.batch or math.ceil(settings.concurrency / len(loaded.copies))
        self._threads = [
            threading.Thread(target=self._work, args=(model, batch_size), name=f"passcurve-hf-{number}", daemon=True)
            for number, model in enumerate(loaded.copies)
        ]
        for thread in self._threads:
            thread.start()

    @classmethod
    def open(cls, argument: str, settings: Settings) -> Self:
        """Load the model behind the colon: a folder, or a name in the Hugging Face cache or on the hub."""
        if not argument:
            raise UsageError("hf: names no model; write it like hf:FOLDER or hf:OWNER/NAME")
        return cls(argument, settings)

    def generate(self, request: SampleRequest) -> Iterator[Reply]:
        """Yield the samples once their batches are generated."""
        self._generator.check_context(request.prompt, request.decoding)
        for sample in self._batcher.submit(request):
            yield sample.reply.result()

    def close(self) -> None:
        """End the open batches and release the models."""
        self._batcher.close()
        for thread in self._threads:
            thread.join()

    def _work(self, model: Any, batch_size: int) -> None:
        while samples := self._batcher.next_batch(batch_size):
            try:
                for sample, reply in zip(samples, self._generator.generate(model, samples), strict=True):
                    sample.reply.set_result(reply)
            except (MemoryError, self._out_of_memory) as error:
                reason = f"hf: out of memory with a batch of {len(samples)}; lower --concurrency ({first_line(error)})"
                fail_samples(samples, RefusedError(reason))
            except PasscurveError as error:
                fail_samples(samples, error)
            except Exception as error:
                fail_samples(samples, ModelError(f"hf: {type(error).__name__}: {first_line(error)}"))
