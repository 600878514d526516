"""Tests of the policies that cut as a harness does in one of its tasks, by the rules in its source."""

from __future__ import annotations

from typing import Literal

import pytest

from passcurve.extract import extract
from passcurve.types import Assertions, Completion, FunctionTests, Problem, SampleKey

MBPP = Problem(id="1", prompt="", entry_point="f", check=Assertions(tests=("assert f(1) == 2",)))
PACK = Problem(
    id="1", prompt='def f(x):\n    """Add one."""\n', entry_point="f", check=FunctionTests(source="check(f)")
)
PROMPT = '"""\nAdd one.\nassert f(1) == 2\n"""\n'
"""As ``get_prompt`` of bigcode_eval/tasks/mbpp.py makes it."""
TWO = "def g(x):\n    return x\n\ndef f(x):\n    # one\n    return g(x) + 1\n"
BODY = "    return x + 1\n"


def program(
    problem: Problem, policy: str, text: str, form: Literal["completion", "solution"] = "completion"
) -> str | None:
    """Return the program of a text."""
    key = SampleKey(problem_id="1", sample_index=0)
    completion = Completion(key=key, row=0, line=1, digest="d", form=form, text=text, missing="")
    return extract(problem, completion, f"stop-words:{policy}").text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # ``stop_words`` and ``_stop_at_stop_token`` of bigcode_eval/tasks/mbpp.py at c326b51.
        (TWO, TWO),
        (f"# one\n{TWO}", f"# one\n{TWO}"),
        (f"@cache\n{TWO}", f"@cache\n{TWO}"),
        (f"{TWO}assert f(1) == 3\n", TWO[:-1]),
        (f"{TWO}class A: pass\n", TWO[:-1]),
        (f"{TWO}print(f(1))\n", TWO[:-1]),
        (f"{TWO}if f(1): pass\n", TWO[:-1]),
        (f"{TWO}```\nprose", TWO[:-1]),
        (f"{TWO}<|/code|>", TWO[:-1]),
        (f'{TWO}"""\nMore', TWO[:-1]),
        (f"{TWO}<file_sep>", f"{TWO}<file_sep>"),
        (f"{TWO}[DONE]", f"{TWO}[DONE]"),
        # A generation has lost its prompt when it is cut, so a docstring of its own ends it.
        (f'"""\nAdd one.\n"""\n{TWO}', '"""\nAdd one.'),
    ],
)
def test_mbpp_of_bigcode(text: str, expected: str):
    """A program of MBPP may have several functions, comments and decorators; what follows it is cut."""
    assert expected == program(MBPP, "bigcode-mbpp", text)


@pytest.mark.parametrize("rest", ["", "assert f(1) == 3\n", '"""\nMore\n"""\n'])
@pytest.mark.parametrize("prompt", [PROMPT, '"""Add one.\nassert f(1) == 2\n"""\n', ""])
def test_files_of_generations(prompt: str, rest: str):
    """A whole program keeps the prompt in front of it: ``postprocess_generation`` returns both."""
    expected = prompt + (TWO[:-1] if rest else TWO)
    assert expected == program(MBPP, "bigcode-mbpp", prompt + TWO + rest, "solution")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # ``generation_kwargs: until`` of lm_eval/tasks/mbpp/mbpp.yaml.
        (f"{TWO}[DONE]\nprose", TWO),
        (f"{TWO}assert f(1) == 3\n", f"{TWO}assert f(1) == 3\n"),
        (f'"""\nAdd one.\n"""\n{TWO}', f'"""\nAdd one.\n"""\n{TWO}'),
    ],
)
def test_mbpp_of_lm_eval(text: str, expected: str):
    """One word ends a program of MBPP."""
    assert expected == program(MBPP, "lm-eval-mbpp", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # ``remove_last_block`` of bigcode_eval/tasks/humanevalpack.py at 0261c52.
        (BODY, BODY),
        (f"    if x:\n\n\t{BODY}", f"    if x:\n\n\t{BODY}"),
        (f"{BODY}\nassert f(1) == 3\n", BODY),
        (f"{BODY}This adds one.\n", BODY[:-1]),
        (f"{BODY}\nfor i in range(3):\n    f(i)\n", BODY),
        (f"{BODY}\n```\nprose", BODY),
        (f"{BODY}<|endoftext|>prose (", BODY),
        (f"{BODY}    # <file_sep>\n", f"{BODY}    # <file_sep>\n"),
        ("return x + 1\n", None),
    ],
)
def test_humanevalpack_of_bigcode(text: str, expected: str | None):
    """A completion of HumanEvalPack ends before its first line that is not indented."""
    assert (None if expected is None else PACK.prompt + expected) == program(PACK, "bigcode-humanevalpack", text)
    whole = program(PACK, "bigcode-humanevalpack", PACK.prompt + text, "solution")
    assert PACK.prompt + (expected or "") == whole
