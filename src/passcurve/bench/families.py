"""Families of benchmarks: one name, and a file or an entry of the catalog for each language."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from passcurve.bench.writing import find_writing, language_name, writings
from passcurve.errors import UnknownNameError, UsageError

_SUFFIXES = (".jsonl.gz", ".jsonl")
_JOINTS = "_-"


def find_member(name: str, language: str, catalog: Collection[str]) -> str:
    """Return the member of a family for a language: ``starter`` and ``cpp`` make ``starter-cpp``.

    A name that is no family's is returned as it is.  Raises UsageError where a family of files lacks the language.
    """
    words = (language, *find_writing(language).names)
    for word in words:
        if f"{name}-{word}" in catalog:
            return f"{name}-{word}"
    path = Path(name)
    if name in catalog or path.exists() or not path.parent.is_dir() or not path.name:
        return name
    members = _members(path)
    if members and language not in members:
        raise UsageError(f"--language {language}: {name!r} has no file for it; there are {', '.join(sorted(members))}")
    return str(members[language]) if members else name


def _members(path: Path) -> dict[str, Path]:
    """Return the files beside a path that begin with its name and end with a language."""
    members: dict[str, Path] = {}
    for file in sorted(path.parent.iterdir()):
        suffix = next((suffix for suffix in _SUFFIXES if file.name.endswith(suffix)), "")
        rest = file.name.removesuffix(suffix).removeprefix(path.name)
        if not suffix or not file.name.startswith(path.name) or rest[:1] not in tuple(_JOINTS):
            continue
        try:
            language = language_name(rest[1:])
        except UnknownNameError:
            # A language that is written but not in the table counts, so that its absence is no puzzle.
            language = rest[1:]
            if language not in writings():
                continue
        members.setdefault(language, file)
    return members
