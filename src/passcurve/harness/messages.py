"""Text of a report: exceptions, values and lines of the tests, truncated.

What is shown may come from a sample: no function here expects it to be short, or to have a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

TEXT_CHARACTERS = 2000
TEST_NAME = "<tests>"


def encode_report(report: Mapping[str, Any]) -> bytes:
    """Return a report as JSON in UTF-8; a lone surrogate becomes a question mark."""
    return json.dumps(report, default=list, ensure_ascii=False).encode("utf-8", "replace")


def truncate(text: str) -> str:
    """Return the beginning of a text."""
    return text[:TEXT_CHARACTERS]


def message_of(error: BaseException) -> str:
    """Return the message of an exception, truncated, or a replacement if it has no text."""
    try:
        return str(error)[:TEXT_CHARACTERS]
    except BaseException:
        return "(its message cannot be shown)"


def bounded_repr(value: Any) -> str:
    """Return a short ``repr``, also of a huge value and of one whose own ``repr`` fails."""
    import reprlib

    shorten = reprlib.Repr()
    shorten.maxlist = shorten.maxtuple = shorten.maxdict = shorten.maxset = shorten.maxfrozenset = 40
    shorten.maxstring = shorten.maxother = 300
    shorten.maxlong = 200
    shorten.maxlevel = 5
    try:
        return shorten.repr(value)[:TEXT_CHARACTERS]
    except BaseException:
        return "<%s that cannot be shown>" % type(value).__name__


def failing_line(error: BaseException, test: str) -> str:
    """Return the line of the tests that raised an exception, or an empty string."""
    number = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == TEST_NAME:
            number = trace.tb_lineno
        trace = trace.tb_next
    # As Python counts them: other separators may stand in a string.
    lines = test.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[number - 1].strip()[:300] if 0 < number <= len(lines) else ""
