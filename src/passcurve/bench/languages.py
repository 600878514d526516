"""The table of languages."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import msgspec

from passcurve.errors import UnknownNameError, nearest
from passcurve.types import Language
from passcurve.types.decoding import decodable


@cache
def languages() -> dict[str, Language]:
    """Return the languages by name, in the order of the table."""
    text = resources.files("passcurve").joinpath("languages", "table.toml").read_bytes()
    rows = msgspec.toml.decode(text, type=decodable(dict[str, Language]))
    return {name: msgspec.structs.replace(row, name=name) for name, row in rows.items()}


def find_language(name: str) -> Language:
    """Return a language; raise UnknownNameError where there is none of that name."""
    table = languages()
    if name not in table:
        raise UnknownNameError(f"unknown language {name!r}{nearest(name, table)} (known: {', '.join(table)})")
    return table[name]


def with_confirmation(language: Language, tests: str, *, braces: int | None = None) -> str | None:
    """Return tests that write the job's token when the last has passed; None where the place for that is not clear.

    ``braces``: number of closing braces at the end that the place is before, where it is not the language's own.
    """
    if language.confirms_itself:
        return tests
    if not language.confirm:
        return None
    count = language.confirm_inside if braces is None else braces
    if not count:
        return f"{tests}\n{language.confirm}\n"
    closing = re.search(r"(?:\breturn 0;\s*)?(?:\}\s*){%d}\Z" % count, tests)
    if closing is None:
        return None
    return f"{tests[: closing.start()]}{language.confirm}\n{closing[0]}"
