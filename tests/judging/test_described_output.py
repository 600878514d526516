"""The line of a program's output that is shown with its verdict."""

from __future__ import annotations

import pytest

from passcurve.bench.languages import find_language
from passcurve.judging.script_verdict import EndReport, describe_output


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a.cpp: In function\n a.cpp:3: error: no f\nmore\n", "a.cpp:3: error: no f"),
        ("first\nsecond\n", "first"),
        ("", ""),
        # Each of these words may begin what is searched for, up to the end of the line.
        ("failed " + "Assertion " * 6000, ("failed " + "Assertion " * 6000)[:4000]),
    ],
)
def test_the_line_that_says_most(text: str, line: str):
    """An error of the language goes before the first line, and no line is searched beyond its bound."""
    assert line == describe_output(EndReport(status="ended", err=text), find_language("cpp"))
