"""Prompts for each kind of problem, where they are not its code to the letter."""

from __future__ import annotations

from passcurve.bench.languages import find_language
from passcurve.bench.writing import find_writing
from passcurve.types import Assertions, Cases, Expression, Problem, ProgramCases, Script

FUNCTION = (
    "Write the Python function below. Answer with one fenced code block that holds the whole function, "
    "the lines that are given among them, and the imports that it needs.\n\n```python\n{{ prompt }}\n```\n"
)
"""The message about a function whose head is given."""

_PROGRAM = (
    "Write a Python program for the task below. It reads from standard input and writes to standard output. "
    "Answer with one fenced code block that holds the whole program.\n\n{{ prompt }}\n"
)
_CODE = (
    "Write Python code for the task below. Answer with one fenced code block that holds all of it, "
    "with the imports that it needs.\n\n{{ prompt }}\n"
)
_RESULT = (
    "Below are a Python function and a call of it. Find the result of the call. "
    "Answer with one fenced code block that holds nothing but that result, as a Python literal.\n\n"
    "```python\n{{ prompt }}\n```\n"
)
_ARGUMENTS = (
    "Below are a Python function and a result of it. Find arguments for which the function returns that result. "
    "Answer with one fenced code block that holds nothing but the call, as in f(1, 'a').\n\n"
    "```python\n{{ prompt }}\n```\n"
)
THINK = "Think step by step before you answer; the code block comes last.\n\n"
"""What a conversation begins with where the model is to write out its thoughts."""


def instruction(problem: Problem) -> str:
    """Return the template of the message that asks for an answer to a problem."""
    match problem.check:
        case Expression(asks="input"):
            return _ARGUMENTS
        case Expression():
            return _RESULT
        case Cases(via="stdin"):
            return _PROGRAM
        case ProgramCases(language=language):
            return _PROGRAM.replace("Python", find_language(language).title)
        case Script(language=language):
            template = FUNCTION if problem.prompt else _CODE
            fence = f"```{find_writing(language).names[0]}\n"
            return template.replace("Python", find_language(language).title).replace("```python\n", fence)
        case _:
            return FUNCTION if problem.prompt else _CODE


def task_text(problem: Problem) -> str:
    """Return the task as a message has it: the given code, or the task in words with its first test."""
    if problem.prompt:
        return problem.prompt.rstrip()
    return "\n".join((problem.statement.strip(), *_example(problem)))


def text_to_continue(problem: Problem) -> str:
    """Return the text that a model continues: the given code to the letter, or the task in a string before code."""
    if problem.prompt:
        return problem.prompt
    match problem.check:
        case Expression(code=code, asks="output", input=arguments):
            return f"{code.rstrip()}\n\nassert f({arguments}) == "
        case Expression(code=code, output=output):
            return f"{code.rstrip()}\n\nassert {output} == "
        case _:
            return f'"""\n{task_text(problem)}\n"""\n'


def _example(problem: Problem) -> tuple[str, ...]:
    """Return the first test, which shows the name of the function that the words do not give.

    Return nothing where the only test is of a program without such a function: the model would see all tests.
    """
    if not isinstance(problem.check, Assertions) or not (problem.entry_point or len(problem.check.tests) > 1):
        return ()
    return problem.check.tests[:1]
