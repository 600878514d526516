"""Every row of the table of languages, by doing: one right program, and one for each other way to end."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from toolchains import require

import passcurve as pc
from passcurve.bench.languages import languages
from passcurve.errors import DataError
from passcurve.judging.scripts import missing_tools

PROGRAMS = Path(__file__).parent / "programs"
EXPECTED = {"prints": "passed", "wrong": "failed", "exits": "failed", "broken": "failed"}
"""The status of a program where its name is not that.

They print without the end of a line, return something wrong, exit before the tests, and are no source.
"""

IN_CI = ("sh",)


def cases() -> list[Any]:
    """Return the rows that can be tried: one wherever the full tests run, and the others at night."""
    marks = {name: pytest.mark.ci if name in IN_CI else pytest.mark.nightly for name in languages()}
    return [pytest.param(name, marks=marks[name]) for name, row in languages().items() if row.is_tested]


def test_every_row_has_programs() -> None:
    """A language without them could not be said to work."""
    tried = {path.stem for path in PROGRAMS.glob("*.toml")}
    assert tried == {name for name, row in languages().items() if row.is_tested}


@pytest.mark.parametrize("name", cases())
def test_a_language(name: str, tmp_path: Path) -> None:
    """Each program ends as it should, with a message, and the verdict on one does not depend on the others."""
    require(name)
    programs = tomllib.loads((PROGRAMS / f"{name}.toml").read_text())
    tests = programs.pop("tests")
    benchmark = tmp_path / "one.jsonl"
    benchmark.write_text(json.dumps({"id": "add/0", "kind": "script", "language": name, "tests": tests}) + "\n")
    rows = [{"task_id": "add/0", "solution": program} for program in (*programs.values(), programs["passed"])]
    # To fill a gigabyte takes most of the time where page faults are slow; some compilers need one.
    memory = "1GiB" if languages()[name].build.compile or name == "js" else "512MiB"
    run = pc.judge(rows, benchmark=benchmark, timeout_s=4.0, memory=memory, accept_input=True, workers=1)
    samples = run.samples
    kinds = (*programs, "again")
    statuses = dict(zip(kinds, samples.columns["status"], strict=True))
    messages = dict(zip(kinds, samples.columns["message"], strict=True))
    expected = {kind: EXPECTED.get(kind, kind) for kind in programs} | {"again": "passed"}
    wrong = {kind: (statuses[kind], messages[kind]) for kind in kinds if statuses[kind] != expected[kind]}
    assert not wrong
    assert all(messages[kind] for kind in kinds if expected[kind] != "passed")


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["cpp", "kt", "scala"])
def test_a_small_limit_of_programs_does_not_stop_their_compiler(name: str, tmp_path: Path) -> None:
    """A compiler that takes more memory than the program may have compiles it, beside others that do the same."""
    require(name)
    programs = tomllib.loads((PROGRAMS / f"{name}.toml").read_text())
    large = '#include <bits/stdc++.h>\n#include <regex>\nstd::regex word("a");\n' if name == "cpp" else ""
    benchmark = tmp_path / "one.jsonl"
    tests = programs["tests"]
    benchmark.write_text(json.dumps({"id": "add/0", "kind": "script", "language": name, "tests": tests}) + "\n")
    rows = [{"task_id": "add/0", "solution": f"{large}{programs['passed']}\n// {number}"} for number in range(4)]
    run = pc.judge(rows, benchmark=benchmark, timeout_s=10.0, memory="256MiB", accept_input=True, workers=4)
    assert ["passed"] * 4 == list(run.samples.columns["status"])


@pytest.mark.nightly
def test_doctor_tries_each_language(shell: Any) -> None:
    """Those whose toolchain is there work, and the others name what to install; a broken one would be exit code 1."""
    done = shell("doctor", "--languages", "--json")
    trials = {trial["language"]: trial for trial in json.loads(done.out)["languages"]}
    assert trials.keys() == languages().keys()
    for name, row in languages().items():
        if missing_tools(row):
            assert not trials[name]["works"]
            assert trials[name]["packages"] == list(row.packages)
        elif row.is_tested:
            assert trials[name]["works"], trials[name]
    assert done.code == 0


def test_a_benchmark_of_an_unknown_language_is_refused(tmp_path: Path) -> None:
    """The nearest name stands in the message, and so does the place in which tests must end."""
    path = tmp_path / "one.jsonl"
    for fields, word in (
        ({"language": "cpq", "tests": "int main() {}"}, "cpp"),
        ({"language": "cpp", "tests": "int main() {} int x;"}, "end"),
    ):
        path.write_text(json.dumps({"id": "a/0", "kind": "script", **fields}) + "\n")
        with pytest.raises(DataError, match=word):
            pc.load_benchmark(path)


@pytest.mark.nightly
def test_a_second_run_compiles_nothing_that_the_first_has_compiled(own_cache: Path, tmp_path: Path) -> None:
    """Programs that compile have an entry each, those that do not have none, and verdicts are the same."""
    if missing := missing_tools(languages()["c"]):
        pytest.skip(f"{' and '.join(missing)} not installed here")
    programs = tomllib.loads((PROGRAMS / "c.toml").read_text())
    benchmark = tmp_path / "one.jsonl"
    tests = programs.pop("tests")
    benchmark.write_text(json.dumps({"id": "add/0", "kind": "script", "language": "c", "tests": tests}) + "\n")
    rows = [{"task_id": "add/0", "solution": programs[kind]} for kind in ("passed", "failed", "compile")]
    entries, statuses = [], []
    for _ in range(2):
        run = pc.judge(rows, benchmark=benchmark, accept_input=True)
        statuses.append(list(run.samples.columns["status"]))
        entries.append({path.name: path.stat().st_ino for path in (own_cache / "binaries").iterdir()})
    assert [["passed", "failed", "compile"]] * 2 == statuses
    assert 2 == len(entries[0])
    assert entries[0] == entries[1]
