"""What `auto` takes out of a reply works as the reply's author meant it: each program is run here, all are ours."""

from __future__ import annotations

import contextlib
import decimal
import io
import time
from typing import Any

import pytest

from passcurve.extract import extract
from passcurve.types import Completion, FunctionTests, Problem, SampleKey

RIGHT = "def total(items):\n    return sum(items)\n"
FENCED = f"```python\n{RIGHT}```\n"


def program_of(text: str, entry_point: str = "total", prompt: str = "def total(items):\n") -> str:
    """Return the program that `auto` makes of a text."""
    problem = Problem(id="X", prompt=prompt, entry_point=entry_point, check=FunctionTests(source=""))
    completion = Completion(
        key=SampleKey(problem_id="X", sample_index=0), row=0, line=1, digest="d", form="completion", text=text
    )
    program = extract(problem, completion, "auto")
    assert program.text is not None, program.steps
    return program.text


def result_of(text: str) -> Any:
    """Return what the function of a reply returns."""
    names: dict[str, Any] = {"__name__": "sample"}
    # One of the programs sets the precision of decimal numbers.
    with decimal.localcontext():
        exec(program_of(text), names)
        return names["total"]([1, 2])


@pytest.mark.parametrize(
    "block",
    [
        "from solution import total\n\nassert total([1]) == 1\n",
        "import total\n",
        "def total(items):\n    pass\n",
        'def total(items):\n    """Add."""\n    raise NotImplementedError\n',
        "total = total([1, 2])\n",
        "from functools import lru_cache\ntotal = lru_cache(total)\n",
    ],
)
def test_a_test_an_example_or_an_outline_is_not_the_program(block: str):
    """In a block before or after the program."""
    other = f"```python\n{block}```\n"
    assert result_of(f"{FENCED}\nThe other:\n\n{other}") == 3
    assert result_of(f"{other}\nThe program:\n\n{FENCED}") == 3


def test_an_import_of_the_function_does_not_take_the_place_of_a_wrong_one():
    """A usage that imports the right function by chance is not what the model wrote."""
    text = (
        "```python\ndef gcd(a, b):\n    return 1\n```\nUse:\n```python\nfrom math import gcd\nprint(gcd(4, 6))\n```\n"
    )
    assert "from math" not in program_of(text, "gcd", "def gcd(a, b):\n")
    # Alone it is one.
    assert program_of("```python\nfrom math import gcd\n```\n", "gcd", "def gcd(a, b):\n") == "from math import gcd\n"


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{RIGHT}```\nUse it:\n```python\nprint(total([1, 2]))\n```\n",
        f"```\n{RIGHT}```\nUse it:\n```python\n>>> total([1, 2])\n3\n```\n",
        f"```\n{RIGHT}```\nUse it:\n```python\nresult = total([1, 2])\nprint(result)\n```\n",
        f"```python3.12\n{RIGHT}```\nIt prints:\n```\n3\n```\n",
        "```python\nreturn sum(items)\n```\nIt prints:\n```\ntotal = 3\n```\n",
    ],
)
def test_an_example_with_a_name_does_not_hide_a_program_without_one(text: str):
    """Where no block of Python by name answers, the one that defines the function does."""
    assert result_of(text) == 3


ENDS = (
    "    s = sum(items)\n    return s<|im_end|>",
    "    s = sum(items)\n    return s</s> <|endoftext|>\n",
    "    s = sum(items)\n    return s<fim_pad>",
    "    s = sum(items)\n    return s<\uff5cend\u2581of\u2581sentence\uff5c>",
    "    s = sum(items)\n    return s<seed:eos>",
    "<s>    s = sum(items)\n    return s\n",
    "[/INST]     s = sum(items)\n    return s</s>\n",
    "<|im_start|>assistant\n    s = sum(items)\n    return s\n",
    f"assistant\n\n{RIGHT}",
    "<|start_header_id|>assistant<|end_header_id|>\n\n    s = sum(items)\n    return s<|eot_id|>",
    "    s = sum(items)\n    return s```",
    f"```python\n{RIGHT.rstrip()}```",
    f"```python\n{RIGHT}```<|im_end|>",
    f"{RIGHT}[DONE]\n",
    f"[BEGIN]\n{RIGHT}[DONE]\nProblem: another\n",
    f"python\n{RIGHT}",
    f"~~~python\n{RIGHT}",
    f"[PYTHON]\n{RIGHT}[/PYTHON]\n",
)
"""Programs with special tokens, a fence behind the last line, the marks of prompts, and half a fence."""

THINKING = (
    "<|channel|>analysis<|message|>Maybe\n```python\ndef total(items):\n    return 0\n```\n<|end|>"
    f"<|start|>assistant<|channel|>final<|message|>{FENCED}<|return|>",
    f"analysisMaybe\n```python\ndef total(items):\n    return 0\n```\nassistantfinal{RIGHT}",
    f"<think>\n[BEGIN]\n{RIGHT.replace('sum(items)', '0')}[DONE]\n</think>\n[BEGIN]\n{RIGHT}[DONE]\n",
    f"[THINK]Maybe\n{FENCED.replace('sum(items)', '0')}[/THINK]\n{FENCED}",
    f"<seed:think>\n{FENCED.replace('sum(items)', '0')}</seed:think>\n{FENCED}",
)
"""Programs behind thinking with a draft, whose end models mark in many ways."""

PLAIN = (
    'def total(items):\n    """Add; logs look like\n[DONE]\n    """\n    return sum(items)\n',
    f"I will put it between\n[BEGIN]\nand\n[DONE]\n{FENCED}",
    f"<|channel|>analysis<|message|>As in\n[BEGIN]\n{RIGHT.replace('sum(items)', '0')}[DONE]\n<|end|>"
    f"<|start|>assistant<|channel|>final<|message|>{FENCED}",
)
"""Programs with marks that mark nothing: within a string, in prose and in thinking."""


@pytest.mark.parametrize("text", [*ENDS, *THINKING, *PLAIN])
def test_what_stands_around_a_program_is_no_part_of_it(text: str):
    """The right program of a text is taken, and nothing else."""
    assert result_of(text) == 3


@pytest.mark.parametrize(
    "module",
    [
        "T = [0] * 9\ndef init():\n    for i in range(9):\n        T[i] = 1\ninit()\n"
        "def total(items):\n    return sum(items) * T[3]\n",
        "T = []\ndef init():\n    T.append(1)\ndef start():\n    init()\nstart()\n"
        "def total(items):\n    return sum(items) * T[0]\n",
        "def fill(table):\n    table[0] = 1\nT = {}\nfill(T)\ndef total(items):\n    return sum(items) * T[0]\n",
        "import heapq\nQ = [3, 1]\nheapq.heapify(Q)\ndef total(items):\n    return sum(items) * Q[0]\n",
        "T = 0\ndef init():\n    global T\n    T = 1\ninit()\ndef total(items):\n    return sum(items) * T\n",
        "T = []\n[T.append(i + 1) for i in range(9)]\ndef total(items):\n    return sum(items) * T[0]\n",
        "globals()['z'] = 1\ndef total(items):\n    return sum(items) * z\n",
        "R = []\ndef register(f):\n    R.append(f)\n    return f\n@register\ndef one(n):\n    return n\n"
        "def total(items):\n    return R[0](sum(items))\n",
        "from decimal import Decimal, getcontext\ngetcontext().prec = 1\n"
        "def total(items):\n    return 3 if len(str(Decimal(1) / 3)) == 3 else 0\n",
    ],
)
def test_what_prepares_the_function_is_kept(module: str):
    """Statements that change what the function looks up, by whatever call."""
    assert result_of(f"```python\n{module}```\n") == 3


@pytest.mark.parametrize(
    "module",
    [
        "def add(items):\n    return sum(items)\ndef total(items):\n    return globals()['add'](items)\n",
        "import operator\ndef total(items):\n    return eval('operator.add(*items)')\n",
        "START = 0\ndef total(items):\n    exec('global end; end = START')\n    return sum(items) + end\n",
    ],
)
def test_what_a_function_may_find_by_its_name_in_a_text_is_kept(module: str):
    """Where `eval`, `exec` or `globals` is called; a call of the function is dropped all the same."""
    assert result_of(f"```python\n{module}NUMBERS = total([7]) + total\n```\n") == 3


def test_blocks_that_other_blocks_need_are_taken():
    """A helper in a block of its own comes with the block of its imports."""
    blocks = (
        "import operator\n",
        "def add(a, b):\n    return operator.add(a, b)\n",
        "def total(items):\n    return add(*items)\n",
    )
    text = "Now:\n".join(f"```python\n{block}```\n" for block in blocks)
    assert result_of(text) == 3
    # In whatever order they stand.
    assert result_of("Now:\n".join(f"```python\n{block}```\n" for block in reversed(blocks))) == 3


@pytest.mark.parametrize(
    "demonstration",
    [
        "print(fib(int(input())))",
        "for k in range(int(input())):\n    fib(k)",
        "assert fib(3) == 99",
        "def test_fib():\n    assert fib(3) == 99\ntest_fib()",
        "from pprint import pprint\npprint(memo, stream=1)",
        "x" + "[0]" * 400 + ".a = 1",
    ],
)
def test_a_demonstration_of_a_helper_is_dropped(demonstration: str):
    """A statement that reads input, prints or tests is dropped, even where its helper keeps results."""
    helper = "memo = {}\ndef fib(n):\n    memo[n] = n\n    return memo[n]\n"
    module = f"{helper}def total(items):\n    return sum(items) + 0 * fib(1)\n{demonstration}\n"
    assert result_of(f"```python\n{module}```\n") == 3


@pytest.mark.parametrize(
    "text",
    ["```\nx\n```\n" * 6000, "```python\ntotal=1\n```\n" * 2727],
)
def test_many_blocks_take_no_time_to_choose_from(text: str):
    """A text of the largest size is done within seconds."""
    began = time.perf_counter()
    program_of(text, "", "")
    program_of(text)
    assert time.perf_counter() - began < 10


def test_demonstrations_are_dropped():
    """A call of the function, or of one that calls it, is no preparation, whatever it changes."""
    module = "SEEN = []\ndef total(items):\n    return sum(items + SEEN)\ndef main():\n    SEEN.append(total([7]))\n"
    assert result_of(f"```python\n{module}main()\nprint(SEEN)\n```\n") == 3


@pytest.mark.parametrize(
    "reply",
    [
        "```\nprint(sum(map(int, input().split())))\n```\nOutput:\n```\n3\n```\n",
        "```\nprint(sum(map(int, input().split())))\n```\nOutput:\n```\nYES\n```\n",
        "```python\na, b = map(int, input().split())\nprint(a + b)\n```\nThe sum:\n```python\nprint(a + b)\n```\n",
        "```python\nprint('Hello')\n```\nSo:\n```python\nprint(sum(map(int, input().split())))\n```\n",
        "```python\nprint(0)\n```\n```python\ndef read():\n    return map(int, input().split())\n```\n"
        "```python\nprint(sum(read()))\n```\n",
        "```python\nn = input()\nprint(0)\n```\nBetter:\n```python\ndef main():\n    n = input()\n"
        "    print(sum(map(int, n.split())))\nmain()\n```\n",
        "```python\na, b = map(int, input().split())\n```\nThen:\n```python\nprint(a + b)\n```\n",
        "```python\ndef solve():\n    print(sum(map(int, input().split())))\n```\nRun it:\n```python\nsolve()\n```\n",
    ],
)
def test_a_script_is_the_block_that_reads_and_writes(reply: str, monkeypatch: pytest.MonkeyPatch):
    """An output and a repetition beside it are none; parts that need each other are joined."""
    monkeypatch.setattr("sys.stdin", io.StringIO("1 2\n"))
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(program_of(reply, "", ""), {"__name__": "__main__"})
    assert output.getvalue() == "3\n"
