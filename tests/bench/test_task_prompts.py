"""What a model is shown of each kind of problem."""

from __future__ import annotations

import pytest

from passcurve.bench.prompts import find_style, make_prompts
from passcurve.extract import extract
from passcurve.types import Assertions, Cases, Completion, Expression, Problem, SampleKey, Suite, pack_values

WORDS = Problem(
    id="w",
    prompt="",
    entry_point="twice",
    statement="Write a function that doubles a number.",
    check=Assertions(tests=("assert twice(1) == 2", "assert twice(4) == 8")),
)
STDIN = Problem(
    id="s",
    prompt="",
    entry_point="",
    statement="Print the sum of the numbers.",
    check=Cases(suites=(Suite(name="tests", count=1),), inputs=pack_values([("1 2",)]), via="stdin"),
)
CODE = "def f(x):\n    return x + 1"
RESULT = Problem(id="r", prompt="", entry_point="f", check=Expression(code=CODE, asks="output", input="3", output="4"))
CALL = Problem(id="c", prompt="", entry_point="f", check=Expression(code=CODE, asks="input", input="3", output="4"))


@pytest.mark.parametrize(
    ("problem", "end"),
    [
        (WORDS, '"""\nWrite a function that doubles a number.\nassert twice(1) == 2\n"""\n'),
        (STDIN, '"""\nPrint the sum of the numbers.\n"""\n'),
        (RESULT, "    return x + 1\n\nassert f(3) == "),
        (CALL, "    return x + 1\n\nassert 4 == "),
    ],
)
def test_text_to_continue(problem: Problem, end: str):
    """The base style shows the words in a string, and a question about a function as an open assertion."""
    (prompt,) = make_prompts([problem], find_style("base"))
    assert prompt.text.endswith(end)


def test_no_answer_is_shown():
    """What is asked for stands in no prompt of any style."""
    for style in ("base", "chat", "think"):
        shown = [
            prompt.text + "".join(message.content for message in prompt.messages)
            for prompt in make_prompts([RESULT, CALL, WORDS], find_style(style))
        ]
        assert [False] * 3 == ["f(3) == 4" in shown[0], "f(3)" in shown[1], "== 8" in shown[2]], style


def test_the_only_test_of_a_program_is_not_shown():
    """A row of CanItEdit has all its tests in one text: a model that reads it has seen them all."""
    edit = Problem(
        id="e",
        prompt="",
        entry_point="",
        statement="Add a method twice to A.",
        check=Assertions(tests=("assert A().twice(1) == 2\nassert A().twice(4) == 8",)),
    )
    for style in ("base", "chat"):
        (prompt,) = make_prompts([edit], find_style(style))
        shown = prompt.text + "".join(message.content for message in prompt.messages)
        assert (True, False) == ("Add a method twice to A." in shown, "assert" in shown), style


def test_each_kind_has_its_message():
    """A conversation asks for what the check needs; think asks for thoughts as well."""
    chat, think = (make_prompts([WORDS, STDIN, RESULT, CALL], find_style(style)) for style in ("chat", "think"))
    texts = [prompt.messages[-1].content for prompt in chat]
    assert 4 == len(set(texts))
    assert ["standard input" in text for text in texts] == [False, True, False, False]
    assert all(long.messages[-1].content.endswith(text) for long, text in zip(think, texts, strict=True))


@pytest.mark.parametrize(
    ("problem", "text", "program"),
    [
        (RESULT, "4", "4"),
        (RESULT, "4\nassert f(4) == 5\n", "4"),
        (RESULT, "assert f(3) == 4", "4"),
        (RESULT, "I think:\n[ANSWER]\nf(3) == 4\n[/ANSWER]\n", "4"),
        (RESULT, "Because x + 1:\n\n```python\n3\n```\nno,\n\n```python\n4\n```\n", "4"),
        (CALL, "assert f(3) == 4", "f(3)"),
        (CALL, "```python\nf(3)\n```", "f(3)"),
        (CALL, "<think>f(9)</think>\nf(3)", "f(3)"),
        (CALL, "`f(3)`", "f(3)"),
        (CALL, "Here:\n[ANSWER]`assert f(3) == 4`[/ANSWER]", "f(3)"),
        (RESULT, "`4` or `5`", "`4` or `5`"),
        (RESULT, "So:\n[ANSWER]\n```python\n4\n```\n[/ANSWER]\n", "4"),
        (RESULT, "[\n    1,\n    2,\n]\nassert f(4) == 5\n", "[\n    1,\n    2,\n]"),
        (CALL, "f(\n    3\n) == 4\n", "f(\n    3\n)"),
        (RESULT, "4\n```\n\nThis adds one.\n", "4"),
        (RESULT, "Answer\n```\n4\n```\n", "4"),
    ],
)
def test_answers(problem: Problem, text: str, program: str):
    """The policy answer finds the expression in what a model wrote."""
    key = SampleKey(problem_id=problem.id, sample_index=0)
    completion = Completion(key=key, row=0, line=1, digest="", form="completion", text=text)
    assert program == extract(problem, completion, "answer").text
