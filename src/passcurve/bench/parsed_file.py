"""The problems of a file and what it hashes to; those of a large file are kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from pathlib import Path

import msgspec

from passcurve import __version__
from passcurve.bench.formats import ReadOptions, digest_problems, is_toml, parse_text, unpack
from passcurve.private_files import code_of, keep_newest, read_private, write_private
from passcurve.types import Problem
from passcurve.types.decoding import decodable

FOLDER = "parsed"
"""Folder of the cache."""

MIN_BYTES = 1 << 19
"""Size of a file, unpacked, from which on its problems are kept; a smaller one is parsed in less than 0.1 s."""

MAX_BYTES = 64 << 20
"""Size of the problems that are kept of one file."""

MAX_FILES = 16
"""Files whose problems are kept; the oldest go first."""

_ROOMS = ("bench", "languages", "types")
"""Rooms whose code and tables decide what the problems of a file are."""


class ParsedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    """Parts of the file that are not used, each named in a sentence."""
    digest: str
    """Digest of the problems, as ``digest_problems`` computes it."""
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
            return msgspec.msgpack.decode(content, type=decodable(ParsedFile))
    text = unpack(data, source)
    notes: list[str] = []
    md5 = hashlib.md5(text, usedforsecurity=False).hexdigest()
    problems = parse_text(text, source, notes, msgspec.structs.replace(options, file_hash=md5))
    file = ParsedFile(
        problems=problems,
        notes=tuple(notes),
        digest=digest_problems(problems),
        md5=md5,
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
        keep_newest(path.parent, "*.problems", MAX_FILES)


def _key(sha256: str, source: str, options: ReadOptions) -> str:
    """Return the digest of all that decides what the problems are: the bytes, the options, our code and Python."""
    facts = (sha256, is_toml(source), options, __version__, sys.version)
    digest = hashlib.sha256(msgspec.json.encode(facts))
    for text in code_of(*_ROOMS):
        digest.update(text)
    return digest.hexdigest()
