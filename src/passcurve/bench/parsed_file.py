"""The problems of a file and what it hashes to; those of a large file are kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from passcurve import __version__
from passcurve.bench.formats import ReadOptions, digest_problems, parse_text, unpack
from passcurve.private_files import left_drafts, oldest_first, read_private, write_private
from passcurve.types import Problem

FOLDER = "parsed"
"""Folder of the cache."""

MIN_BYTES = 1 << 19
"""Size of a file, unpacked, from which on its problems are kept; a smaller one is parsed in less than 0.1 s."""

MAX_BYTES = 64 << 20
"""Size of the problems that are kept of one file."""

MAX_FILES = 16
"""Files whose problems are kept; the oldest go first."""

_ROOMS = ("bench", "types")
"""Rooms whose code decides what the problems of a file are."""


class ParsedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    """What it holds and is not used."""
    digest: str
    """That of the problems, as ``digest_problems`` has it."""
    md5: str
    """md5 of the unpacked file, by which EvalPlus names a version; no secret depends on it."""
    sha256: str
    """sha256 of the file as it is."""
    unpacked_sha256: str


def parse_file(data: bytes, source: str, options: ReadOptions, cache_dir: Path) -> ParsedFile:
    """Return the content of a file from its bytes, or from the cache where the same bytes were parsed before.

    Raises DataError as ``parse_problems`` does.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    path = cache_dir / FOLDER / f"{_key(sha256, source, options)}.problems"
    content = read_private(path, MAX_BYTES)
    if content is not None:
        with contextlib.suppress(msgspec.MsgspecError, ValueError):
            return msgspec.msgpack.decode(content, type=ParsedFile)
    text = unpack(data, source)
    notes: list[str] = []
    problems = parse_text(text, source, notes, options)
    file = ParsedFile(
        problems=problems,
        notes=tuple(notes),
        digest=digest_problems(problems),
        md5=hashlib.md5(text, usedforsecurity=False).hexdigest(),
        sha256=sha256,
        unpacked_sha256=hashlib.sha256(text).hexdigest(),
    )
    if len(text) >= MIN_BYTES:
        _keep(path, file)
    return file


def _keep(path: Path, file: ParsedFile) -> None:
    """Keep the content of a file; do nothing where the folder cannot be written."""
    # Lone surrogates, which JSON may have, cannot be written.
    with contextlib.suppress(OSError, UnicodeEncodeError):
        content = msgspec.msgpack.encode(file)
        if len(content) > MAX_BYTES:
            return
        write_private(path, content)
        old = [path for path, _ in oldest_first(path.parent.glob("*.problems"))[:-MAX_FILES]]
        for other in (*old, *left_drafts(path.parent)):
            other.unlink(missing_ok=True)


def _key(sha256: str, source: str, options: ReadOptions) -> str:
    """Return the digest of all that decides what the problems are: the bytes, the options, our code and Python."""
    facts = (sha256, source.endswith(".toml"), options, __version__, sys.version)
    digest = hashlib.sha256(msgspec.json.encode(facts))
    for room in _ROOMS:
        for file in _modules(resources.files("passcurve") / room):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _modules(folder: Traversable) -> Iterator[Traversable]:
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.is_dir():
            yield from _modules(file)
        elif file.name.endswith(".py"):
            yield file
