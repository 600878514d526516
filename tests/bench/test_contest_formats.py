"""Formats of contest problems: APPS, CodeContests and LiveCodeBench, as published and in other layouts."""

from __future__ import annotations

import base64
import datetime as dt
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from passcurve.bench.choose import choose_problems, describe_undated, join_dates
from passcurve.bench.formats import ReadOptions, parse_problems, read_problems
from passcurve.errors import DataError, UsageError
from passcurve.harness.comparators import Comparator
from passcurve.types import Benchmark, Cases, Problem, unpack_values


def read(*rows: dict[str, Any], **options: Any) -> tuple[Problem, ...]:
    """Return the problems of some rows."""
    return parse_problems("\n".join(map(json.dumps, rows)).encode(), "b.jsonl", options=ReadOptions(**options))


def cases_of(problem: Problem) -> tuple[str, str, list[Any], list[Any]]:
    """Return how the tests of a problem reach a program, their rule, inputs and expected results."""
    check = problem.check
    assert isinstance(check, Cases)
    return check.via, check.comparator, unpack_values(check.inputs), unpack_values(check.expected)


def pack(value: object) -> str:
    """Return a value as LiveCodeBench packs it."""
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


STDIN = [{"input": "1\n", "output": "2\n", "testtype": "stdin"}]
CALL = [{"input": "[1, 2]\n3", "output": "[4]", "testtype": "functional"}]
LCB: dict[str, Any] = {
    "question_content": "Add one.",
    "question_id": "1873_A",
    "contest_date": "2023-08-21T00:00:00",
    "starter_code": "",
    "public_test_cases": json.dumps(STDIN),
    "private_test_cases": pack(json.dumps(STDIN * 2)),
    "metadata": "{}",
}
APPS: dict[str, Any] = {
    "problem_id": 0,
    "question": "Add.",
    "solutions": "",
    "input_output": "",
    "difficulty": "interview",
    "url": "",
    "starter_code": "",
}


def test_livecodebench():
    """Private tests are unpacked; a function gets one JSON value a line; dates are kept."""
    (script,) = read(LCB)
    assert ("stdin", "livecodebench", [("1\n",)] * 3, ["2\n"] * 3) == cases_of(script)
    assert ("2023-08-21", "", 26.0) == (script.date, script.entry_point, script.timeout_s)
    functional = {**LCB, "public_test_cases": json.dumps(CALL), "private_test_cases": "[]"}
    (call,) = read({**functional, "metadata": '{"func_name": "f"}'})
    assert ("call", "equal-json", [([1, 2], 3)], [[4]]) == cases_of(call)
    assert call.entry_point == "Solution.f"


class Evil:
    """An object whose pickle would run something."""

    def __reduce__(self) -> Any:
        return (print, ("evil",))


@pytest.mark.parametrize("value", [Evil(), ["[]"], 3, {"a": 1}])
def test_no_pickle_is_loaded(value: object, capsys: pytest.CaptureFixture[str]):
    """A pickle that holds anything but texts is refused, and nothing of it runs."""
    with pytest.raises(DataError, match="line 1"):
        read({**LCB, "private_test_cases": pack(value)})
    assert not capsys.readouterr().out


def test_sandbox_fusion():
    """Tests of a script are texts; packed ones may be those of a function; a reference that only leaves is none."""
    tests = json.dumps([{"input": {"stdin": "1"}, "output": {"stdout": "2"}}])
    (script,) = read({"id": 3, "content": "Add one.", "labels": "{}", "test": tests})
    assert ("stdin", "float-tokens", [("1",)], ["2"]) == cases_of(script)
    assert script.timeout_s is not None
    assert script.timeout_s > 10.0
    packed = pack({"input_output": json.dumps({"inputs": ["[1]"], "outputs": ["2"]})})
    content = "Do.\n```python\nclass Solution:\n    def f(self, x: List[str]) -> int:\n        \n```\n"
    row = {"id": 4, "content": content, "labels": "{}", "test": packed, "canonical_solution": "import sys; sys.exit(0)"}
    (call,) = read(row)
    assert ("call", "equal-json", [([1],)], [2]) == cases_of(call)
    assert ("Solution.f", None) == (call.entry_point, call.reference)


def test_code_contests():
    """All three kinds of tests count, as lists of pairs or pairs of lists; a time limit for Python is three times."""
    pairs = {"public_tests": [{"input": "1", "output": "2"}], "private_tests": {"input": ["3"], "output": ["4"]}}
    row = {"name": "1_A", "description": "Add.", **pairs, "generated_tests": [], "time_limit": {"seconds": 2}}
    solutions = [{"language": 2, "solution": "no"}, {"language": 3, "solution": "yes"}]
    (problem,) = read({**row, "solutions": solutions})
    assert ("stdin", "float-tokens", [("1",), ("3",)], ["2", "4"]) == cases_of(problem)
    assert isinstance(problem.check, Cases)
    assert (6.0, "yes") == (problem.check.timeout_s, problem.reference)


def test_apps():
    """Inputs are texts of a script, or arguments of a function; the first solution is the reference."""
    row: dict[str, Any] = {"problem_id": 7, "question": "Add.", "starter_code": "", "solutions": '["print(1)", "x"]'}
    (script,) = read({**row, "input_output": json.dumps({"inputs": ["1\n", ["2", "3"]], "outputs": ["2", ["4"]]})})
    assert ("stdin", "close-tokens", [("1\n",), ("2\n3",)], ["2", "4"]) == cases_of(script)
    assert ("7", "print(1)") == (script.id, script.reference)
    function = {**row, "input_output": json.dumps({"fn_name": "f", "inputs": [[1, "a"]], "outputs": [[2]]})}
    (call,) = read(function)
    assert ("call", "listed-or-equal", [(1, "a")], [[2]]) == cases_of(call)
    (call,) = read(function, profile="apps")
    assert ("call", "apps-function", [(1, "a")], [[2]]) == cases_of(call)


@pytest.mark.ci
def test_rows_without_ids_are_counted():
    """Rows without ids, as TACO has them, have their numbers among the rows: blank lines and titles do not count."""
    row = {name: value for name, value in APPS.items() if name != "problem_id"}
    first, second, third = (json.dumps({**row, "name": name}) for name in ("Sum", None, "Sum"))
    problems = parse_problems(f"{first}\n\n{second}\n\n\n{third}\n".encode(), "b.jsonl")
    assert ["0", "1", "2"] == [problem.id for problem in problems]


def test_the_profile_of_apps(shell):
    """Its rule, its imports and its streams: an exit code is nothing, any file is the input, bytes are not there.

    The streams have names of their own, and a main guard is false.
    """
    row: dict[str, Any] = {"problem_id": 7, "question": "Add.", "starter_code": "", "solutions": '["print(1)"]'}
    tests = {"inputs": ["1 2", "3 4"], "outputs": ["3 0", "7 0"]}
    shell.write(
        "p.jsonl",
        [
            {
                **row,
                "solutions": json.dumps(["print(sum(map(int, input().split())), 0)"]),
                "input_output": json.dumps(tests),
            }
        ],
    )
    programs = {
        "order": "print(0, sum(map(int, input().split())))",
        "exit": "a, b = map(int, open('x').read().split())\nprint(a + b, 0)\nsys.exit(3)",
        "bytes": "import sys\nprint(sum(map(int, sys.stdin.buffer.readline().split())), 0)",
        "end": "try:\n    while True:\n        print(sum(map(int, input().split())), 0)\nexcept EOFError:\n    pass",
        "names": "print(sum(map(int, stdin.readline().split())), 0)",
        "guard": "if __name__ == '__main__':\n    print(sum(map(int, input().split())), 0)",
    }
    shell.write("s.jsonl", [{"task_id": "7", "completion": text} for text in programs.values()])

    def passes(*words: str) -> list[bool]:
        assert 0 == shell("judge", "s.jsonl", "--benchmark", "p.jsonl", *words).code
        return [row["passed"] for row in shell.rows("s.jsonl_results.jsonl")]

    assert [False, False, True, True, False, True] == passes()
    assert [True, True, False, True, True, False] == passes("--profile", "apps", "--run", "r")


def test_apps_of_mapcoder():
    """Arguments stand one a line, texts without quotes; an argument is a text if one test says so; equal rows merge."""
    tests = [{"input": "12\n[1]", "output": [2]}, {"input": "ab\n[2]", "output": [3]}]
    row = {"name": "9", "description": "Add.", "starter_code": "\ndef f(s, x):\n\t", "test_list": tests}
    (call,) = read(row, row)
    assert ("call", "listed-or-equal", [("12", [1]), ("ab", [2])], [[2], [3]]) == cases_of(call)
    assert ("9", "f") == (call.id, call.entry_point)
    with pytest.raises(DataError, match="line 1"):
        read(row, {**row, "description": "Other."})


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("lines", ["1 2\n3\n", "1 2  \n3", "1 2\n3\n\n"], ["1 2\n4", "1  2\n3", "1 2", "1 2\n3\n4"]),
        ("tokens", ["1 2 3", "1\n2\n3\n"], ["1 2", "1 2 4", "12 3"]),
        ("livecodebench", ["1 2\n3", " 1 2 \n3\n", "1.0 2\n3.00"], ["1 2 3", "1 2\n3.0001", "a"]),
        ("close-tokens", ["1 2\n3", "1 2 3"], ["1 2 3.0", "1 2 4", "1 2"]),
        ("any-case-lines", ["1 2\n3", "1 2\n3 "], ["1 2 3", "1 2\n4"]),
    ],
)
def test_rules(name: str, right: list[str], wrong: list[str]):
    """Each rule accepts what it says, and nothing else."""
    comparator = Comparator(name, 0.0, floats="equal")
    assert all(comparator.accepts((), value, "1 2\n3\n") for value in right)
    assert not any(comparator.accepts((), value, "1 2\n3\n") for value in wrong)


@pytest.mark.parametrize(
    ("name", "expected", "right", "wrong"),
    [
        ("close-tokens", "0.5 Yes", ["0.500001 Yes", "5e-1 Yes"], ["0.5001 Yes", "0.5 yes", "nan Yes"]),
        ("close-tokens", "10.5 inf", ["10.5 inf"], ["1_0.5 inf", "１0.5 inf", "10.5 1e999", "10.5 Infinity"]),
        ("close-tokens", "1e999", ["1e999"], ["inf", "1e998", "2"]),
        ("listed-or-equal", float("inf"), [float("inf")], [1.0, -float("inf"), 10**400, float("nan")]),
        ("float-tokens", "0.5 Yes", ["0.500001 yes"], ["0.5001 Yes"]),
        ("float-tokens", "100000001", ["100000001"], ["100000002", "1.00000001e8"]),
        ("any-case-lines", "YES\n0.25", ["yes\n0.2500001"], ["no\n0.25", "yes\n0.26"]),
        ("apps", "1 2", ["2 1", "1 2 2"], ["1 3", "1"]),
        (
            "apps",
            "1 2\n3",
            ["3\n\n2 1", "3\n1 2\n3", "1.0004 2\n3", " 1 2\n3 "],
            ["1 2", "1 2 3", "1\n2 3", "1.001 2\n3"],
        ),
        # ``np.allclose`` of numbers that are not finite: eval/testing_util.py at 5dcfdf2, ``run_test``.
        ("apps", "inf", ["inf", "1e999", "Infinity"], ["0", "1e308", "-inf", "nan"]),
        ("apps", "-inf\n1", ["-inf\n1.000001"], ["inf\n1", "-1e308\n1"]),
        ("apps", "1", ["1.000001"], ["inf", "nan"]),
        ("apps", "nan", ["nan"], ["0", "inf"]),
        ("apps", "100000\n2", ["100000.9\n2"], ["100002\n2", "100000.9\nx"]),
        ("listed-or-equal", [[1, 2]], [[1, 2], (1, 2), [[1, 2]]], [[1], 1, None]),
        # ``run_test``: ``output == outputs[index]``, ``output == outputs[index][0]``, and that of a list of tuples.
        ("apps-function", [[1, 2]], [[[1, 2]], ([1, 2],), [1, 2], (1, 2), [1.0, 2]], [[(1, 2)], ((1, 2),), [1], 1]),
        ("apps-function", [1, 2], [[1, 2], (1, 2), 1, True], [2, [1], [[1, 2]], [1 + 1e-12, 2]]),
        ("apps-function", [[[1, 2], [3]]], [[(1, 2), (3,)], [(1, 2), [3]], [[1, 2], [3]]], [[[1, 2], (3,)], [(1, 2)]]),
        ("apps-function", 7, [7, 7.0], [[7], None]),
        ("apps-function", [], [[], ()], [None, 0, [[]]]),
        ("equal-json", [0.5], [[0.5], (0.5,)], [[0.5000001], 0.5]),
    ],
)
def test_rules_of_numbers_and_values(name: str, expected: Any, right: list[Any], wrong: list[Any]):
    """Numbers with a point may be close, whole ones may not; a list stands for a tuple."""
    comparator = Comparator(name, 0.0, floats="equal")
    assert all(comparator.accepts((), value, expected) for value in right)
    assert not any(comparator.accepts((), value, expected) for value in wrong)


def test_dates():
    """Days choose problems, with other patterns or alone; problems without a date are left out."""
    rows = [{**LCB, "question_id": f"q{month}", "contest_date": f"2024-0{month}-01"} for month in range(1, 6)]
    rows.append({**LCB, "question_id": "q6", "contest_date": ""})
    benchmark = Benchmark(name="b", source="", digest="", problems=read(*rows))

    def chosen(pattern: str) -> str:
        return " ".join(problem.id for problem in choose_problems(benchmark, pattern))

    assert chosen(join_dates("2024-02-01", "2024-04-01")) == "q2 q3 q4"
    assert chosen(join_dates("", "2024-02-15")) == "q1 q2"
    assert chosen("q2,q5," + join_dates("2024-03-01", "")) == "q5"
    for pattern in ("..2023-01-01", "q6,2024-01-01.."):
        with pytest.raises(UsageError):
            chosen(pattern)
    for first, last in (("2024-1-1", ""), ("", "soon"), ("2024-03-01", "2024-02-01")):
        with pytest.raises(UsageError):
            join_dates(first, last)


def test_livecodebench_without_the_name_of_the_method():
    """Functional tests call the one method of the code to start with; where there is not one, nobody guesses."""
    functional = {**LCB, "public_test_cases": json.dumps(CALL), "private_test_cases": "[]", "metadata": None}
    starter = "class Solution:\n    def __init__(self): pass\n    def rev(self, a, b):\n        "
    (call,) = read({**functional, "starter_code": starter})
    assert ("call", "Solution.rev") == (cases_of(call)[0], call.entry_point)
    for text in ("", starter + "pass\n    def other(self): pass\n"):
        with pytest.raises(DataError, match="func_name"):
            read({**functional, "starter_code": text})


def test_dates_that_are_none():
    """A problem whose date cannot be read has none; where dates choose, that is said."""
    rows = [
        {**LCB, "question_id": f"q{n}", "contest_date": text} for n, text in enumerate(("2024-02-01", "2024-13-45"))
    ]
    benchmark = Benchmark(name="b", source="", digest="", problems=read(*rows))
    assert ["2024-02-01", ""] == [problem.date for problem in benchmark.problems]
    assert "1 of 2 problems has no date and is left out, as q1" == describe_undated(benchmark, "2024-01-01..")
    assert not describe_undated(benchmark, "q1")


def test_problems_without_tests_are_read():
    """APPS publishes some so, and those of CodeContests that name files have none that can be judged."""
    (apps,) = read({"problem_id": 1, "question": "q", "input_output": "", "solutions": "", "starter_code": ""})
    assert cases_of(apps)[2:] == ([], [])
    tests = {"input": ["1 2"], "output": ["3"]}
    row = {"name": "a", "description": "d", "public_tests": tests, "private_tests": {}, "generated_tests": {}}
    rows = [json.dumps({**row, "name": "a", "input_file": "a.txt"}), json.dumps({**row, "name": "b", "input_file": ""})]
    notes: list[str] = []
    with_file, without = parse_problems("\n".join(rows).encode(), "b.jsonl", notes)
    assert cases_of(with_file)[2:] == ([], [])
    assert len(cases_of(without)[2]) == 1
    assert "first 'a'" in notes[0]


@pytest.mark.parametrize("head", [b"PAR1", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xff\xfe{\0", b"<!DOCTYPE html>"])
def test_a_file_of_another_kind_is_named(head: bytes):
    """The message says what kind it is, and how to make rows of it."""
    with pytest.raises(DataError, match=r"Parquet|zip|zstd|iconv|HTML"):
        parse_problems(head, "b.jsonl")


def test_livecodebench_from_a_table():
    """Numbers for ids, and dates in milliseconds, as pandas writes them."""
    (problem,) = read({**LCB, "question_id": 2727, "contest_date": 1696118400000})
    assert ("2727", "2023-10-01") == (problem.id, problem.date)


def test_a_file_with_some_unusable_problems_is_read():
    """Problems without tests, or with as many outputs as nobody knows, have none; null means that there are none."""
    nothing = {**APPS, "problem_id": 1, "input_output": json.dumps({"inputs": [], "outputs": []})}
    uneven = {**APPS, "problem_id": 2, "input_output": json.dumps({"inputs": ["1\n"], "outputs": []})}
    numbers = {**APPS, "problem_id": 3, "input_output": json.dumps({"inputs": ["1\n", 2], "outputs": [1, 2.5]})}
    problems = read(nothing, uneven, numbers)
    assert [[], [], ["1", "2.5"]] == [cases_of(problem)[3] for problem in problems]
    assert [("1\n",), ("2",)] == cases_of(problems[2])[2]
    empty = {"input": [], "output": []}
    contest = {"name": "A", "description": "", "public_tests": empty, "private_tests": [], "generated_tests": None}
    assert [] == cases_of(read(contest)[0])[2]
    for private in (None, "", " "):
        assert [("1\n",)] == cases_of(read({**LCB, "private_test_cases": private})[0])[2]


def test_integers_of_any_length():
    """JSON has no limit of digits, and published tests have integers of thousands."""
    large = 10**5000 + 7
    text = "1" + "0" * 4999 + "7"
    body = '{"fn_name": "p", "inputs": [[1], [2]], "outputs": [%s, -%s]}' % (text, text)
    assert [large, -large] == cases_of(read({**APPS, "input_output": body})[0])[3]
    functional = [{"input": text, "output": text, "testtype": "functional"}]
    packed = pack("[" + json.dumps(functional[0]) + "]")
    row = {**LCB, "public_test_cases": "[]", "private_test_cases": packed, "metadata": '{"func_name": "f"}'}
    assert [large] == cases_of(read(row)[0])[3]
    with pytest.raises(DataError, match="no JSON"):
        read({**APPS, "input_output": body.replace(text, "1" * 1_000_001)})


def test_the_reference_is_one_that_compiles():
    """Of the published solutions those in Python 2 are no reference; where none compiles the first is."""
    old, new = "print 7", "print(7)"
    assert new == read({**APPS, "solutions": json.dumps([old, new])})[0].reference
    assert old == read({**APPS, "solutions": json.dumps([old, old + " "])})[0].reference
    tests = {"input": ["1"], "output": ["1"]}
    solutions = {"language": [2, 3, 3], "solution": ["int main() {}", old, new]}
    row = {"name": "A", "description": "", "public_tests": tests, "private_tests": [], "generated_tests": []}
    assert new == read({**row, "solutions": solutions})[0].reference


def test_the_next_reference_counts_where_one_fails(shell):
    """The first published solution that passes is the reference; a problem is excluded only where none passes."""
    body = json.dumps({"inputs": ["3\n1 2 3\n"], "outputs": ["6\n"]})
    right = "n = int(input())\nprint(sum(map(int, input().split())))"
    rows = [{**APPS, "problem_id": at, "input_output": body} for at in range(2)]
    rows[0]["solutions"] = json.dumps(["print 6", "print(7)", "print(7)", right])
    rows[1]["solutions"] = json.dumps(["print(7)", "print(8)"])
    shell.write("b.jsonl", rows)
    assert ("print(7)", (right,)) == (read(rows[0])[0].reference, read(rows[0])[0].other_references)
    first, second = shell("bench", "check", "b.jsonl", "--json").record["checked"]
    assert ("passed", False) == (first["status"], first["faulty"])
    assert ("failed", True) == (second["status"], second["faulty"])
    assert second["note"].startswith("none of 2 reference solutions passes: ")


@pytest.mark.ci
def test_a_reference_that_fails_keeps_no_sample_from_being_judged(shell):
    """The tests are in the file: a right program passes and a wrong one fails, though the problem is excluded."""
    body = json.dumps({"inputs": ["3\n1 2 3\n"], "outputs": ["6\n"]})
    rows = [{**APPS, "problem_id": at, "solutions": '["print(7)"]', "input_output": body} for at in range(2)]
    rows[1]["input_output"] = json.dumps({"fn_name": "f", "inputs": [[{"1": 5}, 1]], "outputs": [[{"1": 5}]]})
    shell.write("b.jsonl", rows)
    right = "n = int(input())\nprint(sum(map(int, input().split())))"
    call = "def f(table, key):\n    return {key: table[key]}\n"
    shell.write("s.jsonl", [{"task_id": "0", "solution": text} for text in (right, "print(7)")])
    shell("judge", "s.jsonl", "--benchmark", "b.jsonl", "--accept-benchmark", "--accept-input", "--subset")
    assert ["passed", "failed"] == [row["status"] for row in shell.rows("s.jsonl_results.jsonl")]
    shell.write("t.jsonl", [{"task_id": "1", "solution": text} for text in (call, call.replace("key: ", "str(key): "))])
    shell("judge", "t.jsonl", "--benchmark", "b.jsonl", "--accept-benchmark", "--accept-input", "--subset")
    assert ["passed", "failed"] == [row["status"] for row in shell.rows("t.jsonl_results.jsonl")]


def test_a_deque_for_a_list(shell):
    """A result in a deque is right natively, and not as LiveCodeBench and APPS compare it."""
    call = {"fn_name": "f", "inputs": [[[1, 2]]], "outputs": [[[1, 2]]]}
    functional = {"public_test_cases": json.dumps([{"input": "[1, 2]", "output": "[1, 2]", "testtype": "functional"}])}
    functional |= {"private_test_cases": "[]", "metadata": '{"func_name": "f"}'}
    shell.write("apps.jsonl", [{**APPS, "problem_id": 1, "solutions": "[]", "input_output": json.dumps(call)}])
    shell.write("lcb.jsonl", [{**LCB, **functional}])
    bodies = ("collections.deque(items)", "items", "tuple(items)")
    method = "import collections\nclass Solution:\n    def f(self, items):\n        return {}\n"
    for name, task in (("apps", "1"), ("lcb", "1873_A")):
        shell.write("s.jsonl", [{"task_id": task, "solution": method.format(body)} for body in bodies])
        for profile in ("native", name):
            words = ("--benchmark", f"{name}.jsonl", "--profile", profile, "--run", f"{name}-{profile}")
            done = shell("judge", "s.jsonl", *words, "--accept-input", "--accept-benchmark")
            assert done.code == 0, done
            passes = [row["passed"] for row in shell.rows("s.jsonl_results.jsonl")]
            assert [profile == "native", True, True] == passes


@pytest.mark.ci
def test_the_digits_that_livecodebench_allows(shell):
    """Its own harness lets a program write 50,000 digits; CPython alone 4,300."""
    test = [{"input": "5000\n", "output": f"1{'0' * 5000}\n", "testtype": "stdin"}]
    shell.write("b.jsonl", [{**LCB, "public_test_cases": json.dumps(test), "private_test_cases": "[]"}])
    shell.write("s.jsonl", [{"task_id": "1873_A", "solution": "n = int(input())\nprint(10**n)"}])
    for profile, status in (("lcb", "passed"), ("native", "failed")):
        words = ("s.jsonl", "--benchmark", "b.jsonl", "--profile", profile, "--run", profile, "--accept-input")
        shell("judge", *words, "--results", f"{profile}.jsonl")
        assert [status] == [row["status"] for row in shell.rows(f"{profile}.jsonl")]


def test_parquet(tmp_path: Path):
    """A table of problems is read like its rows."""
    arrow = pytest.importorskip("pyarrow", reason="needs the extra tables")
    parquet = pytest.importorskip("pyarrow.parquet")

    row = {**LCB, "contest_date": dt.datetime(2023, 8, 21, tzinfo=dt.UTC)}
    parquet.write_table(arrow.Table.from_pylist([row]), tmp_path / "b.parquet")
    (problem,) = read_problems(tmp_path / "b.parquet")
    assert (read(LCB)[0].check, "2023-08-21") == (problem.check, problem.date)
