"""Scores and comparisons as tables for other programs: Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from passcurve.report.comparison import p_value, signed
from passcurve.report.terminal import number, printable

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!])")


def table_lines(record: Mapping[str, Any], form: str, requested: Sequence[str] = ()) -> Iterator[str]:
    """Return the scores of some runs, and their comparison where there is one, in a format.

    ``record`` is that of a report: ``runs`` (with ``name`` and ``scores``) and ``comparison``.  ``requested`` are
    metrics whose reason is given where they have no value; by default those that some run has a value of.
    """
    runs: Sequence[Mapping[str, Any]] = record["runs"]
    if form == "csv":
        yield from _csv_lines(runs)
        return
    draw = _markdown_table if form == "markdown" else _latex_table
    yield from draw(*_scores(runs))
    names = requested or _columns(runs)
    yield from _small_print([*_findings(runs), *_reasons(runs, names), *_warnings(runs, names)], form)
    comparison = record.get("comparison")
    if comparison and comparison["pairs"]:
        yield ""
        yield from draw(*_differences(comparison["pairs"]))
        yield from _small_print([*_comparison_notes(comparison)], form)


def _findings(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what was found in the samples of each run, which belongs to its score."""
    return (f"{run['name']}: {line.strip()}" for run in runs for line in run["findings"])


def _reasons(runs: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[str]:
    """Yield why a run has no value of some of these metrics, each reason once."""
    for run in runs:
        missing: dict[str, list[str]] = {}
        for name in names:
            estimate = run["scores"].get(name)
            if estimate is not None and estimate["value"] is None:
                missing.setdefault(estimate["reason"], []).append(name)
        for reason, without in missing.items():
            # What withholds a score stands among the findings.
            if not any(reason in line for line in run["findings"]):
                yield f"{run['name']}: no {', '.join(without)}: {reason}"


def _warnings(runs: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[str]:
    """Yield what the data of a run cannot tell, each warning on some of these metrics once."""
    for run in runs:
        texts = [text for name in names for text in run["scores"].get(name, {}).get("warnings", ())]
        yield from (f"{run['name']}: warning: {text}" for text in dict.fromkeys(texts))


def _comparison_notes(comparison: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was compared, and for each pair how its differences read and what else may explain them."""
    if comparison["coverage"]:
        yield f"covered: {comparison['coverage']}"
    yield from comparison["notes"]
    for pair in comparison["pairs"]:
        name = f"{pair['a']} and {pair['b']}"
        yield from (f"{name}: pass@{row['k']}: {row['reading']}" for row in pair["differences"])
        warnings = dict.fromkeys(text for row in pair["differences"] for text in row["warnings"])
        yield from (f"{name}: warning: {text}" for text in warnings)
        yield from (f"{name}: differs: {text}" for text in pair["differs"])


def _small_print(texts: Sequence[str], form: str) -> Iterator[str]:
    """Yield texts as a list, or as small print."""
    if not texts:
        return
    yield ""
    for text in texts:
        line = _one_line(text)
        yield f"- {_escape_markdown(line)}" if form == "markdown" else rf"\par{{\footnotesize {_escape_latex(line)}}}"


def _columns(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the metrics that some run has a value of."""
    names = [
        name
        for name in dict.fromkeys(name for run in runs for name in run["scores"])
        if any(run["scores"].get(name, {}).get("value") is not None for run in runs)
    ]
    if any(run["curve"] for run in runs):
        # Every k makes no table.
        names = [name for name in names if re.fullmatch(r"[a-z]*[@^](1|5|10|100)", name)] or names
    return names


def _scores(runs: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    names = _columns(runs)
    level = next(
        (
            f"{100 * estimate['new_problems']['level']:g}% "
            for run in runs
            for estimate in run["scores"].values()
            if estimate["new_problems"]
        ),
        "",
    )
    rows = [
        [
            run["name"],
            f"{run['attempted']:,}",
            f"{run['samples']:,}",
            *(_score(run["scores"].get(name)) for name in names),
            run["signature_digest"] or "-",
        ]
        for run in runs
    ]
    heads = [f"{name} ({level}CI, new problems)" if at == 0 else name for at, name in enumerate(names)]
    return ["run", "problems", "samples", *heads, "signature"], rows


def _score(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None or estimate["value"] is None:
        return "-"
    interval = estimate["new_problems"]
    ends = f" ({number(interval['low'])} to {number(interval['high'])})" if interval else ""
    return number(estimate["value"]) + ends


def _differences(pairs: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    intervals = [row["new_problems"] for pair in pairs for row in pair["differences"] if row["new_problems"]]
    level = f"{100 * intervals[0]['level']:g}% " if intervals else ""
    heads = ["A", "B", "metric", "A's", "B's", "A - B", f"{level}CI, new problems", "p", "p, adjusted"]
    rows = []
    for pair in pairs:
        for row in pair["differences"]:
            interval = row["new_problems"]
            ends = f"{signed(interval['low'])} to {signed(interval['high'])}" if interval else "-"
            adjusted = p_value(row["adjusted"]) if row["adjusted"] is not None else "-"
            values = [number(row["a"]), number(row["b"]), signed(row["difference"]), ends, p_value(row["p"]), adjusted]
            rows.append([pair["a"], pair["b"], f"pass@{row['k']}", *values])
    return heads, rows


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _markdown_row(heads)
    yield "|" + "|".join("---" if at == 0 else "---:" for at, _ in enumerate(heads)) + "|"
    yield from map(_markdown_row, rows)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escape_markdown(_one_line(cell)) for cell in cells) + " |"


def _escape_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


def _latex_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield r"\begin{tabular}{l" + "r" * (len(heads) - 1) + "}"
    yield r"\hline"
    yield _latex_row(heads)
    yield r"\hline"
    yield from map(_latex_row, rows)
    yield r"\hline"
    yield r"\end{tabular}"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(_escape_latex(_one_line(cell)) for cell in cells) + r" \\"


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _one_line(text: str) -> str:
    return printable(text).replace("\n", " ").replace("\t", " ")


def _csv_lines(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    ends = [f"{kind}_{end}" for kind in ("new_problems", "these_problems") for end in ("low", "high")]
    writer.writerow(
        ["run", "benchmark", "metric", "value", *ends, "level", "reason", "signature", "findings", "warnings"]
    )
    for run in runs:
        faults = _one_line("; ".join(line.strip() for line in run["findings"]))
        for name, estimate in run["scores"].items():
            intervals = [estimate.get("new_problems"), estimate.get("these_problems")]
            limits = [interval[end] if interval else "" for interval in intervals for end in ("low", "high")]
            level = next((interval["level"] for interval in intervals if interval), "")
            value = "" if estimate["value"] is None else estimate["value"]
            warnings = _one_line("; ".join(estimate.get("warnings", ())))
            texts = [estimate.get("reason", ""), run["signature_digest"], faults, warnings]
            writer.writerow([_one_line(run["name"]), _one_line(run["benchmark"]), name, value, *limits, level, *texts])
    yield from target.getvalue().splitlines()
