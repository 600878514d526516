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
    lexemes, without_quotes = _compile(writing.texts.remark, writing.texts.quotes)
    parts: list[str] = []
    place = done = unclosed = 0
    while True:
        if place < unclosed:
            first = without_quotes.search(text, place, unclosed)
            match = without_quotes.match(text, first.start()) if first is not None else None
            if match is None:
                place = first.start() + 1 if first is not None else unclosed
                continue
        elif (match := lexemes.search(text, place)) is None:
            break
        if match.lastgroup == "open":
            # No quote behind it on its line ends it, nor one of these.
            place, unclosed = match.start() + 1, match.end()
            continue
        parts += text[done : match.start()], match[0] if _BRACE.fullmatch(match[0]) else _blank(match[0])
        place = done = match.end()
    return "".join(parts) + text[done:]


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


@lru_cache(maxsize=64)
def _compile(remark: str, quotes: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the pattern of texts, comments and braces, and that without texts in single quotes."""
    single = r"'(?:\\.|[^'\\\n])*+(?:'|(?P<open>))" if quotes else r"'(?:\\[^'\n]*|[^'\\\n])'"
    patterns = (_LEXEMES.format(remark=remark, single=text) for text in (single, r"(?!)"))
    lexemes, without_quotes = (re.compile(pattern, re.DOTALL) for pattern in patterns)
    return lexemes, without_quotes
