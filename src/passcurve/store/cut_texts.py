"""Texts that were cut off: how they end, and the finding on them."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from passcurve.diagnosis import Finding
from passcurve.store.describe import n_rows
from passcurve.types import Problem, Script, language_of

IS_CUT = re.compile(
    r"never closed|unterminated|unexpected EOF|expected an indented block|expected '[:(]'|expected 'except' or"
)
"""What Python says where a program ends too early; any other error comes before the end."""
SAYS_SYNTAX = re.compile(r"syntax|parse error|unexpected|unterminated|EOF", re.IGNORECASE)
"""Messages on a script whose syntax is wrong; a script that ends by any other error began to run."""
DOCSTRING_QUOTES = ('"""', "'''")

_MAX_PASSED = 0.1
"""Share of passing rows above which fences without an end are no sign that the model was cut off."""
_OPEN_ENDS = (":", ",", "=", "+", "-", "*", "/", "%", "<", ">", "\\", ".", " and", " or", " not", " in")
_AMID = re.compile(
    r"(?:[-=+/%<>|&^~]|(?<!import )\*|\b(?:and|or|not|in|is|else|lambda|import|from|await|assert))\Z"
    r"|\A[ \t]*(?:async )?for(?:[ \t]+[\w, \t()*]*)?\Z"
)
"""The end of a line of Python of which the value is still to come."""
_TAIL_CHARACTERS = 300
_HEADING = re.compile(r"\s*(?:if|elif|else|for|while|with|try|except|finally|def|class|async)\b[^:]*")
"""A line of Python that is to open a block, and does not."""
_NO_CODE = re.compile(r'"(?:[^"\\\n]++|\\.)*+(")?|' + r"'(?:[^'\\\n]|\\.)(')|//[^\n]*+")
"""Strings, characters and comments, in which braces mean nothing; a string without an end takes the rest of its line.

It reads each character once, for a text may be hostile.
"""
_NO_BASH = re.compile(r"""\\.|"(?:[^"\\]|\\.)*+(")|'[^']*+(')|(?<![^\s;])#[^\n]*+""", re.DOTALL)
"""The same of Bash, where a string may have several lines; one without an end is left as it is."""
_BASH_BLOCK = re.compile(
    r"(?:^|[;&|({]|\b(?:then|do|else)\b)[ \t]*(?:(if|case|for|while|until|select)\b|(fi|esac|done)\b)", re.MULTILINE
)
"""A word that opens a block of Bash, or one that closes it, where a command begins."""
_MAX_CHARACTERS = 1 << 20
"""Length of a text above which nobody counts its braces."""
_STATEMENT_ENDS = (";", "}", "*/", ">")
_WITH_SEMICOLONS = frozenset(("cpp", "c", "java", "cs", "php", "d"))
"""Languages in which each statement ends with a semicolon or a brace."""


def is_cut(problem: Problem, form: str, text: str, *, is_taken_whole: bool) -> bool:
    """Tell whether a text ends too early; ``is_taken_whole`` where the extraction removes nothing."""
    if not language_of(problem.check):
        return _ends_open(text, is_python=True)
    return _is_cut_script(problem, form, text, is_taken_whole=is_taken_whole)


def ends_amid_value(text: str) -> bool:
    """Tell whether a text in Python ends where a value, or what is imported or iterated, is still to come."""
    line = text[-_TAIL_CHARACTERS:].rstrip().rpartition("\n")[2]
    return not line.lstrip().startswith("#") and _AMID.search(line) is not None


def _ends_open(text: str, *, is_python: bool) -> bool:
    """Tell whether a text ends amid a bracket, a string, an expression or a block."""
    tail = text[-_TAIL_CHARACTERS:].rstrip()
    line = tail[tail.rfind("\n") + 1 :]
    if line.endswith(_OPEN_ENDS):
        return not line.lstrip().startswith("#")
    opened = line.count("(") + line.count("[") + line.count("{")
    if opened and opened > line.count(")") + line.count("]") + line.count("}"):
        return True
    if (line.count('"') + line.count("'")) % 2:
        return True
    if is_python and _HEADING.fullmatch(line):
        return True
    # A docstring that is closed but never opened is no cut: a text that is whole ends with its line.
    return not text.endswith("\n") and any(text.count(quote) % 2 for quote in DOCSTRING_QUOTES)


def _is_cut_script(problem: Problem, form: str, text: str, *, is_taken_whole: bool) -> bool:
    """Tell whether a text in another language than Python ends amid a statement, or a block that its tests do not end.

    It counts braces, so that only a program that does not compile is one that was cut off.  Of replies in fences, whose
    ends are prose, nothing is known.
    """
    if len(text) > _MAX_CHARACTERS or (not is_taken_whole and "```" in text):
        return False
    language = language_of(problem.check)
    code = _code_of(text, language)
    if _ends_open(code, is_python=False):
        return True
    if language == "sh" and sum(1 if word[1] else -1 for word in _BASH_BLOCK.finditer(code)) > 0:
        return True
    if is_taken_whole and language in _WITH_SEMICOLONS:
        line = code.rstrip().rpartition("\n")[2].lstrip()
        if not line.endswith(_STATEMENT_ENDS) and not line.startswith(("*", "#")):
            return True
    tests = problem.check.tests if isinstance(problem.check, Script) else ""
    is_whole = form == "solution" or not problem.prompt or problem.prompt.strip() in text
    before = 0 if is_whole else _open_braces(problem.prompt, language)
    return before + code.count("{") - code.count("}") > max(0, -_open_braces(tests, language))


def unclosed_rows(counts: Counter[str]) -> int:
    """Return how many rows were cut off in a fence; 0 where such rows pass."""
    unclosed, passed = counts["unclosed"], counts["unclosed, passed"]
    # A stop word at the closing fence leaves all of them open, also those that pass.
    ends = counts["amid"] + counts["open"] + counts["cut"]
    return 0 if passed > _MAX_PASSED * (unclosed + ends + passed) else unclosed


def truncated(counts: Counter[str]) -> Finding | None:
    """Return the finding on rows that were cut off, by the numbers of each kind."""
    cut, ends = counts["cut off"], counts["amid"] + counts["open"] + counts["cut"]
    unclosed = unclosed_rows(counts)
    if not cut + ends + unclosed:
        return None
    kinds = [f"{n_rows(cut)} reached the limit of tokens (finish_reason)"] if cut else []
    kinds += [f"{n_rows(ends)} {_end(ends)} amid an expression, a string or a block"] if ends else []
    kinds += [f"{n_rows(unclosed)} {_end(unclosed)} in a fence that is not closed"] if unclosed else []
    text = f"{', '.join(kinds)}; if the model was cut off, generate with more tokens"
    return Finding(name="truncated", rows=cut + ends + unclosed, text=text)


@lru_cache(maxsize=1024)
def _open_braces(source: str, language: str) -> int:
    """Return the number of braces that a prompt or tests leave open; negative where they close those of others."""
    code = _code_of(source, language)
    return code.count("{") - code.count("}")


def _code_of(source: str, language: str) -> str:
    """Return a source without its strings, characters and comments."""
    return (_NO_BASH if language == "sh" else _NO_CODE).sub(_plain, source)


def _plain(piece: re.Match[str]) -> str:
    """Return what stands for a string or a character, a quote for one without an end, and nothing for a comment."""
    if piece[0][0] in "/#":
        return ""
    return "0" if piece[1] or piece[2] or piece[0][0] == "\\" else '"'


def _end(count: int) -> str:
    return "ends" if count == 1 else "end"
