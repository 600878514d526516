"""The same samples by the rules of several harnesses: the score under each, and every disagreement with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from passcurve.bench.profiles import PROFILES, find_profile
from passcurve.errors import DataError, UsageError, place_error
from passcurve.judging import run as judging
from passcurve.report.diagnosis import coverage
from passcurve.report.records import Disagreement, ProfileRuling, ProfileScore
from passcurve.signature import signature
from passcurve.store.completions import stored_rows
from passcurve.store.index_order import by_index
from passcurve.store.rundir import RunDir
from passcurve.store.whole_files import whole_file
from passcurve.types import Generation

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


def write_generated(run: Path, file: Path) -> None:
    """Write the samples that a run has generated as a file to judge, those of each problem by their indices.

    Raises DataError where some are missing between others, and UsageError or StoreError when it cannot be written.
    """
    count: Counter[str] = Counter()
    try:
        with whole_file(file) as target:
            for row in by_index(stored_rows(run)):
                problem_id, index = row.key.problem_id, row.key.sample_index
                # The rows of a file are numbered as they stand.
                if index != count[problem_id]:
                    missing = f"{problem_id!r} has sample {index} and not sample {count[problem_id]}"
                    raise DataError(f"the run {str(run)!r} is not finished: {missing}; run it to its end")
                target.write(row.raw + b"\n")
                count[problem_id] += 1
    except OSError as error:
        message = f"cannot write {str(file)!r}: {error.strerror or error}; choose another place with --run DIR"
        raise place_error(message, error) from error


def compare_profiles(
    profiles: Sequence[str],
    request: Callable[[str], judging.Request],
    watch: Callable[[judging.Progress], None] = lambda _: None,
    generation: Generation | None = None,
) -> ProfileComparison:
    """Judge the samples under each profile; ``request`` returns the request to do so, ``generation`` is of the samples.

    Raises what ``judge`` raises.
    """
    scores, rulings, code = [], dict[tuple[str, int], dict[str, ProfileRuling]](), 0
    benchmark, malformed = "", 0
    for profile in profiles:
        asks = request(profile)
        result = judging.judge(asks, watch)
        benchmark, malformed, code = result.benchmark, result.malformed_lines, code or result.exit_code
        scores.append(_score(profile, result, generation))
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


def _score(profile: str, result: judging.Result, generation: Generation | None) -> ProfileScore:
    header = msgspec.structs.replace(result.header, generation=generation)
    return ProfileScore(
        profile=profile,
        title=PROFILES[profile].title,
        passed=sum(count.c for count in result.counts),
        samples=sum(count.n for count in result.counts),
        estimates=result.estimates,
        suites=result.suites,
        withheld=result.diagnosis.withheld,
        coverage=coverage(result.diagnosis.scope, sum(count.n > 0 for count in result.counts)),
        signature=signature(header, result.diagnosis.scope),
        findings=tuple(finding.record() for finding in result.diagnosis.input.findings),
    )
