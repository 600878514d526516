"""The samples of a report as compressed parts: columns that the page needs at once, texts that it needs one by one."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from pygments.lexer import Lexer

from passcurve.report.evidence import Evidence, Group
from passcurve.report.page.highlight import find_lexer, token_runs
from passcurve.types import STATUSES, Problem, language_of

_PART_BYTES = 400_000
"""Size of a part of texts before it is compressed; one is unpacked when a sample of it is looked at."""
_LONGEST = 20_000
"""Longest text in a report, in characters; the rest of a longer one is left out, and the report says so."""
_LEAST_BYTES, _BYTES_PER_SAMPLE = 820_000, 160
"""Size of all parts: the first for few samples, the second times their number for many."""
_HIGHLIGHTED = 1_500_000
"""Characters of programs that get colours."""
_PASSED = STATUSES.index("passed")


class Payload(NamedTuple):
    """The parts, in base64."""

    core: str
    texts: tuple[str, ...]
    shown: int
    """Distinct programs whose text is in the parts."""
    total: int
    """Distinct programs; a text without code has none."""


def make_payload(record: Mapping[str, Any], evidence: Sequence[Evidence | None]) -> Payload:
    """Return the samples of all runs, with as many texts as a report of their number may hold."""
    samples = sum(len(own.columns.problem) for own in evidence if own is not None)
    limit = max(_LEAST_BYTES, _BYTES_PER_SAMPLE * samples)
    ranked = list(_ranked(evidence))
    core = _core(record, evidence)
    kept = len(ranked)
    highlighter = _Highlighter()
    while True:
        chosen = {id(group) for _, group in ranked[:kept]}
        texts, chunk_of = _texts(record, evidence, chosen, highlighter)
        packed = _pack({**core, "chunks": chunk_of})
        size = len(packed) + sum(map(len, texts))
        if size <= limit or not kept:
            shown = sum(group.program is not None for _, group in ranked[:kept])
            # Of one whose row has gone there was a program.
            total = sum(group.program is not None or bool(group.missing) for _, group in ranked)
            return Payload(packed, tuple(texts), shown, total)
        # What does not fit is left out, the last of each problem first.
        kept = min(kept - 1, int(kept * max(0.1, limit / size) * 0.97))


def _ranked(evidence: Sequence[Evidence | None]) -> Iterator[tuple[int, Group]]:
    """Yield every group with its rank in its problem, by rank: one that passed first, then the commonest."""
    rows: list[tuple[int, Group]] = []
    for own in evidence:
        for groups in own.groups.values() if own is not None else ():
            order = sorted(groups, key=lambda group: -group.count)
            first = next((group for group in order if group.status == _PASSED), None)
            rest = [group for group in order if group is not first]
            rows += enumerate([first, *rest] if first is not None else rest)
    yield from sorted(rows, key=lambda row: row[0])


def _core(record: Mapping[str, Any], evidence: Sequence[Evidence | None]) -> dict[str, Any]:
    return {
        "statuses": STATUSES,
        "problems": record["problems"],
        "runs": [
            {
                "name": run["name"],
                "limits": run["limits"],
                "limits_s": [run["limits_s"].get(name) for name in record["problems"]],
                "dedup": run["dedup"],
                "columns": own.columns if own is not None else None,
                "messages": [_cut(message) for message in own.messages] if own is not None else [],
                "causes": [_cut(cause) for cause in own.causes] if own is not None else [],
                "counts": [[row["task_id"], row["n"], row["c"]] for row in run["by_problem"]],
            }
            for run, own in zip(record["runs"], evidence, strict=True)
        ],
    }


class _Highlighter:
    """Gives programs their colours, each once, until there are too many."""

    def __init__(self) -> None:
        self._left = _HIGHLIGHTED
        self._runs: dict[int, str] = {}
        self._lexers: dict[str, Lexer | None] = {}

    def runs_of(self, group: Group, text: str, problem: Problem | None) -> str:
        """Return the runs of tokens of a program; an empty text where it stays plain."""
        if id(group) not in self._runs:
            if problem is None or len(text) > min(self._left, _LONGEST):
                return ""
            language = language_of(problem.check)
            if language not in self._lexers:
                self._lexers[language] = find_lexer(language)
            lexer = self._lexers[language]
            self._runs[id(group)] = token_runs(text, lexer) if lexer is not None else ""
            self._left -= len(text)
        return self._runs[id(group)]


def _texts(
    record: Mapping[str, Any], evidence: Sequence[Evidence | None], chosen: set[int], highlighter: _Highlighter
) -> tuple[list[str], list[int]]:
    """Return the parts of texts, and the number of the part of each problem."""
    parts: list[str] = []
    chunk_of: list[int] = []
    part: dict[str, Any] = {}
    size = 0
    for position, task_id in enumerate(record["problems"]):
        problem = next((own.problems[task_id] for own in evidence if own is not None and task_id in own.problems), None)
        entry = {
            "prompt": _cut(problem.prompt or problem.statement) if problem is not None else "",
            "tests": _cut(problem.test) if problem is not None else "",
            "groups": [
                [_group(group, chosen, highlighter, problem) for group in own.groups.get(position, ())]
                if own is not None
                else []
                for own in evidence
            ],
        }
        encoded = _encode(entry)
        if size and size + len(encoded) > _PART_BYTES:
            parts.append(_pack(part))
            part, size = {}, 0
        part[str(position)] = entry
        size += len(encoded)
        chunk_of.append(len(parts))
    if part:
        parts.append(_pack(part))
    return parts, chunk_of


def _group(group: Group, chosen: set[int], highlighter: _Highlighter, problem: Problem | None) -> dict[str, Any]:
    fields: dict[str, Any] = {
        name: _cut(value) if isinstance(value, str) else value
        for name, value in msgspec.to_builtins(group).items()
        if name not in ("program", "reply")
    }
    if id(group) not in chosen:
        return fields | {"left_out": group.program is not None}
    if group.program is not None:
        text = _cut(group.program)
        fields |= {"program": text, "runs": highlighter.runs_of(group, text, problem)}
    if group.reply is not None:
        fields["reply"] = _cut(group.reply)
    return fields


def _cut(text: str) -> str:
    """Return a text that UTF-8 can hold, cut where it is long."""
    text = text[:_LONGEST] + (f"\n... and {len(text) - _LONGEST:,} more characters" if len(text) > _LONGEST else "")
    return text.encode("utf-8", "backslashreplace").decode()


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _pack(value: Any) -> str:
    # Without a time in it, the same samples make the same file.
    return base64.b64encode(gzip.compress(_encode(value), 9, mtime=0)).decode()
