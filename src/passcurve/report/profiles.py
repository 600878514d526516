"""Text about one set of samples under several profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from passcurve.report.records import Disagreement, ProfileRuling, ProfileScore
from passcurve.report.terminal import number_or_dash, printable
from passcurve.types.amounts import amount

_REASON_CHARACTERS = 100


def profile_lines(
    benchmark: str, scores: Sequence[ProfileScore], disagreements: Sequence[Disagreement], shown: int
) -> Iterator[str]:
    """Yield what is wrong with the samples, a line for each profile, and each disagreement with its reasons."""
    yield f"{benchmark}: {amount(len(scores), 'profile')}, {amount(len(disagreements), 'sample')} judged differently"
    yield from _finding_lines(scores)
    wide = max(len(score.profile) for score in scores)
    for score in scores:
        values = "  ".join(f"{estimate.name} {number_or_dash(estimate.value)}" for estimate in score.estimates)
        yield f"  {score.profile:{wide}}  {score.passed:,} of {score.samples:,} passed  {values}".rstrip()
        if "(" in score.coverage:
            yield printable(f"    {score.coverage}")
        for reason in dict.fromkeys(estimate.reason for estimate in score.estimates if estimate.value is None):
            yield printable(f"    no score: {reason}")
    for one in disagreements[:shown]:
        yield f"  {printable(one.problem_id)} sample {one.sample_index}"
        for names, ruling in _group_rulings(one.rulings):
            reason = printable(" ".join(ruling.reason.split())[:_REASON_CHARACTERS])
            yield f"    {names}: {ruling.status}{f' ({reason})' if reason else ''}"
    if len(disagreements) > shown:
        most = Counter(one.problem_id for one in disagreements[shown:]).most_common(3)
        names = ", ".join(f"{printable(name)} ({count})" for name, count in most)
        yield f"  and {len(disagreements) - shown} more, most of {names}; --json has them all"


def _finding_lines(scores: Sequence[ProfileScore]) -> Iterator[str]:
    """Yield each finding once, with the profiles under which it holds where these are not all."""
    profiles: dict[str, list[str]] = {}
    for score in scores:
        for finding in score.findings:
            profiles.setdefault(str(finding["text"]), []).append(score.profile)
    for text, names in profiles.items():
        part = f" ({', '.join(names)})" if len(names) < len(scores) else ""
        yield printable(f"  input{part}: {text}")


def _group_rulings(rulings: Mapping[str, ProfileRuling]) -> Iterator[tuple[str, ProfileRuling]]:
    """Yield each verdict once, with the profiles that give it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for profile, ruling in rulings.items():
        groups.setdefault((ruling.status, ruling.reason), []).append(profile)
    for names in groups.values():
        yield ", ".join(names), rulings[names[0]]
