"""The schema for new benchmarks: each kind in JSON and TOML, and what is refused."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from passcurve.bench.formats import digest_problems, read_problems
from passcurve.bench.formats.own import COMPARATORS, TEXT_COMPARATORS
from passcurve.bench.resolve import find_examples, load
from passcurve.errors import DataError
from passcurve.harness.comparators import RULES, Comparator
from passcurve.types import Cases, Suite, unpack_values

CASES = {"id": "a/0", "kind": "cases", "entry_point": "f", "inputs": [[1], [2]], "expected": [[1], [2]]}
STDIN = {"id": "a/0", "kind": "stdin", "inputs": ["1\n"], "outputs": ["2\n"]}


def read(folder: Path, row: dict[str, Any]) -> Any:
    """Return the only problem of a file with this row."""
    path = folder / "new.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (problem,) = read_problems(path)
    return problem


def test_cases_in_suites(tmp_path: Path) -> None:
    """Inputs and results are JSON, or Python where JSON has no such value; suites take them in their order."""
    problem = read(tmp_path, CASES | {"suites": {"base": 1, "plus": 1}, "tolerance": 0.5, "test_timeout_s": 2})
    check = problem.check
    assert isinstance(check, Cases)
    assert (11.0, None) == (problem.timeout_s, read(tmp_path, CASES).timeout_s)
    assert ([(1,), (2,)], [[1], [2]]) == (unpack_values(check.inputs), unpack_values(check.expected))
    assert ((Suite(name="base", count=1), Suite(name="plus", count=1)), 0.5, 2.0) == (
        check.suites,
        check.tolerance,
        check.timeout_s,
    )
    check = read(
        tmp_path, CASES | {"values": "python", "inputs": ["((1, 2),)", "({3},)"], "expected": ["1", "{2}"]}
    ).check
    assert ([((1, 2),), ({3},)], [1, {2}]) == (unpack_values(check.inputs), unpack_values(check.expected))


def test_what_is_called(tmp_path: Path) -> None:
    """A function, a method of a class, or with statements whatever they name."""
    statements = {"id": "a/0", "kind": "assertions", "tests": ["assert f(1) == 1", "assert C().g() == 2"]}
    rows = (CASES, CASES | {"entry_point": "C.f"}, statements | {"entry_point": ""})
    assert ["f", "C.f", ""] == [read(tmp_path, row).entry_point for row in rows]


def test_words_beside_a_prompt(tmp_path: Path) -> None:
    """A model that is shown a prompt is shown nothing else: a note names the problems whose words it would miss."""
    function = {"kind": "function", "entry_point": "f", "test": "def check(f):\n    assert f(1) == 1\n"}
    path, notes = tmp_path / "new.jsonl", list[str]()
    rows = [
        function | {"id": "a/0", "prompt": "def f(x):\n", "statement": "Return x."},
        function | {"id": "a/1", "prompt": "def f(x):\n", "statement": " "},
        function | {"id": "a/2", "statement": "Write f, which returns its argument."},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read_problems(path, notes)
    (note,) = notes
    assert note.startswith("'statement' of 1 problems is shown to no model")


def test_stdin(tmp_path: Path) -> None:
    """Each input of a whole program is a text, with the text to write."""
    check = read(tmp_path, STDIN).check
    assert ("stdin", [("1\n",)], ["2\n"]) == (check.via, unpack_values(check.inputs), unpack_values(check.expected))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (CASES | {"kind": "case"}, "did you mean 'cases'"),
        (CASES | {"input": [1]}, "did you mean 'inputs'"),
        (CASES | {"expected": [1]}, "one for each input"),
        (CASES | {"comparator": "equals"}, "'equal'"),
        (CASES | {"inputs": [1, 2]}, "arguments"),
        (CASES | {"inputs": [[1], 0]}, "arguments"),
        (CASES | {"expected": []}, "one for each input"),
        (CASES | {"values": "pyhton"}, "json"),
        ({"id": "s", "kind": "script", "language": "sh", "prompt": "f() {\n", "tests": " \n"}, "no 'tests'"),
        (CASES | {"inputs": [[1], ""]}, "arguments"),
        (CASES | {"suites": {"base": 1}}, "2, as there are tests"),
        (CASES | {"timeout_s": 0}, "positive number"),
        (CASES | {"timeout_s": 1e300}, "of at most 1,000,000"),
        (CASES | {"values": "python", "inputs": ["({[1]: 2},)", "(2,)"]}, "as in Python"),
        (CASES | {"values": "python", "inputs": ["f(1)", "(2,)"]}, "as in Python"),
        (STDIN | {"outputs": []}, "one for each input"),
        (STDIN | {"outputs": [0]}, "a number in the array 'outputs'"),
        (STDIN | {"inputs": [None]}, "null in the array 'inputs'"),
        (STDIN | {"comparator": "line"}, "'lines'"),
        (STDIN | {"comparator": "equal"}, "one of lines, tokens"),
        (STDIN | {"tolerance": 0.1}, "'lines' does not use; expected it with one of close-tokens, float-tokens and"),
        (CASES | {"tolerance": 0.1, "comparator": "anything"}, "equal, same-set, equal-or-zero and polynomial-root"),
        (CASES | {"id": " "}, "a name for the problem"),
        (CASES | {"entry_point": "f(x)"}, "the name of a function"),
        (CASES | {"entry_point": ""}, "the name of a function"),
        (
            {name: value for name, value in CASES.items() if name != "id"},
            "found no 'id'; expected id, kind, entry_point",
        ),
        ({"id": "a/0", "kind": "function", "entry_point": "f"}, "'test'"),
        ({"id": "a/0", "kind": "expression", "asks": "code", "code": "", "input": "", "output": ""}, "'input' or"),
    ],
)
def test_refused(tmp_path: Path, row: dict[str, Any], words: str) -> None:
    """What a kind does not have is refused by its place, with the nearest name."""
    with pytest.raises(DataError, match="line 1") as caught:
        read(tmp_path, row)
    assert words in str(caught.value)


def test_a_number_that_python_does_not_write(tmp_path: Path) -> None:
    """An integer may have a million digits, and more than CPython writes where it must not stand."""
    text = json.dumps(CASES | {"inputs": [[1], 0]}).replace("[[1], 0]", "[[1], %s]" % ("9" * 5000))
    (tmp_path / "new.jsonl").write_text(text)
    with pytest.raises(DataError, match="line 1: found a number in 'inputs'; expected an array of arguments"):
        read_problems(tmp_path / "new.jsonl")


def test_toml_has_numbers_that_are_no_limit(tmp_path: Path) -> None:
    """Infinity and NaN are refused, wherever a number stands."""
    for field in ("timeout_s", "test_timeout_s", "tolerance"):
        for value in ("inf", "nan"):
            path = tmp_path / "new.toml"
            path.write_text(
                f'[[problem]]\nid = "a"\nkind = "cases"\nentry_point = "f"\ninputs = [[1]]\nexpected = [1]\n'
                f"{field} = {value}\n"
            )
            with pytest.raises(DataError, match=f"{value} in '{field}'"):
                read_problems(path)


@pytest.mark.parametrize(
    ("rule", "expected", "right", "wrong"),
    [
        ("same-truth", True, [True, 3, ""], [False, None]),
        ("same-truth", False, [False, None], [True, 0]),
        ("same-truth", None, [False, None], [True, []]),
        ("same-set", [[1, 2], [3]], [[[3], [1, 2], [3]]], [[[1, 2]], [[1, 2], [3], [4]], [[2, 1], [3]], 7]),
        ("same-set", [[1], [2]], [iter([[2], [1], [1]])], [iter([[0], [1], [9], [2]]), range(1 << 40)]),
        ("same-set", [1, 2], [[2, 1, 1], (1, 2)], [[1], [[1], 2]]),
    ],
)
def test_rules(rule: str, expected: Any, right: list[Any], wrong: list[Any]) -> None:
    """Each rule accepts what docs/benchmarks.md says that it accepts."""
    comparator = Comparator(rule, 0.0, "equal")
    accepted = [comparator.accepts((), value, comparator.keep(expected)) for value in (*right, *wrong)]
    assert [True] * len(right) + [False] * len(wrong) == accepted


def test_names_of_comparators() -> None:
    """Each comparator that an author can name is one."""
    assert set(COMPARATORS) | set(TEXT_COMPARATORS) <= set(RULES)


def test_toml_is_read_as_json_is(tmp_path: Path) -> None:
    """The same problem in TOML and in JSON has the same digest; other TOML is refused."""
    path = tmp_path / "new.toml"
    path.write_text('[[problem]]\nid = "a/0"\nkind = "stdin"\ninputs = ["1\\n"]\noutputs = ["2\\n"]\n')
    assert digest_problems([read(tmp_path, STDIN)]) == digest_problems(read_problems(path))
    for text in ("problem = 3\n", "[[problem]\n"):
        path.write_text(text)
        with pytest.raises(DataError, match=r"TOML|problem"):
            read_problems(path)


def test_toml_as_editors_and_gzip_write_it(tmp_path: Path) -> None:
    """A byte order mark is skipped, and a packed file is TOML by the name before its ending."""
    text = b'[[problem]]\nid = 7\nkind = "stdin"\ninputs = ["1\\n"]\noutputs = ["2\\n"]\n'
    for name, content in (("new.toml", b"\xef\xbb\xbf" + text), ("new.toml.gz", gzip.compress(text))):
        (tmp_path / name).write_bytes(content)
        (problem,) = read_problems(tmp_path / name)
        assert "7" == problem.id


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('id = "a"\nentry_point = "f"\ntest = ""\n', "problem 1: found no 'kind'; expected id and kind"),
        ('kind = "stdin"\ninputs = []\noutputs = []\n', "problem 1: found no 'id'"),
        ('id = "a"\nkind = "stdin"\ninputs = []\noutputs = []\n' * 2, "problem 2: id 'a' is that of problem 1;"),
    ],
)
def test_places_in_toml(tmp_path: Path, text: str, words: str) -> None:
    """A problem without kind or id, and an id that is there twice, are named by the number of the table."""
    path = tmp_path / "new.toml"
    path.write_text("[[problem]]\n" + text.replace('\nid = "a"', '\n[[problem]]\nid = "a"'))
    with pytest.raises(DataError) as caught:
        read_problems(path)
    assert words in str(caught.value)


@pytest.mark.ci
def test_problems_of_each_kind(tmp_path: Path, shell: Any) -> None:
    """The built-in problems of each kind are judged: each reference passes, each wrong program fails."""
    assert {"function", "assertions", "cases", "unittest", "expression"} == {
        type(problem.check).__struct_config__.tag for problem in load("starter-kinds", tmp_path).problems
    }
    assert find_examples("starter-kinds:examples") is not None
    done = shell("judge", "starter-kinds:examples", "--k", "1", "--json")
    assert (7, 7) == (done.record["statuses"]["passed"], done.record["statuses"]["failed"]), done.err
    assert 0.5 == done.record["pass@1"]["value"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[problems]]\nid = "a"\n', "found no tables [[problem]] but 'problems'; expected one for each problem"),
        ('[problem]\nid = "a"\n', "found no tables [[problem]]; expected one for each problem"),
        ('name = "x"\n[[problem]]\nid = "a"\n', "found 'name' beside the tables [[problem]]"),
    ],
)
def test_other_tables_in_toml(tmp_path: Path, text: str, words: str) -> None:
    """A file without tables of problems says what it has in their place, one with more says what is too much."""
    path = tmp_path / "new.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(words)):
        read_problems(path)


def test_dates_in_toml(tmp_path: Path) -> None:
    """A date of TOML is the text that JSON has for it; what is no day is refused."""
    path = tmp_path / "new.toml"
    rest = 'id = "a/0"\nkind = "cases"\nentry_point = "f"\ninputs = [[2024-01-02]]\nexpected = [1]\n'
    path.write_text(f"[[problem]]\ndate = 2024-05-31\n{rest}")
    (problem,) = read_problems(path)
    assert "2024-05-31" == problem.date
    for date in ('"Jan 5 2024"', '"2024-13-01"', "12:00:00"):
        path.write_text(f"[[problem]]\ndate = {date}\n{rest}")
        with pytest.raises(DataError, match="a day like"):
            read_problems(path)
