"""The signature: one line with every setting that could change a score."""

from __future__ import annotations

import json
from hashlib import blake2b

from passcurve.diagnosis import Scope
from passcurve.types import Header


def signature(header: Header, scope: Scope | None = None) -> str:
    """Return the signature of a score: ``name:value`` pairs, separated by ``|``.

    ``scope`` is what the score covers, where that is known.
    """
    limits, jail = header.limits, header.jail
    parts = {
        "benchmark": f"{header.benchmark}@{header.benchmark_digest[:12]}",
        "timeout": f"{'benchmark' if header.own_limits else f'{limits.timeout_s:g}s'}-{limits.clock}",
        "memory": f"{limits.memory_bytes / (1 << 30):g}GiB",
        "extract": header.extract,
        "verdict": header.verdict,
        "isolation": jail.isolation,
        "python": jail.python,
        "packages": "+".join(package.replace("==", "-") for package in jail.packages) or "none",
        **({"toolchains": "+".join(jail.toolchains)} if jail.toolchains else {}),
        "seed": str(header.seed),
        "dedup": "yes" if header.dedup else "no",
        "passcurve": header.version,
    }
    for entry in header.reading:
        option, _, chosen = entry.partition(":")
        parts[option] = chosen
    if limits.test_timeout_s is not None:
        parts["test-timeout"] = f"{limits.test_timeout_s:g}s"
    if header.profile != "native":
        parts["profile"] = header.profile
    if header.task:
        parts["task"] = header.task
    if header.language:
        parts["language"] = header.language
    if header.subset:
        parts["subset"] = "yes"
    if header.problems:
        parts["problems"] = header.problems
    if scope is not None and scope.covered < scope.total:
        parts["scored"] = f"{scope.covered}of{scope.total}"
    if (generation := header.generation) is not None:
        parts["model"] = generation.model
        parts["prompt"] = f"{generation.prompt}@{generation.prompt_digest[:12]}"
        for name, value in (
            ("temperature", generation.decoding.temperature),
            ("top-p", generation.decoding.top_p),
            ("max-tokens", generation.decoding.max_tokens),
        ):
            if value is not None:
                parts[name] = f"{value:g}"
        parts["run-seed"] = str(generation.decoding.seed)
        # Texts that may hold the signs between the parts.
        if generation.decoding.stop:
            parts["stop"] = digest(json.dumps(generation.decoding.stop))
        if generation.identity:
            identity = {name: _spell_out(value) for name, value in generation.identity.items()}
            parts["back-end"] = digest(json.dumps(identity, sort_keys=True))
    return _spell_out("|".join(f"{name}:{value}" for name, value in parts.items()))


def digest(signature: str) -> str:
    """Return a signature in twelve characters; the empty string for none."""
    return blake2b(signature.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest() if signature else ""


def _spell_out(text: str) -> str:
    """Return a text with lone surrogates, which the name of a file may have, as they are stored."""
    return text.encode("utf-8", "backslashreplace").decode()
