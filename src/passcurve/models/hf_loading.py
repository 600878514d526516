"""Models of transformers: loaded from a folder, the Hugging Face cache or the hub, onto one or more devices."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from passcurve.errors import RefusedError, UsageError, nearest
from passcurve.models.hf_options import HfOptions
from passcurve.models.hub import cached_commit, require_hub
from passcurve.models.sanitize import first_line

WARPERS = {
    "temperature": "TemperatureLogitsWarper",
    "top_k": "TopKLogitsWarper",
    "top_p": "TopPLogitsWarper",
    "min_p": "MinPLogitsWarper",
    "typical_p": "TypicalLogitsWarper",
}
"""Logits warpers by their field of a generation config, in the order in which transformers applies them."""
_LIBRARIES = ("torch", "transformers", "huggingface_hub")
_CPU_TORCH = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
_SHARD = "shard"
_PROBE_BYTES = 1 << 20
"""Size of the part at either end of a file that goes into the digest of the weights."""


class LoadedModels(msgspec.Struct, frozen=True, kw_only=True):
    """One model, copied to each device, with its tokenizer."""

    torch: Any
    transformers: Any
    tokenizer: Any
    copies: list[Any]
    """The model on each device."""
    dtype: str
    weights: str
    """The commit of the weights, or for a folder a digest of the ends of its files."""
    is_encoder_decoder: bool
    context_tokens: int | None
    """Size of the context, None where positions are relative."""


def load_models(name: str, options: HfOptions) -> LoadedModels:
    """Load a model; raises UsageError for a missing library or device, RefusedError where it cannot be loaded."""
    _require_libraries()
    if not Path(name).is_dir() and cached_commit(name, options.revision) is None:
        require_hub(name, options.revision)
    torch, transformers = _libraries()
    devices = _devices(torch, options.device)
    if options.threads or "cpu" in devices:
        # The judge runs beside the model: with more threads than free cores each of them takes many times as long.
        half = max(1, (os.cpu_count() or 1) // 2 // len(devices))
        torch.set_num_threads(options.threads or min(torch.get_num_threads(), half))
    dtype = _dtype(torch, options.dtype, devices[0])
    config, tokenizer, copies = _load(transformers, name, options, devices, dtype)
    inner = config.get_text_config(decoder=True)
    is_relative = hasattr(inner, "relative_attention_num_buckets")
    return LoadedModels(
        torch=torch,
        transformers=transformers,
        tokenizer=tokenizer,
        copies=copies,
        dtype=str(dtype).removeprefix("torch."),
        weights=_weights(name, options.revision),
        is_encoder_decoder=bool(config.is_encoder_decoder),
        context_tokens=None if is_relative else getattr(inner, "max_position_embeddings", None),
    )


def configure_generation(models: Sequence[Any], extra: Mapping[str, object]) -> dict[str, Any]:
    """Put the user's fields into the models' generation configs; take the warpers' fields out and return them.

    Raises UsageError for a field that transformers does not know.
    """
    warps: dict[str, Any] = {}
    for model in models:
        config = model.generation_config
        for name, value in extra.items():
            if not hasattr(config, name):
                raise UsageError(f"--extra-body: transformers has no setting {name!r}{nearest(name, vars(config))}")
            setattr(config, name, value)
        ends = config.eos_token_id
        if config.pad_token_id is None:
            config.pad_token_id = (ends[0] if isinstance(ends, list) else ends) or 0
        warps = {name: value for name in WARPERS if (value := getattr(config, name, None)) is not None}
        for name in WARPERS:
            setattr(config, name, None)
        config.max_length = None
    return warps


def _require_libraries() -> None:
    for library in _LIBRARIES:
        if importlib.util.find_spec(library) is None:
            raise _missing(library)


def _missing(library: str) -> UsageError:
    hint = f" (CPU only, a smaller download: first {_CPU_TORCH})" if library == "torch" else ""
    return UsageError(f"hf: needs {library}, which is not installed: pip install 'passcurve[hf]'{hint}")


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise _missing(error.name or str(error)) from None
    # It logs its progress and its warnings on stderr; an error that ends a run is reported by us.
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


def _load(
    transformers: Any, name: str, options: HfOptions, devices: Sequence[str], dtype: Any
) -> tuple[Any, Any, list[Any]]:
    """Return the configuration, the tokenizer and a model on each device."""
    source = {"revision": options.revision, "trust_remote_code": options.trust_remote_code}
    try:
        try:
            # A cached model is used as it is: asking the hub for a newer one needs a network.
            return _read(transformers, name, source | {"local_files_only": True}, devices, dtype)
        except Exception:
            if Path(name).is_dir():
                raise
        require_hub(name, options.revision)
        return _read(transformers, name, source | {"local_files_only": False}, devices, dtype)
    except RefusedError:
        raise
    except Exception as error:
        raise RefusedError(f"hf: cannot load {name!r}: {first_line(error)}") from error


def _read(
    transformers: Any, name: str, source: Mapping[str, object], devices: Sequence[str], dtype: Any
) -> tuple[Any, Any, list[Any]]:
    config = transformers.AutoConfig.from_pretrained(name, **source)
    tokenizer = transformers.AutoTokenizer.from_pretrained(name, **source)
    kind = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
    if devices == [_SHARD]:
        models = [kind.from_pretrained(name, dtype=dtype, device_map="auto", **source)]
    else:
        models = [kind.from_pretrained(name, dtype=dtype, **source).to(device) for device in devices]
    return config, tokenizer, [model.eval() for model in models]


def _devices(torch: Any, text: str) -> list[str]:
    """Return the devices that get a copy of the model: those of the option, or every accelerator."""
    if text == _SHARD:
        return [_SHARD]
    if text == "auto":
        return [f"cuda:{number}" for number in range(torch.cuda.device_count())] or ["cpu"]
    devices = text.replace(",", " ").split()
    for device in devices:
        try:
            torch.empty(0, device=torch.device(device))
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"--model-option device={device!r} cannot be used: {first_line(error)}") from None
    if not devices:
        raise UsageError("--model-option device= is empty; write it like device=cuda:0,cuda:1, or device=shard")
    return devices


def _dtype(torch: Any, name: str, device: str) -> Any:
    """Return the type of the weights: by default bfloat16 on an accelerator that computes in it, else float32."""
    if name != "auto":
        return getattr(torch, name)
    is_cuda = device.startswith("cuda") or (device == _SHARD and torch.cuda.is_available())
    return torch.bfloat16 if is_cuda and torch.cuda.is_bf16_supported() else torch.float32


def _weights(name: str, revision: str | None) -> str:
    """Return the commit of the weights, or for a folder a digest of the ends of its files."""
    if not Path(name).is_dir():
        return cached_commit(name, revision) or ""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(path for path in Path(name).iterdir() if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(_PROBE_BYTES))
            file.seek(max(0, size - _PROBE_BYTES))
            digest.update(file.read(_PROBE_BYTES))
    return digest.hexdigest()
