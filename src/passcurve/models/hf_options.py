"""Values of ``--model-option`` for the back end ``hf:``."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from passcurve.errors import UsageError, nearest
from passcurve.models.backend import Settings

DEFAULTS = {
    "batch": "",
    "decoder-prompt": "no",
    "device": "auto",
    "dtype": "auto",
    "revision": "",
    "threads": "",
    "trust-remote-code": "no",
}
"""Each option with its default."""
_DTYPE_ALIASES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_DTYPES = ("auto", "bfloat16", "float16", "float32")


class HfOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed options."""

    device: str
    dtype: str
    batch: int
    """0 for the default."""
    threads: int
    """0 for the default."""
    revision: str | None
    trust_remote_code: bool
    decoder_prompt: bool

    @classmethod
    def parse(cls, settings: Settings) -> HfOptions:
        """Return the options of the settings; raises UsageError for an invalid value."""
        texts = DEFAULTS | dict(settings.options)
        dtype = _DTYPE_ALIASES.get(texts["dtype"], texts["dtype"])
        if dtype not in _DTYPES:
            raise UsageError(
                f"--model-option dtype={dtype!r} must be one of {', '.join(_DTYPES)}{nearest(dtype, _DTYPES)}"
            )
        return cls(
            device=texts["device"],
            dtype=dtype,
            batch=_parse_count(texts, "batch"),
            threads=_parse_count(texts, "threads"),
            revision=texts["revision"] or None,
            trust_remote_code=_parse_flag(texts, "trust-remote-code"),
            decoder_prompt=_parse_flag(texts, "decoder-prompt"),
        )


def _parse_count(texts: Mapping[str, str], name: str) -> int:
    """Return a positive integer, or 0 where none is set."""
    text = texts[name]
    if text and (not text.isdecimal() or int(text) < 1):
        raise UsageError(f"--model-option {name}={text!r} must be a positive integer")
    return int(text or 0)


def _parse_flag(texts: Mapping[str, str], name: str) -> bool:
    text = texts[name]
    if text not in ("yes", "no", "true", "false"):
        raise UsageError(f"--model-option {name}={text!r} must be yes or no")
    return text in ("yes", "true")
