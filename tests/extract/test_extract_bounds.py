"""Tests that no extraction policy crashes, hangs or uses much memory on hostile text."""

from __future__ import annotations

import resource
import time
from typing import NamedTuple

import msgspec
import pytest

from passcurve.extract import extract
from passcurve.extract.source import BUDGET_CHARS, MAX_CHARS, Parser
from passcurve.types import Completion, Expression, FunctionTests, Problem, SampleKey

PROBLEM = Problem(
    id="p",
    prompt='def f(x):\n    """Return x."""\n',
    entry_point="f",
    check=FunctionTests(source="def check(candidate): ...\n"),
)
POLICIES = ("stop-words:bigcode", "first-block", "fence-last", "pruned")
"""One for each way of working; the others have the same steps."""
SECONDS = 10
MEMORY = 1 << 30
LONG = 20_000_000
"""Longer than any text here; a share of it is cut from the end of each."""
FULL = MAX_CHARS - 100


class Full(NamedTuple):
    """A text that repeats a piece up to the length limit of extraction."""

    piece: str
    start: str = ""
    end: str = ""

    def text(self, share: int) -> str:
        """Return the whole text, or one with a share of its length."""
        return self.start + self.piece * ((FULL // share - len(self.start + self.end)) // len(self.piece)) + self.end


TEXTS = {
    "a long line": "x" * (10 << 20),
    "a million fences": "```\n" * 1_000_000,
    "a million tags": "<think></think>" * 1_000_000,
    "a million closing tags": "x</think>" * 1_000_000,
    "closing tags on lines of their own": Full("</think>\n"),
    "opening tags": "<think>" * 1_000_000,
    "blanks": " " * (10 << 20) + "x",
    "line ends": "\r" * (10 << 20) + "x",
    "many fences": Full("```\n"),
    "many fences of python": Full("```python\nx = (\n```\n"),
    "fences of python with an answer": Full("```python\ndef f(x):\n    return g(x)\n```\n"),
    "fences of python that need each other": "".join(
        f"```python\na{number + 1} = a{number}\n" + f"f = f(a{number})\n" * (number > 1900) + "```\n"
        for number in range(2000)
    ),
    "fences in a list": Full("- ```\n"),
    "a deep list": "".join("  " * depth + "- a\n" for depth in range(240)),
    "quotations": Full("> ", end="\n"),
    "wrapped fences": Full("````markdown\n```markdown\n```python\n", end="x\n"),
    "an import of many parts": Full("a.", "import ", "a"),
    "an import of many parts and lines": Full("a.\\\n", "def f(x): return 1\nimport ", "a"),
    "brackets": Full("("),
    "braces": Full("{1:", "    return "),
    "minus signs": Full("-", "    return ", "1"),
    "sums": Full("1+", "    return ", "1"),
    "calls": Full("()", "    return x"),
    "attributes": Full(".x", "    return x"),
    "lambdas": Full("lambda:0\n", "def f(x): return x\n"),
    "a chain of names": "".join(f"a{n} = a{n + 1}\n" for n in range(4_000)) + "def f(x): return a0\n",
    "functions of one name": Full("def f(x): return 1\n"),
    "functions that stop": Full("def f(x)\n"),
    "imports that are prose": Full("from the list\n"),
    "decorators": Full("@a\n", end="def f(x): return 1\n"),
    "deep blocks": "".join(" " * depth + "while 1:\n" for depth in range(300)),
    "elif": Full(" elif 1:\n  x\n", "def f(x):\n if 1:\n  x\n"),
    "nulls": Full("\0"),
    "half a surrogate pair": "def f(x):\n    return '\ud800'\n",
    "half a surrogate pair in a fence": "```python\ndef f(x):\n    return '\udfff'\n```\n",
    "a null in a program": "def f(x):\n    return 1\n\0\n",
    "form feeds": Full("\f\x0b\x1c\u2028", "def f(x):\n    return 1\n"),
    "tabs": Full("\t", end="x"),
    "a formatted string": "    return f'" + "{x:" * 200 + "}" * 200 + "'\n",
    "a long number": "    return " + "9" * 60_000 + "\n",
    "escapes that are warned of": "    return '\\d' is 1\n",
}


def completion(text: str) -> Completion:
    """Return a completion of the problem."""
    return Completion(
        key=SampleKey(problem_id="p", sample_index=0), row=0, line=1, digest="d", form="completion", text=text
    )


@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", TEXTS)
def test_every_policy_comes_to_an_end(name, share):
    """Each policy processes any text in bounded time and memory and records few steps."""
    source = TEXTS[name]
    text = source.text(share) if isinstance(source, Full) else source
    text = text[-(LONG // share) :]
    for policy in POLICIES:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        program = extract(PROBLEM, completion(text), policy)
        assert time.process_time() - start < SECONDS, policy
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < MEMORY, policy
        assert 0 < sum(map(len, program.steps)) < 1000


def test_a_long_text_is_not_taken_apart():
    """A text above the length limit is left unchanged, and the record says so."""
    text = "# a\n" * (MAX_CHARS // 4) + "\n"
    program = extract(PROBLEM, completion(text), "pruned")
    assert PROBLEM.prompt + text == program.text
    assert (f"too long to be taken apart ({len(text):,} characters), joined to the prompt",) == program.steps


def test_an_answer_takes_little_memory():
    """Of an answer, too, Python reads no text that takes it a gigabyte."""
    check = Expression(code="def f(x):\n    return x\n", asks="output", input="1", output="1")
    text = "import " + "a." * 30_000 + "a"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    program = extract(msgspec.structs.replace(PROBLEM, prompt="", check=check), completion(text), "answer")
    assert (text, ()) == (program.text, program.steps)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < MEMORY // 2


def test_thinking_does_not_count_towards_the_cap():
    """The length limit does not include the thinking before the answer."""
    text = "<think>" + "Hm. " * MAX_CHARS + "</think>\n```python\ndef f(x):\n    return x\n```\n"
    assert "def f(x):\n    return x\n" == extract(PROBLEM, completion(text), "auto").text


def test_a_parser_reads_within_its_budget():
    """A parser rejects code beyond its budget and reports that the budget is spent."""
    parser = Parser(10)
    assert parser.read("x = 1\n").tree is not None
    assert not parser.spent
    assert parser.read("y = 2\n").tree is None
    assert parser.spent


def test_a_parser_reads_a_text_once():
    """Parsing the same text again uses no budget."""
    parser = Parser(10)
    assert [parser.read("x = 1\n").tree for _ in range(3)] == [parser.read("x = 1\n").tree] * 3
    assert not parser.spent


def test_the_budget_is_enough_for_the_longest_text():
    """The budget allows several readings of a text of the largest size."""
    assert BUDGET_CHARS >= 8 * MAX_CHARS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1\nThis is prose.\n", "x = 1"),
        ("x = 1\ndef f(:\n", "x = 1"),
        ("x = 1\ny = (1,\n", "x = 1"),
        ("x = 1\ny = '''a\nb\n", "x = 1"),
        ("def f(x):\n", ""),
        ("x = 1\n\0\n", "x = 1"),
        ("x = 1\ny = '\ud800'\n", "x = 1"),
        ("This is prose.\n", ""),
        ("# only a comment\n", ""),
        ("", ""),
    ],
)
def test_the_lines_that_are_python(text, expected):
    """The Python prefix of a text is its longest run of first lines that is valid Python."""
    assert expected == Parser().prefix(text)
