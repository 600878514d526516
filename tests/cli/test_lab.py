"""The lessons as commands: tables, JSON, pictures, and what they say when something is missing or wrong."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

LESSONS = {
    "estimators": ("--draws", "500"),
    "urn": (),
    "budget": ("run.jsonl", "--draws", "20", "--m", "8,4"),
    "temperature": ("--n", "10", "--m", "20"),
    "temperature run.jsonl cold.jsonl": ("--temperatures", "0.8,0.2"),
    "mixture": (),
    "mixture run.jsonl": ("--k", "1,2,4"),
}
"""Each lesson with the words it is called with here."""


def lessons(*slow: str) -> list:
    """Return the names of all lessons; leave the slow ones to the night."""
    return [pytest.param(name, marks=pytest.mark.nightly) if name in slow else name for name in LESSONS]


@pytest.fixture(autouse=True)
def run(shell):
    """Write a file of results: eight problems, six samples of each, more passes from problem to problem."""
    rows = [{"task_id": f"t/{task}", "passed": at < task} for task in range(8) for at in range(6)]
    shell.write("cold.jsonl", [{**row, "passed": row["task_id"] > "t/4"} for row in rows])
    return shell.write("run.jsonl", rows)


@pytest.mark.parametrize("name", lessons("budget", "estimators"))
def test_a_lesson_is_a_table_and_three_sentences(name, shell):
    """Each lesson prints a table and three sentences; its JSON has the sentences as ``says``."""
    words = ("lab", *name.split(), *LESSONS[name])
    done, sentences = shell(*words), shell(*words, "--json").record["says"]
    assert (0, "") == (done.code, done.err)
    assert [f"  {sentence}" for sentence in sentences] == done.out.splitlines()[-3:]
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_draws_pictures(name, shell):
    """Each lesson draws PNG and SVG; the SVG has its words as text and the same bytes each time."""
    pytest.importorskip("matplotlib", reason="pictures need the extra plots")
    plots = [word for path in ("a.svg", "again.svg", "a.png") for word in ("--plot", path)]
    assert 0 == shell("lab", *name.split(), *LESSONS[name], *plots).code
    shell("lab", *name.split(), *LESSONS[name], "--theme", "dark", "--plot", "dark.svg")
    svg, second, png, dark = (shell.folder / name for name in ("a.svg", "again.svg", "a.png", "dark.svg"))
    assert b"\x89PNG" == png.read_bytes()[:4]
    assert svg.read_bytes() == second.read_bytes() != dark.read_bytes()
    assert texts(svg) == texts(dark)
    assert len(texts(svg)) > 10


@pytest.mark.nightly
def test_without_matplotlib_only_pictures_are_missing(shell, hide_packages):
    """Without matplotlib each lesson prints its table; --plot names the command that installs it."""
    hide_packages("matplotlib")
    for name in LESSONS:
        assert 0 == shell("lab", *name.split(), *LESSONS[name]).code
    done = shell("lab", "urn", "--plot", "a.svg")
    assert (2, "") == (done.code, done.out)
    assert "pip install 'passcurve[plots]'" in done.err
    assert 1 == len(done.err.splitlines())


@pytest.mark.ci
@pytest.mark.parametrize("name", ["temperature", pytest.param("budget", marks=pytest.mark.nightly)])
def test_eighty_columns(name, shell, lines_on_terminal):
    """On a terminal of 80 columns the table of a lesson stands as in a file, and its sentences are wrapped."""
    words = ("lab", name, *LESSONS[name])
    lines = lines_on_terminal(shell, 80, *words)
    assert 80 >= max(map(len, lines))
    table = [line for line in shell(*words).out.splitlines() if line[:3] in ("   ", "  p")]
    assert len(table) > 4
    assert set(table) <= set(lines)


@pytest.mark.ci
def test_a_real_sweep_has_its_temperatures(shell):
    """Runs that were drawn at several temperatures are sorted by temperature."""
    words = ("run", "starter", "--model", "mutant:", "-n", "4", "--problems", "0,1,2,3", "--timeout", "1", "--k", "1,2")
    runs = shell(*words, "--temperature", "3,0.1", "--json").record["runs"]
    folders = [run["run"] for run in runs]
    sweep = shell("lab", "temperature", *folders, "--json").record
    assert [0.1, 3.0] == [curve["temperature"] for curve in sweep["curves"]]
    assert [runs[at][f"pass@{k}"]["value"] for at in (1, 0) for k in (1, 2)] == pytest.approx(
        [value for curve in sweep["curves"] for value in curve["value"][:2]]
    )
    assert (False, [1, 2], [1, 2]) == (sweep["simulated"], sweep["k"], [choice["k"] for choice in sweep["choices"]])
    same = shell("lab", "temperature", folders[0], folders[0])
    assert "temperature 3 " in same.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("urn -k 11", "k=11 .*n=10"),
        ("estimators --p 2", "p=2 "),
        ("estimators --n 5", "n=5 .*k=10"),
        ("estimators --n ten", "--n 'ten': 'ten'.*--n 10,20,50"),
        ("estimators --draws 1", "draws=1 "),
        ("temperature --temperatures hot", "--temperatures 'hot': 'hot'"),
        ("temperature --n 10 --k 20", "k=20 .*10 samples"),
        ("temperature run.jsonl", "'run.jsonl'.*--temperatures"),
        ("temperature run.jsonl cold.jsonl --temperatures 0.2", "--temperatures .*1 .*2 runs"),
        ("budget none.jsonl", "'none.jsonl'"),
        ("budget run.jsonl --k 7", "k=7 .*6 samples"),
        ("budget run.jsonl --n 7", "n=7 .*k=1 and 6"),
        ("mixture --model 0.5,1.5", "--model '0.5,1.5': '1.5'"),
        ("mixture --k 1000", "k=1000 .*n=100.*--n"),
        ("mixture run.jsonl --model 0.5", "--model"),
        ("urn --plot a.jpg", "a.jpg.*.svg, .png, .pdf"),
        ("urn --plot none/a.svg", "folder .*none"),
    ],
)
def test_bad_input_is_one_line(words, message, shell):
    """Bad input is refused in one line with exit code 2, before anything is printed or written."""
    done = shell("lab", *words.split())
    assert (2, "") == (done.code, done.out)
    assert re.search(message, done.err)
    assert 1 == len(done.err.splitlines())


def texts(path):
    """Return the words in a picture."""
    return [element.text for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_noise_with_unequal_samples_is_no_best_temperature(shell):
    """With 20 samples at one temperature and one at the other, sign flips alone would call noise a difference."""
    for name, n, passes in (("cold", 20, 7), ("hot", 1, 0)):
        rows = [{"task_id": f"p/{at}", "passed": at < passes and i == 0} for at in range(20) for i in range(n)]
        shell.write(f"{name}_results.jsonl", rows)
    done = shell("lab", "temperature", "cold_results.jsonl", "hot_results.jsonl", "--temperatures", "0.2,0.8")
    assert "2 temperatures, 20 problems, 1 to 20 samples of each" in done.out
    assert "heat costs" not in done.out
    assert "may be chance" in " ".join(done.out.split())
    twice = shell("lab", "temperature", "cold_results.jsonl", "hot_results.jsonl", "--temperatures", "0.2,0.2")
    assert "has temperature 0.2 like another run" in twice.err


def test_what_is_asked_for_is_not_left_out(shell):
    """A k above n is refused, and so is none by default; "up to" stands where n differs."""
    rows = [{"task_id": f"p/{at}", "passed": i % 2 == 0} for at in range(6) for i in range(20 if at == 0 else 2)]
    shell.write("r_results.jsonl", rows)
    refused = shell("lab", "mixture", "r_results.jsonl", "-k", "1,10")
    assert 2 == refused.code
    assert "k=10 exceeds the 2 samples" in refused.err
    assert 0 == shell("lab", "mixture", "r_results.jsonl").code
    assert "from up to 20 samples of each of 6 problems" in shell("lab", "budget", "r_results.jsonl").out
