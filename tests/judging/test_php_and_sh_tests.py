"""Tests in PHP and Bash that are data: the forms that are read, and all that is left alone."""

from __future__ import annotations

import pytest

from passcurve.bench.languages import find_language, with_confirmation
from passcurve.judging.data_tests import DataTests
from passcurve.judging.script_forms import find_data_tests
from passcurve.types import Script

PHP = 'function test(): void {{\n    if ({}) {{ throw new Exception("Test failed!"); }}\n}}\n\ntest();'
SH = '}}\n\ncandidate() {{\n    f "$@"\n}}\n\nset -e\nrun_test() {{\n    {}\n}}\n\nrun_test'


def read(language: str, tests: str) -> DataTests | None:
    """Return tests as data, as the tests of a problem are read."""
    confirmed = with_confirmation(find_language(language), tests)
    assert confirmed is not None
    return find_data_tests(Script(language=language, tests=confirmed))


def test_php():
    """The assertion is a record of its call, in the same place, and the end is the job's token."""
    wrapper = "function candidate(...$args) {\n    return f(...$args);\n}\n\n"
    tests = read("php", wrapper + PHP.format("candidate(array('a' => 1), -2.5) !== array(true)"))
    assert tests is not None
    assert (
        f"{wrapper}function test(): void {{\n    passcurve_record(0, candidate(array('a' => 1), -2.5));\n}}"
        in tests.source
    )
    assert "array(true)" not in tests.source
    assert "PASSCURVE_TOKEN" in tests.source.splitlines()[-1]
    assert ("candidate(array('a' => 1), -2.5)", "array(true)") == tests.expectations[0][:2]


def test_bash():
    """The recorder stands behind the end of the program's function, and gets the output of the call as one word."""
    tests = read("sh", SH.format('[[ $(candidate "a b" "\\$") = "c" ]]'))
    assert tests is not None
    assert tests.source.startswith("}\n#")
    assert '    passcurve_record 0 "$(candidate "a b" "\\$")"\n' in tests.source
    accepts = tests.expectations[0].accepts
    assert [True, False, False] == [accepts(tests.read(record)[1]) for record in (b"0=c", b"0=C", b"0=c=")]


@pytest.mark.parametrize(
    ("literal", "record", "expected"),
    [
        ("1", ["i", "1"], True),
        ("1", ["f", "3ff0000000000000"], False),
        ("1.0", ["f", "3ff0000000000000"], True),
        ("-0.0", ["f", "0000000000000000"], True),
        ("'a\\'\\n'", ["s", "YSdcbg=="], True),
        ('"\\x41\\101\\u{e9}\\n\\q"', ["s", "QUHDqQpccQ=="], True),
        ("null", ["n"], True),
        ("NULL", ["b", False], False),
        ("false", ["b", False], True),
        ("true", ["b", 1.0], False),
        (
            '["a" => 1, "5" => 2, 3]',
            ["a", [[["s", "YQ=="], ["i", "1"]], [["i", "5"], ["i", "2"]], [["i", "6"], ["i", "3"]]]],
            True,
        ),
        ("array(1, 2)", ["a", [[["i", "1"], ["i", "2"]], [["i", "0"], ["i", "1"]]]], False),
        ("9223372036854775808", ["f", "43e0000000000000"], True),
        ('["9223372036854775807" => 1]', ["a", [[["i", "9223372036854775807"], ["i", "1"]]]], True),
        ('["9223372036854775808" => 1]', ["a", [[["s", "OTIyMzM3MjAzNjg1NDc3NTgwOA=="], ["i", "1"]]]], True),
        ("[]", ["a", []], True),
        ("[]", ["x", "object"], False),
        ("[]", "nonsense", False),
        ("1.5", ["f", "00"], False),
        ("'a'", ["s", "?"], False),
        ("array()", ["a", [1.0, [["i"]]]], False),
    ],
)
def test_identity_in_php(literal, record, expected):
    """A literal is identical to what has the same type and value, arrays in the same order; nonsense is nothing."""
    tests = read("php", PHP.format(f"f(1) !== {literal}"))
    assert tests is not None
    assert expected == tests.expectations[0].accepts(record)


@pytest.mark.parametrize(
    "condition",
    [
        "f($x) !== 1",
        'f("$x") !== 1',
        "f(1) != 1",
        "f(1) === 1",
        "f(1) !== f(2)",
        "f(1)->g !== 1",
        "f(1) !== 1 || f(2) !== 2",
        "f(017) !== 1",
        "f(1) !== array(-1 => 2)",
        "f(1) !== array(1.5 => 2)",
        "f(1) !== -true",
        "1 !== f(1)",
        "array(1) !== array(2)",
    ],
)
def test_other_forms_of_php(condition):
    """They leave the problem with its tests beside the program."""
    assert read("php", PHP.format(condition)) is None


@pytest.mark.parametrize(
    "assertion",
    [
        '[[ $(candidate "$x") = "c" ]]',
        '[[ $(candidate "`x`") = "c" ]]',
        '[[ $(candidate "a") = c* ]]',
        '[[ $(candidate "a") = "c"* ]]',
        '[[ $(candidate "a") != "c" ]]',
        '[[ $(candidate "a" | sort) = "c" ]]',
        '[[ $(candidate "a") = "c" ]] || true',
        '[[ $(candidate "a") = "c" ]]\n    other',
        "true",
    ],
)
def test_other_forms_of_bash(assertion):
    """They leave the problem with its tests beside the program."""
    assert read("sh", SH.format(assertion)) is None
    assert read("php", "test();") is None
