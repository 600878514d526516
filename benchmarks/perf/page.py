"""The page: parts between marks are written anew, everything else on it stays as somebody wrote it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def fill(page: Path, name: str, text: str) -> None:
    """Put text between the marks of a part; SystemExit when the page has no such part."""
    marks = f"<!-- measured: {name} -->", f"<!-- end: {name} -->"
    old = page.read_text("utf-8")
    part = re.compile(f"{re.escape(marks[0])}\n.*?{re.escape(marks[1])}", re.DOTALL)
    if len(part.findall(old)) != 1:
        raise SystemExit(f"{page} has no part, or more than one, between {marks[0]!r} and {marks[1]!r}")
    new = f"{marks[0]}\n\n{text.strip()}\n\n{marks[1]}"
    page.write_text(part.sub(lambda _: new, old), "utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; all columns but the first are numbers."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
