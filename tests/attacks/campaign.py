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


class AttackResult(NamedTuple):
    """Results of one attack and of its bystanders."""

    row: dict[str, Any]
    bystanders: list[bool]
    """For each bystander, whether it got the right verdict."""

    @property
    def passed(self) -> bool:
        """True if the sample passed."""
        return self.row["passed"]

    @property
    def was_refused(self) -> bool:
        """True if a probe ran to its end and all its attempts were refused."""
        return self.row.get("call", {}).get("outcome") == f"returned {HELD!r}"

    def __str__(self) -> str:
        kept = ("status", "message", "call", "mode")
        return str({name: self.row[name] for name in kept if name in self.row})


class Campaign(NamedTuple):
    """Results of a run."""

    results: dict[str, AttackResult]
    """Results by the name of the sample."""
    record: dict[str, Any]
    code: int
    errors: str
    host: dict[str, object]


def run_campaign(
    shell: Any, samples: Iterable[Attack | Control], *arguments: str, level: str = "full", workers: int = 1
) -> Campaign:
    """Judge samples among bystanders; skip the test if the level of isolation is not available."""
    rows = [row for sample in samples for row in _among_bystanders(sample)]
    with Host(shell.folder, workers) as host:
        values = {**host.placeholders, "@PASSCURVE@": passcurve.__file__, "@MSGSPEC@": msgspec.__file__}
        shell.write("problems.jsonl", (problem.row(name) for name, problem in PROBLEMS.items()))
        shell.write("s.jsonl", (_fill(row, values) for row in rows))
        command = ["judge", "s.jsonl", "--benchmark", "problems.jsonl", "--subset", "--no-dedup", "--json", *LIMITS]
        command += ["--workers", str(workers), "--isolation", level, *arguments]
        session = shell.start(*command, env=shell.env | host.environment)
        try:
            out, err = session.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            session.kill()
            raise
        record = json.loads(out)
        if "is not available here" in record.get("error", ""):
            pytest.skip(record["error"])
        return Campaign(_read_results(shell.folder, rows), record, session.returncode, err.decode(), host.findings())


def _among_bystanders(sample: Attack | Control) -> Iterable[dict[str, Any]]:
    problem = PROBLEMS[sample.problem]
    texts = {"right": problem.right, "wrong": problem.wrong}
    if isinstance(sample, Attack) and sample.late:
        # Too slow for the first attempt, it is judged at the end of the run, where the attack is judged again.
        texts["right late"] = f"{problem.right}\n\nimport time\ntime.sleep(0.4)\n"
    yield {"task_id": sample.problem, "completion": problem.right, "attack": sample.name, "part": "right"}
    yield {**sample.row, "attack": sample.name, "part": "attack"}
    for part in ("wrong", "right", "right late"):
        if part in texts:
            yield {"task_id": sample.problem, "completion": texts[part], "attack": sample.name, "part": part}


def _fill(row: dict[str, Any], values: dict[str, str]) -> dict[str, Any]:
    filled = dict(row)
    if isinstance(row.get("solution"), str):
        for placeholder, value in values.items():
            filled["solution"] = filled["solution"].replace(placeholder, value)
    return filled


def _read_results(folder: Path, rows: list[dict[str, Any]]) -> dict[str, AttackResult]:
    path = folder / "s.jsonl_results.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    results: dict[str, AttackResult] = {}
    bystanders: dict[str, list[bool]] = {}
    for expected, line in zip(rows, lines, strict=False):
        row = json.loads(line)
        name, part = row["attack"], row["part"]
        assert (expected["attack"], expected["part"]) == (name, part)
        if part == "attack":
            results[name] = AttackResult(row, bystanders.setdefault(name, []))
        else:
            bystanders.setdefault(name, []).append(row["passed"] == part.startswith("right"))
    return results
