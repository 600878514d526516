"""Conversion of samples and verdicts between the files of harnesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from passcurve import config
from passcurve.bench import resolve
from passcurve.bench.formats import ReadOptions as BenchOptions
from passcurve.errors import DataError, UsageError, nearest
from passcurve.extract import extract
from passcurve.store.completions import stored_completions
from passcurve.store.foreign import ReadOptions, Target, convert, expand, first_fields, list_order, parse_options
from passcurve.store.foreign.values import parse_object
from passcurve.store.index_order import by_index
from passcurve.store.locate import find_run_dir, samples_of
from passcurve.store.parts import LOCK
from passcurve.store.records import FORMATS, Record, ScoredSample, Writing, read_record, write_record
from passcurve.store.records.multipl_e import ScriptRow
from passcurve.store.records.rows import other_fields, read_rows
from passcurve.store.records.sample import MalformedRecordError, suites_of
from passcurve.store.records.write import continuation, describe_losses, whole_program
from passcurve.store.run_counts import check_samples
from passcurve.store.rundir import RunDir
from passcurve.store.samples import RawRow, as_completion, scan_rows
from passcurve.store.verdicts import StoredVerdicts
from passcurve.types import Benchmark, Completion, Header, Problem, Script, Verdict
from passcurve.types.amounts import amount, are

_KS = {"cruxeval-scored": (1, 5)}
_SCRIPTS = ("multipl-e", "multipl-e-output")
_DEFAULT_KS = (1, 10, 100)


class Conversion(msgspec.Struct, frozen=True, kw_only=True):
    """A conversion: where it read, where it wrote, and how much."""

    source: str
    kind: str
    """The format that was read: ``run``, or a name of a format."""
    target: str
    format: str
    samples: int
    problems: int
    verdicts: int
    """Verdicts that were written."""
    notes: tuple[str, ...]
    """What the format cannot hold, and what else a reader should know; a line each."""


def convert_file(
    source: Path, target: Path, name: str, benchmark_name: str | None, cache_dir: Path, *, stale: bool = False
) -> Conversion:
    """Write the samples of a run directory or of a file as a file of another format.

    Raises UsageError for an unknown format or a place that cannot be written, DataError for a file that cannot be read
    or that the format cannot hold.
    """
    if name not in FORMATS:
        raise UsageError(f"--to {name!r} is no known format{nearest(name, FORMATS)} (known: {', '.join(FORMATS)})")
    if str(target) == "-":
        raise UsageError("OUT must be a file or a folder: nothing is written to standard output")
    shipped = resolve.find_examples(str(source))
    if shipped is not None and benchmark_name is None:
        benchmark_name = str(source).partition(":")[0]
    benchmark = resolve.load(benchmark_name, cache_dir) if benchmark_name is not None else None
    notes: list[str] = []
    file = shipped or source
    run = _find_run(source, file, benchmark, with_verdicts=FORMATS[name].verdicts != "no")
    if run is not None:
        header, record = _read_run(run, cache_dir, notes, stale=stale)
        benchmark = benchmark or _reload(header, cache_dir)
    else:
        record = _read_file(file, benchmark)
        notes += [*record.notes, *filter(None, [record.withheld])]
    if not record.samples:
        raise DataError(f"{str(source)!r} has no samples to convert")
    record = _shape(record, name, benchmark)
    if losses := describe_losses(record, name):
        notes.append(losses)
    write_record(record, target, name, _writing(record, name, benchmark))
    return Conversion(
        source=str(source),
        kind="run" if run is not None else record.kind,
        target=str(target),
        format=name,
        samples=len(record.samples),
        problems=len({sample.task_id for sample in record.samples}),
        verdicts=sum(bool(sample.status) for sample in record.samples) if FORMATS[name].verdicts != "no" else 0,
        notes=tuple(notes),
    )


def _find_run(source: Path, file: Path, benchmark: Benchmark | None, *, with_verdicts: bool) -> Path | None:
    """Return the run directory that a path names; the one beside samples only where verdicts are to be written.

    ``file`` is where the samples are, of shipped ones too.
    """
    if source.is_dir() and (source / LOCK).exists():
        return source
    if not file.exists():
        raise DataError(f"no file or run {str(source)!r}")
    run = find_run_dir(source)
    if not with_verdicts or run == source or not run.is_dir():
        return None
    return None if _read_file(file, benchmark).has_verdicts else run


def _read_file(source: Path, benchmark: Benchmark | None) -> Record:
    record = read_record(source)
    return record if record is not None else _read_rows(source, benchmark)


def _read_rows(source: Path, benchmark: Benchmark | None) -> Record:
    """Return the record of samples in any form that ``judge`` reads."""

    def problems() -> Sequence[Problem] | None:
        return benchmark.problems if benchmark is not None else None

    field = benchmark.problems[0].answer_field if benchmark is not None and benchmark.problems else ""
    options = parse_options(field or None, None)
    fields = first_fields(source)
    if options.field not in fields or fields & {"completion", "solution"}:
        options = ReadOptions()
    notes: list[str] = []
    lines = convert(expand([source]), options, Target(problems, say=notes.append))
    try:
        record = read_rows(lines)
    except MalformedRecordError as error:
        raise DataError(f"{str(source)!r}: {error}") from None
    return msgspec.structs.replace(record, notes=(*record.notes, *notes))


def _read_run(run: Path, cache_dir: Path, notes: list[str], *, stale: bool) -> tuple[Header, Record]:
    if not stale:
        check_samples(run)
    with RunDir(run).read() as stored:
        header = stored.attempt.header
        if not stored.attempt.finished:
            raise DataError(f"the run {str(run)!r} is not finished: judge it to its end, then convert it")
        footer = RunDir(run).footer(stored.attempt)
        diagnosis = footer.diagnosis if footer is not None else None
        excluded = diagnosis.scope.faulty if diagnosis is not None else frozenset()
        samples = tuple(_read_samples(run, header, stored, excluded, cache_dir))
    if header.generation is not None:
        order = {task: index for index, task in enumerate(dict.fromkeys(sample.task_id for sample in samples))}
        samples = tuple(sorted(samples, key=lambda sample: order[sample.task_id]))
    if diagnosis is not None and diagnosis.withheld:
        notes.append(f"the score of this run is withheld: {diagnosis.withheld}")
    if excluded:
        notes.append(f"{amount(len(excluded), 'excluded problem')} {are(len(excluded))} left out, as in the score")
    return header, Record(kind="run", samples=samples)


def _read_samples(
    run: Path, header: Header, stored: StoredVerdicts, excluded: Container[str], cache_dir: Path
) -> Iterator[ScoredSample]:
    """Yield the samples with their verdicts, in the order of the file; raise DataError for one that has changed."""
    make = _sample_maker(header, cache_dir)
    generated = header.generation is not None
    for row, fields in _generated_rows(run) if generated else _file_rows(run, stored, cache_dir):
        if row.key.problem_id in excluded or (line := stored.line_at(row.row)) is None:
            continue
        if line.digest != row.digest:
            raise DataError(f"row {row.row} of {header.samples!r} has changed since it was judged: judge it again")
        yield msgspec.structs.replace(make(row, line.verdict), fields=fields)


def _generated_rows(run: Path) -> Iterator[tuple[Completion, dict[str, Any]]]:
    """Yield the samples that were generated; what is stored beside them is known to us alone."""
    return ((row, {}) for row in by_index(stored_completions(run)))


def _file_rows(run: Path, stored: StoredVerdicts, cache_dir: Path) -> Iterator[tuple[Completion, dict[str, Any]]]:
    """Yield the rows of the file that was judged, with their other fields."""
    header = stored.attempt.header
    if header.problems:
        # Rows of all problems are counted, and only those of some have verdicts.
        tasks = [problem.id for problem in resolve.reload(header, cache_dir).problems]
    else:
        tasks = stored.problem_ids()
    # A program that was taken out of a text takes its place.
    forms = ("completion", "solution") if header.extract != "raw" else ()
    for row in scan_rows(samples_of(header.samples, run), tasks):
        if isinstance(row, RawRow):
            fields = other_fields(parse_object(row.raw) or {}, row.content.form, *forms)
            yield as_completion(row), fields


def _sample_maker(header: Header, cache_dir: Path) -> Callable[[Completion, Verdict], ScoredSample]:
    """Return a function that makes a record of a row and its verdict, with the program that was judged."""
    if header.extract == "raw":
        return lambda row, verdict: _scored(verdict, row.form, row.text)
    problems = {problem.id: problem for problem in resolve.reload(header, cache_dir).problems}

    def make(row: Completion, verdict: Verdict) -> ScoredSample:
        program = extract(problems[row.key.problem_id], row, header.extract)
        return _scored(verdict, "solution", program.text)

    return make


def _scored(verdict: Verdict, form: str, text: str | None) -> ScoredSample:
    return ScoredSample(
        task_id=verdict.key.problem_id,
        form="solution" if form == "solution" else "completion",
        text=text,
        status="" if verdict.status == "void" else verdict.status,
        message=verdict.message,
        suites=suites_of(verdict.suites, verdict.status),
    )


def _reload(header: Header, cache_dir: Path) -> Benchmark | None:
    try:
        return resolve.reload(header, cache_dir)
    except DataError:
        return None


def _shape(record: Record, name: str, benchmark: Benchmark | None) -> Record:
    """Return the record with texts in the form that the format holds."""
    form = FORMATS[name]
    if form.ordered and benchmark is None:
        raise UsageError(f"{name} has no task ids, only the order of the benchmark: name it with --benchmark")
    wanted = {"whole": "completion", "continuation": "solution"}.get(form.text)
    if wanted is None or all(sample.form != wanted or sample.text is None for sample in record.samples):
        return record
    if benchmark is None:
        held = "whole programs" if form.text == "whole" else "texts that continue a prompt"
        raise UsageError(f"{name} holds {held}, which need the prompts: name the benchmark with --benchmark")
    problems = {problem.id: problem for problem in benchmark.problems}
    change = whole_program if form.text == "whole" else continuation
    samples = []
    for sample in record.samples:
        problem = problems.get(sample.task_id)
        if problem is None:
            raise DataError(f"{benchmark.name!r} has no problem {sample.task_id!r}{nearest(sample.task_id, problems)}")
        samples.append(change(sample, problem.prompt, problem.suffix))
    return msgspec.structs.replace(record, samples=tuple(samples))


def _now() -> datetime:
    return datetime.now(UTC)


def _writing(record: Record, name: str, benchmark: Benchmark | None) -> Writing:
    now = _now()
    return Writing(
        date=now.strftime("%Y-%m-%d %H:%M"),
        file_hash=benchmark.file_hash if benchmark is not None else "",
        order=tuple(problem.id for problem in list_order(benchmark.problems)) if benchmark is not None else (),
        scripts=_scripts(benchmark) if name in _SCRIPTS else {},
        time_s=int(now.timestamp()),
        pass_at_k=_scores(record, _KS.get(name, _DEFAULT_KS)) if FORMATS[name].verdicts == "must" else {},
    )


def _scripts(benchmark: Benchmark | None) -> dict[str, ScriptRow]:
    """Return what the benchmark's rows have of each problem, as they were published."""
    if benchmark is None or not any(isinstance(problem.check, Script) for problem in benchmark.problems):
        raise UsageError(
            "this format holds what the benchmark has of each problem: name one in MultiPL-E's format with --benchmark"
        )
    options = BenchOptions(profile="multipl-e-upstream")
    source = benchmark.source if Path(benchmark.source).is_file() else benchmark.name
    problems = resolve.load(source, config.cache_dir(), options).problems
    return {
        problem.id: ScriptRow(problem.check.language, problem.prompt, problem.check.tests)
        for problem in problems
        if isinstance(problem.check, Script)
    }


def _scores(record: Record, ks: Sequence[int]) -> dict[str, dict[str, float]]:
    """Return pass@k by suite, each with all suites before it, and of all tests under an empty name."""
    from passcurve.stats import pass_at_k

    n = Counter(sample.task_id for sample in record.samples)
    passed: dict[str, Counter[str]] = {"": Counter()}
    for sample in record.samples:
        passed[""][sample.task_id] += sample.passed
        for suite, holds in sample.suite_passes().items():
            passed.setdefault(suite, Counter())[sample.task_id] += holds
    return {
        name: {
            f"pass@{k}": sum(float(pass_at_k(n[task], correct[task], k)) for task in n) / len(n)
            for k in ks
            if min(n.values()) >= k
        }
        for name, correct in passed.items()
    }
