"""What was judged, in a notebook: tables that agree with the verdicts, and HTML that no model can write into."""

from __future__ import annotations

import html
import math
import re

import numpy as np
import pytest

import passcurve as pc
from passcurve.errors import DataError, ModelError, StoreError, UsageError

HOSTILE = "    raise ValueError('<script>alert(1)</script>')\n"


@pytest.fixture(scope="module")
def folder(shell_in, tmp_path_factory, starter):
    """Judge three samples of two problems; one of them fails with a message that would be a script."""
    shell = shell_in(tmp_path_factory.mktemp("loaded"))
    rows = [starter.right(), {"task_id": "starter/0", "completion": HOSTILE}, starter.bad("starter/1")]
    shell.write("s.jsonl", rows)
    assert 0 == shell("judge", "s.jsonl", "--benchmark", "starter", "--subset", "--k", "1").code
    assert 0 == shell("match", "s.jsonl", "--metrics", "exact").code
    return shell.folder


@pytest.mark.ci
def test_a_run_has_its_scores(folder):
    """The estimates are those of the counts, and a k above n has a reason and no value."""
    run = pc.load(folder / "s.jsonl", [1, 2])
    assert [("pass@1", 0.25), ("pass@2", None)] == [(row["name"], row["value"]) for row in run.scores]
    assert run.scores.columns["reason"][1]
    counts = [(problem.problem_id, problem.n, problem.c) for problem in run.counts]
    assert [("starter/0", 2, 1), ("starter/1", 1, 0)] == counts
    assert "benchmark:starter@" in run.signature


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.passcurve"])
def test_each_sample_has_its_verdict_and_its_likeness(folder, name):
    """The table of samples has a row for each verdict, with what match kept beside it."""
    samples = pc.load(folder / name).samples
    assert [True, False, False] == samples.columns["passed"]
    assert [1.0, 0.0, 0.0] == samples.columns["exact"]
    assert ["passed", "failed", "failed"] == samples.columns["status"]


def test_problems_have_pass_at_k_as_far_as_it_exists(folder):
    """Beside n and c stands pass@k, NaN where k is above n."""
    problems = pc.load(folder / "s.jsonl", [1, 2]).problems
    assert [0.5, 0.0] == problems.columns["pass@1"]
    assert 1.0 == problems.columns["pass@2"][0]
    assert math.isnan(problems.columns["pass@2"][1])


def test_what_models_wrote_is_escaped(folder):
    """No message of a sample becomes a mark-up of the page."""
    shown = pc.load(folder / "s.jsonl").samples._repr_html_()
    assert "<script>" not in shown
    assert html.escape("<script>alert(1)</script>") in shown


def test_a_notebook_shows_scores_and_signature(folder):
    """The run shows itself as a table with intervals, reasons and its signature."""
    shown = pc.load(folder / "s.jsonl", [1, 9])._repr_html_()
    assert "<td>pass@1</td><td>.2500</td>" in shown
    assert "k=9 needs 9 samples" in shown
    assert "signature: benchmark:starter@" in shown
    assert "pass@1" in repr(pc.load(folder / "s.jsonl"))


def test_a_long_table_shows_its_first_rows():
    """Twenty rows are shown and the others counted; iterating gives all."""
    table = pc.Table({"a": list(range(30)), "b": ["x" * 200] * 30})
    shown = table._repr_html_()
    assert "... and 10 more" in shown
    assert "x" * 101 not in shown
    assert (30, {"a": 29, "b": "x" * 200}) == (len(table), list(table)[-1])
    assert "Table(30 rows: a, b)" == repr(table)


def test_tables_become_arrow(folder):
    """Each table becomes an Arrow table with the same columns."""
    pytest.importorskip("pyarrow", reason="Arrow tables need the extra tables")
    run = pc.load(folder / "s.jsonl", [1, 2])
    for table in (run.scores, run.problems, run.samples):
        assert list(table.columns) == table.arrow().column_names
        assert len(table) == table.arrow().num_rows


def test_tables_become_data_frames(folder):
    """Each table becomes a data frame with the same values."""
    pytest.importorskip("pandas", reason="data frames need the extra tables")
    run = pc.load(folder / "s.jsonl", [1, 2])
    assert [True, False, False] == run.samples.pandas()["passed"].tolist()
    assert [2, 1] == run.problems.pandas()["n"].tolist()


@pytest.mark.parametrize(("package", "method"), [("pyarrow", "arrow"), ("pandas", "pandas")])
def test_what_is_missing_says_how_to_install_it(package, method, monkeypatch):
    """Without the package the table itself stands, and the conversion names the command that installs it."""
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(UsageError, match=r"pip install 'passcurve\[tables\]'"):
        getattr(pc.Table({"a": [1]}), method)()


def test_an_estimate_has_a_name(folder):
    """``run["pass@1"]`` is the estimate, and its float is its value; others are computed when they are named."""
    run = pc.load(folder / "s.jsonl", 1)
    assert 0.25 == run["pass@1"].value == float(run["pass@1"])
    assert run["pass@1"].new_problems.low < 0.25 < run["pass@1"].new_problems.high
    assert ("pass^1", 0.25) == (run["pass^1"].name, run["pass^1"].value)
    with pytest.raises(ValueError, match="k=2"):
        float(run["pass@2"])


@pytest.mark.parametrize("name", ["pass@k", "pas@1", "pass@1,pass@2"])
def test_a_name_that_is_no_estimate_is_refused(folder, name):
    """A name without k, of no metric, or of several is an error of usage."""
    with pytest.raises(UsageError):
        _ = pc.load(folder / "s.jsonl", 1)[name]


def test_equal_signatures_have_one_digest(folder):
    """The digest is twelve characters, the same for the same signature."""
    run = pc.load(folder / "s.jsonl", 1)
    assert re.fullmatch("[0-9a-f]{12}", run.digest)
    assert run.digest == pc.load(folder / "s.jsonl.passcurve", (1, 2)).digest
    assert {"passed": 1, "failed": 2} == run.statuses


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_run_draws_its_curve(folder, tmp_path, theme):
    """``plot`` returns a figure of pass@k against k and writes the file that it is given."""
    pytest.importorskip("matplotlib", reason="plots need the extra plots")
    figure = pc.load(folder / "s.jsonl", 1).plot(tmp_path / "curve.svg", theme=theme)
    assert "pass@k" == figure.axes[0].get_ylabel()
    assert b"<svg" in (tmp_path / "curve.svg").read_bytes()


@pytest.mark.parametrize("words", [{"path": "curve.txt"}, {"theme": "pink"}])
def test_a_picture_that_cannot_be_is_refused(folder, words):
    """An unknown format and an unknown theme are errors of usage."""
    pytest.importorskip("matplotlib", reason="plots need the extra plots")
    with pytest.raises(UsageError):
        pc.load(folder / "s.jsonl", 1).plot(**words)


def test_a_file_of_results_has_scores_and_no_samples(folder):
    """Of a file of results the counts are known; its samples stand in the file."""
    run = pc.load(folder / "s.jsonl_results.jsonl", [1])
    assert 0.25 == run.estimates[0].value
    with pytest.raises(DataError, match="no run directory"):
        _ = run.samples


def test_values_of_other_verdicts_are_not_shown(folder, tmp_path):
    """Values that belong to an older judging are left out; a damaged file is said."""
    import shutil

    copy = shutil.copytree(folder / "s.jsonl.passcurve", tmp_path / "copy")
    kept = copy / "match.jsonl"
    text = kept.read_text("utf-8")
    kept.write_text(text.replace('"verdicts":"', '"verdicts":"0'), "utf-8")
    assert "exact" not in pc.load(copy).samples.columns
    kept.write_text(text + "{", "utf-8")
    with pytest.raises(StoreError, match=r"match\.jsonl"):
        _ = pc.load(copy).samples


@pytest.mark.parametrize(("words", "error"), [(("none",), DataError), (("none", []), UsageError)])
def test_what_is_not_there_is_said(words, error):
    """A file that is not there and an empty list of k are errors of ours."""
    with pytest.raises(error):
        pc.load(*words)


def test_a_text_for_stop_is_one_word(tmp_path, monkeypatch):
    """A stop word alone is not taken apart, and one without a character is refused."""
    monkeypatch.chdir(tmp_path)
    run = pc.generate("starter", model="mutant:", n=1, problems="0,1", k=1, stop="\ndef")
    assert pc.generate("starter", model="mutant:", n=1, problems="0,1", k=1, stop=("\ndef",)).path == run.path
    for stop in ("", ["\ndef", ""], [1]):
        with pytest.raises(UsageError, match="stop words"):
            pc.generate("starter", model="mutant:", n=1, problems="0,1", stop=stop)
    for wrong in ({"top_p": 5.0}, {"max_tokens": -1}, {"seed": 1.5}, {"max_retries": -1}, {"rpm": 0}, {"tpm": "9"}):
        with pytest.raises(UsageError):
            pc.generate("starter", model="mutant:", n=1, problems="0,1", **wrong)


def test_why_a_function_gave_nothing(tmp_path, monkeypatch):
    """A function that always raises is a ModelError with its exception as the cause; one that raises once is noted."""
    monkeypatch.chdir(tmp_path)

    def never(_):
        raise RuntimeError("never\nin two lines")

    with pytest.raises(ModelError, match="never in two lines") as caught:
        pc.evaluate(never, "starter", n=1, problems="0-4")
    assert isinstance(caught.value.__cause__, RuntimeError)
    calls = []

    def once(_):
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("once")
        return np.str_("    return 1\n")

    run = pc.evaluate(once, "starter", n=1, problems="0-4")
    assert any("once" in note for note in run.notes)
