"""Inputs that a second stranger tried: damaged characters, bodies and methods, two fields, replies of chat APIs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from case import JUDGE, Case, benchmark, own, right, write_rows, wrong


def damaged_text(name: str, completion: str, finding: str, *says: str, value: float = 0.0) -> Case:
    """Return the case of four rows with this text, whose score stands beside what is wrong with it."""
    rows = [right(n, completion=completion.replace("N", str(n))) for n in range(4)]
    return Case(name, own(rows), JUDGE, value=value, findings=(finding,), says=says)


def chat(name: str, **reply: Any) -> Case:
    """Return the case of rows that are replies of a chat API."""
    rows = [{"task_id": f"Own/{n}", "model": "m", **reply} for n in range(4)]
    return Case(name, own(rows), JUDGE, 2, findings=("no_code_field",), says=("jq -c", ".content", "--extract auto"))


MESSAGE = {"role": "assistant", "content": "    return 1"}
TWO = [wrong(n, solution=f"def f(x):\n    return x + {n}\n") for n in range(4)]
METHODS = [
    {"task_id": f"Own/{n}", "solution": f"class Solution:\n    def f(self, x):\n        return x + {n}\n"}
    for n in range(4)
]
BODIES = [{"task_id": f"Own/{n}", "solution": f"    return x + {n}\n"} for n in range(4)]
NOT_A_NUMBER = [json.dumps(right(n, score=float("nan"))) for n in range(4)]


def lines(folder: Path) -> None:
    """Write rows with NaN in each."""
    write_rows(folder / "b.jsonl", benchmark())
    (folder / "s.jsonl").write_text("\n".join(NOT_A_NUMBER) + "\n", "utf-8")


def strangers(folder: Path) -> None:
    """Write samples, their benchmark, and one with other task ids."""
    write_rows(folder / "s.jsonl", [right(n) for n in range(4)])
    write_rows(folder / "b.jsonl", benchmark())
    write_rows(folder / "other.jsonl", [row | {"task_id": f"Other/{n}"} for n, row in enumerate(benchmark())])


CASES = [
    Case(
        "code in two fields",
        own(TWO),
        JUDGE,
        value=1.0,
        findings=("two_fields",),
        says=("--field completion",),
    ),
    damaged_text(
        "code from a page", "    if x &lt; 0:\n        return 0\n    return x + N\n", "html_entities", "html.unescape"
    ),
    Case(
        "functions as methods",
        own(METHODS),
        JUDGE,
        value=0.0,
        findings=("method_only",),
        says=("class Solution",),
    ),
    Case(
        "the wrong benchmark first",
        strangers,
        JUDGE,
        value=1.0,
        before=(("judge", "s.jsonl", "--benchmark", "other.jsonl"),),
    ),
    Case("the chosen field of two", own(TWO), (*JUDGE, "--field", "completion"), value=0.0),
    damaged_text("a NUL at the end", "    return x + N\n\0", "nul_characters", "--extract auto"),
    damaged_text(
        "line ends that were escaped twice",
        "    y = 1\\n    return x + N\\n",
        "escaped_line_ends",
        "escaped twice",
    ),
    damaged_text("tabs beside spaces", "\treturn x + N\n", "mixed_indentation", "--extract auto"),
    damaged_text(
        "a second function that was cut off",
        "    return x + N\n\n\ndef g(x):\n    return (",
        "not_cut",
        "--extract auto",
    ),
    Case(
        "bodies as whole programs",
        own(BODIES),
        JUDGE,
        value=0.0,
        findings=("lacks_function",),
        says=("--field solution",),
    ),
    Case("bodies as they should be read", own(BODIES), (*JUDGE, "--field", "solution"), value=1.0),
    Case("not a number in every row", lines, JUDGE, value=1.0),
    chat("replies with choices", choices=[{"message": MESSAGE}]),
    chat("conversations", messages=[{"role": "user", "content": "x"}, MESSAGE]),
    chat("answers of a batch", response={"body": {"choices": [{"message": MESSAGE}]}}),
    Case(
        "a field of objects",
        own({"task_id": f"Own/{n}", "choices": [{"message": MESSAGE}]} for n in range(4)),
        (*JUDGE, "--field", "choices"),
        2,
        refused=True,
        says=("`choices`", "jq -c"),
    ),
    Case(
        "the benchmark itself", own(benchmark()), JUDGE, 2, findings=("no_code_field",), says=("the benchmark itself",)
    ),
    Case(
        "answers beside the fields of the benchmark",
        own({**fields, "generation": f"    return x + {n}\n"} for n, fields in enumerate(benchmark())),
        JUDGE,
        2,
        findings=("no_code_field",),
        says=("--field generation",),
    ),
    Case(
        "several samples named by number",
        own(right(n, task_id=f"Own/{n}-sample{k}") for n in range(4) for k in range(2)),
        (*JUDGE, "--id-map", "Own/{}-sample*=Own/{}"),
        value=1.0,
        findings=("equal_programs",),
    ),
    Case(
        "names of functions that are no ids",
        own(right(n, task_id="f") for n in range(4)),
        (*JUDGE, "--id-map", "entry_point"),
        2,
        refused=True,
        says=("(of 4 problems)",),
    ),
]
