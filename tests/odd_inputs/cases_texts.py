"""Texts that lost or gained characters on their way, and rows that stand several times for some problems."""

from __future__ import annotations

from typing import Any

from case import JUDGE, Case, own, right, wrong

AUTO = (*JUDGE, "--extract", "auto")


def texts(name: str, completion: str, finding: str, *says: str, **fields: Any) -> Case:
    """Return the case of four rows with this text for a completion, none of which passes, with what is said of it."""
    rows = [right(n, completion=completion.replace("N", str(n)), **fields) for n in range(4)]
    return Case(name, own(rows), JUDGE, value=0.0, findings=(finding,), says=says)


WHOLE = "def f(x):\n    return x + N\n"


def whole(n: int, text: str = WHOLE) -> dict[str, Any]:
    """Return a row with a whole program."""
    return {"task_id": f"Own/{n}", "solution": text.replace("N", str(n))}


CHARACTERS = [
    texts(
        "a space without width", "\u200b    return x + N\n", "stray_character", "U+200B", "zero width space", "remove"
    ),
    texts("colours of a terminal", "\x1b[32m    return x + N\x1b[0m\n", "stray_character", "U+001B", "terminals"),
    texts(
        "full-width brackets",
        "    return len\uff08str\uff08x\uff09\uff09\n",
        "stray_character",
        "U+FF08",
        "put '(' in its place",
    ),
    Case(
        "a space without width under auto",
        own([whole(n, "\u200b" + WHOLE) for n in range(4)]),
        AUTO,
        value=1.0,
    ),
    texts("quotes of a table", '"    return str(""N"")\n"', "table_quotes", "CSV"),
    texts("no indentation", "if x:\nreturn x + N\nreturn N\n", "no_indentation", "lost"),
    Case(
        "a fence behind a speaker",
        own([whole(n, f"Assistant: ```python\n{WHOLE}```\n") for n in range(4)]),
        JUDGE,
        code=2,
        findings=("fenced",),
        says=("--extract auto",),
    ),
    Case(
        "a fence behind a speaker under auto",
        own([whole(n, f"Assistant: ```python\n{WHOLE}```\n") for n in range(4)]),
        AUTO,
        value=1.0,
    ),
    Case(
        "Markdown without a fence",
        own([whole(n, "Here it is:\n\n    def f(x):\n        return x + N\n\nThat is all.\n") for n in range(4)]),
        AUTO,
        value=1.0,
    ),
    texts("thinking that was cut off", "<think>\nLet me see, N is", "open_thinking", "generate with more tokens"),
    # The first error comes long before the end, which therefore was not cut.
    Case(
        "a wrong line before an open end",
        own([right(n, completion="    return return x\n    y = (") for n in range(4)]),
        JUDGE,
        value=0.0,
    ),
]

FIELDS = [
    texts(
        "thoughts and no answer", "", "empty_text", "generate with more tokens", reasoning_content="I must add N to x."
    ),
    texts("an empty field beside a full one", "", "empty_text", "--field", raw_completion="    return x"),
    Case(
        "lists of tokens",
        own([right(n, completion=["   ", " return", " x", " +", " ", str(n), "\n"]) for n in range(4)]),
        JUDGE,
        code=2,
        findings=("list_of_code",),
        says=('join("")', "tokens"),
    ),
    Case(
        "a task id in capitals",
        own([{"Task_ID": f"Own/{n}", "completion": f"    return x + {n}\n"} for n in range(4)]),
        JUDGE,
        code=2,
        refused=True,
        says=("rename it", "Task_ID"),
    ),
    Case(
        "a task id in another object",
        own([{"meta": {"task_id": f"Own/{n}"}, "completion": f"    return x + {n}\n"} for n in range(4)]),
        JUDGE,
        code=2,
        refused=True,
        says=(".task_id = .meta.task_id",),
    ),
    Case(
        "several checkpoints",
        own([right(n, checkpoint=f"step-{step}") for step in (100, 200) for n in range(4)]),
        JUDGE,
        value=1.0,
        findings=("mixture", "duplicate_rows"),
        says=("`checkpoint` has 2 values",),
    ),
]

COPIES = [
    Case(
        "one row seven times",
        own([*(right(n) for n in range(3)), *[wrong(3)] * 7]),
        JUDGE,
        value=0.75,
        findings=("duplicate_rows",),
        says=("'Own/3' has 6 rows more than the other problems, which have 1",),
    ),
    Case(
        "another sample of one problem",
        own([*(right(n) for n in range(4)), wrong(3)]),
        JUDGE,
        value=0.875,
    ),
]

IDS = [
    Case(
        "one id for all",
        own([right(0, completion=f"    return x + {n}\n") for n in range(12)]),
        JUDGE,
        code=2,
        findings=("one_task",),
        says=("all 12 rows have the task id 'Own/0', and there are 4 problems",),
    ),
    Case(
        "one id that is asked for",
        own([right(0, completion=f"    return x + {n}\n") for n in range(12)]),
        (*JUDGE, "--problems", "Own/0"),
        value=1 / 12,
    ),
    Case(
        "a function of another name under auto",
        own([whole(n, "```python\ndef g(x):\n    return x + N\n```\n") for n in range(4)]),
        AUTO,
        value=0.0,
        findings=("lacks_function",),
        says=("such as 'f'; give it that name",),
    ),
    Case(
        "ids that are mapped to none of the benchmark",
        own([right(n) for n in range(4)]),
        (*JUDGE, "--id-map", "Own/{}=Owm/{}"),
        code=2,
        refused=True,
        says=("makes ids such as 'Owm/0', which the benchmark lacks: it has ids like 'Own/0'",),
    ),
]

CASES = [*CHARACTERS, *FIELDS, *COPIES, *IDS]
