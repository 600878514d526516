"""What the record of a report says in words, and how it is drawn: without a browser."""

from __future__ import annotations

import html
import re
from collections import Counter
from html import escape
from itertools import pairwise
from typing import Any

import pytest
from pages import Made, Reader, part, report

from passcurve.report.page.figures import curve_figure, rate_figure, scatter_figure, spread_figure
from passcurve.report.page.svg import Plot, Scale


@pytest.fixture(scope="module")
def pair(two_runs: Made) -> dict[str, Any]:
    """Return the comparison of the two runs."""
    (compared,) = two_runs.record["comparison"]["pairs"]
    return dict(compared)


def counted(name: str) -> list[int]:
    """Return the numbers in a name."""
    return [int(digits) for digits in re.findall("[0-9]+", name)]


@pytest.mark.nightly
def test_equal_differences_stand_in_the_order_of_their_numbers(pair: dict[str, Any]):
    """Of problems that decide alike, number 7 stands before number 30."""
    order = [(-round(abs(row["difference"]), 9), counted(row["problem_id"])) for row in pair["deciders"]]
    assert sorted(order) == order
    assert len({size for size, _ in order}) < len(order)


@pytest.mark.nightly
def test_parts_sum_up_to_the_difference(pair: dict[str, Any]):
    """What problems add where A leads and where B leads is the whole difference in pass@1."""
    first = pair["differences"][0]
    assert 1 == first["k"]
    assert pair["ahead"]["a"] + pair["ahead"]["b"] == pytest.approx(first["difference"])
    assert pair["ahead"]["b"] <= 0.0 <= pair["ahead"]["a"]
    for row in pair["deciders"]:
        assert row["part"] * len(pair["problems"]) == pytest.approx(row["difference"])


@pytest.mark.nightly
def test_a_difference_that_is_not_shown_says_what_would_be(pair: dict[str, Any]):
    """The reading names p and the difference that these runs would find: nobody takes it for a missing value."""
    for row in pair["differences"]:
        name = "adjusted p " if row["adjusted"] is not None else "p "
        assert f"({name}" in row["reading"]
        is_shown = (row["p"] if row["adjusted"] is None else row["adjusted"]) <= 0.05
        assert is_shown == row["reading"].startswith("Yes: ")
        assert is_shown or "found with 80 % power" in row["reading"]


def test_two_runs_of_one_model_are_named_so(pair: dict[str, Any], two_runs: Made):
    """Before any number stands that both runs name the same model, and what differs."""
    assert 'Both runs name the same model, "mutant:"; only run-seed differs.' == pair["same_model"]
    page = html.unescape(two_runs.page.read_text("utf-8"))
    assert page.index(pair["same_model"]) < page.index(pair["differences"][0]["reading"])


def test_a_lead_on_fewer_problems_is_said(pair: dict[str, Any]):
    """Where the better run is ahead on fewer problems, the record says so, and nowhere else."""
    for row in pair["differences"]:
        is_odd = (row["wins"] - row["losses"]) * row["difference"] < 0
        assert is_odd == bool(row["lead"])


def test_solve_rates_have_a_bar_for_each_count(two_runs: Made):
    """With few samples, c of n has a bar of its own: what is always solved shares none with what nearly is."""
    for run in two_runs.record["runs"]:
        rates = run["solve_rates"]
        assert (6, 7) == (rates["n"], len(rates["bins"]))
        assert (rates["never"], rates["always"]) == (rates["bins"][0], rates["bins"][-1])
    figure = str(rate_figure(two_runs.record["runs"]))
    assert all(f"with {c} of 6<" in figure for c in range(7))


def test_notes_of_several_runs_stand_once(two_runs: Made):
    """Nothing is said of a k that no column has, and what holds for both runs is said once."""
    page = two_runs.page.read_text("utf-8").partition('<section id="compare"')[0]
    assert "pass@100" not in page
    texts = [
        {text for name in ("pass@1", "pass@5") for text in run["scores"][name]["warnings"]}
        for run in two_runs.record["runs"]
    ]
    assert texts[0] & texts[1]
    for text in texts[0] & texts[1]:
        assert 1 == page.count(escape(text))
    whole = two_runs.page.read_text("utf-8").partition('<section id="provenance"')[2]
    assert 1 == whole.count("the unbiased estimator of Chen et al.")


def test_tokens_that_nobody_knows_are_no_zeros(two_runs: Made):
    """The generator of these runs counts no tokens."""
    view = two_runs.page.read_text("utf-8").partition('<section id="generation"')[2]
    assert 'title="not known">-<' in view
    assert "generated.completion_tokens" not in view


def test_settings_are_in_words(two_runs: Made):
    """Bytes have units, and a setting says what it means."""
    view = two_runs.page.read_text("utf-8").partition('<section id="provenance"')[2]
    assert "4294967296" not in view
    assert "<bdi>4 GiB</bdi>" in view
    assert "which time counts" in view


def test_dots_of_any_pair_have_its_colours_and_lead_to_its_runs(pair: dict[str, Any]):
    """A pair of the second and the third run is drawn in their colours, and its dots name them."""
    figure = str(scatter_figure(pair | {"numbers": [1, 2]}))
    assert "dot s0" not in figure
    assert {"dot s1", "dot s2"} <= set(re.findall(r"dot s\d", figure))
    assert "&amp;of=1,2" in figure


def test_a_limit_far_away_does_not_squeeze_the_values(two_runs: Made):
    """Memory of some MiB is not drawn on an axis up to GiB; the page says where the limit is instead."""
    run = two_runs.record["runs"][0]
    rows = [(run["name"], run["spreads"]["memory_mib"])]
    assert "limit" not in str(spread_figure(rows, "memory", 4096.0, "MiB"))
    near = 2 * run["spreads"]["memory_mib"]["most"]
    assert "limit" in str(spread_figure(rows, "memory", near, "MiB"))
    assert "The limit, 4,096 MiB, is far beyond the axis." in two_runs.page.read_text("utf-8")


@pytest.mark.parametrize(("low", "high"), [(1e-4, 3.2), (16.0, 34.0), (1e-7, 5000.0), (1.0, 20.0), (1.0, 8.0)])
def test_labels_of_an_axis_have_room(low: float, high: float):
    """No two labels of a logarithmic axis touch, and there are at least two."""
    figure = str(Plot(Scale(low, high, "log"), Scale(0.0, 1.0), size=(620, 240), labels=("x", "y")).render("figure"))
    labels = re.findall(r'class="tick" x="([\d.]+)" y="[\d.]+" text-anchor="middle">([^<]+)<', figure)
    assert len(labels) > 1
    assert low < 1.0 or low > 10.0 or labels[0][1] == "1"
    for (one, text), (other, more) in pairwise(labels):
        assert float(other) - float(one) > 4.5 * (len(text) + len(more))


def test_a_test_that_did_not_run_did_not_fail(two_runs: Made):
    """Where judging stopped at a test, the page says so, and does not count the tests behind it as failures."""
    stopped = 0
    for entry in part(Reader(two_runs.page), "texts-0").values():
        for group in (group for groups in entry["groups"] for group in groups if group.get("failed_test")):
            name, number, _, tests = group["failed_test"].rsplit(" ", 3)
            assert f"{name}: stopped at test {number} of {tests}, which did not pass" in group["suites"]
            stopped += 1
    assert stopped > 10


def test_a_bare_exception_goes_on_with_its_call(two_runs: Made):
    """In the list of samples an AssertionError without a text says what was called, returned and expected."""
    core = part(Reader(two_runs.page), "core")
    messages = [message for run in core["runs"] for message in run["messages"]]
    assert "AssertionError" not in messages
    assert any(re.match(r"AssertionError: \w+\(.*\), returned .*, expected ", message) for message in messages)


def test_causes_are_those_that_are_counted(two_runs: Made):
    """Counted from the columns of the page, each way to fail has as many samples as in the table."""
    core = part(Reader(two_runs.page), "core")
    for run, recorded in zip(core["runs"], two_runs.record["runs"], strict=True):
        columns = run["columns"]
        kinds = Counter(
            (core["statuses"][status], run["causes"][cause])
            for status, cause in zip(columns["status"], columns["cause"], strict=True)
            if core["statuses"][status] != "passed"
        )
        assert {(row["status"], row["cause"]): row["samples"] for row in recorded["failures"]} == kinds


def test_dots_say_a_value_as_the_tables_do():
    """The tooltip of a point writes a value near 0 or 1 as <.0001 or >.9999."""
    points = [{"k": k, "value": value, "low": None, "high": None} for k, value in ((1, 0.00001), (5, 0.99999))]
    figure = curve_figure([{"name": "a", "curves": {"pass@k": points}, "curve": None, "extrapolation": None}])
    assert ["a: pass@1 <.0001", "a: pass@5 >.9999"] == re.findall(r"a: pass@\d [<>][.0-9]+", html.unescape(str(figure)))


def test_each_sample_has_the_limit_of_its_problem(shell):
    """Where a benchmark sets a limit for each problem, a sample is shown with that, not with the usual one."""
    row = {"kind": "function", "prompt": "def f(a):\n", "entry_point": "f", "reference": "    return a\n"}
    row["test"] = "def check(candidate):\n    assert candidate(1) == 1\n"
    shell.write("b.jsonl", [{"id": f"T/{at}", **row, "timeout_s": limit} for at, limit in enumerate((4, 20))])
    shell.write("s.jsonl", [{"task_id": f"T/{at}", "completion": row["reference"]} for at in (0, 1) for _ in range(2)])
    for words, limits, shared in (((), [4, 20], True), (("--timeout", 5, "--no-dedup"), [5, 5], False)):
        assert 0 == shell("judge", "s.jsonl", "--benchmark", "b.jsonl", *words).code
        (run,) = part(Reader(report(shell, "s.jsonl").page), "core")["runs"]
        assert (limits, shared) == (run["limits_s"], run["dedup"])


def test_a_program_that_is_not_here_is_none_without_code(shell, starter):
    """Where the samples or the benchmark have gone, the page says so, and takes no program for a text without code."""
    shell.write("b.jsonl", [starter.problems["starter/0"]])
    text = f"```python\n{starter.problems['starter/0']['prompt']}{starter.right('starter/0')['completion']}```\n"
    rows = [{"task_id": "starter/0", "solution": text}, {"task_id": "starter/0", "completion": ""}]
    shell.write("s.jsonl", rows)
    words = ("judge", "s.jsonl", "--benchmark", "b.jsonl", "--extract", "auto", "--accept-input")
    assert 0 == shell(*words).code
    whole = Reader(report(shell, "s.jsonl").page)
    assert "1 of 1 different programs" in (shell.folder / "report.html").read_text("utf-8")
    assert [None, None] == [group.get("missing") for group in part(whole, "texts-0")["0"]["groups"][0]]
    for gone in ("s.jsonl", "b.jsonl"):
        (shell.folder / gone).rename(shell.folder / f"away-{gone}")
        groups = part(Reader(report(shell, "s.jsonl.passcurve").page), "texts-0")["0"]["groups"][0]
        assert all(gone in group["missing"] for group in groups), groups


def test_models_past_n_are_those_that_have_a_value(shell):
    """With unequal numbers of samples one of the four models says nothing, and the record counts three."""
    for more, models in ((0, 4), (1, 3)):
        sizes = [4 + more * at for at in range(6)]
        rows = [{"task_id": f"T/{at}", "passed": (at + i) % 3 == 0} for at, n in enumerate(sizes) for i in range(n)]
        shell.write("s.jsonl", rows)
        (run,) = shell("report", "s.jsonl", "--json").record["runs"]
        assert models == run["extrapolation"]["models"]
