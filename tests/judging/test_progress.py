"""The progress of a run: its score so far covers judged problems that can be judged, and has intervals when it may."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from passcurve.api.options import load_benchmark, make_request
from passcurve.judging.plan import CheckPlan
from passcurve.judging.request import Progress
from passcurve.judging.run import judge
from passcurve.judging.scheduler import MAX_BATCH
from passcurve.store.tally import Tally
from passcurve.types import SampleKey, Verdict


def progress(passed: dict[str, list[bool]], **fields: object) -> Progress:
    """Return the progress of a run with these verdicts; a problem without one is planned."""
    tally = Tally()
    for problem_id, verdicts in passed.items():
        tally.plan(problem_id)
        for at, is_pass in enumerate(verdicts):
            if at:
                tally.plan(problem_id)
            key = SampleKey(problem_id=problem_id, sample_index=at)
            tally.add(Verdict(key=key, status="passed" if is_pass else "failed", mode="referee"))
    numbers = {"judged": tally.scored, "planned": tally.planned, "read_all": True, "passed": tally.statuses["passed"]}
    return Progress(**{**numbers, "tally": tally, "problems": len(passed), **fields})


JUDGED = {"a": [True, False], "b": [True, True], "c": [False, False]}


def test_the_score_of_all_problems_has_an_interval():
    """Once every problem has a verdict and none waits, the score has its intervals."""
    at_1 = progress(JUDGED).pass_at_1()
    assert (0.5, True) == (at_1.value, at_1.new_problems is not None)


def test_the_first_problems_of_a_file_have_no_interval():
    """While problems are without a verdict, or rows wait for the end, the score has no interval."""
    for part in (
        progress(JUDGED | {"d": []}),
        progress(JUDGED, postponed_rows=1),
        progress(JUDGED, read_all=False, problems=4),
    ):
        at_1 = part.pass_at_1()
        assert (0.5, None, None) == (at_1.value, at_1.new_problems, at_1.these_problems)


def test_excluded_problems_do_not_count():
    """A problem that is excluded is not in the score so far; a score of none has no value."""
    faulty = CheckPlan(fault="reference", note="broken")
    assert 0.75 == progress(JUDGED, plans=lambda: {"a": CheckPlan(), "c": faulty}).pass_at_1().value
    assert None is progress({"c": [False]}, plans=lambda: {"c": faulty}).pass_at_1().value


def test_samples_do_not_wait_for_all_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """How a problem is checked is found out to its end before the last ones begin, and its samples are judged then."""
    monkeypatch.setenv("PASSCURVE_CACHE", str(tmp_path / "cache"))
    samples = tmp_path / "s.jsonl"
    benchmark = load_benchmark("starter")
    rows = [{"task_id": problem.id, "completion": problem.reference} for problem in benchmark.problems]
    samples.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    request, _ = make_request(benchmark, tmp_path / "run", {"workers": 1}, samples=samples)
    plans: list[int] = []

    def watch(at: Progress) -> None:
        if at.judged and not plans:
            plans.append(sum(plan is not None for plan in at.plans().values()))

    assert len(rows) == sum(count.c for count in judge(request, watch).counts)
    # A worker takes so many trials at once, and as many go on beside the first samples.
    assert plans[0] <= 2 * MAX_BATCH < len(rows)
