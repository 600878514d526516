"""The ends of a program in a text that has no fence around it: prose before it, and prose, usage or remarks behind."""

from __future__ import annotations

import re

_END_OF_CODE = re.compile(r"(?:[})\]][;,]?|;|\?>|\b(?:end|fi|done|esac))[ \t]*\Z")
"""The end of a line with which a block or a statement may end."""
_MARK = re.compile(r"(?:#{2,6}[ \t]+|\*\*|[-*][ \t]+|\d+\.[ \t]+|>[ \t]+)")
"""The beginning of a line of Markdown: a heading, bold text, an item, a quotation."""
_WORD = re.compile(r"[\"'`*_(]*[A-Za-z][a-z'’-]*[\"'`*_).,:;!]*\Z")
_CODE_ENDS = (";", "{", "}", "(", "[", "=", ">", ",", "\\")
_WORDS = 3
"""Number of words that make a line prose."""
_TRIES = 50
"""Number of lines to look at that may begin the prose, or end it."""
_LONG_LINE = 1000
_REMARK = ("//", "#", "--", "*", "/*")
_PAIRS = (("/*", "*/"), ("[[", "]]"), ("=begin", "=end"), ("#|", "|#"), ('R"(', ')"'))
_QUOTES = ('"', "`")
_OPENINGS = re.compile(r"^=(?!cut\b|begin\b|end\b)[a-z]\w*|<<[-~<]?['\"]?[A-Z]\w*|q\"[A-Z]|\[=+\[", re.MULTILINE)
"""The beginning of a text or a comment of several lines whose end is a word of its own."""


def find_code(text: str, begins: re.Pattern[str]) -> int | None:
    """Return the place of the first line of code, where a text opens with prose.

    Code begins a paragraph, or stands behind a colon; elsewhere what is known as code, for prose goes on in any way.
    """
    first = text.lstrip("\n").partition("\n")[0]
    if first.startswith("#") or not is_prose(first):
        return None
    before, at = first, 0
    for line in text.split("\n", maxsplit=_TRIES)[:_TRIES]:
        is_apart = not before.strip() or before.rstrip().endswith(":")
        is_code = is_apart or (len(line) < _LONG_LINE and begins.match(text, at) is not None)
        if is_code and line.strip() and not is_prose(line) and not _MARK.match(line):
            return at
        before = line
        at += len(line) + 1
    return None


def find_prose(text: str) -> int | None:
    """Return the place of the prose that follows a program, at the margin behind the end of a block or a statement."""
    before, at = "", 0
    places = []
    for line in text.split("\n"):
        if _END_OF_CODE.search(before) and is_prose(line):
            places.append(at)
        before = line if line.strip() else before
        at += len(line) + 1
    return next((place for place in places[:_TRIES] if not _is_inside(text[:place])), None)


def ends_as_code(text: str) -> bool:
    """Tell whether the last line of a text is indented, or ends a block or a statement."""
    last = text.rstrip().rpartition("\n")[2]
    if last[:1].isspace():
        return not last.endswith((":", "."))
    return _END_OF_CODE.search(last) is not None and not is_prose(last)


def is_prose(line: str) -> bool:
    """Tell whether a line at the margin is a sentence or the heading of one."""
    mark = _MARK.match(line)
    words = line[mark.end() if mark is not None else 0 :].split()
    if not words or line[0].isspace() or not words[0].lstrip("\"'`*_(")[:1].isupper():
        return False
    if line.rstrip().endswith(_CODE_ENDS):
        return False
    is_heading = mark is not None or line.rstrip().endswith(":")
    wanted = 1 if is_heading else _WORDS
    return len(words) >= wanted and all(_WORD.match(word) for word in words[:wanted])


def _is_inside(text: str) -> bool:
    """Tell whether a text ends inside a comment or a text of a program."""
    return (
        any(text.count(opening) > text.count(closing) for opening, closing in _PAIRS)
        or any(text.count(quote) % 2 for quote in _QUOTES)
        or _OPENINGS.search(text) is not None
    )


def through_last_brace(text: str) -> str:
    """Return a program up to its last line that ends with a closing brace; all of it where there is none."""
    lines = text.split("\n")
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number].strip()
        if not line.startswith(_REMARK) and re.search(r"\}[;)]*[ \t]*(?://.*|#.*)?\Z", line):
            return "\n".join(lines[: number + 1]) + "\n"
    return text
