"""Progress and cost of generation as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from passcurve.report.terminal import number, printable, truncate
from passcurve.types import Counts, Estimate, GenerationProgress, Prices
from passcurve.types.amounts import amount, part_of, were

_FAILURES_SHOWN = 5
_MODELS_SHOWN = 5
_FEWEST_CHOICES = 10
"""Fewest choices that tell whether a server draws each choice of a request."""


def live_parts(at: GenerationProgress) -> list[str]:
    """Return the parts of the live line about generation."""
    parts = [f"{at.stored:,} of {max(at.planned, at.stored):,} generated"]
    if at.fresh_tokens and at.seconds > 0:
        parts.append(f"{at.fresh_tokens / at.seconds:,.0f} tokens/s")
    if at.stored:
        parts.append(f"{at.truncated / at.stored:.1%} truncated")
    if at.error_rate:
        parts.append(f"{at.error_rate:.1%} errors")
    return parts


def final_lines(progress: GenerationProgress) -> list[str]:
    """Return the lines of the report about generation."""
    stored_before = progress.stored - progress.fresh
    parts = [
        f"{amount(progress.fresh, 'sample')} in {progress.seconds:.1f} s"
        + (f", {stored_before:,} were stored" if stored_before else "")
    ]
    if progress.completion_tokens:
        tokens = f"{progress.completion_tokens:,} tokens written"
        if progress.reasoning_tokens:
            tokens += f" ({progress.reasoning_tokens:,} of them reasoning)"
        tokens += f", {progress.prompt_tokens:,} read"
        if progress.uncounted:
            tokens += f", and those of {amount(progress.uncounted, 'request')} that the server did not count"
        parts.append(tokens)
        if progress.fresh_tokens and progress.seconds > 0:
            parts.append(f"{progress.fresh_tokens / progress.seconds:,.0f} tokens/s")
    if progress.latency_s and progress.stored:
        parts.append(f"mean latency {progress.latency_s / progress.stored:.2f} s")
    if progress.retried:
        parts.append(f"{amount(progress.retried, 'attempt')} failed and {were(progress.retried)} made again")
    lines = [f"  generated: {'; '.join(parts)}"]
    if progress.stored > progress.planned:
        lines.append(f"  more than asked for: {progress.stored:,} samples are stored, and all of them are scored")
    lines += _copies(progress)
    if progress.truncated:
        share = _share(progress.truncated, progress.stored)
        lines.append(
            f"  truncated: {share} {were(progress.truncated)} cut off at the limit of tokens; --max-tokens raises it"
        )
    if progress.filtered:
        share = _share(progress.filtered, progress.stored)
        verb = f"{were(progress.filtered)} ended"
        lines.append(f"  filtered: {share} {verb} by the server's content filter, which counts as the model's")
    if len(progress.server_models) > 1:
        names = (f"{printable(name)} ({count:,})" for name, count in progress.server_models.items())
        shown = ", ".join(truncate(names, _MODELS_SHOWN, "more"))
        lines.append(f"  models: the server named {len(progress.server_models)}, by samples: {shown}")
    return lines


def _share(part: int, whole: int) -> str:
    return f"{part_of(part, whole, 'sample')} ({part / whole:.1%})"


def _copies(progress: GenerationProgress) -> list[str]:
    """Return a note on identical samples, if the temperature is known."""
    uniform, repeated = progress.uniform_problems, progress.repeated_problems
    if progress.temperature is None or not repeated:
        return []
    line = f"  copies: all samples of {uniform:,} of {repeated:,} problems are one text"
    if progress.temperature == 0.0:
        if uniform < repeated:
            return [f"{line} at temperature 0, where all should be: the model does not always answer alike"]
        return [
            f"{line}, as they should be at temperature 0: n is 1 in effect there, and k > 1 says no more than k = 1"
        ]
    if progress.choices == progress.equal_choices >= _FEWEST_CHOICES and 2 * uniform <= repeated:
        return [
            "  copies: the samples of each request are one text: the server does not draw each, so n is smaller in "
            "effect, and pass@k for k > 1 is too low; use --per-request 1, and another --run"
        ]
    if not uniform:
        return []
    line += f" at temperature {progress.temperature:g}"
    if 2 * uniform > repeated:
        line += "; does the server draw at all, and by the seed of each sample?"
    return [line]


class TokenCounts(Protocol):
    """The tokens of all samples."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all requests."""
        ...

    @property
    def cached_tokens(self) -> int:
        """Those of them that the server had in its cache."""
        ...

    @property
    def completion_tokens(self) -> int:
        """Tokens of all replies."""
        ...

    @property
    def uncounted(self) -> int:
        """Requests whose tokens are not known."""
        ...


def cost(progress: TokenCounts, prices: Prices) -> float:
    """Return the cost of all samples whose tokens are known."""
    cached = progress.cached_tokens if prices.cached is not None else 0
    million = (
        (progress.prompt_tokens - cached) * prices.input
        + cached * (prices.cached or 0.0)
        + progress.completion_tokens * prices.output
    )
    return million / 1e6


def cost_record(progress: TokenCounts, prices: Prices, counts: Sequence[Counts]) -> dict[str, Any]:
    """Return the cost for ``--json``; a problem is solved when any of its samples passed.

    ``total`` is None where the server counted no tokens, else a lower bound where some requests are uncounted.
    """
    is_known = progress.prompt_tokens or progress.completion_tokens or not progress.uncounted
    total, solved = cost(progress, prices) if is_known else None, sum(problem.c > 0 for problem in counts)
    return {
        "total": total,
        "currency": prices.currency,
        "solved": solved,
        "per_solved": total / solved if total is not None and solved else None,
        "uncounted": progress.uncounted,
    }


def cost_line(progress: GenerationProgress, prices: Prices, counts: Sequence[Counts]) -> str:
    """Return the cost as a line of text."""
    record = cost_record(progress, prices, counts)
    if record["total"] is None:
        return "  cost: not known, for the server counted no tokens"
    line = f"  cost: {record['total']:.4g} {prices.currency}"
    if record["solved"]:
        line += (
            f", {record['per_solved']:.4g} for each of {record['solved']} solved problems"
            if record["solved"] > 1
            else ", for one solved problem"
        )
    if progress.uncounted:
        line += f"; at least, for the tokens of {amount(progress.uncounted, 'request')} are not known"
    return line


def sweep_lines(runs: Sequence[tuple[float | None, Sequence[Estimate], GenerationProgress | None]]) -> list[str]:
    """Return a table of scores by temperature."""
    names = list(dict.fromkeys(estimate.name for _, estimates, _ in runs for estimate in estimates))
    lines = ["", "  temperature" + "".join(f"{name:>12}" for name in names) + "   truncated"]
    for temperature, estimates, generated in runs:
        values = {estimate.name: estimate.value for estimate in estimates}
        cells = [number(value) if (value := values.get(name)) is not None else "-" for name in names]
        rate = f"{generated.truncated / generated.stored:.1%}" if generated is not None and generated.stored else "-"
        lines.append(f"  {temperature:<11g}" + "".join(f"{cell:>12}" for cell in cells) + f"{rate:>12}")
    if _differ(runs, names):
        text = "the best of several temperatures looks better than it is: choose on other problems than you report"
        lines.append(f"  {text}")
    return lines


def _differ(
    runs: Sequence[tuple[float | None, Sequence[Estimate], GenerationProgress | None]], names: Sequence[str]
) -> bool:
    """Return whether some score depends on the temperature."""
    scores = [{estimate.name: estimate.value for estimate in estimates} for _, estimates, _ in runs]
    return any(len({score.get(name) for score in scores} - {None}) > 1 for name in names)


def failure_lines(progress: GenerationProgress) -> list[str]:
    """Return the reasons for missing samples, a bounded number of lines."""
    reasons = [failure for failure in progress.failures if failure != progress.ended_by]
    lines = truncate((printable(reason) for reason in reasons), _FAILURES_SHOWN, "more reasons")
    return [*lines, printable(progress.ended_by)] if progress.ended_by else lines


def generated_record(progress: GenerationProgress) -> dict[str, Any]:
    """Return the progress for ``--json``."""
    record: dict[str, Any] = msgspec.to_builtins(progress)
    return record | {"truncated_rate": progress.truncated / progress.stored if progress.stored else None}
