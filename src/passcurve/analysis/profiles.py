"""The same samples by the rules of several harnesses: the score under each, and every disagreement with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from passcurve.bench.profiles import PROFILES, find_profile
from passcurve.errors import UsageError
from passcurve.judging import run as judging
from passcurve.report.diagnosis import coverage
from passcurve.report.records import Disagreement, ProfileRuling, ProfileScore
from passcurve.store.rundir import RunDir

EXCLUDED = "excluded"


class ProfileComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One set of samples under several profiles."""

    benchmark: str
    scores: tuple[ProfileScore, ...]
    disagreements: tuple[Disagreement, ...]
    malformed: int
    """Lines of the file that are no rows."""
    exit_code: int


def check_profiles(names: Sequence[str]) -> tuple[str, ...]:
    """Return the profiles to compare, each once.

    Raises UnknownNameError for an unknown one, UsageError where there is only one.
    """
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        find_profile(name)
    if len(chosen) < 2:
        raise UsageError(f"a comparison needs at least two profiles, got only {chosen[0]!r}; add another")
    return chosen


def compare_profiles(
    profiles: Sequence[str],
    request: Callable[[str], judging.Request],
    watch: Callable[[judging.Progress], None] = lambda _: None,
) -> ProfileComparison:
    """Judge the samples under each profile; ``request`` returns the request to do so.  Raises what ``judge`` raises."""
    scores, rulings, code = [], dict[tuple[str, int], dict[str, ProfileRuling]](), 0
    benchmark, malformed = "", 0
    for profile in profiles:
        asks = request(profile)
        result = judging.judge(asks, watch)
        benchmark, malformed, code = result.benchmark, result.malformed_lines, code or result.exit_code
        scores.append(_score(profile, result))
        excluded = {exclusion.problem_id: exclusion.reason for exclusion in result.diagnosis.scope.excluded}
        with RunDir(asks.run).read() as stored:
            for verdict in stored.iter_verdicts():
                key = (verdict.key.problem_id, verdict.key.sample_index)
                ruling = ProfileRuling(status=verdict.status, reason=verdict.message)
                if key[0] in excluded:
                    ruling = ProfileRuling(status=EXCLUDED, reason=excluded[key[0]])
                rulings.setdefault(key, {})[profile] = ruling
    disagreements = tuple(
        Disagreement(problem_id=problem_id, sample_index=index, rulings=of)
        for (problem_id, index), of in rulings.items()
        if len({ruling.status == "passed" for ruling in of.values()}) > 1
    )
    return ProfileComparison(
        benchmark=benchmark,
        scores=tuple(scores),
        disagreements=disagreements,
        malformed=malformed,
        exit_code=code,
    )


def _score(profile: str, result: judging.Result) -> ProfileScore:
    return ProfileScore(
        profile=profile,
        title=PROFILES[profile].title,
        passed=sum(count.c for count in result.counts),
        samples=sum(count.n for count in result.counts),
        estimates=result.estimates,
        suites=result.suites,
        withheld=result.diagnosis.withheld,
        coverage=coverage(result.diagnosis.scope, sum(count.n > 0 for count in result.counts)),
        signature=result.signature,
    )
