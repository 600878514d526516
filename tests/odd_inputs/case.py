"""One odd input: its files, the command that meets it, and what the command must make of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One odd input and its expected diagnosis, score or refusal, and exit code."""

    name: str
    make: Callable[[Path], None]
    """Writes the files into an empty folder."""
    command: tuple[str, ...]
    """Words after ``passcurve``; ``--json`` is added."""
    code: int = 0
    value: float | None = None
    """pass@1; None where no score may be reported."""
    findings: tuple[str, ...] = ()
    """The names of the findings on the samples, exactly these."""
    excluded: tuple[str, ...] = ()
    """The problems that are excluded, exactly these."""
    says: tuple[str, ...] = ()
    """Words that the refusal, the reason or a finding must name: an option, a field, a file."""
    refused: bool = False
    """True when nothing is judged at all."""
    before: tuple[tuple[str, ...], ...] = ()
    """Commands that are run first, whatever they say."""
    between: Callable[[Path], None] | None = None
    """Changes the files after those commands."""


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows in JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def problem(number: int, **fields: Any) -> dict[str, Any]:
    """Return a problem of a small benchmark: ``f(x)`` returns x plus its number."""
    first, second = 1 + number, 5 + number
    row = {
        "task_id": f"Own/{number}",
        "prompt": f'def f(x):\n    """Return x plus {number}."""\n',
        "entry_point": "f",
        "canonical_solution": f"    return x + {number}\n",
        "test": f"def check(candidate):\n    assert candidate(1) == {first}\n    assert candidate(5) == {second}",
    }
    return row | fields


def benchmark(count: int = 4, **changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a benchmark of so many problems; ``changes`` are fields by problem, as in ``_2={"test": ""}``."""
    return [problem(number, **changes.get(f"_{number}", {})) for number in range(count)]


def right(number: int, **fields: Any) -> dict[str, Any]:
    """Return a sample of that problem that passes."""
    return {"task_id": f"Own/{number}", "completion": f"    return x + {number}\n"} | fields


def wrong(number: int, **fields: Any) -> dict[str, Any]:
    """Return a sample of that problem that fails."""
    return {"task_id": f"Own/{number}", "completion": "    return None\n"} | fields


def own(samples: Iterable[Row], problems: Iterable[Row] | None = None) -> Callable[[Path], None]:
    """Return what writes ``s.jsonl`` and ``b.jsonl``: samples, and the benchmark (by default of four problems)."""
    rows, problem_rows = list(samples), list(benchmark() if problems is None else problems)

    def make(folder: Path) -> None:
        write_rows(folder / "s.jsonl", rows)
        write_rows(folder / "b.jsonl", problem_rows)

    return make


CHEAP = ("--workers", "1", "--reuse", "fork")
"""What starts soonest, with the same verdicts."""
JUDGE = ("judge", "s.jsonl", "--benchmark", "b.jsonl", "--k", "1", *CHEAP)
