"""Tests in Bash that compare the output of calls with quoted arguments to quoted texts."""

from __future__ import annotations

import re
from functools import partial

from passcurve.judging.data_tests import DataTests, Expectation, TestsSource

_TEXT = r'"(?:[^"\\$`]|\\[\s\S])*"'
_ASSERTION = re.compile(rf"\[\[ (\$\(\w+(?: +{_TEXT})*\)) = ({_TEXT}) \]\]")
_AROUND = re.compile(
    r"\s*\}?\s*(?:\w+\(\) \{\s*\w+ \"\$@\"\s*\}\s*)?set -e\s+(?P<name>\w+)\(\) \{\s*(?:assertion\s*)+\}\s*(?P=name)\s*"
)
"""The tests with a word in the place of each assertion: nothing else runs."""

_ESCAPE = re.compile(r"\\([$`\"\\\n])")


def read_sh_tests(source: TestsSource) -> DataTests:
    """Return tests as calls and what is expected of them.  Raises ValueError where they are anything else."""
    assertions = list(_ASSERTION.finditer(source.tests))
    if not assertions or not _AROUND.fullmatch(_ASSERTION.sub("assertion", source.tests)):
        raise ValueError("a statement of another form")
    numbers = iter(range(len(assertions)))
    calls = _ASSERTION.sub(lambda match: f'passcurve_record {next(numbers)} "{match[1]}"', source.tests)
    expectations = (
        Expectation(match[1], match[2], partial(_is_same, _unquote(match[2]).encode())) for match in assertions
    )
    # The tests may begin with the end of the program's function.
    start, brace, rest = calls.partition("}\n") if calls.lstrip().startswith("}") else ("", "", calls)
    recorder = source.recorder.replace("{place}", source.place)
    return DataTests(f"{start}{brace}{recorder}{rest}", tuple(expectations), _show, _read, b"\0")


def _is_same(expected: bytes, recorded: bytes) -> bool:
    return expected == recorded


def _show(recorded: bytes) -> str:
    return repr(recorded.decode("utf-8", "replace"))


def _read(record: bytes) -> tuple[int, bytes]:
    number, _, text = record.partition(b"=")
    return int(number), text


def _unquote(text: str) -> str:
    return _ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text[1:-1])
