"""The prompt and the tests of a problem, compiled once for all samples."""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from typing import Any

from passcurve.harness.function_tests import FunctionTest, compile_tests, find_tests
from passcurve.harness.messages import TEST_NAME
from passcurve.harness.protocol import RefereeJob, StatementData

PROMPT_NAME = "<prompt>"


class CompiledProblem:
    """A problem whose code is compiled, here or by another process that had run no code of the problem before."""

    def __init__(self, job: RefereeJob) -> None:
        self.entry_point = job["entry_point"]
        self.seed = job["seed"]
        self.test = job["test"].decode("utf-8", "surrogatepass")
        self.statements: tuple[Any, ...] = ()
        """The code of each test, where they are statements; then the code of the tests is that of their setup."""
        self.function_tests: list[FunctionTest] = []
        """The tests in ``check``."""
        self.new_code = b""
        """The code for other processes to load; empty if the job brought it."""
        self.prompt_code: Any = None
        self.test_code: Any = None
        self.error = ""
        if job["cases"] is not None:
            # Data needs no code, and a sample need not run again for what another process compiles.
            return
        if job["code"]:
            self.prompt_code, self.test_code, self.statements, self.function_tests, self.error = marshal.loads(
                job["code"]
            )
            return
        self.prompt_code = compile_prompt(job["prompt"].decode("utf-8", "surrogatepass"))
        try:
            form = job["form"]
            if form is not None and form["kind"] == "statements":
                self.test_code, *statements = compile_statements(form)
                self.statements = tuple(statements)
            elif form is not None and form["kind"] == "function":
                self.function_tests = find_tests(self.test)
                self.test_code = compile_tests(self.test, goes_on=form["all_tests"])
            else:
                self.function_tests = find_tests(self.test) if form is None else []
                self.test_code = compile(self.test, TEST_NAME, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            self.error = "the tests do not compile: %s" % error
        self.new_code = marshal.dumps(
            (self.prompt_code, self.test_code, self.statements, self.function_tests, self.error)
        )


def compile_statements(data: StatementData) -> Iterator[Any]:
    """Yield the code of the setup and of each statement, with the lines that they have one after another."""
    line = 0
    for number, source in enumerate((data["setup"], *data["tests"])):
        text = source.decode("utf-8", "surrogatepass")
        yield compile("\n" * line + text, TEST_NAME, "exec", dont_inherit=True)
        # Without a setup there is no line for it.
        line += text.count("\n") + 1 if text or number else 0


def complete_prompt(prompt: str) -> Iterator[str]:
    """Yield the texts by which a prompt may be whole, which may end where a body should begin."""
    lines = [line for line in prompt.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    indent = " " * (len(last) - len(last.lstrip()) + 4)
    for body in ("", "\n%spass\n" % indent, "\n    pass\n"):
        yield prompt + body


def compile_prompt(prompt: str) -> Any:
    """Return the code of a prompt; None if no body completes it."""
    for text in complete_prompt(prompt):
        try:
            return compile(text, PROMPT_NAME, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
    return None
