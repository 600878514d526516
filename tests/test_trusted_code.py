"""What runs beside samples: the table in docs/security.md has all of it, and older interpreters understand it."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def is_type(node: ast.expr) -> bool:
    """Tell whether an expression looks like a type: None, a builtin one, or a name in the spelling of classes."""
    if isinstance(node, ast.Subscript):
        return is_type(node.value)
    name = getattr(node, "id", None) or getattr(node, "attr", None) or ""
    is_none = isinstance(node, ast.Constant) and node.value is None
    is_builtin = isinstance(getattr(builtins, name, None), type)
    return is_none or is_builtin or re.match(r"_?[A-Z][A-Za-z]*[a-z]", name) is not None


def evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is evaluated when a module runs: all but annotations."""
    yield node
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in ("annotation", "returns"):
                yield from evaluated(child)


@pytest.mark.parametrize("room", ["sandbox/zygote", "sandbox/layers", "harness"])
def test_no_union_of_types_is_evaluated(room):
    """Python 3.9, which may run samples, knows ``X | Y`` in annotations only."""
    unions = [
        f"{file.name}:{node.lineno}"
        for file in sorted((SOURCE / room).glob("*.py"))
        for node in evaluated(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
        if is_type(node.left) or is_type(node.right)
    ]
    assert [] == unions
