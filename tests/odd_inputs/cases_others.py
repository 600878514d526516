"""Rows whose fault is in what stands beside the text: other prompts, verdicts, fields, names; and tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from case import JUDGE, Case, Row, benchmark, own, problem, right, write_rows

TEXT = "    return 1\n"


def withheld(name: str, *says: str, **fields: Any) -> Case:
    """Return the case of rows with these fields in place of a text, whose score is withheld."""
    rows = [{"task_id": f"Own/{n}", **fields} for n in range(4)]
    return Case(name, own(rows), JUDGE, 2, findings=("no_code_field",), says=says)


def table(name: str, text: str, *says: str) -> Case:
    """Return the case of a file that is no JSON, which is refused with what makes rows of it."""

    def make(folder: Path) -> None:
        write_rows(folder / "b.jsonl", benchmark())
        (folder / name).write_text(text)

    return Case(f"a table {name}", make, ("judge", name, "--benchmark", "b.jsonl"), 2, refused=True, says=says)


def table_of_problems(folder: Path) -> None:
    """Write a benchmark as a table."""
    write_rows(folder / "s.jsonl", [right(0)])
    (folder / "b.jsonl").write_text("task_id,prompt,entry_point,test\nOwn/0,x,f,y\n")


WHOLE_PROMPT = {"prompt": "def f(x):\n    return x + 2\n", "canonical_solution": ""}
"""A prompt that is the function already."""
LONG_NAME = "def f_of_all(x):\n    return x + N\n"


def named(n: int) -> Row:
    """Return a right program whose function has the right name as its beginning alone."""
    return {"task_id": f"Own/{n}", "solution": LONG_NAME.replace("N", str(n))}


LINES = "    y = x + {}\n    return y\n"


def calling(n: int) -> Row:
    """Return a problem of a function with a name of its own."""
    return {
        "prompt": f'def f{n}(x):\n    """Return x plus {n}."""\n',
        "test": f"def check(candidate):\n    assert candidate(1) == {1 + n}",
    }


def swapped(n: int) -> Row:
    """Return a fenced program of the problem beside this one."""
    other = n ^ 1
    return {"task_id": f"Own/{n}", "completion": f"```python\ndef f{other}(x):\n    return x + {other}\n```\n"}


TESTS = {"input": ["1\n"], "output": ["2\n"]}
CASES = [
    withheld("answers beside tests", "--field generated_code", public_tests=TESTS, generated_code=TEXT),
    withheld("answers beside a test with code", "--field output", test={"code": "assert f(1) == 1"}, output=TEXT),
    withheld("answers beside examples", "--field llm", input_output=[{"input": "x = 1", "output": "2"}], llm=TEXT),
    Case(
        "prompts with other parameters",
        own([right(n, completion=f"    return y + {n}\n", prompt="def f(y):\n    pass\n") for n in range(4)]),
        JUDGE,
        value=0.0,
        findings=("other_prompt",),
        says=("(.prompt + .completion)",),
    ),
    Case(
        "prompts with other words and annotations",
        own([right(n, prompt='def f(x: int = 0) -> int:\n    """Add."""\n') for n in range(4)]),
        JUDGE,
        value=1.0,
    ),
    Case(
        "the prompt for a completion",
        own([right(n, completion=problem(n)["prompt"], output=f"    return x + {n}\n") for n in range(4)]),
        (*JUDGE, "--extract", "auto"),
        value=0.0,
        findings=("prompt_alone",),
        says=("--field NAME",),
    ),
    Case(
        "what passed is left",
        own([right(n, passed=True, completion=f"    return x + {n}  # {r}\n") for n in range(4) for r in range(n + 1)]),
        JUDGE,
        value=1.0,
        findings=("filtered",),
        says=("judge all its samples",),
    ),
    Case("all passed before", own([right(n, passed=True) for n in range(4)]), JUDGE, value=1.0),
    Case(
        "the beginning of a name",
        own([*(right(n) for n in range(3)), named(3)]),
        JUDGE,
        value=0.75,
        findings=("lacks_function",),
        says=("'f_of_all' in its place",),
    ),
    Case(
        "a prompt that is the function",
        own([right(n) for n in range(40)], benchmark(40, _2=WHOLE_PROMPT)),
        JUDGE,
        value=1.0,
        excluded=("Own/2",),
        says=("the prompt alone passes the tests",),
    ),
    Case(
        "line ends that were lost",
        own([right(n) for n in range(8)], [problem(n, canonical_solution=LINES.format(n)) for n in range(8)]),
        JUDGE,
        value=1.0,
        findings=("one_line",),
        says=("line ends were lost",),
    ),
    Case(
        "functions of other problems under auto",
        own([swapped(n) for n in range(4)], [problem(n, entry_point=f"f{n}", **calling(n)) for n in range(4)]),
        (*JUDGE, "--extract", "auto"),
        value=0.0,
        findings=("lacks_function",),
        says=("is the function of",),
    ),
    withheld(
        "answers in objects of one field",
        ".generation[] | {task_id: $r.task_id, completion: .generated_text}",
        "(8 samples)",
        generation=2 * [{"generated_text": TEXT}],
    ),
    withheld(
        "a field of an unknown name with a reply",
        "completion: .reply.candidates[0].content.parts[0].text}",
        reply={"candidates": [{"content": {"parts": [{"text": TEXT}]}}]},
    ),
    withheld(
        "a call of a tool",
        ".choices[0].message.tool_calls[0].function.arguments",
        choices=[{"message": {"tool_calls": [{"type": "function", "function": {"arguments": '{"code": "x"}'}}]}}],
    ),
    withheld("fields with numbers", '(.["text_0"], .["text_1"])', text_0=TEXT, text_1=TEXT),
    withheld("a reply as text", ".response |= fromjson", response=json.dumps({"choices": [{"text": TEXT}]})),
    Case(
        "parts for a completion",
        own([right(n, completion=[{"type": "text", "text": TEXT}]) for n in range(4)]),
        JUDGE,
        code=2,
        findings=("list_of_code",),
        says=("completion: .completion[0].text",),
    ),
    Case(
        "JSON with its code deeper",
        own([right(n, completion=json.dumps({"message": {"content": TEXT}})) for n in range(4)]),
        JUDGE,
        value=0.0,
        findings=("json_text",),
        says=(".completion |= (fromjson | .message.content)",),
    ),
    Case(
        "a function for a task",
        own([{"entry_point": "f", "completion": TEXT} for _ in range(4)]),
        JUDGE,
        code=2,
        refused=True,
        says=(".task_id = .entry_point", "--id-map entry_point"),
    ),
    table("s.tsv", "task_id\tcompletion\nOwn/0\tx\n", "in TSV", "sep='\\\\t'", "s.jsonl"),
    table("s.jsonl", "task_id,completion\nOwn/0,x\n", "in CSV", "s_rows.jsonl"),
    table("s.yaml", "- task_id: Own/0\n  completion: x\n", "YAML", "yaml.safe_load"),
    Case("a table of problems", table_of_problems, JUDGE, 2, refused=True, says=("looks like a table",)),
]
