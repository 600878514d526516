"""What is odd about samples is said the same in every session, and for people too."""

from __future__ import annotations

import re
import shlex

import pytest


@pytest.fixture
def rows(starter):
    """Return forty rows, some of them fenced, cut, empty, or with code in another field, in a file that repeats."""
    right, code = starter.right(), starter.right()["completion"]
    rows = [starter.right(f"starter/{task}", nr=task) for task in range(10)]
    rows += [starter.bad(), starter.bad(completion=f"```python\n{code}```"), starter.bad(completion="    x = (1,")]
    rows += [
        starter.bad(completion=""),
        {"task_id": "starter/0", "code": code},
        {"task_id": "Starter-1"} | {"code": ""},
    ]
    return [*rows, *rows, right | {"task_id": 1}, right | {"finish_reason": "length"}]


@pytest.mark.ci
@pytest.mark.parametrize("kept", [9, *(pytest.param(kept, marks=pytest.mark.nightly) for kept in (1, 20, 10**6))])
def test_the_report_of_a_resumed_run(shell, rows, kept):
    """A run that was interrupted, at whatever row, ends with the report of one that was not."""
    shell.write("s.jsonl", rows)
    words = ("judge", "s.jsonl", "--benchmark", "starter", "--subset", "--run", "run", "--json")
    first = shell(*words).record
    folder = shell.folder / "run"
    (part,) = folder.glob("verdicts-*.jsonl")
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[: 1 + kept]))
    (footer,) = folder.glob("finished-*.json")
    footer.unlink()
    second = shell(*words).record
    assert min(kept, len(lines) - 1) == second["resumed"]
    assert len(first["input"]["findings"]) >= 5
    assert first["input"] == second["input"]
    assert first["withheld"] == second["withheld"]


@pytest.mark.ci
def test_the_report_stands_above_the_score(shell, rows):
    """People see each finding, and the reason why there is no score."""
    shell.write("s.jsonl", rows)
    done = shell("judge", "s.jsonl", "--benchmark", "starter", "--subset")
    assert 2 == done.code
    assert "--extract auto" in done.err
    assert "--accept-input" in done.err
    assert "withheld" in done.out + done.err


@pytest.mark.nightly
def test_shipped_samples_have_a_score(shell):
    """Nothing about the examples withholds their score."""
    record = shell("judge", "starter:examples", "--json").record
    assert record["withheld"] is None
    assert record["pass@1"]["value"] is not None


OPTION = re.compile(r"--(?:field|extract|id-map) (?:'[^']*'|[\w:]+)")
CHAT = "Sure!\n\n```python\n{}```\n\nThis function counts boxes.\n"
REMEDIES = {
    "another field": lambda task, code, _: {"task_id": task, "generation": code},
    "another field of programs": lambda task, _, program: {"task_id": task, "my_program": program},
    "another field of lists": lambda task, code, _: {"task_id": task, "outputs": [code]},
    "lists": lambda task, code, _: {"task_id": task, "completion": [code]},
    "lists of programs": lambda task, _, program: {"task_id": task, "solution": [program]},
    "chat in another field": lambda task, _, program: {"task_id": task, "response": CHAT.format(program)},
    "chat": lambda task, _, program: {"task_id": task, "completion": CHAT.format(program)},
    "chat as programs": lambda task, _, program: {"task_id": task, "solution": CHAT.format(program)},
    "continuations as programs": lambda task, code, _: {"task_id": task, "solution": code},
    "ids of another tool": lambda task, code, _: {"task_id": task.replace("starter/", "Python_"), "completion": code},
    "numbers as ids": lambda task, code, _: {"task_id": int(task.partition("/")[2]), "completion": code},
    "both": lambda task, code, _: {"task_id": int(task.partition("/")[2]), "text": code},
}


@pytest.mark.ci
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (number > 0)) for number, name in enumerate(REMEDIES)]
)
def test_messages_lead_to_the_right_score(shell, starter, name):
    """The options that the messages name, and nothing else, lead to the score of samples in the usual form."""
    tasks = list(starter.problems)[:5]
    rows = []
    for task in tasks:
        code = starter.right(task)["completion"]
        rows.append(REMEDIES[name](task, code, starter.problems[task]["prompt"] + code))
    shell.write("s.jsonl", rows)
    words = ["judge", "s.jsonl", "--benchmark", "starter", "--subset", "--json", "--k", "1"]
    for _ in range(3):
        done = shell(*words)
        options = [word for option in OPTION.findall(done.err) for word in shlex.split(option)]
        if not options:
            break
        words += options
    assert (0, 1.0) == (done.code, done.record["pass@1"]["value"]), done.err
    assert [] == done.record["input"]["findings"]
