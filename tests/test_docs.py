"""The documentation: it names every command and option, its links lead somewhere, its commands are the real ones."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
import typer.main

from passcurve.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
SET_UP = (
    "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/passcurve run starter --model mutant: -n 20",
    "python3 -m venv .venv && .venv/bin/pip install '.[dev]' && .venv/bin/pytest",
)


def read(name: str) -> str:
    """Return a page of the documentation."""
    return (ROOT / name).read_text("utf-8")


def commands(command: object, path: tuple[str, ...] = ("passcurve",)) -> Iterator[tuple[str, object]]:
    """Yield each command with the words that call it, the groups among them."""
    yield " ".join(path), command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))
OPTIONS = sorted(
    (path, option)
    for path, command in COMMANDS.items()
    for parameter in command.params  # type: ignore[attr-defined]
    for option in (*parameter.opts, *parameter.secondary_opts)
    if option.startswith("--")
)


def section(path: str) -> str:
    """Return what the page on the command line says of one command."""
    found = re.search(rf"^#+ `{re.escape(path)}`$(.*?)(?=^#+ |\Z)", read("docs/cli.md"), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def anchor(heading: str) -> str:
    """Return what a heading is called in a link."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("path", COMMANDS)
def test_the_page_on_the_command_line_has_each_command(path):
    """Each command and group has a section of its own in docs/cli.md."""
    assert section(path).strip(), f"docs/cli.md has no section `{path}`"


@pytest.mark.parametrize(("path", "option"), OPTIONS)
def test_the_section_of_a_command_has_each_of_its_options(path, option):
    """Each long option stands in the section of its command."""
    assert re.search(rf"{option}(?![\w-])", section(path)), f"docs/cli.md, `{path}`: no {option}"


@pytest.mark.parametrize("path", COMMANDS)
def test_the_section_of_a_command_names_no_other_option(path):
    """No section explains an option that its command does not have."""
    known = {option for of, option in OPTIONS if of == path} | {"--help"}
    rows = re.findall(r"^\| (`--[^|]*) \|", section(path), re.MULTILINE)
    assert set() == {option for row in rows for option in re.findall(r"--[a-z][a-z-]*", row)} - known


def test_the_readme_has_the_two_commands():
    """The README gives the two set-up commands, each on a line of its own."""
    lines = read("README.md").splitlines()
    assert [1, 1] == [lines.count(line) for line in SET_UP]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    """Each link to a file of ours leads to one that is there, and each anchor to a heading in it."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        name, _, place = target.partition("#")
        file = (page.parent / name) if name else page
        headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE) if file.is_file() else []
        if not file.exists() or (place and place not in map(anchor, headings)):
            broken.append(target)
    assert [] == broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_of_the_package_that_are_named_exist(page):
    """Each source file that a page names as ``room/file.py`` is there."""
    named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|toml))`", page.read_text("utf-8"))
    places = (ROOT, ROOT / "src" / "passcurve", ROOT / "src" / "passcurve" / "sandbox")
    assert [] == [name for name in named if not any((place / name).is_file() for place in places)]


@pytest.mark.ci
def test_the_example_of_the_readme_runs(tmp_path):
    """The Python example in the README runs as it stands beside a file of samples."""
    code = re.search(r"^```python\n(.*?)^```$", read("README.md"), re.MULTILINE | re.DOTALL)
    assert code is not None
    shutil.copy(str(files("passcurve.bench") / "starter" / "examples.jsonl"), tmp_path / "samples.jsonl")
    done = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert "benchmark:starter@" in done.stdout
