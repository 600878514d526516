"""Tests of the reader of HumanEval's format: accepted files and error messages."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from passcurve.bench.formats import digest_problems, read_problems
from passcurve.errors import DataError
from passcurve.types import Cases, FunctionTests, Problem

DATA = os.environ.get("PASSCURVE_TEST_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="PASSCURVE_TEST_DATA names no folder with published benchmarks")

ROW = {
    "task_id": "own/0",
    "prompt": "def one():\n",
    "entry_point": "one",
    "canonical_solution": "    return 1\n",
    "test": "def check(candidate):\n    assert candidate() == 1\n",
}
ONE = Problem(
    id="own/0",
    prompt="def one():\n",
    entry_point="one",
    check=FunctionTests(source="def check(candidate):\n    assert candidate() == 1\n"),
    reference="    return 1\n",
)


def lines(*rows: object) -> bytes:
    """Return the rows as a .jsonl file holds them."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def write_file(folder: Path, data: bytes, name: str = "problems.jsonl") -> Path:
    """Write the data to a new file and return its path."""
    path = folder / name
    path.write_bytes(data)
    return path


def refusal(folder: Path, data: bytes) -> str:
    """Return the reader's message for a file that it refuses, without the file name at its start."""
    path = write_file(folder, data)
    with pytest.raises(DataError) as caught:
        read_problems(path)
    message = str(caught.value)
    assert message.startswith(repr(str(path)))
    assert "\n" not in message
    return message.removeprefix(repr(str(path)))


def test_fields_become_a_problem(tmp_path: Path) -> None:
    """Each row becomes one Problem, field by field."""
    assert (ONE,) == read_problems(write_file(tmp_path, lines(ROW)))


def test_order_of_the_file_is_kept(tmp_path: Path) -> None:
    """Problems keep the order of the file; they are not sorted by name."""
    data = lines(ROW | {"task_id": "b"}, ROW | {"task_id": "a"})
    assert ["b", "a"] == [problem.id for problem in read_problems(write_file(tmp_path, data))]


def test_gzip_is_known_by_its_bytes(tmp_path: Path) -> None:
    """The reader recognises gzip by the file's bytes, whatever the file's name is."""
    assert (ONE,) == read_problems(write_file(tmp_path, gzip.compress(lines(ROW)), "packed.jsonl"))
    assert (ONE,) == read_problems(write_file(tmp_path, lines(ROW), "plain.jsonl.gz"))


@pytest.mark.parametrize("absent", [{}, {"canonical_solution": None}, {"canonical_solution": ""}])
def test_reference_may_be_absent(tmp_path: Path, absent: dict[str, object]) -> None:
    """A canonical solution that is absent, null or empty becomes None."""
    row = {name: value for name, value in ROW.items() if name != "canonical_solution"} | absent
    assert read_problems(write_file(tmp_path, lines(row)))[0].reference is None


@pytest.mark.parametrize(
    ("solution", "suffix", "reference"),
    [
        ("\n", "", "\n"),
        ("  ", "\n    return 1\n", "  "),
        ("", "\n", ""),
        ("", "", None),
        (None, "\n", None),
        ("\n", None, None),
    ],
)
def test_a_blank_reference(tmp_path: Path, solution: str | None, suffix: str | None, reference: str | None) -> None:
    """White space, or nothing, is a solution only where it fills a gap."""
    row = ROW | {"canonical_solution": solution, "suffix": suffix}
    assert read_problems(write_file(tmp_path, lines(row)))[0].reference == reference


def test_further_fields_are_ignored(tmp_path: Path) -> None:
    """Fields of other formats are ignored, even numbers that strict JSON does not allow."""
    row = ROW | {"atol": [[float("nan"), float("inf")]], "contract": "x" * 10_000, "contest_id": "a b", "n_tests": 3}
    assert (ONE,) == read_problems(write_file(tmp_path, lines(row)))


def test_blank_lines_carriage_returns_and_a_mark_are_no_rows(tmp_path: Path) -> None:
    """Blank lines, Windows line ends, a byte order mark and a missing last newline are not content."""
    data = b"\xef\xbb\xbf\n" + json.dumps(ROW).encode() + b"\r\n\r\n" + json.dumps(ROW | {"task_id": "b"}).encode()
    assert ["own/0", "b"] == [problem.id for problem in read_problems(write_file(tmp_path, data))]


def test_line_separators_inside_strings_do_not_end_a_line(tmp_path: Path) -> None:
    """Only a newline ends a row: U+2028 and form feed may occur raw in a string or as an escape."""
    row = ROW | {"prompt": "# \u2028 \x0c \x85\ndef one():\n"}
    data = json.dumps(row, ensure_ascii=False).encode()
    assert row["prompt"] == read_problems(write_file(tmp_path, data))[0].prompt


def test_digest_does_not_depend_on_the_packing(tmp_path: Path) -> None:
    """The digest of a problem set does not depend on gzip, the order of fields or extra fields."""
    other = dict(reversed(list((ROW | {"more": 1}).items())))
    plain = read_problems(write_file(tmp_path, lines(ROW)))
    packed = read_problems(write_file(tmp_path, gzip.compress(lines(other)), "b.jsonl.gz"))
    assert digest_problems(plain) == digest_problems(packed)


@pytest.mark.parametrize("field", ["task_id", "prompt", "entry_point", "canonical_solution", "test"])
def test_digest_depends_on_each_field(tmp_path: Path, field: str) -> None:
    """Changing any field that is read changes the digest."""
    plain = read_problems(write_file(tmp_path, lines(ROW)))
    other = read_problems(write_file(tmp_path, lines(ROW | {field: ROW[field] + "x"}), "b.jsonl"))
    assert digest_problems(plain) != digest_problems(other)


def test_digest_is_fixed() -> None:
    """The digest is sha256 of sorted, compact, ASCII JSON, so that stored digests stay valid."""
    # sha256sum of: [{"entry_point":"f","id":"a","prompt":"\u00e9","reference":null,"test":"t"}]
    problem = Problem(id="a", prompt="\u00e9", entry_point="f", check=FunctionTests(source="t"))
    assert "550193517164a1dfe7bc2bd1b15052f163fa52dd5d26bbd735c1e1ba000de132" == digest_problems([problem])


def test_not_json(tmp_path: Path) -> None:
    """An error about a line that is not JSON has its number, its text and the expected form."""
    message = refusal(tmp_path, lines(ROW) + b"{'task_id': 'x'}\n")
    assert message.startswith(", line 2: ")
    assert "{'task_id': 'x'}" in message
    assert "JSON object" in message


def test_a_cut_off_row_is_shown_only_in_part(tmp_path: Path) -> None:
    """An error about a long broken line quotes only the beginning of the line."""
    message = refusal(tmp_path, json.dumps(ROW | {"prompt": "x" * 5000}).encode()[:4000])
    assert len(message) < 300
    assert "..." in message


@pytest.mark.parametrize(
    "broken", [b"[" * 200_000, b'{"task_id": ' + b"1" * 10_000 + b"}"], ids=["deeply nested", "endless number"]
)
def test_json_that_python_gives_up_on(tmp_path: Path, broken: bytes) -> None:
    """Nesting and numbers beyond Python's limits make a line malformed; they do not crash the reader."""
    assert refusal(tmp_path, broken).startswith(", line 1: ")


@pytest.mark.parametrize(
    ("value", "kind"),
    [([], "an array"), ("text", "a string"), (3, "a number"), (None, "null"), (True, "a boolean")],
)
def test_not_an_object(tmp_path: Path, value: object, kind: str) -> None:
    """An error about a line that is not an object names the type of its value."""
    assert refusal(tmp_path, lines(value)).startswith(f", line 1: found {kind};")


def test_one_document(tmp_path: Path) -> None:
    """A JSON array of rows, and an object of rows by task id, are read as JSON Lines are."""
    path = tmp_path / "rows.json"
    path.write_bytes(lines(ROW))
    problems = read_problems(path)
    path.write_text(json.dumps([ROW], indent=1))
    assert problems == read_problems(path)
    path.write_text(json.dumps({ROW["task_id"]: {name: ROW[name] for name in ROW if name != "task_id"}}))
    assert problems == read_problems(path)


def test_missing_field(tmp_path: Path) -> None:
    """An error about a missing field lists the expected fields."""
    row = {name: value for name, value in ROW.items() if name != "test"}
    assert re.match(r", line 1: .*'test'.* task_id, prompt, entry_point and test$", refusal(tmp_path, lines(row)))


def test_missing_field_with_a_near_name(tmp_path: Path) -> None:
    """An error about a missing field names a field that is spelled almost the same."""
    row = {("entrypoint" if name == "entry_point" else name): value for name, value in ROW.items()}
    assert re.match(", line 1: .*'entry_point'.*'entrypoint'", refusal(tmp_path, lines(row)))


def test_a_samples_file(tmp_path: Path) -> None:
    """An error about a samples file that is used as a benchmark says so."""
    message = refusal(tmp_path, lines({"task_id": "own/0", "completion": "    return 1"}))
    assert "samples file" in message


@pytest.mark.parametrize("field", ["task_id", "prompt", "entry_point", "canonical_solution", "test"])
def test_wrong_type(tmp_path: Path, field: str) -> None:
    """An error about a field that is not a string names the type of its value."""
    assert re.match(f", line 1: .*an array in '{field}'", refusal(tmp_path, lines(ROW | {field: []})))


def test_required_null(tmp_path: Path) -> None:
    """A required string must not be null."""
    assert re.match(", line 1: .*null in 'test'", refusal(tmp_path, lines(ROW | {"test": None})))


def test_duplicate_task_id(tmp_path: Path) -> None:
    """A duplicate task id is refused, and the message has both line numbers."""
    message = refusal(tmp_path, lines(ROW, ROW | {"task_id": "b"}) + b"\n" + lines(ROW))
    assert re.match(r", line 4: .*'own/0'.*\bline 1\b", message)


@pytest.mark.parametrize("name", ["", "a b", "1st", "a.b", "def", "f()"])
def test_entry_point_is_an_identifier(tmp_path: Path, name: str) -> None:
    """An entry point that cannot be the name of a function is refused."""
    message = refusal(tmp_path, lines(ROW | {"entry_point": name}))
    assert message.startswith(", line 1: ")
    assert f"entry_point {name!r}" in message


def test_spaces_around_an_entry_point_are_not_its_name(tmp_path: Path) -> None:
    """Spaces around an entry point are removed, because published benchmarks have them."""
    assert (ONE,) == read_problems(write_file(tmp_path, lines(ROW | {"entry_point": "one "})))


def test_a_task_of_a_repository(tmp_path: Path) -> None:
    """A task of SWE-bench is called that, and no field of HumanEval is missed in it."""
    message = refusal(tmp_path, lines({"instance_id": "a__b-1", "patch": "d", "test_patch": "d", "FAIL_TO_PASS": "[]"}))
    assert "SWE-bench" in message
    assert "entry_point" not in message


@pytest.mark.parametrize("language", ["java", "JavaScript", "csharp", "C++", "ruby"])
def test_another_language(tmp_path: Path, language: str) -> None:
    """A problem in another language, as MBXP has it, is refused by that; one in Python, or in Polish words, is read."""
    message = refusal(tmp_path, lines(ROW, ROW | {"task_id": "b", "language": language}))
    assert re.match(rf", line 2: found language '{re.escape(language)}'; expected Python .* `script`", message)
    for other in ("python", "Python3", "pl", None):
        assert (ONE,) == read_problems(write_file(tmp_path, lines(ROW | {"language": other})))


def test_empty_task_id(tmp_path: Path) -> None:
    """A problem must have a name."""
    assert re.match(", line 1: .*task_id ' '", refusal(tmp_path, lines(ROW | {"task_id": " "})))


def test_empty_test(tmp_path: Path) -> None:
    """A file whose only test is empty is refused, because its verdicts would mean nothing."""
    assert re.match(", line 1: .*empty test", refusal(tmp_path, lines(ROW | {"test": "\n"})))


@pytest.mark.parametrize(
    "field",
    [
        *("plus_input", "plus_test", "base_input", "hidden_tests", "test_list", "public_test_cases", "hiddenTests"),
        *("test2", "unit_tests", "doctests", "input_output", "testcases"),
    ],
)
def test_tests_that_would_not_be_run(tmp_path: Path, field: str) -> None:
    """A field with tests that is not read is refused by its name, wherever the row stands."""
    for value in ([[1], [2]], {"a": 1}, "assert f(1) == 2"):
        message = refusal(tmp_path, lines(ROW, ROW | {"task_id": "b", field: value}))
        assert re.match(f", line 2: .*{field!r}", message)


@pytest.mark.parametrize(
    "fields",
    [
        {"example_test": "assert f(1) == 2", "sample_io": ["f(1) == 2"], "test_setup": "import os\n"},
        {"test_imports": ["import math"], "test_setup_code": "import math\nimport os"},
        {"plus_input": [], "hidden_tests": None, "test_list": "", "test_type": "assert", "test_file": "tests/a.py"},
        {"latest_commit": "a b", "attestation": ["x"], "input": "a text", "protests": ["x"]},
    ],
)
def test_fields_that_hold_no_tests_of_their_own(tmp_path: Path, fields: dict[str, object]) -> None:
    """Examples, set-up code, empty fields and descriptions of tests are read over, without a note."""
    notes: list[str] = []
    assert (ONE,) == read_problems(write_file(tmp_path, lines(ROW | fields)), notes)
    assert [] == notes


def test_tests_that_a_benchmark_leaves_out(tmp_path: Path) -> None:
    """Tests that the benchmark's own score leaves out are named as not used."""
    notes: list[str] = []
    rows = [ROW | {"challenge_test_list": ["assert f(1)"]}, ROW | {"task_id": "b", "challenge_test_list": []}]
    read_problems(write_file(tmp_path, lines(*rows)), notes)
    (note,) = notes
    assert re.match(r"'challenge_test_list' of 1 .*'test'", note)


@pytest.mark.parametrize("absent", [{}, {"test": None}, {"test": " \n"}])
def test_a_problem_without_a_test(tmp_path: Path, absent: dict[str, object]) -> None:
    """A problem without a test does not make the file unreadable while another problem has one."""
    row = {name: value for name, value in ROW.items() if name != "test"} | {"task_id": "b"} | absent
    assert ["", ROW["test"]] == [problem.test for problem in read_problems(write_file(tmp_path, lines(row, ROW)))]


def test_invalid_utf8(tmp_path: Path) -> None:
    """An error about invalid UTF-8 has the line and the column."""
    assert re.match(r", line 2: .*0xff at column 3\b", refusal(tmp_path, lines(ROW) + b'{"\xff"}\n'))


def test_lone_surrogate(tmp_path: Path) -> None:
    """A lone surrogate is refused when the file is read."""
    assert re.match(r", line 1: .*surrogate U\+D800 in 'prompt'", refusal(tmp_path, lines(ROW | {"prompt": "\ud800"})))


def test_truncated_gzip(tmp_path: Path) -> None:
    """A truncated gzip file has an error message of its own."""
    assert re.search(r"gzip.*ends too early", refusal(tmp_path, gzip.compress(lines(ROW))[:-9]))


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: packed[:12] + b"\xff\xff\xff" + packed[15:],
        lambda packed: packed[:-8] + b"\x00" * 8,
        lambda packed: packed + b"tail",
        lambda packed: b"\x1f\x8b\x00",
    ],
    ids=["body", "checksum", "tail", "header"],
)
def test_damaged_gzip(tmp_path: Path, damage: object) -> None:
    """A gzip file with wrong bytes is refused, wherever the bytes are."""
    assert callable(damage)
    message = refusal(tmp_path, damage(gzip.compress(lines(ROW), mtime=0)))
    assert "gzip" in message
    assert "fetch" in message


def test_empty_file(tmp_path: Path) -> None:
    """An error about an empty file says that it is empty."""
    assert re.search(r"empty.* task_id, prompt, entry_point and test$", refusal(tmp_path, b""))


def test_file_without_rows(tmp_path: Path) -> None:
    """A file of blank lines has no rows."""
    assert refusal(tmp_path, b"\n \n").startswith(" has no rows")


def test_directory(tmp_path: Path) -> None:
    """A directory cannot be read as a file of problems."""
    with pytest.raises(DataError, match=f"^'{tmp_path}' .*directory"):
        read_problems(tmp_path)


def test_missing_file(tmp_path: Path) -> None:
    """An error about a missing file suggests the nearest file name."""
    write_file(tmp_path, lines(ROW), "problems.jsonl")
    path = tmp_path / "problem.jsonl"
    with pytest.raises(DataError, match=f"'{path}'.*'problems.jsonl'"):
        read_problems(path)


def test_missing_folder(tmp_path: Path) -> None:
    """An error about a file in a missing folder says that the folder is missing."""
    path = tmp_path / "nowhere" / "problems.jsonl"
    with pytest.raises(DataError, match=f"'{path}'.*folder '{path.parent}'"):
        read_problems(path)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"], ids=["too long", "a zero byte"])
def test_impossible_file_name(tmp_path: Path, name: str) -> None:
    """A file name that the system does not allow is reported as a file that cannot be read."""
    with pytest.raises(DataError, match="cannot be read"):
        read_problems(tmp_path / name)


@needs_data
@pytest.mark.parametrize(
    ("file", "count"), [("HumanEval.jsonl.gz", 164), ("mbpp_sanitized_codet.jsonl", 427), ("example_problem.jsonl", 1)]
)
def test_published_files(file: str, count: int) -> None:
    """Published files in this format are read completely."""
    assert count == len(read_problems(Path(str(DATA)) / file))


@needs_data
def test_published_files_with_unread_tests() -> None:
    """HumanEval+ is never scored by its base tests under its own name: its tests are both suites."""
    for file in ("HumanEvalPlus.jsonl.gz", "HumanEvalPlus-Mini.jsonl.gz"):
        for problem in read_problems(Path(str(DATA)) / file):
            assert isinstance(problem.check, Cases)
            assert ["base", "plus"] == [suite.name for suite in problem.check.suites]


def test_a_number_for_a_name(tmp_path: Path) -> None:
    """A number names a problem as in other formats; an empty text does not."""
    path = tmp_path / "b.jsonl"
    path.write_bytes(lines({**ROW, "task_id": 7}))
    assert ["7"] == [problem.id for problem in read_problems(path)]
    path.write_bytes(lines({**ROW, "task_id": " "}))
    with pytest.raises(DataError, match="a name for the problem"):
        read_problems(path)


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"features": [], "rows": [{"row_idx": 0, "row": ROW}]}, "each within 'row'"),
        ({"row_idx": 0, "row": ROW}, "each within 'row'"),
        ({name: {"0": value} for name, value in ROW.items()}, "orient='records'"),
        ({name: [value] for name, value in ROW.items()}, "an object for each row"),
    ],
)
def test_rows_that_are_wrapped(document: dict[str, object], what: str, tmp_path: Path) -> None:
    """A file whose rows are wrapped is refused with what makes rows of it."""
    path = tmp_path / "b.json"
    path.write_bytes(json.dumps(document).encode())
    with pytest.raises(DataError, match=f"this looks like .*{re.escape(what)}"):
        read_problems(path)
