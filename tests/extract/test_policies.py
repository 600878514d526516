"""How a completion becomes a program, and what is recorded of it."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from passcurve.errors import UnknownNameError, UsageError
from passcurve.extract import DEFAULT, extract, find_policy, policy_names
from passcurve.types import Completion, Problem, Program, SampleKey

KEY = SampleKey(problem_id="own/0", sample_index=3)
PROBLEM = Problem(id="own/0", prompt="def one():\n", entry_point="one", test="def check(candidate): ...\n")


def wrote(text: str | None, form: Literal["completion", "solution"] = "completion", missing: str = "") -> Completion:
    """Return what a model wrote for the problem."""
    return Completion(key=KEY, row=0, line=1, digest="d", form=form, text=text, missing=missing)


def test_completion_is_joined_to_the_prompt() -> None:
    """A completion continues the prompt."""
    expected = Program(key=KEY, text="def one():\n    return 1\n", steps=("joined to the prompt",))
    assert expected == extract(PROBLEM, wrote("    return 1\n"))


def test_solution_is_taken_as_it_stands() -> None:
    """A solution is a whole program; the prompt is not put in front of it."""
    text = "import os\ndef one():\n    return 1\n"
    expected = Program(key=KEY, text=text, steps=("taken as a whole program",))
    assert expected == extract(PROBLEM, wrote(text, "solution"))


@pytest.mark.parametrize("form", ["completion", "solution"])
@pytest.mark.parametrize(
    "text", ["  return 1  \r\n\n", "\ufeffreturn 1", "```python\nreturn 1\n```", "\x00", "\u00e9\u2028"]
)
def test_text_is_never_altered(form: Literal["completion", "solution"], text: str) -> None:
    """Spaces, fences, marks and line ends stay what the model wrote."""
    program = extract(PROBLEM, wrote(text, form))
    assert program.text is not None
    assert text == program.text[-len(text) :]
    assert len(text) + (len(PROBLEM.prompt) if form == "completion" else 0) == len(program.text)


def test_no_text() -> None:
    """Where there is no text there is no program, and the reason of the row is kept."""
    expected = Program(key=KEY, text=None, steps=("the completion is null",))
    assert expected == extract(PROBLEM, wrote(None, missing="the completion is null"))


def test_no_text_and_no_reason() -> None:
    """A program that is None always has a reason."""
    assert ("there is no text",) == extract(PROBLEM, wrote(None)).steps


@pytest.mark.parametrize("form", ["completion", "solution"])
@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\u00a0\u2003"])
def test_white_space_is_no_program(form: Literal["completion", "solution"], text: str) -> None:
    """Nothing but white space is nothing to run, in either form."""
    expected = Program(key=KEY, text=None, steps=("the completion is empty",))
    assert expected == extract(PROBLEM, wrote(text, form))


def test_a_comment_is_text() -> None:
    """Only white space is empty: a comment alone is run and fails by itself."""
    assert "def one():\n# no" == extract(PROBLEM, wrote("# no")).text


def test_completion_of_another_problem_is_refused() -> None:
    """Joining a completion to another problem's prompt would be a wrong verdict, so it is an error."""
    with pytest.raises(UsageError, match="the completion is of 'own/0', but the problem is 'own/1'"):
        extract(msgspec.structs.replace(PROBLEM, id="own/1"), wrote("    return 1\n"))


def test_the_default_leaves_everything_as_it_is() -> None:
    """The default policy is raw."""
    assert ("raw", extract(PROBLEM, wrote("x")), find_policy("raw")) == (
        DEFAULT,
        extract(PROBLEM, wrote("x"), "raw"),
        find_policy(DEFAULT),
    )


def test_the_names() -> None:
    """These are the policies."""
    harnesses = ("stop-words:human-eval", "stop-words:bigcode", "stop-words:lm-eval")
    fences = ("fence-first", "fence-last", "fence-longest")
    assert ("raw", *harnesses, "first-block", *fences, "pruned", "auto") == policy_names()


@pytest.mark.parametrize(
    ("name", "hint"), [("fence-frist", "fence-first"), ("Auto", "auto"), ("stop-words", "stop-words:")]
)
def test_an_unknown_policy_is_refused(name: str, hint: str) -> None:
    """A name that no policy has is an error that offers the nearest and lists all."""
    with pytest.raises(UnknownNameError, match=f"unknown extraction policy {name!r}.*{hint}"):
        extract(PROBLEM, wrote("x"), name)


@pytest.mark.parametrize("policy", policy_names())
@pytest.mark.parametrize("text", ["", " \r\n"])
def test_no_policy_makes_something_of_nothing(policy: str, text: str) -> None:
    """An empty completion has no program under any policy, and for the same reason."""
    assert Program(key=KEY, text=None, steps=("the completion is empty",)) == extract(PROBLEM, wrote(text), policy)


def test_nothing_is_left() -> None:
    """A text of which a step leaves nothing has no program, and the record says after which step."""
    program = extract(PROBLEM, wrote("\nprint(1)\n"), "stop-words:human-eval")
    assert (None, ("cut before '\\nprint'", "nothing of the completion is left")) == (program.text, program.steps)


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
    """Each step that changed something is recorded in order, and no other."""
    problem = msgspec.structs.replace(PROBLEM, prompt="from typing import List\n\n\ndef one() -> List:\n")
    text = (
        "<think>\r\nHm\r\n</think>\r\n\r\n```python\r\ndef one() -> List:\r\n    return [1]\r\nprint(one())\r\n```\r\n"
        "It prints\r\n```\r\n[1]\r\n```\r\n"
    )
    assert STEPS[policy] == extract(problem, wrote(text), policy).steps
