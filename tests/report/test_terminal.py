"""What a person reads: numbers, bounded lists, and text from a model that cannot steer a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passcurve.report import terminal


@pytest.mark.parametrize(
    ("value", "text_shown"),
    [
        (0.46596, ".4660"),
        (0.5, ".5000"),
        (1.0, "1.0000"),
        (0.0, "0.0000"),
        (0.99996, ">.9999"),
        (1e-9, "<.0001"),
        (0.00004, "<.0001"),
        (0.00006, ".0001"),
        (-1e-9, ">-.0001"),
        (-0.99997, "<-.9999"),
        (-1.0, "-1.0000"),
        (-0.0012, "-.0012"),
        (2.5, "2.5000"),
    ],
)
def test_a_score_has_four_digits(value, text_shown):
    """A score is shown with four digits and without a leading zero; 1.0000 and 0.0000 stand for exactly 1 and 0."""
    assert text_shown == terminal.number(value)


def test_statuses_that_occur():
    """Only statuses that occur are shown, with commas in large counts."""
    assert "1,234 passed, 5 no code" == terminal.status_line({"passed": 1234, "failed": 0, "no_code": 5})


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (3, 3), (4, 4), (5, 4)])
def test_a_long_list_is_cut_and_says_by_how_much(count, shown):
    """A list is cut only when that saves lines, and then says how many are left out."""
    lines = terminal.truncate(map(str, range(count)), 3, "more")
    assert shown == len(lines)
    if count == 5:
        assert "... and 2 more" == lines[-1]


@given(st.text(st.characters(exclude_categories=()) | st.sampled_from("\x1b\x07\x9b\r\u202e\ud800\0")))
def test_text_of_a_model_cannot_steer_a_terminal(text):
    """Whatever a model wrote, what is shown is printable and can be encoded; line ends and tabs stay."""
    text_shown = terminal.printable(text)
    assert all(row.isprintable() or row in "\n\t" for row in text_shown)
    assert text_shown == text_shown.encode("utf-8").decode("utf-8")
    assert text.count("\n") == text_shown.count("\n")


def test_printable_text_stays_as_it_is():
    """What can be shown is shown."""
    assert "naïve\n\tλ → 日本" == terminal.printable("naïve\n\tλ → 日本")
