"""The braces of a program outside of its texts and comments, for languages that are known by patterns only."""

from __future__ import annotations

import re
from functools import lru_cache

from passcurve.bench.writing import Writing

_LEXEMES = r"{remark}|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\])*(?:\"|\Z)|{single}|[{{}}]"
_BRACE = re.compile(r"[{}]")


def find_braces(text: str, writing: Writing) -> list[tuple[int, str]]:
    """Return the braces of a program with their places."""
    return [(match.start(), match[0]) for match in _BRACE.finditer(blank_texts(text, writing))]


def blank_texts(text: str, writing: Writing) -> str:
    """Return a program of the same length with spaces for its texts and comments."""
    lexemes = _compile(writing.texts.remark, writing.texts.quotes)
    return lexemes.sub(lambda match: match[0] if _BRACE.fullmatch(match[0]) else _blank(match[0]), text)


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


@lru_cache(maxsize=64)
def _compile(remark: str, quotes: bool) -> re.Pattern[str]:
    single = r"'(?:\\.|[^'\\\n])*'" if quotes else r"'(?:\\[^'\n]*|[^'\\\n])'"
    return re.compile(_LEXEMES.format(remark=remark, single=single), re.DOTALL)
