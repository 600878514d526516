"""The words of a report: exceptions, values and lines of the tests as bounded text.

Used beside the tests, where what is shown may come from a sample: nothing here trusts it to be short, or to have text.
"""

from __future__ import annotations

import json
from typing import Any

TEXT_CHARACTERS = 2000
TEST_NAME = "<tests>"


def pack_report(report: dict[str, Any]) -> bytes:
    """Return a report as JSON, in which even half a surrogate pair is plain ASCII."""
    return json.dumps(report, default=list, ensure_ascii=False).encode("utf-8", "replace")


def bounded(text: str) -> str:
    """Return the beginning of a text."""
    return text[:TEXT_CHARACTERS]


def message_of(error: BaseException) -> str:
    """Return what an exception says, bounded, also where it cannot be asked."""
    try:
        return str(error)[:TEXT_CHARACTERS]
    except BaseException:
        return "(its message cannot be shown)"


def shown(value: Any) -> str:
    """Return a bounded repr, also of what is huge or cannot be shown."""
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


def test_line(error: BaseException, source: str) -> str:
    """Return the line of the tests at which an exception arose, or nothing."""
    number = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == TEST_NAME:
            number = trace.tb_lineno
        trace = trace.tb_next
    lines = source.splitlines()
    return lines[number - 1].strip()[:300] if 0 < number <= len(lines) else ""
