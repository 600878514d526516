"""Runs a program that reads standard input as LiveCodeBench and APPS do: as a function, between streams in memory.

The module is run first, with the process' own streams, so that its imports bind these: the output there is lost, and
the input empty.  Then the function is called between the streams of the harness, which take the place of those.
"""

from __future__ import annotations

import builtins
import io
import sys
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast

LIVECODEBENCH = "livecodebench-script"
"""Form of a job whose program runs as LiveCodeBench runs it: ``lcb_runner/evaluation/testing_util.py`` at 28fef95."""
APPS = "apps-script"
"""Form of a job whose program runs as APPS runs it: ``eval/testing_util.py`` at 5dcfdf2."""

_FUNCTIONS = {LIVECODEBENCH: "wrapped_function", APPS: "code"}
_MODULE = "tmp_sol"


def is_harness(form: str) -> bool:
    """Tell whether a form makes a function of a program."""
    return form in _FUNCTIONS


def make_function(text: str, form: str) -> str | ast.Module:
    """Return the module in which a program is a function, where a form has it so; else the program.

    Raises what ``ast.parse`` raises.
    """
    if form == LIVECODEBENCH:
        return _make_tree(text)
    return _indent(text) if form == APPS else text


def _make_tree(text: str) -> ast.Module:
    """Move all but imports into a function, without a last main guard: ``clean_if_name``, ``make_function``."""
    # Loaded here: no other program needs it.
    import ast

    tree = ast.parse(text)
    guard = ast.parse("__name__ == '__main__'", mode="eval").body
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.If) and ast.dump(last.test) == ast.dump(guard):
        tree.body[-1:] = last.body
    # ``compile_code`` of LiveCodeBench looks for the class in the module, which has none, and fails.  It reads a
    # program that has been parsed and written again, and so has no comments.
    has_class = "class Solution" in text and "class Solution" in ast.unparse(tree)
    source = f"def {_FUNCTIONS[LIVECODEBENCH]}(): pass" + "\nSolution()" * has_class
    function, *rest = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    # Without a statement it does not compile, as there.
    function.body = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    tree.body = [*imports, function, *rest]
    return tree


def _indent(text: str) -> str:
    """Move the lines from the first that is no import into a function: ``run_test``."""
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if not line.startswith(("from ", "import "))), len(lines))
    head = ["import sys", "stdin = sys.stdin", "stdout = sys.stdout", f"def {_FUNCTIONS[APPS]}():"]
    return "\n".join([*lines[:first], *head, *("\t" + line for line in lines[first:])])


class FunctionCall:
    """One call of a program that is a function: ``call_method`` and ``Capturing`` of both harnesses."""

    def __init__(self, form: str, text: str) -> None:
        self._form = form
        self._text = text
        self._output = io.StringIO()
        # As there: it wants an argument, so that to close the stream raises TypeError.
        self._output.close = lambda _: 1  # type: ignore[method-assign,assignment,misc]

    def run(self, code: CodeType, module: ModuleType) -> None:
        """Run the module, then its function between the streams of the harness."""
        module.__dict__["__name__"] = _MODULE
        exec(code, module.__dict__)
        text, stdin = self._text, sys.stdin
        lines = iter(text.split("\n"))
        # The patches of ``sys.stdin.read`` and so on are the innermost, so they are entered last to first:
        # they are made before ``sys.stdin`` is, to the stream that a program has imported.
        for name, method in (
            ("readline", lambda *_: next(lines)),
            ("readlines", lambda *_: text.split("\n")),
            ("read", lambda *_: text),
        ):
            setattr(stdin, name, method)
        new: Any = _Input(text) if self._form == LIVECODEBENCH else io.StringIO(text)
        sys.stdin, sys.stdout = new, self._output
        if self._form == APPS:
            # With LiveCodeBench programs have the name from ``io`` and ``builtins`` before it is patched.
            builtins.open = lambda *_, **__: io.StringIO(text)  # type: ignore[assignment]
        module.__dict__[_FUNCTIONS[self._form]]()

    def output(self) -> str:
        """Return what the program has written so far."""
        return self._output.getvalue()


class _Input:
    """Standard input of LiveCodeBench: ``MockStdinWithBuffer``, which no loop can go over."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._stream = io.StringIO(text)
        self.buffer = _InputBytes(text.encode())

    def read(self, *_: object) -> str:
        return self._text

    def readline(self, *args: Any) -> str:
        return self._stream.readline(*args)

    def readlines(self, *_: object) -> list[str]:
        return self._text.split("\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _InputBytes:
    """Its bytes: ``MockBuffer``, whose ``readline`` returns the first line each time."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, *_: object) -> bytes:
        return self._data

    def readline(self, *_: object) -> bytes:
        return self._data.split(b"\n")[0] + b"\n"
