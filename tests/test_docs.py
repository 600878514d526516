"""The documentation: it names every command and option, its links lead somewhere, its commands are the real ones."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from passcurve.cli.main import make_app

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
COMMAND_PAGES = ("cli.md", "cli-runs.md", "lab.md")
"""The pages of docs/ that explain the commands."""
MAX_PAGE_LINES = 300
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


COMMANDS = dict(commands(typer.main.get_command(make_app())))


def long_options(command: object) -> set[str]:
    """Return the long options of a command."""
    spellings = (name for option in command.params for name in (*option.opts, *option.secondary_opts))  # type: ignore[attr-defined]
    return {name for name in spellings if name.startswith("--")}


def section(path: str) -> str:
    """Return the section on one command in the pages of the command line."""
    match = re.search(
        rf"^#+ `{re.escape(path)}`$(.*?)(?=^#+ |\Z)",
        "".join(read(f"docs/{name}") for name in COMMAND_PAGES),
        re.MULTILINE | re.DOTALL,
    )
    return match[1] if match else ""


def anchor(heading: str) -> str:
    """Return the name of a heading in a link."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_each_command_has_a_section():
    """Each command and group has a section of its own in a page of the command line."""
    assert [] == [path for path in COMMANDS if not section(path).strip()]


def test_the_table_of_commands_leads_to_each():
    """The table at the top of docs/cli.md links each command to its section, or to the page of its group."""
    linked = dict(re.findall(r"\[`([a-z]+)`\]\(([^)]+)\)", read("docs/cli.md").partition("\n## ")[0]))
    names = [path.removeprefix("passcurve ") for path in COMMANDS if path.count(" ") == 1]
    assert sorted(names) == sorted(linked)
    astray = {
        name: target
        for name, target in linked.items()
        if f"## `passcurve {name}" not in read(f"docs/{target.partition('#')[0] or 'cli.md'}")
    }
    assert {} == astray


def test_the_section_of_a_command_has_each_of_its_options():
    """Each long option stands in the section of its command."""
    missing = [
        f"{path} {option}"
        for path, command in COMMANDS.items()
        for option in sorted(long_options(command))
        if not re.search(rf"{option}(?![\w-])", section(path))
    ]
    assert [] == missing


def test_the_section_of_a_command_names_no_other_option():
    """No section explains an option that its command does not have."""
    surplus = []
    for path, command in COMMANDS.items():
        rows = re.findall(r"^\| (`--[^|]*) \|", section(path), re.MULTILINE)
        explained = {option for row in rows for option in re.findall(r"--[a-z][a-z-]*", row)}
        surplus += [f"{path} {option}" for option in explained - long_options(command) - {"--help"}]
    assert [] == surplus


def commands_in_code(text: str) -> Iterator[str]:
    """Yield what stands behind ``passcurve`` in each command of a page, with the line ends that a backslash hides.

    ``passcurve verdicts 1`` is how a file begins.
    """
    for code in re.findall(r"```.*?```|`[^`]+`", re.sub(r"\\\n", " ", text), re.DOTALL):
        yield from re.findall(
            r"(?:^|[`$(/ ])(?<!import )passcurve ((?!verdicts 1)[a-z]+\b[^`|#\n]*)", code, re.MULTILINE
        )


def test_commands_on_all_pages_are_real():
    """Each command that a page shows is there, and has the options that stand behind it."""
    wrong = []
    for page in PAGES:
        for words in commands_in_code(page.read_text("utf-8")):
            names = words.split()
            path = next((path for n in (2, 1) if (path := " ".join(["passcurve", *names[:n]])) in COMMANDS), "")
            options = long_options(COMMANDS[path]) | {"--help"} if path else set()
            if not path or not options.issuperset(re.findall(r"(?<!\S)--[a-z][a-z-]*", words)):
                wrong.append(f"{page.name}: passcurve {words}")
    assert [] == wrong


def test_the_readme_has_the_two_commands():
    """The README gives the two set-up commands, each on a line of its own."""
    lines = read("README.md").splitlines()
    assert [1, 1] == [lines.count(line) for line in SET_UP]


def test_links_lead_somewhere():
    """Each link to a file of ours leads to an existing file, and each anchor to a heading in it."""
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            name, _, place = target.partition("#")
            file = (page.parent / name) if name else page
            text = file.read_text("utf-8") if file.suffix == ".md" and file.is_file() else ""
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            if "://" not in target and (not file.exists() or (place and place not in map(anchor, headings))):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert [] == broken


def test_no_page_is_longer_than_300_lines():
    """A page of docs/ that is longer than 300 lines is two pages, also where a program writes it."""
    lengths = {page.name: len(page.read_text("utf-8").splitlines()) for page in ROOT.glob("docs/*.md")}
    assert {} == {name: length for name, length in lengths.items() if length > MAX_PAGE_LINES}


def test_files_of_the_package_that_are_named_exist():
    """Each source file that a page names as ``room/file.py`` is there."""
    places = (ROOT, ROOT / "src" / "passcurve", ROOT / "src" / "passcurve" / "sandbox")
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in PAGES
        for name in re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|toml))`", page.read_text("utf-8"))
        if not any((place / name).is_file() for place in places)
    ]
    assert [] == missing


@pytest.mark.ci
def test_the_output_in_the_readme_is_real(tmp_path):
    """The README shows what its first command prints, but for times, versions and what they change."""
    shown = re.search(r"^```\n(starter: 940 samples.*?)^```$", read("README.md"), re.MULTILINE | re.DOTALL)
    assert shown is not None
    words = SET_UP[0].rpartition("passcurve ")[2].split()
    done = subprocess.run(
        [sys.executable, "-m", "passcurve", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert _stable(shown[1]) == _stable(done.stdout)


def _stable(output: str) -> list[str]:
    """Return the lines of an output without what depends on the machine."""
    lines = re.sub(r"\d+\.\d+ s\b", "? s", output).splitlines()
    return [re.sub(r"(verdicts: \d+ referee; |signature: |slowest pass: \S+ s ).*", r"\1", line) for line in lines]


def test_the_source_distribution_has_what_its_makefile_runs():
    """Whoever builds from it can run `make ci` too, which is a script in a hidden folder."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = table["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    run = re.findall(r"(?:^\t|python )(\.?\w+)/\w", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert {".ci", "benchmarks"} == set(run)
    assert set(run) <= set(included)
    assert [] == [name for name in included if not (ROOT / name).exists()]
