"""What generating took, in words: while it goes on, and in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from passcurve.report.terminal import listed, number, printable
from passcurve.types import Counts, Estimate, GenerationProgress, Prices

_FAILURES_SHOWN = 5


def live_parts(at: GenerationProgress) -> list[str]:
    """Return what stands on the live line beside the verdicts."""
    parts = [f"{at.stored:,} of {max(at.planned, at.stored):,} generated"]
    if at.fresh_tokens and at.seconds > 0:
        parts.append(f"{at.fresh_tokens / at.seconds:,.0f} tokens/s")
    if at.stored:
        parts.append(f"{at.truncated / at.stored:.1%} truncated")
    attempts = at.fresh + at.retried + len(at.failures)
    if at.retried or at.failures:
        parts.append(f"{(at.retried + len(at.failures)) / attempts:.1%} errors")
    return parts


def final_lines(found: GenerationProgress) -> list[str]:
    """Return what the report says of it."""
    known = found.stored - found.fresh
    parts = [f"{found.fresh:,} samples in {found.seconds:.1f} s" + (f", {known:,} were stored" if known else "")]
    if found.completion_tokens:
        tokens = f"{found.completion_tokens:,} tokens written"
        if found.reasoning_tokens:
            tokens += f" ({found.reasoning_tokens:,} of them reasoning)"
        parts.append(f"{tokens}, {found.prompt_tokens:,} read")
        if found.fresh_tokens and found.seconds > 0:
            parts.append(f"{found.fresh_tokens / found.seconds:,.0f} tokens/s")
    if found.latency_s and found.stored:
        parts.append(f"mean latency {found.latency_s / found.stored:.2f} s")
    if found.retried:
        parts.append(f"{found.retried:,} attempts failed and were made again")
    lines = [f"  generated: {'; '.join(parts)}"]
    lines += _copies(found)
    if found.truncated:
        share = f"{found.truncated:,} of {found.stored:,} samples ({found.truncated / found.stored:.1%})"
        lines.append(f"  truncated: {share} were cut off at the limit of tokens; --max-tokens raises it")
    return lines


def _copies(found: GenerationProgress) -> list[str]:
    """Return what is to be said of samples that are one and the same, where it is known how they were drawn."""
    if found.temperature is None or not found.uniform_problems:
        return []
    said = f"  copies: all samples of {found.uniform_problems:,} of {found.repeated_problems:,} problems are one text"
    if found.temperature == 0.0:
        return [
            f"{said}, as they should be at temperature 0: n is 1 in effect there, and k > 1 says no more than k = 1"
        ]
    said += f" at temperature {found.temperature:g}"
    if 2 * found.uniform_problems > found.repeated_problems:
        said += "; does the server draw at all, and by the seed of each sample?"
    return [said]


def cost(found: GenerationProgress, prices: Prices) -> float:
    """Return what all samples of the run cost, as far as their tokens are known."""
    cached = found.cached_tokens if prices.cached is not None else 0
    million = (
        (found.prompt_tokens - cached) * prices.input
        + cached * (prices.cached or 0.0)
        + found.completion_tokens * prices.output
    )
    return million / 1e6


def cost_record(found: GenerationProgress, prices: Prices, counts: Sequence[Counts]) -> dict[str, Any]:
    """Return the cost for ``--json``; a problem is solved when any of its samples passed."""
    total, solved = cost(found, prices), sum(each.c > 0 for each in counts)
    return {
        "total": total,
        "currency": prices.currency,
        "solved": solved,
        "per_solved": total / solved if solved else None,
        "uncounted": found.uncounted,
    }


def cost_line(found: GenerationProgress, prices: Prices, counts: Sequence[Counts]) -> str:
    """Return the cost in words."""
    said = cost_record(found, prices, counts)
    line = f"  cost: {said['total']:.4g} {prices.currency}"
    if said["solved"]:
        line += f", {said['per_solved']:.4g} for each of {said['solved']} solved problems"
    if found.uncounted:
        line += f"; at least, for the tokens of {found.uncounted:,} requests are not known"
    return line


def sweep_lines(runs: Sequence[tuple[float | None, Sequence[Estimate], GenerationProgress | None]]) -> list[str]:
    """Return a table of scores by temperature."""
    names = list(dict.fromkeys(each.name for _, estimates, _ in runs for each in estimates))
    lines = ["", "  temperature" + "".join(f"{name:>12}" for name in names) + "   truncated"]
    for temperature, estimates, generated in runs:
        found = {each.name: each.value for each in estimates}
        cells = [number(value) if (value := found.get(name)) is not None else "-" for name in names]
        rate = f"{generated.truncated / generated.stored:.1%}" if generated is not None and generated.stored else "-"
        lines.append(f"  {temperature:<11g}" + "".join(f"{cell:>12}" for cell in cells) + f"{rate:>12}")
    lines.append("  the best of several temperatures looks better than it is: choose on other problems than you report")
    return lines


def failure_lines(found: GenerationProgress) -> list[str]:
    """Return why samples are missing, bounded."""
    reasons = [each for each in found.failures if each != found.ended_by]
    lines = listed((printable(each) for each in reasons), _FAILURES_SHOWN, "more reasons")
    return [*lines, printable(found.ended_by)] if found.ended_by else lines


def generated_record(found: GenerationProgress) -> dict[str, Any]:
    """Return it for ``--json``."""
    record: dict[str, Any] = msgspec.to_builtins(found)
    return record | {"truncated_rate": found.truncated / found.stored if found.stored else None}
