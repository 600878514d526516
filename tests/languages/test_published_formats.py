"""Rows of MultiPL-E, HumanEval-X and HumanEvalPack: the source that is compiled, and what counts as a pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import passcurve as pc
from passcurve.bench.formats import ReadOptions, read_problems
from passcurve.bench.languages import find_language
from passcurve.errors import DataError
from passcurve.extract import extract
from passcurve.judging.script_verdict import reach_script_status
from passcurve.judging.scripts import TOKEN, make_script_job, make_source
from passcurve.sandbox.job import Outcome
from passcurve.types import Completion, Limits, Problem, SampleKey, Script

CPP = {
    "name": "P_0_add",
    "language": "cpp",
    "prompt": "#include<vector>\nint add(int a, int b) {\n",
    "tests": "}\nint main() {\n    assert(add(1, 2) == 3);\n}\n",
}
GO = {
    "task_id": "Go/0",
    "prompt": 'import (\n    "math"\n)\n\nfunc Add(a int, b int) int {\n',
    "import": 'import (\n    "math"\n)\n',
    "declaration": "func Add(a int, b int) int {\n",
    "canonical_solution": "    return a + b\n}\n",
    "test_setup": 'package main\n\nimport (\n    "testing"\n    "time"\n)\n',
    "test": "func TestAdd(t *testing.T) {\n    if Add(1, 2) != 3 { t.Fatal() }\n}\n",
}
RUST = {
    "task_id": "Rust/0",
    "prompt": "\n/* Add. */\n",
    "declaration": "\nfn add(a: i32, b: i32) -> i32 {\n",
    "canonical_solution": "    a + b\n}\n",
    "test": "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn test_add() {\n"
    "        assert_eq!(add(1, 2), 3);\n    }\n\n}\n",
}
MCEVAL = {
    "task_id": "Java/1",
    "prompt": "public class Solution {\n  public static int add(int a, int b) ",
    "canonical_solution": "{ return a + b; }",
    "test": "  public static void main(String[] args) {\n    assert add(1, 2) == 3;\n  }\n}",
    "entry_point": "add",
    "signature": "public static int add(int a, int b)",
    "docstring": "Add.",
    "instruction": "Write a Java function that adds.",
    "level": "easy",
}


def read(row: dict[str, Any], folder: Path, profile: str = "native") -> tuple[Problem, Script]:
    """Return the only problem of a file, and its check."""
    path = folder / "one.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (problem,) = read_problems(path, options=ReadOptions(profile=profile))
    assert isinstance(problem.check, Script)
    return problem, problem.check


def source_of(check: Script, program: str) -> str:
    """Return what is compiled."""
    return make_source(check, find_language(check.language), program)


def test_the_token_stands_after_the_last_test(tmp_path: Path) -> None:
    """It is the last statement of the main program, before the braces that close it, and before ``return 0``."""
    problem, check = read(CPP, tmp_path)
    source = source_of(check, problem.prompt + "return a + b;\n")
    assert check.accepts == "token"
    assert source.index("== 3") < source.index(TOKEN) < source.rindex("}")
    with_return = {**CPP, "tests": CPP["tests"].replace("}\n", "    return 0;\n}\n", 2)[len("    return 0;\n") :]}
    _, check = read(with_return, tmp_path)
    assert check.tests.index(TOKEN) < check.tests.index("return 0")


def test_the_recorded_rules_differ_by_language(tmp_path: Path) -> None:
    """Headers that the prompt lacks come first in C++, PHP ends with its tag, and JavaScript must be silent."""
    problem, check = read(CPP, tmp_path, "multipl-e")
    source = source_of(check, problem.prompt)
    assert check.accepts == "exit"
    assert source.count("#include<vector>") == 1
    assert source.index("#include<cassert>") < source.index("int add")
    assert problem.timeout_s == 10.0
    accepts = {name: read({**CPP, "language": name}, tmp_path, "multipl-e")[1] for name in ("js", "cs", "php", "ts")}
    assert (accepts["js"].accepts, accepts["cs"].accepts, accepts["ts"].accepts) == ("silence", "no-fail", "exit")
    assert accepts["php"].after == "?>"
    assert len(accepts["ts"].builds) == 2
    assert read({**CPP, "language": "go_test.go"}, tmp_path, "multipl-e-upstream")[1].accepts == "exit"


@pytest.mark.parametrize("profile", ["multipl-e", "multipl-e-upstream"])
def test_exit_status_0_is_not_enough_everywhere(tmp_path: Path, profile: str) -> None:
    """Failed tests of Racket end with exit status 0 (``eval_racket.py``, ``eval_scala.py``, ``eval_pl.py``)."""
    accepts = {
        name: read({**CPP, "language": name}, tmp_path, profile)[1].accepts for name in ("rkt", "scala", "pl", "rb")
    }
    assert {"rkt": "no-errors", "scala": "no-errors", "pl": "no-error-word", "rb": "exit"} == accepts


@pytest.mark.parametrize(
    ("accepts", "right", "wrong"),
    [
        ("no-errors", [("", ""), ("out", "")], [("", "x")]),
        ("no-error-word", [("", ""), ("error", "warning")], [("ERROR", ""), ("", "an ERROR")]),
        ("exit", [("", ""), ("ERROR", "ERROR")], []),
    ],
)
def test_what_exit_status_0_must_come_with(accepts: Any, right: list[Any], wrong: list[Any]) -> None:
    """With exit status 0 what stands on both streams decides; with any other a program fails."""
    check = Script(language="pl", tests="", accepts=accepts)
    job = make_script_job(check, "", Limits(timeout_s=5.0, memory_bytes=1 << 30), 1)

    def status(texts: tuple[str, str], exit_status: int) -> str:
        out, err = texts
        sizes = {"out_bytes": len(out), "err_bytes": len(err)}
        report = {"status": "ended", "exit": exit_status, "out": out, "err": err} | sizes
        return reach_script_status(job, Outcome(tag=1, ended="report", report=report, step="run"))[0]

    assert ["passed"] * len(right) + ["failed"] * len(wrong) == [status(texts, 0) for texts in (*right, *wrong)]
    assert {"failed"} == {status(texts, 1) for texts in (*right, *wrong)}


def test_go_imports_what_is_used(tmp_path: Path) -> None:
    """An import that nothing uses would not compile: those of the prompt and of the tests stand where they are used."""
    problem, check = read(GO, tmp_path)
    plain = source_of(check, problem.prompt + "    return a + b // fmt. strings.\n}\n")
    assert [line for line in plain.splitlines() if line.startswith("import")] == ['import "testing"']
    assert plain.startswith("package main")
    rich = source_of(check, problem.prompt + '    return int(math.Abs(1)) + len(strings.Split("", ""))\n}\n')
    imports = {line for line in rich.splitlines() if line.startswith("import")}
    assert imports == {'import "testing"', 'import "math"', 'import "strings"'}


def test_rust_ends_with_the_report_of_its_tests(tmp_path: Path) -> None:
    """The token is inside the test, and the line of the library follows it."""
    problem, check = read(RUST, tmp_path)
    assert problem.prompt.endswith("-> i32 {\n")
    assert "{token}" in check.line
    assert check.tests.index("== 3" if "== 3" in check.tests else "3);") < check.tests.index(TOKEN)


def test_samples_have_their_text_in_generation(tmp_path: Path) -> None:
    """The field is read by itself for these formats, and the benchmark says so."""
    assert read(CPP, tmp_path)[0].answer_field == "generation:solution"
    assert read(GO, tmp_path)[0].answer_field == "generation"


def test_mceval_has_a_row_for_each_language(tmp_path: Path) -> None:
    """Java's class is Solution, Rust's tests run under its library, Python's under the referee."""
    problem, check = read(MCEVAL, tmp_path)
    assert (check.builds, check.accepts, problem.timeout_s) == (("solution",), "token", 15.0)
    assert problem.answer_field == "raw_generation:solution"
    rust = {**MCEVAL, "task_id": "Rust/1", "test": RUST["test"]}
    assert read(rust, tmp_path)[1].builds == ("crates",)
    php = read({**MCEVAL, "task_id": "PHP/1", "test": "assert(add(1, 2) === 3);\n?>\n"}, tmp_path)[1]
    assert "?>" not in php.tests
    assert php.tests.rstrip().endswith(find_language("php").confirm)
    path = tmp_path / "python.jsonl"
    prompt, tests = "def add(a, b):\n", "def test():\n    assert add(1, 2) == 3\n\ntest()"
    row = {"prompt": prompt, "canonical_solution": "    return a + b", "test": tests}
    path.write_text(json.dumps({**MCEVAL, "task_id": "Python/1", **row}) + "\n")
    answers = [
        {"task_id": "Python/1", "raw_generation": [f"```python\n{prompt}    return {body}\n```"]} for body in "ab"
    ]
    answers.append({"task_id": "Python/1", "raw_generation": [f"```python\n{prompt}    return a + b\n```"]})
    run = pc.judge(answers, path, extract="auto")
    assert list(run.samples.columns["passed"]) == [False, False, True]


def test_mceval_runs_the_tests_of_a_main_module(tmp_path: Path) -> None:
    """Behind a main guard, too, and texts of several lines stay what they are."""
    tests = 'def test():\n    assert join(["a", "b"]) == """a\nb"""\n\nif __name__ == "__main__":\n    test()\n'
    row = {"prompt": "def join(items):\n", "entry_point": "join", "test": tests}
    reference = '    return "\\n".join(items)\n'
    path = tmp_path / "python.jsonl"
    path.write_text(json.dumps({**MCEVAL, "task_id": "Python/39", "canonical_solution": reference, **row}) + "\n")
    answers = [{"task_id": "Python/39", "completion": body} for body in (reference, "    return ''\n")]
    run = pc.judge(answers, path)
    assert list(run.samples.columns["passed"]) == [True, False]


def test_no_default_stop_word_ends_a_right_program(tmp_path: Path) -> None:
    """Tests of McEval and of own benchmarks close no brace, and functions have blank lines."""
    for task, prompt, body in (
        ("Shell/5", "add() {\n", "    local a=$1\n\n    echo $((a + 1))\n}\n"),
        ("Perl/6", "sub add {\n", "    my ($a) = @_;\n\n    return $a + 1;\n}\n"),
        ("Swift/1", "func add(_ a: Int) -> Int {\n", "    let b = a\n\n    return b + 1\n}\n"),
    ):
        row = {**MCEVAL, "task_id": task, "prompt": prompt, "canonical_solution": body, "test": "add 1\n"}
        problem = read(row, tmp_path)[0]
        completion = Completion(
            key=SampleKey(problem_id=task, sample_index=0), row=0, line=1, digest="d", form="completion", text=body
        )
        assert problem.prompt + body == extract(problem, completion, "auto").text


def test_unknown_languages_are_refused(tmp_path: Path) -> None:
    """The row is named, and so are the languages."""
    path = tmp_path / "one.jsonl"
    for row in ({**CPP, "language": "cobol"}, {**GO, "task_id": "Cobol/0"}, {**MCEVAL, "task_id": "AWK/1"}):
        path.write_text(json.dumps(row) + "\n")
        with pytest.raises(DataError, match=r"cpp|CPP"):
            pc.load_benchmark(path)
