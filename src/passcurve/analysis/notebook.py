"""A judged run as an object: estimates, tables and a picture, for Python and for notebooks."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from passcurve import config
from passcurve.analysis.score import read_curve, score_run
from passcurve.diagnosis import Diagnosis, Finding, Scope
from passcurve.errors import DataError, StoreError, UsageError
from passcurve.judging.inputs import TemporaryFolder
from passcurve.report import plots
from passcurve.report.diagnosis import coverage, fault_lines
from passcurve.report.scores import interval_text, score_lines
from passcurve.report.terminal import number
from passcurve.signature import digest
from passcurve.store.arrow import INSTALL, import_pyarrow
from passcurve.store.lines import read_lines
from passcurve.store.run_counts import read_counts
from passcurve.store.rundir import RunDir
from passcurve.types import Counts, Estimate, Metric
from passcurve.types.amounts import amount

if TYPE_CHECKING:
    from passcurve.judging.request import Result

SHOWN_ROWS = 20
"""Rows of a table that a notebook shows."""

SHOWN_CHARACTERS = 100
"""Characters of a cell that a notebook shows."""

_MATCH_FILE = "match.jsonl"


class Table(msgspec.Struct, frozen=True):
    """Columns of equal length; a notebook shows the first rows."""

    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dictionaries by column name."""
        names = list(self.columns)
        for row in zip(*self.columns.values(), strict=True):
            yield dict(zip(names, row, strict=True))

    def arrow(self) -> Any:
        """Return a ``pyarrow.Table``.  Raises UsageError with the command that installs pyarrow."""
        return import_pyarrow("an Arrow table").table(self.columns)

    def pandas(self) -> Any:
        """Return a ``pandas.DataFrame``.  Raises UsageError with the command that installs pandas."""
        try:
            import pandas as pd
        except ImportError:
            raise UsageError(f"a data frame needs pandas: {INSTALL}") from None
        return pd.DataFrame(self.columns)

    def __repr__(self) -> str:
        return f"Table({len(self):,} rows: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        lines = []
        for number_of_row, row in enumerate(self):
            if number_of_row == SHOWN_ROWS:
                rest = f"... and {len(self) - SHOWN_ROWS:,} more"
                lines.append(f'<tr><td colspan="{len(self.columns)}">{rest}</td></tr>')
                break
            lines.append("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row.values()) + "</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A judged run: what ``judge``, ``generate``, ``evaluate`` and ``load`` return.

    ``run["pass@1"]`` is an Estimate, ``float(run["pass@1"])`` its value.
    """

    path: Path
    """The run directory, or the file of results that was loaded."""
    counts: tuple[Counts, ...]
    """The samples n of each problem, and how many of them passed, c."""
    estimates: tuple[Estimate, ...]
    """Each metric asked for, with both intervals, or with the reason why it has no value."""
    signature: str
    """Everything that could change the scores, in one line; empty where it is not stored."""
    finished: bool
    """True if every sample has its verdict; otherwise no estimate has a value."""
    notes: tuple[str, ...] = ()
    results: Path | None = None
    """The file of results that judging wrote."""
    diagnosis: Diagnosis | None = None
    """What is odd about samples and benchmark, and the problems that the scores cover; None where it is not stored."""
    findings: tuple[Finding, ...] = ()
    """What was found in the samples, where that is stored."""
    folder: TemporaryFolder | None = None
    """Removed with this object, where the samples came without a file."""

    def __getitem__(self, name: str) -> Estimate:
        """Return an estimate by its name, as in ``pass@10``, ``pass^5`` or ``g-pass@10:0.5``.

        What was not asked for before is computed from the stored verdicts.  Raises UsageError for a name that is no
        metric.
        """
        for estimate in self.estimates:
            if estimate.name == name:
                return estimate
        metrics = _parse_metrics(name)
        if len(metrics) != 1 or (metrics[0].k is None and metrics[0].name != "cover"):
            raise UsageError(f"{name!r} is not one estimate; write it with its k, like pass@10")
        return load(self.path, (), metrics=metrics, stale=True).estimates[0]

    @property
    def digest(self) -> str:
        """The signature in twelve characters; equal digests were measured alike."""
        return digest(self.signature)

    @property
    def statuses(self) -> dict[str, int]:
        """The number of samples with each status, the most frequent first.  Raises as ``samples`` does."""
        return dict(Counter(self.samples.columns["status"]).most_common())

    @property
    def scores(self) -> Table:
        """The estimates: value, both intervals, the split of the variance, the reason; None where there is none."""
        columns: dict[str, list[Any]] = {"name": [estimate.name for estimate in self.estimates]}
        columns["value"] = [estimate.value for estimate in self.estimates]
        for target in ("new_problems", "these_problems"):
            for end in ("low", "high"):
                intervals = [getattr(estimate, target) for estimate in self.estimates]
                columns[f"{target}_{end}"] = [getattr(interval, end, None) for interval in intervals]
        for name in ("between", "within", "reason"):
            columns[name] = [getattr(estimate, name) for estimate in self.estimates]
        return Table(columns)

    @property
    def problems(self) -> Table:
        """For each problem n, c, and pass@k for each k that was asked for, NaN where k is above n."""
        from passcurve.stats import pass_at_k

        columns: dict[str, list[Any]] = {
            "problem_id": [problem.problem_id for problem in self.counts],
            "n": [problem.n for problem in self.counts],
            "c": [problem.c for problem in self.counts],
        }
        for k in sorted({estimate.k for estimate in self.estimates if estimate.k}):
            enough = [problem for problem in self.counts if problem.n >= k]
            values = iter(pass_at_k([p.n for p in enough], [p.c for p in enough], k).tolist())
            columns[f"pass@{k}"] = [next(values) if problem.n >= k else math.nan for problem in self.counts]
        return Table(columns)

    @property
    def samples(self) -> Table:
        """For each sample its verdict, and what ``passcurve match`` stored with it.

        Read from the run directory each time.  Raises DataError where only counts are stored, StoreError when the run
        cannot be read.
        """
        if not self.path.exists():
            why = ": without run=DIR the verdicts go with the Run that a call returns, or with its process"
            raise DataError(f"{str(self.path)!r} is no longer there{why if self.folder is not None else ''}")
        if not self.path.is_dir():
            raise DataError(f"{str(self.path)!r} is no run directory: it holds results, and the verdicts stand there")
        with RunDir(self.path).read() as stored:
            verdicts_digest = stored.attempt.digest
            verdicts = list(stored.iter_verdicts())
        columns: dict[str, list[Any]] = {
            "problem_id": [verdict.key.problem_id for verdict in verdicts],
            "sample_index": [verdict.key.sample_index for verdict in verdicts],
            "status": [verdict.status for verdict in verdicts],
            "passed": [verdict.passed for verdict in verdicts],
            "seconds": [verdict.own_s for verdict in verdicts],
            "memory_bytes": [verdict.memory_bytes for verdict in verdicts],
            "message": [verdict.message for verdict in verdicts],
        }
        keys = list(zip(columns["problem_id"], columns["sample_index"], strict=True))
        return Table(columns | _match_columns(self.path / _MATCH_FILE, verdicts_digest, keys))

    def plot(self, path: str | Path | None = None, *, theme: str = "light") -> Any:
        """Draw pass@k against k with its simultaneous 95% band, and return the matplotlib figure.

        With ``path`` (.svg, .png or .pdf) the figure is written there too.  ``theme`` is ``light`` or ``dark``.
        Raises UsageError with the command that installs matplotlib, DataError where no estimate has a value.
        """
        from passcurve.report.curves import curve_sheet, legend_labels

        if not plots.is_available():
            raise UsageError(f"a plot needs matplotlib: {plots.INSTALL}")
        if theme not in plots.THEMES:
            raise UsageError(f"theme must be one of {', '.join(plots.THEMES)}, got {theme!r}")
        target = None if path is None else Path(path)
        if target is not None and target.suffix.lower() not in plots.FORMATS:
            raise UsageError(f"{str(target)!r} must end with one of {', '.join(plots.FORMATS)}")
        scored, curve = read_curve(self.path, config.cache_dir(), stale=True)
        scope = scored.diagnosis.scope if scored.diagnosis is not None else None
        sheet = curve_sheet([(legend_labels([(self.path, scope)])[0], curve)], theme)
        if target is not None:
            try:
                plots.save(sheet, target)
            except OSError as error:
                raise StoreError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
        return sheet.figure

    def __repr__(self) -> str:
        return "\n".join([f"Run {str(self.path)!r}: {self._size()}", *self._faults(), *score_lines(self.estimates)])

    def _size(self) -> str:
        """Return how many samples there are, and of which problems."""
        attempted = [problem for problem in self.counts if problem.n]
        scope = self.diagnosis.scope if self.diagnosis is not None else None
        scope = scope or Scope(total=len(self.counts), requested=len(self.counts))
        return f"{amount(sum(problem.n for problem in attempted), 'sample')} of {coverage(scope, len(attempted))}"

    def _faults(self) -> list[str]:
        return fault_lines(self.diagnosis, self.findings)

    def _repr_html_(self) -> str:
        lines = []
        for estimate in self.estimates:
            missing = estimate.value is None
            cells = (
                estimate.name,
                "" if missing else number(estimate.value or 0.0),
                estimate.reason if missing else interval_text(estimate.new_problems),
                "" if missing else interval_text(estimate.these_problems),
            )
            lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
        notes = [*self._faults(), *self.notes, *([f"signature: {self.signature}"] if self.signature else [])]
        return (
            f"<p><b>{html.escape(str(self.path))}</b>: {html.escape(self._size())}</p>"
            "<table><thead><tr><th></th><th>value</th><th>new problems</th><th>these problems</th></tr></thead>"
            f"<tbody>{''.join(lines)}</tbody></table>"
            + "".join(f"<p><small>{html.escape(note)}</small></p>" for note in notes)
        )


def load(
    run: str | Path, k: int | Sequence[int] = config.DEFAULT_KS, *, metrics: Sequence[Metric] = (), stale: bool = False
) -> Run:
    """Return a judged run: a run directory, the samples that were judged into one, or a file of results.

    ``k`` are the k of the pass@k estimates; nothing is judged again.  Raises DataError when ``run`` is something else,
    and when its samples have changed since they were judged unless ``stale``; StoreError when it cannot be read.
    """
    from passcurve.stats.metrics import ScoreRequest

    if not isinstance(run, str | Path):
        raise UsageError(f"run must be a run directory or a file, got {type(run).__name__}")
    ks = config.checked_ks(k) if not metrics else ()
    request = ScoreRequest(ks=ks, metrics=tuple(metrics)) if metrics else ScoreRequest(ks=ks)
    scored = score_run(read_counts(Path(run), stale=stale), request, config.cache_dir())
    return Run(
        path=Path(scored.source),
        counts=scored.counts,
        estimates=scored.estimates,
        signature=scored.signature,
        finished=scored.finished,
        notes=scored.notes,
        diagnosis=scored.diagnosis,
        findings=scored.findings,
    )


def of_result(result: Result, notes: Sequence[str] = (), folder: TemporaryFolder | None = None) -> Run:
    """Return what judging has just given as a Run."""
    notes = [*notes, *result.notes]
    if result.malformed_lines:
        first, count = result.malformed[0], result.malformed_lines
        notes.append(f"{amount(count, 'malformed line')} left out; line {first.line}: {first.reason}")
    return Run(
        path=Path(result.run),
        counts=result.counts,
        estimates=result.estimates,
        signature=result.signature,
        finished=not result.owed,
        notes=tuple(notes),
        results=Path(result.results) if result.results else None,
        diagnosis=result.diagnosis,
        findings=result.diagnosis.input.findings,
        folder=folder,
    )


def _parse_metrics(name: str) -> tuple[Metric, ...]:
    """Return the metrics of a name; raise UsageError for what is none."""
    if not isinstance(name, str):
        raise UsageError(f"the name of an estimate is a text like 'pass@1', got {name!r}")
    k = re.fullmatch(r"[\w-]*[@^]([^:,]*)(?::.*)?", name)
    if k is not None and k[1] not in ("k", "") and not (k[1].isdecimal() and int(k[1]) > 0):
        raise UsageError(f"{name!r}: k must be a positive integer, as in 'pass@10'")
    try:
        return config.parse_metrics(name.lower())
    except UsageError as error:
        raise UsageError(str(error).removeprefix("--metric ")) from None


def _cell(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return html.escape(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")


def _match_columns(path: Path, verdicts_digest: str, keys: Sequence[tuple[str, int]]) -> dict[str, list[Any]]:
    """Return the values that ``match`` stored for these verdicts, in their order; nothing where there are none."""
    if not path.is_file():
        return {}
    lines = [line for line in read_lines(path) if line]
    try:
        head = msgspec.json.decode(lines[0]) if lines else {}
        if head.get("verdicts") != verdicts_digest:
            return {}
        rows = {(row["task_id"], row["sample_index"]): row for row in map(msgspec.json.decode, lines[1:])}
        return {
            # Samples of excluded problems have no values.
            name: [math.nan if (value := rows.get(key, {}).get(name)) is None else value for key in keys]
            for name in head["signatures"]
        }
    except (msgspec.DecodeError, AttributeError, TypeError, KeyError) as error:
        raise StoreError(f"{str(path)!r} is damaged ({error}); run passcurve match again") from None
