"""The samples of a judged run as columns, and what explains each distinct program of a problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from passcurve.bench import resolve
from passcurve.errors import DataError
from passcurve.extract import extract
from passcurve.report.evidence import Evidence, Group, SampleColumns
from passcurve.store.codec import VerdictLine
from passcurve.store.completions import stored_completions, stored_lines
from passcurve.store.locate import samples_of
from passcurve.store.rundir import RunDir
from passcurve.store.samples import read_rows
from passcurve.types import STATUSES, Completion, Header, SuiteOutcome, Verdict

_LONGEST_PART = 160
"""Characters of a call, its result and what was expected in a message."""


def read_evidence(run: Path, positions: Mapping[str, int], cache_dir: Path) -> Evidence:
    """Return the samples of a run directory whose problems have a position in the report.

    Texts are those of the samples that have not changed since they were judged.  Raises StoreError when the run cannot
    be read.
    """
    messages: dict[str, int] = {}
    causes: dict[str, int] = {}
    columns, groups = SampleColumns(), _Groups()
    with RunDir(run).read() as stored:
        header = stored.attempt.header
        lines = (line for line in stored.iter_lines() if line.verdict.key.problem_id in positions)
        for line in sorted(lines, key=lambda line: _place(line, positions)):
            verdict = line.verdict
            columns.problem.append(positions[verdict.key.problem_id])
            columns.index.append(verdict.key.sample_index)
            columns.status.append(STATUSES.index(verdict.status))
            columns.own_us.append(round(verdict.own_s * 1e6))
            columns.memory_kib.append(verdict.memory_bytes >> 10)
            columns.group.append(groups.add(columns.problem[-1], line, all_tests=header.all_tests))
            group = groups.by_problem[columns.problem[-1]][columns.group[-1]]
            columns.message.append(messages.setdefault(_message(group), len(messages)))
            columns.cause.append(causes.setdefault(group.cause, len(causes)))
    evidence = Evidence(columns=columns, messages=[*messages], causes=[*causes], groups=groups.by_problem, problems={})
    try:
        problems = {problem.id: problem for problem in resolve.reload(header, cache_dir).problems}
    except DataError as error:
        evidence.missing = str(error)
    else:
        evidence.problems = problems
    _add_texts(run, header, groups, evidence)
    if header.generation is not None:
        _add_requests(run, positions, evidence)
    return evidence


def _message(group: Group) -> str:
    """Return the message of a group; the name of an exception alone says less than the call that failed."""
    if group.message != group.exception or not group.arguments:
        return group.message
    parts = [group.arguments, group.outcome, f"expected {group.expected}" if group.expected else ""]
    return ": ".join([group.message, ", ".join(_short(part) for part in parts if part)])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_PART else f"{line[:_LONGEST_PART]}..."


def _place(line: VerdictLine, positions: Mapping[str, int]) -> tuple[int, int]:
    key = line.verdict.key
    return positions[key.problem_id], key.sample_index


class _Groups:
    """Finds the group of each sample."""

    def __init__(self) -> None:
        self.by_problem: dict[int, list[Group]] = {}
        self.by_row: dict[int, tuple[Group, str]] = {}
        """The group of each row that is the first of one, and the digest of the row."""
        self._positions: dict[tuple[int, str, str, str], int] = {}

    def add(self, problem: int, line: VerdictLine, *, all_tests: bool) -> int:
        """Count a sample in its group, and return the position of the group."""
        # Without a program every sample is its own; equal rows have equal digests.
        key = (problem, line.program or line.digest, line.verdict.status, line.verdict.message)
        groups = self.by_problem.setdefault(problem, [])
        at = self._positions.setdefault(key, len(groups))
        if at == len(groups):
            groups.append(_make_group(line.verdict, line.row, all_tests=all_tests))
            self.by_row[line.row] = groups[at], line.digest
        groups[at].count += 1
        return at


def _make_group(verdict: Verdict, row: int, *, all_tests: bool) -> Group:
    call = verdict.call
    failed = next((suite for suite in verdict.suites if suite.first_failed >= 0), None)
    return Group(
        status=STATUSES.index(verdict.status),
        first=row,
        message=verdict.message,
        exception=verdict.exception,
        mode=verdict.mode,
        calls=verdict.calls,
        arguments=call.arguments if call is not None else "",
        outcome=call.outcome if call is not None else "",
        expected=call.expected if call is not None else "",
        test_line=verdict.test_line,
        failed_test=f"{failed.name} {failed.first_failed + 1} of {failed.tests}" if failed is not None else "",
        suites=tuple(f"{suite.name}: {_counted(suite, all_tests=all_tests)}" for suite in verdict.suites),
        suspicious=verdict.suspicious,
        flattened=verdict.flattened,
        steps=verdict.extraction,
    )


def _counted(suite: SuiteOutcome, *, all_tests: bool) -> str:
    """Return how a suite went; what did not run after the first failure did not fail."""
    if not suite.ran:
        return f"none of {suite.tests} ended"
    if suite.first_failed >= 0:
        number = suite.first_failed + 1
        if not all_tests:
            return f"stopped at test {number} of {suite.tests}, which did not pass"
        return f"{suite.right} of {suite.tests} passed; test {number} is the first that did not"
    if suite.ran < suite.tests:
        return f"stopped in test {suite.ran + 1} of {suite.tests}, which did not end"
    return f"{suite.right} of {suite.tests} passed"


def _add_texts(run: Path, header: Header, groups: _Groups, evidence: Evidence) -> None:
    """Give each group the program of its first sample, and the text that it was made from, or why they are missing."""
    extracted = set()
    try:
        for sample in _read_samples(run, header, evidence.problems) if evidence.problems else ():
            group, digest = groups.by_row.get(sample.row, (None, ""))
            problem = evidence.problems.get(sample.key.problem_id)
            if group is not None and problem is not None and digest == sample.digest:
                program = extract(problem, sample, header.extract)
                group.program, group.steps = program.text, program.steps
                group.reply = sample.text if sample.text != program.text else None
                extracted.add(sample.row)
    except DataError as error:
        evidence.missing = str(error)
    for row, (group, _) in groups.by_row.items():
        if row not in extracted:
            group.missing = evidence.missing or "its row has gone or has changed since it was judged"


def _read_samples(run: Path, header: Header, problems: Iterable[str]) -> Iterator[Completion]:
    if header.generation is not None:
        yield from stored_completions(run)
        return
    yield from (
        row for row in read_rows(samples_of(header.samples, run), list(problems)) if isinstance(row, Completion)
    )


def _add_requests(run: Path, positions: Mapping[str, int], evidence: Evidence) -> None:
    """Fill the columns that a generation knows: tokens and latency of each sample's request."""
    columns = evidence.columns
    requests = {
        (positions[line.task_id], line.sample_index): line for line in stored_lines(run) if line.task_id in positions
    }
    for key in zip(columns.problem, columns.index, strict=True):
        line = requests.get(key)
        has_tokens = line is not None and line.completion_tokens is not None and line.choice == 0
        columns.tokens.append(line.completion_tokens or 0 if line is not None and has_tokens else -1)
        columns.latency_ms.append(round(1000 * line.latency_s) if line is not None else -1)
