"""Identity of PHP outside of PHP: what php says of each pair of values, and what we say of a record."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

import pytest

from passcurve.bench.languages import find_language, with_confirmation
from passcurve.judging.preparation import read_text
from passcurve.judging.script_forms import find_data_tests
from passcurve.sandbox.command_layout import find_program
from passcurve.types import Script

RESULTS = (
    *("0", "1", "-1", "0.0", "-0.0", "1.0", "0.1 + 0.2", "NAN", "INF", "1e300", "PHP_INT_MAX", "PHP_INT_MIN", "1e22"),
    *("null", "true", "false", "''", "'0'", "'a'", '"\\xff"', '"\\u{1F600}"', "'5'", '"a\\n"', "'$x'", "[]", "[1, 2]"),
    *("[2 => 1]", "[1 => 2, 0 => 1]", "['a' => 1]", "['5' => 1]", "[[1], ['b' => null]]", "[1.0, 2]", "[-3 => 1, 2]"),
    *("new stdClass", "new ArrayObject([1, 2])", "fn() => 1", "fopen('php://memory', 'r')", "[new stdClass]"),
)
"""Expressions of what a program may return."""

EXPECTED = (
    *(
        "0",
        "1",
        "-1",
        "0.0",
        "1.0",
        "0.3",
        "0.30000000000000004",
        "1e300",
        "9223372036854775807",
        "1E22",
        "1e2",
        "null",
    ),
    *(
        "true",
        "FALSE",
        "''",
        "'0'",
        '"a"',
        '"\\xFF"',
        '"\\u{1f600}"',
        '"5"',
        "'a\\n'",
        '"a\\n"',
        "'$x'",
        '"\\$x"',
        "array()",
    ),
    *(
        "[1, 2]",
        "array(2 => 1)",
        "[0 => 1, 1 => 2,]",
        "array('a' => 1)",
        "['5' => 1]",
        "[[1], ['b' => null]]",
        "[1, 2.0]",
    ),
)
"""Literals that tests may expect."""


def test_a_record_is_identical_where_php_says_so(tmp_path: Path) -> None:
    """For each result and each literal."""
    php = find_program("php")
    if php is None:
        pytest.skip("php not installed here")
    place = tmp_path / "results"
    lines = [read_text("@record.php").decode().replace("{place}", str(place)), "$rows = [];"]
    for number, result in enumerate(RESULTS):
        lines.append(f"passcurve_record({number}, {result});")
        lines += [f"$rows[{number}][] = ({result}) === ({expected});" for expected in EXPECTED]
    (tmp_path / "compare.php").write_text("\n".join(["<?php", *lines, "echo json_encode($rows);"]))
    done = subprocess.run([php, tmp_path / "compare.php"], capture_output=True, check=True)
    rows = json.loads(done.stdout)
    assertions = "".join(f'    if (f() !== {text}) {{ throw new Exception(""); }}\n' for text in EXPECTED)
    confirmed = with_confirmation(find_language("php"), f"function test() {{\n{assertions}}}\n\ntest();")
    tests = find_data_tests(Script(language="php", tests=confirmed or ""))
    assert tests is not None
    records = dict(map(tests.read, place.read_bytes().split(b"\n")[:-1]))
    wrong = [
        (RESULTS[number], expectation.expected)
        for number, (column, expectation) in itertools.product(range(len(RESULTS)), enumerate(tests.expectations))
        if expectation.accepts(records[number]) != rows[number][column]
    ]
    assert [] == wrong
    assert all(tests.show(record) for record in records.values())
