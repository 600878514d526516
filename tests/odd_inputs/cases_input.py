"""Files of samples with wrong fields, fences, copies and foreign task ids."""

from __future__ import annotations

from typing import Any

from case import JUDGE, Case, own, problem, right, wrong

ALL = range(4)
AUTO = (*JUDGE, "--extract", "auto")


def code(number: int) -> str:
    """Return the completion that passes."""
    return str(right(number)["completion"])


def program(number: int) -> str:
    """Return the whole program that passes."""
    return str(problem(number)["prompt"]) + code(number)


def row(number: int, **fields: Any) -> dict[str, Any]:
    """Return a row of a task with these fields alone."""
    return {"task_id": f"Own/{number}"} | fields


def fenced(text: str) -> str:
    """Return a text as a chat model writes it."""
    return f"Sure! Here is the code:\n\n```python\n{text}```\n\nThis function adds a number.\n"


def many(count: int, *odd: dict[str, Any]) -> list[dict[str, Any]]:
    """Return so many right rows, all different, and the odd ones."""
    return [right(n % 4, completion=f"    # {n}\n{code(n % 4)}") for n in range(count)] + list(odd)


DOCSTRING = '    """Use it so:\n\n```python\nf(1)\n```\n    """\n'
ROUNDS = [right(n, completion=f"    # {r}\n{code(n)}") for r in range(3) for n in ALL]

FIELDS = [
    Case(
        "code in another field",
        own(row(n, generation=code(n)) for n in ALL),
        JUDGE,
        2,
        findings=("no_code_field",),
        says=("`generation`", "--field generation", "--accept-input"),
    ),
    Case(
        "code in another field, accepted",
        own(row(n, generation=code(n)) for n in ALL),
        (*JUDGE, "--accept-input"),
        value=0.0,
        findings=("no_code_field",),
    ),
    Case(
        "whole programs in another field",
        own(row(n, model="m", prompt="a" * 99, response=program(n)) for n in ALL),
        JUDGE,
        2,
        findings=("no_code_field",),
        says=("--field response:solution",),
    ),
    Case(
        "chat answers in another field",
        own(row(n, output=fenced(program(n))) for n in ALL),
        JUDGE,
        2,
        findings=("no_code_field",),
        says=("--field output", "--extract auto"),
    ),
    Case(
        "a field that nobody has heard of",
        own(row(n, my_field=code(n), seed="1", canonical_solution=code(n)) for n in ALL),
        JUDGE,
        2,
        findings=("no_code_field",),
        says=("--field my_field",),
    ),
    Case(
        "a list in another field",
        own(row(n, completions=[code(n), code(n)]) for n in ALL),
        JUDGE,
        2,
        findings=("no_code_field",),
        says=("`completions`", "--field completions"),
    ),
    Case("no field at all", own(row(n) for n in ALL), JUDGE, 2, findings=("no_code_field",), says=("--field",)),
    Case(
        "one row of forty in another field",
        own(many(39, row(0, text=code(0)))),
        JUDGE,
        value=(10 / 11 + 3) / 4,
        findings=("no_code_field",),
    ),
    Case(
        "two rows of thirty in another field",
        own(many(28, row(0, text=code(0)), row(1, text=code(1)))),
        JUDGE,
        2,
        findings=("no_code_field",),
        says=("rename `text`",),
    ),
    Case(
        "lists of code",
        own(row(n, completion=[code(n)]) for n in ALL),
        JUDGE,
        2,
        findings=("list_of_code",),
        says=("--field completion",),
    ),
    Case("only empty texts", own(row(n, completion="") for n in ALL), JUDGE, value=0.0, findings=("empty_text",)),
    Case("only nulls", own(row(n, solution=None) for n in ALL), JUDGE, value=0.0, findings=("empty_text",)),
    Case(
        "continuations in the field of programs",
        own(row(n, solution=code(n)) for n in ALL),
        JUDGE,
        value=0.0,
        findings=("lacks_function",),
    ),
]

FENCES = [
    Case(
        "chat answers, taken raw",
        own(row(n, completion=fenced(program(n))) for n in ALL),
        JUDGE,
        2,
        findings=("fenced",),
        says=("--extract auto", "autopsy"),
    ),
    Case("chat answers, extracted", own(row(n, completion=fenced(program(n))) for n in ALL), AUTO, value=1.0),
    Case(
        "chat answers, accepted",
        own(row(n, completion=fenced(program(n))) for n in ALL),
        (*JUDGE, "--accept-input"),
        value=0.0,
        findings=("fenced",),
    ),
    Case(
        "completions without their indentation",
        own(row(n, completion=code(n).strip()) for n in ALL),
        JUDGE,
        value=0.0,
        findings=("lost_indentation",),
        says=("--extract auto",),
    ),
    Case(
        "completions without their indentation, extracted",
        own(row(n, completion=code(n).strip()) for n in ALL),
        AUTO,
        value=1.0,
    ),
    Case(
        "fenced whole programs",
        own(row(n, solution=f"```\n{program(n)}```") for n in ALL),
        JUDGE,
        2,
        findings=("fenced",),
    ),
    Case(
        "prose without fences",
        own(row(n, completion=f"Here is the function:\n\n{program(n)}") for n in ALL),
        JUDGE,
        2,
        findings=("fenced",),
    ),
    Case(
        "prose after the code",
        own(row(n, completion=f"{code(n)}\nThis function returns the sum. Let me know!\n") for n in ALL),
        JUDGE,
        2,
        findings=("fenced",),
    ),
    Case("fences in a docstring", own(right(n, completion=DOCSTRING + code(n)) for n in ALL), JUDGE, value=1.0),
    Case(
        "fences in a string, and prose in a comment",
        own(right(n, completion=f'    s = """\n```\n"""\n# Here is the code: ```\n{code(n)}') for n in ALL),
        JUDGE,
        value=1.0,
    ),
    Case(
        "one fenced row of forty",
        own(many(39, row(0, completion=fenced(program(0))))),
        JUDGE,
        value=(10 / 11 + 3) / 4,
        findings=("fenced",),
    ),
    Case(
        "one fenced row and one in another field, of thirty",
        own(many(28, row(0, completion=fenced(program(0))), row(1, text=code(1)))),
        JUDGE,
        2,
        findings=("fenced", "no_code_field"),
    ),
    Case(
        "completions that repeat the prompt",
        own(row(n, completion=program(n)) for n in ALL),
        JUDGE,
        value=1.0,
        findings=("holds_prompt",),
    ),
    Case("whole programs", own(row(n, solution=program(n)) for n in ALL), JUDGE, value=1.0),
    Case(
        "a whole program without its function",
        own([*(row(n, solution=program(n)) for n in range(3)), row(3, solution="x = 1\n")]),
        JUDGE,
        value=0.75,
        findings=("lacks_function",),
    ),
    Case(
        "texts that end early",
        own([right(0), right(1), wrong(2, completion="    y = [x, 1"), wrong(3, completion="    if x:\n")]),
        JUDGE,
        value=0.5,
        findings=("truncated",),
    ),
    Case(
        "rows that reached the limit of tokens",
        own([*(right(n, finish_reason="stop") for n in range(3)), wrong(3, finish_reason="length")]),
        JUDGE,
        value=0.75,
        findings=("truncated",),
    ),
    Case("token ids as stop reasons", own(right(n, stop_reason=[2, None]) for n in ALL), JUDGE, value=1.0),
]

COPIES = [
    Case("a file twice", own(ROUNDS * 2), JUDGE, value=1.0, findings=("duplicate_rows",)),
    Case("a file three times", own(ROUNDS * 3), JUDGE, value=1.0, findings=("duplicate_rows",)),
    Case("a file and its beginning", own(ROUNDS + ROUNDS[:5]), JUDGE, value=1.0, findings=("duplicate_rows",)),
    Case(
        "a file twice, sorted",
        own(right(n, completion=f"    # {r // 2}\n{code(n)}") for n in ALL for r in range(6)),
        JUDGE,
        value=1.0,
        findings=("duplicate_rows",),
    ),
    Case(
        "samples at temperature 0",
        own([right(n) for n in ALL for _ in range(3)]),
        JUDGE,
        value=1.0,
        findings=("equal_programs",),
    ),
    Case(
        "one problem with equal samples",
        own([right(0), *(right(n, nr=nr, completion=f"    # {nr}\n{code(n)}") for n in (1, 2, 3) for nr in "ab")]),
        JUDGE,
        value=1.0,
    ),
]

TASKS = [
    Case(
        "task ids of another tool",
        own({"task_id": f"Python/{n}", "completion": code(n)} for n in ALL),
        JUDGE,
        2,
        refused=True,
        says=("--id-map 'Python/{}=Own/{}'",),
    ),
    Case(
        "task ids that are numbers",
        own({"task_id": n, "completion": code(n)} for n in ALL),
        JUDGE,
        2,
        refused=True,
        says=("--id-map '{}=Own/{}'",),
    ),
    Case(
        "task ids that count from 1",
        own({"task_id": n + 1, "completion": code(n)} for n in ALL),
        JUDGE,
        2,
        refused=True,
        says=("--id-map '{}=Own/{-1}'",),
    ),
    Case(
        "some task ids of another tool",
        own([*map(right, ALL), {"task_id": "own-3", "completion": code(3)}]),
        JUDGE,
        2,
        value=1.0,
        findings=("unknown_tasks",),
        says=("--id-map 'own-{}=Own/{}'",),
    ),
    Case(
        "task ids of no benchmark",
        own({"task_id": "sum", "completion": code(n)} for n in ALL),
        JUDGE,
        2,
        refused=True,
        says=("--benchmark", "Own/0"),
    ),
    Case(
        "task ids in another field",
        own({"problem": f"Own/{n}", "completion": code(n)} for n in ALL),
        JUDGE,
        2,
        refused=True,
        says=("task_id", "`problem`"),
    ),
]

CASES = [*FIELDS, *FENCES, *COPIES, *TASKS]
