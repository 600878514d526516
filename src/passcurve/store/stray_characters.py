"""Characters that Python allows nowhere in a program, as its messages name them."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter

from passcurve.diagnosis import Finding

_CODE_POINT = re.compile(r"SyntaxError: invalid (?:non-printable )?character.*?\bU\+([0-9A-F]{4,6})\b")
_NAMES = {0x1B: "escape, as terminals colour text with", 0xFEFF: "byte order mark", 0x08: "backspace", 0x7F: "delete"}
"""Names that Unicode has not, or has by another use."""
_MAX_CHARACTERS = 256
"""Characters that are counted one by one."""


class StrayCharacterTracker:
    """Counts the rows that do not compile because of a character, by that character."""

    def __init__(self) -> None:
        self._rows: Counter[int] = Counter()

    def add(self, message: str) -> bool:
        """Take the message of a row that does not compile; tell whether a character is its cause."""
        match = _CODE_POINT.match(message)
        if match is None:
            return False
        point = int(match[1], 16)
        if point > sys.maxunicode:
            # In shared mode a sample can write the message itself.
            return False
        if point in self._rows or len(self._rows) < _MAX_CHARACTERS:
            self._rows[point] += 1
        return True

    def finding(self) -> Finding | None:
        """Return the finding on the commonest of them; None where there is none."""
        if not self._rows:
            return None
        (point, rows), *others = self._rows.most_common()
        character = chr(point)
        name = _NAMES.get(point) or unicodedata.name(character, "no name").lower()
        plain = unicodedata.normalize("NFKC", character)
        if unicodedata.category(character)[0] == "C":
            remedy = "remove it"
        elif plain.isascii() and plain.strip():
            remedy = f"put {plain!r} in its place"
        else:
            remedy = "passcurve show tells the line"
        more = f" ({sum(count for _, count in others):,} more have others)" if others else ""
        text = (
            f"{rows:,} row{'s' * (rows > 1)} {'have' if rows > 1 else 'has'} the character U+{point:04X} ({name}) "
            f"in the code and cannot compile; {remedy}{more}"
        )
        return Finding(name="stray_character", rows=self._rows.total(), text=text)
