"""The commands that look: ``show``, ``bench`` and ``doctor``."""

from __future__ import annotations

import importlib
import json
import os
import py_compile
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
import typer

from passcurve.cli.output import handle_errors


def first_with_status(judged, status: str) -> tuple[str, int]:
    """Return problem and index of the first sample with a status."""
    seen: dict[str, int] = {}
    for row in judged.rows:
        index = seen.get(row["task_id"], 0)
        if row["status"] == status:
            return row["task_id"], index
        seen[row["task_id"]] = index + 1
    raise AssertionError(f"no {status} among the examples")


PYTHON = {"id": "p", "kind": "cases", "entry_point": "f", "inputs": [[1]], "expected": [1]}
BASH = {"id": "b", "kind": "script", "language": "sh", "tests": "f || exit 1\n"}


class TestShow:
    """``passcurve show``."""

    def test_all_samples_of_a_problem(self, judged):
        """Without an index each sample of the problem has a line with its number, status and message."""
        done = judged.shell("show", "starter-examples.passcurve", "starter/0")
        expected = [row["status"] for row in judged.rows if row["task_id"] == "starter/0"]
        assert (0, "") == (done.code, done.err)
        assert [f"starter/0 {i} {status}" for i, status in enumerate(expected)] == [
            " ".join(line.split()[:3]) for line in done.out.splitlines()
        ]

    @pytest.mark.nightly
    @pytest.mark.parametrize("stored", ["starter-examples.passcurve", "starter-examples_results.jsonl"])
    def test_the_counts_of_verdicts(self, judged, stored):
        """The samples of each status are counted as the run that judged them has counted."""
        statuses = {status: count for status, count in judged.done.record["statuses"].items() if count}
        done = judged.shell("show", stored, "--json")
        assert statuses == done.record["statuses"]
        assert f"  {statuses['passed']} passed, " in judged.shell("show", stored).out

    def test_one_sample(self, judged, starter):
        """With an index the status, the prompt, the program and the limits are shown."""
        task, index = first_with_status(judged, "failed")
        done = judged.shell("show", "starter-examples.passcurve", task, index)
        row = [row for row in judged.rows if row["task_id"] == task][index]
        assert 0 == done.code
        assert done.out.startswith(f"{task} sample {index}: failed - ")
        text = row.get("completion") or row["solution"]
        for part in (starter.problems[task]["prompt"], text):
            assert all(line.rstrip() in done.out for line in part.splitlines())
        assert all(title in done.out for title in ("prompt:\n", "program (", "mode referee", "isolation "))

    @pytest.mark.ci
    def test_the_failing_call(self, shell, starter):
        """A wrong answer is shown with the call of the tests, its outcome, and the failing line of the tests."""
        shell.write("s.jsonl", [starter.bad()])
        shell("judge", "s.jsonl", "--subset")
        done = shell("show", "s.jsonl", "0", "0")
        assert "last call:\n    boxes_needed(13, 6)\n    -> returned None\n" in done.out
        assert "at this line of the tests:\n    assert candidate(13, 6) == 3\n" in done.out
        assert "exception:\n    AssertionError" in done.out

    def test_an_exception_of_the_program_itself(self, shell, starter):
        """``show`` tells an exception that a program raises while it is loaded from one in a call."""
        shell.write("s.jsonl", [starter.right() | {"completion": "    return 1\nraise ValueError(1)\n"}])
        shell("judge", "s.jsonl", "--subset", "--accept-input")
        done = shell("show", "s.jsonl", "0", "0")
        assert "exception, before the tests called the program:\n    ValueError: 1" in done.out

    def test_the_limit_of_a_problem(self, shell):
        """Where problems have time limits of their own, a sample is shown and judged again with that of its problem."""
        problem = {"kind": "assertions", "entry_point": "two", "statement": "Return 2.", "tests": ["assert two() == 2"]}
        limits = {"P/0": 2.5, "P/1": 7.0}
        shell.write("p.jsonl", [problem | {"id": name, "timeout_s": limit} for name, limit in limits.items()])
        shell.write("s.jsonl", [{"task_id": name, "solution": "def two():\n    return 2\n"} for name in limits])
        shell("judge", "s.jsonl", "--benchmark", "p.jsonl")
        for name, limit in limits.items():
            assert f" s of {limit:g} s own time" in shell("show", "s.jsonl", name, 0).out
            (verdict,) = shell("show", "s.jsonl", name, 0, "--json").record["verdicts"]
            assert limit == verdict["limits"]["timeout_s"]
            assert f" s of {limit:g} s own time" in shell("show", "s.jsonl", name, 0, "--rerun").out
        assert " s of 1 s own time" in shell("show", "s.jsonl", "P/1", 0, "--rerun", "--timeout", 1).out

    @pytest.mark.parametrize("run", ["starter-examples.passcurve", "starter:examples"])
    def test_ways_to_name_a_run(self, judged, run):
        """A run is named by its directory or its file of samples, a problem also by its last part."""
        assert judged.shell("show", run, "starter/0").out == judged.shell("show", run, "0").out
        assert judged.shell("show", run, "0").out.startswith("starter/0   0  passed")

    @pytest.mark.parametrize(
        ("words", "folder"),
        [
            (("autopsy", "starter-kinds:examples", "--policies", "raw,auto"), "starter-kinds-examples.autopsy"),
            (("profiles", "starter-kinds:examples", "--profiles", "native,lcb"), "starter-kinds-examples.profiles"),
            (("convert", "starter-kinds:examples", "to.jsonl", "--to", "jsonl"), "to.jsonl"),
        ],
    )
    def test_shipped_samples(self, shell, words, folder):
        """Commands that read samples accept the name of built-in ones, judged or not."""
        done = shell(*words, "--json")
        assert (0, True) == (done.code, (shell.folder / folder).exists())
        assert 2 == shell(words[0], "starter-kinds:example", *words[2:]).code

    def test_json(self, judged):
        """--json prints one object with a list of verdicts, each with its program."""
        done = judged.shell("show", "starter:examples", "starter/0", "--json")
        expected = [row["status"] for row in judged.rows if row["task_id"] == "starter/0"]
        assert expected == [verdict["status"] for verdict in done.record["verdicts"]]
        first = done.record["verdicts"][0]
        assert {"problem_id": "starter/0", "sample_index": 0} == first["key"]
        assert first["prompt"] + "    return -(-eggs // size)\n" == first["program"]
        assert 1.0 == first["limits"]["timeout_s"]
        one = judged.shell("show", "starter:examples", "starter/0", "2", "--json").record
        assert done.record["verdicts"][2:3] == one["verdicts"]

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["starter:examples", "starter/4x"], r"'starter/4x'.*'starter/4\d?'"),
            (["starter:examples", "starter/0", "99"], r"'starter/0' .*\b99\b.*\b0 to 9\b"),
            (["starter:examples", "starter/0", "-1"], r"-1"),
        ],
    )
    def test_missing_problem_or_sample(self, judged, words, message):
        """A problem or a sample without a verdict exits with 2, with the nearest name or the range."""
        done = judged.shell("show", *words)
        assert (2, "") == (done.code, done.out)
        assert re.search(message, done.err)

    def test_the_last_part_of_two_ids(self, shell):
        """A last part that two problems share is refused with their ids."""
        problem = {"kind": "assertions", "entry_point": "two", "statement": "Return 2.", "tests": ["assert two() == 2"]}
        names = ("A/1", "B/1")
        shell.write("p.jsonl", [problem | {"id": name} for name in names])
        shell.write("s.jsonl", [{"task_id": name, "solution": "def two():\n    return 2\n"} for name in names])
        shell("judge", "s.jsonl", "--benchmark", "p.jsonl")
        done = shell("show", "s.jsonl", "1", "0")
        assert (2, "") == (done.code, done.out)
        assert "A/1, B/1; name one" in done.err
        assert 0 == shell("show", "s.jsonl", "B/1", "0").code

    def test_no_run(self, shell):
        """A missing run is refused in one line that names its directory."""
        done = shell("show", "nothing.jsonl", "starter/0", "--json")
        assert done.code in (1, 2)
        assert "nothing.jsonl.passcurve" in done.record["error"]
        assert re.fullmatch(r"passcurve: .*\n", done.err)

    def test_results_without_a_run(self, shell):
        """Results that no run stands beside have scores, and of their samples the message says where they would be."""
        shell.write("r.jsonl", [{"task_id": "P/0", "passed": True}])
        done = shell("show", "r.jsonl", "P/0", "--json")
        assert (2, 0) == (done.code, shell("show", "r.jsonl").code)
        assert re.search(r"'r.jsonl' has no run directory 'r.jsonl.passcurve'.*judge it first", done.record["error"])

    def test_results_of_excluded_problems_alone(self, shell):
        """Without a problem that counts there is no score, and the exit code says so."""
        shell.write("r.jsonl", [{"task_id": "P/0", "passed": True, "excluded": "its reference fails"}])
        done = shell("show", "r.jsonl", "--json")
        assert (2, None) == (done.code, done.record["pass@1"]["value"])

    @pytest.mark.ci
    def test_missing_samples(self, shell, starter):
        """Without the file of samples the verdict is shown, and why there is no program."""
        path = shell.write("s.jsonl", [starter.right(), starter.bad()])
        shell("judge", "s.jsonl", "--subset")
        path.unlink()
        done = shell("show", "s.jsonl.passcurve", "starter/0", "1")
        assert 0 == done.code
        assert "starter/0 sample 1: failed" in done.out
        assert re.search(r"program: no file '.*s\.jsonl'", done.out)
        record = shell("show", "s.jsonl.passcurve", "starter/0", "1", "--json").record["verdicts"][0]
        assert (None, "failed") == (record["program"], record["status"])

    @pytest.mark.ci
    def test_changed_samples(self, shell, starter):
        """When a row has changed since it was judged, its new program is not shown."""
        shell.write("s.jsonl", [starter.right()])
        shell("judge", "s.jsonl", "--subset")
        shell.write("s.jsonl", [starter.bad()])
        done = shell("show", "s.jsonl.passcurve", "starter/0", "0", "--stale")
        assert "starter/0 sample 0: passed" in done.out
        assert "return None" not in done.out

    @pytest.mark.ci
    def test_evil_text_cannot_steer_the_terminal(self, shell):
        """Escape sequences in a program and in its messages are shown as text."""
        evil = "    raise ValueError('\\x1b[2J\\x1b]0;owned\\x07')  # \x1b[31m\u202e\n"
        shell.write("s.jsonl", [{"task_id": "starter/0", "completion": evil}])
        shell("judge", "s.jsonl", "--subset")
        text = shell("show", "s.jsonl", "0", "0").out + shell("show", "s.jsonl", "0").out
        assert "owned" in text
        assert not re.search("[\x1b\x07\u202e]", text)


class TestBench:
    """``passcurve bench``."""

    def test_list(self, shell):
        """The list has each known benchmark with how to get it, as text and as JSON."""
        done = shell("bench", "list")
        assert 0 == done.code
        assert re.search(r"(?m)^starter +47 problems +Apache-2\.0 +built-in$", done.out)
        assert re.search(r"(?m)^humaneval +164 problems +MIT", done.out)
        names = [benchmark["name"] for benchmark in shell("bench", "list", "--json").record["benchmarks"]]
        assert ["starter", "humaneval"] == names[:2]

    def test_fetch_without_a_network(self, shell):
        """Without a network, fetching exits with 1 and says where to put the file; no partial file is left."""
        try:
            socket.create_connection(("github.com", 443), timeout=3).close()
        except OSError:
            pass
        else:
            pytest.skip("there is a network here")
        done = shell("bench", "fetch", "humaneval", "--json")
        assert 1 == done.code
        assert re.search(r"'humaneval' .*https://.*'.*humaneval.*'.*--benchmark FILE", done.err)
        assert 1 == done.record["exit_code"]
        assert [] == [path for path in (shell.folder / "cache").rglob("*") if path.is_file()]

    @pytest.mark.parametrize(
        ("name", "message"),
        [("humanevl", "'humaneval'"), ("starter", "'starter'")],
    )
    def test_fetch_refuses(self, shell, name, message):
        """A name that is unknown or built in exits with 2."""
        done = shell("bench", "fetch", name)
        assert (2, "") == (done.code, done.out)
        assert message in done.err

    @pytest.mark.ci
    def test_check_starter(self, shell):
        """Every problem of the built-in benchmark is judged in referee mode, and none is faulty."""
        record = shell("bench", "check", "starter", "--json")
        assert 0 == record.code
        check = record.record
        assert (47, 0, {"referee": 47}) == (check["problems"], check["faulty"], check["modes"])
        assert {"passed"} == {problem["status"] for problem in check["checked"]}
        assert all(problem["calls"] > 0 and not problem["note"] for problem in check["checked"])

    @pytest.mark.nightly
    def test_check_reports_faults(self, shell):
        """Failing or hanging references and tests without a call are faults; live objects are notes."""
        prompt = "def f(x):\n"
        plain = "def check(candidate):\n    assert candidate(2) == 4\n"
        problems = {
            "good": (prompt, "    return 2 * x\n", plain),
            "wrong": (prompt, "    return x\n", plain),
            "slow": (prompt, "    while True: pass\n", plain),
            "vacuous": (prompt, "    return 2 * x\n", "def check(candidate):\n    assert True\n"),
            "broken": (prompt, "    return 2 * x\n", "def check(candidate):\n    assert (\n"),
            "no check": (prompt, "    return 2 * x\n", "assert True\n"),
            "live": (
                "class P:\n    def __init__(self, x): self.x = x\n\ndef f(x):\n",
                "    return P(x)\n",
                "def check(candidate):\n    assert candidate(2).x == 2\n    assert isinstance(candidate(2), P)\n",
            ),
            "inplace": (
                prompt,
                "    x.sort()\n",
                "def check(candidate):\n    a = [2, 1]\n    candidate(a)\n    assert a == [1, 2]\n",
            ),
            "none": (prompt, None, plain),
        }
        rows = [
            {
                "task_id": f"T/{name}",
                "prompt": prompt,
                "entry_point": "f",
                "test": test,
                "canonical_solution": reference,
            }
            for name, (prompt, reference, test) in problems.items()
        ]
        path = shell.write("b.jsonl", rows)
        done = shell("bench", "check", path.name, "--timeout", "0.5", "--json")
        notes = {problem["problem_id"][2:]: problem for problem in done.record["checked"]}
        assert 2 == done.code
        assert {"wrong", "slow", "vacuous", "broken", "no check"} == {name for name in notes if notes[name]["faulty"]}
        assert 5 == done.record["faulty"]
        assert "shared" == notes["live"]["mode"]
        assert "shared mode" in notes["live"]["note"]
        assert ("referee", "passed") == (notes["inplace"]["mode"], notes["inplace"]["status"])
        assert "handed back" in notes["inplace"]["note"]
        assert ("no_reference", False) == (notes["none"]["status"], notes["none"]["faulty"])
        assert "failed (AssertionError" in notes["wrong"]["note"]
        assert "timeout" in notes["slow"]["note"]
        assert "the tests pass" in notes["vacuous"]["note"]
        report = shell("bench", "check", path.name, "--timeout", "0.5")
        assert 2 == report.code
        assert "T/wrong: FAULT: " in report.out
        assert "b: 9 problems, 3 in referee mode, 1 in shared mode, 5 faulty" in report.out

    def test_check_without_references(self, shell):
        """Where nothing is run, no time is told; a note names shared mode only where that can judge otherwise."""
        test = (
            "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(1), 1)\n"
        )
        answer = {"asks": "output", "code": "def f(x):\n    return x\n", "input": "1", "output": "1"}
        shell.write(
            "u.jsonl", [{"id": "a", "kind": "unittest", "test": test}, {"id": "b", "kind": "expression"} | answer]
        )
        done = shell("bench", "check", "u.jsonl")
        assert 0 == done.code, done.err
        *lines, digest = done.out.splitlines()
        assert [
            "a: shared: no reference solution to calibrate with",
            "b: referee: no reference solution to calibrate with",
            "u: 2 problems, 1 in referee mode, 1 in shared mode, 0 faulty",
        ] == lines
        assert digest.startswith("  digest: ")

    def test_check_without_inputs(self, shell):
        """Cases without an input are no tests, also where a reference is there."""
        cases = {"id": "c", "kind": "cases", "entry_point": "f", "inputs": [], "reference": "def f(x):\n    return x\n"}
        script = {"id": "s", "kind": "stdin", "inputs": [], "outputs": [], "reference": "print(input())\n"}
        shell.write("own.jsonl", [cases, script])
        done = shell("bench", "check", "own.jsonl")
        assert (2, ["c: FAULT: it has no tests", "s: FAULT: it has no tests"]) == (done.code, done.out.splitlines()[:2])

    def test_check_of_languages(self, shell):
        """Problems in Python and in another language are told to go into two files, for there is no --problems here."""
        shell.write("own.jsonl", [PYTHON, BASH])
        done = shell("bench", "check", "own.jsonl")
        assert (2, True) == (done.code, "1 problem is in Python and 1 in other languages; keep them in two" in done.err)

    def test_check_refuses_samples(self, shell, starter):
        """A file of samples in place of problems is refused as such."""
        shell.write("s.jsonl", [starter.right()])
        done = shell("bench", "check", "s.jsonl")
        assert (2, "") == (done.code, done.out)
        assert "samples file" in done.err

    def test_check_refuses_zero_workers(self, shell):
        """Zero workers are a usage error."""
        assert 2 == shell("bench", "check", "starter", "--workers", "0").code


class TestDoctor:
    """``passcurve doctor``."""

    def test_for_people(self, shell):
        """Doctor says which layers work, what is missing and what to do, and ends with the isolation there is."""
        done = shell("doctor")
        assert done.code in (0, 1)
        for layer in ("namespaces", "landlock", "seccomp"):
            line = re.search(rf"(?m)^  (works  |MISSING) {layer}: \S.*(\n +remedy: \S.*)?$", done.out)
            assert line
            assert (line[1] == "MISSING") is ("remedy" in line[0])
        assert done.out.splitlines()[-1].startswith("isolation: ")

    @pytest.mark.ci
    def test_json(self, shell):
        """--json prints one object with a list of verdicts, each with its program."""
        done = shell("doctor", "--json")
        record = done.record
        assert {
            "passcurve",
            "system",
            "python",
            "packages",
            "workers",
            "memory_bytes",
            "cache",
            "layers",
            "isolation",
        } <= (record.keys())
        assert {"namespaces", "landlock", "seccomp"} == record["layers"].keys()
        assert ("none" == record["isolation"]) is (done.code == 1)
        if record["isolation"] != "none":
            assert record["isolation"] == record["jail"]["isolation"]
        assert str(shell.folder / "cache") == record["cache"]

    def test_a_wrong_interpreter(self, shell):
        """A program that is not Python exits with 2 in one line."""
        done = shell("doctor", "--python", "/bin/true", "--json")
        assert 2 == done.code
        assert "--python '/bin/true'" in done.record["error"]
        assert 1 == len(done.out.splitlines())


@pytest.mark.parametrize(
    ("start", "remedy"),
    [
        (("unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"), "mount -t proc proc /proc"),
        (("setpriv", "--bounding-set=-setuid", "--inh-caps=-setuid"), "the capabilities SETUID and SETGID"),
    ],
    ids=["no /proc", "no CAP_SETUID"],
)
def test_remedies_of_a_container(shell, start, remedy):
    """``doctor`` names what root lacks in a container; it does not advise to become root."""
    is_there = os.geteuid() == 0 and shutil.which(start[0]) is not None
    if not is_there or subprocess.run([*start, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"{start[0]} is missing or refused: it needs root, and in a container the capability SYS_ADMIN")
    shell.before = start
    done = shell("doctor")
    assert remedy in done.out
    assert "run as root" not in done.out


@pytest.mark.parametrize("words", [["doctor"], ["bench", "list"], ["bench", "fetch", "nobody"], ["show", "no", "x"]])
def test_json_is_one_object(shell, words):
    """With --json every command prints exactly one object, also when it fails."""
    out = shell(*words, "--json").out
    assert 1 == out.count("\n")
    assert isinstance(json.loads(out), dict)


def test_damaged_bytecode_is_named(tmp_path, monkeypatch, capsys):
    """Bytecode of which a full disk has left a part is named with what to do, where it is loaded."""
    (tmp_path / "of_some_package.py").write_text("ONE = 1\n")
    bytecode = Path(py_compile.compile(str(tmp_path / "of_some_package.py")))
    bytecode.write_bytes(bytecode.read_bytes()[:40])
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(typer.Exit) as end, handle_errors(as_json=False):
        importlib.import_module("of_some_package")
    assert 1 == end.value.exit_code
    error = f"passcurve: the bytecode {str(bytecode)!r} is damaged, as a full disk may leave it: remove that file\n"
    assert error == capsys.readouterr().err
    with pytest.raises(EOFError), handle_errors(as_json=False):
        raise EOFError
