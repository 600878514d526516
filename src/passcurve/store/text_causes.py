"""Causes that keep a text from passing, by its bits: the surest one, and the line that says what to do."""

from __future__ import annotations

from functools import cache

from passcurve.diagnosis import Finding
from passcurve.store.text_faults import (
    AMID,
    ASKS,
    BODY,
    CHATTY,
    CUT,
    DEFINES,
    DIFF,
    DOCTEST,
    ELIDED,
    ESCAPED,
    FENCED,
    FLAT,
    FLUSH,
    JSON,
    LANGUAGE,
    NEWLINES,
    NEXT,
    NUL,
    NUMBERS,
    OPEN,
    PYTHON,
    QUOTED,
    QUOTES,
    REFUSAL,
    REQUEST,
    SPACES,
    TABLE,
    TABS,
    THINKING,
    TOKEN,
    TOOL,
)

BEHIND = "behind"
"""The cause of a program that compiles, and raises an exception before any test calls its function."""
CAUSES = (
    (REQUEST, "request"),
    (REFUSAL, "refusal"),
    (THINKING, "thinking"),
    (TOOL, "tool"),
    (JSON, "json"),
    (QUOTED, "quoted"),
    (TABLE, "table"),
    (FENCED, "fenced"),
    (CHATTY, "chatty"),
    (NUMBERS, "numbers"),
    (TOKEN, "token"),
    (ESCAPED, "escaped"),
    (SPACES, "spaces"),
    (QUOTES, "quotes"),
    (NUL, "nul"),
    (NEWLINES, "newlines"),
    (DIFF, "diff"),
    (DOCTEST, "doctest"),
    (LANGUAGE, "language"),
    (PYTHON, "python"),
    (FLAT, "flat"),
    (FLUSH, "flush"),
    (TABS, "tabs"),
    (ELIDED, "elided"),
    (NEXT | OPEN, "next"),
    (BODY, "body that does not compile"),
    (AMID, "amid"),
    (OPEN, "open"),
    (CUT, "cut"),
    (DEFINES, "defines"),
    (ASKS, "asks"),
    (NEXT, BEHIND),
)
"""Bits of a program that does not compile, or ends early, with the name of the cause, the surest first."""
ALWAYS = frozenset(("json", "quoted", "thinking", "elided", "defines", "asks"))
"""Causes that keep a text from passing although it may compile."""
BEFORE_CUTS = frozenset(("escaped", "spaces", "quotes", "amid"))
"""The same where the extraction may cut a text to what compiles."""
_TEXTS = {
    "request": ("are", "error messages of an API and no answers; ask for these again"),
    "refusal": ("refuse", "to answer, and count as failed"),
    "thinking": (
        "begin",
        "with thinking that does not end (<think>, or the channel analysis) and have no answer; if it was cut off, "
        "generate with more tokens",
    ),
    "json": ("hold", "JSON and no program; take the code out of it first: jq -c '{place}' IN > OUT"),
    "elided": (
        "leave",
        "out code, with a comment such as '# ... existing code ...' in its place, and fail; ask for whole programs",
    ),
    "defines": (
        "define",
        "functions or classes and call none, where the tests run a program on standard input; ask for whole programs "
        "that read their input and print the answer",
    ),
    "asks": (
        "ask",
        "for their input with a text, as in input('n: '), which stands in front of the answer in their output; ask for "
        "programs that write nothing but the answer",
    ),
    "tool": ("call", "a tool in place of an answer; take the program out of its arguments, or ask without tools"),
    "numbers": (
        "have",
        "a number before each line and cannot compile; remove them: "
        r"re.sub(r'(?m)^[ \t]*\d+(?:\t| ?[|:] ?| )', '', text)",
    ),
    "token": (
        "have",
        "special tokens of a model in the text (such as <|endoftext|>) and cannot compile; remove them, or decode with "
        "skip_special_tokens=True",
    ),
    "escaped": ("have", "entities of HTML in the code (such as &lt;) and do not compile; unescape them: html.unescape"),
    "spaces": ("have", "no-break spaces (U+00A0) for indentation and cannot compile; put plain spaces in their place"),
    "quotes": ("have", "typographic quotes in the code and do not compile; put plain ones (' and \") in their place"),
    "nul": ("have", "NUL characters in the code and cannot compile; remove them, or use --extract auto"),
    "newlines": (
        "have",
        "line ends written as two characters (\\n) and do not compile; they were escaped twice: decode them again",
    ),
    "quoted": (
        "are",
        "one quoted string and no program, as repr() writes it; decode them: ast.literal_eval, then .decode() if bytes",
    ),
    "table": (
        "stand",
        "between quotes, as a table (CSV) has text, and cannot compile; read the table with a parser of CSV",
    ),
    "flat": (
        "have",
        "blocks without indentation and cannot compile; the white space at the beginning of all lines was lost: "
        "write the file again from the replies",
    ),
    "diff": ("are", "a diff and no program; apply it, or ask for whole programs"),
    "doctest": ("begin", "with the prompt >>> of a session and cannot compile; remove >>> and ... from the lines"),
    "language": ("seem", "to be in another language than Python and do not compile"),
    "python": ("seem", "to be in Python, and the benchmark asks for another language"),
    "flush": (
        "begin",
        "without the indentation of the function's body and cannot compile; if it was stripped, or lost or got a "
        "space, use --extract auto (passcurve autopsy compares)",
    ),
    "tabs": (
        "have",
        "tabs where the prompt has spaces, and do not compile; use --extract auto (passcurve autopsy compares)",
    ),
    "next": (
        "go",
        "on after the function, and that end does not compile; use --extract auto, or a stop-words policy, to cut it",
    ),
    "behind": (
        "go",
        "on after the function, and that end raises an exception before any test; use --extract pruned, or for "
        "continuations a stop-words policy, to cut it",
    ),
}
_NAMES = {
    "request": "error_messages",
    "refusal": "refusals",
    "thinking": "open_thinking",
    "json": "json_text",
    "elided": "elided_code",
    "defines": "no_main",
    "asks": "input_prompts",
    "tool": "tool_calls",
    "numbers": "line_numbers",
    "token": "special_tokens",
    "escaped": "html_entities",
    "spaces": "no_break_spaces",
    "quotes": "typographic_quotes",
    "nul": "nul_characters",
    "newlines": "escaped_line_ends",
    "quoted": "quoted_text",
    "table": "table_quotes",
    "flat": "no_indentation",
    "diff": "diffs",
    "doctest": "doctest_prompts",
    "language": "other_language",
    "python": "other_language",
    "flush": "lost_indentation",
    "tabs": "mixed_indentation",
    "next": "not_cut",
    "behind": "runs_on",
}
_SINGULAR = {
    "have": "has",
    "begin": "begins",
    "go": "goes",
    "are": "is",
    "ask": "asks",
    "call": "calls",
    "define": "defines",
    "refuse": "refuses",
    "hold": "holds",
    "leave": "leaves",
    "seem": "seems",
    "stand": "stands",
}


@cache
def cause_number(bits: int) -> int:
    """Return the number of the surest cause of a text with these bits, from 1; 0 where there is none."""
    return next((number for number, (bit, _) in enumerate(CAUSES, start=1) if bits & bit == bit), 0)


def cause_name(number: int) -> str:
    """Return the name of a cause by its number."""
    return CAUSES[number - 1][1]


def cause_finding(name: str, rows: int, place: str = "") -> Finding | None:
    """Return the finding on so many rows with that cause; None for causes that are told in another way.

    ``place`` is what takes the code out of texts that are JSON, as ``jq`` writes it.
    """
    if name not in _TEXTS or not rows:
        return None
    verb, fault = _TEXTS[name]
    fault = fault.replace("{place}", place)
    text = f"{rows:,} row{'s' * (rows > 1)} {verb if rows > 1 else _SINGULAR[verb]} {fault}"
    return Finding(name=_NAMES[name], rows=rows, text=text)


CAUSE_NAMES = tuple(_TEXTS)
"""Causes with a finding of their own, in the order in which they are told."""
