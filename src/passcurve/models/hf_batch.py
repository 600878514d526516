"""One batch of samples, written by one copy of a transformers model.

Theory of operation.  Each sample is drawn by its own seed, whatever stands beside it in the batch.  Temperature and
top-p transform the log-probabilities; then Gumbel noise from the sample's own generator is added, and the largest sum
is a draw from these probabilities (Gumbel 1954; Maddison, Tarlow and Minka 2014, arXiv:1411.0030).  So a resumed run
continues with the samples that it would have had, but for rounding, which differs a little with the batch.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from passcurve.errors import ModelError
from passcurve.models.backend import sample_seed
from passcurve.models.batching import Batcher, PendingSample
from passcurve.models.hf_loading import WARPERS, LoadedModels
from passcurve.models.prompt_tokens import PromptTokenizer, check_context, digest
from passcurve.models.sampling import GumbelNoise, StopCriterion, decode_continuation
from passcurve.types import Decoding, Prompt, Reply, SampleKey

_NEUTRAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "typical_p": 1.0}
"""Values at which a warper changes nothing."""
_MAX_TOKENS = 512
"""Limit where neither the user nor the model's context sets one."""


class EncodedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as token ids."""

    input_ids: tuple[int, ...]
    """Input of the decoder, or of the encoder where there is one."""
    decoder_ids: tuple[int, ...] = ()
    """Tokens with which the decoder beside an encoder begins."""
    digest: str


class BatchGenerator:
    """Generates batches; each call uses the copy of the model that it is given."""

    def __init__(
        self,
        name: str,
        loaded: LoadedModels,
        prompts: PromptTokenizer,
        warps: Mapping[str, Any],
        batcher: Batcher,
        *,
        decoder_prompt: bool,
    ) -> None:
        self._name, self._loaded, self._prompts = name, loaded, prompts
        self._warps, self._batcher, self._decoder_prompt = warps, batcher, decoder_prompt

    def check_context(self, prompt: Prompt, decoding: Decoding) -> None:
        """Raise TooLongError where a prompt and its answer exceed the context."""
        if self._loaded.context_tokens is None:
            return
        encoded = self._encode(prompt)
        read, written = len(encoded.input_ids), len(encoded.decoder_ids) + (decoding.max_tokens or 1)
        needed = max(read, written) if self._loaded.is_encoder_decoder else read + written
        check_context(prompt, needed, self._loaded.context_tokens)

    def generate(self, model: Any, samples: Sequence[PendingSample]) -> list[Reply]:
        """Return the replies of one batch."""
        torch, transformers = self._loaded.torch, self._loaded.transformers
        decoding, began = samples[0].decoding, time.monotonic()
        prompts = [self._encode(sample.prompt) for sample in samples]
        seeds = [sample_seed(decoding.seed, sample.prompt.problem_id, sample.index) for sample in samples]
        arguments, start = self._arguments(model, prompts)
        stops = StopCriterion(torch, self._prompts.tokenizer, decoding.stop, start, len(samples), self._batcher)
        with torch.inference_mode():
            rows = model.generate(
                **arguments,
                do_sample=False,
                max_new_tokens=decoding.max_tokens or self._max_new_tokens(prompts),
                logits_processor=transformers.LogitsProcessorList(self._processors(model.device, decoding, seeds)),
                stopping_criteria=transformers.StoppingCriteriaList([stops]),
            )
        if self._batcher.is_closed:
            raise ModelError("the run has ended")
        latency_s = time.monotonic() - began
        ends = model.generation_config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends])
        return [
            self._reply(sample, prompt, seed, row[start:].tolist()[:length], ends, length is not None, latency_s)
            for sample, prompt, seed, row, length in zip(samples, prompts, seeds, rows, stops.lengths, strict=True)
        ]

    def _reply(
        self,
        sample: PendingSample,
        prompt: EncodedPrompt,
        seed: int,
        tokens: list[int],
        ends: set[int],
        is_stopped: bool,
        latency_s: float,
    ) -> Reply:
        end = next((place for place, token in enumerate(tokens) if token in ends), None)
        return Reply(
            key=SampleKey(problem_id=sample.prompt.problem_id, sample_index=sample.index),
            text=decode_continuation(self._prompts.tokenizer, self._prefix(prompt), tokens[:end]),
            finish_reason="stop" if end is not None or is_stopped else "length",
            seed=seed,
            prompt_tokens=len(prompt.input_ids),
            completion_tokens=len(tokens) if end is None else end + 1,
            latency_s=latency_s,
            request=prompt.digest,
            server_model=self._name,
        )

    def _encode(self, prompt: Prompt) -> EncodedPrompt:
        input_ids = self._prompts.encode(prompt)
        decoder_ids: tuple[int, ...] = ()
        if self._decoder_prompt and not prompt.messages:
            decoder_ids = tuple(self._prompts.tokenizer(prompt.text, add_special_tokens=False)["input_ids"])
        return EncodedPrompt(
            input_ids=tuple(input_ids), decoder_ids=decoder_ids, digest=digest(repr((input_ids, decoder_ids)).encode())
        )

    def _prefix(self, prompt: EncodedPrompt) -> tuple[int, ...]:
        """Return the tokens that the decoder continues."""
        return prompt.decoder_ids if self._loaded.is_encoder_decoder else prompt.input_ids

    def _max_new_tokens(self, prompts: Sequence[EncodedPrompt]) -> int:
        if self._loaded.context_tokens is None:
            return _MAX_TOKENS
        return max(1, self._loaded.context_tokens - max(len(self._prefix(prompt)) for prompt in prompts))

    def _arguments(self, model: Any, prompts: Sequence[EncodedPrompt]) -> tuple[dict[str, Any], int]:
        """Return the inputs of ``generate``, and the place of the first new token in its output."""
        is_encoder_decoder = self._loaded.is_encoder_decoder
        ids, mask = self._pad([prompt.input_ids for prompt in prompts], model, left=not is_encoder_decoder)
        arguments = {"input_ids": ids, "attention_mask": mask}
        if not is_encoder_decoder:
            return arguments, ids.shape[1]
        if not self._decoder_prompt:
            return arguments, 1
        first = model.generation_config.decoder_start_token_id
        ids, mask = self._pad([(first, *prompt.decoder_ids) for prompt in prompts], model, left=True)
        return arguments | {"decoder_input_ids": ids, "decoder_attention_mask": mask}, ids.shape[1]

    def _pad(self, rows: Sequence[Sequence[int]], model: Any, *, left: bool) -> tuple[Any, Any]:
        """Return rows padded to one length, and their attention mask."""
        width, pad = max(map(len, rows)), model.generation_config.pad_token_id
        filled = [([pad] * (width - len(row)), list(row)) for row in rows]
        marks = [([0] * (width - len(row)), [1] * len(row)) for row in rows]
        tensor = self._loaded.torch.tensor
        return (
            tensor([fill + row if left else row + fill for fill, row in filled], device=model.device),
            tensor([zeros + ones if left else ones + zeros for zeros, ones in marks], device=model.device),
        )

    def _processors(self, device: Any, decoding: Decoding, seeds: Sequence[int]) -> list[Any]:
        """Return the processors that make the largest score of a row the drawn token; none at temperature 0."""
        chosen = {"temperature": decoding.temperature, "top_p": decoding.top_p}
        values = dict(self._warps) | {name: value for name, value in chosen.items() if value is not None}
        if values.get("temperature") == 0:
            return []
        warpers = [
            getattr(self._loaded.transformers, WARPERS[name])(values[name])
            for name in WARPERS
            if values.get(name) is not None and values[name] != _NEUTRAL.get(name)
        ]
        return [*warpers, GumbelNoise(self._loaded.torch, device, seeds)]
