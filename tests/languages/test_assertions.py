"""An assertion of the tests that does not hold fails the program, in each language by its usual statement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toolchains import require

import passcurve as pc

CS_HEAD = "using System.Diagnostics;\nclass Problem { static int Add(int a, int b) { return a "
CASES = {
    "cs": (CS_HEAD, " b; }", "static void Main() { Debug.Assert(Add(1, 2) == 3); }\n}\n"),
    "js": ("function add(a, b) { return a ", " b; }", "let sum = add(1, 2);\nconsole.assert(sum === 3);\n"),
    "kt": ("fun add(a: Int, b: Int) = a ", " b\n", "fun main() {\n    assert(add(1, 2) == 3)\n}\n"),
    "php": ("function add($a, $b) { return $a ", " $b; }", "assert(add(1, 2) === 3);\n"),
    "ts": (
        "function add(a: number, b: number): number { return a ",
        " b; }",
        "let sum: number = add(1, 2);\nconsole.assert(sum === 3);\n",
    ),
}
"""The program before and behind its operator, and tests."""


@pytest.mark.parametrize("name", CASES)
def test_a_failed_assertion_fails_a_program(name: str, tmp_path: Path) -> None:
    """The right program passes, and the wrong one does not, although its process goes on and ends with status 0."""
    require(name)
    start, end, tests = CASES[name]
    benchmark = tmp_path / "one.jsonl"
    benchmark.write_text(json.dumps({"id": "add/0", "kind": "script", "language": name, "tests": tests}) + "\n")
    rows = [{"task_id": "add/0", "solution": f"{start}{operator}{end}"} for operator in "+-"]
    run = pc.judge(rows, benchmark=benchmark, timeout_s=10.0, memory="1GiB", accept_input=True, workers=1)
    assert ["passed", "failed"] == list(run.samples.columns["status"])
