"""Fields of a benchmark that hold tests which are not read: refused, read over, or named as not used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_TEST_WORDS = re.compile(r"(doc|unit|py)?(test|assert|assertion)s?|testcases?")
_INPUT_FIELDS = re.compile(r"inputs|.*_inputs?|inputs?_outputs?")

_READ_OVER = frozenset({"example_test", "sample_io", "test_setup", "test_setup_code", "test_imports"})
"""Examples for the prompt, and code around tests, which a reference solution that needs it shows by failing."""

_NOT_USED = frozenset({"challenge_test_list"})
"""Tests that the authors of the benchmark leave out of its score as well."""

_EVALPLUS = frozenset({"plus_input", "base_input", "plus_test"})


def unread_tests(fields: Mapping[str, object], read: Iterable[str]) -> str:
    """Return the first field that holds tests and is not among those that are read; the empty string for none."""
    read_over = {*read, *_READ_OVER, *_NOT_USED}
    # The extra tests of EvalPlus tell a user more than its base ones.
    names = sorted(fields, key=lambda name: not name.startswith("plus_"))
    return next(
        (name for name in names if name not in read_over and _names_tests(name) and _has_tests(fields[name])), ""
    )


def unused_tests(fields: Mapping[str, object]) -> list[str]:
    """Return the fields with tests that a benchmark has beside those of its score."""
    return [name for name in fields if name in _NOT_USED and _has_tests(fields[name])]


def explain(field: str) -> str:
    """Return what is wrong with a field that holds tests, and what to do."""
    if field in _EVALPLUS:
        return (
            f"the tests in {field!r} would not be run, and a score without them is not EvalPlus's; use a file as "
            "EvalPlus publishes it, with 'base_input' and 'plus_input' in each row, or in the original format "
            "(OriginFmt), with all tests in 'test'; for the base tests alone --benchmark humaneval"
        )
    return (
        f"the tests in {field!r} would not be run; write them into 'test' as check(candidate), "
        "or remove the field where 'test' has them already"
    )


def _names_tests(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    return any(_TEST_WORDS.fullmatch(word) for word in words) or bool(_INPUT_FIELDS.fullmatch(name.lower()))


def _has_tests(value: object) -> bool:
    """Return whether a value can hold tests: a number or a single word describes them only."""
    if isinstance(value, str):
        return re.fullmatch(r"\s*[\w./-]*\s*", value) is None
    return isinstance(value, (list, dict)) and bool(value)
