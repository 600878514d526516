"""``show --plot`` and ``compare --plot``: pass@k against k with a band for each run."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

pytest.importorskip("matplotlib", reason="pictures need the extra plots")

from passcurve.report.curves import curve_sheet, legend_labels
from passcurve.report.plots import THEMES, render
from passcurve.types import Curve

RIGHT = "    return -(-eggs // size)\n"
WRONG = "    return 0\n"


def curve(ks: int, value: float = 0.5, level: float = 0.95) -> Curve:
    """Return a curve for k from 1, with a band of .1 to either side."""
    values = tuple(value for _ in range(ks))
    return Curve(
        k=tuple(range(1, ks + 1)),
        value=values,
        low=tuple(value - 0.1 for value in values),
        high=tuple(value + 0.1 for value in values),
        level=level,
        method="m",
        draws=0,
        seed=0,
    )


def texts(path) -> set[str]:
    """Return the words of an SVG."""
    return {
        "".join(node.itertext()).strip() for node in ET.fromstring(path.read_text()).iter() if node.tag.endswith("text")
    }


@pytest.fixture(scope="module")
def runs(shell_in, tmp_path_factory):
    """Return a shell with three judged runs of one problem: four samples, four others, and one alone."""
    shell = shell_in(tmp_path_factory.mktemp("runs"))
    for name, passes in (("a", [1, 0, 0, 0]), ("b", [1, 1, 0, 0]), ("one", [1])):
        rows = [{"task_id": "starter/0", "completion": RIGHT if right else WRONG} for right in passes]
        shell.write(f"{name}.jsonl", rows)
        assert 0 == shell("judge", f"{name}.jsonl", "--subset", "--k", "1").code
    return shell


@pytest.fixture(scope="module")
def runs_without_score(runs):
    """Add a run that lacks samples, and one whose benchmark is at fault."""
    runs.write("lacking.jsonl", [{"task_id": "starter/0", "completion": RIGHT}])
    runs("judge", "lacking.jsonl")
    broken = {"canonical_solution": "    return None\n", "entry_point": "f", "prompt": "def f():\n"}
    test = "def check(candidate):\n    assert candidate() == 1\n"
    sound = broken | {"canonical_solution": "    return 1\n"}
    problems = [{"task_id": f"Own/{at}", "test": test, **one} for at, one in enumerate((broken, sound))]
    runs.write("problems.jsonl", problems)
    runs.write("withheld.jsonl", [{"task_id": f"Own/{at}", "completion": "    return 1\n"} for at in (0, 1)])
    runs("judge", "withheld.jsonl", "--benchmark", "problems.jsonl")
    return runs


@pytest.mark.nightly
def test_show_draws_its_run(runs):
    """The picture has its axes, band and run as words; the scores are printed as without it."""
    done = runs("show", "a.jsonl", "--k", "1", "--plot", "a.svg", "--plot", "a.pdf", "--plot", "a.png")
    assert 0 == done.code
    assert runs("show", "a.jsonl", "--k", "1").out == done.out
    words = texts(runs.folder / "a.svg")
    assert {"pass@k", "1", "2", "4"} <= words
    assert any("a.jsonl" in word and "1 of 47 problems" in word for word in words)
    assert any(word.startswith("band: 95% CI") for word in words)
    assert b"%PDF" == (runs.folder / "a.pdf").read_bytes()[:4]
    assert b"\x89PNG" == (runs.folder / "a.png").read_bytes()[:4]


@pytest.mark.nightly
@pytest.mark.parametrize("ending", ["svg", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("pdf", "png"))])
def test_the_same_runs_give_the_same_bytes(runs, ending):
    """No date and no random name is in a picture."""
    words = ("compare", "a.jsonl", "b.jsonl", "one.jsonl")
    for name in ("first", "second"):
        assert 0 == runs(*words, "--plot", f"{name}.{ending}").code
    first, second = ((runs.folder / f"{name}.{ending}").read_bytes() for name in ("first", "second"))
    assert first == second


@pytest.mark.ci
def test_compare_draws_every_run_once(runs):
    """One legend names each run, a single k has its bar, and dark differs from light in colours alone."""
    words = ("compare", "a.jsonl", "b.jsonl", "one.jsonl", "--level", "0.9")
    done = runs(*words, "--json", "--plot", "light.svg")
    assert 3 == len(done.record["runs"])
    assert 0 == runs(*words, "--theme", "dark", "--plot", "dark.svg").code
    shown = texts(runs.folder / "light.svg")
    assert [1, 1, 1] == [sum(name in word for word in shown) for name in ("a.jsonl", "b.jsonl", "one.jsonl")]
    assert any("band: 90% CI" in word and "bar: 90% CI" in word for word in shown)
    assert shown == texts(runs.folder / "dark.svg")
    assert (runs.folder / "light.svg").read_text() != (runs.folder / "dark.svg").read_text()


def test_a_picture_that_cannot_be_written_whole_leaves_the_one_before(runs, monkeypatch):
    """A full disk, here a limit of the size of files, leaves the picture that was there and no part of another."""
    (runs.folder / "whole.svg").write_text("before")
    monkeypatch.setattr(runs, "before", ("sh", "-c", 'ulimit -f 8; exec "$@"', "sh"))
    # Else CPython leaves cut bytecode, which it loads in all later tests.
    done = runs("show", "a.jsonl", "--k", "1", "--plot", "whole.svg", PYTHONDONTWRITEBYTECODE="1")
    assert 1 == done.code
    assert "whole.svg" in done.err
    assert "before" == (runs.folder / "whole.svg").read_text()
    assert [] == list(runs.folder.glob(".passcurve-*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "withheld.jsonl", "--plot", "x.svg"], "--accept-benchmark"),
        (["compare", "a.jsonl", "lacking.jsonl", "--plot", "x.svg"], "lacking.jsonl"),
        (["show", "lacking.jsonl", "--plot", "x.svg"], "no curve"),
        (["compare", "a.jsonl", "b.jsonl", "--common", "--plot", "x.svg"], "--common"),
        (["show", "a.jsonl", "0", "--plot", "x.svg"], "problem"),
        (["show", "a.jsonl", "--plot", "x.svgg"], "'.svg'"),
        (["compare", "a.jsonl", "b.jsonl", "--plot", "nowhere/x.svg"], "nowhere"),
        (["show", "none.jsonl", "--plot", "x.svg"], "none.jsonl"),
    ],
)
def test_what_cannot_be_drawn(runs_without_score, words, message):
    """A run without a score has no curve: the reason is said, nothing is printed or drawn, and the exit code is 2."""
    done = runs_without_score(*words)
    assert (2, "") == (done.code, done.out)
    assert message in done.err
    assert "Traceback" not in done.err
    assert not (runs_without_score.folder / "x.svg").exists()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("number", [1, 3, 12])
def test_legend_and_curves_do_not_overlap(theme, number):
    """The legend stands below the axes and inside the picture, for few runs and for many, with long names."""
    names = [f"{'a_long_name_of_a_model_' * (at % 3)}{at}" for at in range(number)]
    sheet = curve_sheet([(name, curve(1 if at % 4 == 1 else 20)) for at, name in enumerate(names)], theme)
    sheet.figure.draw_without_rendering()
    (legend,) = sheet.figure.legends
    box, axes = legend.get_window_extent(), sheet.panels[0].get_tightbbox()
    assert box.y1 <= axes.y0
    assert box.y0 >= 0
    assert 0 <= box.x0 < box.x1 <= sheet.figure.bbox.width
    assert names == [text.get_text() for text in legend.get_texts()]


def test_every_curve_has_its_interval():
    """A line has a band that begins and ends with it, a single k a bar; no two points share a place."""
    curves = [("a", curve(20, 0.3)), ("b", curve(1, 0.6)), ("c", curve(1, 0.6)), ("d", curve(7, 0.8))]
    sheet = curve_sheet(curves, "light")
    (panel,) = sheet.panels
    bands = [band for band in panel.collections if "Poly" in type(band).__name__]
    ends = sorted(float(band.get_paths()[0].vertices[:, 0].max()) for band in bands)
    assert [7.0, 20.0] == ends
    assert 2 == len(panel.containers)
    places = [float(bar.lines[0].get_xdata()[0]) for bar in panel.containers]
    assert all(right > 1.02 * left for left, right in pairwise(sorted(places)))
    assert max(places) < 1


def test_runs_are_told_apart_without_colour():
    """Each of eight runs has another pair of dash and marker, for a print in gray."""
    sheet = curve_sheet([(str(at), curve(5)) for at in range(8)], "light")
    (legend,) = sheet.figure.legends
    # Matplotlib tells its dashes nowhere else.
    styles = {(str(line._dash_pattern), line.get_marker()) for line in legend.get_lines()}  # noqa: SLF001
    assert 8 == len(styles)


def test_labels_are_names_letter_by_letter(tmp_path):
    """Runs of one name get their paths, the same run twice a number; a dollar and an underscore are no commands."""
    runs = [tmp_path / "x" / "r.passcurve", tmp_path / "y" / "r.passcurve", tmp_path / "q", tmp_path / "q"]
    labels = legend_labels([(run, None) for run in runs])
    assert 4 == len(set(labels))
    assert "q (2)" in "".join(labels) or any(label.endswith("(2)") for label in labels)
    odd = legend_labels([(tmp_path / "_a$b$", None), (tmp_path / "\u540d\u524d", None)])
    svg = render(curve_sheet([(label, curve(3)) for label in odd], "dark"), "svg").decode()
    shown = re.sub(r"<[^>]+>", "", svg)
    assert "_a$b$" in shown
    assert "\u540d\u524d" in shown
