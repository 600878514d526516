"""Files of MultiPL-E: folders of results, details and ``pred_*_output.jsonl`` are read, and written as they were."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

PROMPT = "// Return twice x.\nfunction twice(x){\n"
TESTS = "const assert = require('node:assert');\nassert.deepEqual(twice(2), 4);\n"
RIGHT, WRONG = PROMPT + "    return 2 * x;\n}", PROMPT + "    return x;\n}"


@pytest.fixture
def bench(shell):
    """Return the name of a benchmark of one problem."""
    return shell.write("b.jsonl", [{"name": "own_0", "language": "js", "prompt": PROMPT, "tests": TESTS}]).name


def result(program, status, code):
    """Return one result as MultiPL-E writes it."""
    return {
        "program": f"{program}\n{TESTS}",
        "timestamp": 7,
        "stdout": "",
        "stderr": "" if status == "OK" else "AssertionError: no\nmore",
        "exit_code": code,
        "status": status,
    }


@pytest.fixture
def folder(shell):
    """Return a folder with the results of one problem, packed."""
    document = {
        "name": "own_0",
        "language": "js",
        "prompt": PROMPT,
        "tests": TESTS,
        "results": [result(RIGHT, "OK", 0), result(WRONG, "Exception", 1), result(WRONG, "Timeout", -1)],
    }
    (shell.folder / "res").mkdir()
    path = shell.folder / "res" / "own_0.results.json.gz"
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return document


def test_folder_of_results(shell, bench, folder):
    """Its verdicts are scored as they stand, from the folder and from a file, and written as they were."""
    for name in ("res", "res/own_0.results.json.gz"):
        shown = shell("show", name, "-k", "1", "--json").record
        assert {"passed": 1, "failed": 1, "timeout": 1} == shown["statuses"]
    done = shell("convert", "res", "again", "--to", "multipl-e", "--benchmark", bench, "--json")
    assert (0, 3) == (done.code, done.record["verdicts"]), done.err
    assert folder == json.loads((shell.folder / "again" / "own_0.results.json").read_text())
    done = shell("convert", "res", "pred_js_output.jsonl", "--to", "multipl-e-output", "--benchmark", bench)
    assert 0 == done.code, done.err
    assert [RIGHT, WRONG, WRONG] == [row["generation"] for row in shell.rows("pred_js_output.jsonl")]


@pytest.mark.ci
@pytest.mark.skipif(not shutil.which("node"), reason="needs node: apt install nodejs")
def test_folder_is_judged(shell, bench, folder):
    """Its programs are judged without the tests that they end with; the run goes back into such a folder."""
    done = shell("judge", "res", "--benchmark", bench, "--json")
    assert 0 == done.code, done.err
    assert (1, 2) == (done.record["statuses"]["passed"], done.record["statuses"]["failed"])
    compared = shell("compare", "res.passcurve", "res/own_0.results.json.gz", "-k", "1", "--json")
    assert 0 == compared.code, compared.err
    assert 0 == shell("convert", "res.passcurve", "new", "--to", "multipl-e", "--benchmark", bench).code
    written = json.loads((shell.folder / "new" / "own_0.results.json").read_text())["results"]
    assert ["OK", "Exception", "Exception"] == [row["status"] for row in written]
    assert [row["program"] for row in folder["results"]] == [row["program"] for row in written]


def test_results_with_a_task_id(shell, folder):
    """A file of one problem is read by itself as in its folder, whatever other fields it has."""
    path = shell.folder / "res" / "own_0.results.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"task_id": "HumanEval/0", **folder}).encode()))
    for name in ("res", path):
        assert {"passed": 1, "failed": 1, "timeout": 1} == shell("show", name, "-k", "1", "--json").record["statuses"]


def test_results_of_two_kinds_of_instructions(shell, folder):
    """CanItEdit keeps results for both kinds in one folder: they have no joint score, and the id names the problem."""
    for kind in ("lazy", "descriptive"):
        document = folder | {"instr_kind": kind, "id": 10}
        (shell.folder / "res" / f"{kind}.results.json").write_text(json.dumps(document))
    (shell.folder / "res" / "own_0.results.json.gz").unlink()
    done = shell("show", "res")
    assert (2, True) == (done.code, "lazy" in done.err)
    assert 0 == shell("convert", "res/lazy.results.json", "o.jsonl", "--to", "jsonl").code
    assert {"10"} == {row["task_id"] for row in shell.rows("o.jsonl")}


def test_ok_with_another_exit_status(shell, folder):
    """A result counts as passed with the status OK and exit status 0 only, as MultiPL-E's ``pass_k.py`` has it."""
    right = folder["results"][0]
    rows = [right | {"exit_code": code} for code in (0, 1, -1)]
    path = shell.folder / "own_0.results.json"
    path.write_text(json.dumps(folder | {"results": rows}))
    assert {"passed": 1, "failed": 2} == shell("show", path, "-k", "1", "--json").record["statuses"]


def test_details(shell):
    """The details of Qwen's harness have verdicts and no programs: they are scored, and not judged."""
    rows = [
        [0, {"task_id": "own_0", "completion_id": 0, "result": "passed", "passed": True, "code": ""}],
        [1, {"task_id": "own_0", "completion_id": 1, "result": "failed: timed out", "passed": False, "code": ""}],
    ]
    (shell.folder / "d.json").write_text(json.dumps({"own_0": rows}))
    assert {"passed": 1, "timeout": 1} == shell("show", "d.json", "-k", "1", "--json").record["statuses"]


def test_refusals(shell, bench, folder):
    """Programs that do not end with their tests, damage, and a missing benchmark exit with 2 and name the place."""
    other = shell.folder / "other"
    other.mkdir()
    changed = folder | {"results": [folder["results"][0] | {"program": "1"}]}
    for content, hint in ((json.dumps(changed), "tests"), ("{", "own_0"), ('{"name": 1}', "results")):
        (other / "own_0.results.json").write_text(content)
        done = shell("show", "other")
        assert (2, False) == (done.code, "Traceback" in done.err)
        assert hint in done.err
    for form in ("multipl-e", "multipl-e-output"):
        done = shell("convert", "res", "x", "--to", form)
        assert (2, True) == (done.code, "--benchmark" in done.err)
        shell.write("strange.jsonl", [{"task_id": "own_7", "solution": "", "passed": False}])
        done = shell("convert", "strange.jsonl", "x", "--to", form, "--benchmark", bench)
        assert (2, True) == (done.code, "no problem 'own_7'" in done.err)
