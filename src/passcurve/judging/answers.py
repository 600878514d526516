"""Answers about a given function as programs: what is run of a text that is an expression."""

from __future__ import annotations

from passcurve.types import Expression

ENTRY_POINT = "answer"
"""The function of such a program; it evaluates the text and returns plain data."""

_FUNCTION = "f"

_OUTPUT = """def answer():
    return eval({text!r}, {{"__name__": "answer"}})
"""
"""The function of the question is not there: an answer that calls it would answer nothing."""

_INPUT = """def answer():
    names = {{"__name__": "answer"}}
    exec({code!r}, names)
    names["answer"] = lambda *args, **kwargs: (args, kwargs)
    return eval({call!r}, names)
"""
"""The outermost call takes the arguments; calls within them are calls of the function itself."""

_NO_CALL = "def answer():\n    raise SyntaxError('the answer is no call of f')\n"
_REFUSED = "raise AssertionError({reason!r})\n"


def make_program(check: Expression, text: str) -> str:
    """Return the program that evaluates an answer, for the process of the sample."""
    if check.in_process:
        return _native_program(check, text)
    text = text.strip()
    if check.asks == "output":
        return _OUTPUT.format(text=text)
    if not text.startswith(f"{_FUNCTION}("):
        return _NO_CALL
    return _INPUT.format(code=check.code, call=ENTRY_POINT + text.removeprefix(_FUNCTION))


def _native_program(check: Expression, text: str) -> str:
    """Return the program that CRUXEval runs, or one that fails where CRUXEval runs none."""
    if check.asks == "input" and f"{_FUNCTION}(" not in text:
        return _REFUSED.format(reason="the answer has no call of f")
    if check.asks == "output" and f"{_FUNCTION}({check.input})" in text:
        return _REFUSED.format(reason="the answer calls f with the input")
    return f"{check.code}\nassert {check.output} == {text}"
