"""Preparations of compilers: the order that makes one, and that of the compiler itself afterwards."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources
from typing import Any

from passcurve.sandbox.command_layout import find_command
from passcurve.sandbox.job import Preparation
from passcurve.sandbox.prepared import PLACE
from passcurve.types import Build, Language

_COMMENT = rb"//(?:[^\n\r\\?]|\?(?!\?/))*"
"""A comment that ends with its line.

A backslash there, or the trigraph for it, would make one of the next line; a carriage return ends it before.
"""

_FIRST_HEADERS = re.compile(rb"(?:[ \t]*(?:%s)?\n|[ \t]*#[ \t]*include[ \t]*<[\w./+-]+>[ \t]*\n)*" % _COMMENT)
_HEADER = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*<([\w./+-]+)>", re.MULTILINE)
_MAX_HEADERS = 64
_PREPARE_S = 120.0


def make_preparation(language: Language, build: Build, source: bytes, setup: dict[str, Any]) -> Preparation | None:
    """Return what can be prepared for the compiler of a source; ``setup``: its order without that."""
    prepare = build.prepare
    if prepare is None:
        return None
    files = {name: read_text(text) for name, text in prepare.files.items()}
    if prepare.headers:
        headers = first_headers(source)
        if not headers:
            return None
        files[prepare.headers] = b"".join(b"#include <%s>\n" % header for header in headers)
    command = find_command(prepare.command)
    key = hashlib.blake2b(repr((language.name, command, sorted(files.items()))).encode(), digest_size=16).hexdigest()
    argv = [word.replace("{prepared}", f"{PLACE}/{key}") for word in find_command(build.prepared)]
    return Preparation(
        key=key,
        setup={**setup, "argv": command, "files": files, "keep": list(prepare.makes), "makes_binary": False},
        ready_setup={**setup, "argv": argv},
        min_uses=prepare.min_uses,
        is_needed=prepare.is_needed,
        fault=rf"^{re.escape(build.file)}(?::\d+(?::\d+)?|\(\d+,\d+\)): (?:fatal )?error\b",
        timeout_s=_PREPARE_S,
    )


def first_headers(source: bytes) -> tuple[bytes, ...]:
    """Return the headers of the system that a source includes before anything else; none where they are unusual."""
    match = _FIRST_HEADERS.match(source)
    headers = _HEADER.findall(match[0]) if match is not None else []
    if len(headers) > _MAX_HEADERS or any(b".." in header or header.startswith(b"/") for header in headers):
        return ()
    return tuple(headers)


@cache
def read_text(text: str) -> bytes:
    """Return a text, or the file of ``languages/`` that it names."""
    if not text.startswith("@"):
        return text.encode()
    return resources.files("passcurve").joinpath("languages", text[1:]).read_bytes()
