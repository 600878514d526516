"""Whole programs in other languages, each with its own main function: how one is compiled and run."""

from __future__ import annotations

import re
from pathlib import PurePath

import msgspec

from passcurve.bench.writing import WholeProgram, find_writing
from passcurve.judging.scripts import make_steps
from passcurve.sandbox.job import Step
from passcurve.types import Build, Language, Limits

_BUILD = "main"
"""Name of the way to compile and run whole programs, where it is not the usual one."""
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def make_program_steps(language: Language, program: str, compile_s: float, limits: Limits) -> tuple[Step, ...]:
    """Return the steps that compile a program, where that is done, and run it."""
    parts = find_writing(language.name).program
    source = language.opened(parts.without_package(program)).encode("utf-8", "surrogatepass")
    return make_steps(language, _find_build(language, parts, program), source, compile_s, limits, {})


def _find_build(language: Language, parts: WholeProgram, program: str) -> Build:
    """Return the way to compile and run a program, with the names of its classes in place of the usual ones."""
    build = language.find_build(_BUILD if _BUILD in language.builds else "")
    usual = PurePath(build.file)
    public, main = _class_names(parts, program)
    files = {usual.name: f"{public}{usual.suffix}"} if public else {}
    classes = {usual.stem: main} if main else {}
    prepare = build.prepare

    def words(command: tuple[str, ...], names: dict[str, str], flags: tuple[str, ...] = ()) -> tuple[str, ...]:
        return tuple(names.get(word, word) for word in (*command[:1], *flags, *command[1:]))

    if prepare is not None and prepare.headers:
        prepare = msgspec.structs.replace(prepare, command=words(prepare.command, files, parts.flags))
    return Build(
        file=files.get(build.file, build.file),
        compile=words(build.compile, files, parts.flags) if build.compile else (),
        run=words(build.run, classes),
        prepare=prepare,
        prepared=words(build.prepared, files, parts.flags) if build.prepared else (),
    )


def _class_names(parts: WholeProgram, program: str) -> tuple[str, str]:
    """Return the name that a program's file must have, and that of the class with its main function; else empty."""
    code = _COMMENT.sub("", program)
    public = re.search(parts.names_file, code, re.MULTILINE) if parts.names_file else None
    main = re.search(parts.begins, code) if parts.begins else None
    before = code[: main.end()] if main is not None else ""
    declared = list(re.finditer(parts.declares, before, re.MULTILINE)) if before else []
    # Of the classes around the function the outermost counts; those before it stand as far to the left.
    outermost = min((len(match["indent"]) for match in declared), default=0)
    names = [match["name"] for match in declared if len(match["indent"]) == outermost]
    return public["name"] if public is not None else "", names[-1] if names else ""
