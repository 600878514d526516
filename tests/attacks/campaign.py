"""One run of the real command over many attacks, each between a right and a wrong answer to the same problem."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from corpus import HELD, PROBLEMS, Attack, Control
from host import Host

import passcurve

PATIENCE_S = 900.0
LIMITS = ("--timeout", "1", "--memory", "512MiB")


class Found(NamedTuple):
    """What became of one attack and of those beside it."""

    row: dict[str, Any]
    around: list[bool]
    """Whether each bystander got the verdict that it deserves."""

    @property
    def passed(self) -> bool:
        """Whether the sample passed."""
        return self.row["passed"]

    @property
    def held(self) -> bool:
        """Whether a probe ran to its end and was refused everything."""
        return self.row.get("call", {}).get("outcome") == f"returned {HELD!r}"

    def __str__(self) -> str:
        kept = ("status", "message", "call", "mode")
        return str({name: self.row[name] for name in kept if name in self.row})


class Campaign(NamedTuple):
    """What a run left."""

    found: dict[str, Found]
    """By the name of the sample."""
    record: dict[str, Any]
    code: int
    errors: str
    host: dict[str, object]


def campaign(
    shell: Any, samples: Iterable[Attack | Control], *words: str, level: str = "full", workers: int = 1
) -> Campaign:
    """Judge samples among bystanders; skip the test where the level of isolation cannot be had."""
    rows = [row for sample in samples for row in _among_bystanders(sample)]
    with Host(shell.folder) as host:
        places = {**host.places, "@PASSCURVE@": passcurve.__file__, "@MSGSPEC@": msgspec.__file__}
        shell.write("problems.jsonl", (problem.row(name) for name, problem in PROBLEMS.items()))
        shell.write("s.jsonl", (_filled(row, places) for row in rows))
        command = ["judge", "s.jsonl", "--benchmark", "problems.jsonl", "--subset", "--no-dedup", "--json", *LIMITS]
        command += ["--workers", str(workers), "--isolation", level, *words]
        session = shell.start(*command, env=shell.env | host.environment)
        try:
            out, err = session.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            session.kill()
            raise
        record = json.loads(out)
        if "cannot be had here" in record.get("error", ""):
            pytest.skip(record["error"])
        return Campaign(_found(shell.folder, rows), record, session.returncode, err.decode(), host.findings())


def _among_bystanders(sample: Attack | Control) -> Iterable[dict[str, Any]]:
    problem = PROBLEMS[sample.problem]
    texts = {"right": problem.right, "wrong": problem.wrong}
    if isinstance(sample, Attack) and sample.late:
        # Slower than a first slice, it is judged at the end, where the attack is judged again.
        texts["right late"] = f"{problem.right}\n\nimport time\ntime.sleep(0.4)\n"
    yield {"task_id": sample.problem, "completion": problem.right, "attack": sample.name, "part": "right"}
    yield {**sample.row, "attack": sample.name, "part": "attack"}
    for part in ("wrong", "right", "right late"):
        if part in texts:
            yield {"task_id": sample.problem, "completion": texts[part], "attack": sample.name, "part": part}


def _filled(row: dict[str, Any], places: dict[str, str]) -> dict[str, Any]:
    filled = dict(row)
    if isinstance(row.get("solution"), str):
        for place, value in places.items():
            filled["solution"] = filled["solution"].replace(place, value)
    return filled


def _found(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Found]:
    path = folder / "s.jsonl_results.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    found: dict[str, Found] = {}
    around: dict[str, list[bool]] = {}
    for wanted, line in zip(rows, lines, strict=False):
        row = json.loads(line)
        name, part = row["attack"], row["part"]
        assert (wanted["attack"], wanted["part"]) == (name, part)
        if part == "attack":
            found[name] = Found(row, around.setdefault(name, []))
        else:
            around.setdefault(name, []).append(row["passed"] == part.startswith("right"))
    return found
