"""What was found in the samples is said by every command that prints a number of theirs, in each of its forms."""

from __future__ import annotations

import pytest
from case import JUDGE, benchmark, right, write_rows

SAID = "without the indentation"
STRIPPED = [right(n, completion=f"y = {r}\nreturn x + {n}\n") for n in range(4) for r in range(2)]
SOUND = [right(n, completion=f"    y = {r}\n    return x + {n + n * r // 3}\n") for n in range(4) for r in range(2)]
"""Of which one is wrong: without any variance nothing can be planned."""


@pytest.fixture(scope="module")
def judged(shell_in, tmp_path_factory):
    """Judge samples in order, and samples whose indentation is lost, in a folder; no test changes these files."""
    shell = shell_in(tmp_path_factory.mktemp("judged"))
    write_rows(shell.folder / "b.jsonl", benchmark())
    for name, rows in (("ok.jsonl", SOUND), ("s.jsonl", STRIPPED)):
        write_rows(shell.folder / name, rows)
        shell("judge", name, *JUDGE[2:])
    return shell


@pytest.mark.ci
@pytest.mark.parametrize("second", ["s.jsonl", "s.jsonl_results.jsonl"])
def test_a_comparison_says_what_is_wrong_with_a_run(judged, second):
    """As text above the numbers, and as a record with the name of the run."""
    text = judged("compare", "ok.jsonl", second).out
    assert 0 < text.index(SAID) < text.index("pass@1")
    assert "s.jsonl" in next(line for line in text.splitlines() if SAID in line)
    (fault,) = judged("compare", "ok.jsonl", second, "--json").record["findings"]
    assert ("lost_indentation", 8) == (fault["name"], fault["rows"])
    assert "s.jsonl" in fault["run"]
    assert SAID in fault["text"]


@pytest.mark.parametrize("words", [("plan", "ok.jsonl", "s.jsonl"), ("match", "s.jsonl", "--metric", "exact")])
def test_a_plan_and_a_match_say_it(judged, words):
    """As text and as a record."""
    assert SAID in judged(*words).out
    assert ["lost_indentation"] == [fault["name"] for fault in judged(*words, "--json").record["findings"]]


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "csv"])
@pytest.mark.parametrize("words", [("show", "s.jsonl"), ("show", "s.jsonl_results.jsonl"), ("report", "s.jsonl")])
def test_a_table_says_it(judged, words, form):
    """In the output itself, which is what is kept."""
    assert SAID in judged(*words, "--format", form).out


def test_a_table_of_sound_samples_says_nothing(judged):
    """No line stands beside the table."""
    assert all(line.startswith("|") for line in judged("show", "ok.jsonl", "--format", "markdown").out.splitlines())


def test_results_that_were_judged_again_keep_no_old_finding(judged):
    """The first row has the findings of its own run only."""
    rows = (judged.folder / "s.jsonl_results.jsonl").read_text("utf-8").replace("return", "    return")
    (judged.folder / "again.jsonl").write_text(rows.replace("y = ", "    y = "), "utf-8")
    record = judged("judge", "again.jsonl", *JUDGE[2:], "--json").record
    assert (1.0, []) == (record["pass@1"]["value"], record["input"]["findings"])
    assert "findings" not in (judged.folder / "again.jsonl_results.jsonl").read_text("utf-8")


@pytest.mark.ci
def test_rows_that_are_lost_stand_beside_the_score(judged):
    """The line of counts says how many rows no score counts, when they are judged and when they are shown."""
    text = (judged.folder / "ok.jsonl").read_text("utf-8").splitlines()
    (judged.folder / "lost.jsonl").write_text("\n".join([text[0] + text[1], *text[2:], "{}"]) + "\n", "utf-8")
    done = judged("judge", "lost.jsonl", *JUDGE[2:], "--subset")
    assert "two objects in one line: a new line is missing before column" in done.err
    assert "; 2 of 8 rows unread, which no score counts" in done.out
    assert "; 2 of 8 rows unread, which no score counts" in judged("show", "lost.jsonl").out
    assert 2 == judged("show", "lost.jsonl", "--json").record["input"]["unread"]


@pytest.mark.nightly
def test_an_interval_and_a_p_that_disagree_are_joined(shell):
    """Six wins of ten have p .03, and an interval that holds 0."""
    write_rows(shell.folder / "b.jsonl", benchmark(10))
    lost = {0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    for name, fewer in (("a.jsonl", {}), ("s.jsonl", lost)):
        rows = [
            right(n, completion=f"    y = {r}\n    return {'None' if r < fewer.get(n, 0) else f'x + {n}'}\n")
            for n in range(10)
            for r in range(2)
        ]
        write_rows(shell.folder / name, rows)
        shell("judge", name, *JUDGE[2:])
    out = shell("compare", "a.jsonl", "s.jsonl").out
    assert "95% CI, new problems: -" in out
    assert "p .03" in out
    assert "disagree: it is undecided" in out
    shell("report", "a.jsonl.passcurve", "s.jsonl.passcurve", "-o", "r.html")
    page = (shell.folder / "r.html").read_text("utf-8")
    assert "Undecided: the interval and the p-value" in page
    assert "is better on problems like these" not in page
    assert "disagree" not in shell("compare", "a.jsonl", "a.jsonl").out


def test_python_says_what_results_hold(judged):
    """``load`` of a file of results shows it."""
    import passcurve

    assert SAID in repr(passcurve.load(judged.folder / "s.jsonl_results.jsonl"))


@pytest.mark.ci
def test_a_benchmark_under_another_name_is_the_same(judged):
    """Two files with the same problems make no difference between runs."""
    write_rows(judged.folder / "other.jsonl", benchmark())
    write_rows(judged.folder / "o.jsonl", SOUND)
    judged("judge", "o.jsonl", "--benchmark", "other.jsonl", *JUDGE[4:])
    (pair,) = judged("compare", "ok.jsonl", "o.jsonl", "--json").record["pairs"]
    assert [] == [text for text in pair["differs"] if text.startswith("benchmark")]
