"""The file of a report, without a browser: its policy, its size, its numbers."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from pages import Made, Reader, part

from passcurve.report.comparison import p_value, signed
from passcurve.report.page.highlight import find_lexer, token_runs
from passcurve.report.terminal import number
from passcurve.types import STATUSES

OWN_BYTES = 60_000
"""Largest size of script and style together."""


@pytest.fixture(scope="module", params=["two_runs", "hostile"])
def made(request: pytest.FixtureRequest) -> Made:
    """Return each report."""
    return request.getfixturevalue(request.param)


@pytest.mark.nightly
def test_the_policy_admits_our_script_and_style_only(made: Made):
    """The policy names one script and one style, by their hashes; nothing in the page is styled or run by attribute."""
    reader = Reader(made.page)
    (policy,) = [at["content"] for tag, at in reader.elements if at.get("http-equiv") == "Content-Security-Policy"]
    for kind, texts in reader.own.items():
        (text,) = texts
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    names = {name for _, attributes in reader.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"style", "src", "srcset"})
    links = [at["href"] for _, at in reader.elements if "href" in at]
    assert [] == [link for link in links if not str(link).startswith("#")]
    assert not {"img", "iframe", "object", "link", "base", "form"} & {tag for tag, _ in reader.elements}


def test_every_number_is_that_of_the_record(made: Made):
    """Each number that is marked stands in the JSON object at the place that its mark names."""
    reader = Reader(made.page)
    assert len(reader.numbers) > 20
    for place, form, text in reader.numbers:
        assert text == text_of(value_at(made.record, place), form, place), place


def value_at(record: Any, place: str) -> Any:
    """Return the value at a place like ``runs.0.scores.pass@1.value``."""
    for name in place.split("."):
        record = record[int(name)] if isinstance(record, list) else record[name]
    return record


def text_of(value: Any, form: str, place: str) -> str:
    """Return a value as a page shows it."""
    if isinstance(value, dict):
        ends = (value["low"], value["high"])
        return " to ".join(signed(end) if form == "signed" else number(end) for end in ends)
    if form == "p":
        return p_value(value)
    if form == "milli":
        return f"{1000 * value:.3g}" if value < 1 else f"{1000 * value:,.0f}"
    if form == "tidy":
        is_tidy = abs(100 * value - round(100 * value)) < 1e-6
        return (f"{value:+.2f}" if is_tidy else f"{value:+.4f}").replace("0.", ".", 1)
    if form == "short":
        return f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    if place.endswith("rate"):
        return f"{value:.1%}"
    return signed(value) if form == "signed" else number(value)


def test_the_samples_in_the_page_are_those_of_the_record(made: Made):
    """The columns have every sample: counted by problem, they give n and c of the record."""
    core = part(Reader(made.page), "core")
    for run, recorded in zip(core["runs"], made.record["runs"], strict=True):
        columns = run["columns"]
        counts: dict[str, list[int]] = {}
        for problem, status in zip(columns["problem"], columns["status"], strict=True):
            entry = counts.setdefault(core["problems"][problem], [0, 0])
            entry[0] += 1
            entry[1] += STATUSES[status] == "passed"
        assert {row["task_id"]: [row["n"], row["c"]] for row in recorded["by_problem"]} == counts


@pytest.mark.nightly
def test_the_same_runs_make_the_same_page(two_runs: Made, shell_in):
    """Nothing in a page depends on when it was made."""
    shell = shell_in(two_runs.page.parent)
    assert 0 == shell("report", "seed1.passcurve", "seed2.passcurve", "-o", "again.html").code
    assert two_runs.page.read_bytes() == (two_runs.page.parent / "again.html").read_bytes()


class Outline(HTMLParser):
    """Reads the structure of a page: views, titles, headings of columns, labels, figures."""

    _TEXTS = ("h1", "h2", "h3", "th", "summary", "label", "button", "option")

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open = ""
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the start of an element."""
        named = dict(attrs)
        if tag == "section":
            self.lines.append(f"== {named['id']}")
        elif tag == "svg" and named.get("aria-label"):
            self.lines.append(f"figure: {named['aria-label']}")
        self._open = tag if tag in self._TEXTS and named.get("scope") != "row" else ""

    def handle_data(self, data: str) -> None:
        """Take a text."""
        if self._open and data.strip():
            self.lines.append(f"{self._open}: {data.strip()}")
            self._open = ""


def test_the_structure_is_as_it_was_looked_at(two_runs: Made):
    """Views, titles, columns, controls and figures are those of the outline beside this file.

    Where this changes on purpose, look at the pictures of all views at both widths and in both themes, and then write
    the outline anew.
    """
    lines = [line for line in Outline(two_runs.page).lines if "seed" not in line]
    assert (Path(__file__).parent / "outline.txt").read_text("utf-8").splitlines() == lines


def test_script_and_style_are_small(two_runs: Made):
    """What is ours in each page stays within its budget."""
    own = Reader(two_runs.page).own
    assert sum(len(text.encode()) for texts in own.values() for text in texts) <= OWN_BYTES


def test_long_texts_are_cut(hostile: Made):
    """A megabyte in one line does not make a megabyte of page."""
    assert hostile.page.stat().st_size < 400_000


@pytest.mark.parametrize("language", ["", "cpp", "js", "java", "sh", "go", "rs", "cs", "rkt"])
def test_runs_of_tokens_cover_the_text(language: str):
    """The lengths of all runs sum up to the text, in the units in which a browser counts."""
    text = "def f():\r\n    return '\U0001f600' # ok\n\tclass \x00 {};  "
    lexer = find_lexer(language)
    assert lexer is not None
    runs = re.findall(r"([a-z.])(\d+)", token_runs(text, lexer))
    assert len(text.encode("utf-16-le")) // 2 == sum(int(size) for _, size in runs)


@pytest.mark.nightly
def test_the_types_of_the_script_hold(tmp_path: Path):
    """TypeScript's compiler finds nothing wrong in the comments with types."""
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("TypeScript is not installed")
    folder = resources.files("passcurve.report.page") / "script"
    names = re.findall(r'"(\w+\.js)"', (resources.files("passcurve.report.page") / "document.py").read_text("utf-8"))
    assert {path.name for path in folder.iterdir()} == {*names}
    names.remove("list.js")  # of another page
    script = tmp_path / "all.js"
    script.write_text("\n".join((folder / name).read_text("utf-8") for name in names), "utf-8")
    other = tmp_path / "list.js"
    other.write_text((folder / "list.js").read_text("utf-8"), "utf-8")
    options = "--allowJs --checkJs --noEmit --strict --target es2022 --lib es2022,dom,dom.iterable"
    done = subprocess.run(
        [compiler, *options.split(), script], capture_output=True, text=True, check=False, timeout=120
    )
    assert "" == done.stdout
