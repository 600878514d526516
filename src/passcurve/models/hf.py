"""The back end ``hf:MODEL``: a model that transformers runs in this process, decoder-only or encoder-decoder.

Theory of operation.  Each device has a copy of the model and a thread, which takes as many of the waiting samples as
one batch may have and writes them together.  Each sample is drawn by its own seed, whatever stands beside it in the
batch: to the logarithms of the chances, as temperature and top-p leave them, noise of Gumbel's distribution is added
that comes from the sample's own generator, and the largest sum is a draw from these chances (Gumbel 1954; Maddison,
Tarlow and Minka 2014, arXiv:1411.0030).  So an interrupted run goes on with the samples that it would have had, but
for rounding, which differs a little with the batch.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from passcurve.errors import ModelError, PasscurveError, RefusedError, TooLongError, UsageError, nearest
from passcurve.models.backend import Remote, Settings, conversation, sample_seed
from passcurve.models.batching import Row, Together, fail
from passcurve.models.sampling import Noise, Stops, continued
from passcurve.types import Decoding, Prompt, Reply, SampleKey, SampleRequest

_SHARD = "shard"
_SHORT = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_DTYPES = ("auto", "bfloat16", "float16", "float32")
_WARPERS = {
    "temperature": "TemperatureLogitsWarper",
    "top_k": "TopKLogitsWarper",
    "top_p": "TopPLogitsWarper",
    "min_p": "MinPLogitsWarper",
    "typical_p": "TypicalLogitsWarper",
}
"""What narrows the chances, by its name in a generation config, in the order in which transformers applies it."""
_OPTIONS = {
    "batch": "",
    "decoder-prompt": "no",
    "device": "auto",
    "dtype": "auto",
    "revision": "",
    "threads": "",
    "trust-remote-code": "no",
}
"""What ``--model-option`` may set, and what it is when nobody does."""
_NEUTRAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "typical_p": 1.0}
_MAX_TOKENS = 512
"""Where neither the user nor the model's context says how long a completion may be."""
_PROBE_BYTES = 1 << 20
_SHOWN = 300


class _Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as the model takes it."""

    ids: tuple[int, ...]
    """What a decoder reads, or an encoder where there is one."""
    begin: tuple[int, ...] = ()
    """What the decoder beside an encoder has written already."""
    digest: str


class HuggingFace:
    """Writes with transformers; one thread for each copy of the model."""

    draws = True
    tempered = True
    options: tuple[str, ...] = tuple(_OPTIONS)
    remote: Remote | None = None

    def __init__(self, name: str, settings: Settings) -> None:
        chosen = _Chosen.of(settings)
        self._torch, self._transformers = torch, transformers = _libraries()
        self._name, self._chat = name, settings.style == "chat"
        devices = _devices(torch, chosen.device)
        if chosen.threads or "cpu" in devices:
            # Beside us samples are judged: threads that wait for a core that those have take many times as long.
            usual = max(1, (os.cpu_count() or 1) // 2 // len(devices))
            torch.set_num_threads(chosen.threads or min(torch.get_num_threads(), usual))
        kind = _dtype(torch, chosen.dtype, devices[0])
        config, self._tokenizer, models = _loaded(transformers, name, chosen, devices, kind)
        self._encodes = bool(config.is_encoder_decoder)
        self._decoder_prompt = chosen.decoder_prompt
        if chosen.decoder_prompt and not self._encodes:
            raise UsageError(f"hf:{name} has no encoder: --model-option decoder-prompt means nothing to it")
        if self._chat and not self._tokenizer.chat_template:
            raise UsageError(f"hf:{name} has no chat template; use --prompt base")
        inner = config.get_text_config(decoder=True)
        relative = hasattr(inner, "relative_attention_num_buckets")
        self._room: int | None = None if relative else getattr(inner, "max_position_embeddings", None)
        extra = dict(settings.extra_body)
        self._template: dict[str, Any] = _object(extra.pop("chat_template_kwargs", {}))
        self._warps = _settle(models, extra)
        self.identity = {"name": name, "weights": _weights(config, name), "dtype": str(kind).removeprefix("torch.")}
        if chosen.decoder_prompt:
            self.identity["decoder_prompt"] = "yes"
        if self._chat:
            template = repr((self._tokenizer.chat_template, sorted(self._template.items())))
            self.identity["chat_template"] = _digest(template.encode("utf-8", "surrogatepass"))
        for field, value in sorted({**self._warps, **extra}.items()):
            self.identity[field] = f"{value}"
        self._rows = Together()
        most = chosen.batch or math.ceil(settings.concurrency / len(models))
        self._threads = [
            threading.Thread(target=self._work, args=(model, most), name=f"passcurve-hf-{at}", daemon=True)
            for at, model in enumerate(models)
        ]
        for thread in self._threads:
            thread.start()

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:
        """Load the model that stands behind the colon: a folder, or a name that the Hugging Face cache or hub has."""
        if not words:
            raise UsageError("hf: names no model; write it like hf:FOLDER or hf:OWNER/NAME")
        return cls(words, settings)

    def generate(self, order: SampleRequest) -> Iterator[Reply]:
        """Yield the samples once the batches that they are in are written."""
        self._check(order.prompt, order.decoding)
        for row in self._rows.put(order):
            yield row.reply.result()

    def close(self) -> None:
        """End the batches that are under way and let go of the models."""
        self._rows.close()
        for thread in self._threads:
            thread.join()

    def _work(self, model: Any, most: int) -> None:
        while rows := self._rows.take(most):
            try:
                for row, reply in zip(rows, self._written(model, rows), strict=True):
                    row.reply.set_result(reply)
            except (MemoryError, self._torch.OutOfMemoryError) as error:
                said = f"hf: out of memory with {len(rows)} samples at once; lower --concurrency ({_first(error)})"
                fail(rows, RefusedError(said))
            except PasscurveError as error:
                fail(rows, error)
            except Exception as error:
                fail(rows, ModelError(f"hf: {type(error).__name__}: {_first(error)}"))

    def _shown(self, prompt: Prompt) -> _Shown:
        begin: tuple[int, ...] = ()
        if prompt.messages:
            ids = self._tokenizer.apply_chat_template(
                conversation(prompt), add_generation_prompt=True, tokenize=True, return_dict=True, **self._template
            )["input_ids"]
        else:
            ids = self._tokenizer(prompt.text)["input_ids"]
            if self._decoder_prompt:
                begin = tuple(self._tokenizer(prompt.text, add_special_tokens=False)["input_ids"])
        return _Shown(ids=tuple(ids), begin=begin, digest=_digest(repr((ids, begin)).encode()))

    def _check(self, prompt: Prompt, decoding: Decoding) -> None:
        """Raise TooLongError where a prompt and its answer have no room in the context."""
        if self._room is None:
            return
        shown = self._shown(prompt)
        written = len(shown.begin) + (decoding.max_tokens or 1)
        needed = max(len(shown.ids), written) if self._encodes else len(shown.ids) + written
        if needed > self._room:
            raise TooLongError(
                f"problem {prompt.problem_id!r}: prompt and answer do not fit into the model's context "
                f"({len(shown.ids)} tokens and up to {written} of {self._room}); lower --max-tokens"
            )

    def _written(self, model: Any, rows: Sequence[Row]) -> list[Reply]:
        """Return the replies of one batch."""
        torch, transformers = self._torch, self._transformers
        decoding, began = rows[0].decoding, time.monotonic()
        shown = [self._shown(row.prompt) for row in rows]
        seeds = [sample_seed(decoding.seed, row.prompt.problem_id, row.index) for row in rows]
        given, start = self._given(model, shown)
        limit = decoding.max_tokens or self._left(shown)
        stops = Stops(torch, self._tokenizer, decoding.stop, start, len(rows), self._rows)
        with torch.inference_mode():
            found = model.generate(
                **given,
                do_sample=False,
                max_new_tokens=limit,
                logits_processor=transformers.LogitsProcessorList(self._processors(model.device, decoding, seeds)),
                stopping_criteria=transformers.StoppingCriteriaList([stops]),
            )
        if self._rows.closed:
            raise ModelError("the run has ended")
        took = time.monotonic() - began
        ends = model.generation_config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends])
        replies = []
        for at, (row, one) in enumerate(zip(rows, shown, strict=True)):
            new = found[at, start:].tolist()
            if stops.lengths[at] is not None:
                new = new[: stops.lengths[at]]
            end = next((place for place, token in enumerate(new) if token in ends), None)
            finished = end is not None or stops.lengths[at] is not None
            before = one.begin if self._encodes else one.ids
            replies.append(
                Reply(
                    key=SampleKey(problem_id=row.prompt.problem_id, sample_index=row.index),
                    text=continued(self._tokenizer, before, new[:end]),
                    finish_reason="stop" if finished else "length",
                    seed=seeds[at],
                    prompt_tokens=len(one.ids),
                    completion_tokens=len(new) if end is None else end + 1,
                    latency_s=took,
                    request=one.digest,
                    server_model=self._name,
                )
            )
        return replies

    def _left(self, shown: Sequence[_Shown]) -> int:
        taken = max(len(one.begin if self._encodes else one.ids) for one in shown)
        return _MAX_TOKENS if self._room is None else max(1, self._room - taken)

    def _given(self, model: Any, shown: Sequence[_Shown]) -> tuple[dict[str, Any], int]:
        """Return what ``generate`` takes, and the place of the first token that it will write."""
        ids, mask = self._padded([one.ids for one in shown], model, left=not self._encodes)
        given = {"input_ids": ids, "attention_mask": mask}
        if not self._encodes:
            return given, ids.shape[1]
        if not self._decoder_prompt:
            return given, 1
        first = model.generation_config.decoder_start_token_id
        ids, mask = self._padded([(first, *one.begin) for one in shown], model, left=True)
        return given | {"decoder_input_ids": ids, "decoder_attention_mask": mask}, ids.shape[1]

    def _padded(self, rows: Sequence[Sequence[int]], model: Any, *, left: bool) -> tuple[Any, Any]:
        width, pad = max(map(len, rows)), model.generation_config.pad_token_id
        filled = [([pad] * (width - len(row)), list(row)) for row in rows]
        marks = [([0] * (width - len(row)), [1] * len(row)) for row in rows]
        tensor = self._torch.tensor
        return (
            tensor([fill + row if left else row + fill for fill, row in filled], device=model.device),
            tensor([zero + one if left else one + zero for zero, one in marks], device=model.device),
        )

    def _processors(self, device: Any, decoding: Decoding, seeds: Sequence[int]) -> list[Any]:
        """Return what makes the largest number of a row the token that is drawn; nothing at temperature 0."""
        named = {"temperature": decoding.temperature, "top_p": decoding.top_p}
        values = self._warps | {name: value for name, value in named.items() if value is not None}
        if values.get("temperature") == 0:
            return []
        made = [
            getattr(self._transformers, _WARPERS[name])(values[name])
            for name in _WARPERS
            if values.get(name) is not None and values[name] != _NEUTRAL.get(name)
        ]
        return [*made, Noise(self._torch, device, seeds)]


class _Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--model-option`` says."""

    device: str
    dtype: str
    batch: int
    threads: int
    revision: str | None
    trust: bool
    decoder_prompt: bool

    @classmethod
    def of(cls, settings: Settings) -> _Chosen:
        """Return the options as they are meant; raises UsageError for what means nothing."""
        given = _OPTIONS | dict(settings.options)
        dtype = _SHORT.get(given["dtype"], given["dtype"])
        if dtype not in _DTYPES:
            raise UsageError(f"--model-option dtype={dtype!r} is none of {', '.join(_DTYPES)}{nearest(dtype, _DTYPES)}")
        return cls(
            device=given["device"],
            dtype=dtype,
            batch=_whole(given, "batch"),
            threads=_whole(given, "threads"),
            revision=given["revision"] or None,
            trust=_yes(given, "trust-remote-code"),
            decoder_prompt=_yes(given, "decoder-prompt"),
        )


def _libraries() -> tuple[Any, Any]:
    try:
        import huggingface_hub
        import torch
        import transformers
    except ImportError as error:
        raise UsageError(
            f"hf: needs {error.name or error}, which is not installed: pip install 'passcurve[hf]'"
        ) from None
    # Each tells its progress and its doubts on our stderr; what ends a run is told by us.
    huggingface_hub.utils.logging.set_verbosity(logging.CRITICAL)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


def _loaded(
    transformers: Any, name: str, chosen: _Chosen, devices: Sequence[str], kind: Any
) -> tuple[Any, Any, list[Any]]:
    """Return the configuration, the tokenizer and a model on each device: from a folder, the cache, or the hub."""
    is_folder = Path(name).is_dir()
    words = {"revision": chosen.revision, "trust_remote_code": chosen.trust, "local_files_only": True}
    try:
        try:
            return _read(transformers, name, words, devices, kind)
        except Exception:
            if is_folder:
                raise
            # What is in the cache is taken as it is: asking the hub whether there is a newer one needs a network.
            return _read(transformers, name, words | {"local_files_only": False}, devices, kind)
    except Exception as error:
        folder = "" if is_folder else "; there is no such folder, and neither the cache nor the hub gave it"
        raise RefusedError(f"hf: cannot load {name!r}{folder}: {_first(error)}") from error


def _read(
    transformers: Any, name: str, words: Mapping[str, object], devices: Sequence[str], kind: Any
) -> tuple[Any, Any, list[Any]]:
    config = transformers.AutoConfig.from_pretrained(name, **words)
    tokenizer = transformers.AutoTokenizer.from_pretrained(name, **words)
    of = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
    if devices == [_SHARD]:
        models = [of.from_pretrained(name, dtype=kind, device_map="auto", **words)]
    else:
        models = [of.from_pretrained(name, dtype=kind, **words).to(device) for device in devices]
    return config, tokenizer, [model.eval() for model in models]


def _settle(models: Sequence[Any], extra: Mapping[str, object]) -> dict[str, Any]:
    """Take what narrows the chances out of the models' own settings, and put the user's into them; return the former.

    Raises UsageError for a setting that transformers does not know.
    """
    found: dict[str, Any] = {}
    for model in models:
        config = model.generation_config
        for name, value in extra.items():
            if not hasattr(config, name):
                raise UsageError(f"--extra-body: transformers knows no {name!r}{nearest(name, vars(config))}")
            setattr(config, name, value)
        ends = config.eos_token_id
        if config.pad_token_id is None:
            config.pad_token_id = (ends[0] if isinstance(ends, list) else ends) or 0
        found = {name: value for name in _WARPERS if (value := getattr(config, name, None)) is not None}
        for name in _WARPERS:
            setattr(config, name, None)
        config.max_length = None
    return found


def _devices(torch: Any, words: str) -> list[str]:
    """Return where copies of the model go: all accelerators there are, or what was said."""
    if words == _SHARD:
        return [_SHARD]
    if words == "auto":
        return [f"cuda:{number}" for number in range(torch.cuda.device_count())] or ["cpu"]
    devices = [each for each in words.replace(",", " ").split() if each]
    for device in devices:
        try:
            torch.empty(0, device=torch.device(device))
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"--model-option device={device!r} cannot be used: {_first(error)}") from None
    if not devices:
        raise UsageError("--model-option device= names none; write it like device=cuda:0,cuda:1, or device=shard")
    return devices


def _dtype(torch: Any, words: str, device: str) -> Any:
    """Return the type of the weights: by default bfloat16 on an accelerator that computes in it, else float32."""
    if words != "auto":
        return getattr(torch, words)
    on_cuda = device.startswith("cuda") or (device == _SHARD and torch.cuda.is_available())
    return torch.bfloat16 if on_cuda and torch.cuda.is_bf16_supported() else torch.float32


def _weights(config: Any, name: str) -> str:
    """Return what tells one set of weights from another: the commit, or for a folder a digest of ends of its files."""
    if commit := getattr(config, "_commit_hash", None):
        return str(commit)
    found = hashlib.blake2b(digest_size=8)
    for path in sorted(path for path in Path(name).iterdir() if path.is_file()):
        size = path.stat().st_size
        found.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            found.update(file.read(_PROBE_BYTES))
            file.seek(max(0, size - _PROBE_BYTES))
            found.update(file.read(_PROBE_BYTES))
    return found.hexdigest()


def _whole(given: Mapping[str, str], name: str) -> int:
    """Return a count, 0 where nobody gave one."""
    text = given[name]
    if text and (not text.isdecimal() or int(text) < 1):
        raise UsageError(f"--model-option {name}={text!r} is no whole number from 1 on")
    return int(text or 0)


def _yes(given: Mapping[str, str], name: str) -> bool:
    text = given[name]
    if text not in ("yes", "no", "true", "false"):
        raise UsageError(f"--model-option {name}={text!r} is neither yes nor no")
    return text in ("yes", "true")


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"--extra-body: chat_template_kwargs is {value!r}; an object is due")
    return value


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _first(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:_SHOWN]
