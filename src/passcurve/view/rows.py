"""Verdicts of a run page by page, from where they stand in its parts: nothing of the others is read or kept."""

from __future__ import annotations

from pathlib import Path

import msgspec

from passcurve.store.codec import decode_verdict
from passcurve.types import Verdict

PAGE_ROWS = 200
_LONGEST_PLACE = 18
"""Characters of a place at most; a longer one would be in no file, and beyond what can be sought."""
_LOOKED_AT = 200_000
"""Lines that one page looks at for its rows; where a status is rare, the page is shorter."""


class Place(msgspec.Struct, frozen=True):
    """A position in the parts of a run."""

    part: int = 0
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.part}.{self.offset}"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some verdicts in the order in which they came."""

    verdicts: tuple[Verdict, ...]
    after: Place | None
    """Where the next page begins; None at the end."""


def parse_place(text: str) -> Place:
    """Return the place of a text like ``0.4711``; the beginning for any other text."""
    part, _, offset = text.partition(".")
    if not (part.isdecimal() and offset.isdecimal() and len(text) <= _LONGEST_PLACE):
        return Place()
    return Place(int(part), int(offset))


def read_page(parts: tuple[Path, ...], place: Place, status: str = "") -> Page:
    """Return the verdicts from a place on, those of one status where one is named.  Raises OSError."""
    verdicts: list[Verdict] = []
    lines = 0
    for number, path in enumerate(parts):
        if number < place.part:
            continue
        with path.open("rb") as file:
            offset = place.offset if number == place.part else 0
            # A place that is none begins with the line after it; the first line of a part is no verdict.
            file.seek(max(0, offset - 1))
            file.readline()
            offset = file.tell()
            for raw in file:
                if len(verdicts) == PAGE_ROWS or lines == _LOOKED_AT:
                    return Page(verdicts=tuple(verdicts), after=Place(number, offset))
                offset += len(raw)
                lines += 1
                line = decode_verdict(raw) if raw.endswith(b"\n") else None
                if line is not None and status in ("", line.verdict.status):
                    verdicts.append(line.verdict)
    return Page(verdicts=tuple(verdicts), after=None)
