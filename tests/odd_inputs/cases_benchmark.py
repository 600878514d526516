"""Benchmarks that are broken, incomplete, or hold tests that nobody would run."""

from __future__ import annotations

from typing import Any

from case import JUDGE, Case, Row, benchmark, own, right, wrong

BROKEN = {"canonical_solution": "    return None\n"}
HANGS = {"canonical_solution": "    while True: pass\n"}
NEEDS_PACKAGE = {"canonical_solution": "    import no_such_package\n    return no_such_package.f(x)\n"}
NO_REFERENCE = {"canonical_solution": None}
VACUOUS = {"test": "def check(candidate):\n    pass\n"}
SECOND = {
    "canonical_solution": "    return x\ndef g(x):\n    return f(x) + 1\n",
    "test": "def check(candidate):\n    assert g(1) == 2\n    assert g(5) == 6\n",
}
SECOND_RIGHT = {"completion": "    return x + 1\ndef g(x):\n    return f(x)\n"}
ROWS = [right(0), right(1), wrong(2), right(3)]
FORTY = [right(number) for number in range(40)]


def without(field: str, *rows: Row) -> list[dict[str, Any]]:
    """Return the rows without a field."""
    return [{name: value for name, value in row.items() if name != field} for row in rows]


def forty(**fields: Any) -> list[dict[str, Any]]:
    """Return a benchmark of forty problems, of which the third has these fields."""
    return benchmark(40, _2=fields)


def sixty(broken: int) -> list[dict[str, Any]]:
    """Return a benchmark of sixty problems, of which so many have a broken reference solution."""
    return benchmark(60, **{f"_{number}": BROKEN for number in range(broken)})


def refused(name: str, problems: list[dict[str, Any]], *says: str) -> Case:
    """Return a case in which the benchmark is refused before anything is judged."""
    return Case(name, own(ROWS, problems), JUDGE, 2, refused=True, says=("b.jsonl", *says))


def with_all(**fields: Any) -> list[dict[str, Any]]:
    """Return a benchmark of four problems, all with these fields."""
    return benchmark(4, **{f"_{number}": fields for number in range(4)})


def one_excluded(name: str, *says: str, **fields: Any) -> Case:
    """Return a case in which one problem of forty is excluded and the score is of the others."""
    return Case(name, own(FORTY, forty(**fields)), JUDGE, value=1.0, excluded=("Own/2",), says=says)


UNREAD = [
    refused("plus_input beside test", with_all(plus_input=[[1], [2]]), "plus_input", "OriginFmt"),
    refused(
        "plus_input without test",
        without("test", *with_all(plus_input=[[1]], contract="")),
        "plus_input",
        "OriginFmt",
    ),
    refused("plus_test as source", with_all(plus_test="def check(candidate):\n    assert 0\n"), "plus_test"),
    refused("hidden_tests in one row", benchmark(_3={"hidden_tests": ["assert f(1) == 4"]}), "hidden_tests", "line 4"),
    refused("test_list beside test", with_all(test_list=["assert f(1) == 1"]), "test_list"),
    refused("private_test_cases", with_all(private_test_cases='[{"input": "1", "output": "1"}]'), "private_test_cases"),
    refused("input_output", with_all(input_output={"inputs": ["1"], "outputs": ["1"]}), "input_output"),
    refused("MBPP as published", without("test", *with_all(text="t", test_list=["assert f(1)"])), "test_list"),
    Case(
        "examples and set-up code beside test",
        own(ROWS, with_all(example_test="assert f(1)", sample_io=["f(1)"], test_setup="import os", test_imports=["x"])),
        JUDGE,
        value=0.75,
    ),
    Case("empty plus_input", own(ROWS, with_all(plus_input=[], plus_test="")), JUDGE, value=0.75),
    Case(
        "challenge tests",
        own(ROWS, with_all(challenge_test_list=["assert f(1) == 1"])),
        JUDGE,
        value=0.75,
        says=("challenge_test_list",),
    ),
]

WITHOUT_TESTS = [
    one_excluded("an empty test", "no tests", test=""),
    one_excluded("a blank test", "no tests", test=" \n"),
    one_excluded("a test that is null", "no tests", test=None),
    one_excluded("an empty test and no reference", "no tests", test="", canonical_solution=None),
    Case(
        "a row without test",
        own(FORTY, [*benchmark(39), *without("test", *benchmark(40)[39:])]),
        JUDGE,
        value=1.0,
        excluded=("Own/39",),
    ),
    refused("no row has a test", without("test", *benchmark()), "test"),
    refused("all tests are empty", with_all(test=""), "test"),
    one_excluded("tests that never call", "never", **VACUOUS),
    one_excluded("tests that never call, and no reference", "never", **VACUOUS, canonical_solution=None),
    one_excluded("tests without a check", "no check", test="assert f(1) == 3\n"),
    one_excluded("tests without a check, and no reference", "no check", test="x = 1\n", canonical_solution=None),
    one_excluded("tests that do not compile", "do not compile", test="def check(candidate)\n    pass\n"),
    one_excluded(
        "tests that swallow every error, in shared mode",
        **{**SECOND, "test": "def check(candidate):\n    try:\n        g(1)\n    except Exception:\n        pass\n"},
    ),
]

REFERENCES = [
    Case(
        "a reference that hangs",
        own(FORTY, forty(**HANGS)),
        (*JUDGE, "--timeout", "0.3"),
        value=1.0,
        excluded=("Own/2",),
        says=("timeout", "raise --timeout"),
    ),
    one_excluded("a reference that does not compile", "compile", canonical_solution="  return (\n"),
    one_excluded("tests that misspell the function", "F", test="def check(candidate):\n    assert F(1) == 3\n"),
    Case(
        "a problem at fault whose only sample has no code",
        own([*FORTY[:2], right(2, completion=""), *FORTY[3:]], forty(**BROKEN)),
        JUDGE,
        value=1.0,
        findings=("empty_text",),
        excluded=("Own/2",),
    ),
    Case(
        "three broken references of sixty",
        own([right(number) for number in range(60)], sixty(3)),
        JUDGE,
        value=1.0,
        excluded=("Own/0", "Own/1", "Own/2"),
    ),
    Case(
        "four broken references of sixty",
        own([right(number) for number in range(60)], sixty(4)),
        JUDGE,
        2,
        excluded=("Own/0", "Own/1", "Own/2", "Own/3"),
        says=("4 of 60", "--accept-benchmark"),
    ),
    Case(
        "all references broken, accepted",
        own(ROWS, with_all(**BROKEN)),
        (*JUDGE, "--accept-benchmark"),
        2,
        excluded=("Own/0", "Own/1", "Own/2", "Own/3"),
        says=("no problem is left",),
    ),
    Case(
        "the one problem that is asked for is broken",
        own(ROWS, benchmark(_2=BROKEN)),
        (*JUDGE, "--problems", "Own/2"),
        2,
        excluded=("Own/2",),
        says=("no problem is left",),
    ),
    Case(
        "only sound problems are asked for",
        own(ROWS, benchmark(_2=BROKEN)),
        (*JUDGE, "--problems", "Own/[013]"),
        value=1.0,
    ),
    Case(
        "one of four samples is of a broken problem",
        own(FORTY[:4], forty(**BROKEN)),
        (*JUDGE, "--subset"),
        2,
        excluded=("Own/2",),
        says=("1 of 4", "--accept-benchmark"),
    ),
    Case("samples of sound problems only", own(FORTY[10:14], forty(**BROKEN)), (*JUDGE, "--subset"), value=1.0),
    Case(
        "a benchmark in another language",
        own(ROWS, with_all(canonical_solution="    return x + 1;\n}\n", prompt="int f(int x) {\n")),
        JUDGE,
        2,
        excluded=("Own/0", "Own/1", "Own/2", "Own/3"),
    ),
]

PACKAGES = [
    Case(
        "two of four need a package",
        own(ROWS, benchmark(_1=NEEDS_PACKAGE, _2=NEEDS_PACKAGE)),
        JUDGE,
        value=1.0,
        excluded=("Own/1", "Own/2"),
        says=("no_such_package", "--packages"),
    ),
    Case(
        "all need a package",
        own(ROWS, with_all(**NEEDS_PACKAGE)),
        JUDGE,
        2,
        excluded=("Own/0", "Own/1", "Own/2", "Own/3"),
        says=("no problem is left",),
    ),
    Case(
        "a misspelt part of Python's own modules is no package",
        own(ROWS, benchmark(_2={"canonical_solution": "    import os.pathh\n    return x + 2\n"})),
        JUDGE,
        2,
        excluded=("Own/2",),
        says=("--accept-benchmark",),
    ),
]

SECOND_FUNCTIONS = [
    Case(
        "tests of a second function",
        own([*ROWS[:3], right(3, **SECOND_RIGHT)], benchmark(_3=SECOND)),
        JUDGE,
        value=0.75,
    ),
    Case(
        "tests of a second function, and no reference",
        own([*ROWS[:3], right(3, **SECOND_RIGHT)], benchmark(_3=SECOND | NO_REFERENCE)),
        JUDGE,
        value=0.75,
        says=("'g'", "shared"),
    ),
    Case(
        "tests of a second function that the sample lacks",
        own(ROWS, benchmark(_3=SECOND | NO_REFERENCE)),
        JUDGE,
        value=0.5,
    ),
    Case(
        "tests of a second function in referee mode",
        own([*ROWS[:3], right(3, **SECOND_RIGHT)], benchmark(_3=SECOND)),
        (*JUDGE, "--verdict", "referee"),
        2,
        excluded=("Own/3",),
        says=("--verdict auto", "--accept-benchmark"),
    ),
    Case(
        "tests of a second function in referee mode, and no reference",
        own([*ROWS[:3], right(3, **SECOND_RIGHT)], benchmark(_3=SECOND | NO_REFERENCE)),
        (*JUDGE, "--verdict", "referee", "--accept-benchmark"),
        value=2 / 3,
        excluded=("Own/3",),
        says=("--verdict auto",),
    ),
    Case(
        "a function that the prompt does not define, and no reference",
        own(ROWS, benchmark(_3=NO_REFERENCE | {"entry_point": "g"})),
        JUDGE,
        2,
        excluded=("Own/3",),
        says=("entry_point 'g' is not defined in the prompt", "--accept-benchmark"),
    ),
    Case("no references at all", own(ROWS, with_all(**NO_REFERENCE)), JUDGE, value=0.75, says=("no reference",)),
]

CASES = [*UNREAD, *WITHOUT_TESTS, *REFERENCES, *PACKAGES, *SECOND_FUNCTIONS]
