"""Verdicts by tests that are data: what is told of a call that failed."""

from __future__ import annotations

import base64

from passcurve.bench.languages import find_language, with_confirmation
from passcurve.judging.data_tests import RESULTS
from passcurve.judging.script_forms import find_data_tests
from passcurve.judging.scripts import make_script_job
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox.job import Outcome
from passcurve.types import Limits, SampleKey, Script, Verdict


def judge(results: bytes, argument: str, expected: str) -> Verdict:
    """Return the verdict on a program that has come to its end, by the file that it has left."""
    tests = f'}}\n\nset -e\nrun_test() {{\n    [[ $(candidate "{argument}") = "{expected}" ]]\n}}\n\nrun_test'
    check = Script(language="sh", tests=with_confirmation(find_language("sh"), tests) or "")
    job = make_script_job(check, "", Limits(timeout_s=5.0, memory_bytes=1 << 30), 1, find_data_tests(check))
    report = {
        "status": "ended",
        "exit": 0,
        "out": job.setup["token"],
        "files": {RESULTS: base64.b64encode(results).decode()},
    }
    outcome = Outcome(tag=1, ended="report", report=report, step="run")
    return reach_verdict(SampleKey(problem_id="T", sample_index=0), job, outcome)


def test_long_sources_and_results_are_shortened():
    """A failed call has a verdict however long it, its result and what is expected are."""
    verdict = judge(b"0=" + b"c" * 10_000, "a" * 10_000, "b" * 10_000)
    assert "failed" == verdict.status
    assert verdict.call is not None
    texts = (verdict.call.arguments, verdict.call.outcome, verdict.call.expected)
    assert (2000, 309, 2000) == tuple(map(len, texts))


def test_long_results_can_be_right():
    """Only what is told is shortened, not what is compared."""
    assert "passed" == judge(b"0=" + b"b" * 10_000, "a", "b" * 10_000).status
    assert "failed" == judge(b"0=" + b"b" * 10_001, "a", "b" * 10_000).status
