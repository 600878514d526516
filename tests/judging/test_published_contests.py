"""Right and wrong programs for published contest problems, judged by the command."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "benchmarks"

pytestmark = pytest.mark.nightly

FILES = {
    "contests": "sandboxfusion_code_eval_code_contests.jsonl.gz",
    "apps": "apps_selected150.jsonl.gz",
    "live": "sandboxfusion_code_eval_live_code_bench_v1.jsonl.gz",
}
PROGRAMS = tomllib.loads(Path(__file__).with_name("contest_programs.toml").read_text("utf-8"))["program"]
EXIT = "import sys; sys.exit(0)"
LATE = {"contests": "3", "apps": "2133", "live": "191"}
"""The problem of each file for which a program is too slow."""


def change(text: str, words: str) -> str:
    """Return a program with its change ``OLD -> NEW``."""
    old, _, new = words.partition(" -> ")
    assert old in text, words
    return text.replace(old, new)


def programs_of(name: str) -> list[dict[str, Any]]:
    """Return the programs for a file: right and changed ones, one that fails at its end, and one that is too slow."""
    rows = []
    for item in (item for item in PROGRAMS if item["file"] == name):
        text = item["text"]
        right = [text, *(change(text, words) for words in item.get("same", ()))]
        wrong = [*(change(text, words) for words in item["wrong"]), EXIT]
        if "def " not in text and name != "live":
            wrong += [f"{text}\nraise SystemExit(1)", f"{text}\n1 / 0", f"{text}\nprint(0)"]
        rows += [{"task_id": item["problem"], "solution": text, "right": True} for text in right]
        rows += [{"task_id": item["problem"], "solution": text, "right": False} for text in wrong]
    rows.append({"task_id": LATE[name], "solution": "while True: pass", "right": False})
    return rows


@pytest.mark.parametrize("name", FILES)
def test_programs(shell: Any, name: str):
    """Ten programs and more pass, and fail with one change."""
    if not (FOLDER / FILES[name]).exists():
        pytest.skip(f"no {FOLDER / FILES[name]}")
    rows = programs_of(name)
    assert min(sum(row["right"] for row in rows), sum(not row["right"] for row in rows)) >= 10
    shell.write("s.jsonl", rows)
    words = ("judge", "s.jsonl", "--benchmark", str(FOLDER / FILES[name]), "--subset", "--json")
    session = shell.start(*words, env=shell.env)
    out, err = session.communicate(timeout=600)
    assert session.returncode in (0, 2), (out, err)
    results = [json.loads(line) for line in (shell.folder / "s.jsonl_results.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == len(results)
    wrong = [row for row in results if row["passed"] != row["right"]]
    assert not wrong
