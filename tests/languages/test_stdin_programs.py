"""Programs that read standard input, in the usual ways of each language: right ones pass, wrong ones fail."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from toolchains import require

import passcurve as pc
from passcurve.bench.languages import languages

PROGRAMS = tomllib.loads(Path(__file__).with_name("stdin_programs.toml").read_text("utf-8"))
PROBLEM = """
[[problem]]
id = "sums"
kind = "stdin"
statement = "Write the sum of the two numbers of each line."
inputs = ["1 2\\n-7 3\\n100 250\\n", "20000 -40000\\n"]
outputs = ["3\\n-4\\n350\\n", "-20000\\n"]
"""
IN_CI = ("sh",)


def cases() -> list[Any]:
    """Return the languages whose toolchains could be had: one wherever the full tests run, and the others at night."""
    marks = {name: pytest.mark.ci if name in IN_CI else pytest.mark.nightly for name in languages()}
    return [pytest.param(name, marks=marks[name]) for name, row in languages().items() if row.is_tested]


def test_every_row_has_programs() -> None:
    """Each language that can be tried has right programs and a wrong one."""
    assert {name for name, row in languages().items() if row.is_tested} == PROGRAMS.keys()
    assert all("wrong" in programs and len(programs) > 2 for programs in PROGRAMS.values())


@pytest.mark.parametrize("name", cases())
def test_programs_of_a_language(name: str, tmp_path: Path) -> None:
    """Whatever a program reads its input with, its verdict is that of what it writes."""
    require(name)
    benchmark = tmp_path / "sums.toml"
    benchmark.write_text(PROBLEM)
    programs = PROGRAMS[name]
    rows = [{"task_id": "sums", "solution": program.lstrip("\n")} for program in programs.values()]
    run = pc.judge(rows, benchmark=benchmark, language=name, timeout_s=10.0, accept_input=True, workers=2)
    columns = run.samples.columns
    ended = dict(zip(programs, zip(columns["status"], columns["message"], strict=True), strict=True))
    expected = {kind: "failed" if kind.startswith("wrong") else "passed" for kind in programs}
    assert not {kind: ended[kind] for kind in programs if ended[kind][0] != expected[kind]}


def test_output_that_takes_many_characters_to_show(tmp_path: Path) -> None:
    """A program that writes thousands of control characters has failed, and the others have their verdicts."""
    benchmark = tmp_path / "sums.toml"
    benchmark.write_text(PROBLEM)
    programs = (r"printf '\1%.0s' {1..3000}", PROGRAMS["sh"]["read"])
    rows = [{"task_id": "sums", "solution": program} for program in programs]
    run = pc.judge(rows, benchmark=benchmark, language="sh", timeout_s=10.0, accept_input=True)
    assert ("failed", "passed") == tuple(run.samples.columns["status"])


@pytest.mark.parametrize("name", ["sh", pytest.param("cpp", marks=pytest.mark.ci)])
def test_a_problem_without_cases(name: str, tmp_path: Path) -> None:
    """A problem without a case is excluded: no program passes it, and the others have their verdicts."""
    require(name)
    benchmark = tmp_path / "sums.toml"
    benchmark.write_text(f'{PROBLEM}\n[[problem]]\nid = "none"\nkind = "stdin"\ninputs = []\noutputs = []\n')
    right = next(iter(PROGRAMS[name].values())).lstrip("\n")
    rows = [{"task_id": task, "solution": right} for task in ("none", "sums")]
    run = pc.judge(rows, benchmark=benchmark, language=name, timeout_s=10.0, k=1, accept_benchmark=True)
    assert ("failed", "passed") == tuple(run.samples.columns["status"])
    assert "it has no tests" in repr(run)
    assert [1.0] == [estimate.value for estimate in run.estimates]


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    """A class with a name of many characters does not compile, as javac says, and is no failure of ours."""
    require("java")
    benchmark = tmp_path / "sums.toml"
    benchmark.write_text(PROBLEM)
    rows = [
        {"task_id": "sums", "solution": f"public class {name} {{ public static void main(String[] a) {{ }} }}"}
        for name in ("A" * 300, "ß" * 150, "")
    ]
    run = pc.judge([*rows, {"task_id": "sums", "solution": "class"}], benchmark=benchmark, language="java")
    assert {"compile"} == set(run.samples.columns["status"])
