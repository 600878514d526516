"""Rows as APIs and their libraries write them: several answers each, other ids, errors, lines, numbers of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from case import JUDGE, Case, benchmark, own, right, write_rows

TEXT = "    return 1\n"
LINES = [["    if x:\n", f"        return x + {n}\n", f"    return {n}\n"] for n in range(4)]
USER = {"role": "user", "content": "go on"}
ASSISTANT = {"role": "assistant", "content": TEXT}


def reply(name: str, *says: str, task: str = "task_id", **fields: Any) -> Case:
    """Return the case of rows that hold a reply, which are refused or whose score is withheld, with these words."""
    rows = [{task: f"Own/{n}", **fields} for n in range(4)]
    is_refused = task != "task_id"
    findings = () if is_refused else ("no_code_field",)
    return Case(name, own(rows), JUDGE, 2, refused=is_refused, findings=findings, says=("jq -c", *says))


REPLIES = [
    reply(
        "two choices in each row",
        "4 rows hold 2 `choices` each (8 samples)",
        ". as $r | .choices[] | {task_id: $r.task_id, completion: .message.content}",
        choices=2 * [{"message": ASSISTANT}],
    ),
    reply("two texts in each row", ".choices[] |", "completion: .text}", choices=[{"text": TEXT}, {"text": TEXT}]),
    reply("samples as objects", ".samples[] |", "completion: .text}", samples=2 * [{"text": TEXT}]),
    reply("outputs of a library", "completion: .outputs[0].text}", outputs=[{"text": TEXT, "token_ids": [1]}]),
    reply(
        "a conversation in which the user has the last word",
        'select(.role == "assistant")][-1].content',
        messages=[USER, ASSISTANT, USER],
    ),
    reply(
        "answers after thoughts",
        "completion: .content[1].text}",
        content=[{"type": "thinking", "text": "hm"}, {"type": "text", "text": TEXT}],
    ),
    reply(
        "a batch with results",
        "{task_id: .custom_id, completion: .result.message.content[0].text}",
        task="custom_id",
        result={"type": "succeeded", "message": {"content": [{"type": "text", "text": TEXT}]}},
    ),
    reply(
        "a batch with outputs",
        "completion: .response.body.output[1].content[0].text}",
        task="custom_id",
        response={
            "body": {
                "output": [
                    {"type": "reasoning", "content": [{"type": "text", "text": "hm"}]},
                    {"type": "message", "content": [{"type": "output_text", "text": TEXT}]},
                ]
            }
        },
    ),
    reply(
        "a batch with candidates",
        "{task_id: .key, completion: .response.candidates[0].content.parts[0].text}",
        task="key",
        response={"candidates": [{"content": {"parts": [{"text": TEXT}]}}]},
    ),
    reply(
        "a batch with model outputs",
        "{task_id: .recordId, completion: .modelOutput.content[0].text}",
        task="recordId",
        modelOutput={"content": [{"type": "text", "text": TEXT}]},
    ),
]

ERRORS = [right(0), right(1), right(2), {"task_id": "Own/3", "error": {"code": "rate_limit"}, "response": None}]

OTHERS = [
    Case(
        "one choice in some rows and two in others",
        own({"task_id": f"Own/{n}", "choices": (1 + n % 2) * [{"message": ASSISTANT}]} for n in (0, 0, 0, 1, 2, 2, 3)),
        JUDGE,
        2,
        findings=("no_code_field",),
        says=(".choices[] |",),
    ),
    Case(
        "requests that failed",
        own(ERRORS),
        JUDGE,
        2,
        findings=("no_code_field",),
        says=("1 row has an error and no answer; request them again",),
    ),
    Case(
        "lists of lines",
        own({"task_id": f"Own/{n}", "completion": lines} for n, lines in enumerate(LINES)),
        JUDGE,
        2,
        findings=("list_of_code",),
        says=("lines of one program", '.completion |= join(\\"\\")', "use --field completion"),
    ),
    Case(
        "lists of lines without their ends",
        own({"task_id": f"Own/{n}", "completion": "".join(lines).splitlines()} for n, lines in enumerate(LINES)),
        JUDGE,
        2,
        findings=("list_of_code",),
        says=("lines of one program",),
    ),
    Case(
        "lists of samples in one line each",
        own({"task_id": f"Own/{n}", "completion": [f"    return x + {n}\n", TEXT]} for n in range(4)),
        JUDGE,
        2,
        findings=("list_of_code",),
        says=("; use --field completion",),
    ),
    Case(
        "numbers of rows for ids",
        own(right(n % 4, task_id=n) for n in range(8)),
        JUDGE,
        2,
        refused=True,
        says=("they number the rows (0 to 7) and name no task",),
    ),
    Case(
        "numbers of rows in another field",
        own({"idx": n, "completion": TEXT} for n in range(8)),
        JUDGE,
        2,
        refused=True,
        says=("`idx` numbers the rows (0 to 7) and names no task",),
    ),
    Case(
        "numbers of problems in another field",
        own({"idx": n, "completion": TEXT} for n in range(4)),
        JUDGE,
        2,
        refused=True,
        says=("if `idx` is the task, rename it",),
    ),
]

CHANCE = [right(n, completion=f"    y = {r if n < 4 else 0}\n    return x + {n}\n") for r in range(3) for n in range(6)]

COPIES = [
    Case("two rows that are equal by chance in each round", own(CHANCE, benchmark(6)), JUDGE, value=1.0),
]


def write_verdicts(folder: Path) -> None:
    """Write rows whose verdicts are texts."""
    write_rows(folder / "s.jsonl", [right(n, passed="yes") for n in range(4)])


VERDICTS = [
    Case(
        "verdicts that are texts",
        write_verdicts,
        ("show", "s.jsonl"),
        2,
        refused=True,
        says=("`passed` must be true or false, got a string ('yes')",),
    ),
    Case(
        "a plan for more samples than there are",
        own(right(n) for n in range(4)),
        ("plan", "s.jsonl", "-k", "10"),
        2,
        refused=True,
        says=("has 1 sample of 'Own/0': pass@10 needs 10",),
        before=(JUDGE,),
    ),
    Case(
        "ids of HumanEval on another benchmark",
        own(right(n, task_id=f"HumanEval/{n}") for n in range(4)),
        JUDGE,
        2,
        refused=True,
        says=("these are ids of HumanEval", "--benchmark humaneval"),
    ),
]

CASES = [*VERDICTS, *OTHERS, *REPLIES, *COPIES]
