"""The scores of stored verdicts as a record for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from passcurve.report.diagnosis import diagnosis_record, fault_lines
from passcurve.report.scores import score_record, suite_records
from passcurve.signature import digest

if TYPE_CHECKING:
    from passcurve.analysis.score import ScoredRun


def scored_record(scored: ScoredRun, paragraph: str) -> dict[str, Any]:
    """Return the JSON object of stored scores; ``paragraph`` is the sentence for a paper."""
    return {
        **score_record(scored.estimates, scored.curve),
        "methods": paragraph,
        **(
            diagnosis_record(scored.diagnosis)
            if scored.diagnosis is not None
            else {"input": {"rows": scored.samples, "findings": [finding.record() for finding in scored.findings]}}
        ),
        "source": scored.source,
        "kind": scored.kind,
        "benchmark": scored.header.benchmark if scored.header is not None else "",
        "problems": scored.problems,
        "attempted": scored.attempted,
        "samples": scored.samples,
        "passed": scored.passed,
        "finished": scored.finished,
        "statuses": scored.all_rows.statuses,
        **({"suites": suite_records(scored.suites)} if scored.suites else {}),
        "notes": list(scored.notes),
        "signature": scored.signature,
        "signature_digest": digest(scored.signature),
    }


def table_record(scored: ScoredRun, name: str) -> dict[str, Any]:
    """Return what a table of scores has of a run."""
    return {
        "name": name,
        "benchmark": scored.header.benchmark if scored.header is not None else "",
        "attempted": scored.attempted,
        "samples": scored.samples,
        "scores": score_record(scored.estimates),
        "curve": None,
        "findings": fault_lines(scored.diagnosis, scored.findings),
        "signature_digest": digest(scored.signature),
    }
