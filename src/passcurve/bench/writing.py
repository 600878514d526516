"""The way that models write each language: fences, declarations, and the words that follow a function."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import msgspec

from passcurve.bench.languages import languages
from passcurve.errors import UnknownNameError, UsageError, nearest
from passcurve.types import Cases, Problem, ProgramCases, language_of
from passcurve.types.decoding import decodable

PYTHON = ("python", "py", "python3")
"""Names of the language that is not in the table."""


class Texts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The texts and comments of a language, in which braces do not count."""

    quotes: bool = False
    """Whether single quotes enclose strings of any length."""
    remark: str = r"//[^\n]*"
    """Pattern of a comment that ends with its line."""


class WholeProgram(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parts of a program with its own main function; ``languages/writing.toml`` describes the fields."""

    flags: tuple[str, ...] = ()
    """Further arguments of the compiler, behind its name."""
    package: str = ""
    """Pattern of the line that puts a program into a package, under whose name it would have to be run."""
    declares: str = ""
    """Pattern of the declaration of a class that it may begin in, with its ``name``."""
    begins: str = ""
    """Pattern of a main function, or of what stands for one: the program begins in the class that has it."""
    names_file: str = ""
    """Pattern of the beginning of the declaration whose ``name`` the file must have."""

    def without_package(self, text: str) -> str:
        """Return a program without the line that puts it into a package."""
        return re.sub(self.package, "", text, count=1, flags=re.MULTILINE) if self.package else text


class Writing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One language as models write it; ``languages/writing.toml`` describes the fields."""

    names: tuple[str, ...]
    """Names of its fences, in lower case; prompts use the first."""
    defines: str = ""
    """Pattern of the declaration of the function ``NAME``."""
    imports: str = ""
    """Pattern of the lines of a prompt that a whole answer needs too."""
    main: str = ""
    """Pattern of the beginning of a program's own main function or tests."""
    container: str = ""
    """Pattern of the declaration of what a function stands in; its group is the name."""
    closers: int = 1
    """Number of braces that prompts leave open, where the tests close them."""
    opener: str = ""
    """Beginning of an empty block, for tests that begin by closing one where a program ends with none."""
    texts: Texts = Texts()
    ending: str = ""
    """Pattern of what ends a program and may not stand before tests."""
    exports: str = ""
    """Pattern of the statements that export names to other modules."""
    program: WholeProgram = WholeProgram()
    """The parts of its whole programs."""
    stops: tuple[str, ...] = ()
    """Words that can only follow the function."""

    def without_ending(self, text: str) -> str:
        """Return a text without what may not stand before tests."""
        return re.sub(self.ending, "", text) if self.ending else text


@cache
def writings() -> dict[str, Writing]:
    """Return how each language is written, by its name in the table of languages."""
    text = resources.files("passcurve").joinpath("languages", "writing.toml").read_bytes()
    return msgspec.toml.decode(text, type=decodable(dict[str, Writing]))


def find_writing(language: str) -> Writing:
    """Return how a language is written; one that only its own name is known of has no more."""
    return writings().get(language) or Writing(names=(language,))


def language_name(name: str) -> str:
    """Return the name of a language in our table; raise UnknownNameError with the nearest where there is none."""
    plain = name.strip().lower()
    if plain in PYTHON:
        return PYTHON[0]
    for language, writing in writings().items():
        if plain in (language, *writing.names) and language in languages():
            return language
    if plain in languages():
        return plain
    names = (PYTHON[0], *languages())
    spoken = {other for language, writing in writings().items() for other in (language, *writing.names)}
    raise UnknownNameError(f"unknown language {name!r}{nearest(plain, {*names, *spoken})} (known: {', '.join(names)})")


def choose_language(problems: tuple[Problem, ...], language: str, source: str) -> tuple[tuple[Problem, ...], bool]:
    """Return the problems of a language, and whether they are others than before.

    Raises UsageError where there is none.
    """
    chosen = tuple(made for problem in problems if (made := _in_language(problem, language)) is not None)
    if not chosen:
        there = dict.fromkeys(language_of(problem.check) or PYTHON[0] for problem in problems)
        raise UsageError(f"--language {language}: {source!r} has no problem in it, but in {', '.join(there)}")
    return chosen, chosen != problems


def _in_language(problem: Problem, language: str) -> Problem | None:
    """Return a problem as it is for programs in a language; None where it has no such programs."""
    check = problem.check
    if language == (language_of(check) or PYTHON[0]):
        return problem
    if not isinstance(check, Cases) or check.via != "stdin" or check.form != "script":
        return None
    stop = find_writing(language).stops if problem.prompt else ()
    # Its reference solution is in Python.
    return msgspec.structs.replace(
        problem, check=ProgramCases(language=language, cases=check), reference=None, stop=stop, packages=()
    )
