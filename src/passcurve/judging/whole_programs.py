"""Whole programs in other languages, each with its own main function: how one is compiled and run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

import msgspec

from passcurve.bench.writing import Writing, find_writing
from passcurve.extract.braces import blank_texts, find_braces
from passcurve.judging.scripts import make_steps
from passcurve.sandbox.job import Step
from passcurve.types import Build, Language, Limits

_BUILD = "main"
"""Name of the way to compile and run whole programs, where it is not the usual one."""
_MAIN = "Main"
_MOST_NAME_BYTES = 200
"""Largest name of a class that a file is named after; file systems take 255 bytes with the suffix."""


def make_program_steps(language: Language, program: str, compile_s: float, limits: Limits) -> tuple[Step, ...]:
    """Return the steps that compile a program, where that is done, and run it."""
    writing = find_writing(language.name)
    text = language.missing_opening(program) + writing.program.without_package(program)
    build = _find_build(language, writing, program)
    return make_steps(language, build, text.encode("utf-8", "surrogatepass"), compile_s, limits, {})


def _find_build(language: Language, writing: Writing, program: str) -> Build:
    """Return the way to compile and run a program, with the names of its classes in place of the usual ones."""
    build = language.find_build(_BUILD if _BUILD in language.builds else "")
    usual = PurePath(build.file)
    public, main = _class_names(writing, program)
    flags = writing.program.flags
    files = {usual.name: f"{public}{usual.suffix}"} if public else {}
    classes = {usual.stem: main} if main else {}
    prepare = build.prepare

    def words(command: tuple[str, ...], names: dict[str, str], flags: tuple[str, ...] = ()) -> tuple[str, ...]:
        return tuple(names.get(word, word) for word in (*command[:1], *flags, *command[1:]))

    if prepare is not None and prepare.headers:
        prepare = msgspec.structs.replace(prepare, command=words(prepare.command, files, flags))
    return Build(
        file=files.get(build.file, build.file),
        compile=words(build.compile, files, flags) if build.compile else (),
        run=words(build.run, classes),
        prepare=prepare,
        prepared=words(build.prepared, files, flags) if build.prepared else (),
    )


def _class_names(writing: Writing, program: str) -> tuple[str, str]:
    """Return the name that a program's file must have, and that of the class with its main function; else empty.

    Of several with one the public class counts, then one called Main, then the first.
    """
    parts = writing.program
    if not parts.declares:
        return "", ""
    code = blank_texts(program, writing)
    braces = find_braces(program, writing)
    starts = list(_outermost(re.finditer(parts.declares, code, re.MULTILINE), braces))
    bounds = [*(match.start() for match in starts), len(code)]
    begins = re.compile(parts.begins)
    names = [
        match["name"] for match, end in zip(starts, bounds[1:], strict=True) if begins.search(code, match.start(), end)
    ]
    public = next((match["name"] for match in starts if parts.names_file and re.match(parts.names_file, match[0])), "")
    main = next((name for name in (public, _MAIN) if name in names), names[0] if names else "")
    return _short(public), _short(main)


def _outermost(matches: Iterable[re.Match[str]], braces: Iterable[tuple[int, str]]) -> Iterator[re.Match[str]]:
    """Yield those of some matches that stand in no block."""
    rest = iter(braces)
    following = next(rest, None)
    depth = 0
    for match in matches:
        while following is not None and following[0] < match.start():
            depth += 1 if following[1] == "{" else -1
            following = next(rest, None)
        if depth == 0:
            yield match


def _short(name: str) -> str:
    """Return a name that a file may have; empty for a longer one, with which the compiler says what is wrong."""
    return name if len(name.encode("utf-8", "surrogatepass")) <= _MOST_NAME_BYTES else ""
