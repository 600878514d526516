"""What of a header could change a verdict, its digest, and what differs between two."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from passcurve.types import Header


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One setting that differs between two headers, in words for a reader."""

    field: str
    """With its record: ``limits.timeout_s``."""
    was: str
    now: str


def stage_digest(header: Header) -> str:
    """Return the digest of everything that could change a verdict; verdicts of equal digests may stand together."""
    return blake2b(msgspec.json.encode(_settings(header)), digest_size=16).hexdigest()


def changes(was: Header, now: Header) -> tuple[Change, ...]:
    """Return what differs between two headers, of everything that could change a verdict."""
    before, after = _settings(was), _settings(now)
    return tuple(
        Change(field=field, was=_in_words(before[field]), now=_in_words(after[field]))
        for field in after
        if before[field] != after[field]
    )


def _settings(header: Header) -> dict[str, object]:
    # Where the samples lie and whether equal programs share a judgement change no verdict; nor does what the
    # jail could not put in force, as long as what it did put in force is the same.
    jail = header.jail
    return {
        "version": header.version,
        "benchmark_digest": header.benchmark_digest,
        **{f"limits.{name}": value for name, value in msgspec.structs.asdict(header.limits).items()},
        "extract": header.extract,
        "verdict": header.verdict,
        "problems": header.problems,
        "seed": header.seed,
        "jail.isolation": jail.isolation,
        "jail.layers": jail.layers,
        "jail.python": jail.python,
        "jail.packages": jail.packages,
    }


def _in_words(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)
