"""Files of other tools as rows: each format, other fields and task ids, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from passcurve.errors import DataError, UsageError
from passcurve.store.foreign import (
    ReadOptions,
    Target,
    convert,
    convert_lines,
    convert_rows,
    expand,
    first_fields,
    is_usual,
    parse_options,
    write_lines,
)
from passcurve.store.records import read_record
from passcurve.store.run_counts import read_counts
from passcurve.types import Cases, Expression, FunctionTests, Problem, Script
from passcurve.types.files import BOM

PROBLEMS = tuple(
    Problem(id=f"Mbpp/{number}", prompt="", entry_point=name, check=FunctionTests(source=""))
    for number, name in ((2, "similar"), (3, "prime"), (11, "remove"))
)
NO_OPTIONS = ReadOptions()
NO_BENCHMARK = Target(lambda: None)
ROWS = [{"task_id": f"Mbpp/{number}", "completion": f"    return {number}\n"} for number in (2, 3, 11)]


def converted(
    *paths: Path, options: ReadOptions = NO_OPTIONS, problems: Sequence[Problem] | None = PROBLEMS
) -> list[dict[str, Any]]:
    """Return the rows that files become."""
    return [json.loads(line) for line in convert(paths, options, Target(lambda: problems))]


def contest_problems(*names: str) -> list[Problem]:
    """Return problems as LiveCodeBench has them, whose programs read standard input."""
    check = Cases(suites=(), inputs=b"", comparator="livecodebench", via="stdin")
    return [Problem(id=name, prompt="", entry_point="", check=check, date="2024-05-01") for name in names]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file, what is no bytes as JSON."""

    def write(name: str, content: object) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


def lines(rows: Sequence[object]) -> bytes:
    """Return rows as JSON lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


class TestRows:
    """Rows that need no conversion stay as they were written."""

    def test_the_usual_form(self, write):
        """Lines are usual, plain or compressed; an array, a folder and nothing at all are not."""
        assert is_usual(write("a.jsonl", lines(ROWS)), follow=False)
        assert is_usual(write("a.gz", gzip.compress(lines(ROWS))), follow=False)
        assert not is_usual(write("b.jsonl", ROWS), follow=False)
        assert not is_usual(write("c.jsonl", b""), follow=False)
        assert is_usual(write("c.jsonl", b""), follow=True)

    def test_bytes_of_an_array_are_kept(self, write):
        """A number, a raw line separator and an escape stay; an end of line becomes space."""
        element = '{"task_id": "Mbpp/2",\r\n "x": 1.50e1, "s": "\u2028\\u0041"}'
        out = list(convert([write("a.json", f"[{element},\n{element}]".encode())], ReadOptions(), NO_BENCHMARK))
        assert [element.replace("\r\n", " ").encode() + b"\n"] * 2 == out

    def test_an_array_of_what_json_forbids(self, write):
        """NaN, a lone surrogate and a number of thousands of digits are read."""
        rows = [ROWS[0] | {"p": float("nan"), "s": "\ud800"}, ROWS[1]]
        assert rows[1:] == converted(write("a.json", rows))[1:]
        row = b'{"task_id": "Mbpp/2", "code": "x", "n": %s}' % (b"9" * 5000)
        assert [row + b"\n"] == list(convert([write("b.json", b"[%s]" % row)], NO_OPTIONS, NO_BENCHMARK))
        assert "x" == converted(write("b.json", b"[%s]" % row), options=parse_options("code", None))[0]["completion"]

    def test_lines_that_are_no_rows_stay(self, write):
        """The reader of the rows reports them, and options pass over them."""
        path = write("a.jsonl", b"not JSON\n[1]\n" + lines(ROWS))
        out = list(convert([path, path], parse_options("completion", None), NO_BENCHMARK))
        assert [b"not JSON\n", b"[1]\n"] == out[:2]

    def test_the_fields_of_the_first_row(self, write):
        """They are read behind a mark and blank lines, and from a row that is long or has NaN."""
        row = b'{"text": "%s"}\n'
        for content in (row, BOM + row, b"\n\r\n" + row, b'{"x": NaN, "text": ""}\n', row % (b"x" * (5 << 20))):
            assert "text" in first_fields(write("a.jsonl", content))

    @pytest.mark.parametrize("content", [[1, 2], [{}, "x"], [["x"], {}], b"[1", b"[]", b"", b" \n\n"])
    def test_what_has_no_rows(self, write, content):
        """Arrays of other things and empty files are refused."""
        with pytest.raises(DataError, match=r"a\.json"):
            converted(write("a.json", content))


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        ({"0": [[True, False]], "1": [[-2], -1]}, "judge the file of generations"),
        ([{"pass@1": 0.5, "detail": {"pass@1": {"0": 0.5}}}, {"0": [[True], [-4]]}, [["{}", "{}"]]], "_eval_all.json"),
    ],
    ids=["APPS", "LiveCodeBench"],
)
def test_outcomes_without_ids(write, content, remedy):
    """Outcomes of tests by the number of the problem are called so, by who judges and by who shows."""
    path = write("o.json", content)
    for read in (converted, read_counts):
        with pytest.raises(DataError, match=f"outcomes of tests by the number of the problem.*{remedy}"):
            read(path)


def test_what_can_be_read_only_once(tmp_path):
    """Neither a pipe nor a device is taken for a file, whose kind and rows are read one by one; nothing is read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read, write = os.pipe()
    try:
        os.write(write, lines(ROWS))
        for path in (pipe, Path(os.devnull), Path(f"/dev/fd/{read}")):
            for make in (lambda path=path: is_usual(path, follow=True), lambda path=path: converted(path)):
                with pytest.raises(DataError, match="no file but a pipe or a device"):
                    make()
        assert lines(ROWS) == os.read(read, 1 << 16)
    finally:
        os.close(read)
        os.close(write)


class TestPrograms:
    """Programs whose place says which problem they belong to."""

    def test_lists_follow_the_order_of_the_benchmark(self, write):
        """List 2 belongs to the third problem, whatever its number is; a list may be short or empty."""
        path = write("g.json", [["def similar(): 1", "def similar(): 2"], [], ["def remove(): 3"]])
        assert [("Mbpp/2", "def similar(): 1"), ("Mbpp/2", "def similar(): 2"), ("Mbpp/11", "def remove(): 3")] == [
            (row["task_id"], row["solution"]) for row in converted(path)
        ]

    def test_lists_that_cannot_be_read(self, write):
        """A number that Python does not read is refused with the name of the file."""
        with pytest.raises(DataError, match=r"g\.json' is not one JSON array: Exceeds the limit"):
            converted(write("g.json", b"[[%s]]" % (b"9" * 5000)))

    def test_shifted_lists_are_refused(self, write):
        """Programs for the next problem each are recognised by the function that they lack."""
        path = write("g.json", [["def prime(): 1"], ["def remove(): 2"]])
        with pytest.raises(DataError, match="similar"):
            converted(path)

    def test_lists_of_chosen_problems(self, write):
        """As many lists as ``--problems`` chooses belong to those, and a note says so; any other number to the file."""
        notes: list[str] = []
        target = Target(lambda: PROBLEMS, lambda: PROBLEMS[1:], notes.append)
        path = write("g.json", [["def prime(): 1"], ["def remove(): 2"]])
        rows = [json.loads(line) for line in convert([path], NO_OPTIONS, target)]
        assert (["Mbpp/3", "Mbpp/11"], 1) == ([row["task_id"] for row in rows], len(notes))
        path = write("g.json", [["def similar(): 1"]])
        assert b"Mbpp/2" in next(iter(convert([path], NO_OPTIONS, target)))

    def test_lists_of_livecodebench_follow_the_ids(self, write):
        """Its evaluator takes lists by the text of the id; a note says so, and that nothing checks programs' order."""
        contest = contest_problems("abc_b", "10_A", "2_B")
        notes: list[str] = []
        target = Target(lambda: contest, say=notes.append)
        path = write("g.json", [["print(1)"], ["print(2)"], ["print(3)"]])
        rows = [json.loads(line) for line in convert([path], NO_OPTIONS, target)]
        assert ["10_A", "2_B", "abc_b"] == [row["task_id"] for row in rows]
        assert "question_id" in notes[0]
        assert "3 of 3" in notes[0]
        with pytest.raises(DataError, match="2 lists"):
            converted(write("g.json", [["print(1)"], ["print(2)"]]), problems=contest)

    def test_lists_for_problems_without_names(self, write):
        """Where no function tells whose a program is, a note says that the order decides."""
        others = [msgspec.structs.replace(problem, date="") for problem in contest_problems("b", "a")]
        notes: list[str] = []
        path = write("g.json", [["print(1)"], ["print(2)"]])
        rows = [json.loads(line) for line in convert([path], NO_OPTIONS, Target(lambda: others, say=notes.append))]
        assert ["b", "a"] == [row["task_id"] for row in rows]
        assert "2 of 2" in notes[0]

    @pytest.mark.parametrize("answer", ["f(1)", "[1]"])
    def test_lists_of_answers_to_questions(self, write, answer):
        """The function that all questions are about tells no answer from another, and an answer need not name it."""
        check = Expression(code="def f(x): return [x]", asks="input", input="1", output="[1]")
        questions = [Problem(id=name, prompt="", entry_point="f", check=check) for name in ("sample_0", "sample_1")]
        notes: list[str] = []
        path = write("g.json", [[answer], [answer]])
        rows = [json.loads(line) for line in convert([path], NO_OPTIONS, Target(lambda: questions, say=notes.append))]
        assert ["sample_0", "sample_1"] == [row["task_id"] for row in rows]
        assert "2 of 2 problems have no function name of their own" in notes[0]

    def test_lists_for_problems_that_share_a_name(self, write):
        """A name that most problems have tells none of them from another, but programs without it are no programs."""
        names = ("solve", "solve", "solve", "prime")
        alike = [
            Problem(id=str(index), prompt="", entry_point=name, check=FunctionTests(source=""))
            for index, name in enumerate(names)
        ]
        notes: list[str] = []
        path = write("g.json", [[f"def {name}(): {index}"] for index, name in enumerate(names)])
        assert 4 == len(list(convert([path], NO_OPTIONS, Target(lambda: alike, say=notes.append))))
        assert "3 of 4" in notes[0]
        with pytest.raises(DataError, match="3 of 4 problems lack the function to test"):
            converted(write("g.json", [["def prime(): 0"]] * 4), problems=alike)

    def test_texts_by_task(self, write):
        """Texts of each task become rows of it; null is a sample without a text."""
        programs = {"Mbpp/2": ["def similar(): 1", None], "Mbpp/3": "def prime(): 1", "Mbpp/11": [None]}
        assert [
            {"task_id": "Mbpp/2", "solution": "def similar(): 1"},
            {"task_id": "Mbpp/2", "solution": None},
            {"task_id": "Mbpp/3", "solution": "def prime(): 1"},
            {"task_id": "Mbpp/11", "solution": None},
        ] == converted(write("g.json", programs))

    @pytest.mark.parametrize(("start", "form"), [("int one() {\n", "solution"), ("", "completion")])
    def test_texts_by_task_in_other_languages(self, write, start, form):
        """A program that begins with its prompt is whole, where no function in Python tells so."""
        script = Script(language="cpp", tests="}")
        problems = [Problem(id=name, prompt="int one() {\n", entry_point="", check=script) for name in ("H_1", "H_2")]
        texts = {name: [f"{start}    return {name[-1]};\n}}"] for name in ("H_1", "H_2")}
        rows = converted(write("g.json", texts), problems=problems)
        assert [{"task_id": name, form: text} for name, (text,) in texts.items()] == rows

    def test_a_folder(self, write, tmp_path):
        """Programs are sorted by number, and the folder of a problem may have an underscore in its name."""
        for index in (10, 9):
            write(f"d/My_Own_3/{index}.py", b"%d" % index)
        write("d/Mbpp_11/0.py", b"\xff")
        write("d/notes.txt", b"")
        mine = (*PROBLEMS, Problem(id="My/Own/3", prompt="", entry_point="f", check=FunctionTests(source="")))
        rows = converted(tmp_path / "d", problems=mine)
        assert [("Mbpp/11", None), ("My/Own/3", "9"), ("My/Own/3", "10")] == [
            (row["task_id"], row["solution"]) for row in rows
        ]


def test_completions_of_multipl_e(write, tmp_path):
    """A folder with a file for each problem, as it is before it is evaluated."""
    for number in (10, 9):
        document = {"name": f"P_{number}_f", "language": "cpp", "prompt": "", "tests": "", "completions": ["a", "b"]}
        write(f"d/P_{number}_f.json", json.dumps(document).encode())
    assert [("P_9_f", "a"), ("P_9_f", "b"), ("P_10_f", "a"), ("P_10_f", "b")] == [
        (row["task_id"], row["completion"]) for row in converted(tmp_path / "d")
    ]
    write("d/P_11_f.json", b"{}")
    with pytest.raises(DataError, match=r"P_11_f.json' has no 'name'"):
        converted(tmp_path / "d")


def completions(name: str, *texts: object, **fields: Any) -> dict[str, Any]:
    """Return a file with the completions of one problem."""
    return {"name": name, "language": "py", "prompt": "", "completions": texts} | fields


def test_completions_of_one_problem(write):
    """A file that MultiPL-E keeps in a folder is read by itself."""
    path = write("a.json.gz", gzip.compress(json.dumps(completions("own_0", "1", "2")).encode()))
    assert [("own_0", "1"), ("own_0", "2")] == [(row["task_id"], row["completion"]) for row in converted(path)]
    with pytest.raises(DataError, match=r"b\.json': `name` must be a text, got null"):
        converted(write("b.json", completions("own_0", "1") | {"name": None}))


def test_completions_of_can_it_edit(write, tmp_path):
    """They are objects, of a problem with a number; those for two kinds of instructions are no set."""
    reply = {"content": "x = 1", "instruction": None}
    files = [
        write(f"d/10_a_{kind}.json", completions("a", reply, id=10, full_name="10_a", instr_kind=kind))
        for kind in ("instruction_descriptive", "instruction_lazy")
    ]
    assert [("10", "x = 1")] == [(row["task_id"], row["completion"]) for row in converted(files[0])]
    for paths in ([tmp_path / "d"], files):
        with pytest.raises(DataError, match="two kinds"):
            converted(*paths)


def test_programs_of_a_problem_in_each_line(write):
    """LiveCodeBench's output as JSON lines is read as the array is; ``--field`` takes its rows as they stand."""
    rows = [{"question_id": name, "code_list": [f"print({name})", ""], "output_list": ["a", "b"]} for name in "xy"]
    array, path = write("o.json", rows), write("o.jsonl", lines(rows))
    assert not is_usual(path, follow=False)
    assert converted(array) == converted(path)
    assert 2 == len(converted(write("one.jsonl", lines(rows[:1]))))
    assert read_record(array) == read_record(path)
    fields = parse_options("output_list", None)
    assert ["a", "b", "a", "b"] == [row["completion"] for row in converted(path, options=fields)]


@pytest.mark.parametrize(
    "names",
    [
        "a a.raw",
        "a a-sanitized",
        "a-sanitized a-sanitized-calibrated",
        "a.raw a-calibrated",
        "a a-sanitized_calibrated",
    ],
)
def test_the_same_samples_once_more(write, tmp_path, names):
    """A set of samples and what its harness has made of it are not one set; parts of other names are."""
    for name in names.split():
        write(f"d/{name}.jsonl", lines(ROWS))
    with pytest.raises(DataError, match="seem to be the same samples"):
        expand([tmp_path / "d"])
    for name in ("a-1", "a-2", "sanitized"):
        write(f"e/{name}.jsonl", lines(ROWS))
    assert 3 == len(expand([tmp_path / "e"]))


@pytest.mark.parametrize(
    "names",
    [
        "Qwen--Q_vllm_temp_0.0 meta--L_vllm_temp_0.0",
        "Qwen--Q_vllm_temp_0.0.raw Qwen--Q_vllm_temp_0.8-sanitized",
        "a--b--bigcodebench-instruct--vllm-0-1 a--c--bigcodebench-instruct--vllm-0-1-sanitized_calibrated",
    ],
)
def test_samples_of_several_models(write, tmp_path, names):
    """Files whose names are of different models or temperatures are no set, unless the user names each of them."""
    paths = [write(f"d/{name}.jsonl", lines(ROWS)) for name in names.split()]
    with pytest.raises(DataError, match="different models"):
        expand([tmp_path / "d"])
    assert paths == expand(paths)


class TestLmEval:
    """Rows of lm-eval."""

    def row(self, **fields: Any) -> dict[str, Any]:
        """Return a row of a task with programs."""
        doc = {"task_id": 11, "text": "Remove.", "test_list": ["assert remove()"]}
        return {"doc_id": 0, "doc": doc, "resps": [["raw"]], "filtered_resps": [["code"]], "filter": "x"} | fields

    def test_numbers_are_ids_of_the_benchmark(self, write):
        """The number of a document is the last part of an id; without one its place counts."""
        rows = [self.row(), self.row(doc={"text": ""}, doc_id=1)]
        out = converted(write("s.jsonl", lines(rows)))
        assert [("Mbpp/11", "code"), ("Mbpp/3", "code")] == [(row["task_id"], row["solution"]) for row in out]

    def test_ids_are_mapped_as_they_stand(self, write):
        """With a map the numbers of the file are what it maps."""
        (row,) = converted(write("s.jsonl", lines([self.row()])), options=parse_options("resps", "{}=Mbpp/{-8}"))
        assert ("Mbpp/3", "raw") == (row["task_id"], row["completion"])

    def test_ids_of_documents(self, write):
        """The id of a question tells its problem, wherever that stands in the benchmark; a map is for the places."""
        check = Expression(code="def f(x): return x", asks="input", input="1", output="1")
        questions = [Problem(id=f"sample_{at}", prompt="", entry_point="f", check=check) for at in (1, 0)]
        doc = {"id": "sample_0", "code": check.code, "input": "1", "output": "1"}
        path = write("s.jsonl", lines([self.row(doc=doc, filtered_resps=[f"{check.code}\nassert f(2)==1"])]))
        for options in (NO_OPTIONS, parse_options(None, "{}=sample_{}")):
            (row,) = converted(path, options=options, problems=questions)
            assert {"task_id": "sample_0", "solution": "f(2)", "doc_id": 0} == row
        with pytest.raises(DataError, match="--benchmark cruxeval-input or cruxeval-output"):
            converted(path, problems=None)

    @pytest.mark.parametrize("asks", ["input", "output"])
    def test_answers_to_questions(self, write, asks):
        """The answer is taken out of the assertion that lm-eval makes of it in CRUXEval."""
        doc = {"id": "sample_7", "code": "def f(x):\n    return x", "input": "1, '=='", "output": "(2, ')==')"}
        check = Expression(code=doc["code"], asks=asks, input=doc["input"], output=doc["output"])
        (problem,) = (Problem(id="sample_7", prompt="", entry_point="", check=check),)
        answers = ["f(3)", "f('a)==(')", "f()"] if asks == "input" else ["3", "'==' # x", ""]
        made = [
            f"{doc['code']}\nassert {answer}=={doc['output']}"
            if asks == "input"
            else f"{doc['code']}\nassert f({doc['input']})=={answer}"
            for answer in answers
        ]
        row = {"doc_id": 0, "doc": doc, "resps": [["raw"] * 3], "filtered_resps": made, "filter": "create_test"}
        rows = converted(write("a.jsonl", lines([row])), problems=(problem,))
        assert [("sample_7", answer) for answer in answers] == [(row["task_id"], row["solution"]) for row in rows]

    def test_several_answers(self, write):
        """Each answer to a document is a sample."""
        (_, second) = converted(write("s.jsonl", lines([self.row(filtered_resps=[["a", "b"]])])))
        assert "b" == second["solution"]

    def test_a_field_that_is_not_there(self, write):
        """The fields that are there are named."""
        with pytest.raises(DataError, match="`filtered_resps`"):
            converted(write("s.jsonl", lines([self.row()])), options=parse_options("answer", None))


class TestOptions:
    """``--field`` and ``--id-map``."""

    def test_a_field_replaces_the_usual_ones(self):
        """The text of the field is judged and nothing else; a list is several samples."""
        row = {"task_id": "a", "completion": "x", "solution": "y", "codes": ["1", ["2"]], "other": 3}
        out = list(convert_rows([row], parse_options("codes:solution", None), dict))
        assert [{"task_id": "a", "other": 3, "solution": text} for text in "12"] == out

    def test_a_field_with_a_colon(self):
        """Only the two forms are split off a name."""
        assert ("a:b", "completion") == (parse_options("a:b", None).field, parse_options("a:b", None).form)
        assert ("a:b", "solution") == (
            parse_options("a:b:solution", None).field,
            parse_options("a:b:solution", None).form,
        )

    @pytest.mark.parametrize(
        ("id_map", "task", "expected"),
        [
            ("Python/{}=HumanEval/{}", "Python/7", "HumanEval/7"),
            ("Python/{}=HumanEval/{}", "JS/7", "JS/7"),
            ("{}=HumanEval/{}", 7, "HumanEval/7"),
            ("a.{}.b={}", "a.x.b", "x"),
            ({"7": "HumanEval/0"}, 7, "HumanEval/0"),
            ({"7": "HumanEval/0"}, 8, 8),
        ],
    )
    def test_a_map(self, id_map, task, expected):
        """Ids that fit are mapped, others stay as they are."""
        first = {"task_id": next(iter(id_map)) if isinstance(id_map, dict) else id_map.split("=")[0].replace("{}", "0")}
        *_, row = convert_rows([first, {"task_id": task}], parse_options(None, id_map), dict)
        assert expected == row["task_id"]

    def test_a_map_with_a_byte_order_mark(self, write):
        """A file is read as samples and benchmarks are, which may begin with a mark."""
        options = parse_options(None, write("ids.json", BOM + b'{"a": "b"}'))
        assert [{"task_id": "b"}] == list(convert_rows([{"task_id": "a"}], options, lambda: None))

    @pytest.mark.parametrize("id_map", ["", "a", "a={}", "{}=a", "{}{}={}", {}, {"a": "c", "b": "c"}, "absent.json"])
    def test_maps_that_are_refused(self, id_map):
        """A pattern has one place on each side, and a table joins no two ids."""
        with pytest.raises(UsageError, match="--id-map"):
            parse_options(None, id_map)

    @pytest.mark.parametrize("field", ["", " ", ":solution"])
    def test_a_field_without_a_name(self, field):
        """It is refused."""
        with pytest.raises(UsageError, match="--field"):
            parse_options(field, None)

    def test_the_record_has_what_a_file_maps(self, write):
        """A file of the same name with another content is another option."""
        path = write("m.json", {"a": "b"})
        before = parse_options(None, str(path)).describe()
        write("m.json", {"a": "c"})
        assert before != parse_options(None, str(path)).describe() == parse_options(None, path).describe()


class TestFolders:
    """Parts of one set of samples."""

    def test_parts_in_order(self, write, tmp_path):
        """Numbers count as numbers, and our own files are no parts."""
        for number in (10, 9):
            write(f"d/part-{number}.jsonl", lines([{"task_id": str(number)}]))
        write("d/part-9.jsonl_results.jsonl", lines(ROWS))
        write("d/x.passcurve.samples.jsonl", lines(ROWS))
        assert ["9", "10"] == [row["task_id"] for row in converted(tmp_path / "d")]

    def test_several_logs_of_lm_eval(self, write, tmp_path):
        """Logs of several evaluations are not one set of samples."""
        for day in "12":
            path = write(f"d/samples_humaneval_2025-01-0{day}T10-00-00.1.jsonl", lines(ROWS))
        with pytest.raises(DataError, match="lm-eval"):
            converted(tmp_path / "d")
        assert ROWS == converted(path)

    def test_a_part_of_another_form(self, write):
        """Files of several forms are one set."""
        assert ROWS * 2 == converted(write("a.json", ROWS), write("b.gz", gzip.compress(lines(ROWS))))


class TestParquet:
    """Parquet files, with the extra ``tables``."""

    @pytest.mark.ci
    def test_rows(self, tmp_path):
        """Each row is read, with bytes as text and other types as JSON can have them."""
        pa = pytest.importorskip("pyarrow", reason="Parquet needs the extra tables")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pa.table({"task_id": ["a", "b"], "completion": [b"x", b"y"], "n": [1, None]})
        parquet.write_table(table, tmp_path / "s.parquet")
        assert [
            {"task_id": "a", "completion": "x", "n": 1},
            {"task_id": "b", "completion": "y", "n": None},
        ] == converted(tmp_path / "s.parquet")

    def test_without_pyarrow(self, write, monkeypatch):
        """The command that installs it is named."""
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(UsageError, match=r"pip install 'passcurve\[tables\]'"):
            converted(write("s.parquet", b"PAR1"))


def test_a_byte_order_mark_before_rows_that_come_one_by_one():
    """The first row of a stream is mapped as the others are."""
    stream = [BOM + b'{"task_id":"a","text":"1"}\n', b'{"task_id":"a","text":"2"}\r\n']
    made = convert_lines(stream, parse_options("text", None), lambda: None, "stdin")
    assert [{"task_id": "a", "completion": text} for text in "12"] == [json.loads(line) for line in made]


def test_a_failure_leaves_the_rows_of_before(write, tmp_path):
    """Rows appear whole or not at all."""
    path = write("rows.jsonl", lines(ROWS))
    with pytest.raises(DataError):
        write_lines(path, convert([write("a.json", [*ROWS, 1])], ReadOptions(), NO_BENCHMARK))
    assert lines(ROWS) == path.read_bytes()
    assert ["a.json", "rows.jsonl"] == sorted(os.listdir(tmp_path))  # noqa: PTH208 - names alone
