"""The table in docs/security.md of what must be trusted: it has every file, and about as many lines as there are."""

from __future__ import annotations

import re
from pathlib import Path

import passcurve

SOURCE = Path(passcurve.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "security.md"
ROWS = re.findall(r"^\| (`(?:sandbox|harness)/.*`) \| ([\d,]+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
NO_CODE = {"harness/__init__.py", "sandbox/zygote/__init__.py", "sandbox/zygote/interpreter_facts.py"}
"""What runs before there is a sample: the package, and a question to an interpreter."""


def files_of(cell: str) -> list[Path]:
    """Return the files that a row names."""
    names = re.findall(r"`([^`]+)`", cell)
    return [file for name in names for file in (sorted((SOURCE / name).glob("*.py")) or [SOURCE / name])]


def test_the_table_has_about_the_lines_of_its_files():
    """Each number is within 5 % of the lines that the files of its row have."""
    stale = {}
    for cell, number in ROWS:
        lines = sum(len(file.read_text("utf-8").splitlines()) for file in files_of(cell))
        if abs(lines - int(number.replace(",", ""))) > lines / 20:
            stale[cell[:40]] = lines
    assert {} == stale


def test_the_table_has_every_file_around_a_sample():
    """Whatever runs in zygotes and builds walls stands in the table."""
    listed = {file.relative_to(SOURCE).as_posix() for cell, _ in ROWS for file in files_of(cell)}
    around = {
        file.relative_to(SOURCE).as_posix()
        for room in ("sandbox/zygote", "sandbox/layers", "harness")
        for file in (SOURCE / room).glob("*.py")
    }
    assert set() == around - listed - NO_CODE
