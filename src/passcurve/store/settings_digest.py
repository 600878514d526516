"""The settings of a header that could change a verdict: their digest, and the differences between two headers."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from passcurve.types import Header


class SettingChange(msgspec.Struct, frozen=True, kw_only=True):
    """One setting that differs between two headers, as text."""

    field: str
    """Its name with that of its record, as in ``limits.timeout_s``."""
    was: str
    now: str


def settings_digest(header: Header) -> str:
    """Return the digest of all settings that could change a verdict; equal digests mean comparable verdicts."""
    return blake2b(msgspec.json.encode(_settings(header)), digest_size=16).hexdigest()


def changed_settings(was: Header, now: Header) -> tuple[SettingChange, ...]:
    """Return the settings that differ between two headers and could change a verdict."""
    before, after = _settings(was), _settings(now)
    return tuple(
        SettingChange(field=field, was=_to_text(before[field]), now=_to_text(after[field]))
        for field in after
        if before[field] != after[field]
    )


def _settings(header: Header) -> dict[str, object]:
    # Not among them: the path of the samples, shared judgements of equal programs, and the layers that the jail
    # could not enforce, for none of these changes a verdict.
    jail = header.jail
    return {
        "version": header.version,
        "benchmark_digest": header.benchmark_digest,
        **{f"limits.{name}": value for name, value in msgspec.structs.asdict(header.limits).items()},
        "extract": header.extract,
        "profile": header.profile,
        "all_tests": header.all_tests,
        "reading": header.reading,
        "verdict": header.verdict,
        "problems": header.problems,
        "seed": header.seed,
        "jail.isolation": jail.isolation,
        "jail.layers": jail.layers,
        "jail.python": jail.python,
        "jail.packages": jail.packages,
        "jail.toolchains": jail.toolchains,
    }


def _to_text(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)
