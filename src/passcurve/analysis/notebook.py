"""``passcurve.load``: what was judged, as an object with tables, for a notebook."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from passcurve import config
from passcurve.analysis.score import ScoredRun, score_run
from passcurve.errors import DataError, StoreError, UsageError
from passcurve.report.scores import score_lines, span
from passcurve.report.terminal import number
from passcurve.store.lines import read_lines
from passcurve.store.rundir import RunDir
from passcurve.types import Counts, Estimate

INSTALL = "pip install 'passcurve[tables]'"
_SHOWN = 20
"""Rows of a table that a notebook shows."""
_TEXT = 100
"""Characters of a cell that a notebook shows."""
_MATCH = "match.jsonl"


class Table(msgspec.Struct, frozen=True):
    """Columns of equal length; a notebook shows the first rows."""

    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows, each by the names of the columns."""
        names = list(self.columns)
        for row in zip(*self.columns.values(), strict=True):
            yield dict(zip(names, row, strict=True))

    def arrow(self) -> Any:
        """Return it as a ``pyarrow.Table``.  Raises UsageError with the command that installs pyarrow."""
        try:
            import pyarrow as pa
        except ImportError:
            raise UsageError(f"an Arrow table needs pyarrow: {INSTALL}") from None
        return pa.table(self.columns)

    def pandas(self) -> Any:
        """Return it as a ``pandas.DataFrame``.  Raises UsageError with the command that installs pandas."""
        try:
            import pandas as pd
        except ImportError:
            raise UsageError(f"a data frame needs pandas: {INSTALL}") from None
        return pd.DataFrame(self.columns)

    def __repr__(self) -> str:
        return f"Table({len(self):,} rows: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = []
        for at, row in enumerate(self):
            if at == _SHOWN:
                rest = f"... and {len(self) - _SHOWN:,} more"
                rows.append(f'<tr><td colspan="{len(self.columns)}">{rest}</td></tr>')
                break
            rows.append("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row.values()) + "</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


class Run(msgspec.Struct, frozen=True):
    """A judged run: its estimates, and what they are made of as tables."""

    path: Path
    scored: ScoredRun

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Each k that was asked for, with both intervals, or the reason why there is no value."""
        return self.scored.estimates

    @property
    def counts(self) -> tuple[Counts, ...]:
        """The samples n of each problem, and how many of them passed, c."""
        return self.scored.counts

    @property
    def signature(self) -> str:
        """Everything that could change the scores; empty where it is not stored."""
        return self.scored.signature

    @property
    def scores(self) -> Table:
        """The estimates: value, both intervals, the split of the variance, the reason; None where there is none."""
        columns: dict[str, list[Any]] = {"name": [each.name for each in self.estimates]}
        columns["value"] = [each.value for each in self.estimates]
        for target in ("new_problems", "these_problems"):
            for end in ("low", "high"):
                columns[f"{target}_{end}"] = [getattr(getattr(each, target), end, None) for each in self.estimates]
        for name in ("between", "within", "reason"):
            columns[name] = [getattr(each, name) for each in self.estimates]
        return Table(columns)

    @property
    def problems(self) -> Table:
        """For each problem n, c, and pass@k for each k that was asked for, NaN above n."""
        from passcurve.stats import pass_at_k

        columns: dict[str, list[Any]] = {name: [getattr(each, name) for each in self.counts] for name in _COUNTS}
        for k in sorted({each.k for each in self.estimates}):
            enough = [each for each in self.counts if each.n >= k]
            values = iter(pass_at_k([each.n for each in enough], [each.c for each in enough], k).tolist())
            columns[f"pass@{k}"] = [next(values) if each.n >= k else math.nan for each in self.counts]
        return Table(columns)

    @property
    def samples(self) -> Table:
        """For each sample its verdict, and what ``passcurve match`` kept beside it.

        Read anew each time.  Raises DataError where only counts are known, StoreError when the run cannot be read.
        """
        if self.scored.kind != "run":
            raise DataError(f"{str(self.path)!r} is no run: the samples' verdicts stand in the file itself")
        with RunDir(self.path).read() as stored:
            digest = stored.attempt.digest
            verdicts = list(stored.iter_verdicts())
        columns: dict[str, list[Any]] = {
            "problem_id": [each.key.problem_id for each in verdicts],
            "sample_index": [each.key.sample_index for each in verdicts],
            "status": [each.status for each in verdicts],
            "passed": [each.passed for each in verdicts],
            "seconds": [each.own_s for each in verdicts],
            "memory_bytes": [each.memory_bytes for each in verdicts],
            "message": [each.message for each in verdicts],
        }
        keys = list(zip(columns["problem_id"], columns["sample_index"], strict=True))
        return Table(columns | _matched(self.path / _MATCH, digest, keys))

    def __repr__(self) -> str:
        return "\n".join([f"Run {str(self.path)!r}", *score_lines(self.estimates)])

    def _repr_html_(self) -> str:
        rows = []
        for each in self.estimates:
            shown = each.reason if each.value is None else span(each.new_problems)
            these = "" if each.value is None else span(each.these_problems)
            value = "" if each.value is None else number(each.value)
            cells = (each.name, value, shown, these)
            rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
        of = f"{self.scored.samples:,} samples of {self.scored.attempted} problems"
        notes = [*self.scored.notes, *([f"signature: {self.signature}"] if self.signature else [])]
        return (
            f"<p><b>{html.escape(str(self.path))}</b>: {of}</p>"
            "<table><thead><tr><th></th><th>value</th><th>new problems</th><th>these problems</th></tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table>"
            + "".join(f"<p><small>{html.escape(n)}</small></p>" for n in notes)
        )


_COUNTS = ("problem_id", "n", "c")


def load(run: str | Path, ks: Sequence[int] = config.DEFAULT_KS) -> Run:
    """Return what was judged: a run directory, the samples that were judged into one, or a file of results.

    ``ks`` are the k of the estimates; nothing is judged again.  Raises DataError when it is none of these, StoreError
    when it cannot be read.
    """
    from passcurve.stats.metrics import Asked

    if not ks or any(k < 1 for k in ks):
        raise UsageError(f"ks={list(ks)}: name one k at least, each from 1 on")
    path = Path(run)
    scored = score_run(path, Asked(ks=tuple(dict.fromkeys(ks))), config.cache_dir())
    return Run(Path(scored.source), scored)


def _cell(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return html.escape(text if len(text) <= _TEXT else text[:_TEXT] + "...")


def _matched(path: Path, digest: str, keys: Sequence[tuple[str, int]]) -> dict[str, list[Any]]:
    """Return the values that were kept for these verdicts, in their order; nothing where there are none."""
    if not path.is_file():
        return {}
    lines = [line for line in read_lines(path) if line]
    try:
        head = msgspec.json.decode(lines[0]) if lines else {}
        if head.get("verdicts") != digest:
            return {}
        rows = {(row["task_id"], row["sample_index"]): row for row in map(msgspec.json.decode, lines[1:])}
        return {
            name: [math.nan if (value := rows[key][name]) is None else value for key in keys]
            for name in head["signatures"]
        }
    except (msgspec.DecodeError, AttributeError, TypeError, KeyError) as error:
        raise StoreError(f"{str(path)!r} is damaged ({error}); run passcurve match again") from None
