"""Numbers of things in messages: one is singular, and so is the verb behind it."""

from __future__ import annotations

import pytest

from passcurve.diagnosis import Diagnosis, Exclusion, InputReport, Scope, diagnose
from passcurve.lab.urn import urn
from passcurve.report.diagnosis import diagnosis_lines
from passcurve.report.generation import cost_line, final_lines
from passcurve.report.lessons import urn_lines
from passcurve.report.terminal import verdict_text
from passcurve.store.copies import CopyTracker
from passcurve.types import (
    Counts,
    FunctionTests,
    GenerationProgress,
    Jail,
    Limits,
    Prices,
    Problem,
    SampleKey,
    Verdict,
)
from passcurve.types.amounts import amount, are, have, part_of, were


def test_amounts():
    """Only one is singular; large numbers have commas."""
    assert ["0 rows", "1 row", "2 rows", "1,000 rows"] == [amount(count, "row") for count in (0, 1, 2, 1000)]
    assert [("has", "is", "was"), ("have", "are", "were")] == [(have(n), are(n), were(n)) for n in (1, 0)]
    assert ("1 of 1 row", "1 of 40 rows") == (part_of(1, 1, "row"), part_of(1, 40, "row"))


@pytest.mark.parametrize(
    ("problems", "part"), [(40, "1 of 40 problems is excluded"), (1, "1 of 1 problem is excluded")]
)
def test_one_excluded_problem(problems, part):
    """One excluded problem is, and does not are."""
    scope = Scope(
        total=problems, requested=problems, excluded=(Exclusion(problem_id="p/0", kind="tests", reason="none"),)
    )
    assert part in diagnosis_lines(Diagnosis(scope=scope))[0]
    withheld = diagnose(scope, InputReport(), accept_input=False, accept_benchmark=True).withheld
    assert ("the only one is excluded" in withheld) == (problems == 1)


@pytest.mark.parametrize(("count", "part"), [(1, "1 that needs a package"), (2, "2 that need a package")])
def test_problems_that_need_a_package(count, part):
    """The verb is that of their number."""
    excluded = tuple(Exclusion(problem_id=f"T/{number}", kind="package", reason="x") for number in range(count))
    assert part in diagnosis_lines(Diagnosis(scope=Scope(total=9, requested=9, excluded=excluded)))[0]


def test_one_call():
    """A verdict that took one call says so."""
    problem = Problem(id="p/0", prompt="def f():\n", entry_point="f", check=FunctionTests(source="def check(f): f()"))
    verdict = Verdict(key=SampleKey(problem_id="p/0", sample_index=0), status="failed", mode="referee", calls=1)
    jail = Jail(isolation="full", layers=("seccomp",))
    assert "mode referee, 1 call, 0.000 s" in verdict_text(problem, None, verdict, Limits(), jail, "gone")


def test_one_problem_of_copies():
    """Copies of the samples of one problem are those of the one problem, not of all 1 problems."""
    copies = CopyTracker()
    for _ in range(2):
        copies.add("p/0", 7)
    finding = copies.equal_programs((1, 2), 0.8)
    assert finding is not None
    assert "for the one problem with several" in finding.text


def test_one_ball():
    """An urn of one sample has one ball, of which one is drawn."""
    lines = urn_lines(urn(1, 0, 1))
    assert "an urn of 1 sample, 0 right; 1 is drawn and not put back" == lines[0]
    assert "  1 of 1 subset holds no right sample" in lines
    assert "an urn of 1 ball, 0 of them right: 1 drawn without putting back is wrong" in lines[-3]


def test_one_of_what_a_run_counts():
    """One attempt was made again, one sample was cut off, and one problem was solved."""
    generated = GenerationProgress(
        planned=20,
        stored=20,
        fresh=20,
        truncated=1,
        filtered=1,
        retried=1,
        prompt_tokens=10,
        completion_tokens=10,
        reasoning_tokens=0,
        cached_tokens=0,
        uncounted=1,
        latency_s=1.0,
        seconds=1.0,
        fresh_tokens=10,
        server_models={},
        temperature=0.8,
        repeated_problems=0,
        uniform_problems=0,
        failures=(),
        ended_by="",
        exit_code=0,
    )
    text = "\n".join(final_lines(generated))
    assert "1 attempt failed and was made again" in text
    assert "1 of 20 samples (5.0%) was cut off" in text
    assert "1 of 20 samples (5.0%) was ended" in text
    cost = cost_line(generated, Prices(input=1.0, output=1.0), [Counts(problem_id="p/0", n=20, c=1)])
    assert cost.endswith(", for one solved problem; at least, for the tokens of 1 request are not known")
