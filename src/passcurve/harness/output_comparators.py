"""Rules by which what a script writes is compared with what is expected, by name."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any

CLOSE = 1e-9
"""Relative and absolute tolerance of a float that a function returns."""

SIGNIFICANT = 1e-5
"""Relative and absolute tolerance of a number with a point, where a rule has one and the problem sets none."""


def _lines(text: str) -> list[str]:
    """Return the lines of a text without the space at their ends, and without empty ones at its end."""
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def lines(_: tuple[Any, ...], value: Any, expected: Any, __: float) -> bool:
    """Accept equal lines; space at their ends and empty lines at the end do not count."""
    return bool(value == expected) or _lines(value) == _lines(expected)


def tokens(_: tuple[Any, ...], value: Any, expected: Any, __: float) -> bool:
    """Accept equal words, whatever space is between them."""
    return bool(value.split() == expected.split())


def _close_words(word: str, expected: str, tolerance: float) -> bool:
    if word == expected:
        return True
    if not any(mark in expected for mark in ".eE"):
        # A whole number is exact, however large it is.
        return False
    if "_" in word or not word.isascii():
        # Only Python reads that as a number.
        return False
    try:
        number, wanted = float(word), float(expected)
    except ValueError:
        return False
    if not (math.isfinite(number) and math.isfinite(wanted)):
        return False
    return abs(number - wanted) <= tolerance * max(1.0, abs(wanted))


def float_tokens(_: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    """Accept what ``close-tokens`` accepts, in capitals or not."""
    return close_tokens((), value.lower(), expected.lower(), tolerance)


def close_tokens(_: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    """Accept equal words; one that is expected with a point may be a number close to it."""
    words, wanted = value.split(), expected.split()
    limit = tolerance or SIGNIFICANT
    return len(words) == len(wanted) and all(_close_words(one, other, limit) for one, other in zip(words, wanted))


def any_case_lines(_: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    """Accept equal lines in capitals or not, of which each may also be one close number."""
    got, wanted = (text.strip().lower().split("\n") for text in (value, expected))
    limit = tolerance or SIGNIFICANT
    return len(got) == len(wanted) and all(
        _close_words(one.strip(), other.strip(), limit) for one, other in zip(got, wanted)
    )


def livecodebench(_: tuple[Any, ...], value: Any, expected: Any, __: float) -> bool:
    """Accept equal lines, stripped; in a line that is not, each word must be the same number."""
    got, wanted = ([line.strip() for line in text.strip().split("\n")] for text in (value, expected))
    return len(got) == len(wanted) and all(
        one == other or _same_decimals(one, other) for one, other in zip(got, wanted)
    )


def _same_decimals(line: str, expected: str) -> bool:
    try:
        got, wanted = ([Decimal(word) for word in text.split()] for text in (line, expected))
    except InvalidOperation:
        return False
    return got == wanted


def apps(_: tuple[Any, ...], value: Any, expected: Any, __: float) -> bool:
    """Accept what the looser and looser comparisons of APPS accept, down to sets of lines as sets of words."""
    got = value.splitlines()
    if expected.strip() in ("\n".join(got).strip(), "\n".join(line.strip() for line in got).strip()):
        return True
    wanted = [line.strip() for line in expected.split("\n") if line]
    written = [line for line in got if line]
    if wanted in (got, written) or (len(written) == len(wanted) and _all_close(written, wanted)):
        return True
    words = {frozenset(line.split()) for line in written if line.split()}
    others = {frozenset(line.split()) for line in wanted}
    return words == others or _rounded(words) == _rounded(others) is not None


def _all_close(got: list[str], wanted: list[str]) -> bool:
    try:
        pairs = [(float(one), float(other)) for one, other in zip(got, wanted)]
    except ValueError:
        return False
    # As ``numpy.allclose``: to an infinity only the same one is close.
    return all(
        one == other or (math.isfinite(other) and abs(one - other) <= 1e-8 + 1e-5 * abs(other)) for one, other in pairs
    )


def _rounded(lines_as_words: set[frozenset[str]]) -> set[frozenset[float]] | None:
    """Return the numbers of lines, rounded; None where one is no number."""
    try:
        return {frozenset(round(float(word), 3) for word in words) for words in lines_as_words}
    except (ValueError, OverflowError):
        return None


def listed_or_equal(_: tuple[Any, ...], value: Any, expected: Any, __: float) -> bool:
    """Accept an equal value, with lists for tuples, where the expected one may stand alone in a list."""
    value, expected = _untupled(value), _untupled(expected)
    return _close(value, expected) or (type(expected) is list and len(expected) == 1 and _close(value, expected[0]))


def apps_function(_: tuple[Any, ...], value: Any, expected: Any, __: float) -> bool:
    """Accept what APPS accepts of a function: an equal value, or one equal to the first item of an expected list.

    A list stands for a tuple, and, against the first item, for the tuples in a list that begins with one.
    """
    value = list(value) if type(value) is tuple else value
    if value == expected:
        return True
    if type(expected) is not list or not expected:
        return False
    first = expected[0]
    return bool(value == first) or (
        type(value) is list
        and type(next(iter(value), None)) is tuple
        and all(type(item) in (list, tuple) for item in value)
        and [list(item) for item in value] == first
    )


def _close(value: Any, expected: Any) -> bool:
    """Return whether values are equal, where expected floats may be close."""
    if type(expected) is list and type(value) is list:
        return len(value) == len(expected) and all(_close(one, other) for one, other in zip(value, expected))
    if type(expected) is float and type(value) in (int, float):
        # To an infinity nothing else is close.
        is_near = math.isfinite(expected) and abs(value - expected) <= CLOSE * max(1.0, abs(expected))
        return bool(value == expected) or is_near
    return bool(value == expected)


def equal_json(_: tuple[Any, ...], value: Any, expected: Any, __: float) -> bool:
    """Accept an equal value, with a list for a tuple."""
    return bool((list(value) if type(value) is tuple else value) == expected)


def _untupled(value: Any) -> Any:
    if type(value) in (list, tuple):
        return [_untupled(item) for item in value]
    return value


OUTPUT_RULES = {
    "lines": lines,
    "tokens": tokens,
    "close-tokens": close_tokens,
    "float-tokens": float_tokens,
    "any-case-lines": any_case_lines,
    "livecodebench": livecodebench,
    "apps": apps,
    "apps-function": apps_function,
    "listed-or-equal": listed_or_equal,
    "equal-json": equal_json,
}
"""Rules by name; ``docs/benchmarks.md`` says what each accepts."""
